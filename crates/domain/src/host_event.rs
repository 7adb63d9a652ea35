//! Host events and replies in one vocabulary, independent of the agent host.
//!
//! Translating the hosts' wire formats is done in `crates/hosts`; nothing here knows their JSON
//! fields.

mod host;

use serde::{Deserialize, Serialize};

pub use self::host::Host;
pub use crate::shell_line::ShellLine;

/// An event in a host's session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEvent {
    pub host: Host,
    /// The host's name of the event, which some replies have to repeat.
    pub name: String,
    /// The host's session id; empty if it sends none.
    pub session: String,
    /// The host's turn id, if it has one.
    pub turn: Option<String>,
    /// The subagent, if any. A subagent's prompts do not come from a person.
    pub agent: Option<String>,
    /// The directory that paths are relative to, if the host sends it.
    pub directory: Option<String>,
    pub happening: Happening,
}

/// The kind of event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    ToolAboutToRun(ToolCall),
    ToolFinished {
        call: ToolCall,
        failed: bool,
    },
    /// A person sent a prompt. A slash command is in `prompt` as typed, `/plan-chapter 2`, even if
    /// the host sends only its expansion.
    PromptSubmitted {
        prompt: String,
    },
    SessionStarted {
        source: StartSource,
    },
    /// The conversation is about to be compacted.
    Compacting,
    Compacted,
    /// The agent wants to end its turn; `again` if a hook already made it continue.
    Stopping {
        again: bool,
    },
    /// A subagent is about to make its first request.
    SubagentStarted,
    SubagentStopping,
    SessionEnded,
}

impl Happening {
    /// Returns the name used in the hook ledger.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::ToolAboutToRun(_) => "tool-about-to-run",
            Self::ToolFinished { .. } => "tool-finished",
            Self::PromptSubmitted { .. } => "prompt-submitted",
            Self::SessionStarted { .. } => "session-started",
            Self::Compacting => "compacting",
            Self::Compacted => "compacted",
            Self::Stopping { .. } => "stopping",
            Self::SubagentStarted => "subagent-started",
            Self::SubagentStopping => "subagent-stopping",
            Self::SessionEnded => "session-ended",
        }
    }

    /// Returns the tool call, if the event has one.
    #[must_use]
    pub fn tool_call(&self) -> Option<&ToolCall> {
        match self {
            Self::ToolAboutToRun(call) | Self::ToolFinished { call, .. } => Some(call),
            _ => None,
        }
    }
}

/// Why a session starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartSource {
    Startup,
    Resume,
    Clear,
    Compact,
}

/// A tool call of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The host's call id, if it has one.
    pub id: Option<String>,
    /// The host's name of the tool.
    pub name: String,
    pub kind: ToolKind,
    /// The files named by the call, with the effect on them. A shell command names none.
    pub touches: Vec<Touch>,
    /// The command line of a shell tool.
    pub command: Option<String>,
    /// Free text of the call: a description, a prompt, a question. Not file content. For a skill or
    /// a slash command, the command as a person would type it.
    pub says: Option<String>,
}

impl ToolCall {
    /// Returns the command line of a shell tool, as the commands it runs.
    #[must_use]
    pub fn shell_line(&self) -> Option<ShellLine> {
        self.command.as_deref().map(ShellLine::parse)
    }

    /// Returns the text of a call that hands work over: the prompt of a subagent, or the command of a
    /// skill.
    #[must_use]
    pub fn delegated_text(&self) -> Option<&str> {
        let is_delegated = matches!(self.kind, ToolKind::Agent | ToolKind::Skill);
        self.says.as_deref().filter(|_| is_delegated)
    }

    /// Whether the call runs `tl`, by command or as an MCP tool.
    #[must_use]
    pub fn runs_tl(&self) -> bool {
        // A line that is not understood may run it: a false hit costs one comparison of notes, a
        // miss loses the session.
        let may_run = |line: ShellLine| {
            line.runs_program("tl")
                || !line.is_understood
                    && self
                        .command
                        .as_deref()
                        .is_some_and(|text| text.contains("tl"))
        };
        self.shell_line().is_some_and(may_run)
            || (self.kind == ToolKind::Mcp && self.name.contains("throughline"))
    }

    /// Whether the call runs a command that may write files, other than `tl` itself.
    #[must_use]
    pub fn may_write_by_command(&self) -> bool {
        // `tl` writes through its own rules, so its commands are not held back here.
        self.shell_line()
            .is_some_and(|line| !line.only_reads_or_own())
    }

    /// Whether the call may change files it does not name.
    #[must_use]
    pub fn may_change_anything(&self) -> bool {
        // A patch passed to a shell names its files, but the rest of the command line may change
        // others. A wrong no would skip a scan and miss a change, so doubt counts as yes.
        match self.shell_line() {
            Some(line) => !line.only_reads(),
            None => matches!(self.kind, ToolKind::Shell | ToolKind::Mcp | ToolKind::Agent),
        }
    }
}

/// The kind of tool, independent of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolKind {
    /// Writes a whole file.
    Write,
    /// Edits parts of one or several files.
    Edit,
    Delete,
    Shell,
    Read,
    Mcp,
    /// Starts a subagent.
    Agent,
    /// Runs a skill or a slash command, which only adds its text to the conversation.
    Skill,
    Other,
}

impl ToolKind {
    /// Returns the name used in the hook ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Shell => "shell",
            Self::Read => "read",
            Self::Mcp => "mcp",
            Self::Agent => "agent",
            Self::Skill => "skill",
            Self::Other => "other",
        }
    }
}

/// One file of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// As sent by the host: absolute, or relative to the event's directory.
    pub path: String,
    pub effect: FileEffect,
}

/// The effect of a call on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileEffect {
    Read,
    /// The whole file is written; with its text, if the host sends it.
    Write {
        text: Option<String>,
    },
    /// Parts are replaced: number of bytes removed and added.
    Edit {
        removed: usize,
        added: usize,
    },
    Delete,
}

impl FileEffect {
    /// Whether the file is changed.
    #[must_use]
    pub fn modifies_file(&self) -> bool {
        !matches!(self, Self::Read)
    }
}

/// Reply to a host event, before it is translated to the host's format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Block the event: fact, reason and next steps, the most important line first.
    pub block: Option<String>,
    /// Context for the model.
    pub context: Option<String>,
    /// Notice for the person, if the host can show it.
    pub notice: Option<String>,
    /// Replaces the host's compaction prompt, if the host allows that.
    pub compaction_prompt: Option<String>,
}

impl Reply {
    /// Whether the reply is empty.
    #[must_use]
    pub fn is_empty_reply(&self) -> bool {
        *self == Self::default()
    }
}
