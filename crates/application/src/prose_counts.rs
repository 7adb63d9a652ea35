//! Counts of the words in prose files: compared with the last count and recorded, so that prose that was
//! written by hand has a history.
//!
//! A count is recorded where the prose is looked at anyway: by the statistics, after an agent wrote a
//! file, and with a generated scene. The day of a change is that of the file, not that of the count.

use std::collections::HashMap;

use domain::fact::Fact;
use domain::generation::reading::SceneReading;
use domain::ids::{NodeId, Principal};
use domain::memory::EntryKind;
use domain::operation::Verb;
use domain::ports::{FileReadResult, FileStatResult, Snapshot};
use domain::prose_history::{ProseCount, ProseHistory, read_words};
use domain::record::{self, ChangeRecords};
use domain::search::split_words;
use domain::text::count_with_noun;
use domain::time::Timestamp;
use domain::tree::Tree;

use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes;
use crate::tick::story_state::MAX_PROSE_BYTES;
use crate::working_copy::is_state_shared;

const NANOS_PER_MILLI: i64 = 1_000_000;

/// The prose of a plan as its file has it now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProseMeasure {
    pub(crate) words: usize,
    pub(crate) edited_at: Timestamp,
}

impl ProseMeasure {
    pub(crate) fn of_text(text: &str, edited_at: Timestamp) -> Self {
        Self {
            words: split_words(text).len(),
            edited_at,
        }
    }
}

/// Measures a prose file; `None` if it cannot be read.
pub(crate) fn measure_prose_file(ctx: &Context<'_>, path: &str) -> Option<ProseMeasure> {
    // Read from the file and not from a record: people write and edit prose by hand as well.
    let FileReadResult::Text { text, .. } = ctx.files.read_file(path, MAX_PROSE_BYTES) else {
        return None;
    };
    // Not the stamp of the text, which is missing where the file may still change: only the day counts.
    let edited_at = match ctx.files.stat_file(path) {
        FileStatResult::Present(stamp) => {
            Timestamp::from_millis(stamp.modified_ns.div_euclid(NANOS_PER_MILLI))
        }
        _ => ctx.clock.now(),
    };
    Some(ProseMeasure::of_text(&text, edited_at))
}

/// A plan whose prose has another number of words than at the last count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewCount {
    pub(crate) node: NodeId,
    pub(crate) found: ProseMeasure,
}

/// Loads what history counts from: the last counts, and which scene of the memory is whose.
pub(crate) fn load_prose_history(
    state: &dyn Snapshot,
    tree: &Tree,
) -> Result<ProseHistory, Failure> {
    let counts = record::read_records::<ProseCount>(state, "")?;
    let counts = counts
        .into_iter()
        .filter_map(|(key, count)| Some((NodeId(key.parse().ok()?), count)));
    let mut history = ProseHistory::new(counts);
    let counted: Vec<NodeId> = history.counted_nodes().collect();
    for node in counted {
        if let Some(node) = tree.get(node) {
            history.add_path(tree.alias_path(node), node.id);
        }
    }
    for (_, reading) in record::read_records::<SceneReading>(state, "")? {
        history.add_scene(reading.scene, reading.node);
    }
    Ok(history)
}

/// Finds the plans whose prose is not as it was counted.
pub(crate) fn find_new_counts(
    history: &ProseHistory,
    tree: &Tree,
    measured: &HashMap<NodeId, ProseMeasure>,
    now: Timestamp,
) -> Vec<NewCount> {
    let is_new = |(node, found): (&NodeId, &ProseMeasure)| {
        let known = history.count_of(*node);
        (known.unwrap_or_default() != found.words as u64).then_some(NewCount {
            node: *node,
            found: *found,
        })
    };
    let mut new: Vec<NewCount> = measured.iter().filter_map(is_new).collect();
    let gone = history.counted_nodes().filter(|node| {
        let has_words = history.count_of(*node).is_some_and(|words| words > 0);
        has_words && tree.get(*node).is_some() && !measured.contains_key(node)
    });
    let found = ProseMeasure::of_text("", now);
    new.extend(gone.map(|node| NewCount { node, found }));
    new.sort_by_key(|one| one.node);
    new
}

/// Returns the facts that record counts.
pub(crate) fn count_facts(
    state: &dyn Snapshot,
    tree: &Tree,
    new: &[NewCount],
) -> Result<Vec<Fact>, Failure> {
    let mut facts = Vec::new();
    let mut recorded: Option<HashMap<NodeId, u64>> = None;
    for NewCount { node, found } in new {
        let key = node.0.to_string();
        let before = record::read_record::<ProseCount>(state, &key)?;
        let recorded_before = match (&before, &mut recorded) {
            (Some(before), _) => before.recorded_before,
            // The memory is read for a first count only.
            (None, Some(known)) => known.get(node).copied().unwrap_or_default(),
            (None, empty) => {
                let known = empty.insert(load_scene_words(state, tree)?);
                known.get(node).copied().unwrap_or_default()
            }
        };
        let after = ProseCount {
            words: found.words as u64,
            recorded_before,
            edited_at: found.edited_at,
        };
        if before.is_none_or(|before| before.words != after.words) {
            facts.change_record(&key, before.as_ref(), Some(&after));
        }
    }
    Ok(facts)
}

/// Loads how many words the memory's records of scenes have.
fn load_scene_words(state: &dyn Snapshot, tree: &Tree) -> Result<HashMap<NodeId, u64>, Failure> {
    let readings = record::read_records::<SceneReading>(state, "")?.into_iter();
    let nodes: HashMap<String, NodeId> = readings
        .map(|(_, reading)| (reading.scene, reading.node))
        .collect();
    let mut by_path: HashMap<String, NodeId> = HashMap::new();
    let mut words = HashMap::new();
    for (scene, body) in state.records_by_prefix(EntryKind::Scene.as_str(), "")? {
        if by_path.is_empty() {
            by_path.extend(tree.nodes().map(|node| (tree.alias_path(node), node.id)));
        }
        let path = body["node"].as_str();
        let node = nodes
            .get(&scene)
            .or_else(|| path.and_then(|path| by_path.get(path)));
        if let Some(node) = node {
            let count = u64::try_from(read_words(&Some(body))).unwrap_or_default();
            *words.entry(*node).or_default() += count;
        }
    }
    Ok(words)
}

/// Records new counts as an operation of their own. On a state that several copies share nothing is
/// recorded: each copy has its own prose.
pub(crate) fn record_new_counts(
    ctx: &Context<'_>,
    tree: &Tree,
    new: &[NewCount],
) -> Result<(), Failure> {
    if new.is_empty() {
        return Ok(());
    }
    let mut tx = file_writes::begin_transaction(ctx)?;
    if is_state_shared(ctx, &*tx)? {
        return Ok(());
    }
    // Compared with what is recorded now: another process may have counted meanwhile.
    let facts = count_facts(&*tx, tree, new)?;
    if facts.is_empty() {
        return Ok(());
    }
    let plans = count_with_noun(facts.len(), "plan", "plans");
    // Not as an observation, of which sessions are told: nothing about a plan changed.
    let mut operation = ctx.new_operation(Verb::Write, format!("counted the prose of {plans}"));
    operation.by = Principal::System;
    operation.facts = facts;
    tx.record_operation(operation)?;
    Ok(tx.commit()?)
}
