//! Trust policy: the part of [`Policy`] that is protected against edits of `config.toml`.
//!
//! It is pinned per store in the user's directory and recorded in the history. While only people
//! may approve (`approval = "human"`), a file can only make it stricter; a looser value has to be
//! confirmed with `tl policy accept`. Under `anyone` an agent may approve its own work, so there is
//! nothing left to protect, and the file is used as it is.
//!
//! Deliberately not part of it: profiles, folders, size limits and wording. They define what a plan
//! is, not whose decision counts.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::decision::ALLOWED_SIGNERS_FILE;
use crate::policy::{
    ApprovalPolicy, CascadePolicy, ConsistencyPolicy, GateMode, Governance, Policy, ReviewerPolicy,
    SignaturePolicy,
};
use crate::record::Recorded;

/// Key of the record with the policy by which statuses are derived.
pub const POLICY_RECORD: &str = "in-force";

/// The settings that a file or an agent can only make stricter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustPolicy {
    pub approval: ApprovalPolicy,
    pub cascade: CascadePolicy,
    pub consistency: ConsistencyPolicy,
    pub governance: Governance,
    pub reviewer: ReviewerPolicy,
    /// Keyed by the last part of the setting: `hierarchy`, `read_before_write` …
    pub gates: BTreeMap<String, GateMode>,
    pub fail_closed: BTreeSet<String>,
    pub loc_limit: u64,
    pub loc_exclude: BTreeSet<String>,
    pub shrink_below_percent: u64,
    pub hook_deadline_ms: u64,
    // Absent in policies of earlier versions, which had no signatures.
    #[serde(default)]
    pub signatures: SignaturePolicy,
    /// The lines of `allowed_signers` a person accepted. A line counts while the file has it too, so
    /// a checkout of a branch without it ends nothing for good.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub signers: BTreeSet<String>,
}

impl Recorded for TrustPolicy {
    const KIND: &'static str = "policy";
}

