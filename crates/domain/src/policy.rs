//! Policy: every threshold and switch a user may change, with its default.
//!
//! The reference page `docs/reference/configuration.md` is generated from
//! [`crate::settings::keys`]; `config.toml` is parsed in [`crate::settings`]. The variants of the
//! enums that protect a project are ordered from loose to strict, so that "stricter" is a
//! comparison.

use serde::{Deserialize, Serialize};

use crate::ids::Principal;
use crate::tick::context::GenerationPolicy;
use crate::work::tdd::CommitPrefixes;
use crate::work::uncommitted::GENERATED_FILE_PATTERNS;

/// Whose approval counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    #[default]
    Anyone,
    Human,
}

impl ApprovalPolicy {
    /// Whether an approval by this principal counts. The only place of the rule "only a person
    /// approves".
    #[must_use]
    pub fn accepts_approval_by(self, by: &Principal) -> bool {
        self.accepts_person(by.is_human())
    }

    /// Whether only a person's approval counts.
    #[must_use]
    pub fn requires_person(self) -> bool {
        !self.accepts_person(false)
    }

    /// Like [`Self::accepts`], for callers that only know whether the principal is a person.
    #[must_use]
    pub fn accepts_person(self, is_person: bool) -> bool {
        is_person || self == Self::Anyone
    }
}

/// Which descendants a changed parent makes stale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CascadePolicy {
    // Deep marks more as stale, so it is the stricter one and comes last.
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

/// When an overwritten plan is also backed up as a readable file in `backups/`.
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
    /// The step is allowed, and the agent gets a warning.
    Warn,
    #[default]
    Block,
}

/// The table `[policy.gates]`: each gate's mode, and the gates' thresholds.
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
    /// Maximum number of uncommitted changed lines.
    pub loc_limit: u64,
    /// Glob patterns of files excluded from the line count.
    pub loc_exclude: Vec<String>,
    /// Minimum size of a plan after a write, in percent of its size before.
    pub shrink_below_percent: u64,
    /// Gates that block when they cannot be evaluated.
    pub fail_closed: Vec<String>,
}

impl Default for GatePolicy {
    fn default() -> Self {
        Self {
            hierarchy: GateMode::Block,
            read_before_write: GateMode::Block,
            shrink: GateMode::Block,
            // Off, because not every host reports the start of a session: there the gate would
            // block every change of a plan.
            session: GateMode::Off,
            loc: GateMode::Block,
            phase: GateMode::Block,
            context: GateMode::Block,
            scope: GateMode::Block,
            claim: GateMode::Block,
            frozen: GateMode::Block,
            done: GateMode::Block,
            loc_limit: 400,
            loc_exclude: GENERATED_FILE_PATTERNS
                .iter()
                .map(|pattern| (*pattern).to_owned())
                .collect(),
            shrink_below_percent: 40,
            // The only gate that fails closed by default: a lost plan cannot be derived from
            // anything, while what the other gates prevent can be undone.
            fail_closed: vec!["read-before-write".to_owned()],
        }
    }
}

/// How much a session has to declare about its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Governance {
    /// Signals are shown on request only (`tl drift`).
    Permissive,
    /// Signals are reported to the agent.
    #[default]
    Assisted,
    /// Signals are reported, and no file is written before an intent is declared.
    Strict,
}

/// Thresholds of the signals. A threshold of 0 turns a signal off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SignalPolicy {
    pub section_turns: u32,
    pub reads_without_writes: u32,
    pub failures: u32,
    pub stuck_words_seen: u32,
    /// Project-specific words that indicate being stuck.
    pub stuck_words: Vec<String>,
    pub repetitions: u32,
    pub similar_percent: u8,
    pub undeclared_writes: u32,
    pub warm_minutes: u64,
    pub stale_minutes: u64,
    pub completed_branches: u32,
    /// Names of disabled signals.
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

/// Maximum length of a briefing; the smaller of both limits applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BriefingPolicy {
    pub characters: usize,
    pub tokens: usize,
}

impl Default for BriefingPolicy {
    fn default() -> Self {
        Self {
            // The compositor estimates four ASCII characters per token, so both limits agree for
            // English text; for other scripts the tokens are reached first.
            characters: 6_000,
            tokens: 1_500,
        }
    }
}

/// Who may judge the checks of a review.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReviewerPolicy {
    #[default]
    Anyone,
    /// Anyone but the author of what is reviewed.
    Other,
}

/// Limits of a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReviewPolicy {
    pub reviewer: ReviewerPolicy,
    /// Maximum number of iterations in which one check may fail; after that a MUST is escalated to
    /// a person and the rest is accepted.
    pub cap: u32,
    pub max_iterations: u32,
    /// Maximum cost of one review; 0 means unlimited.
    pub budget: u64,
}

impl Default for ReviewPolicy {
    fn default() -> Self {
        Self {
            reviewer: ReviewerPolicy::default(),
            // Below `max_iterations`, so that one check that never passes does not use up the whole
            // review.
            cap: 5,
            max_iterations: 8,
            budget: 0,
        }
    }
}

/// The table `[policy]`: all rules' switches. [`crate::settings::keys`] documents each.
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
    /// Timeout of a hook, after which the agent continues.
    pub hook_deadline_ms: u64,
    /// Lease time of a claim, counted from its session's last activity.
    pub claim_lease_minutes: u64,
    /// Commit prefixes of the steps of a test-driven cycle.
    pub commits: CommitPrefixes,
    pub governance: Governance,
    pub signals: SignalPolicy,
    pub briefing: BriefingPolicy,
    /// Retention of notes in days; 0 keeps them for ever.
    pub notes_kept_days: u32,
    /// Limits of the prompts for planners and writers of a story.
    pub generation: GenerationPolicy,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            approval: ApprovalPolicy::default(),
            cascade: CascadePolicy::default(),
            // More than twice the four levels of the deepest built-in profile; only nested tickets
            // can go deeper.
            cascade_max_depth: 10,
            consistency: ConsistencyPolicy::default(),
            backups: BackupPolicy::default(),
            max_plan_bytes: 4 * 1024 * 1024,
            gates: GatePolicy::default(),
            review: ReviewPolicy::default(),
            // Not above the shortest timeout of a host: Claude Code gives its SessionEnd hooks 1.5
            // s.
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
