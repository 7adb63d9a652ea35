//! Brings the search index up to date with the state and the prose files.
//!
//! Normally only what the operations since the last search changed is indexed. Everything is compared
//! after a move or a rename, with another history, or on a shared state, where a working copy's own
//! texts are in no operation.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use domain::fact::Fact;
use domain::ids::{NodeId, OperationId};
use domain::ports::{FileStatResult, SearchIndex, Snapshot};
use domain::record::RecordKey;
use domain::search::documents::{DocumentKey, DocumentKind, SearchDocument};
use domain::tree::Tree;
use serde::{Deserialize, Serialize};

use super::document_sources::{
    PlanSource, node_document, operation_source, prose_mark, read_prose_document, record_document,
    record_source, searched_record_kinds,
};
use crate::context::Context;
use crate::failure::Failure;
use crate::observe::load_plan_tree;
use crate::working_copy::is_state_shared;

/// Maximum number of operations whose changes are indexed one by one.
const MAX_REPLAYED_OPERATIONS: u64 = 256;
/// Number of documents written in one transaction of the index.
const BATCH_DOCUMENTS: usize = 512;
/// Operations read at once.
const OPERATIONS_PER_PAGE: usize = 1_000;
/// Maximum number of prose folders that one search compares with the index. A book with more
/// chapters is compared in turn, so that the time of a search does not grow with it.
const MAX_PROSE_FOLDERS: usize = 128;

/// The state up to which an index is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct IndexPosition {
    store: String,
    head: OperationId,
    /// Hash of the head in the chain: the number alone would match another history.
    hash: String,
    /// The last prose folder that was compared.
    #[serde(default)]
    prose_folder: String,
}

/// What the operations since the last search changed.
#[derive(Debug, Default)]
struct ChangedSources {
    nodes: BTreeSet<NodeId>,
    records: BTreeSet<RecordKey>,
}

/// Changes of an index, written in batches.
struct IndexWriter<'i> {
    index: &'i dyn SearchIndex,
    changed: Vec<SearchDocument>,
    removed: Vec<DocumentKey>,
    is_written: bool,
}

impl IndexWriter<'_> {
    fn push_document(&mut self, document: SearchDocument) -> Result<(), Failure> {
        self.changed.push(document);
        if self.changed.len() >= BATCH_DOCUMENTS {
            // Without a position: an interrupted update is made up by comparing everything.
            self.write_batch(None)?;
        }
        Ok(())
    }

    fn write_batch(&mut self, position: Option<&IndexPosition>) -> Result<(), Failure> {
        let text = position.map(|position| serde_json::to_string(position).unwrap_or_default());
        self.index
            .update_documents(&self.changed, &self.removed, text.as_deref())?;
        self.changed.clear();
        self.removed.clear();
        self.is_written = true;
        Ok(())
    }

    /// Writes the rest, if there is any or if the position changed.
    fn finish_update(
        &mut self,
        known: Option<&IndexPosition>,
        now: &IndexPosition,
    ) -> Result<(), Failure> {
        let is_current = known == Some(now) && !self.is_written;
        if is_current && self.changed.is_empty() && self.removed.is_empty() {
            return Ok(());
        }
        self.write_batch(Some(now))
    }
}

/// Brings the index up to date.
pub(super) fn update_index(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    index: &dyn SearchIndex,
) -> Result<(), Failure> {
    let known: Option<IndexPosition> = index
        // A position of another version of the program is none: everything is compared, nothing is
        // lost.
        .load_position()?
        .and_then(|text| serde_json::from_str(&text).ok());
    let mut now = load_state_position(state)?;
    let mut writer = IndexWriter {
        index,
        changed: Vec::new(),
        removed: Vec::new(),
        is_written: false,
    };
    // Operations are never changed, so those before a known position stay.
    let indexed = match &known {
        Some(known) if continues_history(state, known)? => Some(known.head),
        _ => None,
    };
    let is_shared = is_state_shared(ctx, state)?;
    let changed = match indexed {
        Some(indexed) if !is_shared => load_changes(state, indexed, now.head)?,
        _ => None,
    };
    match &changed {
        Some(changed) => index_changes(ctx, state, changed, &mut writer)?,
        None => compare_everything(ctx, state, indexed.is_some(), &mut writer)?,
    }
    index_operations(state, indexed.unwrap_or(OperationId(0)), &mut writer)?;
    // Prose belongs to plans that are in the index, so these are written first.
    if !writer.changed.is_empty() || !writer.removed.is_empty() {
        writer.write_batch(None)?;
    }
    now.prose_folder = index_prose(
        ctx,
        known.as_ref().map_or("", |known| &known.prose_folder),
        changed.is_none(),
        &mut writer,
    )?;
    writer.finish_update(known.as_ref(), &now)
}

