//! Presence and identity of plans: which went with a branch, and which were moved to another file.
//!
//! A plan that is not in the checked-out tree is absent: it leaves the tree, but its node is kept as
//! a record and returns under the same id with its file, so that everything attached to it (versions,
//! approval, comments, progress, claims) is there again. A plan whose text is at another place is the
//! same node; what is ambiguous is offered to a person, never guessed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::duplicate_ids::id_of_alias;
use crate::fact::Fact;
use crate::ids::{CanonicalHash, NodeId};
use crate::node::Node;
use crate::record::Recorded;
use crate::time::Timestamp;

/// A node whose file is not in the checked-out tree. A record, keyed by [`absent_key`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentNode {
    /// The node as it was last recorded.
    pub node: Node,
    /// Path of aliases under which people knew it.
    pub name: String,
    /// The branch on which it was last seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    pub since: Timestamp,
    /// The folder its files were moved to, if it was archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
}

impl Recorded for AbsentNode {
    const KIND: &'static str = "absent-node";
}

impl AbsentNode {
    /// Whether `name` (an alias, or a path of aliases) means this node.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name
            // Only at a `/`: `chapter-1` does not mean `act-1/subchapter-1`.
            || self
                .name
                .strip_suffix(name)
                .is_some_and(|above| above.ends_with('/'))
    }
}

/// Returns the nodes that left the list of absent ones by these facts.
#[must_use]
pub fn returned_nodes(facts: &[Fact]) -> BTreeSet<NodeId> {
    facts
        .iter()
        .filter_map(|fact| match fact {
            // Read field by field: a node of another version may not parse as a whole, and only its
            // id is needed.
            Fact::RecordChanged {
                record,
                before: Some(before),
                after: None,
            } if record.kind == AbsentNode::KIND => before.get("node")?.get("id")?.as_u64(),
            _ => None,
        })
        .filter_map(|id| u32::try_from(id).ok().map(NodeId))
        .collect()
}

/// Returns the record key of an absent node; `place` is its file, or [`item_place`].
#[must_use]
pub fn absent_key(profile: &str, place: &str) -> String {
    format!("{profile}/{place}")
}

/// Returns the place of a node that is one item of a file.
#[must_use]
pub fn item_place(file: &str, alias: &str) -> String {
    format!("{file}#{alias}")
}

/// A plan as far as its identity depends on it: a recorded one that is gone, or a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanIdentity {
    /// Of a new plan: the id it would get as a new node.
    pub id: NodeId,
    pub parent: Option<NodeId>,
    pub profile: String,
    pub level: String,
    pub alias: String,
    pub canonical: Option<CanonicalHash>,
}

/// Returns the text of a plan in which its own id, and the number in its heading, do not count: a renumbered plan is
/// the same one.
#[must_use]
pub fn text_without_own_name(text: &str, alias: &str) -> String {
    let own = id_of_alias(alias);
    let own_number = own.rsplit(|c: char| !c.is_ascii_digit()).next();
    let own_number = own_number.unwrap_or_default().trim_start_matches('0');
    let is_part_of_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let mut nameless = String::with_capacity(text.len());
    let mut has_heading = false;
    for line in text.split_inclusive('\n') {
        let is_heading = !has_heading && line.starts_with("# ");
        has_heading |= is_heading;
        let mut rest = line;
        while !rest.is_empty() {
            let end = rest.find(|c| !is_part_of_name(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            let is_number = is_heading
                && !own_number.is_empty()
                && word.bytes().all(|byte| byte.is_ascii_digit())
                && word.trim_start_matches('0') == own_number;
            if word == own || is_number {
                nameless.push('\u{0}');
            } else {
                nameless.push_str(word);
            }
            let mut after = after.chars();
            nameless.extend(after.next());
            rest = after.as_str();
        }
    }
    nameless
}

/// Result of [`match_moved_plans`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MovedPlans {
    /// The recorded node and the new one that is the same plan.
    pub moved: Vec<(NodeId, NodeId)>,
    /// Pairs with equal content, of which several are possible.
    pub ambiguous: Vec<(NodeId, NodeId)>,
}

/// Matches plans that are gone with new plans of the same level and content.
///
/// Both lists name a parent before its children.
#[must_use]
pub fn match_moved_plans(gone: &[PlanIdentity], new: &[PlanIdentity]) -> MovedPlans {
    let mut matching = Matching {
        gone,
        new,
        moved: BTreeMap::new(),
        taken: BTreeSet::new(),
        queue: Vec::new(),
    };
    let all_gone: Vec<usize> = (0..gone.len()).collect();
    let all_new: Vec<usize> = (0..new.len()).collect();
    // Texts first: a match by name is only safe below a parent that is matched already.
    matching.match_unique_texts(&all_gone, &all_new);
    matching.match_families();
    matching.into_result()
}

struct Matching<'p> {
    gone: &'p [PlanIdentity],
    new: &'p [PlanIdentity],
    /// Index of the gone plan to that of the new one.
    moved: BTreeMap<usize, usize>,
    /// Indexes of matched new plans.
    taken: BTreeSet<usize>,
    /// Matched pairs whose children are still to be compared.
    queue: Vec<(usize, usize)>,
}

