//! Trust policy: the part of [`Policy`] that protects approvals from whoever can edit `config.toml`.
//!
//! It is pinned per store in the user's directory and recorded in the history. While approvals are a person's
//! (`approval = "human"`), a file can only make it stricter; a looser value waits for `tl policy accept`. Under `anyone` an
//! agent may approve its own work, so there is nothing left to protect, and the file is taken as it is.
//!
//! Deliberately not part of it: profiles, folders, limits of size and wording. They decide what a plan is, not whose word
//! counts.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::policy::{
    ApprovalPolicy, CascadePolicy, ConsistencyPolicy, GateMode, Governance, Policy, ReviewerPolicy,
};
use crate::record::Recorded;

/// The key of the one record that says by which policy the statuses are judged.
pub const POLICY_RECORD: &str = "in-force";

/// The values that a file or an agent can only make stricter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustPolicy {
    pub approval: ApprovalPolicy,
    pub cascade: CascadePolicy,
    pub consistency: ConsistencyPolicy,
    pub governance: Governance,
    pub reviewer: ReviewerPolicy,
    /// By the key's last part: `hierarchy`, `read_before_write` …
    pub gates: BTreeMap<String, GateMode>,
    pub fail_closed: BTreeSet<String>,
    pub loc_limit: u64,
    pub loc_exclude: BTreeSet<String>,
    pub shrink_below_percent: u64,
    pub hook_deadline_ms: u64,
}

impl Recorded for TrustPolicy {
    const KIND: &'static str = "policy";
}

/// One key with two values, as `tl policy` shows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyChange {
    pub key: String,
    pub before: String,
    pub after: String,
}

impl std::fmt::Display for PolicyChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} → {}", self.key, self.before, self.after)
    }
}

impl TrustPolicy {
    /// Returns the trust-relevant part of a policy.
    #[must_use]
    pub fn of(policy: &Policy) -> Self {
        let gates = &policy.gates;
        Self {
            approval: policy.approval,
            cascade: policy.cascade,
            consistency: policy.consistency,
            governance: policy.governance,
            reviewer: policy.review.reviewer,
            gates: gate_modes(policy)
                .map(|(name, mode)| (name.to_owned(), mode))
                .collect(),
            fail_closed: gates.fail_closed.iter().cloned().collect(),
            loc_limit: gates.loc_limit,
            loc_exclude: gates.loc_exclude.iter().cloned().collect(),
            shrink_below_percent: gates.shrink_below_percent,
            hook_deadline_ms: policy.hook_deadline_ms,
        }
    }

    /// Returns what holds when `self` was in force and `wanted` is asked for without a person's word: under `human` the
    /// stricter value of each key, otherwise what is asked for.
    #[must_use]
    pub fn tightened_by(&self, wanted: &Self) -> Self {
        match self.approval {
            ApprovalPolicy::Human => self.strictest(wanted),
            ApprovalPolicy::Anyone => wanted.clone(),
        }
    }

    /// Returns the stricter value of each key.
    #[must_use]
    pub fn strictest(&self, other: &Self) -> Self {
        let mut gates = self.gates.clone();
        for (name, mode) in &other.gates {
            let known = gates.entry(name.clone()).or_insert(*mode);
            *known = (*known).max(*mode);
        }
        Self {
            approval: self.approval.max(other.approval),
            cascade: self.cascade.max(other.cascade),
            consistency: self.consistency.max(other.consistency),
            governance: self.governance.max(other.governance),
            reviewer: self.reviewer.max(other.reviewer),
            gates,
            fail_closed: self
                .fail_closed
                .union(&other.fail_closed)
                .cloned()
                .collect(),
            loc_limit: self.loc_limit.min(other.loc_limit),
            loc_exclude: self
                .loc_exclude
                .intersection(&other.loc_exclude)
                .cloned()
                .collect(),
            shrink_below_percent: self.shrink_below_percent.max(other.shrink_below_percent),
            hook_deadline_ms: self.hook_deadline_ms.max(other.hook_deadline_ms),
        }
    }

    /// Returns every key whose value differs in `after`.
    #[must_use]
    pub fn changes_to(&self, after: &Self) -> Vec<PolicyChange> {
        let differing = |((key, before), (_, after)): ((String, String), (String, String))| {
            (before != after).then_some(PolicyChange { key, before, after })
        };
        self.values()
            .into_iter()
            .zip(after.values())
            .filter_map(differing)
            .collect()
    }

