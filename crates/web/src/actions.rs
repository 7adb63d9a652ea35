//! Handlers of the dashboard's forms: one form, one use case, then a redirect to the page with the
//! result.
//!
//! The principal is the authenticated one; no field of a form can change it. A form carries the
//! version that was on its page, and the use case refuses it when that is no longer the current
//! one.

use application::answer_question::{Answer, AskedQuestion};
use application::approve::ApproveRequest;
use application::comment::NewComment;
use application::decide_plans::answer_batch_question;
use application::invalidate::InvalidateRequest;
use application::request_changes::ChangesRequest;
use application::revalidate::KeepRequest;
use application::reviews::judge::VerdictRequest;
use application::set_progress::ProgressRequest;
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
use domain::node::Progress;
use domain::review::CheckVerdict;
use domain::tick::TickStatus;
use domain::time::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::pages::board::BoardAddress;
use crate::refusal::Refusal;
use crate::{Dashboard, urls};

/// A form of the dashboard.
pub(crate) trait PageForm: DeserializeOwned + Send + 'static {
    /// Returns the page with the form.
    fn page_url(&self) -> String;

    /// Returns the page with the change since the version that the form is about.
    fn changed_url(&self) -> Option<String> {
        None
    }
}

/// What an action did, for the message on the page it leads to.
pub(crate) struct ActionDone {
    /// The key of the message.
    word: &'static str,
    /// The operation it recorded, which can be undone.
    operation: Option<OperationId>,
}

impl ActionDone {
    pub(crate) fn recorded(word: &'static str, operation: impl Into<Option<OperationId>>) -> Self {
        Self {
            word,
            operation: operation.into(),
        }
    }

    pub(crate) fn without_undo(word: &'static str) -> Self {
        Self {
            word,
            operation: None,
        }
    }

    /// Returns the address of a page with the message.
    pub(crate) fn address_on(&self, page: &str) -> String {
        let address = urls::add_parameter(page, "done", self.word);
        match self.operation {
            Some(id) => urls::add_parameter(&address, "operation", &id.to_string()),
            None => address,
        }
    }
}

