//! Decide about several plans as one operation: approve them, request changes of them, or record that
//! the person did not decide.
//!
//! All or nothing. An answer is given to everything that was shown, so one plan that changed since, or
//! that a rule refuses, leaves all undecided. Plans above are decided before those below, which are
//! judged by the statuses that follow.

use std::collections::{BTreeMap, HashMap, HashSet};

use domain::approval::{ApprovalRequest, Force, ObjectionKind, decide_approval};
use domain::approval_question::{DeclinedQuestion, NoDecision};
use domain::comment::MAX_COMMENT_CHARS;
use domain::expected_version::ExpectedVersions;
use domain::fact::Fact;
use domain::ids::{NodeId, OperationId, VersionHash};
use domain::memory::validate_note_text;
use domain::needs::Needs;
use domain::node::{Node, Status};
use domain::operation::Verb;
use domain::policy::Policy;
use domain::ports::Transaction;
use domain::record;
use domain::revalidation::{approval_facts, objection_facts};
use domain::text::{clean_line, count_with_noun};
use domain::tree::Tree;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer_question::{Answer, AskedQuestion};
use crate::approve::{refuse_agents_decision, refuse_needs_cycle, refuse_unavailable};
use crate::context::Context;
use crate::decisions::record_with_decisions;
use crate::duplicate_ids::refuse_duplicate;
use crate::failure::{Failure, FailureKind};
use crate::locate::{find_node, reject_extra_words};
use crate::observe::{load_plan_tree, with_observed_files};
use crate::pending_decisions::{PendingDecisions, name_first_plans};
use crate::plan_documents::refuse_frozen_edit;
use crate::plan_warnings::WarningCollector;
use crate::precise_cascade::ReliedSections;
use crate::record_policy::resolve_deciding_policy;
use crate::scan::ScanScope;
use crate::transitions::collect_transitions;
use crate::views::TransitionView;
use crate::working_copy::find_differing_nodes;

/// Maximum number of refused plans that a message names.
const MAX_NAMED_REFUSALS: usize = 10;

/// Outcome of [`answer_batch_question`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlansDecided {
    pub success: bool,
    pub message: String,
    /// The decided plans, those above before those below.
    pub plans: Vec<DecidedPlan>,
    /// Other plans whose status changed with them.
    pub changed_entities: Vec<TransitionView>,
    /// None if every plan was approved already.
    pub operation: Option<OperationId>,
}

/// A plan of a decision.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DecidedPlan {
    pub path: String,
    pub version_hash: Option<VersionHash>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl PlansDecided {
    /// Returns the outcome where no plan waits for a decision.
    #[must_use]
    pub fn nothing_waits() -> Self {
        Self {
            success: true,
            message: "no plan waits for a decision".to_owned(),
            plans: Vec::new(),
            changed_entities: Vec::new(),
            operation: None,
        }
    }
}

/// Records one answer about every plan that was asked about.
///
/// # Errors
/// When another principal answers, one of the texts or parents changed since the question, a rule
/// refuses one of the plans, or the state cannot be written. Nothing is decided then.
pub fn answer_batch_question(
    ctx: &Context<'_>,
    questions: &[AskedQuestion],
    answer: &Answer,
) -> Result<PlansDecided, Failure> {
    decide_batch(
        ctx,
        questions,
        BatchDecision::from_answer(questions, answer)?,
        BatchMode::Record,
    )
}

/// Approves every plan for a person who chose not to see the texts; the log says so.
///
/// # Errors
/// Those of [`answer_batch_question`].
pub fn approve_unread(
    ctx: &Context<'_>,
    plans: &[AskedQuestion],
    force: Force,
) -> Result<PlansDecided, Failure> {
    let decision = BatchDecision::Approve {
        force,
        is_read: false,
    };
    decide_batch(ctx, plans, decision, BatchMode::Record)
}

/// Returns what an answer would change, and records nothing.
///
/// # Errors
/// Those of [`answer_batch_question`].
pub fn preview_batch_answer(
    ctx: &Context<'_>,
    questions: &[AskedQuestion],
    answer: &Answer,
) -> Result<PlansDecided, Failure> {
    decide_batch(
        ctx,
        questions,
        BatchDecision::from_answer(questions, answer)?,
        BatchMode::Preview,
    )
}

/// Whether an answer is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BatchMode {
    Record,
    Preview,
}

