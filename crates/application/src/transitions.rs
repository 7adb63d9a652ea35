//! Changes of status as they are reported.

use std::collections::HashMap;

use domain::fact::Fact;
use domain::ids::NodeId;
use domain::node::Status;
use domain::ports::{Snapshot, StoreFault};

use crate::locate::{PathNames, get};
use crate::views::TransitionView;

/// The changes of status in a list of facts, by what became of the nodes.
pub(crate) struct Transitions {
    pub(crate) stale: Vec<TransitionView>,
    pub(crate) reinstated: Vec<TransitionView>,
}

/// Reads the changes of status out of facts. `root` is where it began, and is not listed.
pub(crate) fn transitions(
    state: &dyn Snapshot,
    facts: &[Fact],
    root: Option<NodeId>,
) -> Result<Transitions, StoreFault> {
    // Several facts may speak of one node: what counts is where it began and where it ended.
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
    let mut found = Transitions {
        stale: Vec::new(),
        reinstated: Vec::new(),
    };
    let mut paths = PathNames::new(state);
    for id in order {
        let (previous_status, new_status) = net[&id];
        if previous_status == new_status {
            continue;
        }
        let node = get(state, id)?;
        let view = TransitionView {
            path: paths.of(&node)?,
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