/// The use case of a form.
type FormAction<F> = fn(&Context<'_>, &F) -> Result<ActionDone, Failure>;

/// Handles a form: runs its use case as the authenticated principal and redirects to its page.
pub(crate) fn handle_form<F: PageForm>(action: FormAction<F>) -> MethodRouter<Dashboard> {
    post(
        move |State(dashboard): State<Dashboard>,
              Who(who): Who<AuthenticatedPrincipal>,
              Form(form): Form<F>| async move {
            let (page, changed) = (form.page_url(), form.changed_url());
            // The failure page links back to the page with the form, so that the reader can look again.
            let done = dashboard
                .ask_as(who.principal, move |ctx| action(ctx, &form))
                .await;
            let done = done.map_err(Refusal::with_change(page.clone(), changed))?;
            // A redirect, so that reloading the page does not send the form again.
            Ok::<_, Refusal>(Redirect::to(&done.address_on(&page)))
        },
    )
}

/// Declares the page of each form.
macro_rules! form_pages {
    ($($form:ident: |$it:ident| $page:expr $(, $changed:expr)?;)+) => {
        $(impl PageForm for $form {
            fn page_url(&self) -> String {
                let $it = self;
                $page
            }
            $(fn changed_url(&self) -> Option<String> {
                let $it = self;
                Some($changed)
            })?
        })+
    };
}

form_pages! {
    ApprovalForm: |form| page_after(&form.node, form.next.as_deref()), urls::change_url(&form.node, &form.version);
    PlansForm: |form| match form.group.is_empty() {
        true => urls::decide_url(&form.top),
        false => "/".to_owned(),
    };
    CondemnForm: |form| page_after(&form.node, form.next.as_deref()), urls::change_url(&form.node, &form.version);
    CommentForm: |form| match form.next {
        Some(_) => urls::inbox_url(&form.node),
        None => format!("{}#comments", urls::node_url(&form.node)),
    };
    RestoreForm: |form| urls::node_url(&form.node);
    UndoForm: |form| match form.back.as_str() {
        "" => "/timeline".to_owned(),
        // A field of the form may name another server; only its local part is followed.
        back => urls::local_address(back),
    };
    CheckForm: |form| match form.back.as_str() {
        "" => "/reviews".to_owned(),
        back => urls::local_address(back),
    };
    ConcludeForm: |_form| "/reviews".to_owned();
    TickForm: |_form| "/story".to_owned();
    CardForm: |form| match form.back.as_str() {
        "" => form.board.url(),
        back => urls::local_address(back),
    };
}

/// Returns the page after a decision about a plan: the next plan of the inbox if it was made there.
fn page_after(node: &str, next: Option<&str>) -> String {
    next.map_or_else(|| urls::node_url(node), urls::inbox_url)
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
pub(crate) fn parse_optional_version(text: &str) -> Result<Option<VersionHash>, Failure> {
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
    /// The checkbox to accept what the page shows; browsers send it only when it is checked.
    force: Option<String>,
    /// The plan that follows in the inbox; empty after the last, absent outside of the inbox.
    next: Option<String>,
}

/// Returns what the checkbox of a form overrides: what its page showed, and not a rejection that came
/// later.
fn parse_force(checkbox: Option<&str>) -> Force {
    match checkbox {
        None => Force::No,
        Some("warnings") => Force::Warnings,
        Some(_) => Force::Yes,
    }
}

pub(crate) fn approve_node(ctx: &Context<'_>, form: &ApprovalForm) -> Result<ActionDone, Failure> {
    let request = ApproveRequest {
        node: vec![form.node.clone()],
        force: parse_force(form.force.as_deref()),
        // Compared inside the write transaction. A comparison before it would let the approval go
        // to a text that was saved in between.
        shown: Some(parse_shown(&form.version, &form.parent_version)?),
    };
    application::approve::approve_node(ctx, &request)
        .map(|outcome| ActionDone::recorded("approved", outcome.operation))
}

/// A decision about every plan on a page.
#[derive(Deserialize)]
pub(crate) struct PlansForm {
    /// The subtree of the page.
    #[serde(default)]
    top: String,
    /// The group of the inbox that the page was about.
    #[serde(default)]
    group: String,
    /// Path, version and parent's version (or `-`) of each plan that was on the page.
    #[serde(default)]
    shown: String,
    #[serde(default)]
    text: String,
    force: Option<String>,
    /// Present where every plan of the page is stale and is kept.
    keeps: Option<String>,
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
                // Not a field of the form: nothing in a payload changes the principal.
                asked: ctx.actor.clone(),
                // That is what the checkbox says.
                overrides: Force::No,
            }),
            _ => Err(
                Failure::invalid("the form does not say which versions were shown")
                    .with_step("open the page again"),
            ),
        });
        plans.collect()
    }
}

pub(crate) fn approve_plans(ctx: &Context<'_>, form: &PlansForm) -> Result<ActionDone, Failure> {
    let answer = Answer::Approve {
        force: parse_force(form.force.as_deref()),
    };
    let word = match form.keeps {
        Some(_) => "all-kept",
        None => "all-approved",
    };
    answer_batch_question(ctx, &form.asked_questions(ctx)?, &answer)
        .map(|outcome| ActionDone::recorded(word, outcome.operation))
}

/// Sends every plan of a page back to the agent, with what has to change.
pub(crate) fn request_changes_of_plans(
    ctx: &Context<'_>,
    form: &PlansForm,
) -> Result<ActionDone, Failure> {
    let answer = Answer::RequestChanges {
        // Browsers send the line ends of a text area as CRLF; the agent quotes and compares the
        // text.
        text: form.text.replace("\r\n", "\n"),
    };
    answer_batch_question(ctx, &form.asked_questions(ctx)?, &answer)
        .map(|outcome| ActionDone::recorded("all-changes-requested", outcome.operation))
}

pub(crate) fn revalidate_node(
    ctx: &Context<'_>,
    form: &ApprovalForm,
) -> Result<ActionDone, Failure> {
    let request = KeepRequest {
        node: vec![form.node.clone()],
        force: parse_force(form.force.as_deref()),
        shown: Some(parse_shown(&form.version, &form.parent_version)?),
    };
    application::revalidate::keep_one(ctx, &request)
        .map(|outcome| ActionDone::recorded("kept", outcome.operation))
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
    /// The plan that follows in the inbox.
    next: Option<String>,
}