fn load_state_position(state: &dyn Snapshot) -> Result<IndexPosition, Failure> {
    let head = state.last_operation_id()?;
    Ok(IndexPosition {
        store: state.store_id()?.to_string(),
        head,
        hash: chain_hash(state, head)?,
        prose_folder: String::new(),
    })
}

fn chain_hash(state: &dyn Snapshot, operation: OperationId) -> Result<String, Failure> {
    Ok(state
        .chain_hash(operation)?
        .map(|hash| hash.to_string())
        .unwrap_or_default())
}

/// Whether the state continues the history the index was made from.
fn continues_history(state: &dyn Snapshot, known: &IndexPosition) -> Result<bool, Failure> {
    Ok(known.store == state.store_id()?.to_string()
        && known.head <= state.last_operation_id()?
        && known.hash == chain_hash(state, known.head)?)
}

/// Returns what the operations after `indexed` changed; `None` if everything has to be compared.
fn load_changes(
    state: &dyn Snapshot,
    indexed: OperationId,
    head: OperationId,
) -> Result<Option<ChangedSources>, Failure> {
    let mut changed = ChangedSources::default();
    let count = head.0.saturating_sub(indexed.0);
    // Comparing marks costs one list of the documents; from some number of operations on, loading
    // them with all their facts costs more.
    if count > MAX_REPLAYED_OPERATIONS {
        return Ok(None);
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count == 0 {
        return Ok(Some(changed));
    }
    // Numbers have no gaps, so the newest `count` operations are exactly those after the indexed
    // one.
    for operation in state.load_operations(None, count)? {
        for fact in operation.facts {
            match fact {
                Fact::NodeAdded { node } | Fact::NodeRemoved { node } => {
                    changed.nodes.insert(node.id);
                }
                Fact::ContentChanged { node, .. } | Fact::DescriptionChanged { node, .. } => {
                    changed.nodes.insert(node);
                }
                // The prose of every plan below has another path.
                Fact::NodeMoved { .. } | Fact::NodeRenamed { .. } => return Ok(None),
                Fact::RecordChanged { record, .. } => {
                    if record_document(&record).is_some() {
                        changed.records.insert(record);
                    }
                }
                Fact::ApprovalChanged { .. }
                | Fact::CondemnationChanged { .. }
                | Fact::ProgressChanged { .. }
                | Fact::StandingsChanged { .. }
                | Fact::BackupWritten { .. }
                | Fact::UndoneChanged { .. } => {}
            }
        }
    }
    Ok(Some(changed))
}

fn index_changes(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    changed: &ChangedSources,
    writer: &mut IndexWriter<'_>,
) -> Result<(), Failure> {
    for id in &changed.nodes {
        let node = state.load_node(*id)?;
        let document = match &node {
            Some(node) => {
                let parent = node
                    .parent
                    .map(|parent| state.load_node(parent))
                    .transpose()?;
                match PlanSource::new(ctx, node, parent.flatten().as_ref()) {
                    Some(source) => source.load_document(state)?,
                    None => None,
                }
            }
            None => None,
        };
        match document {
            Some(document) => writer.push_document(document)?,
            None => writer.removed.push(node_document(DocumentKind::Plan, *id)),
        }
        // Only with the node: where the plan's own text is unreadable, its prose can still be
        // found.
        if node.is_none() {
            writer.removed.push(node_document(DocumentKind::Prose, *id));
        }
    }
    for record in &changed.records {
        let body = state.record_body(&record.kind, &record.key)?;
        match body.and_then(|body| record_source(record, &body)) {
            Some(document) => writer.push_document(document)?,
            None => writer.removed.extend(record_document(record)),
        }
    }
    Ok(())
}

/// Compares every document with its source.
fn compare_everything(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    keeps_log: bool,
    writer: &mut IndexWriter<'_>,
) -> Result<(), Failure> {
    let mut kinds = vec![
        DocumentKind::Plan,
        DocumentKind::Comment,
        DocumentKind::Note,
        DocumentKind::Memory,
    ];
    if !keeps_log {
        kinds.push(DocumentKind::Log);
    }
    let mut indexed: HashMap<DocumentKey, String> = writer
        .index
        .list_documents(&kinds)?
        .into_iter()
        .map(|document| (document.id, document.mark))
        .collect();
    let tree = load_plan_tree(state)?;
    for node in tree.nodes() {
        let Some(source) = PlanSource::new(ctx, node, tree.parent_of(node)) else {
            continue;
        };
        if indexed.remove(&source.document_key()) != Some(source.content_mark())
            && let Some(document) = source.load_document(state)?
        {
            writer.push_document(document)?;
        }
    }
    for kind in searched_record_kinds() {
        for (key, body) in state.records_by_prefix(kind, "")? {
            let record = RecordKey {
                kind: kind.to_owned(),
                key,
            };
            let Some(document) = record_source(&record, &body) else {
                continue;
            };
            if indexed.remove(&document.id).as_ref() != Some(&document.mark) {
                writer.push_document(document)?;
            }
        }
    }
    // Prose is compared by folder, from the plans in the index: that of a removed plan would never
    // be looked at again.
    remove_prose_of_missing_plans(&tree, writer)?;
    // What is left has no source any more; of another history's log everything.
    writer.removed.extend(indexed.into_keys());
    Ok(())
}

fn remove_prose_of_missing_plans(tree: &Tree, writer: &mut IndexWriter<'_>) -> Result<(), Failure> {
    for prose in writer.index.list_documents(&[DocumentKind::Prose])? {
        let node = prose.id.key.parse().ok().map(NodeId);
        if node.is_none_or(|node| tree.get(node).is_none()) {
            writer.removed.push(prose.id);
        }
    }
    Ok(())
}

fn index_operations(
    state: &dyn Snapshot,
    after: OperationId,
    writer: &mut IndexWriter<'_>,
) -> Result<(), Failure> {
    let mut before = None;
    loop {
        let page = state.operation_heads(before, OPERATIONS_PER_PAGE)?;
        let is_end = page.len() < OPERATIONS_PER_PAGE;
        for operation in page {
            if operation.id <= after {
                return Ok(());
            }
            before = Some(operation.id);
            writer.push_document(operation_source(&operation))?;
        }
        if is_end {
            return Ok(());
        }
    }
}

/// Compares the prose files of the next folders with the index; returns the last folder of this turn.
fn index_prose(
    ctx: &Context<'_>,
    after: &str,
    is_everything: bool,
    writer: &mut IndexWriter<'_>,
) -> Result<String, Failure> {
    let most = if is_everything {
        usize::MAX
    } else {
        MAX_PROSE_FOLDERS
    };
    let mut folders = writer.index.list_prose_folders(after, most)?;
    let mut last_folder = folders.keys().next_back().cloned().unwrap_or_default();
    let reached_end = folders.len() < most;
    // Starts again at the first folder; when all fit into one turn, the position stays.
    if reached_end && !after.is_empty() {
        let rest = writer.index.list_prose_folders("", most - folders.len())?;
        last_folder = rest.keys().next_back().cloned().unwrap_or_default();
        folders.extend(rest);
    }
    let mut kept = BTreeSet::new();
    for (folder, marks) in folders {
        index_prose_folder(ctx, &folder, marks, &mut kept, writer)?;
    }
    // With everything in one turn there is no position to remember, and nothing to write.
    Ok(if reached_end && after.is_empty() {
        String::new()
    } else {
        last_folder
    })
}

/// Compares the prose files of a folder with the index; `marks` are those of the prose that is in it. Adds the
/// keys of prose that exists to `kept`.
fn index_prose_folder(
    ctx: &Context<'_>,
    folder: &str,
    mut marks: BTreeMap<String, String>,
    kept: &mut BTreeSet<String>,
    writer: &mut IndexWriter<'_>,
) -> Result<(), Failure> {
    // One listing instead of a stat of every file: most plans of a book have no prose yet.
    let entries = ctx.files.list_folder(folder);
    if entries.is_empty() && marks.is_empty() {
        return Ok(());
    }
    let names: BTreeSet<String> = entries.into_iter().map(|entry| entry.name).collect();
    for plan in writer.index.plans_of_prose_folder(folder)? {
        let Some(path) = plan.prose_path.as_deref() else {
            continue;
        };
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        let found = if names.contains(name) {
            ctx.files.stat_file(path)
        } else {
            FileStatResult::Missing
        };
        match found {
            FileStatResult::Present(stamp) => {
                let (known, mark) = (marks.remove(&plan.id.key), prose_mark(&stamp));
                kept.insert(plan.id.key.clone());
                if known.as_ref() != Some(&mark)
                    && let Some(prose) = read_prose_document(ctx.files, &plan.id, path, mark)
                {
                    writer.push_document(prose)?;
                }
            }
            // Removed below.
            FileStatResult::Missing | FileStatResult::Refused(_) => {}
            // Says nothing about the file.
            FileStatResult::Unavailable(_) => drop(marks.remove(&plan.id.key)),
        }
    }
    let gone = marks.into_keys().filter(|key| !kept.contains(key));
    writer.removed.extend(gone.map(|key| DocumentKey {
        kind: DocumentKind::Prose,
        key,
    }));
    Ok(())
}
