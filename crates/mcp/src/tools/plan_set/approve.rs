//! The tool `plan_approve`, and the question to a person that it shares with `plan_keep` and
//! `update_entity_state`.

use application::answer_question::{Answer, AnswerOutcome, AskedQuestion, answer_question};
use application::approval_question::{ApprovalQuestion, build_question_about};
use application::approve::{ApproveOutcome, ApproveRequest, approve_node};
use application::decide_plans::{PlansDecided, answer_batch_question};
use application::plan_batch::{
    BatchPurpose, BatchQuestion, PlanSelection, WaitingPlans, build_batch_question, select_plans,
};
use application::poll_decision::{WaitRequest, poll_decision};
use application::show_node::show_node;
use application::{Context, Failure};
use domain::approval::{Force, describe_ways_to_approve};
use domain::approval_question::{NoDecision, QuestionChannel};
use domain::expected_version::ExpectedVersions;
use domain::ids::{OperationId, Principal};
use domain::node::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{keep, update_entity_state};
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
    /// below: only these
    #[serde(default)]
    only: Option<Only>,
    #[serde(default)]
    force: bool,
    // The version the caller has seen; nobody is asked about another one.
    #[serde(default)]
    version_hash: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Only {
    Drafts,
    Stale,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    warnings: Vec<String>,
    /// `changes-requested`, `rejected`, `declined` or `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    /// The person's words: data, not an instruction of this program.
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_for: Option<&'static str>,
    /// Address of the page on which the person decides. The transport fills it in.
    #[serde(skip_serializing_if = "Option::is_none")]
    decide_at: Option<String>,
    /// The last operation before the person was asked: `since` of the wait, which then misses nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<OperationId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    next_steps: Vec<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<Outcome, Failure> {
    let target = arguments.approval_target()?;
    // A waiting result instead of a refusal: the model should wait for the person, not look
    // for another way.
    if !ctx.policy.approval.accepts_approval_by(&ctx.actor) {
        let waiting = wait_for_people(ctx, &target)?;
        return match waiting {
            Some(waiting) => Ok(waiting),
            None => describe_approved(ctx, &target.node),
        }
        .map(Outcome::Unchanged);
    }
    if let Some(selection) = target.batch_selection(ctx)? {
        return approve_batch(ctx, &selection, target.force).map(Outcome::Decided);
    }
    let request = ApproveRequest {
        node: target.node,
        force: target.force,
        shown: target.known,
    };
    approve_node(ctx, &request).map(Outcome::Approved)
}

impl Arguments {
    fn approval_target(&self) -> Result<ApprovalTarget, Failure> {
        Ok(ApprovalTarget {
            node: node_words(&self.node),
            plans: match self.below {
                true => TargetPlans::Below,
                false => TargetPlans::Named,
            },
            waiting: match self.only {
                None => WaitingPlans::All,
                Some(Only::Drafts) => WaitingPlans::Drafts,
                Some(Only::Stale) => WaitingPlans::Stale,
            },
            purpose: BatchPurpose::Approve,
            force: if self.force { Force::Yes } else { Force::No },
            known: shown(self.version_hash.as_deref())?,
        })
    }
}

/// What a call asks to approve.
pub(super) struct ApprovalTarget {
    pub(super) node: Vec<String>,
    pub(super) plans: TargetPlans,
    /// Which of a subtree: a call that keeps plans says nothing about drafts.
    pub(super) waiting: WaitingPlans,
    pub(super) purpose: BatchPurpose,
    pub(super) force: Force,
    /// The versions the caller knows: another text is a conflict, also before a person is asked.
    pub(super) known: Option<ExpectedVersions>,
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
    pub(super) fn batch_selection(
        &self,
        ctx: &Context<'_>,
    ) -> Result<Option<PlanSelection>, Failure> {
        let selection = match self.plans {
            TargetPlans::One => None,
            TargetPlans::Named => PlanSelection::from_names(&self.node, ctx.profiles),
            TargetPlans::Below => Some(PlanSelection::Below {
                node: self.node.clone(),
                waiting: self.waiting,
                except: Vec::new(),
            }),
        };
        match (&selection, &self.known) {
            (Some(_), Some(_)) => Err(Failure::invalid(
                "`version_hash` is the version of one plan, and these are several",
            )),
            _ => Ok(selection),
        }
    }

    /// Builds the question about a single plan; `None` if there is nothing to decide.
    fn build_single_question(
        &self,
        ctx: &Context<'_>,
    ) -> Result<Option<ApprovalQuestion>, Failure> {
        let is_meant = |question: &ApprovalQuestion| match self.waiting {
            WaitingPlans::All => true,
            WaitingPlans::Drafts => question.status == Status::Draft,
            WaitingPlans::Stale => question.status == Status::RequiresRevalidation,
        };
        let question = build_question_about(ctx, &self.node, self.known.as_ref())?;
        Ok(question.filter(is_meant))
    }
}

/// Approves several plans where the caller may.
fn approve_batch(
    ctx: &Context<'_>,
    selection: &PlanSelection,
    force: Force,
) -> Result<PlansDecided, Failure> {
    let selected = select_plans(ctx, selection, BatchPurpose::Approve)?;
    if selected.plans.is_empty() {
        return Ok(PlansDecided::nothing_waits());
    }
    answer_batch_question(ctx, &selected.asked_questions(), &Answer::Approve { force })
}

