//! Handlers of the dashboard's forms: one form, one use case, then a redirect to the page with the
//! result.
//!
//! The principal is the authenticated one; no field of a form can change it. A form carries the
//! version that was on its page, and the use case refuses it when that is no longer the current
//! one.

use application::answer_question::{Answer, AskedQuestion};
use application::approve::ApproveRequest;
use application::decide_plans::answer_batch_question;
use application::invalidate::InvalidateRequest;
use application::request_changes::ChangesRequest;
use application::revalidate::KeepRequest;
use application::reviews::judge::VerdictRequest;
use application::tick::run_tick::retry_tick;
use application::tick::skip_tick::skip_tick;
use application::undo::UndoTarget;
use application::{Context, Failure};
use axum::Extension as Who;
use axum::extract::{Form, State};
use axum::response::Redirect;
use axum::routing::{MethodRouter, post};
use domain::approval::Force;
use domain::authorization::AuthenticatedPrincipal;
use domain::expected_version::ExpectedVersions;
use domain::ids::{OperationId, VersionHash};
use domain::review::CheckVerdict;
use domain::tick::TickStatus;
use domain::time::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::refusal::Refusal;
use crate::{Dashboard, urls};

/// A form of the dashboard.
pub(crate) trait PageForm: DeserializeOwned + Send + 'static {
    /// Returns the page with the form.
    fn page_url(&self) -> String;
}

/// The use case of a form; returns the word for the message that its page shows.
type FormAction<F> = fn(&Context<'_>, &F) -> Result<&'static str, Failure>;

/// Handles a form: runs its use case as the authenticated principal and redirects to its page.
pub(crate) fn handle_form<F: PageForm>(action: FormAction<F>) -> MethodRouter<Dashboard> {
    post(
        move |State(dashboard): State<Dashboard>,
              Who(who): Who<AuthenticatedPrincipal>,
              Form(form): Form<F>| async move {
            let page = form.page_url();
            // The failure page links back to the page with the form, so that the reader can look again.
            let done = dashboard
                .ask_as(who.principal, move |ctx| action(ctx, &form))
                .await;
            let done = done.map_err(Refusal::on(page.clone()))?;
            // A redirect, so that reloading the page does not send the form again.
            Ok::<_, Refusal>(Redirect::to(&format!("{page}?done={done}")))
        },
    )
}

/// Declares the page of each form.
macro_rules! form_pages {
    ($($form:ident: |$it:ident| $page:expr;)+) => {
        $(impl PageForm for $form {
            fn page_url(&self) -> String {
                let $it = self;
                $page
            }
        })+
    };
}

form_pages! {
    ApprovalForm: |form| urls::node_url(&form.node);
    PlansForm: |form| urls::decide_url(&form.top);
    CondemnForm: |form| urls::node_url(&form.node);
    CommentForm: |form| urls::node_url(&form.node);
    RestoreForm: |form| urls::node_url(&form.node);
    UndoForm: |_form| "/timeline".to_owned();
    CheckForm: |_form| "/reviews".to_owned();
    ConcludeForm: |_form| "/reviews".to_owned();
    TickForm: |_form| "/ticks".to_owned();
}

/// Rejects every form of a read-only server.
pub(crate) async fn refuse_read_only() -> Refusal {
    Failure::refused("this server is read-only: nothing can be decided on its pages")
        .with_step("tl serve   # without --read-only")
        .into()
}

/// Parses a version hash; a page sends all of its digits.
fn parse_version(text: &str) -> Result<VersionHash, Failure> {
    text.parse().map(VersionHash).map_err(|_| {
        Failure::invalid("the form does not say which version was shown")
            .with_step("open the page again")
    })
}

/// Parses a version hash that a form may leave out.
fn parse_optional_version(text: &str) -> Result<Option<VersionHash>, Failure> {
    match text {
        // Browsers send empty fields; absence and emptiness mean the same.
        "" => Ok(None),
        text => parse_version(text).map(Some),
    }
}

/// Parses the versions that were on the page of a plan. A root has no parent version.
fn parse_shown(version: &str, parent_version: &str) -> Result<ExpectedVersions, Failure> {
    Ok(ExpectedVersions {
        version: parse_version(version)?.into(),
        parent: parse_optional_version(parent_version)?.map(Into::into),
    })
}

/// Approval or revalidation of a plan.
#[derive(Deserialize)]
pub(crate) struct ApprovalForm {
    node: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    parent_version: String,
    /// The checkbox to accept the warnings on the page; browsers send it only when it is checked.
    force: Option<String>,
}

impl ApprovalForm {
    fn force_option(&self) -> Force {
        match self.force {
            // Any value counts: a checkbox has only presence.
            Some(_) => Force::Yes,
            None => Force::No,
        }
    }
}

pub(crate) fn approve_node(
    ctx: &Context<'_>,
    form: &ApprovalForm,
) -> Result<&'static str, Failure> {
    let request = ApproveRequest {
        node: vec![form.node.clone()],
        force: form.force_option(),
        shown: Some(parse_shown(&form.version, &form.parent_version)?),
    };
    application::approve::approve_node(ctx, &request).map(|_| "approved")
}

