//! Notices texts that people wrote, edited, restored or removed, and reads them into the memory.
//!
//! A note keeps the stamp of every text that was read, so that an unchanged book costs one `stat` per scene. It
//! is kept by every reader of a text: a text or a plan that is gone is known by nothing else.

use std::collections::{BTreeMap, HashSet};

use domain::generation::reading::SceneReading;
use domain::ids::{NodeId, Principal, VersionHash};
use domain::node::Node;
use domain::operation::Verb;
use domain::ports::{FileReadResult, FileStatResult, Snapshot, Transaction};
use domain::record;
use domain::text::count_with_noun;
use domain::tree::Tree;
use serde::{Deserialize, Serialize};

use super::memory_files::{self, compact_stamp, load_memory};
use super::scene_readings::{SceneChange, apply_changes};
use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::file_writes::begin_transaction;
use crate::observe::observe_plans;
use crate::tick::story_state::{MAX_PROSE_BYTES, prose_path};
use crate::working_copy::is_state_shared;

/// Note with the texts that were read.
const PROSE_NOTE: &str = "prose-files";
/// Number of confirmed stamps that are worth the write lock.
const MIN_STAMPS_TO_WRITE: usize = 32;

/// A text that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SeenProse {
    text: VersionHash,
    stamp: Option<[i64; 4]>,
    /// Hash of its plan and those above it, which name cast, places and point of view.
    #[serde(default)]
    plans: Option<VersionHash>,
}

/// The texts that were read, by node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct SeenTexts {
    texts: BTreeMap<u32, SeenProse>,
    /// The nodes in the order of the plan, by which the memory was projected.
    order: Vec<u32>,
}

/// The result of comparing the texts with what was read.
#[derive(Default)]
struct ProseComparison {
    seen: SeenTexts,
    /// Texts that are not the ones that were read.
    changed: Vec<SceneChange>,
    /// Whether the texts are in another order than when they were read.
    is_reordered: bool,
    /// Number of stamps that are new.
    stamps: usize,
}

impl ProseComparison {
    fn has_news(&self) -> bool {
        self.is_reordered || !self.changed.is_empty()
    }
}

/// Reads texts that changed since they were last read. Looks only at stamps while nothing changed.
pub(crate) fn observe_prose(ctx: &Context<'_>, tree: &Tree) -> Result<(), Failure> {
    let state = ctx.store.begin_read()?;
    // On a shared state nothing is recorded by looking; `reread` does it.
    if is_state_shared(ctx, &*state)? {
        return Ok(());
    }
    let found = compare_texts(ctx, &*state, tree)?;
    if !found.has_news() && found.stamps < MIN_STAMPS_TO_WRITE {
        return Ok(());
    }
    drop(state);
    // Compared again with the lock: an interrupted process may have left texts behind, which are written
    // now.
    let mut tx = begin_transaction(ctx)?;
    let found = compare_texts(ctx, &*tx, tree)?;
    let files = record_texts(ctx, &mut *tx, tree, found)?;
    tx.commit()?;
    files.write_files(ctx);
    Ok(())
}

/// Observes plans and texts, before the memory is shown.
pub(crate) fn observe_book(ctx: &Context<'_>) -> Result<(), Failure> {
    let (_, tree) = observe_plans(ctx)?;
    observe_prose(ctx, &tree)
}

/// Records the readings of changed texts as an operation of its own.
fn record_texts(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    tree: &Tree,
    found: ProseComparison,
) -> Result<memory_files::MemoryFiles, Failure> {
    let mut files = memory_files::import_edits_within(ctx, tx)?;
    let count = found.changed.len();
    if found.has_news() {
        let mut memory = load_memory(&*tx)?;
        let readings = apply_changes(ctx, &*tx, tree, &mut memory, found.changed)?;
        let summary = match count {
            0 => "memory: the scenes are in another order".to_owned(),
            _ => format!(
                "memory: {} read again after an edit",
                count_with_noun(count, "scene", "scenes")
            ),
        };
        let mut operation = ctx.new_operation(Verb::Observe, summary.clone());
        // Who edited the text is unknown; the acting session only noticed it.
        operation.by = Principal::System;
        operation.facts = memory.change_facts();
        operation.facts.extend(readings);
        if !operation.facts.is_empty() {
            let id = tx.record_operation(operation)?;
            ctx.push_notice(Notice::Changes {
                operation: id,
                summary,
                stale: 0,
            });
            files.register_changes(ctx, tx, &memory)?;
        }
    }
    save_seen(ctx, tx, &found.seen)?;
    Ok(files)
}

/// Notes texts that were read and recorded within a transaction.
pub(crate) fn note_read_texts(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    tree: &Tree,
    texts: &[(NodeId, VersionHash)],
) -> Result<(), Failure> {
    let mut seen = load_seen(&*tx)?;
    for (node, text) in texts {
        let known = seen.texts.get(&node.0);
        let stamp = known.filter(|known| known.text == *text);
        let stamp = stamp.and_then(|known| known.stamp);
        let plans = tree.get(*node).map(|node| hash_plans(tree, node));
        let read = SeenProse {
            text: *text,
            stamp,
            plans,
        };
        seen.texts.insert(node.0, read);
    }
    seen.order = order_of_texts(tree, &seen);
    save_seen(ctx, tx, &seen)
}

