//! What a person decides on a page: forms, each one use case, each followed by a page that shows the result.
//!
//! Everything is done in the name of who was let in: nothing a form says can change it.

use application::approve::ApproveRequest;
use application::invalidate::InvalidateRequest;
use application::revalidate::KeepRequest;
use application::reviews::judge::VerdictRequest;
use application::tick::run_tick::retry_tick;
use application::tick::skip_tick::skip_tick;
use application::undo::UndoTarget;
use application::{Failure, FailureKind};
use axum::Extension as Who;
use axum::extract::{Form, State};
use axum::response::Redirect;
use domain::access::Admitted;
use domain::approval::Force;
use domain::ids::{OperationId, VersionHash};
use domain::review::Verdict;
use domain::shown::Shown;
use domain::tick::TickStatus;
use domain::time::Timestamp;
use serde::Deserialize;

use crate::refusal::Refusal;
use crate::{Dashboard, urls};

type Done = Result<Redirect, Refusal>;

/// What a form sends; each uses some of it.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Decision {
    node: String,
    /// The version that was on the page, and that of the plan above it.
    version: String,
    parent_version: String,
    /// The version that a restored one replaces.
    replaces: String,
    /// Whether warnings were seen and are accepted.
    force: Option<String>,
    text: String,
    operation: u64,
    /// The review, and the check in it.
    subject: String,
    item: String,
    /// The version of the check that was on the page.
    item_version: u64,
    /// The iteration of the review that was on the page.
    iteration: Option<u32>,
    tick: u64,
    /// The time of the tick's record that was on the page, in milliseconds.
    tick_at: Option<i64>,
}

impl Decision {
    fn words(&self) -> Vec<String> {
        vec![self.node.clone()]
    }

    fn force(&self) -> Force {
        if self.force.is_some() {
            Force::Yes
        } else {
            Force::No
        }
    }

    fn tick_shown(&self) -> Option<Timestamp> {
        self.tick_at.map(Timestamp::from_millis)
    }

    /// Returns what was on the page: a decision about another text is none.
    fn shown(&self) -> Result<Shown, Failure> {
        let parent = match self.parent_version.as_str() {
            "" => None,
            hash => Some(shown_hash(hash)?.into()),
        };
        Ok(Shown {
            version: shown_hash(&self.version)?.into(),
            parent,
        })
    }
}

/// Reads a version hash that a form sends: all of it, as the page had it.
fn shown_hash(text: &str) -> Result<VersionHash, Failure> {
    text.parse().map(VersionHash).map_err(|_| {
        Failure::new(
            FailureKind::Invalid,
            "the form does not say which version was shown",
        )
        .step("open the page again")
    })
}

/// Answers every decision where nothing can be decided.
pub(crate) async fn only_shown() -> Refusal {
    Failure::new(
        FailureKind::Refused,
        "this server only shows: nothing can be decided on its pages",
    )
    .step("tl serve   # without --read-only")
    .into()
}

fn back(node: &str, done: &str) -> Redirect {
    Redirect::to(&format!("{}?done={done}", urls::node(node)))
}

pub(crate) async fn approve(
    State(dashboard): State<Dashboard>,
    Who(who): Who<Admitted>,
    Form(decision): Form<Decision>,
) -> Done {
    let node = decision.node.clone();
    let done = dashboard.ask_as(who.principal, move |ctx| {
        let request = ApproveRequest {
            node: decision.words(),
            force: decision.force(),
            shown: Some(decision.shown()?),
        };
        application::approve::approve(ctx, &request)
    });
    let outcome = done.await.map_err(Refusal::on(urls::node(&node)))?;
    // Warnings stop an approval without being a failure.
    if outcome.success {
        Ok(back(&node, "approved"))
    } else {
        Ok(back(&node, "warned"))
    }
}

pub(crate) async fn revalidate(
    State(dashboard): State<Dashboard>,
    Who(who): Who<Admitted>,
    Form(decision): Form<Decision>,
) -> Done {
    let node = decision.node.clone();
    let done = dashboard.ask_as(who.principal, move |ctx| {
        let request = KeepRequest {
            node: decision.words(),
            force: decision.force(),
            shown: Some(decision.shown()?),
        };
        application::revalidate::keep_one(ctx, &request)
    });
    done.await.map_err(Refusal::on(urls::node(&node)))?;
    Ok(back(&node, "kept"))
}

pub(crate) async fn condemn(
    State(dashboard): State<Dashboard>,
    Who(who): Who<Admitted>,
    Form(decision): Form<Decision>,
) -> Done {
    let node = decision.node.clone();
    let done = dashboard.ask_as(who.principal, move |ctx| {
        let request = InvalidateRequest {
            node: decision.words(),
            reason: decision.text.trim().to_owned(),
            shown: Some(decision.shown()?),
        };
        application::invalidate::invalidate(ctx, &request)
    });
    done.await.map_err(Refusal::on(urls::node(&node)))?;
    Ok(back(&node, "condemned"))
}

pub(crate) async fn comment(
    State(dashboard): State<Dashboard>,
    Who(who): Who<Admitted>,
    Form(decision): Form<Decision>,
) -> Done {
    let node = decision.node.clone();
    let done = dashboard.ask_as(who.principal, move |ctx| {
        application::comment::comment(ctx, &decision.words(), &decision.text)
    });
    done.await.map_err(Refusal::on(urls::node(&node)))?;
    Ok(back(&node, "commented"))
}

