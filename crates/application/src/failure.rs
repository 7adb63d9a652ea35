//! Failure of a use case: kind, message, and the next commands to run.
//!
//! Every error of the domain is translated here once, so that all edges suggest the same next
//! steps.

use domain::approval::{ApprovalRefused, ask_person_next_step};
use domain::cascade::TooDeep;
use domain::documentation::guide_address;
use domain::expected_version::VersionConflict;
use domain::memory::NoteRefused;
use domain::node_reference::Unresolved;
use domain::ports::{FileFault, StoreFault};
use domain::profile::NotAnAlias;
use domain::revalidation::KeepRefused;
use domain::search::documents::InvalidQuery;
use domain::shape::ShapeRefused;
use domain::stamp::NotAStamp;
use domain::token::TokenRefused;
use domain::trail::MapRefused;
use domain::undo::UndoRefused;
use domain::version::NoSuchVersion;

/// The kinds of failure; edges translate them once (exit code, HTTP status, MCP error).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// A rule says no.
    Refused,
    NotFound,
    /// Write conflict: the state is not the one the caller knew.
    Conflict,
    /// The input is wrong.
    Invalid,
    /// The state is unusable now: locked, damaged, read-only, or from elsewhere.
    Unavailable,
    /// A bug in this program.
    Internal,
}

impl FailureKind {
    /// Returns the name used in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::NotFound => "not-found",
            Self::Conflict => "conflict",
            Self::Invalid => "invalid",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
        }
    }
}

/// Failure of a use case.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub kind: FailureKind,
    pub message: String,
    /// Commands to paste, or instructions.
    pub next_steps: Vec<String>,
    /// The present value, where the caller expected another version.
    pub current: Option<Box<serde_json::Value>>,
    /// Private, because only the runner of use cases acts on it; edges print the rest.
    interruption: Option<Interruption>,
}

/// A failure that the runner of use cases may recover from before any edge sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// Write conflict; nothing was changed. The runner retries on fresh state.
    Conflict,
    /// The state is damaged. The runner repairs it and retries once.
    Damage(String),
    /// A server did not store the operation. Not retried: it would be rejected again.
    Rejected,
}

/// Declares a constructor for each kind of failure: `Failure::refused("…")`.
macro_rules! failure_constructors {
    ($($name:ident: $kind:ident),+ $(,)?) => {
        $(
            #[doc = concat!("Returns a failure of the kind [`FailureKind::", stringify!($kind), "`].")]
            #[must_use]
            pub fn $name(message: impl Into<String>) -> Self {
                Self::new(FailureKind::$kind, message)
            }
        )+
    };
}

impl Failure {
    /// Returns a failure without next steps.
    #[must_use]
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            next_steps: Vec::new(),
            current: None,
            interruption: None,
        }
    }

    failure_constructors! {
        refused: Refused, not_found: NotFound, conflict: Conflict, invalid: Invalid,
        unavailable: Unavailable, internal: Internal,
    }

    /// Adds a next step.
    #[must_use]
    pub fn with_step(mut self, step: impl Into<String>) -> Self {
        self.next_steps.push(step.into());
        self
    }

    /// Adds the present value.
    #[must_use]
    pub fn with_current(mut self, current: serde_json::Value) -> Self {
        self.current = Some(Box::new(current));
        self
    }

    fn with_interruption(mut self, interruption: Interruption) -> Self {
        self.interruption = Some(interruption);
        self
    }

    /// Returns what stopped the use case, for the runner of use cases.
    #[must_use]
    pub fn interruption(&self) -> Option<&Interruption> {
        self.interruption.as_ref()
    }

    /// Whether the use case has to stop, because only its runner can retry or repair.
    #[must_use]
    pub fn needs_runner(&self) -> bool {
        matches!(
            self.interruption,
            Some(Interruption::Conflict | Interruption::Damage(_))
        )
    }

    /// Whether a rule or the input caused it, and the state itself is sound.
    pub(crate) fn is_rejection(&self) -> bool {
        matches!(
            self.kind,
            FailureKind::Refused
                | FailureKind::NotFound
                | FailureKind::Conflict
                | FailureKind::Invalid
        )
    }
}

/// Joins an error and its sources, which the display forms of our errors leave out.
fn message_with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

