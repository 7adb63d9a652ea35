//! Policy: every threshold and switch a user may want to change, with its default.
//!
//! The reference page `docs/reference/configuration.md` is generated from [`crate::settings::keys`]; the reading of
//! `config.toml` lives in [`crate::settings`].

use serde::{Deserialize, Serialize};

use crate::ids::Principal;
use crate::tick::context::GenerationPolicy;
use crate::work::tdd::CommitPrefixes;
use crate::work::uncommitted::NOT_WRITTEN;

/// Whose approval counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    #[default]
    Anyone,
    Human,
}

impl ApprovalPolicy {
    /// Says whether an approval by this principal counts: the one place of the rule "only a person approves".
    #[must_use]
    pub fn accepts(self, by: &Principal) -> bool {
        self.accepts_person(by.is_human())
    }

    /// Says whether only a person's approval counts.
    #[must_use]
    pub fn only_people(self) -> bool {
        !self.accepts_person(false)
    }

    /// The same where all that is known of the principal is whether it is a person.
    #[must_use]
    pub fn accepts_person(self, is_person: bool) -> bool {
        is_person || self == Self::Anyone
    }
}

/// How far a change reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CascadePolicy {
    Precise,
    #[default]
    Deep,
}

/// What consistency warnings do to an approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConsistencyPolicy {
    Off,
    #[default]
    Warn,
    RequireForce,
}

/// When an overwritten plan is also kept as a readable file in `backups/`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackupPolicy {
    #[default]
    Always,
    Approved,
    Off,
}

/// What a gate does when it fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateMode {
    Off,
    /// The step happens, and the agent is told.
    Warn,
    #[default]
    Block,
}

/// The gates' switches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GatePolicy {
    pub hierarchy: GateMode,
    pub read_before_write: GateMode,
    pub shrink: GateMode,
    pub session: GateMode,
    pub loc: GateMode,
    pub phase: GateMode,
    pub context: GateMode,
    pub scope: GateMode,
    pub claim: GateMode,
    pub frozen: GateMode,
    pub done: GateMode,
    /// So many changed lines may be uncommitted.
    pub loc_limit: u64,
    /// Files whose lines do not count.
    pub loc_exclude: Vec<String>,
    /// A write may not cut a plan below this share of its size.
    pub shrink_below_percent: u64,
    /// Gates that stop the step when they cannot be asked.
    pub fail_closed: Vec<String>,
}

impl Default for GatePolicy {
    fn default() -> Self {
        Self {
            hierarchy: GateMode::Block,
            read_before_write: GateMode::Block,
            shrink: GateMode::Block,
            session: GateMode::Off,
            loc: GateMode::Block,
            phase: GateMode::Block,
            context: GateMode::Block,
            scope: GateMode::Block,
            claim: GateMode::Block,
            frozen: GateMode::Block,
            done: GateMode::Block,
            loc_limit: 400,
            loc_exclude: NOT_WRITTEN
                .iter()
                .map(|pattern| (*pattern).to_owned())
                .collect(),
            shrink_below_percent: 40,
            fail_closed: vec!["read-before-write".to_owned()],
        }
    }
}

/// How much a session has to say of what it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Governance {
    /// Signals are there for who asks.
    Permissive,
    /// Signals are told.
    #[default]
    Assisted,
    /// Signals are told, and nothing is written before an intent is declared.
    Strict,
}

/// When a signal is told. A threshold of 0 turns it off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SignalPolicy {
    pub section_turns: u32,
    pub reads_without_writes: u32,
    pub failures: u32,
    pub stuck_words_seen: u32,
    /// More words that say someone is stuck.
    pub stuck_words: Vec<String>,
    pub repetitions: u32,
    pub similar_percent: u8,
    pub undeclared_writes: u32,
    pub warm_minutes: u64,
    pub stale_minutes: u64,
    pub completed_branches: u32,
    /// Signals that are not wanted, by name.
    pub off: Vec<String>,
}

impl Default for SignalPolicy {
    fn default() -> Self {
        Self {
            section_turns: 8,
            reads_without_writes: 12,
            failures: 3,
            stuck_words_seen: 3,
            stuck_words: Vec::new(),
            repetitions: 4,
            similar_percent: 80,
            undeclared_writes: 1,
            warm_minutes: 30,
            stale_minutes: 120,
            completed_branches: 5,
            off: Vec::new(),
        }
    }
}

/// How long a briefing may be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BriefingPolicy {
    pub characters: usize,
    pub tokens: usize,
}

impl Default for BriefingPolicy {
    fn default() -> Self {
        Self {
            characters: 6_000,
            tokens: 1_500,
        }
    }
}

/// Who may review.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReviewerPolicy {
    #[default]
    Anyone,
    /// Whoever did not write what is reviewed.
    Other,
}

/// How far a review goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReviewPolicy {
    pub reviewer: ReviewerPolicy,
    /// In so many iterations a check may fail; then a MUST goes to a person and the rest is accepted.
    pub cap: u32,
    pub max_iterations: u32,
    /// What reviewers may spend on one review; 0 sets no limit.
    pub budget: u64,
}

impl Default for ReviewPolicy {
    fn default() -> Self {
        Self {
            reviewer: ReviewerPolicy::default(),
            cap: 5,
            max_iterations: 8,
            budget: 0,
        }
    }
}

/// The rules' switches. See [`crate::settings::keys`] for what each does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    pub approval: ApprovalPolicy,
    pub cascade: CascadePolicy,
    pub cascade_max_depth: usize,
    pub consistency: ConsistencyPolicy,
    pub backups: BackupPolicy,
    pub max_plan_bytes: u64,
    pub gates: GatePolicy,
    pub review: ReviewPolicy,
    /// How long a hook may take before it lets the agent go on.
    pub hook_deadline_ms: u64,
    /// How long a claim lasts after its session was last heard of.
    pub claim_lease_minutes: u64,
    /// Which commits mean which step of a test-driven cycle.
    pub commits: CommitPrefixes,
    pub governance: Governance,
    pub signals: SignalPolicy,
    pub briefing: BriefingPolicy,
    /// How many days notes are kept; 0 is for ever.
    pub notes_kept_days: u32,
    /// What planners and writers of a story are told.
    pub generation: GenerationPolicy,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            approval: ApprovalPolicy::default(),
            cascade: CascadePolicy::default(),
            cascade_max_depth: 10,
            consistency: ConsistencyPolicy::default(),
            backups: BackupPolicy::default(),
            max_plan_bytes: 4 * 1024 * 1024,
            gates: GatePolicy::default(),
            review: ReviewPolicy::default(),
            hook_deadline_ms: 1_500,
            claim_lease_minutes: 30,
            commits: CommitPrefixes::default(),
            governance: Governance::default(),
            signals: SignalPolicy::default(),
            briefing: BriefingPolicy::default(),
            notes_kept_days: 0,
            generation: GenerationPolicy::default(),
        }
    }
}
