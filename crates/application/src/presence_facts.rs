//! Facts about presence and identity: moved, returned and absent plans found by a scan.

use std::collections::HashMap;

use domain::fact::Fact;
use domain::ids::NodeId;
use domain::ports::Transaction;
use domain::presence::AbsentNode;
use domain::record::{read_record, record_changed_fact};
use domain::time::Timestamp;

use crate::context::Context;
use crate::failure::Failure;
use crate::scan::{ScanResult, last_seen_branch};

/// Appends the facts about plans that have another parent or another file now.
pub(crate) fn push_identity_facts(
    tx: &dyn Transaction,
    seen: &ScanResult,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    for (node, after) in &seen.moves {
        let before = tx.load_node(*node)?.and_then(|node| node.parent);
        facts.push(Fact::NodeMoved {
            node: *node,
            before,
            after: *after,
        });
    }
    for (id, after) in &seen.renames {
        if let Some(node) = tx.load_node(*id)? {
            facts.push(Fact::NodeRenamed {
                node: *id,
                before: node.name(),
                after: after.clone(),
            });
        }
    }
    Ok(())
}

/// Appends the facts about plans that are there again and about those that went with a branch.
///
/// Last of all, because a node can be removed only when everything below it was moved or removed.
pub(crate) fn push_presence_facts(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    seen: &ScanResult,
    now: Timestamp,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    for returned in &seen.returned {
        facts.extend(record_changed_fact(
            &returned.key,
            Some(&returned.absent),
            None,
        ));
    }
    if seen.absent.is_empty() {
        return Ok(());
    }
    let branch = last_seen_branch(ctx, tx)?;
    let moved: HashMap<NodeId, Option<NodeId>> = seen.moves.iter().copied().collect();
    for plan in &seen.absent {
        // A record under this key is of a node that had this place before and will not return.
        let before = read_record::<AbsentNode>(tx, &plan.key)?;
        let mut node = plan.node.clone();
        node.parent = moved.get(&node.id).copied().unwrap_or(node.parent);
        let after = AbsentNode {
            node: node.clone(),
            name: plan.name.clone(),
            branch: branch.clone(),
            since: now,
        };
        facts.extend(record_changed_fact(
            &plan.key,
            before.as_ref(),
            Some(&after),
        ));
        facts.push(Fact::NodeRemoved {
            node: Box::new(node),
        });
    }
    Ok(())
}
