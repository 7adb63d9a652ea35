//! Shared steps of the review use cases: find the review, check the role, record the change, write
//! the review file.

use std::collections::BTreeMap;

use domain::decision::{
    KnownDecision, PROJECT_KEY, ReviewOutcome, ReviewVerdict, Verdict, decisions_in_force,
};
use domain::fact::Fact;
use domain::ids::{OperationId, Principal, VersionHash};
use domain::operation::Verb;
use domain::plan_document::{DocumentRecord, document_file_path};
use domain::ports::{FileReadResult, NewOperation, Snapshot, StoreFault, Transaction};
use domain::record;
use domain::review::{
    LoopState, Review, ReviewActor, ReviewItem, ReviewRefused, is_review_phase, render_review_file,
};
use domain::secrets::mask_secrets;
use domain::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::decisions::{attach_decision, load_decisions};
use crate::failure::{Failure, FailureKind};
use crate::file_writes::PlannedFiles;
use crate::plan_documents::{resolve_document, run_with_files};
use crate::workflows;

/// A review, for output.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReviewView {
    pub subject: String,
    #[schemars(with = "String")]
    pub state: LoopState,
    pub iteration: u32,
    pub last_iteration: u32,
    pub spent: u64,
    /// Checks without a verdict.
    pub todo: Vec<String>,
    /// Findings that block the work.
    pub blocking: Vec<String>,
    /// Checks that wait for a person.
    pub escalated: Vec<String>,
    #[schemars(with = "Vec<crate::views::Object>")]
    pub items: Vec<ReviewItem>,
    /// The verdicts in force that were decided here or received through git, the latest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<ReviewVerdictView>,
}

/// The verdict of a review, for output.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReviewVerdictView {
    /// `passed`, `failed`, `needs-person`, or `accepted` for a finding.
    #[schemars(with = "String")]
    pub outcome: ReviewOutcome,
    pub iteration: u32,
    pub findings: Vec<String>,
    #[schemars(with = "String")]
    pub by: Principal,
    pub at: Timestamp,
}

/// Verdicts in force, the latest first, by subject.
pub(super) type VerdictsBySubject = BTreeMap<String, Vec<ReviewVerdictView>>;

/// Loads the verdicts in force of all reviews.
pub(super) fn load_verdicts(state: &dyn Snapshot) -> Result<VerdictsBySubject, StoreFault> {
    let known = load_decisions(state, PROJECT_KEY)?;
    let mut found = VerdictsBySubject::new();
    for KnownDecision { decision, .. } in decisions_in_force(&known) {
        if let Verdict::Reviewed(verdict) = &decision.what {
            let subject = found.entry(verdict.subject.clone()).or_default();
            subject.push(ReviewVerdictView {
                outcome: verdict.outcome,
                iteration: verdict.iteration,
                findings: verdict.findings.clone(),
                by: decision.by.clone(),
                at: decision.at,
            });
        }
    }
    for verdicts in found.values_mut() {
        // Stable, and the decisions come by id: every clone lists equal times in one order.
        verdicts.sort_by_key(|verdict| std::cmp::Reverse(verdict.at));
    }
    Ok(found)
}

impl ReviewView {
    pub(super) fn from_review(review: &Review, verdicts: Vec<ReviewVerdictView>) -> Self {
        let ids = |items: Vec<&ReviewItem>| items.into_iter().map(|item| item.id.clone()).collect();
        Self {
            subject: review.subject.clone(),
            state: review.state,
            iteration: review.iteration,
            last_iteration: review.last_iteration,
            spent: review.spent,
            todo: ids(review.unjudged_items()),
            blocking: ids(review.blocking_items()),
            escalated: ids(review.escalated_items()),
            items: review.items.clone(),
            verdicts,
        }
    }

    /// Returns the view of a review that another clone made: its verdicts, without checks.
    pub(super) fn from_verdicts(subject: String, verdicts: Vec<ReviewVerdictView>) -> Self {
        let is_passed = |one: &ReviewVerdictView| one.outcome == ReviewOutcome::Passed;
        let iteration = verdicts.iter().map(|one| one.iteration).max();
        Self {
            subject,
            // Of opposite verdicts the stricter holds.
            state: if verdicts.iter().all(is_passed) {
                LoopState::Complete
            } else {
                LoopState::Retry
            },
            iteration: iteration.unwrap_or(1),
            last_iteration: iteration.unwrap_or(1),
            spent: 0,
            todo: Vec::new(),
            blocking: Vec::new(),
            escalated: Vec::new(),
            items: Vec::new(),
            verdicts,
        }
    }
}

/// The changed check.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ItemOutcome {
    pub success: bool,
    pub subject: String,
    #[schemars(with = "crate::views::Object")]
    pub item: ReviewItem,
    pub operation: OperationId,
}

