//! Take the answer to an approval question: approve, request changes, reject, or no decision.
//!
//! An answer counts only for the question it was given to: the same node, text, parent and person.
//! Text and parent are compared inside the write transaction of each decision.

use domain::approval::Force;
use domain::approval_question::{DeclinedQuestion, NoDecision};
use domain::expected_version::ExpectedVersions;
use domain::ids::{OperationId, Principal, VersionHash};
use domain::operation::Verb;
use domain::record;
use schemars::JsonSchema;
use serde::Serialize;

use crate::approval_question::ApprovalQuestion;
use crate::approve::{ApproveOutcome, ApproveRequest, approve_node};
use crate::context::Context;
use crate::failure::Failure;
use crate::invalidate::{InvalidateRequest, invalidate_node};
use crate::locate::{load_node, load_node_path, reject_extra_words};
use crate::observe::with_recorded_node_files;
use crate::request_changes::{ChangesRequest, ChangesRequested, request_changes};
use crate::views::CascadeView;

/// The question an answer belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedQuestion {
    pub path: String,
    pub version: VersionHash,
    pub parent_version: Option<VersionHash>,
    /// The person who was asked.
    pub asked: Principal,
    /// What a yes overrides, because the question showed it.
    pub overrides: Force,
}

impl From<&ApprovalQuestion> for AskedQuestion {
    fn from(question: &ApprovalQuestion) -> Self {
        Self {
            path: question.path.clone(),
            version: question.version_hash,
            parent_version: question.parent_version_hash,
            asked: question.asked.clone(),
            overrides: question.required_force,
        }
    }
}

impl AskedQuestion {
    /// Returns the versions an answer is bound to.
    #[must_use]
    pub fn expected_versions(&self) -> ExpectedVersions {
        ExpectedVersions {
            version: self.version.into(),
            parent: self.parent_version.map(Into::into),
        }
    }
}

/// What a person answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `force` overrides more than the question showed.
    Approve {
        force: Force,
    },
    RequestChanges {
        text: String,
    },
    Reject {
        reason: String,
    },
    /// The person saw the question and did not decide.
    NoDecision(NoDecision),
}

/// Outcome of [`answer_question`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum AnswerOutcome {
    Approved(ApproveOutcome),
    ChangesRequested(ChangesRequested),
    Rejected(CascadeView),
    NoDecision(DeclinedView),
}

/// A question that the person did not decide.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DeclinedView {
    pub path: String,
    /// `declined` or `cancelled`.
    #[schemars(with = "String")]
    pub how: NoDecision,
    #[schemars(with = "String")]
    pub by: Principal,
    pub operation: OperationId,
}

/// Records the answer of the person who was asked.
///
/// # Errors
/// When another principal answers, the text or the parent changed since the question, a rule refuses
/// the decision, or the state cannot be written.
pub fn answer_question(
    ctx: &Context<'_>,
    question: &AskedQuestion,
    answer: Answer,
) -> Result<AnswerOutcome, Failure> {
    // Compared with the authenticated principal: nothing in an answer can say who gave it.
    if ctx.actor != question.asked {
        return Err(Failure::refused(format!(
            "`{}` was asked about `{}`, and this is {}",
            question.asked, question.path, ctx.actor
        )));
    }
    let node = vec![question.path.clone()];
    let shown = Some(question.expected_versions());
    // Each decision is the use case of the command with the same name, so that no channel has rules
    // of its own.
    Ok(match answer {
        Answer::Approve { force } => {
            let force = force.max(question.overrides);
            let request = ApproveRequest { node, force, shown };
            AnswerOutcome::Approved(approve_node(ctx, &request)?)
        }
        Answer::RequestChanges { text } => {
            let request = ChangesRequest { node, text, shown };
            AnswerOutcome::ChangesRequested(request_changes(ctx, &request)?)
        }
        Answer::Reject { reason } => {
            let request = InvalidateRequest {
                node,
                reason,
                shown,
            };
            AnswerOutcome::Rejected(invalidate_node(ctx, &request)?)
        }
        Answer::NoDecision(how) => {
            AnswerOutcome::NoDecision(record_no_decision(ctx, question, how)?)
        }
    })
}

/// Records that a person was asked and did not decide, so that the waiting agent learns it.
fn record_no_decision(
    ctx: &Context<'_>,
    question: &AskedQuestion,
    how: NoDecision,
) -> Result<DeclinedView, Failure> {
    let words = [question.path.clone()];
    with_recorded_node_files(ctx, &words, None, |planned, tx, id, rest| {
        reject_extra_words(rest)?;
        let node = load_node(&*tx, id)?;
        let path = load_node_path(&*tx, &node)?;
        let key = DeclinedQuestion::record_key(id);
        let before = record::read_record::<DeclinedQuestion>(&*tx, &key)?;
        let declined = DeclinedQuestion {
            node: id,
            operation: tx.next_operation_id()?,
            // Of the question and not the present one: the agent that waits asked about that text.
            version: Some(question.version),
            how,
            by: ctx.actor.clone(),
            at: ctx.clock.now(),
        };
        let mut operation = ctx.new_operation(
            Verb::Decline,
            format!(
                "no decision about {path}: the question was {}",
                how.as_str()
            ),
        );
        operation.at = declined.at;
        operation.facts.extend(record::record_changed_fact(
            &key,
            before.as_ref(),
            Some(&declined),
        ));
        let operation = planned.record_operation(tx, operation)?;
        Ok(DeclinedView {
            path,
            how,
            by: declined.by,
            operation,
        })
    })
}
