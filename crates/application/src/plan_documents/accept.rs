//! Resolves an outside change of `plan.json`: accepts it, or restores the text that was written
//! last.

use domain::fact::Fact;
use domain::ids::{OperationId, VersionHash};
use domain::operation::Verb;
use domain::plan_document::{
    DocumentRecord, IdCounters, Plan, PlanProblem, changes_between, diff_plan_texts,
    document_file_path, entity_value, plan_node, raise_entity_version, read_plan,
};
use domain::ports::{FileReadResult, Snapshot, StoreFault, Transaction};
use domain::record;
use serde::Serialize;

use super::document_files::{
    broken_problems, load_document, make_current, read_document_file, refuse_frozen,
    resolve_document, run_with_files, stage_document, with_problems,
};
use super::freeze_origin::find_freeze_origin;
use super::take_over::{UnknownDocument, stage_unknown_document};
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::PlannedFiles;
use crate::locate::load_node;
use crate::status_cascade::cascade_statuses;

/// How an outside change was resolved.
#[derive(Clone, Debug, Serialize)]
pub struct ResolvedChange {
    pub success: bool,
    pub document: String,
    pub version_hash: VersionHash,
    /// The changed entities.
    pub changed: Vec<domain::plan_document::EntityChange>,
    /// `None` if there was nothing to do.
    pub operation: Option<OperationId>,
}

/// Accepts the file's content: an edit, or a document this state does not know.
///
/// # Errors
/// When the document is frozen, or the file is not a complete plan.
pub fn accept_change(ctx: &Context<'_>, document: Option<&str>) -> Result<ResolvedChange, Failure> {
    run_with_files(ctx, &("doc accept", document), |tx, planned| {
        let id = resolve_document(ctx, &*tx, document)?;
        let path = document_file_path(&id, "plan.json");
        let text = read_present_plan(ctx, &*tx, &id)?;
        let unusable = |problems: &[PlanProblem]| {
            with_problems(
                Failure::invalid(format!("{path} cannot be taken over")),
                problems,
            )
        };
        let mut plan = read_plan(&text).map_err(|problems| unusable(&problems))?;
        // Unfinished parts are fine in an edit; contradictions would make every later command fail.
        let problems = broken_problems(&text, &plan);
        if !problems.is_empty() {
            return Err(unusable(&problems));
        }
        let now = ctx.clock.now();
        let Some(known) = record::read_record::<DocumentRecord>(&*tx, &id)? else {
            return accept_unknown(ctx, tx, planned, (id, None), (text, plan));
        };
        // Nothing to accept; repeating the command is no error.
        if known.written == VersionHash::of_bytes(text.as_bytes()) {
            return Ok(ResolvedChange {
                success: true,
                document: id,
                version_hash: known.written,
                changed: Vec::new(),
                operation: None,
            });
        }
        refuse_frozen(&id, &known)?;
        // A draft that was frozen elsewhere; the history says so, and not the file alone.
        let repository = ctx.git.repository_changes();
        let origin = repository.and_then(|repository| find_freeze_origin(repository, &id));
        if plan.frozen_at.is_some() && origin.is_some() {
            return accept_unknown(ctx, tx, planned, (id, Some(known)), (text, plan));
        }
        let before = load_written_plan(&*tx, &known)?;
        // A hand-set `frozen_at` would freeze the plan without approval, another `plan_id` would cut
        // it off from its reviews.
        let kept = changed_fixed_fields(&before, &plan);
        if !kept.is_empty() {
            return Err(unusable(&domain::plan_document::locate_problems(
                &text, kept,
            )));
        }
        // By hand nobody raises them, and an agent with the old version would overwrite the edit.
        raise_versions(&before, &mut plan);
        let mut record = known.clone();
        // Ids are never reused: the edit may contain higher numbers than the record, or have
        // removed some.
        record.numbers = record.numbers.merge_max(&IdCounters::from_plan(&plan));
        let mut staged = stage_document(&*tx, &id, Some(&before), &plan, &mut record, now)?;
        if staged.settles {
            cascade_statuses(ctx, &*tx, &mut staged.facts, &staged.texts, now, None)?;
        }
        let summary = format!("take over {path} as it was changed outside");
        planned.put_file(&path, Some(&staged.text))?;
        let mut operation = staged.into_operation(ctx, summary, now, (&id, Some(&known), &record));
        // The file as it was edited, kept as a version before it is rewritten in our format.
        operation.texts.push(text.clone());
        let operation = planned.record_operation(tx, operation)?;
        Ok(ResolvedChange {
            success: true,
            document: id,
            version_hash: record.written,
            changed: changes_between(&before, &plan),
            operation: Some(operation),
        })
    })
}

