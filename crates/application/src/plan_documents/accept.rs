//! Resolves an outside change of `plan.json`: accepts it, or restores the text that was written
//! last.

use domain::fact::Fact;
use domain::ids::{OperationId, VersionHash};
use domain::node::Node;
use domain::operation::Verb;
use domain::plan_document::{
    DocumentRecord, FreezeRecord, IdCounters, Plan, PlanProblem, changes_between,
    document_file_path, entity_value, plan_node, raise_entity_version, read_plan,
};
use domain::ports::{FileReadResult, Snapshot, StoreFault, Transaction};
use domain::record;
use domain::time::Timestamp;
use serde::Serialize;

use super::StagedDocument;
use super::document_files::{
    broken_problems, load_document, make_current, read_document_file, refuse_frozen,
    resolve_document, run_with_files, stage_document, with_problems,
};
use super::freeze_staging::approve_all;
use crate::context::Context;
use crate::failure::Failure;
use crate::locate::load_node;
use crate::record_policy::resolve_deciding_policy;
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
        let known = record::read_record::<DocumentRecord>(&*tx, &id)?;
        let before = match &known {
            None => None,
            // Nothing to accept; repeating the command is no error.
            Some(record) if record.written == VersionHash::of_bytes(text.as_bytes()) => {
                let version_hash = record.written;
                return Ok(ResolvedChange {
                    success: true,
                    document: id,
                    version_hash,
                    changed: Vec::new(),
                    operation: None,
                });
            }
            Some(record) => {
                refuse_frozen(&id, record)?;
                let before = load_written_plan(&*tx, record)?;
                // A hand-set `frozen_at` would freeze the plan without approval, another `plan_id`
                // would cut it off from its reviews.
                let kept = changed_fixed_fields(&before, &plan);
                if !kept.is_empty() {
                    return Err(unusable(&domain::plan_document::locate_problems(
                        &text, kept,
                    )));
                }
                // By hand nobody raises them, and an agent with the old version would overwrite the
                // edit.
                raise_versions(&before, &mut plan);
                Some(before)
            }
        };
        let mut record = known.clone().unwrap_or_else(|| DocumentRecord {
            revises: plan.revises.as_ref().map(|from| from.document.clone()),
            ..DocumentRecord::unwritten_record()
        });
        // Ids are never reused: the edit may contain higher numbers than the record, or have
        // removed some.
        record.numbers = record.numbers.merge_max(&IdCounters::from_plan(&plan));
        let mut staged = stage_document(&*tx, &id, before.as_ref(), &plan, &mut record, now)?;
        if known.is_none() && plan.frozen_at.is_some() {
            adopt_freeze(ctx, &*tx, &mut record, &mut staged, now)?;
        }
        if staged.settles {
            cascade_statuses(ctx, &*tx, &mut staged.facts, &staged.texts, now, None)?;
        }
        let summary = format!("take over {path} as it was changed outside");
        planned.put_file(&path, Some(&staged.text))?;
        let mut operation =
            staged.into_operation(ctx, summary, now, (&id, known.as_ref(), &record));
        // A document that was just taken over is what the session goes on with.
        if known.is_none() {
            operation.facts.extend(make_current(ctx, &*tx, &id)?);
        }
        // The file as it was edited, kept as a version before it is rewritten in our format.
        operation.texts.push(text.clone());
        let operation = planned.record_operation(tx, operation)?;
        let changed = before
            .map(|before| changes_between(&before, &plan))
            .unwrap_or_default();
        Ok(ResolvedChange {
            success: true,
            document: id,
            version_hash: record.written,
            changed,
            operation: Some(operation),
        })
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
fn load_written_plan(state: &dyn Snapshot, record: &DocumentRecord) -> Result<Plan, Failure> {
    let ours = state
        .load_text(record.written)?
        .ok_or_else(|| missing_text("the plan as it was written last"))?;
    read_plan(&ours).map_err(|_| missing_text("a readable plan"))
}

/// Takes over a document that was frozen in another state.
fn adopt_freeze(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    record: &mut DocumentRecord,
    staged: &mut StagedDocument,
    now: Timestamp,
) -> Result<(), Failure> {
    record.frozen = Some(FreezeRecord {
        version: record.written,
        at: now,
        by: ctx.actor.clone(),
        commit: None,
    });
    // It was approved in the state it was frozen in. Here the approval counts only if the
    // actor may approve; otherwise a copied file would be a way around the policy.
    let policy = resolve_deciding_policy(ctx, state)?.approval;
    if policy.accepts_approval_by(&ctx.actor) {
        let nodes = staged.facts.iter().filter_map(|fact| match fact {
            Fact::NodeAdded { node } => Some(node.as_ref().clone()),
            _ => None,
        });
        let nodes: Vec<Node> = nodes.collect();
        approve_all(ctx, policy, &nodes, &mut staged.facts, now);
        staged.settles = true;
    }
    Ok(())
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