/// A changed setting, as shown by `tl policy`.
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
    /// Extracts the trust policy from a policy.
    #[must_use]
    pub fn from_policy(policy: &Policy) -> Self {
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
            signatures: policy.signatures,
            signers: policy.signers.clone(),
        }
    }

    /// Returns the policy in force when `wanted` is requested without confirmation by a person:
    /// under `human` the stricter value of each setting, otherwise `wanted`.
    #[must_use]
    pub fn tightened_by(&self, wanted: &Self) -> Self {
        // The pinned value decides, not the wanted one: otherwise a file could switch the
        // protection off and loosen everything else in the same edit.
        match self.approval {
            ApprovalPolicy::Human => Self {
                signers: self.signers.clone(),
                ..self.stricter_of_each(wanted)
            },
            ApprovalPolicy::Anyone => wanted.clone(),
        }
    }

    /// Returns the stricter value of each setting.
    #[must_use]
    pub fn stricter_of_each(&self, other: &Self) -> Self {
        // The policy enums are declared from loose to strict, so `max` is the stricter one.
        // A gate that only one side knows (another version of the program) keeps its value.
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
            // A lower limit blocks earlier.
            loc_limit: self.loc_limit.min(other.loc_limit),
            // Exclusions loosen the `loc` gate, so only common ones remain.
            loc_exclude: self
                .loc_exclude
                .intersection(&other.loc_exclude)
                .cloned()
                .collect(),
            shrink_below_percent: self.shrink_below_percent.max(other.shrink_below_percent),
            // The longer deadline is stricter: when it passes, the watchdog answers instead of the
            // gates.
            hook_deadline_ms: self.hook_deadline_ms.max(other.hook_deadline_ms),
            signatures: self.signatures.max(other.signatures),
            signers: self.signers.intersection(&other.signers).cloned().collect(),
        }
    }

    /// Returns the settings whose values differ in `after`.
    #[must_use]
    pub fn changes_to(&self, after: &Self) -> Vec<PolicyChange> {
        let differing = |((key, before), (_, after)): ((String, String), (String, String))| {
            (before != after).then_some(PolicyChange { key, before, after })
        };
        let mut changes: Vec<PolicyChange> = self
            .config_values()
            .into_iter()
            .zip(after.config_values())
            .filter_map(differing)
            .collect();
        // Only new ones: a line that is gone from the file does not count, accepted or not.
        changes.extend(
            after
                .signers
                .difference(&self.signers)
                .map(|line| PolicyChange {
                    key: ALLOWED_SIGNERS_FILE.to_owned(),
                    before: "not listed".to_owned(),
                    after: line.clone(),
                }),
        );
        changes
    }

    /// Returns every setting with its value, as written in `config.toml`.
    #[must_use]
    pub fn config_values(&self) -> Vec<(String, String)> {
        fn config_value<T: Serialize>(value: T) -> String {
            // Strings, numbers and lists of strings, whose JSON is also valid TOML.
            serde_json::to_string(&value)
                .unwrap_or_default()
                .replace("\",\"", "\", \"")
        }
        let mut all = vec![
            ("policy.approval".to_owned(), config_value(self.approval)),
            (
                "policy.signatures".to_owned(),
                config_value(self.signatures),
            ),
            ("policy.cascade".to_owned(), config_value(self.cascade)),
            (
                "policy.consistency".to_owned(),
                config_value(self.consistency),
            ),
            (
                "policy.governance".to_owned(),
                config_value(self.governance),
            ),
            (
                "policy.review.reviewer".to_owned(),
                config_value(self.reviewer),
            ),
        ];
        // By the names this version knows, so that any two policies have the same keys in the same
        // order and can be zipped.
        all.extend(gate_modes(&Policy::default()).map(|(name, default)| {
            (
                format!("policy.gates.{name}"),
                config_value(self.gates.get(name).copied().unwrap_or(default)),
            )
        }));
        all.extend([
            (
                "policy.gates.fail_closed".to_owned(),
                config_value(&self.fail_closed),
            ),
            (
                "policy.gates.loc_limit".to_owned(),
                config_value(self.loc_limit),
            ),
            (
                "policy.gates.loc_exclude".to_owned(),
                config_value(&self.loc_exclude),
            ),
            (
                "policy.gates.shrink_below_percent".to_owned(),
                config_value(self.shrink_below_percent),
            ),
            (
                "policy.hook_deadline_ms".to_owned(),
                config_value(self.hook_deadline_ms),
            ),
        ]);
        all
    }

    /// Replaces the values of a policy that are looser than these.
    pub fn tighten_policy(&self, policy: &mut Policy) {
        let both = Self::from_policy(policy).stricter_of_each(self);
        policy.approval = both.approval;
        policy.signatures = both.signatures;
        policy.signers = both.signers;
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
            ("decisions", &mut gates.decisions),
            ("frozen", &mut gates.frozen),
            ("done", &mut gates.done),
            ("order", &mut gates.order),
            ("scenario_approval", &mut gates.scenario_approval),
            ("test_first", &mut gates.test_first),
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
        ("decisions", gates.decisions),
        ("frozen", gates.frozen),
        ("done", gates.done),
        ("order", gates.order),
        ("scenario_approval", gates.scenario_approval),
        ("test_first", gates.test_first),
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
        let pinned = TrustPolicy::from_policy(&human());
        let mut wanted = Policy::default();
        wanted.gates.hierarchy = GateMode::Off;
        wanted.gates.session = GateMode::Block;
        wanted.gates.fail_closed = vec!["hierarchy".to_owned()];
        wanted.gates.loc_limit = 100_000;
        wanted.gates.loc_exclude.push("**/*".to_owned());
        wanted.governance = Governance::Permissive;
        let held = pinned.tightened_by(&TrustPolicy::from_policy(&wanted));
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
        held.tighten_policy(&mut policy);
        assert_eq!(TrustPolicy::from_policy(&policy), held);
    }

    #[test]
    fn under_human_a_new_signer_waits_and_a_removed_one_is_out_at_once() {
        let with_signers = |lines: &[&str]| Policy {
            signatures: SignaturePolicy::Required,
            signers: lines.iter().map(|line| (*line).to_owned()).collect(),
            ..human()
        };
        let pinned = TrustPolicy::from_policy(&with_signers(&["ann K1", "bob K2"]));
        let wanted = with_signers(&["ann K1", "mallory K3"]);
        let declared = TrustPolicy::from_policy(&wanted);
        let held = pinned.tightened_by(&declared);
        let changes = held.changes_to(&declared);
        assert_eq!(changes.len(), 1);
        assert_eq!(
            changes[0].to_string(),
            ".throughline/allowed_signers: not listed → mallory K3"
        );
        let mut policy = wanted;
        held.tighten_policy(&mut policy);
        assert_eq!(Vec::from_iter(policy.signers), ["ann K1"]);
        // A branch with the file as it was brings bob back without another acceptance.
        let mut policy = with_signers(&["ann K1", "bob K2"]);
        held.tighten_policy(&mut policy);
        assert_eq!(policy.signers.len(), 2);

        let mut off = with_signers(&["ann K1"]);
        off.signatures = SignaturePolicy::Off;
        held.tighten_policy(&mut off);
        assert_eq!(off.signatures, SignaturePolicy::Required);
    }

    #[test]
    fn under_anyone_the_file_is_taken_as_it_is() {
        let mut wanted = Policy::default();
        wanted.gates.hierarchy = GateMode::Off;
        let wanted = TrustPolicy::from_policy(&wanted);
        assert_eq!(
            TrustPolicy::from_policy(&Policy::default()).tightened_by(&wanted),
            wanted
        );
    }

    #[test]
    fn changes_are_named_by_their_keys() {
        let changes = TrustPolicy::from_policy(&human())
            .changes_to(&TrustPolicy::from_policy(&Policy::default()));
        assert_eq!(changes.len(), 1);
        assert_eq!(
            changes[0].to_string(),
            "policy.approval: \"human\" → \"anyone\""
        );
    }
}