impl From<StoreFault> for Failure {
    fn from(fault: StoreFault) -> Self {
        // Most store errors are of this kind; the arms below change only what differs.
        let unavailable = Self::unavailable(message_with_sources(&fault));
        match fault {
            // Not `Unavailable`: waiting does not help, the state has to be created again.
            StoreFault::Missing => Self::not_found("this is a project, but its state is missing")
                .with_step("tl state rebuild   # from the plan files: everything is a draft again"),
            StoreFault::Damaged { what } => {
                unavailable.with_interruption(Interruption::Damage(what)).with_step("tl state repair")
            }
            StoreFault::Locked { holder: Some(pid) } => {
                unavailable.with_step(format!("wait, or check what process {pid} is doing")).with_step("try again")
            }
            StoreFault::Locked { holder: None } => unavailable.with_step("try again"),
            StoreFault::Newer { .. } => unavailable.with_step("install a newer version of tl"),
            // Approvals in a state from elsewhere were given by other people, so taking them over
            // is a decision and not a default.
            StoreFault::Foreign { .. } => unavailable
                .with_step("tl state adopt     # take over its approvals; a person's decision")
                .with_step("tl state rebuild   # or start from the plan files: everything is a draft"),
            StoreFault::AnotherProject { .. } => Self { kind: FailureKind::Conflict, ..unavailable }
                .with_step("tl init --join-existing   # it is the same project: share its state")
                .with_step("tl init --name ANOTHER    # it is a different one: give this project another name there"),
            StoreFault::AnotherProgram { .. } => {
                unavailable.with_step("set `database` in .throughline/config.toml to another path")
            }
            StoreFault::ReadOnly { .. } => unavailable.with_step("make it writable, or work on a copy"),
            StoreFault::Full { .. } => unavailable.with_step("make room on the disk, then try again"),
            StoreFault::Moved => unavailable
                .with_step("start it again: `storage` in .throughline/config.toml says where the state is now")
                .with_step("tl state quarantine   # the state as it was here, to bring it back"),
            StoreFault::Unreachable { .. } => unavailable.with_step("check that it runs, and THROUGHLINE_DATABASE_URL"),
            StoreFault::Silent { may_be_kept, .. } => {
                // A request that may have arrived before the connection broke is not a rejection:
                // removing its backups would contradict an operation that the server has stored.
                let interruption = (!may_be_kept).then_some(Interruption::Rejected);
                Self { interruption, ..unavailable }
                    .with_step("try again when the server can be reached")
                    .with_step(format!(
                        "THROUGHLINE_OFFLINE=queue   # keep what you do, and send it later: {}",
                        guide_address("remote")
                    ))
            }
            StoreFault::TurnedDown { next_steps, .. } => {
                Self { kind: FailureKind::Refused, next_steps, ..unavailable }
                    .with_interruption(Interruption::Rejected)
            }
            // A compare-and-swap that lost: nothing was stored, so that a retry is safe.
            StoreFault::Conflict => {
                unavailable.with_interruption(Interruption::Conflict).with_step("try again")
            }
            StoreFault::DoesNotFit { .. } => Self { kind: FailureKind::Conflict, ..unavailable },
            StoreFault::Io { .. } => unavailable,
        }
    }
}

impl From<FileFault> for Failure {
    fn from(fault: FileFault) -> Self {
        // A path outside the project or a missing folder is the caller's mistake, not a state of
        // the disk.
        let kind = match &fault {
            FileFault::Outside { .. } | FileFault::NoFolder { .. } => FailureKind::Refused,
            FileFault::Exists { .. } => FailureKind::Conflict,
            FileFault::Io { .. } => FailureKind::Unavailable,
        };
        Self::new(kind, message_with_sources(&fault))
    }
}

impl From<TooDeep> for Failure {
    fn from(error: TooDeep) -> Self {
        Self::refused(error.to_string())
            .with_step("tl check")
            .with_step("raise policy.cascade_max_depth in .throughline/config.toml if the tree is meant to be this deep")
    }
}

impl From<Unresolved> for Failure {
    fn from(error: Unresolved) -> Self {
        match &error {
            Unresolved::Nothing | Unresolved::NotAnAlias(_) => {
                Self::invalid(error.to_string()).with_step("tl tree")
            }
            Unresolved::NotFound { near, .. } => {
                // The suggestion is part of the message: it is a guess, and next steps are commands
                // to paste.
                let mut failure = Self::not_found(error.to_string());
                if !near.is_empty() {
                    failure
                        .message
                        .push_str(&format!("; did you mean {}?", quote_names(near)));
                }
                failure.with_step("tl tree")
            }
            Unresolved::Ambiguous { candidates, .. } => {
                let failure = Self::invalid(error.to_string());
                candidates.iter().fold(failure, |failure, path| {
                    failure.with_step(format!("use the full path: {path}"))
                })
            }
        }
    }
}

