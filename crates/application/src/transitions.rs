//! Status transitions of an operation, as they are reported to the caller.

use std::collections::HashMap;

use domain::fact::Fact;
use domain::ids::NodeId;
use domain::node::Status;
use domain::ports::{Snapshot, StoreFault};

use crate::locate::PathCache;
use crate::views::TransitionView;

/// The status transitions in a list of facts, by direction.
pub(crate) struct StatusTransitions {
    pub(crate) stale: Vec<TransitionView>,
    pub(crate) reinstated: Vec<TransitionView>,
}

/// Collects the net status transitions from facts. `root`, where the change began, is left out.
pub(crate) fn collect_transitions(
    state: &dyn Snapshot,
    facts: &[Fact],
    root: Option<NodeId>,
) -> Result<StatusTransitions, StoreFault> {
    // Several facts may concern one node. Reported is the transition from the first status to the
    // last; a node that ends where it began is left out.
    let mut order: Vec<NodeId> = Vec::new();
    let mut net: HashMap<NodeId, (Status, Status)> = HashMap::new();
    for fact in facts {
        let Fact::StandingsChanged { groups } = fact else {
            continue;
        };
        for group in groups {
            for id in group.nodes.iter().filter(|id| Some(**id) != root) {
                let (before, after) = (group.before.status, group.after.status);
                net.entry(*id)
                    .and_modify(|known| known.1 = after)
                    .or_insert_with(|| {
                        order.push(*id);
                        (before, after)
                    });
            }
        }
    }
    let mut found = StatusTransitions {
        stale: Vec::new(),
        reinstated: Vec::new(),
    };
    // A cascade often lists hundreds of siblings, which share all their ancestors.
    let mut paths = PathCache::new(state);
    for id in order {
        let (previous_status, new_status) = net[&id];
        if previous_status == new_status {
            continue;
        }
        // An undo may have removed it again.
        let Some(node) = state.load_node(id)? else {
            continue;
        };
        let view = TransitionView {
            path: paths.path_of(&node)?,
            entity_type: node.level,
            entity_id: node.alias,
            previous_status,
            new_status,
        };
        match new_status {
            Status::RequiresRevalidation | Status::Invalid => found.stale.push(view),
            Status::Approved | Status::Draft => found.reinstated.push(view),
        }
    }
    Ok(found)
}
