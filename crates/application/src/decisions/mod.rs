//! Decisions as files: every decision of this project is written, and those that come through git
//! are taken over.
//!
//! The record of a decision ([`KnownDecision`]) is a cache of the folder. What holds for a node is
//! computed from its records by `domain::decision`, here and in every other clone alike.

mod attach;
mod carry;
mod follow;
mod made_notes;
mod made_proofs;
mod manage;
mod observed_nodes;
mod receive;
mod removed_progress;
mod sign;
mod undone;

use std::collections::HashMap;

use domain::decision::{IdHolder, KnownDecision, ids_of_path, is_labelled_path};
use domain::duplicate_ids::label_alias;
use domain::ids::NodeId;
use domain::node::Node;
use domain::policy::SignaturePolicy;
use domain::ports::{NodeKey, Snapshot, StoreFault};
use domain::profile::FilePattern;
use domain::record;

pub(crate) use self::attach::{attach_decision, note_decision_files, record_with_decisions};
pub use self::attach::{lacks_decision_files, write_existing_decisions};
pub(crate) use self::follow::{is_followed_to, record_followed_moves};
pub(crate) use self::made_notes::attach_note_decisions;
pub use self::manage::{
    DecisionView, PruneOutcome, adopt_decisions, adopt_new_project, has_unadopted_decisions,
    list_decisions, prune_decisions, restore_decisions,
};
pub(crate) use self::manage::{is_repository_trusted, list_vanished_decisions};
pub(crate) use self::receive::{DecisionChanges, find_decision_changes, receive_decisions};
use crate::context::Context;
use crate::coordination::load_node_key;

/// Number of nodes from which all decisions are read at once instead of node by node: a query takes
/// a tenth of the time of reading a decision, and most nodes have one at most.
const MIN_NODES_TO_READ_ALL: usize = 2_000;

/// Returns the key of a node's decisions: its path, with the id of a node that is shown by a label.
pub(crate) fn load_decision_key(state: &dyn Snapshot, node: &Node) -> Result<String, StoreFault> {
    Ok(decision_key(load_node_key(state, node)?))
}

/// Returns the key of the decisions about a node with this name.
fn decision_key(key: NodeKey) -> String {
    let path = ids_of_path(&key.path);
    NodeKey { path, ..key }.to_string()
}