/// A decision about every plan on a page.
#[derive(Deserialize)]
pub(crate) struct PlansForm {
    /// The subtree of the page.
    #[serde(default)]
    top: String,
    /// Path, version and parent's version (or `-`) of each plan that was on the page.
    #[serde(default)]
    shown: String,
    #[serde(default)]
    text: String,
    force: Option<String>,
}

impl PlansForm {
    fn asked_questions(&self, ctx: &Context<'_>) -> Result<Vec<AskedQuestion>, Failure> {
        let words: Vec<&str> = self.shown.split_whitespace().collect();
        let plans = words.chunks(3).map(|plan| match plan {
            [path, version, parent] => Ok(AskedQuestion {
                path: (*path).to_owned(),
                version: parse_version(version)?,
                parent_version: match *parent {
                    "-" => None,
                    parent => Some(parse_version(parent)?),
                },
                asked: ctx.actor.clone(),
            }),
            _ => Err(
                Failure::invalid("the form does not say which versions were shown")
                    .with_step("open the page again"),
            ),
        });
        plans.collect()
    }
}

pub(crate) fn approve_plans(ctx: &Context<'_>, form: &PlansForm) -> Result<&'static str, Failure> {
    let answer = Answer::Approve {
        force: match form.force {
            Some(_) => Force::Yes,
            None => Force::No,
        },
    };
    answer_batch_question(ctx, &form.asked_questions(ctx)?, &answer).map(|_| "approved")
}

/// Sends every plan of a page back to the agent, with what has to change.
pub(crate) fn request_changes_of_plans(
    ctx: &Context<'_>,
    form: &PlansForm,
) -> Result<&'static str, Failure> {
    let answer = Answer::RequestChanges {
        text: form.text.replace("\r\n", "\n"),
    };
    answer_batch_question(ctx, &form.asked_questions(ctx)?, &answer).map(|_| "changes-requested")
}

pub(crate) fn revalidate_node(
    ctx: &Context<'_>,
    form: &ApprovalForm,
) -> Result<&'static str, Failure> {
    let request = KeepRequest {
        node: vec![form.node.clone()],
        force: form.force_option(),
        shown: Some(parse_shown(&form.version, &form.parent_version)?),
    };
    application::revalidate::keep_one(ctx, &request).map(|_| "kept")
}

/// An objection to a plan: a rejection or a request for changes, with the person's words.
#[derive(Deserialize)]
pub(crate) struct CondemnForm {
    node: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    parent_version: String,
    #[serde(default)]
    text: String,
}

/// Sends a plan back to the agent, with what has to change.
pub(crate) fn request_changes(
    ctx: &Context<'_>,
    form: &CondemnForm,
) -> Result<&'static str, Failure> {
    let request = ChangesRequest {
        node: vec![form.node.clone()],
        text: form.text.replace("\r\n", "\n"),
        shown: Some(parse_shown(&form.version, &form.parent_version)?),
    };
    application::request_changes::request_changes(ctx, &request).map(|_| "changes-requested")
}