fn quote_names(words: &[String]) -> String {
    words
        .iter()
        .map(|word| format!("`{word}`"))
        .collect::<Vec<_>>()
        .join(" or ")
}

impl From<ApprovalRefused> for Failure {
    fn from(error: ApprovalRefused) -> Self {
        let failure = Self::refused(error.to_string());
        match error {
            ApprovalRefused::ParentNotApproved {
                parent,
                parent_file,
                node,
                ..
            } => {
                let failure = match parent_file {
                    Some(file) => failure.with_step(format!("review {file}")),
                    None => failure,
                };
                failure
                    .with_step(format!("tl approve {parent}"))
                    .with_step(format!("tl approve {node}"))
            }
            ApprovalRefused::FileMissing { node, .. } => failure
                .with_step(format!("tl versions {node}"))
                .with_step("tl check"),
            ApprovalRefused::FileUnreadable { .. } => {
                failure.with_step("write the plan as UTF-8 text")
            }
            ApprovalRefused::Condemned { node, .. } => failure
                .with_step("edit the plan")
                .with_step(format!("tl approve {node} --force")),
            ApprovalRefused::ChangesRequested { node, .. } => failure
                .with_step("change the text accordingly")
                .with_step(ask_person_next_step(&node)),
            ApprovalRefused::NotAPerson { node, .. } => {
                failure.with_step(ask_person_next_step(&node))
            }
            ApprovalRefused::NotShown { node, version } => failure
                .with_step(format!("tl diff {node}   # read it"))
                .with_step(format!(
                    "tl approve {node} --version {}",
                    version.short_hex()
                )),
            ApprovalRefused::Warnings { node, .. } => {
                failure.with_step(format!("tl approve {node} --force"))
            }
            ApprovalRefused::Changed(changed) => changed.into(),
        }
    }
}

impl From<VersionConflict> for Failure {
    fn from(error: VersionConflict) -> Self {
        // Of decisions and of writes alike.
        Self::conflict(format!("{error}; nothing was recorded")).with_step(format!(
            "tl show {}   # read it as it is now, then try again with that version",
            error.conflicting_node()
        ))
    }
}

impl From<KeepRefused> for Failure {
    fn from(error: KeepRefused) -> Self {
        match error {
            KeepRefused::Approval(refused) => refused.into(),
            // The caller, who knows the reader, adds the step about the parent.
            KeepRefused::NotStale { .. } | KeepRefused::ParentNotApproved { .. } => {
                Self::refused(error.to_string())
            }
        }
    }
}

impl From<InvalidQuery> for Failure {
    fn from(invalid: InvalidQuery) -> Self {
        Self::invalid(invalid.to_string())
            .with_step("tl search WORDS   # kind:, status: and under: narrow it down")
    }
}

impl From<NoSuchVersion> for Failure {
    fn from(error: NoSuchVersion) -> Self {
        let kind = match &error {
            NoSuchVersion::NotFound { .. } => FailureKind::NotFound,
            NoSuchVersion::Unreadable(_) | NoSuchVersion::Ambiguous { .. } => FailureKind::Invalid,
        };
        let failure = Self::new(kind, error.to_string());
        match error {
            NoSuchVersion::NotFound { node, .. } | NoSuchVersion::Ambiguous { node, .. } => {
                failure.with_step(format!("tl versions {node}"))
            }
            NoSuchVersion::Unreadable(_) => failure,
        }
    }
}

impl From<ShapeRefused> for Failure {
    fn from(error: ShapeRefused) -> Self {
        let kind = match &error {
            ShapeRefused::Taken { .. } => FailureKind::Conflict,
            ShapeRefused::NotAnAlias(_)
            | ShapeRefused::NameOfOtherParent { .. }
            | ShapeRefused::NoSplitPoint { .. }
            | ShapeRefused::NotAChild { .. } => FailureKind::Invalid,
            _ => FailureKind::Refused,
        };
        let failure = Self::new(kind, error.to_string());
        match &error {
            ShapeRefused::Taken { alias } => failure
                .with_step(format!(
                    "tl insert {alias}   # a new plan there; the others make room"
                ))
                .with_step(format!("tl move NODE --before {alias}   # another plan")),
            ShapeRefused::NameOfOtherParent { .. } => failure
                .with_step("tl move NODE --under PARENT   # names it as its new parent wants"),
            ShapeRefused::OutOfNumbers { level, .. } => failure.with_step(format!(
                "raise `numbers` of the level `{level}` in a profile of your own: {}",
                guide_address("custom-profiles")
            )),
            ShapeRefused::NotNumbered { level } => {
                failure.with_step(format!("tl add {level} --name NAME"))
            }
            ShapeRefused::NotAnAlias(NotAnAlias::Shape { names, .. }) if !names.is_empty() => {
                failure
                    .with_step(format!("a name instead of a number: {}", names.join(", ")))
                    .with_step(format!(
                        "more names, in a profile of your own: {}",
                        guide_address("custom-profiles")
                    ))
            }
            // The use case knows the headings.
            ShapeRefused::NoSplitPoint { .. } => failure,
            _ => failure.with_step("tl tree"),
        }
    }
}

