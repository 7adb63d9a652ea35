//! How the words of prose grew, day by day: from counts of the prose files, and for the time before the
//! first count of a plan from the memory's record of its scene.
//!
//! Operations are read backwards, newest first, from what is recorded now. A count says how many words a
//! file had, by hand or by a model; the memory knows only scenes that were generated or read.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fact::Fact;
use crate::ids::NodeId;
use crate::memory::EntryKind;
use crate::record::Recorded;
use crate::time::Timestamp;

/// Number of words in the prose of a plan, as it was last counted. A record, keyed by node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProseCount {
    pub words: u64,
    /// Words that the memory's record of the scene had at the first count.
    #[serde(default)]
    pub recorded_before: u64,
    /// When the file was last modified.
    pub edited_at: Timestamp,
}

impl Recorded for ProseCount {
    const KIND: &'static str = "prose-words";
}

/// A change of the number of words, and when it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProseChange {
    pub at: Timestamp,
    pub words: i64,
}

/// The counts of the operation that is read next, and whose scenes are whose.
#[derive(Debug, Default)]
pub struct ProseHistory {
    counts: HashMap<NodeId, u64>,
    scenes: HashMap<String, NodeId>,
    paths: HashMap<String, NodeId>,
}

impl ProseHistory {
    /// Creates a history from the present counts.
    pub fn new(counts: impl Iterator<Item = (NodeId, ProseCount)>) -> Self {
        Self {
            counts: counts.map(|(node, count)| (node, count.words)).collect(),
            ..Self::default()
        }
    }

    /// Says that a scene of the memory is the prose of a node.
    pub fn add_scene(&mut self, scene: String, node: NodeId) {
        self.scenes.insert(scene, node);
    }

    /// Says which node has a path.
    pub fn add_path(&mut self, path: String, node: NodeId) {
        self.paths.insert(path, node);
    }

    /// Returns the last count of a node's prose.
    #[must_use]
    pub fn count_of(&self, node: NodeId) -> Option<u64> {
        self.counts.get(&node).copied()
    }

    /// Returns the nodes whose prose was ever counted.
    pub fn counted_nodes(&self) -> impl Iterator<Item = NodeId> {
        self.counts.keys().copied()
    }

    /// Whether a fact may say something about words of prose.
    #[must_use]
    pub fn concerns(&self, fact: &Fact) -> bool {
        match fact {
            Fact::NodeAdded { node } | Fact::NodeRemoved { node } => {
                self.counts.contains_key(&node.id)
            }
            Fact::RecordChanged { record, .. } => {
                record.kind == ProseCount::KIND || record.kind == EntryKind::Scene.as_str()
            }
            _ => false,
        }
    }

    /// Returns how an operation changed the words of the prose in scope. Operations come newest first.
    pub fn measure_operation(
        &mut self,
        at: Timestamp,
        facts: &[Fact],
        is_in_scope: impl Fn(NodeId) -> bool,
        is_scene_in_scope: impl Fn(&str, [&Option<Value>; 2]) -> bool,
    ) -> Vec<ProseChange> {
        let mut changes = Vec::new();
        let mut earlier: Vec<(NodeId, Option<u64>)> = Vec::new();
        for fact in facts {
            match fact {
                Fact::NodeAdded { node } | Fact::NodeRemoved { node } => {
                    let sign = match fact {
                        Fact::NodeAdded { .. } => 1,
                        _ => -1,
                    };
                    if let Some(words) = self.count_of(node.id).filter(|_| is_in_scope(node.id)) {
                        let words = sign * signed(words);
                        changes.push(ProseChange { at, words });
                    }
                }
                Fact::RecordChanged {
                    record,
                    before,
                    after,
                } if record.kind == ProseCount::KIND => {
                    let Ok(id) = record.key.parse() else { continue };
                    let (node, before, after) =
                        (NodeId(id), parse_count(before), parse_count(after));
                    earlier.push((node, before.map(|count| count.words)));
                    if is_in_scope(node) {
                        changes.extend(compare_counts(at, before, after));
                    }
                }
                Fact::RecordChanged {
                    record,
                    before,
                    after,
                } if record.kind == EntryKind::Scene.as_str()
                    && !self.is_counted(&record.key, [before, after])
                    && is_scene_in_scope(&record.key, [before, after]) =>
                {
                    let words = read_words(after) - read_words(before);
                    changes.push(ProseChange { at, words });
                }
                _ => {}
            }
        }
        // Only now: a scene that was counted in this very operation is not added twice.
        for (node, words) in earlier {
            match words {
                Some(words) => self.counts.insert(node, words),
                None => self.counts.remove(&node),
            };
        }
        changes
    }