pub(crate) fn condemn_node(ctx: &Context<'_>, form: &CondemnForm) -> Result<&'static str, Failure> {
    let request = InvalidateRequest {
        node: vec![form.node.clone()],
        reason: form.text.trim().to_owned(),
        shown: Some(parse_shown(&form.version, &form.parent_version)?),
    };
    application::invalidate::invalidate_node(ctx, &request).map(|_| "condemned")
}

/// A comment on a plan. It has no version: a comment decides nothing.
#[derive(Deserialize)]
pub(crate) struct CommentForm {
    node: String,
    #[serde(default)]
    text: String,
}

pub(crate) fn add_comment(ctx: &Context<'_>, form: &CommentForm) -> Result<&'static str, Failure> {
    let node = [form.node.clone()];
    application::comment::add_comment(ctx, &node, &form.text).map(|_| "commented")
}

/// Restoring an earlier version of a plan.
#[derive(Deserialize)]
pub(crate) struct RestoreForm {
    node: String,
    /// The version to restore.
    #[serde(default)]
    version: String,
    /// The current version; empty when the file is missing, and so no text was on the page.
    #[serde(default)]
    replaces: String,
}

pub(crate) fn restore_version(
    ctx: &Context<'_>,
    form: &RestoreForm,
) -> Result<&'static str, Failure> {
    // A full hash, not a prefix: the page has it, and a prefix could become ambiguous.
    let words = [form.node.clone(), parse_version(&form.version)?.to_string()];
    let replaces = parse_optional_version(&form.replaces)?.map(Into::into);
    application::restore_version::restore_version(ctx, &words, replaces.as_ref())
        .map(|_| "restored")
}

/// Undoing an operation.
#[derive(Deserialize)]
pub(crate) struct UndoForm {
    operation: u64,
}

pub(crate) fn undo_operation(ctx: &Context<'_>, form: &UndoForm) -> Result<&'static str, Failure> {
    let target = UndoTarget::Operation(OperationId(form.operation));
    application::undo::undo_operations(ctx, target).map(|_| "undone")
}

/// A verdict on one check of a review.
#[derive(Deserialize)]
pub(crate) struct CheckForm {
    /// The node under review.
    subject: String,
    item: String,
    /// Version of the check that was on the page.
    item_version: u64,
    /// The reason for accepting, or what is wrong; a pass has none.
    #[serde(default)]
    text: String,
}

impl CheckForm {
    fn record_verdict(&self, ctx: &Context<'_>, verdict: CheckVerdict) -> Result<(), Failure> {
        let request = VerdictRequest {
            of: Some(self.subject.clone()),
            item: self.item.clone(),
            verdict,
            version: Some(self.item_version),
            cost: 0,
        };
        application::reviews::judge::record_verdict(ctx, &request).map(|_| ())
    }
}

/// Accepts a finding as it is, with a reason.
pub(crate) fn accept_finding(ctx: &Context<'_>, form: &CheckForm) -> Result<&'static str, Failure> {
    let (subject, version) = (Some(form.subject.as_str()), Some(form.item_version));
    application::reviews::accept::accept_finding(
        ctx,
        subject,
        &form.item,
        form.text.trim(),
        version,
    )
    .map(|_| "accepted")
}

/// Passes a check: the finding is fixed, or was wrong.
pub(crate) fn pass_check(ctx: &Context<'_>, form: &CheckForm) -> Result<&'static str, Failure> {
    form.record_verdict(ctx, CheckVerdict::Pass)
        .map(|()| "passed")
}

/// Fails a check with a finding, which starts another iteration.
pub(crate) fn fail_check(ctx: &Context<'_>, form: &CheckForm) -> Result<&'static str, Failure> {
    // Trimmed here; the rules refuse an empty finding.
    let finding = form.text.trim().to_owned();
    form.record_verdict(ctx, CheckVerdict::Fail { finding })
        .map(|()| "sent-back")
}

/// The end of a review's iteration.
#[derive(Deserialize)]
pub(crate) struct ConcludeForm {
    subject: String,
    /// The iteration that was on the page.
    iteration: Option<u32>,
}

/// Ends the current iteration of a review that no workflow drives.
pub(crate) fn conclude_review(
    ctx: &Context<'_>,
    form: &ConcludeForm,
) -> Result<&'static str, Failure> {
    application::reviews::conclude::conclude_iteration(ctx, Some(&form.subject), form.iteration)
        .map(|_| "concluded")
}

/// A decision about a failed tick.
#[derive(Deserialize)]
pub(crate) struct TickForm {
    tick: u64,
    /// Time of the tick's record that was on the page, in milliseconds.
    tick_at: Option<i64>,
}

impl TickForm {
    fn shown_at(&self) -> Option<Timestamp> {
        self.tick_at.map(Timestamp::from_millis)
    }
}

/// Resumes a tick at the action that failed.
pub(crate) fn retry_failed_tick(
    ctx: &Context<'_>,
    form: &TickForm,
) -> Result<&'static str, Failure> {
    let outcome = retry_tick(ctx, form.tick, form.shown_at())?;
    // A tick that fails again is an outcome, not a failure: the page shows its error.
    Ok(match outcome.status {
        TickStatus::Done => "retried",
        _ => "failed-again",
    })
}

/// Skips a tick; the loop continues without it.
pub(crate) fn skip_failed_tick(
    ctx: &Context<'_>,
    form: &TickForm,
) -> Result<&'static str, Failure> {
    skip_tick(ctx, form.tick, form.shown_at()).map(|_| "skipped")
}