fn decide_batch(
    ctx: &Context<'_>,
    questions: &[AskedQuestion],
    decision: BatchDecision,
    mode: BatchMode,
) -> Result<PlansDecided, Failure> {
    // An answer is bound to the person the question was shown to; another user's session could
    // otherwise send it.
    if let Some(other) = questions
        .iter()
        .find(|question| question.asked != ctx.actor)
    {
        return Err(Failure::refused(format!(
            "`{}` was asked about `{}`, and this is {}",
            other.asked, other.path, ctx.actor
        )));
    }
    if questions.is_empty() {
        return Err(Failure::invalid("the answer is about no plan"));
    }
    // The whole project and not the lineages: an answer about one text is invalid if any of the
    // shown texts changed.
    with_observed_files(ctx, ScanScope::Everything, None, |planned, tx| {
        let tree = load_plan_tree(&*tx)?;
        let plans = find_asked_plans(ctx, &*tx, &tree, questions, &decision)?;
        let mut batch = PlanBatch::new(ctx, &*tx, &tree, decision)?;
        batch.decide_all(&*tx, &plans)?;
        let PlanBatch {
            decision,
            pending,
            decided,
            plans,
            ..
        } = batch;
        let paths = pending.list_paths(&decided);
        // A repeated answer is a success: the client that did not get the first reply asks again.
        if paths.is_empty() {
            return Ok(PlansDecided {
                success: true,
                message: "every plan is approved already".to_owned(),
                plans,
                changed_entities: Vec::new(),
                operation: None,
            });
        }
        let mut operation = ctx.new_operation(decision.verb(), decision.render_summary(&paths));
        operation.at = pending.now;
        operation.facts = pending.into_facts(&*tx)?;
        let changed = collect_transitions(&*tx, &operation.facts, None)?;
        let own: HashSet<&String> = paths.iter().collect();
        let changed_entities = changed.reinstated.into_iter().chain(changed.stale);
        let changed_entities = changed_entities
            .filter(|change| !own.contains(&change.path))
            .collect();
        let operation = match mode {
            BatchMode::Record => Some(record_with_decisions(ctx, planned, tx, operation)?),
            BatchMode::Preview => None,
        };
        Ok(PlansDecided {
            success: true,
            message: decision.render_message(paths.len()),
            plans,
            changed_entities,
            operation,
        })
    })
}

/// One decision about every plan of a batch.
enum BatchDecision {
    Approve {
        force: Force,
        /// Whether the person was shown the texts.
        is_read: bool,
    },
    RequestChanges {
        text: String,
    },
    NoDecision(NoDecision),
}

impl BatchDecision {
    fn from_answer(questions: &[AskedQuestion], answer: &Answer) -> Result<Self, Failure> {
        Ok(match answer {
            Answer::Approve { force } => Self::Approve {
                force: *force,
                is_read: true,
            },
            Answer::RequestChanges { text } => Self::RequestChanges {
                text: validate_note_text(text, MAX_COMMENT_CHARS)?,
            },
            Answer::NoDecision(how) => Self::NoDecision(*how),
            Answer::Reject { .. } => {
                let first = questions.first().map_or("NODE", |first| &first.path);
                // A rejection takes everything below along, so one word for many plans would
                // condemn more than anybody looked at.
                return Err(Failure::invalid("several plans cannot be rejected at once")
                    .with_step(format!("tl invalidate {first} --reason TEXT")));
            }
        })
    }

    /// Whether the person did not decide.
    fn is_none(&self) -> bool {
        matches!(self, Self::NoDecision(_))
    }

    fn verb(&self) -> Verb {
        match self {
            Self::Approve { .. } => Verb::Approve,
            Self::RequestChanges { .. } => Verb::RequestChanges,
            Self::NoDecision(_) => Verb::Decline,
        }
    }

    /// Returns one line for the log.
    fn render_summary(&self, paths: &[String]) -> String {
        let plans = match paths {
            [one] => one.clone(),
            several => format!("{} plans: {}", several.len(), name_first_plans(several)),
        };
        match self {
            Self::Approve { is_read: true, .. } => format!("approve {plans}"),
            Self::Approve { .. } => format!("approve {plans}, whose texts were not shown"),
            Self::RequestChanges { text } => {
                // The whole text is in the facts.
                let start: String = clean_line(text).chars().take(120).collect();
                format!("request changes of {plans}: {start}")
            }
            Self::NoDecision(how) => {
                format!(
                    "no decision about {plans}: the question was {}",
                    how.as_str()
                )
            }
        }
    }

    fn render_message(&self, number: usize) -> String {
        let plans = count_with_noun(number, "plan", "plans");
        let are = if number == 1 { "is" } else { "are" };
        match self {
            Self::Approve { .. } => format!("{plans} {are} approved"),
            Self::RequestChanges { .. } => format!("changes of {plans} are requested"),
            Self::NoDecision(how) => format!("{plans}: the question was {}", how.as_str()),
        }
    }

