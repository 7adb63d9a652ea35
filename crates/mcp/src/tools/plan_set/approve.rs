//! The tool `plan_approve`, and the question to a person that it shares with
//! `update_entity_state`.

use application::answer_question::{Answer, AnswerOutcome, AskedQuestion, answer_question};
use application::approval_question::{ApprovalQuestion, build_question};
use application::approve::{ApproveOutcome, ApproveRequest, approve_node};
use application::decide_plans::{PlansDecided, answer_batch_question};
use application::plan_batch::{
    BatchPurpose, BatchQuestion, PlanSelection, WaitingPlans, build_batch_question,
};
use application::show_node::show_node;
use application::{Context, Failure};
use domain::approval::{Force, ask_person_next_step};
use domain::approval_question::{NoDecision, QuestionChannel};
use domain::ids::Principal;
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
    /// alias or path, or several
    #[serde(default)]
    node: String,
    /// all that waits in its subtree, or anywhere
    #[serde(default)]
    below: bool,
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
    Decided(PlansDecided),
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
        return match target.batch_selection(ctx) {
            Some(selection) => wait_for_decisions(ctx, &selection),
            None => wait_for_person(ctx, &target.node),
        }
        .map(Outcome::Unchanged);
    }
    if let Some(selection) = target.batch_selection(ctx) {
        if arguments.version_hash.is_some() {
            return Err(Failure::invalid(
                "`version_hash` is the version of one plan, and these are several",
            ));
        }
        return approve_batch(ctx, &selection, target.force).map(Outcome::Decided);
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
            plans: match self.below {
                true => TargetPlans::Below,
                false => TargetPlans::Named,
            },
            force: if self.force { Force::Yes } else { Force::No },
        }
    }
}

/// What a call asks to approve.
pub(super) struct ApprovalTarget {
    pub(super) node: Vec<String>,
    pub(super) plans: TargetPlans,
    pub(super) force: Force,
}

/// How the words of a call name plans.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TargetPlans {
    /// Exactly one.
    One,
    /// One or several.
    Named,
    /// Everything in a subtree that waits.
    Below,
}

impl ApprovalTarget {
    /// Returns which plans are meant; `None` for a single one.
    fn batch_selection(&self, ctx: &Context<'_>) -> Option<PlanSelection> {
        match self.plans {
            TargetPlans::One => None,
            TargetPlans::Named => PlanSelection::from_names(&self.node, ctx.profiles),
            TargetPlans::Below => Some(PlanSelection::Below {
                node: self.node.clone(),
                waiting: WaitingPlans::All,
            }),
        }
    }
}

/// Approves several plans where the caller may.
fn approve_batch(
    ctx: &Context<'_>,
    selection: &PlanSelection,
    force: Force,
) -> Result<PlansDecided, Failure> {
    let question = build_batch_question(ctx, selection, BatchPurpose::Approve)?;
    if question.questions.is_empty() {
        return Ok(PlansDecided::nothing_waits());
    }
    answer_batch_question(ctx, &question.asked_questions(), &Answer::Approve { force })
}

/// Reports that several plans wait for a person.
fn wait_for_decisions(ctx: &Context<'_>, selection: &PlanSelection) -> Result<Unchanged, Failure> {
    let question = build_batch_question(ctx, selection, BatchPurpose::Approve)?;
    let paths: Vec<&str> = question
        .questions
        .iter()
        .map(|one| one.path.as_str())
        .collect();
    if paths.is_empty() {
        return Ok(Unchanged {
            success: true,
            message: PlansDecided::nothing_waits().message,
            ..Unchanged::default()
        });
    }
    Ok(Unchanged {
        message: format!(
            "{} plans wait for a person: in this project only people approve",
            paths.len()
        ),
        waiting_for: Some("a person"),
        next_steps: vec![format!(
            "ask the person to approve them on the dashboard, or to run `tl approve {}` in their own terminal",
            paths.join(" ")
        )],
        ..Unchanged::default()
    })
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
    /// The plans an answer decides; more than one is decided as a batch.
    pub asked: Vec<AskedQuestion>,
    /// The person who is asked.
    pub person: Principal,
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
            asked: vec![AskedQuestion::from(question)],
            person: question.asked.clone(),
            force,
        }
    }

    /// Returns the one question about several plans; `None` without any.
    fn from_batch(batch: &BatchQuestion, force: Force) -> Option<Self> {
        let person = batch.questions.first()?.asked.clone();
        let rendered = batch.render_for(QuestionChannel::Form);
        let mut message = rendered.text.clone();
        let has_warnings = batch.questions.iter().any(|one| !one.warnings.is_empty());
        if force == Force::Yes && has_warnings {
            message.insert_str(0, "The agent asks to approve them despite warnings.\n");
        }
        Some(Self {
            message,
            is_whole: rendered.is_whole(),
            code: batch.question_code(),
            asked: batch.asked_questions(),
            person,
            force,
        })
    }

    /// Returns what the question is about, in words.
    #[must_use]
    pub fn subject(&self) -> String {
        match self.asked.as_slice() {
            [one] => one.path.clone(),
            several => format!("these {} plans", several.len()),
        }
    }

    /// Whether one answer decides several plans.
    #[must_use]
    pub fn is_batch(&self) -> bool {
        self.asked.len() > 1
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
    if let Some(selection) = target.batch_selection(ctx) {
        let batch = build_batch_question(ctx, &selection, BatchPurpose::Approve)?;
        return Ok(Question::from_batch(&batch, target.force));
    }
    let question = build_question(ctx, &target.node)?;
    Ok(question.map(|question| Question::from_question(&question, target.force)))
}

/// Records the person's answer to a question, and returns what the agent is told.
pub(crate) fn answer_shown(
    ctx: &Context<'_>,
    question: &Question,
    answer: Answer,
) -> Result<Value, Failure> {
    let [asked] = question.asked.as_slice() else {
        return answer_batch(ctx, question, &answer);
    };
    let path = &asked.path;
    let unchanged = match answer_question(ctx, asked, answer)? {
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
            // The recorded words, in which secrets are masked.
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
            next_steps: vec![ask_person_next_step(path), format!("tl wait {path}")],
            ..Unchanged::default()
        },
    };
    value(&Outcome::Unchanged(unchanged))
}

/// Records the person's answer about several plans.
fn answer_batch(ctx: &Context<'_>, question: &Question, answer: &Answer) -> Result<Value, Failure> {
    let decided = answer_batch_question(ctx, &question.asked, answer)?;
    let plans = question.subject();
    let unchanged = match answer {
        Answer::Approve { .. } => return value(&Outcome::Decided(decided)),
        Answer::RequestChanges { text } => Unchanged {
            message: format!("{plans} were not approved: the person requests changes"),
            decision: Some("changes-requested"),
            comment: Some(text.clone()),
            next_steps: vec!["change the texts accordingly, then ask again".to_owned()],
            ..Unchanged::default()
        },
        // Not reached: a batch offers no rejection, and the use case refuses one.
        Answer::Reject { .. } => Unchanged {
            message: format!("{plans} were not approved"),
            decision: Some("rejected"),
            ..Unchanged::default()
        },
        Answer::NoDecision(how) => Unchanged {
            message: format!(
                "{plans} were not approved: the question was {}",
                how.as_str()
            ),
            decision: Some(how.as_str()),
            next_steps: vec!["ask about fewer plans, or wait until the person decides".to_owned()],
            ..Unchanged::default()
        },
    };
    value(&Outcome::Unchanged(unchanged))
}
