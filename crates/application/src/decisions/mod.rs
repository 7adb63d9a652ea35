//! Decisions as files: every decision of this project is written, and those that come through git
//! are taken over.
//!
//! The record of a decision ([`KnownDecision`]) is a cache of the folder. What holds for a node is
//! computed from its records by `domain::decision`, here and in every other clone alike.

mod attach;
mod carry;
mod made_notes;
mod made_proofs;
mod manage;
mod receive;
mod sign;
mod undone;

use std::collections::HashMap;

use domain::decision::KnownDecision;
use domain::ids::NodeId;
use domain::node::Node;
use domain::policy::SignaturePolicy;
use domain::ports::{Snapshot, StoreFault};
use domain::record;

pub(crate) use self::attach::{attach_decision, note_decision_files, record_with_decisions};
pub use self::attach::{lacks_decision_files, write_existing_decisions};
pub(crate) use self::made_notes::attach_note_decisions;
pub use self::manage::{
    DecisionView, PruneOutcome, adopt_decisions, adopt_new_project, has_unadopted_decisions,
    list_decisions, prune_decisions, restore_decisions,
};
pub(crate) use self::receive::{DecisionChanges, find_decision_changes, receive_decisions};
use crate::context::Context;
use crate::coordination::load_node_key;

/// Number of nodes from which all decisions are read at once instead of node by node: a query takes
/// a tenth of the time of reading a decision, and most nodes have one at most.
const MIN_NODES_TO_READ_ALL: usize = 2_000;

/// Returns the key of a node's decisions.
pub(crate) fn load_decision_key(state: &dyn Snapshot, node: &Node) -> Result<String, StoreFault> {
    Ok(load_node_key(state, node)?.to_string())
}

/// Returns the known decisions about a node.
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
    let known = load_decisions(state, &load_decision_key(state, node)?)?;
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

/// Returns the node a key names, walking down from the root.
fn find_node_by_key(state: &dyn Snapshot, node_key: &str) -> Result<Option<NodeId>, StoreFault> {
    let Some((profile, path)) = node_key.split_once(':') else {
        return Ok(None);
    };
    let mut found: Option<Node> = None;
    for alias in path.split('/') {
        let candidates = match &found {
            None => state.nodes_by_alias(alias)?,
            Some(parent) => state.children_by_alias(parent.id, alias)?,
        };
        // For a root as well: an alias is unique only below its parent, and another node deeper in
        // the tree may have it.
        let parent = found.as_ref().map(|node| node.id);
        found = candidates
            .into_iter()
            .find(|node| node.profile == profile && node.parent == parent);
        if found.is_none() {
            return Ok(None);
        }
    }
    Ok(found.map(|node| node.id))
}
