//! Gates that currently block a session, derived from the hook ledger.
//!
//! The ledger tells which steps were blocked; whether a gate is still unresolved is decided here,
//! from the tree.

use domain::gates;
use domain::node::{Node, Status};
use domain::time::Timestamp;
use serde::Serialize;

use crate::tree_cache::CachedTree;

/// A step that a gate blocked, from the hook ledger.
#[derive(Clone, Debug)]
pub struct BlockedStep {
    pub at: Timestamp,
    pub host: String,
    pub session: String,
    pub gate: String,
    /// The plan, or the file, that was to be changed.
    pub plan: Option<String>,
    /// Whether the session has taken another step since that was allowed.
    pub heeded: bool,
}

/// A gate that blocks a session.
#[derive(Clone, Debug, Serialize)]
pub struct OpenGate {
    pub gate: String,
    /// What it blocks and what clears it.
    pub rule: &'static str,
    pub host: String,
    pub session: String,
    pub at: Timestamp,
    pub plan: Option<String>,
    /// The plan a person has to decide, so that the session can continue.
    pub waits_for: Option<PendingDecision>,
}

/// A plan with a pending decision.
#[derive(Clone, Debug, Serialize)]
pub struct PendingDecision {
    pub path: String,
    pub status: Status,
}

/// Age in milliseconds after which a blocked step is ignored: its session has most likely ended.
const MAX_BLOCK_AGE_MS: i64 = 24 * 60 * 60 * 1000;

/// Returns the unresolved gates, latest first.
///
/// The hierarchy gate is unresolved as long as an ancestor is not approved, whatever the session
/// does meanwhile. The others depend on the next step and cannot be evaluated here: they count as
/// unresolved until the session takes a step that is allowed.
#[must_use]
pub fn list_open_gates(
    known: &CachedTree,
    blocked: &[BlockedStep],
    now: Timestamp,
) -> Vec<OpenGate> {
    let mut open: Vec<OpenGate> = Vec::new();
    for block in blocked
        .iter()
        .rev()
        .filter(|block| now.millis_since(block.at) < MAX_BLOCK_AGE_MS)
    {
        // The ledger may name a gate of another version of the program.
        let Some(gate) = gates::find_gate_by_name(&block.gate) else {
            continue;
        };
        let same = |other: &OpenGate| {
            (&other.session, &other.gate, &other.plan) == (&block.session, &block.gate, &block.plan)
        };
        // A retrying agent is blocked again and again; only the latest block of a plan is listed.
        if open.iter().any(same) {
            continue;
        }
        let waits_for = match &block.plan {
            Some(plan) if gate.name == "hierarchy" => find_undecided_above(known, plan),
            _ => None,
        };
        let is_open = if gate.name == "hierarchy" {
            waits_for.is_some()
        } else {
            !block.heeded
        };
        if is_open {
            open.push(OpenGate {
                gate: block.gate.clone(),
                rule: gate.text,
                host: block.host.clone(),
                session: block.session.clone(),
                at: block.at,
                plan: block.plan.clone(),
                waits_for,
            });
        }
    }
    open
}

/// Returns the topmost ancestor that is not approved: the one to decide first.
fn find_undecided_above(known: &CachedTree, plan: &str) -> Option<PendingDecision> {
    let mut siblings: Vec<&Node> = known.tree.root_nodes().collect();
    let mut path = String::new();
    // By alias path, because the blocked plan may not exist yet: an agent is stopped before it
    // writes the file.
    let (above, _) = plan.rsplit_once('/')?;
    for alias in above.split('/') {
        let node = siblings.iter().find(|node| node.alias == alias)?;
        path = if path.is_empty() {
            alias.to_owned()
        } else {
            format!("{path}/{alias}")
        };
        if node.status() != Status::Approved {
            return Some(PendingDecision {
                path,
                status: node.status(),
            });
        }
        siblings = known.tree.children(node.id).collect();
    }
    None
}
