//! Handlers of the dashboard's forms: one form, one use case, then a redirect to the page with the
//! result.
//!
//! The principal is the authenticated one; no field of a form can change it. A form carries the
//! version that was on its page, and the use case refuses it when that is no longer the current
//! one.

use application::approve::ApproveRequest;
use application::invalidate::InvalidateRequest;
use application::revalidate::KeepRequest;
use application::reviews::judge::VerdictRequest;
use application::tick::run_tick::retry_tick;
use application::tick::skip_tick::skip_tick;
use application::undo::UndoTarget;
use application::{Context, Failure, FailureKind};
use axum::Extension as Who;
use axum::extract::{Form, State};
use axum::response::Redirect;
use domain::approval::Force;
use domain::authorization::AuthenticatedPrincipal;
use domain::expected_version::ExpectedVersions;
use domain::ids::{OperationId, VersionHash};
use domain::review::CheckVerdict;
use domain::tick::TickStatus;
use domain::time::Timestamp;
use serde::Deserialize;

use crate::refusal::Refusal;
use crate::{Dashboard, urls};

type Redirected = Result<Redirect, Refusal>;

/// Runs a use case as `who` and redirects to `page`, which shows the message for the word the use
/// case returns.
async fn run_and_redirect(
    dashboard: &Dashboard,
    who: AuthenticatedPrincipal,
    page: String,
    use_case: impl FnMut(&Context<'_>) -> Result<&'static str, Failure> + Send + 'static,
) -> Redirected {
    // The failure page links back to the page with the form, so that the reader can look again.
    let done = dashboard.ask_as(who.principal, use_case).await;
    let done = done.map_err(Refusal::on(page.clone()))?;
    // A redirect, so that reloading the page does not send the form again.
    Ok(Redirect::to(&format!("{page}?done={done}")))
}

/// Rejects every form of a read-only server.
pub(crate) async fn refuse_read_only() -> Refusal {
    Failure::new(
        FailureKind::Refused,
        "this server is read-only: nothing can be decided on its pages",
    )
    .with_step("tl serve   # without --read-only")
    .into()
}

/// Parses a version hash; a page sends all of its digits.
fn parse_version(text: &str) -> Result<VersionHash, Failure> {
    text.parse().map(VersionHash).map_err(|_| {
        Failure::new(
            FailureKind::Invalid,
            "the form does not say which version was shown",
        )
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

pub(crate) async fn approve_node(
    State(dashboard): State<Dashboard>,
    Who(who): Who<AuthenticatedPrincipal>,
    Form(form): Form<ApprovalForm>,
) -> Redirected {
    run_and_redirect(&dashboard, who, urls::node_url(&form.node), move |ctx| {
        let request = ApproveRequest {
            node: vec![form.node.clone()],
            force: form.force_option(),
            shown: Some(parse_shown(&form.version, &form.parent_version)?),
        };
        application::approve::approve_node(ctx, &request).map(|_| "approved")
    })
    .await
}

pub(crate) async fn revalidate_node(
    State(dashboard): State<Dashboard>,
    Who(who): Who<AuthenticatedPrincipal>,
    Form(form): Form<ApprovalForm>,
) -> Redirected {
    run_and_redirect(&dashboard, who, urls::node_url(&form.node), move |ctx| {
        let request = KeepRequest {
            node: vec![form.node.clone()],
            force: form.force_option(),
            shown: Some(parse_shown(&form.version, &form.parent_version)?),
        };
        application::revalidate::keep_one(ctx, &request).map(|_| "kept")
    })
    .await
}

/// Condemnation of a plan, with a reason.
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

pub(crate) async fn condemn_node(
    State(dashboard): State<Dashboard>,
    Who(who): Who<AuthenticatedPrincipal>,
    Form(form): Form<CondemnForm>,
) -> Redirected {
    run_and_redirect(&dashboard, who, urls::node_url(&form.node), move |ctx| {
        let request = InvalidateRequest {
            node: vec![form.node.clone()],
            reason: form.text.trim().to_owned(),
            shown: Some(parse_shown(&form.version, &form.parent_version)?),
        };
        application::invalidate::invalidate_node(ctx, &request).map(|_| "condemned")
    })
    .await
}

/// A comment on a plan. It has no version: a comment decides nothing.
#[derive(Deserialize)]
pub(crate) struct CommentForm {
    node: String,
    #[serde(default)]
    text: String,
}

pub(crate) async fn add_comment(
    State(dashboard): State<Dashboard>,
    Who(who): Who<AuthenticatedPrincipal>,
    Form(form): Form<CommentForm>,
) -> Redirected {
    run_and_redirect(&dashboard, who, urls::node_url(&form.node), move |ctx| {
        let node = [form.node.clone()];
        application::comment::add_comment(ctx, &node, &form.text).map(|_| "commented")
    })
    .await
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

pub(crate) async fn restore_version(
    State(dashboard): State<Dashboard>,
    Who(who): Who<AuthenticatedPrincipal>,
    Form(form): Form<RestoreForm>,
) -> Redirected {
    run_and_redirect(&dashboard, who, urls::node_url(&form.node), move |ctx| {
        // A full hash, not a prefix: the page has it, and a prefix could become ambiguous.
        let words = [form.node.clone(), parse_version(&form.version)?.to_string()];
        let replaces = parse_optional_version(&form.replaces)?.map(Into::into);
        application::restore_version::restore_version(ctx, &words, replaces.as_ref())
            .map(|_| "restored")
    })
    .await
}

/// Undoing an operation.
#[derive(Deserialize)]
pub(crate) struct UndoForm {
    operation: u64,
}

pub(crate) async fn undo_operation(
    State(dashboard): State<Dashboard>,
    Who(who): Who<AuthenticatedPrincipal>,
    Form(form): Form<UndoForm>,
) -> Redirected {
    run_and_redirect(&dashboard, who, "/timeline".to_owned(), move |ctx| {
        let target = UndoTarget::Operation(OperationId(form.operation));
        application::undo::undo_operations(ctx, target).map(|_| "undone")
    })
    .await
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
    fn into_request(self, verdict: CheckVerdict) -> VerdictRequest {
        VerdictRequest {
            of: Some(self.subject),
            item: self.item,
            verdict,
            version: Some(self.item_version),
            cost: 0,
        }
    }
}

/// Accepts a finding as it is, with a reason.
pub(crate) async fn accept_finding(
    State(dashboard): State<Dashboard>,
    Who(who): Who<AuthenticatedPrincipal>,
    Form(form): Form<CheckForm>,
) -> Redirected {
    run_and_redirect(&dashboard, who, "/reviews".to_owned(), move |ctx| {
        let (subject, version) = (Some(form.subject.as_str()), Some(form.item_version));
        application::reviews::accept::accept_finding(
            ctx,
            subject,
            &form.item,
            form.text.trim(),
            version,
        )
        .map(|_| "accepted")
    })
    .await
}

/// Passes a check: the finding is fixed, or was wrong.
pub(crate) async fn pass_check(
    State(dashboard): State<Dashboard>,
    Who(who): Who<AuthenticatedPrincipal>,
    Form(form): Form<CheckForm>,
) -> Redirected {
    // Built before the closure, which a conflict may run twice.
    let request = form.into_request(CheckVerdict::Pass);
    run_and_redirect(&dashboard, who, "/reviews".to_owned(), move |ctx| {
        application::reviews::judge::record_verdict(ctx, &request).map(|_| "passed")
    })
    .await
}

/// Fails a check with a finding, which starts another iteration.
pub(crate) async fn fail_check(
    State(dashboard): State<Dashboard>,
    Who(who): Who<AuthenticatedPrincipal>,
    Form(form): Form<CheckForm>,
) -> Redirected {
    // Trimmed here; the rules refuse an empty finding.
    let finding = form.text.trim().to_owned();
    let request = form.into_request(CheckVerdict::Fail { finding });
    run_and_redirect(&dashboard, who, "/reviews".to_owned(), move |ctx| {
        application::reviews::judge::record_verdict(ctx, &request).map(|_| "sent-back")
    })
    .await
}

/// The end of a review's iteration.
#[derive(Deserialize)]
pub(crate) struct ConcludeForm {
    subject: String,
    /// The iteration that was on the page.
    iteration: Option<u32>,
}

/// Ends the current iteration of a review that no workflow drives.
pub(crate) async fn conclude_review(
    State(dashboard): State<Dashboard>,
    Who(who): Who<AuthenticatedPrincipal>,
    Form(form): Form<ConcludeForm>,
) -> Redirected {
    run_and_redirect(&dashboard, who, "/reviews".to_owned(), move |ctx| {
        application::reviews::conclude::conclude_iteration(ctx, Some(&form.subject), form.iteration)
            .map(|_| "concluded")
    })
    .await
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
pub(crate) async fn retry_failed_tick(
    State(dashboard): State<Dashboard>,
    Who(who): Who<AuthenticatedPrincipal>,
    Form(form): Form<TickForm>,
) -> Redirected {
    run_and_redirect(&dashboard, who, "/ticks".to_owned(), move |ctx| {
        let outcome = retry_tick(ctx, form.tick, form.shown_at())?;
        // A tick that fails again is an outcome, not a failure: the page shows its error.
        Ok(match outcome.status {
            TickStatus::Done => "retried",
            _ => "failed-again",
        })
    })
    .await
}

/// Skips a tick; the loop continues without it.
pub(crate) async fn skip_failed_tick(
    State(dashboard): State<Dashboard>,
    Who(who): Who<AuthenticatedPrincipal>,
    Form(form): Form<TickForm>,
) -> Redirected {
    run_and_redirect(&dashboard, who, "/ticks".to_owned(), move |ctx| {
        skip_tick(ctx, form.tick, form.shown_at()).map(|_| "skipped")
    })
    .await
}
