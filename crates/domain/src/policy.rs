//! Policy: every threshold and switch a user may change, with its default and description.
//!
//! `config.toml` is parsed in [`crate::settings`]; `docs/reference/configuration.md` is generated
//! from the declarations here. The variants of the enums that protect a project are ordered from
//! loose to strict, so that "stricter" is a comparison.

use std::collections::BTreeSet;

use crate::ids::Principal;
use crate::settings::declaration::{
    list_of, refuse_higher, refuse_looser, setting_enum, setting_table,
};
use crate::work::uncommitted::GENERATED_FILE_PATTERNS;

setting_enum! {
    /// Whose approval counts.
    pub enum ApprovalPolicy {
        #[default]
        Anyone = "anyone",
        Human = "human",
    }
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

    /// Like [`Self::accepts_approval_by`], for callers that only know whether the principal is a
    /// person.
    #[must_use]
    pub fn accepts_person(self, is_person: bool) -> bool {
        is_person || self == Self::Anyone
    }
}

setting_enum! {
    /// Whether an approval counts only with the signature of its author's SSH key.
    pub enum SignaturePolicy {
        #[default]
        Off = "off",
        Required = "required",
    }
}

setting_enum! {
    /// Which descendants a changed parent makes stale.
    pub enum CascadePolicy {
        // Deep marks more as stale, so it is the stricter one and comes last.
        Precise = "precise",
        #[default]
        Deep = "deep",
    }
}

setting_enum! {
    /// What consistency warnings do to an approval.
    pub enum ConsistencyPolicy {
        Off = "off",
        #[default]
        Warn = "warn",
        RequireForce = "require-force",
    }
}

setting_enum! {
    /// When an overwritten plan is also backed up as a readable file in `backups/`.
    pub enum BackupPolicy {
        #[default]
        Always = "always",
        Approved = "approved",
        Off = "off",
    }
}

setting_enum! {
    /// What a gate does when it fires.
    pub enum GateMode {
        Off = "off",
        /// The step is allowed, and the agent gets a warning.
        Warn = "warn",
        #[default]
        Block = "block",
    }
}

setting_enum! {
    /// How much a session has to declare about its work.
    pub enum Governance {
        /// Signals are shown on request only (`tl trail drift`).
        Permissive = "permissive",
        /// Signals are reported to the agent.
        #[default]
        Assisted = "assisted",
        /// Signals are reported, and no file is written before an intent is declared.
        Strict = "strict",
    }
}

setting_enum! {
    /// Who may judge the checks of a review.
    pub enum ReviewerPolicy {
        #[default]
        Anyone = "anyone",
        /// Anyone but the author of what is reviewed.
        Other = "other",
    }
}

setting_enum! {
    /// How new ids are chosen.
    pub enum IdScheme {
        #[default]
        Number = "number",
        Random = "random",
    }
}