/// Returns the known decisions about a node.
pub(crate) fn load_node_decisions(
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Vec<KnownDecision>, StoreFault> {
    let name = load_node_key(state, node)?;
    let is_labelled = is_labelled_path(&name.path);
    let key = decision_key(name);
    let known = load_decisions(state, &key)?;
    // The common case, without a look at other nodes.
    if !is_labelled && known.iter().all(|one| one.decision.plan_file.is_none()) {
        return Ok(known);
    }
    let mut holder = IdHolder {
        is_labelled,
        file: load_plan_file(state, node)?,
        other_files: Vec::new(),
    };
    for other in find_nodes_by_key(state, &key)? {
        if other.id != node.id {
            holder.other_files.extend(load_plan_file(state, &other)?);
        }
    }
    Ok(holder.select_decisions(known))
}

/// Returns the file of a node, or of the node whose file it is an item of.
fn load_plan_file(state: &dyn Snapshot, node: &Node) -> Result<Option<String>, StoreFault> {
    let (mut path, mut above) = (node.path.clone(), node.parent);
    while let (None, Some(parent)) = (&path, above) {
        let Some(parent) = state.load_node(parent)? else {
            break;
        };
        (path, above) = (parent.path, parent.parent);
    }
    Ok(path)
}

/// Returns the file that a decision about a node names; `None` where no other node can have its id.
fn named_plan_file(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Option<String>, StoreFault> {
    match can_share_id(ctx, state, node)? {
        true => load_plan_file(state, node),
        false => Ok(None),
    }
}

/// Whether the name of a node's folder, or of one above it, says more than its id: then two folders
/// can have one id.
fn can_share_id(ctx: &Context<'_>, state: &dyn Snapshot, node: &Node) -> Result<bool, StoreFault> {
    let mut above = Some(node.clone());
    while let Some(node) = above {
        if has_free_names(ctx, &node) {
            return Ok(true);
        }
        above = match node.parent {
            Some(parent) => state.load_node(parent)?,
            None => None,
        };
    }
    Ok(false)
}

/// Whether the names of the files of a node's level hold more than its id.
fn has_free_names(ctx: &Context<'_>, node: &Node) -> bool {
    let profile = ctx.find_profile(&node.profile);
    let level = profile.and_then(|profile| profile.find_level(&node.level));
    level.is_some_and(|level| level.file_patterns().any(FilePattern::has_slug))
}

/// Returns the known decisions with a key.
pub(crate) fn load_decisions(
    state: &dyn Snapshot,
    node_key: &str,
) -> Result<Vec<KnownDecision>, StoreFault> {
    let found = record::read_records::<KnownDecision>(state, &KnownDecision::key_prefix(node_key))?;
    Ok(found
        .into_iter()
        .map(|(key, known)| known.with_id_of_key(&key))
        .collect())
}

/// Returns why an approval of a node's present text does not count, where it lacks a valid
/// signature.
pub(crate) fn describe_unsigned_approval(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Option<String>, StoreFault> {
    if ctx.policy.signatures == SignaturePolicy::Off {
        return Ok(None);
    }
    let known = load_node_decisions(state, node)?;
    let of_text = known.iter().filter(|one| one.present).find_map(|one| {
        let approval = one.decision.as_approval()?;
        let why = one.signature_problem.as_ref()?;
        (Some(approval.canonical) == node.content.canonical_hash()).then(|| {
            format!(
                "{} approved it on {}, but the approval does not count: {why} (policy.signatures is `required`)",
                approval.by,
                approval.at.format_local_minute()
            )
        })
    });
    Ok(of_text)
}

/// Returns every known decision, by node.
pub(crate) fn load_all_decisions(
    state: &dyn Snapshot,
) -> Result<HashMap<String, Vec<KnownDecision>>, StoreFault> {
    let mut found: HashMap<String, Vec<KnownDecision>> = HashMap::new();
    for (key, known) in record::read_records::<KnownDecision>(state, "")? {
        let node = known.decision.node.clone();
        found
            .entry(node)
            .or_default()
            .push(known.with_id_of_key(&key));
    }
    Ok(found)
}

/// Returns the nodes a key names, walking down from the root: several, where they share an id.
fn find_nodes_by_key(state: &dyn Snapshot, node_key: &str) -> Result<Vec<Node>, StoreFault> {
    let Some((profile, path)) = node_key.split_once(':') else {
        return Ok(Vec::new());
    };
    let mut parents: Vec<Option<NodeId>> = vec![None];
    let mut found = Vec::new();
    for id in path.split('/') {
        found.clear();
        for parent in &parents {
            find_nodes_with_id(state, profile, *parent, id, &mut found)?;
        }
        if found.is_empty() {
            break;
        }
        parents = found.iter().map(|node| Some(node.id)).collect();
    }
    Ok(found)
}

/// Adds the nodes below a parent with an id, those that are shown by a label included.
fn find_nodes_with_id(
    state: &dyn Snapshot,
    profile: &str,
    parent: Option<NodeId>,
    id: &str,
    found: &mut Vec<Node>,
) -> Result<(), StoreFault> {
    for position in 0.. {
        let alias = label_alias(id, position);
        let candidates = match parent {
            None => state.nodes_by_alias(&alias)?,
            Some(parent) => state.children_by_alias(parent, &alias)?,
        };
        let before = found.len();
        // For a root as well: an alias is unique only below its parent, and another node deeper in
        // the tree may have it.
        let fits = |node: &Node| node.profile == profile && node.parent == parent;
        found.extend(candidates.into_iter().filter(fits));
        // The first may be gone while the second is still there.
        if position > 0 && found.len() == before {
            break;
        }
    }
    Ok(())
}
