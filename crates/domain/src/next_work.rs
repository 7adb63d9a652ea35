//! Ranking of what can be done next: one order for tickets, milestones, flow steps, reviews, stale
//! plans, waiting decisions and story ticks, each with the reason for its rank.
//!
//! Gathering the items is a use case's business; here is only which comes first and why.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named_enum::named_enum;
use crate::node::{Node, Progress};
use crate::time::Timestamp;
use crate::tree::Tree;
use crate::work::triage::{Priority, is_overdue};

named_enum! {
    /// What an item of the list is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum NextKind {
        /// A node that is ready: a ticket, a milestone, a scene.
        Node = "node",
        /// A stale or invalid plan.
        Stale = "stale",
        /// A review with open checks.
        Review = "review",
        /// The current step of a workflow.
        Flow = "flow",
        /// The next turn of the story's loop.
        Tick = "tick",
        /// A decision that only a person makes.
        Decision = "decision",
    }
}

/// Who holds a ready node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// The session that asks is at it.
    Focus,
    /// The session that asks has claimed it.
    Claim,
    Nobody,
}

/// Place of an item in the list; smaller is earlier.
#[must_use]
pub fn rank_of_item(kind: NextKind, holding: Holding, priority: Priority, is_person: bool) -> u8 {
    match (kind, holding) {
        // A person asks for what waits for them; everything else goes on without.
        (NextKind::Decision, _) if is_person => 0,
        // Finishing comes before beginning.
        (_, Holding::Focus) => 1,
        (_, Holding::Claim) => 2,
        (NextKind::Node, Holding::Nobody) if priority == Priority::Urgent => 3,
        // Work below a stale plan would be done against a text that no longer holds.
        (NextKind::Stale, _) => 4,
        // Reviews and flow steps hold up what comes after them.
        (NextKind::Review, _) => 5,
        (NextKind::Flow, _) => 6,
        (NextKind::Node, Holding::Nobody) => 7,
        (NextKind::Tick, _) => 8,
        (NextKind::Decision, _) => 9,
    }
}

/// Sort key of a ready node among the others: priority, begun before untouched, due date, place in
/// the tree.
///
/// It depends on the node and its ancestors alone, so that a list in this order can be kept up to
/// date without the whole tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReadyOrder {
    priority: Priority,
    is_untouched: bool,
    /// Days sort as text; work without a date comes after all of them.
    has_no_date: bool,
    due: String,
    /// Profile and level of the root, then number and alias from the root down.
    top: (String, String),
    place: Vec<(i64, String)>,
}

impl ReadyOrder {
    /// Returns the key of a node of a tree that has its ancestors.
    #[must_use]
    pub fn of_node(tree: &Tree, node: &Node) -> Self {
        let mut path: Vec<&Node> = tree.ancestors(node);
        path.reverse();
        path.push(node);
        let due = node.due_day().unwrap_or_default();
        Self {
            priority: node.priority(),
            // `false` sorts first: begun work comes before new work.
            is_untouched: !is_begun(tree, node),
            has_no_date: due.is_empty(),
            due: due.to_owned(),
            top: (path[0].profile.clone(), path[0].level.clone()),
            place: path
                .iter()
                .map(|node| (node.order, node.alias.clone()))
                .collect(),
        }
    }
}

/// Whether work on a node has begun: on itself or, for a part of another node's file, on that node.
#[must_use]
pub fn is_begun(tree: &Tree, node: &Node) -> bool {
    let is_active = |node: &Node| node.progress == Progress::Active;
    let above = node.parent.and_then(|parent| tree.get(parent));
    is_active(node) || node.path.is_none() && above.is_some_and(is_active)
}

/// Describes why a ready node is where it is in the list.
#[must_use]
pub fn describe_ready_reason(tree: &Tree, node: &Node, holding: Holding, now: Timestamp) -> String {
    let mut reasons: Vec<String> = Vec::new();
    match holding {
        Holding::Focus => reasons.push("this session is at it".to_owned()),
        Holding::Claim => reasons.push("claimed by this session".to_owned()),
        Holding::Nobody => {}
    }
    if node.priority() != Priority::Normal {
        reasons.push(format!("priority {}", node.priority().as_str()));
    }
    if let Some(day) = node.due_day() {
        reasons.push(match is_overdue(day, now) {
            true => format!("overdue since {day}"),
            false => format!("due {day}"),
        });
    }
    if is_begun(tree, node) && holding == Holding::Nobody {
        reasons.push("begun, and nobody is at it".to_owned());
    }
    match reasons.is_empty() {
        true => "ready: nothing it needs is open".to_owned(),
        false => reasons.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::{Holding, NextKind, rank_of_item};
    use crate::work::triage::Priority;

    #[test]
    fn finishing_comes_before_urgent_work_and_that_before_the_rest() {
        let rank = |kind, holding, priority| rank_of_item(kind, holding, priority, false);
        let ranks = [
            rank(NextKind::Node, Holding::Focus, Priority::Low),
            rank(NextKind::Node, Holding::Claim, Priority::Low),
            rank(NextKind::Node, Holding::Nobody, Priority::Urgent),
            rank(NextKind::Stale, Holding::Nobody, Priority::Normal),
            rank(NextKind::Review, Holding::Nobody, Priority::Normal),
            rank(NextKind::Flow, Holding::Nobody, Priority::Normal),
            rank(NextKind::Node, Holding::Nobody, Priority::High),
            rank(NextKind::Tick, Holding::Nobody, Priority::Normal),
            rank(NextKind::Decision, Holding::Nobody, Priority::Normal),
        ];
        assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:?}");
    }

    #[test]
    fn a_person_gets_their_decisions_first_and_an_agent_last() {
        let of = |is_person| {
            rank_of_item(
                NextKind::Decision,
                Holding::Nobody,
                Priority::Normal,
                is_person,
            )
        };
        let own = rank_of_item(NextKind::Node, Holding::Focus, Priority::Normal, true);
        assert!(of(true) < own && own < of(false));
    }
}