setting_table! {
    /// Rules of planning, approval and sessions.
    pub struct Policy in [policy] {
        /// Whose approvals count: with `human`, only those by people. The environment can only make
        /// it stricter; a looser value in this file counts once a person accepts it
        /// (`tl policy accept`).
        approval: ApprovalPolicy = ApprovalPolicy::Anyone,
            // An agent can set variables; it must not gain the right to approve its own plans.
            env ["THROUGHLINE_APPROVAL"], rule refuse_looser;

        /// Whether an approval that is a file in git counts only with the SSH signature of a person in
        /// `.throughline/allowed_signers`. Pinned like `approval`: only a person loosens it.
        signatures: SignaturePolicy = SignaturePolicy::Off,
            env ["THROUGHLINE_SIGNATURES"], rule refuse_looser;

        /// What a changed parent makes stale: all descendants, or only children that rely on a
        /// section that changed.
        cascade: CascadePolicy = CascadePolicy::Deep, env ["THROUGHLINE_CASCADE"];

        /// Maximum depth of a cascade. A deeper tree is treated as damaged, and the cascade stops
        /// with an error.
        // More than twice the four levels of the deepest built-in profile; only nested tickets can
        // go deeper.
        cascade_max_depth: usize = 10, range 1..=u64::MAX,
            env ["THROUGHLINE_CASCADE_MAX_DEPTH", "PLANNING_CASCADE_MAX_DEPTH"];

        /// What happens when a plan names characters, places or times its parent does not know.
        consistency: ConsistencyPolicy = ConsistencyPolicy::Warn, env ["THROUGHLINE_CONSISTENCY"];

        /// When an overwritten plan is also backed up as a readable file in `backups/` beside it:
        /// always, only if it was approved, or never. The state keeps every version in any case.
        backups: BackupPolicy = BackupPolicy::Always, env ["THROUGHLINE_BACKUPS"];

        /// Maximum size of a plan file. A larger one is not read, and its node is `invalid` until
        /// the file is smaller.
        max_plan_bytes: u64 = 4 * 1024 * 1024, allowed "a number of bytes",
            env ["THROUGHLINE_MAX_PLAN_BYTES"];

        /// How new tickets get their ids: the next `number` above those of this tree, of all local
        /// and remote-tracking branches and of all worktrees, or a short `random` one, for teams
        /// that create tickets in parallel without a common server.
        ids: IdScheme = IdScheme::Number, env ["THROUGHLINE_IDS"];

        /// Timeout of a hook, after which it gives up and lets the agent continue. It waits for the
        /// write lock at most a quarter of this.
        // Not above the shortest timeout of a host: Claude Code gives its SessionEnd hooks 1.5 s.
        hook_deadline_ms: u64 = 1_500, allowed "a number of milliseconds",
            env ["THROUGHLINE_HOOK_DEADLINE_MS"];

        /// Lease time of a claim, counted from the last activity of its session.
        claim_lease_minutes: u64 = 30, allowed "a number of minutes",
            env ["THROUGHLINE_CLAIM_LEASE_MINUTES"];

        /// How much a session has to declare about its work, in a project with a trail. `strict`:
        /// no file is written before an intent is declared. `assisted`: signals are reported to the
        /// agent. `permissive`: signals are shown on request (`tl trail drift`). The environment can only
        /// make it stricter.
        governance: Governance = Governance::Assisted,
            env ["THROUGHLINE_GOVERNANCE"], rule refuse_looser;

        /// Maximum age of notes (`tl note`), after which `tl trail prune` removes them. Anchors stay.
        notes_kept_days: u32 = 0, allowed "a number of days; 0 keeps them for ever";
    }
    fields {
        /// The lines of `.throughline/allowed_signers` that count.
        #[serde(skip)]
        signers: BTreeSet<String>,
        gates: GatePolicy,
        commits: CommitPrefixes,
        review: ReviewPolicy,
        signals: SignalPolicy,
        briefing: BriefingPolicy,
        generation: GenerationPolicy,
    }
}