impl ItemOutcome {
    pub(super) fn from_review(
        review: Review,
        item: &str,
        operation: OperationId,
    ) -> Result<Self, Failure> {
        let found = review.find_item(item).cloned();
        Ok(Self {
            success: true,
            item: found.ok_or_else(|| Failure::internal("the check is gone"))?,
            subject: review.subject,
            operation,
        })
    }
}

/// Returns the acting principal, as the rules of reviews record it.
pub(crate) fn review_actor<'a>(ctx: &'a Context<'_>) -> ReviewActor<'a> {
    ReviewActor {
        by: &ctx.actor,
        at: ctx.clock.now(),
    }
}

/// The selected review.
pub(super) struct SelectedReview {
    pub(super) subject: String,
    /// The authors of the reviewed work, as recorded by a workflow.
    pub(super) authors: Vec<Principal>,
}

/// Finds the selected review, and checks that the workflow's current step allows the command.
pub(super) fn select_review(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    named: Option<&str>,
    command: Option<&str>,
) -> Result<SelectedReview, Failure> {
    let subject = match named {
        Some(named) => named.trim().to_owned(),
        None => {
            // Without a name the subject follows from the one phase that is under review now; with
            // several, guessing could record a verdict on the wrong one.
            let document = resolve_document(ctx, state, None)?;
            let mut phases = Vec::new();
            for (_, run) in workflows::active_runs(state, &document)? {
                let workflow = workflows::find_workflow(ctx, &run.workflow)?;
                phases.extend(workflows::current_step(&workflow, &run)?.1.phase.clone());
            }
            match phases.as_slice() {
                [phase] => format!("{document}/{phase}"),
                _ => {
                    return Err(Failure::invalid(
                        "no review subject: name one, no workflow step implies it",
                    )
                    .with_step("--of SUBJECT   # such as add-search/plan-design or a node"));
                }
            }
        }
    };
    if subject.is_empty() {
        return Err(Failure::invalid("a review needs a subject").with_step("--of SUBJECT"));
    }
    let mut authors = Vec::new();
    if let Some((about, phase)) = subject.rsplit_once('/') {
        for (_, run) in workflows::active_runs(state, about)? {
            let workflow = workflows::find_workflow(ctx, &run.workflow)?;
            let (at, step) = workflows::current_step(&workflow, &run)?;
            authors.extend(run.authors.iter().cloned());
            let Some(command) = command else { continue };
            // A reviewer of one phase must not judge another: each phase has its own role and
            // authors.
            let is_its_own = step.phase.as_deref() == Some(phase);
            let may = is_its_own
                && domain::workflow::is_command_allowed(&workflow, at, &ctx.actor, command);
            // Roles bind agents. A person can always step in, which is recorded under their name.
            if !may && !ctx.actor.is_human() {
                return Err(Failure::refused(format!(
                    "`tl {command}` of `{phase}` is not for the {} in step `{}` of {}",
                    step.role, step.name, workflow.name
                ))
                .with_step(format!("tl flow next --for {about}")));
            }
        }
    }
    Ok(SelectedReview { subject, authors })
}

/// Loads the review of a subject.
pub(super) fn load_review(state: &dyn Snapshot, subject: &str) -> Result<Review, Failure> {
    record::read_record::<Review>(state, subject)?.ok_or_else(|| missing_review(subject))
}

/// Returns the failure of a subject that was never reviewed.
pub(super) fn missing_review(subject: &str) -> Failure {
    Failure::not_found(format!("there is no review of `{subject}` yet")).with_step(format!(
        "tl review add --of {subject} --check TEXT --severity MUST"
    ))
}

/// A changed review, before it is recorded.
pub(super) struct ReviewChange<T> {
    pub(super) before: Option<Review>,
    pub(super) after: Review,
    pub(super) summary: String,
    /// Set if the change is a decision: an iteration was concluded, or a finding accepted.
    pub(super) verdict: Option<ReviewVerdict>,
    pub(super) value: T,
}

/// Changes a review in one operation.
pub(super) fn change_review<T>(
    ctx: &Context<'_>,
    named: Option<&str>,
    command: &str,
    request: &dyn std::fmt::Debug,
    act: impl FnOnce(&dyn Transaction, &SelectedReview) -> Result<ReviewChange<T>, Failure>,
) -> Result<(T, Review, OperationId), Failure> {
    run_with_files(ctx, &(command, named, request), |tx, planned| {
        let meant = select_review(ctx, &*tx, named, Some(command))?;
        let change = act(&*tx, &meant)?;
        let mut operation = ctx.new_operation(Verb::Review, change.summary);
        // The file is planned with the operation, so that it never shows a verdict that was not
        // recorded.
        let (before, after) = (change.before, change.after);
        operation.facts = stage_review(ctx, &*tx, before.as_ref(), Some(&after), planned)?;
        attach_verdict(ctx, planned, &*tx, &mut operation, change.verdict)?;
        let operation = planned.record_operation(tx, operation)?;
        Ok((change.value, after, operation))
    })
}