pub(crate) async fn restore(
    State(dashboard): State<Dashboard>,
    Who(who): Who<Admitted>,
    Form(decision): Form<Decision>,
) -> Done {
    let node = decision.node.clone();
    let done = dashboard.ask_as(who.principal, move |ctx| {
        let words = [
            decision.node.clone(),
            shown_hash(&decision.version)?.to_string(),
        ];
        // A plan whose file is gone is restored from a page that shows no text.
        let replaces = match decision.replaces.as_str() {
            "" => None,
            hash => Some(shown_hash(hash)?.into()),
        };
        application::restore_version::restore_version(ctx, &words, replaces.as_ref())
    });
    done.await.map_err(Refusal::on(urls::node(&node)))?;
    Ok(back(&node, "restored"))
}

pub(crate) async fn undo(
    State(dashboard): State<Dashboard>,
    Who(who): Who<Admitted>,
    Form(decision): Form<Decision>,
) -> Done {
    let target = UndoTarget::Operation(OperationId(decision.operation));
    let done = dashboard.ask_as(who.principal, move |ctx| {
        application::undo::undo(ctx, target)
    });
    done.await.map_err(Refusal::on("/timeline".to_owned()))?;
    Ok(Redirect::to("/timeline?done=undone"))
}

/// Accepts a finding as it is, with a reason.
pub(crate) async fn accept(
    State(dashboard): State<Dashboard>,
    Who(who): Who<Admitted>,
    Form(decision): Form<Decision>,
) -> Done {
    let shown = Some(decision.item_version);
    let done = dashboard.ask_as(who.principal, move |ctx| {
        application::reviews::accept::accept(
            ctx,
            Some(&decision.subject),
            &decision.item,
            decision.text.trim(),
            shown,
        )
    });
    done.await.map_err(Refusal::on("/reviews".to_owned()))?;
    Ok(Redirect::to("/reviews?done=accepted"))
}

/// Says that what was found is no longer so, or never was.
pub(crate) async fn pass(
    State(dashboard): State<Dashboard>,
    Who(who): Who<Admitted>,
    Form(decision): Form<Decision>,
) -> Done {
    judged(&dashboard, who, decision, |_| Verdict::Pass, "passed").await
}

/// Sends a finding back to the author, with words: one more iteration.
pub(crate) async fn send_back(
    State(dashboard): State<Dashboard>,
    Who(who): Who<Admitted>,
    Form(decision): Form<Decision>,
) -> Done {
    judged(
        &dashboard,
        who,
        decision,
        |finding| Verdict::Fail { finding },
        "sent-back",
    )
    .await
}

async fn judged(
    dashboard: &Dashboard,
    who: Admitted,
    decision: Decision,
    verdict: fn(String) -> Verdict,
    word: &str,
) -> Done {
    let request = VerdictRequest {
        of: Some(decision.subject),
        item: decision.item,
        verdict: verdict(decision.text.trim().to_owned()),
        version: Some(decision.item_version),
        cost: 0,
    };
    let done = dashboard.ask_as(who.principal, move |ctx| {
        application::reviews::judge::judge(ctx, &request)
    });
    done.await.map_err(Refusal::on("/reviews".to_owned()))?;
    Ok(Redirect::to(&format!("/reviews?done={word}")))
}

/// Ends the present iteration of a review that no workflow drives.
pub(crate) async fn conclude(
    State(dashboard): State<Dashboard>,
    Who(who): Who<Admitted>,
    Form(decision): Form<Decision>,
) -> Done {
    let done = dashboard.ask_as(who.principal, move |ctx| {
        application::reviews::conclude::conclude(ctx, Some(&decision.subject), decision.iteration)
    });
    done.await.map_err(Refusal::on("/reviews".to_owned()))?;
    Ok(Redirect::to("/reviews?done=concluded"))
}

/// Runs a tick again, from the action that failed.
pub(crate) async fn retry(
    State(dashboard): State<Dashboard>,
    Who(who): Who<Admitted>,
    Form(decision): Form<Decision>,
) -> Done {
    let done = dashboard.ask_as(who.principal, move |ctx| {
        retry_tick(ctx, decision.tick, decision.tick_shown())
    });
    let outcome = done.await.map_err(Refusal::on("/ticks".to_owned()))?;
    // A tick that failed again is an outcome, and the page shows why.
    Ok(Redirect::to(if outcome.status == TickStatus::Done {
        "/ticks?done=retried"
    } else {
        "/ticks?done=failed-again"
    }))
}

/// Goes on without a tick.
pub(crate) async fn skip(
    State(dashboard): State<Dashboard>,
    Who(who): Who<Admitted>,
    Form(decision): Form<Decision>,
) -> Done {
    let done = dashboard.ask_as(who.principal, move |ctx| {
        skip_tick(ctx, decision.tick, decision.tick_shown())
    });
    done.await.map_err(Refusal::on("/ticks".to_owned()))?;
    Ok(Redirect::to("/ticks?done=skipped"))
}