setting_table! {
    /// Mode of each gate, and the gates' thresholds.
    pub struct GatePolicy in [policy.gates] {
        /// What happens when an agent plans or writes below a parent that is missing or not
        /// approved. The environment can only make a gate stricter.
        hierarchy: GateMode = GateMode::Block,
            env ["THROUGHLINE_GATE_HIERARCHY"], rule refuse_looser;

        /// What happens when an agent overwrites a plan it has not read, or that changed since it
        /// did.
        read_before_write: GateMode = GateMode::Block,
            env ["THROUGHLINE_GATE_READ_BEFORE_WRITE"], rule refuse_looser;

        /// What happens when a write would remove most of a plan.
        shrink: GateMode = GateMode::Block, env ["THROUGHLINE_GATE_SHRINK"], rule refuse_looser;

        /// What happens when plans are changed in a session whose start was not reported by a hook.
        // Off, because not every host reports the start of a session: there the gate would block
        // every change of a plan.
        session: GateMode = GateMode::Off, env ["THROUGHLINE_GATE_SESSION"], rule refuse_looser;

        /// What happens when an agent continues to edit with more than `loc_limit` uncommitted
        /// changed lines. Applies where a profile has this gate, as `tickets` does.
        loc: GateMode = GateMode::Block, env ["THROUGHLINE_GATE_LOC"], rule refuse_looser;

        /// What happens when an agent edits after a ticket's phase changed, before the phase's
        /// guide was given and the work committed.
        phase: GateMode = GateMode::Block, env ["THROUGHLINE_GATE_PHASE"], rule refuse_looser;

        /// What happens at the first edit after entering a ticket whose context the agent has not
        /// been given.
        context: GateMode = GateMode::Block, env ["THROUGHLINE_GATE_CONTEXT"], rule refuse_looser;

        /// What happens when work has outgrown its level: more files than `scope_patch_files` in a patch or
        /// `scope_task_files` in a task, more scenarios than `scope_scenarios` in one ticket.
        scope: GateMode = GateMode::Block, env ["THROUGHLINE_GATE_SCOPE"], rule refuse_looser;

        /// What happens when an agent writes a node that another session has claimed.
        claim: GateMode = GateMode::Block, env ["THROUGHLINE_GATE_CLAIM"], rule refuse_looser;

        /// What happens when an agent's tool writes a decision file.
        decisions: GateMode = GateMode::Block, env ["THROUGHLINE_GATE_DECISIONS"], rule refuse_looser;

        /// What happens when an agent writes into a frozen plan document.
        frozen: GateMode = GateMode::Block, env ["THROUGHLINE_GATE_FROZEN"], rule refuse_looser;

        /// What happens when a node is completed that has open scenarios, open children, missing,
        /// failed or stale evidence, or an unresolved review.
        done: GateMode = GateMode::Block, env ["THROUGHLINE_GATE_DONE"], rule refuse_looser;

        /// What happens when a ticket is moved past a phase that its work level goes through. A person
        /// skips one with a reason (`tl ticket phase --reason`).
        order: GateMode = GateMode::Block, env ["THROUGHLINE_GATE_ORDER"], rule refuse_looser;

        /// What happens when a ticket leaves the phase `scenario-gate` before it and its scenarios are
        /// approved. Whose approval counts is `policy.approval`.
        scenario_approval: GateMode = GateMode::Off,
            env ["THROUGHLINE_GATE_SCENARIO_APPROVAL"], rule refuse_looser;

        /// What happens when a scenario is completed whose implementation no failing test preceded
        /// (`policy.commits`), or that has neither a commit nor evidence.
        test_first: GateMode = GateMode::Warn,
            env ["THROUGHLINE_GATE_TEST_FIRST"], rule refuse_looser;

        /// Maximum number of uncommitted changed lines; `loc_patch_percent` and `loc_task_percent` lower it
        /// for smaller work. The environment can only lower it.
        loc_limit: u64 = 400, allowed "a number of lines",
            env ["THROUGHLINE_GATE_LOC_LIMIT"], rule refuse_higher;

        /// Share of `loc_limit` that a ticket of the level `patch` has.
        // Half, because a patch is one place with nothing to decide.
        loc_patch_percent: u64 = 50, range 1..=100;

        /// Share of `loc_limit` that a ticket of the level `task` has.
        loc_task_percent: u64 = 100, range 1..=100;

        /// Maximum number of files that the work on a patch touches, over all its commits and sessions.
        scope_patch_files: u64 = 2, range 1..=10_000;

        /// Maximum number of files that the work on a task touches, over all its commits and sessions. A
        /// feature has no limit.
        scope_task_files: u64 = 5, range 1..=10_000;

        /// Maximum number of scenarios of a ticket without children; one with more should be split.
        scope_scenarios: u64 = 5, range 1..=10_000;

        /// Files excluded from the line count. Plans, tickets and `.throughline` are always
        /// excluded.
        loc_exclude: Vec<String> = list_of(GENERATED_FILE_PATTERNS),
            allowed "glob patterns; one without `/` is about the file's name";

        /// Minimum size of a plan after one write, in percent of its size before. The environment
        /// can only raise it.
        // A lower percentage lets more of a plan be deleted, so lower means looser here.
        shrink_below_percent: u64 = 40, range 0..=100,
            env ["THROUGHLINE_GATE_SHRINK_BELOW_PERCENT"], rule refuse_looser;

        /// Gates that block the agent when they cannot be evaluated because the state is locked,
        /// damaged or too slow. All others fail open: the agent continues, and the failure is
        /// logged and reported at its next contact.
        // The only one by default: a lost plan cannot be derived from anything, while what the
        // other gates prevent can be undone.
        fail_closed: Vec<String> = list_of(&["read-before-write"]),
            allowed "names of gates, as `tl gate list` shows them";
    }
}

setting_table! {
    /// Commit prefixes (the word before the colon) of the steps of a test-driven cycle.
    pub struct CommitPrefixes in [policy.commits] {
        /// Commit prefixes (the word before the colon) of a commit that adds a failing test.
        red: Vec<String> = list_of(&["test"]);

        /// Commit prefixes of a commit that makes the test pass.
        green: Vec<String> = list_of(&["feat", "fix"]);

        /// Commit prefixes of a commit that cleans up and ends the cycle.
        refactor: Vec<String> = list_of(&["refactor"]);
    }
}

