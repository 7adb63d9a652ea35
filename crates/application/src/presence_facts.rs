//! Facts about presence and identity: moved, returned and absent plans found by a scan.

use std::collections::HashMap;

use domain::fact::Fact;
use domain::ids::NodeId;
use domain::node::Node;
use domain::ports::{Snapshot, Transaction};
use domain::presence::{AbsentNode, absent_key, item_place};
use domain::profile::parent_folder;
use domain::record::{read_record, record_changed_fact};
use domain::time::Timestamp;
use domain::tree::Tree;

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

/// Returns the facts that take a node without a file out of the tree and keep it as an absent one,
/// so that it returns with its file.
pub(crate) fn leave_tree_facts(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    node: &Node,
    now: Timestamp,
) -> Result<Vec<Fact>, Failure> {
    archive_facts(ctx, state, tree, node, now, None)
}

/// Like [`leave_tree_facts`] for a node whose files were moved to `archive`.
pub(crate) fn archive_facts(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    node: &Node,
    now: Timestamp,
    archive: Option<String>,
) -> Result<Vec<Fact>, Failure> {
    let mut facts = Vec::new();
    // By place and not by name: on another branch another plan may have the same name.
    let place = match &node.path {
        Some(path) => Some(path.clone()),
        None => place_of_item(ctx, tree, node),
    };
    if let Some(place) = place {
        let key = absent_key(&node.profile, &place);
        let after = AbsentNode {
            node: node.clone(),
            name: tree.alias_path(node),
            branch: ctx.git.current_branch(),
            since: now,
            archive,
        };
        let before = read_record::<AbsentNode>(state, &key)?;
        facts.extend(record_changed_fact(&key, before.as_ref(), Some(&after)));
    }
    facts.push(Fact::NodeRemoved {
        node: Box::new(node.clone()),
    });
    Ok(facts)
}

/// Returns the place of a node that is an item of the file beside its parent's.
fn place_of_item(ctx: &Context<'_>, tree: &Tree, node: &Node) -> Option<String> {
    let above = tree.parent_of(node)?.path.as_deref()?;
    let level = ctx.find_profile(&node.profile)?.find_level(&node.level)?;
    let items = level.items.as_ref()?;
    let file = match parent_folder(above) {
        "" => items.clone(),
        folder => format!("{folder}/{items}"),
    };
    Some(item_place(&file, &node.alias))
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
    // The branch it was last seen on and not the one checked out now: that is where it can be found
    // again.
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
            archive: None,
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
