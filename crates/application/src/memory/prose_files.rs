//! Notices texts that people wrote, edited, restored or removed, and reads them into the memory.
//!
//! A note keeps the stamp of every text that was read, so that an unchanged book costs one `stat` per scene.

use std::collections::BTreeMap;

use domain::generation::reading::SceneReading;
use domain::ids::{NodeId, Principal, VersionHash};
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
}

type SeenTexts = BTreeMap<u32, SeenProse>;

/// The result of comparing the texts with what was read.
#[derive(Default)]
struct ProseComparison {
    seen: SeenTexts,
    /// Texts that are not the ones that were read.
    changed: Vec<SceneChange>,
    /// Number of stamps that are new.
    stamps: usize,
}

/// Reads texts that changed since they were last read. Looks only at stamps while nothing changed.
pub(crate) fn observe_prose(ctx: &Context<'_>, tree: &Tree) -> Result<(), Failure> {
    let state = ctx.store.begin_read()?;
    // On a shared state nothing is recorded by looking; `reread` does it.
    if is_state_shared(ctx, &*state)? {
        return Ok(());
    }
    let found = compare_texts(ctx, &*state, tree)?;
    if found.changed.is_empty() && found.stamps < MIN_STAMPS_TO_WRITE {
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
    if count > 0 {
        let mut memory = load_memory(&*tx)?;
        let readings = apply_changes(ctx, &*tx, tree, &mut memory, found.changed)?;
        let summary = format!(
            "memory: {} read again after an edit",
            count_with_noun(count, "scene", "scenes")
        );
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
    for node in tree.nodes() {
        let Some(path) = prose_path(ctx, tree, node) else {
            continue;
        };
        let known = found.seen.get(&node.id.0);
        let stamp = match ctx.files.stat_file(&path) {
            FileStatResult::Present(stamp) => compact_stamp(stamp),
            FileStatResult::Missing => {
                if found.seen.remove(&node.id.0).is_some() {
                    found.changed.push(gone_text(node.id));
                }
                continue;
            }
            // Neither says anything about the text.
            FileStatResult::Refused(_) | FileStatResult::Unavailable(_) => continue,
        };
        if known.is_some_and(|known| known.stamp == Some(stamp)) {
            continue;
        }
        let FileReadResult::Text { text, stamp } = ctx.files.read_file(&path, MAX_PROSE_BYTES)
        else {
            continue;
        };
        let version = VersionHash::of_bytes(text.as_bytes());
        let is_read = known.is_some_and(|known| known.text == version)
            || is_text_read(state, node.id, version)?;
        found.seen.insert(
            node.id.0,
            SeenProse {
                text: version,
                stamp: stamp.map(compact_stamp),
            },
        );
        if is_read {
            found.stamps += 1;
        } else if !text.trim().is_empty() {
            found.changed.push(SceneChange {
                node: node.id,
                text: Some(text),
                judged: None,
            });
        }
    }
    Ok(found)
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
    // A note that cannot be parsed costs reading every text once.
    Ok(note
        .and_then(|body| serde_json::from_str(&body).ok())
        .unwrap_or_default())
}

fn save_seen(ctx: &Context<'_>, tx: &mut dyn Transaction, seen: &SeenTexts) -> Result<(), Failure> {
    let body = serde_json::to_string(seen).unwrap_or_default();
    tx.save_note(PROSE_NOTE, Some(&body), ctx.clock.now())?;
    Ok(())
}