    /// Whether the prose of a scene is counted, so that the memory's number of its words is not needed.
    fn is_counted(&self, scene: &str, bodies: [&Option<Value>; 2]) -> bool {
        let by_path = || {
            let mut paths = bodies.into_iter().flatten();
            paths.find_map(|body| self.paths.get(body["node"].as_str()?))
        };
        let node = self.scenes.get(scene).or_else(by_path);
        node.is_some_and(|node| self.counts.contains_key(node))
    }
}

/// Returns how a count changed; the first one is compared with what the memory said before it.
fn compare_counts(
    at: Timestamp,
    before: Option<ProseCount>,
    after: Option<ProseCount>,
) -> Option<ProseChange> {
    let edited_at = after.or(before)?.edited_at;
    let words = match (before, after) {
        (Some(before), Some(after)) => signed(after.words) - signed(before.words),
        (None, Some(after)) => signed(after.words) - signed(after.recorded_before),
        (Some(before), None) => signed(before.recorded_before) - signed(before.words),
        (None, None) => 0,
    };
    // A clock that is ahead must not put words into the future.
    let at = edited_at.min(at);
    Some(ProseChange { at, words })
}

/// A body of another version counts as none.
fn parse_count(body: &Option<Value>) -> Option<ProseCount> {
    serde_json::from_value(body.clone()?).ok()
}

/// Reads the number of words of a scene's record. The raw body: records of older versions, which the
/// present type may not parse, count as well.
#[must_use]
pub fn read_words(body: &Option<Value>) -> i64 {
    let words = body.as_ref().and_then(|body| body["words"].as_i64());
    words.unwrap_or_default()
}

fn signed(words: u64) -> i64 {
    i64::try_from(words).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::record::{RecordKey, record_changed_fact};

    fn scene_fact(scene: usize, before: Option<u64>, after: u64) -> Fact {
        let body = |words: u64| json!({ "words": words });
        Fact::RecordChanged {
            record: RecordKey {
                kind: EntryKind::Scene.as_str().to_owned(),
                key: format!("scene-{scene}"),
            },
            before: before.map(body),
            after: Some(body(after)),
        }
    }

    proptest! {
        /// Whatever is generated, read and counted in any order, the changes add up to the words that
        /// the prose has now.
        #[test]
        fn changes_add_up_to_the_present_words(
            steps in prop::collection::vec((0usize..3, 0u64..500, 0u8..3), 0..20),
        ) {
            let mut recorded: [Option<u64>; 3] = [None; 3];
            let mut counts: [Option<ProseCount>; 3] = [None; 3];
            let mut operations: Vec<Vec<Fact>> = Vec::new();
            for (index, words, what) in steps {
                let mut facts = Vec::new();
                // 0: the memory reads a text; 1: the file is counted; 2: both, as a generation does.
                let known = recorded[index];
                if what != 1 {
                    facts.push(scene_fact(index, known, words));
                    recorded[index] = Some(words);
                }
                if what != 0 {
                    let before = counts[index];
                    let after = ProseCount {
                        words,
                        recorded_before: before
                            .map_or(known.unwrap_or_default(), |before| before.recorded_before),
                        edited_at: Timestamp::from_millis(5),
                    };
                    let key = index.to_string();
                    facts.extend(record_changed_fact(&key, before.as_ref(), Some(&after)));
                    counts[index] = Some(after);
                }
                operations.push(facts);
            }
            let present = counts.iter().enumerate();
            let present = present.filter_map(|(index, count)| {
                Some((NodeId(u32::try_from(index).unwrap()), (*count)?))
            });
            let mut history = ProseHistory::new(present);
            for index in 0..3 {
                history.add_scene(format!("scene-{index}"), NodeId(index));
            }
            let now: i64 = (0..3)
                .map(|index| match counts[index] {
                    Some(count) => signed(count.words),
                    None => signed(recorded[index].unwrap_or_default()),
                })
                .sum();
            let mut sum = 0;
            for facts in operations.iter().rev() {
                let at = Timestamp::from_millis(9);
                let changes = history.measure_operation(at, facts, |_| true, |_, _| true);
                sum += changes.iter().map(|change| change.words).sum::<i64>();
            }
            prop_assert_eq!(sum, now);
        }
    }
}
