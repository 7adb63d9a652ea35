//! Takes over frozen plan documents that came with git: in a worktree or a clone their state knows nothing
//! of them.
//!
//! What counts is the frozen text of the history, together with the decisions about it that are known
//! here. A document that nobody froze, or that only a person may approve, waits for `--accept`.

use std::collections::BTreeSet;

use domain::fact::Fact;
use domain::ids::{NodeId, Principal, VersionHash};
use domain::node::Node;
use domain::operation::Verb;
use domain::plan_document::{
    CurrentDocument, DocumentRecord, FreezeRecord, IdCounters, PLANS_FOLDER, Plan,
    document_file_path, read_plan, write_plan,
};
use domain::ports::{FileReadResult, FileStatResult, Snapshot, Transaction};
use domain::record::{self, ChangeRecords};
use domain::time::Timestamp;

use super::StagedDocument;
use super::accept::load_written_plan;
use super::document_files::{
    broken_problems, read_document_file, resolve_document, stage_document,
};
use super::freeze_origin::{FreezeOrigin, find_freeze_origin};
use super::freeze_staging::approve_all;
use super::reconcile::{list_completed, report_unchanged_intents};
use crate::context::{Context, Notice};
use crate::decisions::{DecisionChanges, is_repository_trusted, receive_decisions};
use crate::failure::Failure;
use crate::observe::observe_then_read;
use crate::record_policy::resolve_deciding_policy;
use crate::scan::ScanScope;
use crate::status_cascade::cascade_statuses;

/// A document that this state does not know, or only as a draft, as it is to be taken over.
#[derive(Debug)]
pub(crate) struct UnknownDocument {
    pub(crate) id: String,
    /// Its record, where it was frozen elsewhere.
    pub(crate) draft: Option<DocumentRecord>,
    pub(crate) plan: Plan,
    /// Where its freeze came from.
    pub(crate) origin: Option<FreezeOrigin>,
}

impl UnknownDocument {
    /// Returns its name with its record before and after, as an operation records them.
    pub(crate) fn records<'r>(
        &'r self,
        after: &'r DocumentRecord,
    ) -> (&'r str, Option<&'r DocumentRecord>, &'r DocumentRecord) {
        (&self.id, self.draft.as_ref(), after)
    }
}

/// Returns the names of the document folders that this state does not know, in order.
pub(crate) fn list_unknown_documents(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Vec<String>, Failure> {
    let mut unknown = Vec::new();
    for entry in ctx.files.list_folder(PLANS_FOLDER) {
        // The name is a part of commands that are pasted into a shell.
        let is_id = |c: char| c.is_alphanumeric() || c == '-';
        if !entry.name.chars().all(is_id) {
            continue;
        }
        // A folder without a plan is left over from an undo.
        let path = document_file_path(&entry.name, "plan.json");
        if record::read_record::<DocumentRecord>(state, &entry.name)?.is_none()
            && matches!(ctx.files.stat_file(&path), FileStatResult::Present(_))
        {
            unknown.push(entry.name);
        }
    }
    unknown.sort();
    Ok(unknown)
}

/// Opens a snapshot for a command about a document. Where this state does not know it, what came with git
/// is taken over first.
pub(crate) fn read_documents<'s>(
    ctx: &Context<'s>,
    named: Option<&str>,
) -> Result<Box<dyn Snapshot + 's>, Failure> {
    let state = ctx.store.begin_read()?;
    let id = resolve_document(ctx, &*state, named).ok();
    let record = id.map(|id| record::read_record::<DocumentRecord>(&*state, &id));
    if record.transpose()?.flatten().is_some() {
        return Ok(state);
    }
    // The write lock may not be taken under a snapshot.
    drop(state);
    observe_then_read(ctx, ScanScope::Everything)
}

