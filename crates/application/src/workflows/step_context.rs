//! Gathers what a workflow step depends on: the document, its context, the review of its phase, the
//! current wave.

use domain::ids::VersionHash;
use domain::node::{Node, Progress};
use domain::plan_document::{Plan, ProblemGrade, check_context, check_plan, compute_waves};
use domain::ports::{FileReadResult, HeldClaim, Snapshot};
use domain::record;
use domain::review::{LoopState, Review};
use domain::workflow::{FlowRun, Requirement, StepKind, SubjectKind, Workflow, WorkflowStep};
use serde::Serialize;

use crate::claim_node::list_active_claims;
use crate::context::Context;
use crate::coordination::load_node_key;
use crate::failure::Failure;
use crate::plan_documents::{OpenedDocument, load_document, open_document, read_document_file};

/// The data a step depends on.
#[derive(Debug, Default)]
pub(super) struct StepContext {
    pub(super) document: Option<OpenedDocument>,
    /// The text of `context.json` and its problems.
    pub(super) context: Option<(String, Vec<String>)>,
    pub(super) review: Option<Review>,
    /// The milestones of each wave.
    pub(super) waves: Vec<Vec<String>>,
}

/// A milestone of the current wave.
#[derive(Clone, Debug, Serialize)]
pub struct WaveMilestone {
    pub milestone: String,
    pub progress: Progress,
    /// The session that works on it.
    pub claimed_by: Option<String>,
    #[serde(skip)]
    pub(super) node: Option<Node>,
}

/// Returns the subject of a phase's review.
pub(crate) fn review_subject(subject: &str, phase: &str) -> String {
    format!("{subject}/{phase}")
}

/// Gathers what the current step depends on.
pub(super) fn gather_context(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    workflow: &Workflow,
    step: &WorkflowStep,
    run: &FlowRun,
) -> Result<StepContext, Failure> {
    let mut ground = StepContext::default();
    if workflow.subject == SubjectKind::Document {
        let record = load_document(ctx, state, &run.subject)?;
        let frozen = record.context;
        ground.context = match read_document_file(ctx, &run.subject, "context.json") {
            FileReadResult::Text { text, .. } => {
                let mut problems: Vec<String> = check_context(&text)
                    .iter()
                    .map(|problem| problem.render_line())
                    .collect();
                // The plan was designed against the frozen context, so a later edit invalidates it.
                if frozen.is_some_and(|frozen| frozen != VersionHash::of_bytes(text.as_bytes())) {
                    problems.push("was changed after it was frozen".to_owned());
                }
                Some((text, problems))
            }
            // A problem of the step, not an error: `tl flow next` has to work while the file is
            // broken.
            FileReadResult::Unreadable { why, .. } => {
                Some((String::new(), vec![format!("cannot be read: {why}")]))
            }
            FileReadResult::Missing => None,
        };
        let opened = open_document(ctx, state, run.subject.clone(), record)?;
        ground.waves = milestone_waves(&opened.plan);
        ground.document = Some(opened);
    }
    if let Some(phase) = &step.phase {
        let review = record::read_record::<Review>(state, &review_subject(&run.subject, phase))?;
        // A complete review belongs to an earlier round and must not let a new one pass; only the
        // gate right after it still needs it.
        ground.review = review
            .filter(|review| step.kind == StepKind::Gate || review.state != LoopState::Complete);
    }
    Ok(ground)
}

fn milestone_waves(plan: &Plan) -> Vec<Vec<String>> {
    // A frozen plan contains its waves; those of an unfrozen one follow from the dependencies.
    let given = &plan.milestone_dependencies.waves;
    let waves = if given.is_empty() {
        compute_waves(plan).unwrap_or_default()
    } else {
        given.clone()
    };
    waves.into_iter().map(|wave| wave.milestones).collect()
}

impl StepContext {
    /// Returns the milestones of a wave with their progress and claims.
    pub(super) fn wave_milestones(
        &self,
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        number: u32,
    ) -> Result<Vec<WaveMilestone>, Failure> {
        let Some(document) = &self.document else {
            return Ok(Vec::new());
        };
        let at = usize::try_from(number).unwrap_or(1).saturating_sub(1);
        // Read once for the whole wave; expired claims are already left out.
        let claims = list_active_claims(ctx, state)?;
        let mut found = Vec::new();
        for id in self.waves.get(at).into_iter().flatten() {
            let node = state
                .children_by_alias(document.record.node, id)?
                .into_iter()
                .next();
            let key = match &node {
                Some(node) if !claims.is_empty() => Some(load_node_key(state, node)?),
                _ => None,
            };
            let claim = claims.iter().find(|held| Some(&held.node) == key.as_ref());
            found.push(WaveMilestone {
                milestone: id.clone(),
                progress: node
                    .as_ref()
                    .map_or(Progress::Pending, |node| node.progress),
                claimed_by: claim.map(HeldClaim::describe_holder),
                node,
            });
        }
        Ok(found)
    }