impl From<UndoRefused> for Failure {
    fn from(error: UndoRefused) -> Self {
        let kind = match &error {
            UndoRefused::NoSuchOperation(_) => FailureKind::NotFound,
            UndoRefused::ChangedSince { .. }
            | UndoRefused::PlansBelow { .. }
            | UndoRefused::PlanGone { .. } => FailureKind::Conflict,
            UndoRefused::Nothing
            | UndoRefused::Frozen { .. }
            | UndoRefused::UndoneAlready { .. }
            | UndoRefused::Beginning { .. }
            | UndoRefused::Policy { .. }
            | UndoRefused::OverrideUsed { .. }
            | UndoRefused::OverrideAgain { .. }
            | UndoRefused::UnrecordedOverride { .. }
            | UndoRefused::FailedCheck { .. }
            | UndoRefused::PersonsDecision { .. }
            | UndoRefused::PersonsObjection { .. }
            | UndoRefused::NewFiles { .. } => FailureKind::Refused,
        };
        // Every refused undo starts with the log: it shows which operations are left and what they
        // did.
        let failure = Self::new(kind, error.to_string()).with_step("tl log");
        match error {
            UndoRefused::UndoneAlready { by, .. } => {
                failure.with_step(format!("tl undo {by}   # undoes the undo"))
            }
            UndoRefused::Policy { .. } => failure.with_step("tl policy"),
            UndoRefused::FailedCheck { operation, .. } => {
                failure.with_step(format!("ask the person to run: tl undo {operation}"))
            }
            UndoRefused::PersonsDecision { operation, .. } => failure.with_step(format!(
                "ask the person to undo it on the dashboard, or to run `tl undo {operation}` in their own terminal"
            )),
            UndoRefused::OverrideAgain { gate, subject } => {
                failure.with_step(format!("tl gate override {gate} {subject} --reason \"…\""))
            }
            UndoRefused::Frozen { document, .. } => {
                failure.with_step(format!("tl doc revise --doc {document}"))
            }
            UndoRefused::PlansBelow {
                operation, below, ..
            } => failure
                .with_step(format!("tl remove {below}"))
                .with_step(format!("tl undo {operation}   # when it is removed")),
            _ => failure,
        }
    }
}

impl From<MapRefused> for Failure {
    fn from(error: MapRefused) -> Self {
        let kind = match &error {
            MapRefused::Empty | MapRefused::TooLong(_) => FailureKind::Invalid,
            MapRefused::NoTrajectory(_)
            | MapRefused::NoTactic
            | MapRefused::Finished(_)
            | MapRefused::Trajectory => FailureKind::Refused,
        };
        let failure = Self::new(kind, error.to_string());
        match error {
            MapRefused::NoTrajectory(_) | MapRefused::Finished(_) | MapRefused::Trajectory => {
                failure.with_step("tl trail intent \"what this session is for\"")
            }
            MapRefused::NoTactic => {
                failure.with_step("tl trail map tactic \"the way it is tried\"")
            }
            MapRefused::TooLong(_) => failure.with_step("tl note add \"the details\""),
            MapRefused::Empty => failure,
        }
    }
}

impl From<NoteRefused> for Failure {
    fn from(error: NoteRefused) -> Self {
        Self::invalid(error.to_string())
    }
}

impl From<NotAStamp> for Failure {
    fn from(error: NotAStamp) -> Self {
        Self::invalid(error.to_string()).with_step("tl trail session list")
    }
}

impl From<TokenRefused> for Failure {
    fn from(error: TokenRefused) -> Self {
        let failure = Self::invalid(error.to_string());
        match error {
            TokenRefused::Name => failure,
            TokenRefused::Principal(_) => failure
                .with_step("--as human:anna")
                .with_step("--as agent:ci/1"),
            // The input is well-formed here; it is a rule that forbids it.
            TokenRefused::AgentDecides(_) => Self {
                kind: FailureKind::Refused,
                ..failure
            }
            .with_step("--scope agent")
            .with_step("--as human:NAME"),
        }
    }
}