setting_table! {
    /// Limits of a review.
    pub struct ReviewPolicy in [policy.review] {
        /// Who may judge the checks of a review: anyone, or only someone other than the author. The
        /// environment can only make it stricter.
        reviewer: ReviewerPolicy = ReviewerPolicy::Anyone,
            env ["THROUGHLINE_REVIEWER"], rule refuse_looser;

        /// Maximum number of iterations in which one check may fail. After that a MUST is escalated
        /// to a person, and SHOULD and COULD are accepted with that reason.
        // Below `max_iterations`, so that one check that never passes does not use up the review.
        cap: u32 = 5, range 1..=u32::MAX as u64, env ["THROUGHLINE_REVIEW_CAP"];

        /// Maximum number of iterations of one review. Findings still open after the last one are
        /// escalated to a person (MUST) or accepted.
        max_iterations: u32 = 8, range 1..=u32::MAX as u64,
            env ["THROUGHLINE_REVIEW_MAX_ITERATIONS"];

        /// Maximum cost of one review, in the unit its reviewers report with `--cost` (tokens,
        /// cents). When it is spent, the review ends as after its last iteration.
        budget: u64 = 0, allowed "a number; 0 sets no limit", env ["THROUGHLINE_REVIEW_BUDGET"];
    }
}

setting_table! {
    /// Thresholds of the signals. A threshold of 0 turns a signal off.
    pub struct SignalPolicy in [policy.signals] {
        /// Maximum number of tool calls since the session last mapped its position, before it is
        /// asked for a checkpoint.
        section_turns: u32 = 8, allowed "a number; 0 turns it off";

        /// Maximum number of reads and searches without a write since then, before it is asked
        /// whether it is stuck.
        reads_without_writes: u32 = 12, allowed "a number; 0 turns it off";

        /// Number of consecutive failed tool calls before the agent is advised to step back.
        failures: u32 = 3, allowed "a number; 0 turns it off";

        /// Number of calls that mention being stuck, retrying or going in circles, before it is
        /// reported.
        stuck_words_seen: u32 = 3, allowed "a number; 0 turns it off";

        /// Number of times a tactic is set with nearly the same text, before it is reported.
        repetitions: u32 = 4, allowed "a number; 0 turns it off";

        /// Number of writes without a declared action, before it is reported.
        undeclared_writes: u32 = 1, allowed "a number; 0 turns it off";

        /// Number of finished branches of the trail, before pruning is suggested.
        completed_branches: u32 = 5, allowed "a number; 0 turns it off";

        /// Minimum similarity, in percent, of two texts that count as nearly the same.
        // With 0 any two texts would count as the same.
        similar_percent: u8 = 80, range 1..=100;

        /// Minimum inactivity that is reported as a gap.
        warm_minutes: u64 = 30, allowed "a number of minutes";

        /// Minimum inactivity after which context was probably lost.
        stale_minutes: u64 = 120, allowed "a number of minutes";

        /// Words that indicate being stuck, in addition to the built-in ones.
        stuck_words: Vec<String> = Vec::new(), allowed "words or runs of words in any language";

        /// Disabled signals.
        off: Vec<String> = Vec::new(),
            allowed "names of signals: `failures`, `undeclared-writes`, `repetition`, `stuck-words`, `time-gap`, `section-turns`, `reads-without-writes`, `missing-tree`, `completed-branches`, `warm-gap`";
    }
}

setting_table! {
    /// Maximum length of a briefing; the smaller of both limits applies.
    // The compositor estimates four ASCII characters per token, so both limits agree for English
    // text; for other scripts the tokens are reached first.
    pub struct BriefingPolicy in [policy.briefing] {
        /// Maximum length of the briefing an agent gets, in characters. A host's own limit applies
        /// too.
        characters: usize = 6_000, allowed "a number of characters",
            env ["THROUGHLINE_BRIEFING_CHARACTERS"];

        /// Maximum length of the briefing an agent gets, in tokens.
        tokens: usize = 1_500, allowed "a number of tokens, estimated",
            env ["THROUGHLINE_BRIEFING_TOKENS"];
    }
}

setting_table! {
    /// Limits of the planner's context and of generated scenes.
    pub struct GenerationPolicy in [policy.generation] {
        /// Number of recent scenes whose full summaries are in the prompts of the planner and the
        /// writer.
        recent_scenes_count: usize = 3;

        /// Whether the planner's prompt has one line about every scene so far.
        include_overall_summary: bool = true;

        /// Maximum number of tokens of story context in a prompt (estimated). What does not fit is
        /// left out, the least important first.
        context_tokens: usize = 12_000, env ["THROUGHLINE_CONTEXT_TOKENS"];

        /// Target length of a scene in words. A scene of less than 40 % or more than 200 % is held for
        /// a person.
        scene_words: usize = 900;

        /// Maximum number of automatic revisions of a scene before a person has to decide.
        revisions: u32 = 2;

        /// Number of times in a tick that a planner gets the results of its queries and plans again.
        query_turns: usize = 1;

        /// Whether `tl story run` approves drafts that it comes to. Only where `policy.approval` lets
        /// anyone approve; else, and by default, it waits for a person.
        approve_drafts: bool = false;
    }
}