    /// Returns every key with its value, as they are written in `config.toml`.
    #[must_use]
    pub fn values(&self) -> Vec<(String, String)> {
        fn word<T: Serialize>(value: T) -> String {
            // Words, numbers and lists of words: plain data that cannot fail.
            serde_json::to_string(&value)
                .unwrap_or_default()
                .replace("\",\"", "\", \"")
        }
        let mut all = vec![
            ("policy.approval".to_owned(), word(self.approval)),
            ("policy.cascade".to_owned(), word(self.cascade)),
            ("policy.consistency".to_owned(), word(self.consistency)),
            ("policy.governance".to_owned(), word(self.governance)),
            ("policy.review.reviewer".to_owned(), word(self.reviewer)),
        ];
        // By the names this version knows, so that two policies always have the same keys in the same order.
        all.extend(gate_modes(&Policy::default()).map(|(name, default)| {
            (
                format!("policy.gates.{name}"),
                word(self.gates.get(name).copied().unwrap_or(default)),
            )
        }));
        all.extend([
            (
                "policy.gates.fail_closed".to_owned(),
                word(&self.fail_closed),
            ),
            ("policy.gates.loc_limit".to_owned(), word(self.loc_limit)),
            (
                "policy.gates.loc_exclude".to_owned(),
                word(&self.loc_exclude),
            ),
            (
                "policy.gates.shrink_below_percent".to_owned(),
                word(self.shrink_below_percent),
            ),
            (
                "policy.hook_deadline_ms".to_owned(),
                word(self.hook_deadline_ms),
            ),
        ]);
        all
    }

    /// Puts these values into a policy where they are stricter than what it has.
    pub fn tighten(&self, policy: &mut Policy) {
        let both = Self::of(policy).strictest(self);
        policy.approval = both.approval;
        policy.cascade = both.cascade;
        policy.consistency = both.consistency;
        policy.governance = both.governance;
        policy.review.reviewer = both.reviewer;
        policy.hook_deadline_ms = both.hook_deadline_ms;
        let gates = &mut policy.gates;
        for (name, place) in [
            ("hierarchy", &mut gates.hierarchy),
            ("read_before_write", &mut gates.read_before_write),
            ("shrink", &mut gates.shrink),
            ("session", &mut gates.session),
            ("loc", &mut gates.loc),
            ("phase", &mut gates.phase),
            ("context", &mut gates.context),
            ("scope", &mut gates.scope),
            ("claim", &mut gates.claim),
            ("frozen", &mut gates.frozen),
            ("done", &mut gates.done),
        ] {
            *place = both.gates.get(name).copied().unwrap_or(*place);
        }
        gates.fail_closed = both.fail_closed.into_iter().collect();
        gates.loc_limit = both.loc_limit;
        gates
            .loc_exclude
            .retain(|pattern| both.loc_exclude.contains(pattern));
        gates.shrink_below_percent = both.shrink_below_percent;
    }
}

fn gate_modes(policy: &Policy) -> impl Iterator<Item = (&'static str, GateMode)> + use<> {
    let gates = &policy.gates;
    [
        ("hierarchy", gates.hierarchy),
        ("read_before_write", gates.read_before_write),
        ("shrink", gates.shrink),
        ("session", gates.session),
        ("loc", gates.loc),
        ("phase", gates.phase),
        ("context", gates.context),
        ("scope", gates.scope),
        ("claim", gates.claim),
        ("frozen", gates.frozen),
        ("done", gates.done),
    ]
    .into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn human() -> Policy {
        Policy {
            approval: ApprovalPolicy::Human,
            ..Policy::default()
        }
    }

    #[test]
    fn under_human_a_looser_value_has_no_effect_and_a_stricter_one_has() {
        let pinned = TrustPolicy::of(&human());
        let mut wanted = Policy::default();
        wanted.gates.hierarchy = GateMode::Off;
        wanted.gates.session = GateMode::Block;
        wanted.gates.fail_closed = vec!["hierarchy".to_owned()];
        wanted.gates.loc_limit = 100_000;
        wanted.gates.loc_exclude.push("**/*".to_owned());
        wanted.governance = Governance::Permissive;
        let held = pinned.tightened_by(&TrustPolicy::of(&wanted));
        assert_eq!(held.approval, ApprovalPolicy::Human);
        assert_eq!(held.gates["hierarchy"], GateMode::Block);
        assert_eq!(held.gates["session"], GateMode::Block);
        assert_eq!(
            held.fail_closed
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>(),
            ["hierarchy", "read-before-write"]
        );
        assert_eq!(
            (held.loc_limit, held.governance),
            (400, Governance::Assisted)
        );
        assert!(!held.loc_exclude.contains("**/*"));

        let mut policy = wanted;
        held.tighten(&mut policy);
        assert_eq!(TrustPolicy::of(&policy), held);
    }

    #[test]
    fn under_anyone_the_file_is_taken_as_it_is() {
        let mut wanted = Policy::default();
        wanted.gates.hierarchy = GateMode::Off;
        let wanted = TrustPolicy::of(&wanted);
        assert_eq!(
            TrustPolicy::of(&Policy::default()).tightened_by(&wanted),
            wanted
        );
    }

    #[test]
    fn changes_are_named_by_their_keys() {
        let changes = TrustPolicy::of(&human()).changes_to(&TrustPolicy::of(&Policy::default()));
        assert_eq!(changes.len(), 1);
        assert_eq!(
            changes[0].to_string(),
            "policy.approval: \"human\" → \"anyone\""
        );
    }
}