/// Takes over a document that this state does not know, or knows as a draft that was frozen elsewhere.
fn accept_unknown(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    planned: &PlannedFiles<'_>,
    (id, draft): (String, Option<DocumentRecord>),
    (text, plan): (String, Plan),
) -> Result<ResolvedChange, Failure> {
    let path = document_file_path(&id, "plan.json");
    let repository = ctx.git.repository_changes();
    let origin = repository.and_then(|repository| find_freeze_origin(repository, &id));
    // Also a plan that was made a draft again by hand: what was frozen stays.
    if let Some(origin) = origin.as_ref().filter(|it| !it.is_frozen_text(&text)) {
        let places = diff_plan_texts(&origin.plan, &text);
        let problems: Vec<PlanProblem> = places
            .iter()
            .map(|at| PlanProblem::broken(at, "was changed"))
            .collect();
        let what = format!("{path} was changed after it was frozen");
        return Err(with_problems(Failure::refused(what), &problems)
            .with_step(format!("git log -- {path}   # the commit that froze it"))
            .with_step(format!(
                "git restore --source COMMIT {path}   # the frozen plan, to change it in a revision"
            )));
    }
    let now = ctx.clock.now();
    let found = UnknownDocument {
        id,
        draft,
        plan,
        origin,
    };
    let (staged, record) = stage_unknown_document(ctx, &*tx, &found, now)?;
    planned.put_file(&path, Some(&staged.text))?;
    let summary = format!("take over {path} as it was changed outside");
    let mut operation = staged.into_operation(ctx, summary, now, found.records(&record));
    // A document that was just taken over is what the session goes on with.
    operation.facts.extend(make_current(ctx, &*tx, &found.id)?);
    // The file as it was edited, kept as a version before it is rewritten in our format.
    operation.texts.push(text);
    let operation = planned.record_operation(tx, operation)?;
    Ok(ResolvedChange {
        success: true,
        document: found.id,
        version_hash: record.written,
        changed: Vec::new(),
        operation: Some(operation),
    })
}

/// Reads the document's file as it is now.
fn read_present_plan(ctx: &Context<'_>, state: &dyn Snapshot, id: &str) -> Result<String, Failure> {
    match read_document_file(ctx, id, "plan.json") {
        FileReadResult::Text { text, .. } if !id.contains(['/', '\\']) => Ok(text),
        // Opening it gives the precise error: deleted, unreadable, or never there.
        _ => Err(super::document_files::find_and_open(ctx, state, Some(id))
            .err()
            .unwrap_or_else(|| {
                let path = document_file_path(id, "plan.json");
                Failure::invalid(format!("{path} cannot be read"))
            })),
    }
}

/// Loads the plan as Throughline wrote it last.
pub(super) fn load_written_plan(
    state: &dyn Snapshot,
    record: &DocumentRecord,
) -> Result<Plan, Failure> {
    let ours = state
        .load_text(record.written)?
        .ok_or_else(|| missing_text("the plan as it was written last"))?;
    read_plan(&ours).map_err(|_| missing_text("a readable plan"))
}

fn missing_text(what: &str) -> Failure {
    StoreFault::Damaged {
        what: format!("{what} is gone"),
    }
    .into()
}

/// Returns the changes of fields that only commands set.
fn changed_fixed_fields(before: &Plan, after: &Plan) -> Vec<PlanProblem> {
    let checks = [
        (
            "/plan_id",
            before.plan_id == after.plan_id,
            "is given once and stays",
        ),
        (
            "/created_at",
            before.created_at == after.created_at,
            "is given once and stays",
        ),
        (
            "/frozen_at",
            before.frozen_at == after.frozen_at,
            "is set by `tl doc freeze`",
        ),
        (
            "/revises",
            before.revises == after.revises,
            "is set by `tl doc revise`",
        ),
    ];
    checks
        .into_iter()
        .filter(|(_, same, _)| !same)
        .map(|(at, _, why)| PlanProblem::broken(at, why))
        .collect()
}

/// Raises the version of every edited entity, so that a client that read it before the edit gets a
/// conflict.
fn raise_versions(before: &Plan, after: &mut Plan) {
    let changes = changes_between(before, after);
    for change in changes.iter().filter(|change| change.change == "changed") {
        let known = entity_value(before, &change.id);
        let version = known
            .and_then(|entity| entity["version"].as_u64())
            .unwrap_or(1);
        raise_entity_version(after, &change.id, version + 1);
    }
}