/// Returns the nodes of the known texts in the order of the plan.
fn order_of_texts(tree: &Tree, seen: &SeenTexts) -> Vec<u32> {
    let nodes = tree.all_preorder().into_iter().map(|node| node.id.0);
    nodes.filter(|node| seen.texts.contains_key(node)).collect()
}

/// Returns a hash of a plan and those above it.
fn hash_plans(tree: &Tree, node: &Node) -> VersionHash {
    let mut all = String::new();
    let mut next = Some(node);
    while let Some(plan) = next {
        let version = plan.content.version_hash();
        all.push_str(&version.map(|it| it.to_string()).unwrap_or_default());
        next = tree.parent_of(plan);
    }
    VersionHash::of_bytes(all.as_bytes())
}

/// Compares the texts of all scenes with what was read.
fn compare_texts(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
) -> Result<ProseComparison, Failure> {
    let mut found = ProseComparison {
        seen: load_seen(state)?,
        ..ProseComparison::default()
    };
    let before = std::mem::take(&mut found.seen.order);
    // A plan that was removed, or is on another branch, takes its text out of the book.
    let texts = &mut found.seen.texts;
    let gone = texts
        .keys()
        .copied()
        .filter(|id| tree.get(NodeId(*id)).is_none());
    for id in gone.collect::<Vec<_>>() {
        texts.remove(&id);
        found.changed.push(gone_text(NodeId(id)));
    }
    for node in tree.nodes() {
        compare_text(ctx, state, tree, node, &mut found)?;
    }
    found.seen.order = order_of_texts(tree, &found.seen);
    let known: HashSet<u32> = before.iter().copied().collect();
    let is_kept = |id: &&u32| found.seen.texts.contains_key(id) && known.contains(id);
    let order = found.seen.order.iter().filter(is_kept);
    found.is_reordered = !order.eq(before.iter().filter(is_kept));
    Ok(found)
}

/// Compares the text of a scene with what was read.
fn compare_text(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    node: &Node,
    found: &mut ProseComparison,
) -> Result<(), Failure> {
    let Some(path) = prose_path(ctx, tree, node) else {
        return Ok(());
    };
    let known = found.seen.texts.get(&node.id.0);
    let stamp = match ctx.files.stat_file(&path) {
        FileStatResult::Present(stamp) => compact_stamp(stamp),
        FileStatResult::Missing => {
            if found.seen.texts.remove(&node.id.0).is_some() {
                found.changed.push(gone_text(node.id));
            }
            return Ok(());
        }
        // Neither says anything about the text.
        FileStatResult::Refused(_) | FileStatResult::Unavailable(_) => return Ok(()),
    };
    let plans = Some(hash_plans(tree, node));
    let is_same_plan = known.is_none_or(|known| known.plans.is_none() || known.plans == plans);
    if is_same_plan && known.is_some_and(|known| known.stamp == Some(stamp)) {
        return Ok(());
    }
    let FileReadResult::Text { text, stamp } = ctx.files.read_file(&path, MAX_PROSE_BYTES) else {
        return Ok(());
    };
    let version = VersionHash::of_bytes(text.as_bytes());
    let is_read = is_same_plan
        && (known.is_some_and(|known| known.text == version)
            || is_text_read(state, node.id, version)?);
    let read = SeenProse {
        text: version,
        stamp: stamp.map(compact_stamp),
        plans,
    };
    found.seen.texts.insert(node.id.0, read);
    if is_read {
        found.stamps += 1;
    } else if !text.trim().is_empty() {
        found.changed.push(SceneChange {
            node: node.id,
            text: Some(text),
            judged: None,
        });
    }
    Ok(())
}

fn gone_text(node: NodeId) -> SceneChange {
    SceneChange {
        node,
        text: None,
        judged: None,
    }
}

/// Whether the recorded reading of a scene is of this text.
fn is_text_read(state: &dyn Snapshot, node: NodeId, version: VersionHash) -> Result<bool, Failure> {
    let key = SceneReading::record_key(node);
    let reading = record::read_record::<SceneReading>(state, &key)?;
    Ok(reading.is_some_and(|it| it.version == version && !it.is_gone))
}

fn load_seen(state: &dyn Snapshot) -> Result<SeenTexts, Failure> {
    let note = state.load_note(PROSE_NOTE)?;
    let known: Option<SeenTexts> = note.and_then(|body| serde_json::from_str(&body).ok());
    if let Some(known) = known.filter(|known| !known.texts.is_empty()) {
        return Ok(known);
    }
    // Without a note, the readings say which texts there were; each is read once more.
    let readings = record::read_records::<SceneReading>(state, "")?;
    let readings = readings.into_iter().map(|(_, reading)| reading);
    let texts = readings.filter(|reading| !reading.is_gone).map(|reading| {
        let read = SeenProse {
            text: reading.version,
            stamp: None,
            plans: None,
        };
        (reading.node.0, read)
    });
    Ok(SeenTexts {
        texts: texts.collect(),
        order: Vec::new(),
    })
}

fn save_seen(ctx: &Context<'_>, tx: &mut dyn Transaction, seen: &SeenTexts) -> Result<(), Failure> {
    let body = serde_json::to_string(seen).unwrap_or_default();
    tx.save_note(PROSE_NOTE, Some(&body), ctx.clock.now())?;
    Ok(())
}
