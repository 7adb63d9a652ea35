//! What a use case says when it cannot do what was asked: what happened, and what to do next.

use domain::approval::{ApprovalRefused, ask_person_step};
use domain::cascade::TooDeep;
use domain::memory::NotKept;
use domain::ports::{FileFault, StoreFault};
use domain::reference::Unresolved;
use domain::revalidation::KeepRefused;
use domain::shown::ShownChanged;
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
    /// Something changed meanwhile.
    Conflict,
    /// The input is wrong.
    Invalid,
    /// The state cannot be used now: locked, damaged, read-only, from elsewhere.
    Unavailable,
    /// Our own mistake.
    Internal,
}

impl FailureKind {
    /// Returns the word used in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
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

/// A use case's failure.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub kind: FailureKind,
    pub message: String,
    /// Commands that can be pasted, or things to do.
    pub next_steps: Vec<String>,
    /// Set when the state is damaged: what is wrong. The edge may repair it and try again.
    pub damage: Option<String>,
    /// Set when somebody else was faster, and nothing happened: the edge runs the use case again, on what is there now.
    pub overtaken: bool,
    /// Set when what was decided was not kept by a server elsewhere: the edge puts back the files written for it.
    pub unkept: bool,
    /// What is there instead of what was expected, where somebody's version was another one.
    pub current: Option<Box<serde_json::Value>>,
}

impl Failure {
    /// Returns a failure without next steps.
    #[must_use]
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            next_steps: Vec::new(),
            damage: None,
            overtaken: false,
            unkept: false,
            current: None,
        }
    }

    /// Adds a next step.
    #[must_use]
    pub fn step(mut self, step: impl Into<String>) -> Self {
        self.next_steps.push(step.into());
        self
    }

    /// Adds what is there now.
    #[must_use]
    pub fn showing(mut self, current: serde_json::Value) -> Self {
        self.current = Some(Box::new(current));
        self
    }

    /// Says whether nothing is wrong with the state: a rule or the input said no.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(
            self.kind,
            FailureKind::Refused
                | FailureKind::NotFound
                | FailureKind::Conflict
                | FailureKind::Invalid
        )
    }
}

/// Joins an error with its sources.
fn with_sources(error: &dyn std::error::Error) -> String {
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
        let unavailable = Self::new(FailureKind::Unavailable, with_sources(&fault));
        match fault {
            StoreFault::Missing => Self::new(FailureKind::NotFound, "this is a project, but its state is gone")
                .step("tl rebuild   # from the plan files: everything is a draft again"),
            StoreFault::Damaged { what } => Self { damage: Some(what), ..unavailable }.step("tl repair"),
            StoreFault::Locked { holder: Some(pid) } => {
                unavailable.step(format!("wait, or look what process {pid} is doing")).step("try again")
            }
            StoreFault::Locked { holder: None } => unavailable.step("try again"),
            StoreFault::Newer { .. } => unavailable.step("install a newer version of tl"),
            StoreFault::Foreign { .. } => unavailable
                .step("tl adopt     # take over its approvals; a person's decision")
                .step("tl rebuild   # or start from the plan files: everything is a draft"),
            StoreFault::AnotherProject { .. } => Self { kind: FailureKind::Conflict, ..unavailable }
                .step("tl init --join-existing   # it is the same project: share its state")
                .step("tl init --name ANOTHER    # it is a different one: give this project another name there"),
            StoreFault::AnotherProgram { .. } => {
                unavailable.step("set `database` in .throughline/config.toml to another path")
            }
            StoreFault::ReadOnly { .. } => unavailable.step("make it writable, or work on a copy"),
            StoreFault::Full { .. } => unavailable.step("make room on the disk, then try again"),
            StoreFault::Moved => unavailable
                .step("start it again: `storage` in .throughline/config.toml says where the state is now")
                .step("tl repair --list-quarantine   # the state as it was here, to bring it back"),
            StoreFault::Unreachable { .. } => unavailable.step("check that it runs, and THROUGHLINE_DATABASE_URL"),
            StoreFault::Silent { may_be_kept, .. } => Self { unkept: !may_be_kept, ..unavailable }
                .step("try again when the server can be reached")
                .step("THROUGHLINE_OFFLINE=queue   # keep what you do, and send it later (docs/guides/remote.md)"),
            StoreFault::TurnedDown { next_steps, .. } => {
                Self { kind: FailureKind::Refused, next_steps, unkept: true, ..unavailable }
            }
            StoreFault::Overtaken => Self { overtaken: true, unkept: true, ..unavailable }.step("try again"),
            StoreFault::DoesNotFit { .. } => Self { kind: FailureKind::Conflict, ..unavailable },
            StoreFault::Io { .. } => unavailable,
        }
    }
}

impl From<FileFault> for Failure {
    fn from(fault: FileFault) -> Self {
        let kind = match &fault {
            FileFault::Outside { .. } | FileFault::NoFolder { .. } => FailureKind::Refused,
            FileFault::Exists { .. } => FailureKind::Conflict,
            FileFault::Io { .. } => FailureKind::Unavailable,
        };
        Self::new(kind, with_sources(&fault))
    }
}

impl From<TooDeep> for Failure {
    fn from(error: TooDeep) -> Self {
        Self::new(FailureKind::Refused, error.to_string())
            .step("tl check")
            .step("raise policy.cascade_max_depth in .throughline/config.toml if the tree is meant to be this deep")
    }
}

