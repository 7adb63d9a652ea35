//! Gates that stand in somebody's way now: from what the hooks noted, as far as it is still so.

use domain::gates;
use domain::node::{Node, Status};
use domain::time::Timestamp;
use serde::Serialize;

use crate::known_tree::KnownTree;

/// A step that a gate stopped, as the hooks noted it.
#[derive(Clone, Debug)]
pub struct Blocked {
    pub at: Timestamp,
    pub host: String,
    pub session: String,
    pub gate: String,
    /// The plan, or the file, that was to be changed.
    pub plan: Option<String>,
    /// The session did something else since, and was let.
    pub heeded: bool,
}

/// A gate that stands in a session's way.
#[derive(Clone, Debug, Serialize)]
pub struct OpenGate {
    pub gate: String,
    /// What it stops and what clears it.
    pub rule: &'static str,
    pub host: String,
    pub session: String,
    pub at: Timestamp,
    pub plan: Option<String>,
    /// The plan a person has to decide about, so that the session can go on.
    pub waits_for: Option<WaitsFor>,
}

/// A plan that has to be decided about.
#[derive(Clone, Debug, Serialize)]
pub struct WaitsFor {
    pub path: String,
    pub status: Status,
}

/// So long something that was stopped counts as being in the way.
const KEPT_FOR_MS: i64 = 24 * 60 * 60 * 1000;

/// Returns what stands in somebody's way, the latest first.
///
/// The hierarchy gate is open as long as a plan above is not approved, whatever the session does meanwhile. Of the others
/// nobody knows before the next step: they are open until the session was let do something else.
#[must_use]
pub fn open_gates(known: &KnownTree, blocked: &[Blocked], now: Timestamp) -> Vec<OpenGate> {
    let mut open: Vec<OpenGate> = Vec::new();
    for block in blocked
        .iter()
        .rev()
        .filter(|block| now.since(block.at) < KEPT_FOR_MS)
    {
        let Some(gate) = gates::named(&block.gate) else {
            continue;
        };
        let same = |other: &OpenGate| {
            (&other.session, &other.gate, &other.plan) == (&block.session, &block.gate, &block.plan)
        };
        if open.iter().any(same) {
            continue;
        }
        let waits_for = match &block.plan {
            Some(plan) if gate.name == "hierarchy" => undecided_above(known, plan),
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

/// Returns the uppermost plan above this one that is not approved: the one to begin with.
fn undecided_above(known: &KnownTree, plan: &str) -> Option<WaitsFor> {
    let mut siblings: Vec<&Node> = known.tree.tops().collect();
    let mut path = String::new();
    let (above, _) = plan.rsplit_once('/')?;
    for alias in above.split('/') {
        let node = siblings.iter().find(|node| node.alias == alias)?;
        path = if path.is_empty() {
            alias.to_owned()
        } else {
            format!("{path}/{alias}")
        };
        if node.status() != Status::Approved {
            return Some(WaitsFor {
                path,
                status: node.status(),
            });
        }
        siblings = known.tree.children(node.id).collect();
    }
    None
}
