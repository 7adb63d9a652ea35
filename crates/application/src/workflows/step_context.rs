//! Gathers what a workflow step depends on: the document, its context, the review of its phase, the
//! current wave.

use domain::node::{Node, Progress};
use domain::plan_document::{
    Plan, ProblemGrade, UnchangedIntent, check_context, check_plan, compute_waves,
    find_missing_documentation,
};
use domain::ports::{FileReadResult, HeldClaim, Snapshot};
use domain::record;
use domain::review::{LoopState, Review};
use domain::work::evidence::ProofStatus;
use domain::workflow::{FlowRun, Requirement, StepKind, SubjectKind, Workflow, WorkflowStep};
use serde::Serialize;

use crate::claim_node::list_active_claims;
use crate::context::Context;
use crate::coordination::load_node_key;
use crate::evidence::judge_node;
use crate::failure::Failure;
use crate::locate::load_node;
use crate::plan_documents::reconcile::{compare_opened, list_unchanged_intents};
use crate::plan_documents::{
    OpenedDocument, check_plan_diffs, load_document, open_document, read_document_file,
    refuse_changed_context,
};

/// Maximum size of a file that is searched for planned documentation.
const MAX_DOCUMENTED_BYTES: u64 = 4 * 1024 * 1024;

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
    /// Whether this session holds the claim.
    #[serde(skip)]
    pub(super) is_own: bool,
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
        let reading = read_document_file(ctx, &run.subject, "context.json");
        refuse_changed_context(&run.subject, &record, &reading)?;
        ground.context = match reading {
            FileReadResult::Text { text, .. } => {
                let problems: Vec<String> = check_context(&text)
                    .iter()
                    .map(|problem| problem.render_line())
                    .collect();
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

/// Returns the milestones of each wave.
pub(super) fn milestone_waves(plan: &Plan) -> Vec<Vec<String>> {
    // A frozen plan contains its waves; those of an unfrozen one follow from the dependencies.
    let given = &plan.milestone_dependencies.waves;
    let waves = if given.is_empty() {
        // A cycle has no waves; `Requirement::Whole` reports it, and this step only has to show the
        // rest.
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
                is_own: claim.is_some_and(|held| held.is_held_by(&ctx.session)),
                claimed_by: claim.map(HeldClaim::describe_holder),
                node,
            });
        }
        Ok(found)
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
            Requirement::Applies => {
                if let Some(document) = &self.document {
                    let problems = check_plan_diffs(ctx, &document.plan);
                    let open = problems
                        .iter()
                        .filter(|problem| problem.grade != ProblemGrade::Hint);
                    missing.extend(open.map(|problem| problem.render_line()));
                }
            }
            Requirement::Documented => missing.extend(self.undocumented_milestones()),
            Requirement::DocumentationBuilt => missing.extend(self.missing_texts(ctx)),
            Requirement::Wave => missing.extend(self.open_milestones(ctx, state, run)?),
            Requirement::Reconciled => missing.extend(self.find_holes(ctx, state)?),
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

    /// Lists the milestones without documentation.
    fn undocumented_milestones(&self) -> Vec<String> {
        let milestones = self
            .document
            .iter()
            .flat_map(|document| &document.plan.milestones);
        milestones
            .filter(|milestone| !milestone.documentation.says_something())
            .map(|milestone| {
                format!(
                    "{} has no documentation: tl doc add-doc --milestone {} --place module --text TEXT",
                    milestone.id, milestone.id
                )
            })
            .collect()
    }

    /// Lists the planned texts that the files of their milestones do not have.
    fn missing_texts(&self, ctx: &Context<'_>) -> Vec<String> {
        let read = |path: &str| match ctx.files.read_file(path, MAX_DOCUMENTED_BYTES) {
            FileReadResult::Text { text, .. } => Some(text),
            FileReadResult::Missing | FileReadResult::Unreadable { .. } => None,
        };
        let milestones = self
            .document
            .iter()
            .flat_map(|document| &document.plan.milestones);
        milestones
            .flat_map(|milestone| find_missing_documentation(milestone, read))
            .map(|missing| missing.render_line())
            .collect()
    }

    /// Lists the milestones up to the current wave that are not complete, or no longer proved.
    fn open_milestones(
        &self,
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        run: &FlowRun,
    ) -> Result<Vec<String>, Failure> {
        let mut missing = Vec::new();
        let Some(document) = &self.document else {
            return Ok(missing);
        };
        let root = load_node(state, document.record.node)?;
        // Another session may have called it complete: in another worktree, or without a look at the
        // files.
        let unchanged = match ctx.actor.is_human() {
            true => Vec::new(),
            false => list_unchanged_intents(ctx, state, &root, &document.id)?,
        };
        let waves = usize::try_from(run.wave).unwrap_or(1);
        // All waves up to this one: later work may have reopened an earlier milestone, or made its
        // proof stale.
        for id in self.waves.iter().take(waves).flatten() {
            let path = format!("{}/{id}", document.id);
            let node = state
                .children_by_alias(document.record.node, id)?
                .into_iter()
                .next();
            let progress = node
                .as_ref()
                .map_or(Progress::Pending, |node| node.progress);
            if progress != Progress::Complete {
                missing.push(format!("{id} is {progress}: tl progress {path} complete"));
                continue;
            }
            let of_milestone = unchanged.iter().filter(|one| one.milestone == *id);
            missing.extend(of_milestone.map(UnchangedIntent::render_line));
            let proofs = match &node {
                Some(node) => judge_node(ctx, state, node)?,
                None => Vec::new(),
            };
            // A finding that was fixed changed files after they were proved.
            let open = proofs
                .iter()
                .find(|(_, status)| *status != ProofStatus::Fresh);
            if let Some((_, status)) = open {
                missing.push(format!(
                    "the evidence of {id} is {}: tl evidence run {path}",
                    status.as_str()
                ));
            }
        }
        Ok(missing)
    }

    /// Lists what the plan promises and the repository does not have. A person may end the run all the
    /// same.
    fn find_holes(&self, ctx: &Context<'_>, state: &dyn Snapshot) -> Result<Vec<String>, Failure> {
        // Without a repository there is nothing to compare the plan with.
        let (Some(document), Some(repository)) = (&self.document, ctx.git.repository_changes())
        else {
            return Ok(Vec::new());
        };
        let Some(frozen) = document
            .record
            .frozen
            .as_ref()
            .filter(|_| !ctx.actor.is_human())
        else {
            return Ok(Vec::new());
        };
        let (_, found) = compare_opened(ctx, state, document, frozen, None, repository)?;
        let mut holes: Vec<String> = found
            .intents_without_changes
            .iter()
            .map(UnchangedIntent::render_line)
            .collect();
        holes.extend(found.missing_tests.iter().map(|one| {
            format!(
                "the test file `{}` of {} does not exist, or is empty: tl doc show {}",
                one.file, one.milestone, one.milestone
            )
        }));
        holes.extend(found.criteria_without_evidence.iter().map(|one| {
            format!(
                "the criteria of {} are not proved: tl evidence run {}/{}",
                one.milestone, document.id, one.milestone
            )
        }));
        Ok(holes)
    }
}
