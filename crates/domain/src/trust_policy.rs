//! Trust policy: the part of [`Policy`] that is protected against edits of `config.toml`.
//!
//! It is pinned per store in the user's directory and recorded in the history. While only people
//! may approve (`approval = "human"`), a file can only make it stricter; a looser value has to be
//! confirmed with `tl policy accept`. Under `anyone` an agent may approve its own work, so there is
//! nothing left to protect, and the file is used as it is.
//!
//! Of a profile only the [`ProfileRules`] are part of it: which plans need an approval, and which gates
//! hold. Deliberately not part of it: levels, folders, size limits and wording. They define what a plan
//! is, not whose decision counts.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::decision::ALLOWED_SIGNERS_FILE;
use crate::gates::{GATES, Gate, GateScope};
use crate::policy::{
    ApprovalPolicy, CascadePolicy, ConsistencyPolicy, GateMode, Governance, Policy, ReviewerPolicy,
    SignaturePolicy,
};
use crate::profile::{ApprovalNeed, Profile};
use crate::record::Recorded;
use crate::work::work_level::LevelLimits;

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
    // Absent in policies of earlier versions, which had the default limits.
    #[serde(default)]
    pub levels: LevelLimits,
    pub hook_deadline_ms: u64,
    // Absent in policies of earlier versions, which had no signatures.
    #[serde(default)]
    pub signatures: SignaturePolicy,
    /// The lines of `allowed_signers` a person accepted. A line counts while the file has it too, so
    /// a checkout of a branch without it ends nothing for good.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub signers: BTreeSet<String>,
    /// The rules of the profiles that were ever in use, by name. Absent in policies of earlier versions:
    /// a profile counts as it is when it is first seen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub profiles: BTreeMap<String, ProfileRules>,
}

/// What a profile says about approvals and gates. A file of the project can shadow a built-in profile,
/// so that these could be dropped without touching any setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileRules {
    /// Whether work on a node requires an approved plan.
    pub needs_approval: bool,
    /// Enabled gates about plans and work.
    pub gates: BTreeSet<String>,
    /// Phases of the work that are left only with approved scenarios.
    pub approved_phases: BTreeSet<String>,
}

impl ProfileRules {
    /// Extracts the rules of a profile.
    #[must_use]
    pub fn from_profile(profile: &Profile) -> Self {
        let is_about_nodes =
            |gate: &&Gate| matches!(gate.scope, GateScope::Plans | GateScope::Work);
        let phases = profile.work_phases.iter();
        Self {
            needs_approval: profile.approval == ApprovalNeed::Required,
            gates: GATES
                .iter()
                .filter(is_about_nodes)
                .filter(|gate| profile.has_gate(gate.name))
                .map(|gate| gate.name.to_owned())
                .collect(),
            approved_phases: phases
                .filter(|phase| phase.needs_approval)
                .map(|phase| phase.name.clone())
                .collect(),
        }
    }

    fn stricter_of_each(&self, other: &Self) -> Self {
        Self {
            needs_approval: self.needs_approval || other.needs_approval,
            gates: self.gates.union(&other.gates).cloned().collect(),
            approved_phases: self
                .approved_phases
                .union(&other.approved_phases)
                .cloned()
                .collect(),
        }
    }

    /// Gives a profile the rules that it lacks.
    pub fn tighten_profile(&self, profile: &mut Profile) {
        let own = Self::from_profile(profile);
        let both = self.stricter_of_each(&own);
        if both == own {
            return;
        }
        if both.needs_approval {
            profile.approval = ApprovalNeed::Required;
        }
        if both.gates != own.gates {
            profile.gates = Some(both.gates.into_iter().collect());
        }
        for phase in &mut profile.work_phases {
            phase.needs_approval |= both.approved_phases.contains(&phase.name);
        }
    }