/// Sends a plan back to the agent, with what has to change.
pub(crate) fn request_changes(
    ctx: &Context<'_>,
    form: &CondemnForm,
) -> Result<ActionDone, Failure> {
    let request = ChangesRequest {
        node: vec![form.node.clone()],
        text: form.text.replace("\r\n", "\n"),
        shown: Some(parse_shown(&form.version, &form.parent_version)?),
    };
    application::request_changes::request_changes(ctx, &request)
        .map(|outcome| ActionDone::recorded("changes-requested", outcome.operation))
}

pub(crate) fn condemn_node(ctx: &Context<'_>, form: &CondemnForm) -> Result<ActionDone, Failure> {
    let request = InvalidateRequest {
        node: vec![form.node.clone()],
        reason: form.text.trim().to_owned(),
        shown: Some(parse_shown(&form.version, &form.parent_version)?),
    };
    application::invalidate::invalidate_node(ctx, &request)
        .map(|outcome| ActionDone::recorded("condemned", outcome.operation))
}

/// A comment on a plan. It has no version: a comment decides nothing.
#[derive(Deserialize)]
pub(crate) struct CommentForm {
    node: String,
    #[serde(default)]
    text: String,
    /// Words of the text it is about.
    #[serde(default)]
    quote: String,
    /// Present where the words are of the prose.
    in_prose: Option<String>,
    #[serde(default)]
    section: String,
    /// Id of the comment it replies to.
    #[serde(default)]
    reply_to: String,
    /// Present on the button that ends the thread.
    resolve: Option<String>,
    /// Present in the inbox.
    next: Option<String>,
}

pub(crate) fn add_comment(ctx: &Context<'_>, form: &CommentForm) -> Result<ActionDone, Failure> {
    let node = [form.node.clone()];
    // Browsers send empty fields; absence and emptiness mean the same.
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.trim().is_empty());
    let new = NewComment {
        text: form.text.replace("\r\n", "\n"),
        quote: given(&form.quote),
        in_prose: form.in_prose.is_some(),
        section: given(&form.section),
        reply_to: given(&form.reply_to),
        resolves: form.resolve.is_some(),
    };
    let word = if new.resolves {
        "resolved"
    } else {
        "commented"
    };
    application::comment::add_placed_comment(ctx, &node, &new)
        .map(|said| ActionDone::recorded(word, said.operation))
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
) -> Result<ActionDone, Failure> {
    // A full hash, not a prefix: the page has it, and a prefix could become ambiguous.
    let words = [form.node.clone(), parse_version(&form.version)?.to_string()];
    let replaces = parse_optional_version(&form.replaces)?.map(Into::into);
    application::restore_version::restore_version(ctx, &words, replaces.as_ref())
        .map(|outcome| ActionDone::recorded("restored", outcome.cascade.operation))
}

/// Undoing an operation.
#[derive(Deserialize)]
pub(crate) struct UndoForm {
    operation: u64,
    /// The page to come back to.
    #[serde(default)]
    back: String,
}

pub(crate) fn undo_operation(ctx: &Context<'_>, form: &UndoForm) -> Result<ActionDone, Failure> {
    // By number, not "the newest": since the page was rendered another session may have recorded an
    // operation, and that one would be undone.
    let target = UndoTarget::Operation(OperationId(form.operation));
    application::undo::undo_operations(ctx, target)
        .map(|outcome| ActionDone::recorded("undone", outcome.operation))
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
    /// The page to come back to.
    #[serde(default)]
    back: String,
}

impl CheckForm {
    fn record_verdict(&self, ctx: &Context<'_>, verdict: CheckVerdict) -> Result<(), Failure> {
        let request = VerdictRequest {
            of: Some(self.subject.clone()),
            item: self.item.clone(),
            verdict,
            // A check that was judged since the page was rendered is a conflict, not a second
            // verdict.
            version: Some(self.item_version),
            // A person's verdict is not charged to the budget of the review.
            cost: 0,
        };
        application::reviews::judge::record_verdict(ctx, &request).map(|_| ())
    }
}

