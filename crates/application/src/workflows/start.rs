//! Starts a workflow on a document, a node, or any named subject.

use domain::fact::Fact;
use domain::operation::Verb;
use domain::plan_document::DocumentRecord;
use domain::ports::Snapshot;
use domain::record;
use domain::workflow::{FlowRun, FlowState, Requirement, SubjectKind, Workflow};

use super::{FlowView, active_runs, find_workflow, run_changed};
use crate::context::Context;
use crate::failure::Failure;
use crate::plan_documents::create::{stage_new_document, trim_title};
use crate::plan_documents::{
    load_document, open_document, read_document_file, read_documents, refuse_changed_context,
    resolve_document, run_with_files,
};

/// Starts a workflow. Without a subject, on the current document.
///
/// # Errors
/// When there is no such workflow or subject, or it is already under way.
pub fn start_run(
    ctx: &Context<'_>,
    workflow: &str,
    subject: Option<&str>,
) -> Result<FlowView, Failure> {
    let workflow = find_workflow(ctx, workflow)?;
    let subject = match (workflow.subject, subject) {
        (SubjectKind::Document, subject) => {
            let state = read_documents(ctx, subject)?;
            let id = resolve_document(ctx, &*state, subject)?;
            let record = load_document(ctx, &*state, &id)?;
            refuse_unfrozen(ctx, &*state, &workflow, &id, &record)?;
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
                return Err(Failure::refused(what)
                    .with_step(format!("tl doc revise --doc {id}"))
                    .with_step(format!("tl flow start executor --for {id}")));
            }
            id
        }
        (SubjectKind::Node, Some(subject)) => resolve_node_path(ctx, subject)?,
        (SubjectKind::Anything, Some(subject)) if !subject.trim().is_empty() => {
            subject.trim().to_owned()
        }
        (SubjectKind::Node | SubjectKind::Anything, _) => {
            let what = format!("the workflow `{}` needs a subject", workflow.name);
            return Err(Failure::invalid(what)
                .with_step(format!("tl flow start {} --for NAME", workflow.name)));
        }
    };
    // Only now: resolving a node may observe files and needs the lock itself.
    let mut tx = ctx.store.begin_write()?;
    // Under the lock: of two sessions that start the same workflow, the second is refused.
    let (run, facts) = new_run(&*tx, &workflow, &subject)?;
    let mut operation =
        ctx.new_operation(Verb::Flow, format!("start {} on {subject}", workflow.name));
    operation.facts = facts;
    tx.record_operation(operation)?;
    tx.commit()?;
    Ok(FlowView::from_run(&workflow, &run))
}

/// Refuses to carry out a plan that is not frozen, or not the frozen one any more.
fn refuse_unfrozen(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    workflow: &Workflow,
    id: &str,
    record: &DocumentRecord,
) -> Result<(), Failure> {
    let needs_frozen = workflow
        .steps
        .iter()
        .any(|step| step.requires.contains(&Requirement::Frozen));
    if !needs_frozen {
        return Ok(());
    }
    if record.frozen.is_none() {
        let what = format!(
            "`{id}` is not frozen: {} carries out a frozen plan",
            workflow.name
        );
        let failure = Failure::refused(what);
        return Err(match active_runs(state, id)?.first() {
            Some(_) => failure.with_step(format!("tl flow next --for {id}   # finish planning it")),
            None => failure
                .with_step(format!("tl doc validate --doc {id}   # what is missing"))
                .with_step(format!("tl doc freeze --doc {id}")),
        });
    }
    let reading = read_document_file(ctx, id, "context.json");
    refuse_changed_context(id, record, &reading)?;
    open_document(ctx, state, id.to_owned(), record.clone()).map(drop)
}

/// Creates a plan document and starts a workflow on it, as one operation.
///
/// # Errors
/// When there is no such workflow, it is not about documents, or the title is empty.
pub fn start_run_on_new_document(
    ctx: &Context<'_>,
    workflow: &str,
    title: &str,
) -> Result<FlowView, Failure> {
    let workflow = find_workflow(ctx, workflow)?;
    if workflow.subject != SubjectKind::Document {
        let what = format!(
            "the workflow `{}` is not about a plan document",
            workflow.name
        );
        return Err(
            Failure::invalid(what).with_step(format!("tl flow start {} --for NAME", workflow.name))
        );
    }
    // Masked before the id is derived, as for a document of its own.
    let title = ctx.mask_secrets(title, "title");
    let title = trim_title(&title)?;
    run_with_files(
        ctx,
        &("flow start", &workflow.name, title),
        |tx, planned| {
            let (made, mut operation) = stage_new_document(ctx, &*tx, planned, title)?;
            let (run, facts) = new_run(&*tx, &workflow, &made.document)?;
            operation.verb = Verb::Flow;
            operation.summary = format!(
                "start {} on the new plan document {}",
                workflow.name, made.document
            );
            operation.facts.extend(facts);
            planned.record_operation(tx, operation)?;
            Ok(FlowView::from_run(&workflow, &run))
        },
    )
}

/// Returns the run of a workflow that starts on a subject, with its facts.
fn new_run(
    state: &dyn Snapshot,
    workflow: &Workflow,
    subject: &str,
) -> Result<(FlowRun, Vec<Fact>), Failure> {
    let run = FlowRun::start_run(workflow, subject);
    let before = record::read_record::<FlowRun>(state, &run.record_key())?;
    if before
        .as_ref()
        .is_some_and(|before| before.state == FlowState::Active)
    {
        let what = format!("{} is already under way on `{subject}`", workflow.name);
        return Err(Failure::refused(what)
            .with_step(format!("tl flow next --for {subject}"))
            .with_step(format!("tl flow abort --for {subject}")));
    }
    let facts = run_changed(before.as_ref(), &run).into_iter().collect();
    Ok((run, facts))
}

/// Returns the path of a node that exists or could be planned: `chapter 2` and `act-1/chapter-02`
/// are the same.
fn resolve_node_path(ctx: &Context<'_>, subject: &str) -> Result<String, Failure> {
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
            return Err(Failure::invalid(format!("`{subject}` is not a node")).with_step("tl plan"));
        }
    };
    let request = crate::plan_node::PlanRequest {
        kind,
        id,
        under: None,
    };
    Ok(crate::plan_node::plan_node(ctx, &request)?.path)
}