/// Returns how the work on plan documents begins: with those that are here already, or else with a new
/// one.
pub(crate) fn list_first_documents(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Vec<String>, Failure> {
    let unknown = list_unknown_documents(ctx, state)?;
    let steps: Vec<String> = unknown.iter().map(|id| take_over_step(id)).collect();
    Ok(match steps.is_empty() {
        true => vec!["tl flow start planner --new \"TITLE\"   # plan milestones".to_owned()],
        false => steps,
    })
}

/// Returns the command that takes over a document that this state does not know.
pub(crate) fn take_over_step(id: &str) -> String {
    format!("tl doc validate --accept --doc {id}   # take over the plan that is here already")
}

/// Returns the documents that may have been frozen elsewhere, each with its record if it is a draft here.
fn list_candidates(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Vec<(String, Option<DocumentRecord>)>, Failure> {
    // A project without documents costs no query.
    if ctx.files.list_folder(PLANS_FOLDER).is_empty() {
        return Ok(Vec::new());
    }
    let unknown = list_unknown_documents(ctx, state)?.into_iter();
    let mut candidates: Vec<_> = unknown.map(|id| (id, None)).collect();
    let known = record::read_records::<DocumentRecord>(state, "")?.into_iter();
    let drafts = known.filter(|(_, record)| record.frozen.is_none());
    candidates.extend(drafts.map(|(id, record)| (id, Some(record))));
    Ok(candidates)
}

/// Returns the unknown documents whose plan is the frozen one of the history.
///
/// None in a clone of others that nobody adopted, and none where a person has to approve.
pub(crate) fn find_frozen_documents(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Vec<UnknownDocument>, Failure> {
    let (Some(folder), Some(repository)) = (ctx.decisions, ctx.git.repository_changes()) else {
        return Ok(Vec::new());
    };
    let candidates = list_candidates(ctx, state)?;
    if candidates.is_empty()
        || !is_repository_trusted(folder)?
        || resolve_deciding_policy(ctx, state)?
            .approval
            .requires_person()
    {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for (id, draft) in candidates {
        let FileReadResult::Text { text, .. } = read_document_file(ctx, &id, "plan.json") else {
            continue;
        };
        // The draft as it was written here: nobody froze it.
        if draft
            .as_ref()
            .is_some_and(|draft| draft.written == VersionHash::of_bytes(text.as_bytes()))
        {
            continue;
        }
        // The history is asked only about a sound plan in our own format, so that taking it over
        // writes no file.
        let Ok(plan) = read_plan(&text) else { continue };
        let is_sound = plan.frozen_at.is_some()
            && write_plan(&plan) == text
            && broken_problems(&text, &plan).is_empty();
        if !is_sound {
            continue;
        }
        if let Some(origin) = find_freeze_origin(repository, &id)
            && origin.is_frozen_text(&text)
        {
            found.push(UnknownDocument {
                id,
                draft,
                plan,
                origin: Some(origin),
            });
        }
    }
    // The newest is the one to go on with.
    found.sort_by_key(|one| one.plan.frozen_at);
    Ok(found)
}

/// Takes over documents, each as an operation of its own.
pub(crate) fn take_over_documents(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    documents: &[UnknownDocument],
) -> Result<(), Failure> {
    for found in documents {
        // Another command may have taken it over since the scan.
        if record::read_record::<DocumentRecord>(&*tx, &found.id)? != found.draft {
            continue;
        }
        let now = ctx.clock.now();
        let (staged, record) = stage_unknown_document(ctx, &*tx, found, now)?;
        let completed = list_completed(&staged.facts);
        let is_open = !completed.contains(&record.node);
        let path = document_file_path(&found.id, "plan.json");
        let summary = format!("take over {path}, which came frozen with git");
        let mut operation =
            staged.into_operation(ctx, summary.clone(), now, found.records(&record));
        operation.verb = Verb::Observe;
        operation.by = Principal::System;
        let has_current = record::read_record::<CurrentDocument>(&*tx, "")?.is_some();
        if is_open || !has_current {
            operation
                .facts
                .extend(make_shared_current(&*tx, &found.id)?);
        }
        let operation = tx.record_operation(operation)?;
        ctx.push_notice(Notice::Changes {
            operation,
            summary,
            stale: 0,
        });
        report_unchanged_intents(ctx, &*tx, &completed)?;
    }
    Ok(())
}

/// Returns the facts that make a document the current one of sessions that have not chosen one.
fn make_shared_current(state: &dyn Snapshot, id: &str) -> Result<Vec<Fact>, Failure> {
    let before = record::read_record::<CurrentDocument>(state, "")?;
    let after = CurrentDocument {
        document: id.to_owned(),
    };
    let mut facts = Vec::new();
    facts.change_record("", before.as_ref(), Some(&after));
    Ok(facts)
}

/// Returns the facts that take a document over with what was decided about it, and its record.
pub(crate) fn stage_unknown_document(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    found: &UnknownDocument,
    now: Timestamp,
) -> Result<(StagedDocument, DocumentRecord), Failure> {
    let plan = &found.plan;
    let (before, mut record) = match &found.draft {
        Some(draft) => (Some(load_written_plan(tx, draft)?), draft.clone()),
        None => (None, DocumentRecord::unwritten_record()),
    };
    record.revises = plan.revises.as_ref().map(|from| from.document.clone());
    record.numbers = record.numbers.merge_max(&IdCounters::from_plan(plan));
    let mut staged = stage_document(tx, &found.id, before.as_ref(), plan, &mut record, now)?;
    if let Some(frozen_at) = plan.frozen_at {
        record.frozen = Some(FreezeRecord {
            version: record.written,
            at: frozen_at,
            by: ctx.actor.clone(),
            commit: found.origin.as_ref().and_then(|origin| origin.base.clone()),
        });
        if let Some(text) = find_frozen_context(ctx, found) {
            record.context = Some(VersionHash::of_bytes(text.as_bytes()));
            staged.texts.push(text);
        }
        let known = match &found.draft {
            Some(draft) => tx.load_subtree(draft.node)?,
            None => Vec::new(),
        };
        approve_frozen(ctx, tx, known, &mut staged, now)?;
    }
    // What others decided before this state knew the document: milestones that are complete, proofs.
    receive_decisions(ctx, tx, &DecisionChanges::default(), &mut staged.facts)?;
    if staged.settles {
        cascade_statuses(ctx, tx, &mut staged.facts, &staged.texts, now, None)?;
    }
    Ok((staged, record))
}

/// Returns the context that a frozen plan was designed with: that of the history, or else the file.
fn find_frozen_context(ctx: &Context<'_>, found: &UnknownDocument) -> Option<String> {
    let file = match read_document_file(ctx, &found.id, "context.json") {
        FileReadResult::Text { text, .. } => Some(text),
        FileReadResult::Missing | FileReadResult::Unreadable { .. } => None,
    };
    let Some(origin) = &found.origin else {
        return file;
    };
    let frozen = origin.context.clone()?;
    // Another line ending is no other text.
    let same = file.filter(|file| file.replace("\r\n", "\n") == frozen.replace("\r\n", "\n"));
    Some(same.unwrap_or(frozen))
}

fn removed_node(fact: &Fact) -> Option<NodeId> {
    match fact {
        Fact::NodeRemoved { node } => Some(node.id),
        _ => None,
    }
}

/// Approves the nodes of a frozen document, if an approval by the actor counts; otherwise a copied file
/// would be a way around the policy.
fn approve_frozen(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    mut nodes: Vec<Node>,
    staged: &mut StagedDocument,
    now: Timestamp,
) -> Result<(), Failure> {
    let policy = resolve_deciding_policy(ctx, state)?.approval;
    if policy.accepts_approval_by(&ctx.actor) {
        let added = staged.facts.iter().filter_map(|fact| match fact {
            Fact::NodeAdded { node } => Some(node.as_ref().clone()),
            _ => None,
        });
        nodes.extend(added);
        let removed: BTreeSet<_> = staged.facts.iter().filter_map(removed_node).collect();
        nodes.retain(|node| !removed.contains(&node.id));
        approve_all(ctx, policy, &nodes, &mut staged.facts, now);
        staged.settles = true;
    }
    Ok(())
}
