//! Starts a workflow on a document, a node, or any named subject.

use domain::fact::Fact;
use domain::operation::Verb;
use domain::ports::Snapshot;
use domain::record;
use domain::workflow::{FlowRun, FlowState, SubjectKind, Workflow};

use super::{FlowView, changed, find};
use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::plan_documents::create::{checked_title, stage_new};
use crate::plan_documents::{chosen, known_document, with_files};

/// Starts a workflow. Without a subject, on the current document.
///
/// # Errors
/// When there is no such workflow or subject, or it is already under way.
pub fn start(
    ctx: &Context<'_>,
    workflow: &str,
    subject: Option<&str>,
) -> Result<FlowView, Failure> {
    let workflow = find(ctx, workflow)?;
    let subject = match (workflow.subject, subject) {
        (SubjectKind::Document, subject) => {
            let state = ctx.store.read()?;
            let id = chosen(ctx, &*state, subject)?;
            let record = known_document(ctx, &*state, &id)?;
            // Executing a frozen plan is fine; only a workflow that would freeze it again has
            // nothing to do.
            let writes = workflow
                .steps
                .iter()
                .any(|step| step.effects.contains(&domain::workflow::StepEffect::Freeze));
            if writes && record.frozen.is_some() {
                let what = format!(
                    "`{id}` is frozen: {} has nothing left to do on it",
                    workflow.name
                );
                return Err(Failure::new(FailureKind::Refused, what)
                    .step(format!("tl doc revise --doc {id}"))
                    .step(format!("tl flow start executor --for {id}")));
            }
            id
        }
        (SubjectKind::Node, Some(subject)) => named_node(ctx, subject)?,
        (SubjectKind::Anything, Some(subject)) if !subject.trim().is_empty() => {
            subject.trim().to_owned()
        }
        (SubjectKind::Node | SubjectKind::Anything, _) => {
            let what = format!("the workflow `{}` needs a subject", workflow.name);
            return Err(Failure::new(FailureKind::Invalid, what)
                .step(format!("tl flow start {} --for NAME", workflow.name)));
        }
    };
    // Only now: resolving a node may observe files and needs the lock itself.
    let mut tx = ctx.store.write()?;
    let (run, facts) = started(&*tx, &workflow, &subject)?;
    let mut operation = ctx.operation(Verb::Flow, format!("start {} on {subject}", workflow.name));
    operation.facts = facts;
    tx.record(operation)?;
    tx.commit()?;
    Ok(FlowView::of(&workflow, &run))
}

/// Creates a plan document and starts a workflow on it, as one operation.
///
/// # Errors
/// When there is no such workflow, it is not about documents, or the title is empty.
pub fn start_new(ctx: &Context<'_>, workflow: &str, title: &str) -> Result<FlowView, Failure> {
    let workflow = find(ctx, workflow)?;
    if workflow.subject != SubjectKind::Document {
        let what = format!(
            "the workflow `{}` is not about a plan document",
            workflow.name
        );
        return Err(Failure::new(FailureKind::Invalid, what)
            .step(format!("tl flow start {} --for NAME", workflow.name)));
    }
    let title = checked_title(title)?;
    with_files(
        ctx,
        &("flow start", &workflow.name, title),
        |tx, planned| {
            let (made, mut operation) = stage_new(ctx, &*tx, planned, title)?;
            let (run, facts) = started(&*tx, &workflow, &made.document)?;
            operation.verb = Verb::Flow;
            operation.summary = format!(
                "start {} on the new plan document {}",
                workflow.name, made.document
            );
            operation.facts.extend(facts);
            planned.record(tx, operation)?;
            Ok(FlowView::of(&workflow, &run))
        },
    )
}

/// Returns the run of a workflow that starts on a subject, with its facts.
fn started(
    state: &dyn Snapshot,
    workflow: &Workflow,
    subject: &str,
) -> Result<(FlowRun, Vec<Fact>), Failure> {
    let run = FlowRun::start(workflow, subject);
    let before = record::read::<FlowRun>(state, &run.key())?;
    if before
        .as_ref()
        .is_some_and(|before| before.state == FlowState::Active)
    {
        let what = format!("{} is already under way on `{subject}`", workflow.name);
        return Err(Failure::new(FailureKind::Refused, what)
            .step(format!("tl flow next --for {subject}"))
            .step(format!("tl flow abort --for {subject}")));
    }
    let facts = changed(before.as_ref(), &run).into_iter().collect();
    Ok((run, facts))
}

/// Returns the path of a node that exists or could be planned: `chapter 2` and `act-1/chapter-02`
/// are the same.
fn named_node(ctx: &Context<'_>, subject: &str) -> Result<String, Failure> {
    let words: Vec<String> = subject.split_whitespace().map(str::to_owned).collect();
    if let Ok(view) = crate::show_node::show_node(ctx, &words) {
        return Ok(view.path);
    }
    // A workflow may start before its node exists: planning it is the first step. The kind is then
    // taken from the alias, as in `chapter-02`.
    let (kind, id) = match words.as_slice() {
        [kind, id] => (kind.clone(), id.clone()),
        [one] => {
            let own = one.rsplit('/').next().unwrap_or(one);
            (own.split('-').next().unwrap_or(own).to_owned(), one.clone())
        }
        _ => {
            return Err(
                Failure::new(FailureKind::Invalid, format!("`{subject}` is not a node"))
                    .step("tl plan"),
            );
        }
    };
    let request = crate::plan_node::PlanRequest {
        kind,
        id,
        under: None,
    };
    Ok(crate::plan_node::plan_node(ctx, &request)?.path)
}