/// Restores the text that was written last. The file's current text is kept as a version.
///
/// # Errors
/// When there is no such document, or the file in its place is not a text that could be kept.
pub fn restore_document(
    ctx: &Context<'_>,
    document: Option<&str>,
) -> Result<ResolvedChange, Failure> {
    run_with_files(ctx, &("doc restore", document), |tx, planned| {
        let id = resolve_document(ctx, &*tx, document)?;
        let record = load_document(ctx, &*tx, &id)?;
        let path = document_file_path(&id, "plan.json");
        let there = match read_document_file(ctx, &id, "plan.json") {
            FileReadResult::Text { text, .. } => Some(text),
            FileReadResult::Missing => None,
            // Replacing it would destroy content that cannot be saved first.
            FileReadResult::Unreadable { why, .. } => {
                let what = format!("{path} cannot be read and so cannot be kept: {why}");
                return Err(
                    Failure::refused(what).with_step("move it away, then run the command again")
                );
            }
        };
        let text = tx
            .load_text(record.written)?
            .ok_or_else(|| missing_text("the plan as it was written last"))?;
        let plan = read_plan(&text).map_err(|_| missing_text("a readable plan"))?;
        let now = ctx.clock.now();
        let facts = reset_root(ctx, &*tx, &id, &record, &plan, &text, now)?;
        let (document, version_hash, changed) = (id, record.written, Vec::new());
        let context = find_changed_context(ctx, &*tx, &document, &record)?;
        // The tree is checked as well as the file: an observed edit may have changed its root.
        if there.as_ref() == Some(&text) && facts.is_empty() && context.is_none() {
            return Ok(ResolvedChange {
                success: true,
                document,
                version_hash,
                changed,
                operation: None,
            });
        }
        let mut operation = ctx.new_operation(Verb::Document, format!("put back {path}"));
        operation.at = now;
        operation.facts = facts;
        operation.texts = there.into_iter().collect();
        planned.put_file(&path, Some(&text))?;
        if let Some(changed) = context {
            operation.texts.extend(changed.found);
            planned.put_file(
                &document_file_path(&document, "context.json"),
                Some(&changed.frozen),
            )?;
        }
        let operation = planned.record_operation(tx, operation)?;
        Ok(ResolvedChange {
            success: true,
            document,
            version_hash,
            changed,
            operation: Some(operation),
        })
    })
}

/// A `context.json` that is not the frozen one.
struct ChangedContext {
    /// The text in the file, which is kept as a version.
    found: Option<String>,
    frozen: String,
}

/// Returns the frozen `context.json` if the file is another one.
fn find_changed_context(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    id: &str,
    record: &DocumentRecord,
) -> Result<Option<ChangedContext>, Failure> {
    let Some(version) = record.context else {
        return Ok(None);
    };
    let found = match read_document_file(ctx, id, "context.json") {
        FileReadResult::Text { text, .. } => Some(text),
        FileReadResult::Missing => None,
        FileReadResult::Unreadable { why, .. } => {
            let path = document_file_path(id, "context.json");
            let what = format!("{path} cannot be read and so cannot be kept: {why}");
            return Err(
                Failure::refused(what).with_step("move it away, then run the command again")
            );
        }
    };
    let is_same = |text: &String| VersionHash::of_bytes(text.as_bytes()) == version;
    if found.as_ref().is_some_and(is_same) {
        return Ok(None);
    }
    let frozen = state
        .load_text(version)?
        .ok_or_else(|| missing_text("the frozen context.json"))?;
    Ok(Some(ChangedContext { found, frozen }))
}

/// Returns the facts that reset the tree's root to the text that was written last.
fn reset_root(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    id: &str,
    record: &DocumentRecord,
    plan: &Plan,
    text: &str,
    now: domain::time::Timestamp,
) -> Result<Vec<Fact>, Failure> {
    let node = load_node(tx, record.node)?;
    let wanted = plan_node(id, plan, text.to_owned());
    let (content, mut facts) = (wanted.node_content(), Vec::new());
    if node.content != content {
        facts.push(Fact::ContentChanged {
            node: node.id,
            before: node.content.clone(),
            after: content,
        });
    }
    if node.description != wanted.description {
        let (before, after) = (node.description.clone(), wanted.description);
        facts.push(Fact::DescriptionChanged {
            node: node.id,
            before,
            after,
        });
    }
    cascade_statuses(ctx, tx, &mut facts, &[], now, None)?;
    Ok(facts)
}
