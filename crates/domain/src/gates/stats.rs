//! Statistics of gates: how often a block led to the wanted action, and a setting where people mostly
//! override one.

use std::collections::{BTreeMap, BTreeSet};

use super::find_gate_by_name;

/// One step of a session in the hook ledger, as far as it concerns gates.
#[derive(Clone, Copy, Debug)]
pub struct LedgerStep<'l> {
    pub session: &'l str,
    /// The gate that blocked it.
    pub blocked_by: Option<&'l str>,
    /// What it did, if it was carried out: `commit`, `read`, `tl ticket`.
    pub did: Option<&'l str>,
}

/// How often a gate blocked, and what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateIncidents {
    /// Blocks, where further ones until the wanted action count as the same.
    pub incidents: usize,
    /// Incidents that ended with the wanted action.
    pub followed: usize,
}

/// Counts the incidents of every gate with a wanted action, in the order of the ledger.
#[must_use]
pub fn count_incidents<'l>(
    steps: impl IntoIterator<Item = LedgerStep<'l>>,
) -> BTreeMap<&'static str, GateIncidents> {
    let mut counts: BTreeMap<&'static str, GateIncidents> = BTreeMap::new();
    let mut open: BTreeSet<(&str, &'static str)> = BTreeSet::new();
    for step in steps {
        let gate = step.blocked_by.and_then(find_gate_by_name);
        // Without a wanted action, whether a block was heeded cannot be seen in the ledger.
        if let Some(gate) = gate.filter(|gate| !gate.heeded_by.is_empty())
            // An agent often tries the same edit again at once; that is one incident.
            && open.insert((step.session, gate.name))
        {
            counts.entry(gate.name).or_default().incidents += 1;
        }
        let Some(did) = step.did else { continue };
        let is_ended = |(session, name): &(&str, &'static str)| {
            let gate = find_gate_by_name(name);
            *session == step.session && gate.is_some_and(|gate| gate.heeded_by.contains(&did))
        };
        let ended: Vec<_> = open.iter().copied().filter(is_ended).collect();
        for one in ended {
            open.remove(&one);
            counts.entry(one.1).or_default().followed += 1;
        }
    }
    counts
}

/// Minimum number of overrides for a proposal: fewer may be chance.
const MIN_OVERRIDES: usize = 3;

/// Returns the setting to propose for a gate that people mostly override.
#[must_use]
pub fn propose_mode(gate: &str, blocks: usize, overrides: usize) -> Option<String> {
    let is_mostly_overridden = overrides >= MIN_OVERRIDES && overrides * 2 > blocks;
    // A setting that has no effect is not proposed.
    let may_warn = find_gate_by_name(gate).is_some_and(|gate| gate.never_overridden.is_none());
    let key = gate.replace('-', "_");
    (is_mostly_overridden && may_warn).then(|| format!("tl config set policy.gates.{key} warn"))
}

#[cfg(test)]
mod tests {
    use super::{GateIncidents, LedgerStep, count_incidents, propose_mode};

    fn step<'l>(session: &'l str, blocked_by: &'l str, did: &'l str) -> LedgerStep<'l> {
        LedgerStep {
            session,
            blocked_by: Some(blocked_by).filter(|gate| !gate.is_empty()),
            did: Some(did).filter(|did| !did.is_empty()),
        }
    }

    #[test]
    fn blocks_until_the_wanted_action_are_one_incident() {
        let steps = [
            step("a", "loc", ""),
            step("a", "loc", ""),
            step("b", "", "commit"),
            step("a", "", "read"),
            step("a", "", "commit"),
            step("a", "loc", ""),
            step("b", "scope", ""),
            step("b", "", "commit"),
        ];
        let counts = count_incidents(steps);
        let of = |incidents, followed| GateIncidents {
            incidents,
            followed,
        };
        assert_eq!(counts.get("loc"), Some(&of(2, 1)));
        assert_eq!(counts.get("scope"), Some(&of(1, 0)));
    }

    #[test]
    fn a_gate_that_is_mostly_overridden_gets_a_proposal() {
        assert_eq!(propose_mode("scope", 4, 2), None);
        assert_eq!(propose_mode("scope", 9, 3), None);
        assert_eq!(
            propose_mode("scope", 5, 3).as_deref(),
            Some("tl config set policy.gates.scope warn")
        );
    }
}
