//! What any agent host can tell us, and what we can answer, in one vocabulary.
//!
//! The hosts' own words are the business of `crates/hosts`; nothing here knows JSON field names.

mod shell_command;
mod shell_line;

use serde::{Deserialize, Serialize};

pub use self::shell_line::ShellLine;

/// A program that runs agents and asks us before and after what they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Host {
    ClaudeCode,
    Cursor,
    #[serde(rename = "opencode")]
    OpenCode,
    Codex,
    Gemini,
    Copilot,
}

impl Host {
    /// Every host, in the order they are listed to people.
    pub const ALL: [Self; 6] = [
        Self::ClaudeCode,
        Self::Cursor,
        Self::OpenCode,
        Self::Codex,
        Self::Gemini,
        Self::Copilot,
    ];

    /// Returns the word used on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::OpenCode => "opencode",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Copilot => "copilot",
        }
    }

    /// Returns the host of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|host| host.word() == word)
    }

    /// Says whether the model hears what is said before a tool runs.
    #[must_use]
    pub fn hears_before_tools(self) -> bool {
        match self {
            Self::ClaudeCode | Self::Cursor | Self::Codex | Self::Copilot => true,
            Self::OpenCode | Self::Gemini => false,
        }
    }

    /// Says whether the host tells of a start after it has compacted a conversation.
    #[must_use]
    pub fn starts_again_after_compaction(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Codex)
    }

    /// Says whether an edit may have passed that we could not hold back: then its agent is told before it stops.
    #[must_use]
    pub fn follows_up(self) -> bool {
        // Its hook after an edit cannot block, and not every version has the one before.
        matches!(self, Self::Cursor)
    }

    /// Returns how much context it passes on whole, in the unit of [`Host::size_of`].
    ///
    /// Claude Code spills what is above 10,000 characters to a file, Codex cuts the middle out of what is above
    /// about 2,500 tokens, Copilot takes 10 KB of all hooks together. Others have shown no limit.
    #[must_use]
    pub fn context_cap(self) -> usize {
        match self {
            Self::Codex => 8_000,
            Self::ClaudeCode | Self::Cursor | Self::OpenCode | Self::Gemini | Self::Copilot => {
                9_500
            }
        }
    }

    /// Returns how long a text is, as it counts: Codex and Copilot bytes, the others what JavaScript calls characters.
    #[must_use]
    pub fn size_of(self, text: &str) -> usize {
        match self {
            Self::Codex | Self::Copilot => text.len(),
            Self::ClaudeCode | Self::Cursor | Self::OpenCode | Self::Gemini => {
                text.encode_utf16().count()
            }
        }
    }

    /// Returns the name people know it by.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::OpenCode => "OpenCode",
            Self::Codex => "Codex CLI",
            Self::Gemini => "Gemini CLI",
            Self::Copilot => "GitHub Copilot CLI",
        }
    }
}

/// Something happened, or is about to, in a host's session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEvent {
    pub host: Host,
    /// The event as the host calls it: an answer has to repeat it on some.
    pub name: String,
    /// The host's id of the session; empty where it gives none.
    pub session: String,
    /// The host's id of the turn, where it has one.
    pub turn: Option<String>,
    /// The subagent it happened in. What a subagent is told does not come from a person.
    pub agent: Option<String>,
    /// The directory paths are relative to, where the host says.
    pub directory: Option<String>,
    pub happening: Happening,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    ToolAboutToRun(ToolCall),
    ToolFinished {
        call: ToolCall,
        failed: bool,
    },
    /// A person sent a prompt. A typed command is in `prompt` as it was typed, `/plan-chapter 2`, also
    /// where the host sends only what it made of it.
    PromptSubmitted {
        prompt: String,
    },
    SessionStarted {
        source: StartSource,
    },
    /// The conversation is about to be compacted.
    Compacting,
    Compacted,
    /// The agent wants to end its turn; `again` when a hook made it go on before.
    Stopping {
        again: bool,
    },
    SubagentStopping,
    SessionEnded,
}

impl Happening {
    /// Returns the word of the ledger.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::ToolAboutToRun(_) => "tool-about-to-run",
            Self::ToolFinished { .. } => "tool-finished",
            Self::PromptSubmitted { .. } => "prompt-submitted",
            Self::SessionStarted { .. } => "session-started",
            Self::Compacting => "compacting",
            Self::Compacted => "compacted",
            Self::Stopping { .. } => "stopping",
            Self::SubagentStopping => "subagent-stopping",
            Self::SessionEnded => "session-ended",
        }
    }

    /// Returns the tool call it is about.
    #[must_use]
    pub fn call(&self) -> Option<&ToolCall> {
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
    /// The host's id of the call, where it has one.
    pub id: Option<String>,
    /// The tool as the host calls it.
    pub name: String,
    pub kind: ToolKind,
    /// The files the call names, with what it does to them. A shell command names none.
    pub touches: Vec<Touch>,
    /// The command line of a shell tool.
    pub command: Option<String>,
    /// What the call says in words: a description, a prompt, a question. Not the text of a file.
    pub says: Option<String>,
}

impl ToolCall {
    /// Says whether the call runs a command that may write files, other than through our own program.
    #[must_use]
    pub fn may_write_by_command(&self) -> bool {
        self.command
            .as_deref()
            .is_some_and(|command| !shell_command::only_looks_or_is_ours(command))
    }

    /// Says whether the call may change files it does not name.
    #[must_use]
    pub fn may_change_anything(&self) -> bool {
        // A patch given to a shell names its files; what else stands in that command line does not.
        match &self.command {
            Some(command) => !shell_command::only_looks(command),
            None => matches!(self.kind, ToolKind::Shell | ToolKind::Mcp | ToolKind::Agent),
        }
    }
}

/// What a tool does, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolKind {
    /// Writes a whole file.
    Write,
    /// Changes a part of a file, or several files.
    Edit,
    Delete,
    Shell,
    Read,
    Mcp,
    /// Starts a subagent.
    Agent,
    Other,
}

impl ToolKind {
    /// Returns the word of the ledger.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Shell => "shell",
            Self::Read => "read",
            Self::Mcp => "mcp",
            Self::Agent => "agent",
            Self::Other => "other",
        }
    }
}

/// One file of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// As the host gave it: absolute, or relative to the event's directory.
    pub path: String,
    pub effect: Effect,
}

/// What a call does to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Read,
    /// The whole file is written; the text where the host shows it.
    Write {
        text: Option<String>,
    },
    /// Parts are replaced: so many bytes go, so many come.
    Edit {
        removed: usize,
        added: usize,
    },
    Delete,
}

impl Effect {
    /// Says whether the file is another one afterwards.
    #[must_use]
    pub fn changes(&self) -> bool {
        !matches!(self, Self::Read)
    }
}

/// Our answer, before a host's own words are found for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Do not let it happen: what, why and what to do next, the most important line first.
    pub block: Option<String>,
    /// For the model.
    pub context: Option<String>,
    /// For the person, where the host can show it.
    pub notice: Option<String>,
    /// Instead of the host's own prompt for a compaction, where it lets itself be replaced.
    pub compaction_prompt: Option<String>,
}

impl Reply {
    /// Says whether there is nothing to answer.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        *self == Self::default()
    }
}