    /// Returns what did not happen, for a refusal.
    fn render_undone(&self) -> &'static str {
        match self {
            Self::Approve { .. } => "nothing was approved",
            Self::RequestChanges { .. } | Self::NoDecision(_) => "nothing was recorded",
        }
    }
}

/// Finds the plans of the questions.
fn find_asked_plans<'q>(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    tree: &Tree,
    questions: &'q [AskedQuestion],
    decision: &BatchDecision,
) -> Result<BTreeMap<NodeId, &'q AskedQuestion>, Failure> {
    // Of the tree, which is loaded anyway: a thousand lookups in the state take longer.
    let mut by_path: HashMap<String, Option<NodeId>> = HashMap::new();
    for node in tree.nodes() {
        // Two profiles may have a plan of one name: the lookup below says so.
        by_path
            .entry(tree.alias_path(node))
            .and_modify(|known| *known = None)
            .or_insert(Some(node.id));
    }
    let mut plans = BTreeMap::new();
    for question in questions {
        let id = match by_path.get(&question.path) {
            Some(Some(id)) => *id,
            _ => {
                let words = [question.path.clone()];
                match find_node(ctx, tx, &words) {
                    Ok((id, rest)) => {
                        reject_extra_words(rest)?;
                        id
                    }
                    // A no is true of the plans that are still there.
                    Err(failure) if decision.is_none() && failure.kind == FailureKind::NotFound => {
                        continue;
                    }
                    Err(failure) => return Err(failure),
                }
            }
        };
        plans.insert(id, question);
    }
    Ok(plans)
}

/// Decisions about plans that become one operation.
struct PlanBatch<'d> {
    ctx: &'d Context<'d>,
    decision: BatchDecision,
    needs: Needs,
    policy: Policy,
    warnings: WarningCollector<'d>,
    relied: ReliedSections<'d>,
    pending: PendingDecisions<'d>,
    decided: Vec<NodeId>,
    plans: Vec<DecidedPlan>,
}

impl<'d> PlanBatch<'d> {
    fn new(
        ctx: &'d Context<'d>,
        tx: &dyn Transaction,
        tree: &'d Tree,
        decision: BatchDecision,
    ) -> Result<Self, Failure> {
        Ok(Self {
            ctx,
            decision,
            needs: Needs::from_tree(tree, ctx.profiles),
            policy: resolve_deciding_policy(ctx, tx)?,
            warnings: WarningCollector::new(ctx),
            relied: ReliedSections::new(ctx),
            pending: PendingDecisions::new(ctx, tree, ctx.clock.now()),
            decided: Vec::new(),
            plans: Vec::new(),
        })
    }

    /// Decides on every plan; a single refusal refuses all.
    fn decide_all(
        &mut self,
        tx: &dyn Transaction,
        plans: &BTreeMap<NodeId, &AskedQuestion>,
    ) -> Result<(), Failure> {
        // On a shared state the recorded text is decided about; a caller whose copy has another one
        // was shown something else.
        let differing = find_differing_nodes(self.ctx, tx)?;
        let mut refused: Vec<(String, Failure)> = Vec::new();
        // Level by level with the statuses derived in between: a new chapter can be approved
        // together with its act only after the act counts as approved.
        for level in self.pending.group_by_depth(plans.keys().copied()) {
            self.pending.derive_statuses(tx)?;
            for id in level {
                let (Some(node), Some(asked)) = (self.pending.present_node(id), plans.get(&id))
                else {
                    continue;
                };
                let path = self.pending.tree.alias_path(&node);
                let result = match differing.get(&id) {
                    // Not of a no, which is about no text.
                    Some(kind) if !self.decision.is_none() => Err(Failure::conflict(format!(
                        "your copy of `{path}` is {}",
                        kind.as_str()
                    ))
                    .with_step(format!("tl submit {path}"))),
                    _ => self.decide_plan(tx, &node, &path, asked),
                };
                match result {
                    Ok(()) => {}
                    // Rejections are collected, so that one answer names everything that has to be
                    // settled; a fault of the store ends the attempt at once.
                    Err(failure) if failure.is_rejection() => refused.push((path, failure)),
                    Err(failure) => return Err(failure),
                }
            }
        }
        match refused.is_empty() {
            true => Ok(()),
            false => Err(self.refuse_all(refused)),
        }
    }

