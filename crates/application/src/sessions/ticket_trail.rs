//! The work at a ticket in the terms of a trail: the ticket is the intent, a child ticket a tactic, a
//! scenario an action, and the last commit of a scenario its checkpoint.
//!
//! Derived and never stored, so that nothing has to be declared twice.

use domain::node::{Node, Progress};
use domain::ports::Snapshot;
use domain::trail::{HierarchyNode, HierarchyTree, TrailLevel, node_text, shorten_trail_line};

use super::trail_state::Trail;
use crate::context::Context;
use crate::failure::Failure;
use crate::locate::load_node_path;
use crate::session_position::{Ticket, load_position};

/// The ticket that a session is at, as a trail.
pub(crate) struct TicketTrail {
    pub(crate) tree: HierarchyTree,
    /// The next action, as a line of a briefing.
    pub(crate) next_action: String,
    intent: String,
}

impl TicketTrail {
    /// Whether a trail is about this ticket.
    pub(crate) fn is_intent_of(&self, trail: &Trail) -> bool {
        node_text(trail.root()) == self.intent
    }
}

/// Returns the intent that a ticket is.
pub(crate) fn ticket_intent(ticket: &Node) -> String {
    let title = ticket.description.title.as_ref();
    shorten_trail_line(title.unwrap_or(&ticket.alias))
}

/// Returns the ticket that the acting session is at as a trail.
pub(crate) fn load_ticket_trail(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Option<TicketTrail>, Failure> {
    let Some(ticket) = load_position(ctx, state)?.ticket else {
        return Ok(None);
    };
    let path = load_node_path(state, &ticket.node)?;
    let path_of = |child: &Node| format!("{path}/{}", child.alias);
    let mut root = HierarchyNode::from_work(&ticket.node, &path, TrailLevel::Trajectory, None);
    root.children.extend(
        ticket.children.iter().map(|child| {
            HierarchyNode::from_work(child, &path_of(child), TrailLevel::Tactic, None)
        }),
    );
    root.children
        .extend(ticket.scenarios.iter().map(|scenario| {
            let tdd = ticket.cycles.by_scenario.get(&scenario.id);
            let checkpoint = tdd.and_then(|tdd| tdd.last_commit.clone());
            HierarchyNode::from_work(scenario, &path_of(scenario), TrailLevel::Action, checkpoint)
        }));
    let at = ticket
        .current
        .as_ref()
        .map_or_else(|| path.clone(), path_of);
    Ok(Some(TicketTrail {
        next_action: describe_next_action(&ticket),
        intent: ticket_intent(&ticket.node),
        tree: HierarchyTree {
            version: 1,
            root: Some(root),
            cursor: Some(at),
        },
    }))
}

fn describe_next_action(ticket: &Ticket) -> String {
    let open_child = || {
        let mut children = ticket.children.iter();
        children.find(|child| child.progress != Progress::Complete && !child.is_dropped())
    };
    let (node, kind) = match (&ticket.current, open_child()) {
        (Some(scenario), _) => (scenario, "scenario"),
        (None, Some(child)) => (child, "ticket"),
        (None, None) => (&ticket.node, "ticket"),
    };
    format!("go on with “{}” ({kind})", ticket_intent(node))
}