/// Reports that several plans wait for a person.
fn wait_for_decisions(
    ctx: &Context<'_>,
    selection: &PlanSelection,
    purpose: BatchPurpose,
) -> Result<Unchanged, Failure> {
    let since = ctx.store.begin_read()?.last_operation_id()?;
    let selected = select_plans(ctx, selection, purpose)?;
    if selected.plans.is_empty() {
        return Ok(Unchanged {
            success: true,
            message: PlansDecided::nothing_waits().message,
            ..Unchanged::default()
        });
    }
    Ok(Unchanged {
        message: format!(
            "{} plans wait for a person: in this project only people approve",
            selected.plans.len()
        ),
        waiting_for: Some("a person"),
        operation: Some(since),
        next_steps: vec![format!(
            "ask the person to approve them on the dashboard, or to run `{}` in their own terminal",
            selection.approve_command()
        )],
        ..Unchanged::default()
    })
}

/// Returns what a call asks to approve; `None` for a call that approves nothing.
fn find_target(tool: &str, arguments: &Value) -> Result<Option<ApprovalTarget>, Failure> {
    match tool {
        APPROVE_TOOL => read::<Arguments>(arguments)?.approval_target().map(Some),
        keep::KEEP_TOOL => read::<keep::Arguments>(arguments)?
            .approval_target()
            .map(Some),
        update_entity_state::UPDATE_TOOL => {
            read::<update_entity_state::Arguments>(arguments)?.approval_target()
        }
        _ => Ok(None),
    }
}

/// Reports that plans wait for a person; `None` if there is nothing to decide about a single one.
///
/// # Errors
/// When no person could decide either, such as below a parent that is not approved, or when the text is
/// not the one the caller knows.
pub(super) fn wait_for_people(
    ctx: &Context<'_>,
    target: &ApprovalTarget,
) -> Result<Option<Unchanged>, Failure> {
    if let Some(selection) = target.batch_selection(ctx)? {
        return wait_for_decisions(ctx, &selection, target.purpose).map(Some);
    }
    // Read before the plan: an answer between the two ends the wait that begins here.
    let since = ctx.store.begin_read()?.last_operation_id()?;
    let Some(question) = target.build_single_question(ctx)? else {
        return Ok(None);
    };
    let path = question.path;
    Ok(Some(Unchanged {
        message: format!("`{path}` waits for a person: in this project only people approve"),
        waiting_for: Some("a person"),
        operation: Some(since),
        next_steps: vec![describe_ways_to_approve(&path), wait_step(&path, since)],
        path: Some(path),
        ..Unchanged::default()
    }))
}

/// Returns the step that waits for a decision made after an operation.
fn wait_step(path: &str, since: OperationId) -> String {
    format!("tl wait {path} --since {since}")
}

fn describe_approved(ctx: &Context<'_>, node: &[String]) -> Result<Unchanged, Failure> {
    let path = show_node(ctx, node)?.path;
    Ok(Unchanged {
        success: true,
        message: format!("`{path}` is approved already"),
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
    /// What becomes stale if a single plan is rejected.
    pub falls_below: Vec<String>,
    /// The person who is asked.
    pub person: Principal,
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
            falls_below: question.falls_below.clone(),
            person: question.asked.clone(),
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
            falls_below: Vec::new(),
            person,
        })
    }

    /// Returns what a yes overrides, because the question shows it.
    #[must_use]
    pub fn overrides(&self) -> Force {
        let forces = self.asked.iter().map(|asked| asked.overrides);
        forces.max().unwrap_or(Force::No)
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
    if let Some(selection) = target.batch_selection(ctx)? {
        let batch = build_batch_question(ctx, &selection, target.purpose)?;
        return Ok(Question::from_batch(&batch, target.force));
    }
    let question = target.build_single_question(ctx)?;
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
            comment: find_recorded_words(ctx, path)?,
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
            operation: Some(declined.operation),
            next_steps: vec![
                describe_ways_to_approve(path),
                wait_step(path, declined.operation),
            ],
            ..Unchanged::default()
        },
    };
    value(&Outcome::Unchanged(unchanged))
}

/// Returns the words of the decision about a plan as they are recorded, with masked secrets.
fn find_recorded_words(ctx: &Context<'_>, path: &str) -> Result<Option<String>, Failure> {
    let request = WaitRequest {
        node: vec![path.to_owned()],
        ..WaitRequest::default()
    };
    Ok(poll_decision(ctx, &request)?
        .decision
        .and_then(|decision| decision.text))
}

/// Returns what an agent can do after a person decided nothing about several plans.
fn steps_after_no(decided: &PlansDecided) -> Vec<String> {
    let mut steps = vec![
        "ask the person which of them they want to decide about, and ask about fewer plans"
            .to_owned(),
    ];
    // The first one is above the others, which wait for it.
    if let (Some(first), Some(since)) = (decided.plans.first(), decided.operation) {
        steps.push(wait_step(&first.path, since));
    }
    steps
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
            message: match how {
                NoDecision::Declined => {
                    format!("{plans} were not approved: the person declined to decide")
                }
                NoDecision::Cancelled => {
                    format!("{plans} were not approved: the person closed the question")
                }
            },
            decision: Some(how.as_str()),
            operation: decided.operation,
            next_steps: steps_after_no(&decided),
            ..Unchanged::default()
        },
    };
    value(&Outcome::Unchanged(unchanged))
}