impl From<Unresolved> for Failure {
    fn from(error: Unresolved) -> Self {
        match &error {
            Unresolved::Nothing | Unresolved::NotAnAlias(_) => {
                Self::new(FailureKind::Invalid, error.to_string()).step("tl tree")
            }
            Unresolved::NotFound { near, .. } => {
                let mut failure = Self::new(FailureKind::NotFound, error.to_string());
                if !near.is_empty() {
                    failure
                        .message
                        .push_str(&format!("; did you mean {}?", quoted(near)));
                }
                failure.step("tl tree")
            }
            Unresolved::Ambiguous { candidates, .. } => {
                let failure = Self::new(FailureKind::Invalid, error.to_string());
                candidates.iter().fold(failure, |failure, path| {
                    failure.step(format!("say which one: {path}"))
                })
            }
        }
    }
}

fn quoted(words: &[String]) -> String {
    words
        .iter()
        .map(|word| format!("`{word}`"))
        .collect::<Vec<_>>()
        .join(" or ")
}

impl From<ApprovalRefused> for Failure {
    fn from(error: ApprovalRefused) -> Self {
        let failure = Self::new(FailureKind::Refused, error.to_string());
        match error {
            ApprovalRefused::ParentNotApproved {
                parent,
                parent_path,
                node,
                ..
            } => {
                let failure = match parent_path {
                    Some(path) => failure.step(format!("review {path}")),
                    None => failure,
                };
                failure
                    .step(format!("tl approve {parent}"))
                    .step(format!("tl approve {node}"))
            }
            ApprovalRefused::FileMissing { node, .. } => {
                failure.step(format!("tl versions {node}")).step("tl check")
            }
            ApprovalRefused::FileUnreadable { .. } => failure.step("write the plan as UTF-8 text"),
            ApprovalRefused::Condemned { node, .. } => failure
                .step("edit the plan")
                .step(format!("tl approve {node} --force")),
            ApprovalRefused::NotAPerson { node, .. } => failure.step(ask_person_step(&node)),
            ApprovalRefused::Warnings { node, warnings } => warnings
                .into_iter()
                .fold(failure, |failure, warning| {
                    failure.step(format!("warning: {warning}"))
                })
                .step(format!("tl approve {node} --force")),
            ApprovalRefused::Changed(changed) => changed.into(),
        }
    }
}

impl From<ShownChanged> for Failure {
    fn from(error: ShownChanged) -> Self {
        Self::new(
            FailureKind::Conflict,
            format!("{error}; nothing was decided"),
        )
        .step(format!(
            "tl show {}   # read it as it is now, then decide again",
            error.node()
        ))
    }
}

impl From<KeepRefused> for Failure {
    fn from(error: KeepRefused) -> Self {
        match error {
            KeepRefused::Approval(refused) => refused.into(),
            KeepRefused::NotStale { .. } => Self::new(FailureKind::Refused, error.to_string()),
            KeepRefused::ParentNotApproved { ref parent, .. } => {
                let step = format!("tl revalidate {parent}");
                Self::new(FailureKind::Refused, error.to_string()).step(step)
            }
        }
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
                failure.step(format!("tl versions {node}"))
            }
            NoSuchVersion::Unreadable(_) => failure,
        }
    }
}

impl From<UndoRefused> for Failure {
    fn from(error: UndoRefused) -> Self {
        let kind = match &error {
            UndoRefused::NoSuchOperation(_) => FailureKind::NotFound,
            UndoRefused::ChangedSince { .. } => FailureKind::Conflict,
            UndoRefused::Nothing
            | UndoRefused::Frozen { .. }
            | UndoRefused::UndoneAlready { .. }
            | UndoRefused::Beginning { .. }
            | UndoRefused::Policy { .. }
            | UndoRefused::NewFiles { .. } => FailureKind::Refused,
        };
        let failure = Self::new(kind, error.to_string()).step("tl log");
        match error {
            UndoRefused::UndoneAlready { by, .. } => {
                failure.step(format!("tl undo {by}   # undoes the undo"))
            }
            UndoRefused::Policy { .. } => failure.step("tl policy"),
            UndoRefused::Frozen { document, .. } => {
                failure.step(format!("tl doc revise --doc {document}"))
            }
            UndoRefused::ChangedSince { operation, .. } => failure.step(format!(
                "tl undo --to {}   # takes back everything since",
                operation.0.saturating_sub(1)
            )),
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
                failure.step("tl intent \"what this session is for\"")
            }
            MapRefused::NoTactic => failure.step("tl map tactic \"the way it is tried\""),
            MapRefused::TooLong(_) => failure.step("tl mem save \"the details\""),
            MapRefused::Empty => failure,
        }
    }
}

impl From<NotKept> for Failure {
    fn from(error: NotKept) -> Self {
        Self::new(FailureKind::Invalid, error.to_string())
    }
}

impl From<NotAStamp> for Failure {
    fn from(error: NotAStamp) -> Self {
        Self::new(FailureKind::Invalid, error.to_string()).step("tl session list")
    }
}

impl From<TokenRefused> for Failure {
    fn from(error: TokenRefused) -> Self {
        let failure = Self::new(FailureKind::Invalid, error.to_string());
        match error {
            TokenRefused::Name => failure,
            TokenRefused::Principal(_) => failure.step("--as human:anna").step("--as agent:ci/1"),
            TokenRefused::AgentDecides(_) => Self {
                kind: FailureKind::Refused,
                ..failure
            }
            .step("--scope agent")
            .step("--as human:NAME"),
        }
    }
}