    fn milestone_progress(
        &self,
        state: &dyn Snapshot,
        document: &OpenedDocument,
        id: &str,
    ) -> Result<Progress, Failure> {
        let node = state
            .children_by_alias(document.record.node, id)?
            .into_iter()
            .next();
        Ok(node.map_or(Progress::Pending, |node| node.progress))
    }

    /// Returns the unmet requirements of a step, each with the command that meets it.
    pub(super) fn unmet_requirements(
        &self,
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        step: &WorkflowStep,
        run: &FlowRun,
    ) -> Result<Vec<String>, Failure> {
        let mut missing = Vec::new();
        for requirement in &step.requires {
            self.check_requirement(ctx, state, *requirement, run, &mut missing)?;
        }
        if step.kind == StepKind::Review {
            match &self.review {
                // A review without checks would pass without anybody having looked.
                None => missing.push("there are no checks yet: tl review add".to_owned()),
                Some(review) if review.items.is_empty() => {
                    missing.push("there are no checks yet: tl review add".to_owned())
                }
                Some(review) => {
                    let waiting: Vec<&str> = review
                        .unjudged_items()
                        .iter()
                        .map(|item| item.id.as_str())
                        .collect();
                    if !waiting.is_empty() {
                        missing.push(format!(
                            "no verdict on {}: tl review verdict",
                            waiting.join(", ")
                        ));
                    }
                }
            }
        }
        Ok(missing)
    }

    fn check_requirement(
        &self,
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        requirement: Requirement,
        run: &FlowRun,
        missing: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let graded = |grade: ProblemGrade, missing: &mut Vec<String>| {
            if let Some(document) = &self.document {
                let problems = check_plan(&document.plan)
                    .into_iter()
                    .filter(|problem| problem.grade == grade);
                missing.extend(problems.map(|problem| problem.render_line()));
            }
        };
        match requirement {
            Requirement::Context => match &self.context {
                None => missing.push("context.json is not written yet".to_owned()),
                Some((_, problems)) => missing.extend(
                    problems
                        .iter()
                        .map(|problem| format!("context.json {problem}")),
                ),
            },
            Requirement::Whole => graded(ProblemGrade::Broken, missing),
            Requirement::Complete => graded(ProblemGrade::Unfinished, missing),
            Requirement::Changes => missing.extend(self.intents_without_changes()),
            Requirement::Frozen => {
                if self
                    .document
                    .as_ref()
                    .is_none_or(|document| document.record.frozen.is_none())
                {
                    missing.push(format!("`{}` is not frozen: tl doc freeze", run.subject));
                }
            }
            Requirement::Wave => missing.extend(self.open_milestones(state, run)?),
            // Decided in `advance_run`, which repeats the step for every wave.
            Requirement::Waves => {}
            Requirement::NodeWritten => {
                let words = vec![run.subject.clone()];
                // A node that does not exist yet is simply not written; planning it is what the
                // step is for.
                let found = crate::locate::find_node(ctx, state, &words).ok();
                let node = found
                    .map(|(id, _)| state.load_node(id))
                    .transpose()?
                    .flatten();
                if node.is_none_or(|node| node.content.version_hash().is_none()) {
                    missing.push(format!("the plan of `{}` is not written yet", run.subject));
                }
            }
        }
        Ok(())
    }

    /// Lists the intents that no code change carries out.
    fn intents_without_changes(&self) -> Vec<String> {
        let mut missing = Vec::new();
        for milestone in self
            .document
            .iter()
            .flat_map(|document| &document.plan.milestones)
        {
            // An intent says what is to change, a code change how. Execution starts from
            // the latter alone.
            let carried = |id: &str| {
                milestone
                    .code_changes
                    .iter()
                    .any(|change| change.intent_ref == id)
            };
            let lonely = milestone
                .code_intents
                .iter()
                .filter(|intent| !carried(&intent.id));
            missing.extend(
                lonely.map(|intent| format!("{} has no code change: tl doc add-change", intent.id)),
            );
        }
        missing
    }

    /// Lists the milestones of the current wave that are not complete.
    fn open_milestones(&self, state: &dyn Snapshot, run: &FlowRun) -> Result<Vec<String>, Failure> {
        let mut missing = Vec::new();
        let at = usize::try_from(run.wave).unwrap_or(1).saturating_sub(1);
        if let Some(document) = &self.document {
            for id in self.waves.get(at).into_iter().flatten() {
                let progress = self.milestone_progress(state, document, id)?;
                if progress != Progress::Complete {
                    missing.push(format!(
                        "{id} is {progress}: tl progress {}/{id} complete",
                        document.id
                    ));
                }
            }
        }
        Ok(missing)
    }
}