impl Matching<'_> {
    fn add_pair(&mut self, gone: usize, new: usize) {
        self.moved.insert(gone, new);
        self.taken.insert(new);
        self.queue.push((gone, new));
    }

    /// Matches texts that occur exactly once on either side.
    fn match_unique_texts(&mut self, gone: &[usize], new: &[usize]) {
        let left = index_by_text(self.gone, gone, |index| self.moved.contains_key(index));
        let right = index_by_text(self.new, new, |index| self.taken.contains(index));
        let mut pairs: Vec<(usize, usize)> = left
            .iter()
            .filter_map(
                // Two identical stubs do not share an approval: equal text counts only where it is
                // unique.
                |(text, from)| match (from.as_slice(), right.get(text)?.as_slice()) {
                    ([from], [to]) => Some((*from, *to)),
                    _ => None,
                },
            )
            .collect();
        // `HashMap` order differs between runs; the journal must not.
        pairs.sort_unstable();
        pairs
            .into_iter()
            .for_each(|(from, to)| self.add_pair(from, to));
    }

    /// Matches the children of matched plans. A folder was moved with all that is in it, so the
    /// name is enough there, and identical stubs are told apart by it.
    fn match_families(&mut self) {
        let below = |plans: &[PlanIdentity]| {
            let mut found: HashMap<NodeId, Vec<usize>> = HashMap::new();
            for (index, plan) in plans.iter().enumerate() {
                if let Some(parent) = plan.parent {
                    found.entry(parent).or_default().push(index);
                }
            }
            found
        };
        let (below_gone, below_new) = (below(self.gone), below(self.new));
        while let Some((from, to)) = self.queue.pop() {
            let (Some(gone), Some(new)) = (
                below_gone.get(&self.gone[from].id),
                below_new.get(&self.new[to].id),
            ) else {
                continue;
            };
            for from in gone {
                if self.moved.contains_key(from) {
                    continue;
                }
                let plan = &self.gone[*from];
                // The text may differ: a file that was edited while its folder was moved is still
                // the same plan.
                let namesake = new.iter().find(|to| {
                    let other = &self.new[**to];
                    !self.taken.contains(to)
                        && (&other.alias, &other.level) == (&plan.alias, &plan.level)
                });
                if let Some(to) = namesake {
                    self.add_pair(*from, *to);
                }
            }
            // Among the children alone, texts that are not unique in the project can be.
            self.match_unique_texts(gone, new);
        }
    }

    fn into_result(self) -> MovedPlans {
        let gone: Vec<usize> = (0..self.gone.len()).collect();
        let new: Vec<usize> = (0..self.new.len()).collect();
        let left = index_by_text(self.gone, &gone, |index| self.moved.contains_key(index));
        let right = index_by_text(self.new, &new, |index| self.taken.contains(index));
        let mut ambiguous: Vec<(NodeId, NodeId)> = left
            .iter()
            .filter_map(|(text, from)| Some((from, right.get(text)?)))
            .flat_map(|(from, to)| {
                from.iter()
                    .flat_map(|from| to.iter().map(|to| (self.gone[*from].id, self.new[*to].id)))
            })
            .collect();
        ambiguous.sort_unstable();
        MovedPlans {
            moved: self
                .moved
                .iter()
                .map(|(from, to)| (self.gone[*from].id, self.new[*to].id))
                .collect(),
            ambiguous,
        }
    }
}

type TextKey<'p> = (&'p str, &'p str, CanonicalHash);

/// Groups plans by profile, level and text, without those that are matched.
fn index_by_text<'p>(
    plans: &'p [PlanIdentity],
    wanted: &[usize],
    is_matched: impl Fn(&usize) -> bool,
) -> HashMap<TextKey<'p>, Vec<usize>> {
    let mut found: HashMap<TextKey<'p>, Vec<usize>> = HashMap::new();
    // A plan without a readable text has no content to be recognised by.
    for index in wanted.iter().filter(|index| !is_matched(index)) {
        let plan = &plans[*index];
        if let Some(canonical) = plan.canonical {
            found
                .entry((&plan.profile, &plan.level, canonical))
                .or_default()
                .push(*index);
        }
    }
    found
}

/// Whether two texts share at least half of their lines, as git's rename detection asks.
#[must_use]
pub fn is_similar_text(older: &str, newer: &str) -> bool {
    let count = |text: &str| {
        let mut lines: HashMap<String, usize> = HashMap::new();
        // Blank lines and rules are in every plan and say nothing about identity.
        for line in text.lines().map(str::trim).filter(|line| line.len() > 3) {
            *lines.entry(line.to_owned()).or_default() += 1;
        }
        lines
    };
    let (older, newer) = (count(older), count(newer));
    let total: usize = older.values().sum::<usize>() + newer.values().sum::<usize>();
    let shared: usize = older
        .iter()
        .map(|(line, number)| newer.get(line).map_or(0, |other| *number.min(other)))
        .sum();
    // Both sides are in `total`: half of either text is a quarter of it.
    total > 0 && shared * 4 >= total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renumbered_plan_has_the_same_text_without_its_name() {
        let ticket = |id: &str| {
            format!("---\nid: {id}\nneeds: ['0021']\n---\n# {id} Speed\n\nAs {id}, 0{id}.\n")
        };
        let without =
            |id: &str| text_without_own_name(&ticket(id), id).replace(&format!("0{id}"), "");
        assert_eq!(without("002"), without("009"));
        let chapter = |number: &str| format!("# Chapter {number}: the 12 storms\n\nPart 12.\n");
        let without = |number: &str, alias: &str| text_without_own_name(&chapter(number), alias);
        assert_eq!(without("2", "chapter-02"), without("5", "chapter-05"));
        assert_ne!(without("2", "chapter-02"), without("5", "chapter-02"));
        assert_eq!(text_without_own_name("глава 7", "пролог"), "глава 7");
    }
}
