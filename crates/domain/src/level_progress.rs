//! How the plans of each level grew, were approved and completed, day by day, with the time they took.
//!
//! Pure: from operations and the present totals. What an operation changed never changes itself, so it
//! is summed up once per operation ([`OperationProgress`]) and kept by servers.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::burn_up::{DayTotals, PlanTotals, compute_burn_up};
use crate::fact::Fact;
use crate::ids::NodeId;
use crate::node::{Node, Progress, Status};
use crate::time::Timestamp;
use crate::tree::Tree;

/// What one operation changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationProgress {
    levels: BTreeMap<String, PlanTotals>,
    to_approval: Vec<i64>,
    to_completion: Vec<i64>,
}

/// Level and creation of the nodes that operations removed.
#[derive(Clone, Debug, Default)]
pub struct RemovedNodes(HashMap<NodeId, KnownNode>);

#[derive(Clone, Debug)]
struct KnownNode {
    level: String,
    created_millis: i64,
}

impl KnownNode {
    fn from_node(node: &Node) -> Self {
        Self {
            level: node.level.clone(),
            created_millis: node.created_at.as_millis(),
        }
    }
}

/// Reads the facts of operations, newest operations first: a removed node is then known from the
/// operation that removed it before any earlier one names it.
#[derive(Debug)]
pub struct ProgressReader<'t> {
    tree: &'t Tree,
    removed: &'t mut RemovedNodes,
    operation: OperationProgress,
}

impl<'t> ProgressReader<'t> {
    /// Creates a reader that knows the nodes of the tree and those removed by later operations.
    pub fn new(tree: &'t Tree, removed: &'t mut RemovedNodes) -> Self {
        Self {
            tree,
            removed,
            operation: OperationProgress::default(),
        }
    }

    /// Returns what the facts since the last call changed.
    pub fn take_operation(&mut self) -> OperationProgress {
        std::mem::take(&mut self.operation)
    }

    /// Adds a fact of an operation at that time.
    pub fn add_fact(&mut self, fact: &Fact, at: Timestamp) {
        let at = at.as_millis();
        match fact {
            Fact::NodeAdded { node } => self.add_node(node, 1),
            Fact::NodeRemoved { node } => {
                let removed = &mut self.removed.0;
                removed
                    .entry(node.id)
                    .or_insert_with(|| KnownNode::from_node(node));
                self.add_node(node, -1);
            }
            Fact::ProgressChanged {
                node,
                before,
                after,
            } => {
                let change = is_complete(*after) - is_complete(*before);
                self.change_totals(*node, |totals| totals.complete += change);
                if change > 0 {
                    let took = self.time_since_creation(*node, at);
                    self.operation.to_completion.extend(took);
                }
            }
            Fact::StandingsChanged { groups } => {
                for group in groups {
                    let change = is_approved(group.after.status) - is_approved(group.before.status);
                    for node in group.nodes.iter().filter(|_| change != 0) {
                        self.change_totals(*node, |totals| totals.approved += change);
                    }
                }
            }
            // The first approval only: a later one is about a change.
            Fact::ApprovalChanged {
                node,
                before: None,
                after: Some(_),
            } => {
                let took = self.time_since_creation(*node, at);
                self.operation.to_approval.extend(took);
            }
            _ => {}
        }
    }

    fn add_node(&mut self, node: &Node, sign: i64) {
        self.change_totals(node.id, |totals| {
            totals.planned += sign;
            totals.approved += sign * is_approved(node.status());
            totals.complete += sign * is_complete(node.progress);
        });
    }

    fn change_totals(&mut self, node: NodeId, change: impl FnOnce(&mut PlanTotals)) {
        // A node that is neither present nor removed within the operations read has no level to
        // count under.
        let removed = self.removed.0.get(&node).map(|known| known.level.as_str());
        let present = || self.tree.get(node).map(|node| node.level.as_str());
        let Some(level) = removed.or_else(present) else {
            return;
        };
        // Looked up first, because ten thousand nodes of an operation have a handful of levels.
        let levels = &mut self.operation.levels;
        match levels.get_mut(level) {
            Some(totals) => change(totals),
            None => change(levels.entry(level.to_owned()).or_default()),
        }
    }

    fn time_since_creation(&self, node: NodeId, at: i64) -> Option<i64> {
        let present = || self.tree.get(node).map(|node| node.created_at.as_millis());
        let removed = self.removed.0.get(&node).map(|known| known.created_millis);
        // Clocks of several machines wrote these times; none took less than no time.
        Some((at - removed.or_else(present)?).max(0))
    }
}

/// Changes by level and day, and the times that plans took.
#[derive(Debug, Default)]
pub struct ProgressLog {
    changes: BTreeMap<String, HashMap<String, PlanTotals>>,
    /// Words of prose, by day.
    words: HashMap<String, i64>,
    to_approval: Vec<i64>,
    to_completion: Vec<i64>,
}

/// The times of several plans, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TimeSummary {
    pub count: usize,
    pub median: i64,
    /// Nine of ten took at most this.
    pub p90: i64,
}

impl ProgressLog {
    /// Adds an operation of that day.
    pub fn add_operation(&mut self, operation: &OperationProgress, day: &str) {
        for (level, change) in &operation.levels {
            let days = self.changes.entry(level.clone()).or_default();
            *days.entry(day.to_owned()).or_default() += *change;
        }
        self.to_approval.extend(&operation.to_approval);
        self.to_completion.extend(&operation.to_completion);
    }

    /// Adds words of prose that were written on a day.
    pub fn add_words(&mut self, words: i64, day: &str) {
        *self.words.entry(day.to_owned()).or_default() += words;
    }

    /// Returns the totals of a level at the end of each day.
    #[must_use]
    pub fn level_history(&self, level: &str, now: PlanTotals, days: &[String]) -> Vec<DayTotals> {
        let none = HashMap::new();
        compute_burn_up(now, self.changes.get(level).unwrap_or(&none), days)
    }

    /// Returns the words of prose written on each day; fewer than before are negative.
    #[must_use]
    pub fn words_per_day(&self, days: &[String]) -> Vec<i64> {
        let words = days.iter().map(|day| self.words.get(day).copied());
        words.map(Option::unwrap_or_default).collect()
    }

    /// Returns how long plans took until they were first approved, and until they were complete.
    #[must_use]
    pub fn lead_times(&self) -> [Option<TimeSummary>; 2] {
        [
            summarise_times(&self.to_approval),
            summarise_times(&self.to_completion),
        ]
    }
}

fn is_approved(status: Status) -> i64 {
    i64::from(status == Status::Approved)
}

fn is_complete(progress: Progress) -> i64 {
    i64::from(progress == Progress::Complete)
}

fn summarise_times(times: &[i64]) -> Option<TimeSummary> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = |part: usize| {
        // Nearest rank: a time that some plan really took, not one between two.
        let index = (sorted.len() * part).div_ceil(10).saturating_sub(1);
        sorted.get(index).copied()
    };
    Some(TimeSummary {
        count: sorted.len(),
        median: at(5)?,
        p90: at(9)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_summarised_by_median_and_p90() {
        assert_eq!(summarise_times(&[]), None);
        let all: Vec<i64> = (1..=10).rev().collect();
        let found = summarise_times(&all).expect("a summary");
        assert_eq!((found.count, found.median, found.p90), (10, 5, 9));
        let one = summarise_times(&[7]).expect("a summary");
        assert_eq!((one.median, one.p90), (7, 7));
    }
}
