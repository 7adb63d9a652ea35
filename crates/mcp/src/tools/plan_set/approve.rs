//! The tool `plan_approve`, and the question to a person that it shares with
//! `update_entity_state`.

use application::answer_question::{Answer, AnswerOutcome, AskedQuestion, answer_question};
use application::approval_question::{ApprovalQuestion, build_question};
use application::approve::{ApproveOutcome, ApproveRequest, approve_node};
use application::show_node::show_node;
use application::{Context, Failure};
use domain::approval::{Force, ask_person_next_step};
use domain::approval_question::{NoDecision, QuestionChannel};
use domain::node::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::update_entity_state;
use crate::tools::arguments::{node_words, read, shown, value};

/// The name of the tool.
pub(crate) const APPROVE_TOOL: &str = "plan_approve";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path
    node: String,
    #[serde(default)]
    force: bool,
    // The version the caller has seen; another one is not approved.
    #[serde(default)]
    version_hash: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Outcome {
    Approved(ApproveOutcome),
    Unchanged(Unchanged),
}

/// The plan was not approved, and why not.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct Unchanged {
    success: bool,
    message: String,
    warnings: Vec<String>,
    /// `changes-requested`, `rejected`, `declined` or `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    /// The person's words: data, not an instruction of this program.
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_for: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    next_steps: Vec<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<Outcome, Failure> {
    let target = arguments.approval_target();
    // A waiting result instead of a refusal: the model should wait for the person, not look
    // for another way.
    if !ctx.policy.approval.accepts_approval_by(&ctx.actor) {
        return wait_for_person(ctx, &target.node).map(Outcome::Unchanged);
    }
    let request = ApproveRequest {
        node: target.node,
        force: target.force,
        shown: shown(arguments.version_hash.as_deref())?,
    };
    approve_node(ctx, &request).map(Outcome::Approved)
}

impl Arguments {
    fn approval_target(&self) -> ApprovalTarget {
        ApprovalTarget {
            node: node_words(&self.node),
            force: if self.force { Force::Yes } else { Force::No },
        }
    }
}

/// What a call asks to approve.
pub(super) struct ApprovalTarget {
    pub(super) node: Vec<String>,
    pub(super) force: Force,
}

/// Returns what a call asks to approve; `None` for a call that approves nothing.
fn find_target(tool: &str, arguments: &Value) -> Result<Option<ApprovalTarget>, Failure> {
    match tool {
        APPROVE_TOOL => Ok(Some(read::<Arguments>(arguments)?.approval_target())),
        update_entity_state::UPDATE_TOOL => {
            Ok(read::<update_entity_state::Arguments>(arguments)?.approval_target())
        }
        _ => Ok(None),
    }
}

fn wait_for_person(ctx: &Context<'_>, node: &[String]) -> Result<Unchanged, Failure> {
    let now = show_node(ctx, node)?;
    if now.status == Status::Approved {
        return Ok(Unchanged {
            success: true,
            message: format!("`{}` is approved already", now.path),
            ..Unchanged::default()
        });
    }
    Ok(Unchanged {
        message: format!(
            "`{}` waits for a person: in this project only people approve",
            now.path
        ),
        waiting_for: Some("a person"),
        next_steps: vec![
            ask_person_next_step(&now.path),
            format!("tl wait {}", now.path),
        ],
        ..Unchanged::default()
    })
}

/// Approval question for a person, as a form shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub message: String,
    /// Whether everything is shown: only then yes is a possible answer.
    pub is_whole: bool,
    /// The code of the question: another text, parent or person has another one.
    pub code: String,
    pub asked: AskedQuestion,
    pub force: Force,
}

impl Question {
    fn from_question(question: &ApprovalQuestion, force: Force) -> Self {
        let rendered = question.render_for(QuestionChannel::Form);
        let mut message = rendered.text.clone();
        // The person has to know that the agent wants to override warnings.
        if force == Force::Yes && !question.warnings.is_empty() {
            message.insert_str(0, "The agent asks to approve it despite warnings.\n");
        }
        Self {
            message,
            is_whole: rendered.is_whole(),
            code: question.question_code(),
            asked: AskedQuestion::from(question),
            force,
        }
    }
}

/// Returns the question for the person as whom `ctx` acts; `None` if the call approves nothing, or
/// the plan is approved already.
pub(crate) fn question(
    ctx: &Context<'_>,
    tool: &str,
    arguments: &Value,
) -> Result<Option<Question>, Failure> {
    let Some(target) = find_target(tool, arguments)? else {
        return Ok(None);
    };
    let question = build_question(ctx, &target.node)?;
    Ok(question.map(|question| Question::from_question(&question, target.force)))
}

/// Records the person's answer to a question, and returns what the agent is told.
pub(crate) fn answer_shown(
    ctx: &Context<'_>,
    question: &Question,
    answer: Answer,
) -> Result<Value, Failure> {
    let path = &question.asked.path;
    let unchanged = match answer_question(ctx, &question.asked, answer)? {
        AnswerOutcome::Approved(approved) => return value(&Outcome::Approved(approved)),
        AnswerOutcome::ChangesRequested(requested) => Unchanged {
            message: format!("`{path}` was not approved: the person requests changes"),
            decision: Some("changes-requested"),
            comment: Some(requested.text),
            next_steps: vec!["change the text accordingly, then ask again".to_owned()],
            ..Unchanged::default()
        },
        AnswerOutcome::Rejected(_) => Unchanged {
            message: format!("`{path}` was not approved: the person rejects it"),
            decision: Some("rejected"),
            comment: show_node(ctx, std::slice::from_ref(path))?.invalidation_reason,
            next_steps: vec!["do not build on it; ask the person how to go on".to_owned()],
            ..Unchanged::default()
        },
        AnswerOutcome::NoDecision(declined) => Unchanged {
            message: match declined.how {
                NoDecision::Declined => {
                    format!("`{path}` was not approved: the person declined to decide")
                }
                NoDecision::Cancelled => {
                    format!("`{path}` was not approved: the person closed the question")
                }
            },
            decision: Some(declined.how.as_str()),
            next_steps: vec![
                ask_person_next_step(path),
                format!("then: wait {{\"node\": \"{path}\"}}"),
            ],
            ..Unchanged::default()
        },
    };
    value(&Outcome::Unchanged(unchanged))
}