    fn changes_to(&self, after: &Self, name: &str) -> Vec<PolicyChange> {
        let need = |rules: &Self| match rules.needs_approval {
            true => "required".to_owned(),
            false => "optional".to_owned(),
        };
        let list = |names: &BTreeSet<String>| {
            format!("[{}]", names.iter().cloned().collect::<Vec<_>>().join(", "))
        };
        [
            ("approval", need(self), need(after)),
            ("gates", list(&self.gates), list(&after.gates)),
            (
                "approval of work phases",
                list(&self.approved_phases),
                list(&after.approved_phases),
            ),
        ]
        .into_iter()
        .filter(|(_, before, after)| before != after)
        .map(|(key, before, after)| PolicyChange {
            key: format!("profile {name}: {key}"),
            before,
            after,
        })
        .collect()
    }
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
            levels: LevelLimits::from_gates(gates),
            hook_deadline_ms: policy.hook_deadline_ms,
            signatures: policy.signatures,
            signers: policy.signers.clone(),
            profiles: BTreeMap::new(),
        }
    }

    /// Whether another policy differs in more than profiles that only one of them knows: a profile is
    /// pinned when it is first seen, which is not a change.
    #[must_use]
    pub fn differs_from(&self, other: &Self) -> bool {
        let settings = Self {
            profiles: self.profiles.clone(),
            ..other.clone()
        };
        *self != settings || !self.profile_changes(other).is_empty()
    }

    fn profile_changes(&self, after: &Self) -> Vec<PolicyChange> {
        let known = self.profiles.iter();
        known
            .filter_map(|(name, before)| Some((name, before, after.profiles.get(name)?)))
            .flat_map(|(name, before, after)| before.changes_to(after, name))
            .collect()
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
            levels: self.levels.stricter_of_each(other.levels),
            // The longer deadline is stricter: when it passes, the watchdog answers instead of the
            // gates.
            hook_deadline_ms: self.hook_deadline_ms.max(other.hook_deadline_ms),
            signatures: self.signatures.max(other.signatures),
            signers: self.signers.intersection(&other.signers).cloned().collect(),
            profiles: {
                let mut profiles = self.profiles.clone();
                for (name, rules) in &other.profiles {
                    let known = profiles
                        .entry(name.clone())
                        .or_insert_with(|| rules.clone());
                    *known = known.stricter_of_each(rules);
                }
                profiles
            },
        }
    }

    /// Returns the policy as it acts in a project: a gate that no profile uses is off.
    #[must_use]
    pub fn with_used_gates(mut self, profiles: &[Profile]) -> Self {
        for (key, mode) in &mut self.gates {
            let name = key.replace('_', "-");
            if !profiles.iter().any(|profile| profile.has_gate(&name)) {
                *mode = GateMode::Off;
            }
        }
        self
    }

    /// Returns the settings that are looser in `after`.
    #[must_use]
    pub fn loosened_in(&self, after: &Self) -> Vec<PolicyChange> {
        // What is stricter of each differs from `after` only where that is looser.
        self.stricter_of_each(after).changes_to(after)
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
        changes.extend(self.profile_changes(after));
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
        let levels = self.levels.list_settings().into_iter();
        all.extend(levels.map(|(name, value)| (name.to_owned(), config_value(value))));
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
        both.levels.apply_to(gates);
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
        wanted.gates.scope_patch_files = 1_000;
        wanted.gates.loc_task_percent = 80;
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
        assert_eq!(
            (held.levels.patch_files, held.levels.task_loc_percent),
            (2, 80)
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
    fn what_is_looser_is_named_also_where_a_profile_is_gone() {
        let profile = |name| crate::profile::built_in_profile(name).unwrap();
        let (story, both) = ([profile("story")], [profile("story"), profile("tickets")]);
        let default = TrustPolicy::from_policy(&Policy::default());
        let loosened = |before: &TrustPolicy, after: &TrustPolicy| -> Vec<String> {
            let changes = before.loosened_in(after);
            changes.iter().map(ToString::to_string).collect()
        };
        let mut changed = Policy::default();
        changed.gates.hierarchy = GateMode::Warn;
        changed.gates.shrink = GateMode::Off;
        changed.gates.session = GateMode::Block;
        changed.gates.loc_limit = 100;
        let changed = TrustPolicy::from_policy(&changed);
        assert_eq!(
            loosened(&default, &changed),
            [
                "policy.gates.hierarchy: \"block\" → \"warn\"",
                "policy.gates.shrink: \"block\" → \"off\"",
            ]
        );
        assert_eq!(
            loosened(&changed, &default),
            [
                "policy.gates.session: \"block\" → \"off\"",
                "policy.gates.loc_limit: 100 → 400",
            ]
        );
        let (with, without) = (
            default.clone().with_used_gates(&both),
            default.with_used_gates(&story),
        );
        let gone = loosened(&with, &without);
        assert!(
            gone.contains(&"policy.gates.loc: \"block\" → \"off\"".to_owned()),
            "{gone:?}"
        );
        assert_eq!(loosened(&without, &with), Vec::<String>::new());
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

    fn story(change: impl FnOnce(&mut Profile)) -> Profile {
        let mut profile = crate::profile::built_in_profile("story").expect("built in");
        change(&mut profile);
        profile
    }

    fn with_rules(profile: &Profile) -> TrustPolicy {
        let rules = ProfileRules::from_profile(profile);
        TrustPolicy {
            profiles: [(profile.name.clone(), rules)].into(),
            ..TrustPolicy::from_policy(&human())
        }
    }

    #[test]
    fn a_profile_that_drops_its_approvals_and_gates_keeps_the_pinned_ones() {
        let pinned = with_rules(&story(|_| {}));
        let mut looser = story(|profile| {
            profile.approval = ApprovalNeed::Optional;
            profile.gates = Some(vec!["claim".to_owned()]);
        });
        let declared = with_rules(&looser);
        let held = pinned.tightened_by(&declared);
        assert_eq!(held.profiles, pinned.profiles);
        let keys: Vec<String> = held
            .changes_to(&declared)
            .into_iter()
            .map(|change| change.key)
            .collect();
        assert_eq!(keys, ["profile story: approval", "profile story: gates"]);
        held.profiles["story"].tighten_profile(&mut looser);
        assert_eq!(looser.approval, ApprovalNeed::Required);
        assert!(looser.has_gate("hierarchy") && looser.has_gate("claim"));
    }

    #[test]
    fn a_profile_is_pinned_as_it_is_first_seen_and_one_with_stricter_rules_at_once() {
        let before = TrustPolicy::from_policy(&human());
        let first = before.tightened_by(&with_rules(&story(|profile| {
            profile.approval = ApprovalNeed::Optional;
        })));
        assert!(!first.profiles["story"].needs_approval);
        assert!(!before.differs_from(&first) && before.changes_to(&first).is_empty());
        let stricter = first.tightened_by(&with_rules(&story(|_| {})));
        assert!(stricter.profiles["story"].needs_approval);
        assert!(first.differs_from(&stricter));
        // A profile that is gone for a while comes back with its rules.
        assert_eq!(stricter.tightened_by(&before).profiles, stricter.profiles);
    }
}