/// Accepts a finding as it is, with a reason.
pub(crate) fn accept_finding(ctx: &Context<'_>, form: &CheckForm) -> Result<ActionDone, Failure> {
    let (subject, version) = (Some(form.subject.as_str()), Some(form.item_version));
    application::reviews::accept::accept_finding(
        ctx,
        subject,
        &form.item,
        form.text.trim(),
        version,
    )
    .map(|_| ActionDone::without_undo("accepted"))
}

/// Passes a check: the finding is fixed, or was wrong.
pub(crate) fn pass_check(ctx: &Context<'_>, form: &CheckForm) -> Result<ActionDone, Failure> {
    form.record_verdict(ctx, CheckVerdict::Pass)
        .map(|()| ActionDone::without_undo("passed"))
}

/// Fails a check with a finding, which starts another iteration.
pub(crate) fn fail_check(ctx: &Context<'_>, form: &CheckForm) -> Result<ActionDone, Failure> {
    // Trimmed here; the rules refuse an empty finding.
    let finding = form.text.trim().to_owned();
    form.record_verdict(ctx, CheckVerdict::Fail { finding })
        .map(|()| ActionDone::without_undo("sent-back"))
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
) -> Result<ActionDone, Failure> {
    // A page that was open for an hour must not end the iteration after the one it showed.
    application::reviews::conclude::conclude_iteration(ctx, Some(&form.subject), form.iteration)
        .map(|_| ActionDone::without_undo("concluded"))
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
pub(crate) fn retry_failed_tick(ctx: &Context<'_>, form: &TickForm) -> Result<ActionDone, Failure> {
    // The time of the record is its version: a tick that was retried elsewhere meanwhile is
    // refused.
    let outcome = retry_tick(ctx, form.tick, form.shown_at())?;
    // A tick that fails again is an outcome, not a failure: the page shows its error.
    Ok(ActionDone::without_undo(match outcome.status {
        TickStatus::Done => "retried",
        _ => "failed-again",
    }))
}

/// Skips a tick; the loop continues without it.
pub(crate) fn skip_failed_tick(ctx: &Context<'_>, form: &TickForm) -> Result<ActionDone, Failure> {
    skip_tick(ctx, form.tick, form.shown_at()).map(|_| ActionDone::without_undo("skipped"))
}

/// A card of the board that goes to another column.
#[derive(Deserialize)]
pub(crate) struct CardForm {
    node: String,
    /// The value of the column.
    to: String,
    /// Why a phase is skipped, or a plan blocked.
    #[serde(default)]
    reason: String,
    /// The page to come back to; the board without one.
    #[serde(default)]
    back: String,
    #[serde(flatten)]
    board: BoardAddress,
}

/// Sets the priority of a ticket.
pub(crate) fn set_card_priority(ctx: &Context<'_>, form: &CardForm) -> Result<ActionDone, Failure> {
    let node = [form.node.clone()];
    application::set_priority::set_priority(ctx, &node, &form.to)
        .map(|ticket| ActionDone::recorded("priority", ticket.operation))
}

/// Sets the progress of a plan.
pub(crate) fn set_card_progress(ctx: &Context<'_>, form: &CardForm) -> Result<ActionDone, Failure> {
    let progress = Progress::from_synonym(&form.to)
        .ok_or_else(|| Failure::invalid(format!("there is no progress `{}`", form.to)))?;
    let request = ProgressRequest {
        node: vec![form.node.clone()],
        progress,
    };
    let reason = (progress == Progress::Blocked).then_some(form.reason.as_str());
    application::set_progress::record_progress(ctx, &request, reason)
        .map(|(_, operation)| ActionDone::recorded("progress", operation))
}

/// Sets the phase of a ticket.
pub(crate) fn set_card_phase(ctx: &Context<'_>, form: &CardForm) -> Result<ActionDone, Failure> {
    let reason = Some(form.reason.trim()).filter(|reason| !reason.is_empty());
    let node = [form.node.clone()];
    // An empty reason is none: skipping a phase then is refused as it is at the terminal.
    application::tickets::set_phase(ctx, &node, &form.to, reason)
        .map(|ticket| ActionDone::recorded("phase", ticket.operation))
}