    fn decide_plan(
        &mut self,
        tx: &dyn Transaction,
        node: &Node,
        path: &str,
        asked: &AskedQuestion,
    ) -> Result<(), Failure> {
        let shown = &asked.expected_versions();
        let parent = self.pending.present_parent(node);
        let mut plan = DecidedPlan {
            path: path.to_owned(),
            version_hash: node.content.version_hash(),
            warnings: Vec::new(),
        };
        let facts = match &self.decision {
            // Without a check of the versions: that nobody decided is true of any text.
            BatchDecision::NoDecision(how) => self.decline_facts(tx, node, *how)?,
            BatchDecision::RequestChanges { text } => {
                self.check_shown(tx, path, node, parent.as_ref(), shown)?;
                refuse_agents_decision(self.ctx, tx, path, "request changes of")?;
                let kind = ObjectionKind::ChangesRequested;
                objection_facts(node, kind, text, &self.ctx.actor, self.pending.now)
            }
            BatchDecision::Approve { force, .. } => {
                self.check_shown(tx, path, node, parent.as_ref(), shown)?;
                refuse_needs_cycle(&self.needs, node, path)?;
                refuse_frozen_edit(tx, node)?;
                plan.warnings = self.warnings.collect_warnings(tx, node, parent.as_ref())?;
                let approval = decide_approval(
                    ApprovalRequest {
                        node,
                        path,
                        parent: parent.as_ref(),
                        by: &self.ctx.actor,
                        now: self.pending.now,
                        force: asked.overrides.max(*force),
                        shown: Some(shown),
                        warnings: plan.warnings.clone(),
                        relied_sections: self.relied.digest_for(tx, node, parent.as_ref())?,
                    },
                    &self.policy,
                )?;
                match node.status() {
                    // Also one that follows from the approval of its parent.
                    Status::Approved => Vec::new(),
                    _ => approval_facts(node, approval),
                }
            }
        };
        self.plans.push(plan);
        // Also what is approved again with its parent: the person was asked about it.
        let was_approved = self
            .pending
            .tree
            .get(node.id)
            .is_some_and(|before| before.status() == Status::Approved);
        let follows = matches!(self.decision, BatchDecision::Approve { .. }) && !was_approved;
        if !facts.is_empty() || follows {
            self.decided.push(node.id);
        }
        if !facts.is_empty() {
            self.pending.push_facts(facts);
        }
        Ok(())
    }

    /// Refuses a plan that is not exactly what was shown.
    fn check_shown(
        &self,
        tx: &dyn Transaction,
        path: &str,
        node: &Node,
        parent: Option<&Node>,
        shown: &ExpectedVersions,
    ) -> Result<(), Failure> {
        refuse_unavailable(self.ctx, node)?;
        refuse_duplicate(self.ctx, tx, node)?;
        let parent_text = parent.and_then(|parent| parent.content.version_hash());
        // `check_current` compares what is given: without a version, a parent that was edited since
        // the question would pass.
        if parent_text.is_some() && shown.parent.is_none() {
            return Err(Failure::conflict(format!(
                "the answer does not say which text of the parent of `{path}` was shown"
            )));
        }
        Ok(shown.check_current(path, node, parent)?)
    }

    fn decline_facts(
        &self,
        tx: &dyn Transaction,
        node: &Node,
        how: NoDecision,
    ) -> Result<Vec<Fact>, Failure> {
        let key = DeclinedQuestion::record_key(node.id);
        let before = record::read_record::<DeclinedQuestion>(tx, &key)?;
        let declined = DeclinedQuestion {
            node: node.id,
            operation: tx.next_operation_id()?,
            version: node.content.version_hash(),
            how,
            by: self.ctx.actor.clone(),
            at: self.pending.now,
        };
        let fact = record::record_changed_fact(&key, before.as_ref(), Some(&declined));
        Ok(fact.into_iter().collect())
    }

    /// Returns the failure of a batch: every refused plan, and the steps for the first.
    fn refuse_all(&self, refused: Vec<(String, Failure)>) -> Failure {
        let named: Vec<String> = refused
            .iter()
            .take(MAX_NAMED_REFUSALS)
            .map(|(path, failure)| format!("`{path}`: {}", failure.message))
            .collect();
        let more = match refused.len().saturating_sub(MAX_NAMED_REFUSALS) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let message = format!(
            "{}: {}{more}",
            self.decision.render_undone(),
            named.join("; ")
        );
        let mut refused = refused.into_iter().map(|(_, failure)| failure);
        match refused.next() {
            // The first failure gives its kind and steps, and so the exit code: a conflict is
            // retried on fresh state, a refusal is not.
            Some(mut first) => {
                first.message = message;
                first
            }
            None => Failure::refused(message),
        }
    }
}