/// Adds the verdict of a review to the operation that gives it, as a decision.
pub(crate) fn attach_verdict(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    state: &dyn Snapshot,
    operation: &mut NewOperation,
    verdict: Option<ReviewVerdict>,
) -> Result<(), Failure> {
    match verdict.map(Verdict::Reviewed) {
        Some(what) => attach_decision(ctx, planned, state, operation, PROJECT_KEY.to_owned(), what),
        None => Ok(()),
    }
}

/// Returns the fact that a review changed, and plans its file next to the plan.
///
/// The file exists while the review runs. An outside edit of it is reported, not overwritten.
pub(crate) fn stage_review(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    before: Option<&Review>,
    after: Option<&Review>,
    planned: &PlannedFiles<'_>,
) -> Result<Vec<Fact>, Failure> {
    let Some(after) = after else {
        return Ok(Vec::new());
    };
    let Some(fact) = record::record_changed_fact(&after.subject, before, Some(after)) else {
        return Ok(Vec::new());
    };
    let place = after
        .subject
        .rsplit_once('/')
        .filter(|(_, phase)| is_review_phase(phase));
    if let Some((document, phase)) = place
        // Reviews of nodes and of free subjects have no folder to put a file into.
        && record::read_record::<DocumentRecord>(state, document)?.is_some()
    {
        let path = document_file_path(document, &format!("qr-{phase}.json"));
        check_file_unedited(ctx, state, &path)?;
        // A finished review is in the history; its file would look like open work.
        if after.state == LoopState::Complete {
            planned.put_file(&path, None)?;
        } else {
            planned.put_file(
                &path,
                Some(&mask_secrets(&render_review_file(phase, after))),
            )?;
        }
    }
    Ok(vec![fact])
}

/// Checks that the review file was not edited: a text the store knows can be overwritten without
/// loss, an unknown one is an external edit.
fn check_file_unedited(ctx: &Context<'_>, state: &dyn Snapshot, path: &str) -> Result<(), Failure> {
    let changed = |why: String| {
        Err(Failure::conflict(why)
            .with_step("use the commands instead: tl review add, tl review verdict")
            .with_step(format!(
                "then delete {path}: it is written again from the recorded review"
            )))
    };
    match ctx.files.read_file(path, ctx.policy.max_plan_bytes) {
        FileReadResult::Missing => Ok(()),
        FileReadResult::Unreadable { why, .. } => changed(format!(
            "{path} cannot be read: {why}; nothing was done with it"
        )),
        // By hash, not by comparing with the last version: any version of ours may be replaced.
        FileReadResult::Text { text, .. } => {
            match state.load_text(VersionHash::of_bytes(text.as_bytes()))? {
                Some(_) => Ok(()),
                None => changed(format!(
                    "{path} was changed outside; nothing was done with it"
                )),
            }
        }
    }
}

impl From<ReviewRefused> for Failure {
    fn from(refused: ReviewRefused) -> Self {
        let kind = match &refused {
            ReviewRefused::NoSuchItem { .. } => FailureKind::NotFound,
            ReviewRefused::AnotherVersion { .. } | ReviewRefused::AnotherIteration { .. } => {
                FailureKind::Conflict
            }
            ReviewRefused::NoFinding | ReviewRefused::NoCheck | ReviewRefused::NoReason => {
                FailureKind::Invalid
            }
            ReviewRefused::Complete { .. }
            | ReviewRefused::NoItems { .. }
            | ReviewRefused::NotJudged { .. }
            | ReviewRefused::Author { .. }
            | ReviewRefused::Accepted { .. }
            | ReviewRefused::NothingToAccept { .. }
            | ReviewRefused::NotAPerson { .. } => FailureKind::Refused,
        };
        let failure = Self::new(kind, refused.to_string());
        match refused {
            ReviewRefused::AnotherVersion { is, item, .. } => failure
                .with_step(format!(
                    "--version {is}   # after you looked at it as it is now"
                ))
                .with_current(serde_json::to_value(*item).unwrap_or_default()),
            ReviewRefused::NoFinding => failure.with_step("--finding \"what is wrong, and where\""),
            ReviewRefused::NoReason => failure.with_step("--reason \"…\""),
            ReviewRefused::NoCheck => failure.with_step("--check \"…\""),
            ReviewRefused::NoItems { subject } | ReviewRefused::Complete { subject } => failure
                .with_step(format!(
                    "tl review add --of {subject} --check TEXT --severity MUST"
                )),
            ReviewRefused::NotJudged { .. } => failure.with_step("tl review verdict ID pass|fail"),
            ReviewRefused::Author { .. } => {
                failure.with_step("let another session or a person review it")
            }
            ReviewRefused::NotAPerson { .. } => {
                failure.with_step("ask the person who works with you")
            }
            ReviewRefused::NoSuchItem { .. }
            | ReviewRefused::Accepted { .. }
            | ReviewRefused::AnotherIteration { .. }
            | ReviewRefused::NothingToAccept { .. } => failure.with_step("tl review status"),
        }
    }
}
