//! The agent hosts, and what the rules have to know about each.
//!
//! One row of `define_hosts!` per host. Wire formats, settings files and environment variables are in
//! `crates/hosts`, one folder per host.

use serde::{Deserialize, Serialize};

/// Properties of a host that rules and use cases depend on.
struct HostTraits {
    display_name: &'static str,
    /// Folders with the host's settings in a project.
    settings_folders: &'static [&'static str],
    /// Settings files beside those folders.
    settings_files: &'static [&'static str],
    accepts_context_before_tools: bool,
    accepts_context_with_prompts: bool,
    accepts_context_at_subagent_start: bool,
    restarts_after_compaction: bool,
    keeps_start_context_apart: bool,
    needs_stop_follow_up: bool,
    max_context_size: usize,
    /// Whether the host measures context in bytes, and not in UTF-16 code units.
    counts_bytes: bool,
}

/// What most hosts have in common.
const COMMON: HostTraits = HostTraits {
    display_name: "",
    settings_folders: &[],
    settings_files: &[],
    accepts_context_before_tools: true,
    accepts_context_with_prompts: true,
    accepts_context_at_subagent_start: true,
    restarts_after_compaction: false,
    keeps_start_context_apart: true,
    needs_stop_follow_up: false,
    // Claude Code moves more than 10,000 characters to a file, Copilot accepts 10 KB of all hooks
    // together, the others showed no limit. With a margin, because the host may add a frame.
    max_context_size: 9_500,
    counts_bytes: false,
};

macro_rules! define_hosts {
    ($($host:ident $name:literal { $($property:ident: $value:expr),+ $(,)? })+) => {
        /// An agent host: a program that runs agents and calls our hooks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Host {
            $(#[serde(rename = $name)] $host,)+
        }

        impl Host {
            /// Every host, in display order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$host),+];

            /// Returns the name used on the command line and in JSON.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$host => $name),+ }
            }

            fn traits(self) -> HostTraits {
                match self { $(Self::$host => HostTraits { $($property: $value,)+ ..COMMON }),+ }
            }
        }
    };
}

define_hosts! {
    ClaudeCode "claude-code" {
        display_name: "Claude Code",
        settings_folders: &[".claude/"],
        settings_files: &[".mcp.json"],
        restarts_after_compaction: true,
    }
    Cursor "cursor" {
        display_name: "Cursor",
        settings_folders: &[".cursor/"],
        // These events have fields for a refusal only.
        accepts_context_with_prompts: false,
        accepts_context_at_subagent_start: false,
        // Its hook after an edit cannot block, and not every version has the one before it.
        needs_stop_follow_up: true,
    }
    OpenCode "opencode" {
        display_name: "OpenCode",
        settings_folders: &[".opencode/"],
        settings_files: &["opencode.json"],
        accepts_context_before_tools: false,
    }
    Codex "codex" {
        display_name: "Codex CLI",
        settings_folders: &[".codex/", ".agents/"],
        restarts_after_compaction: true,
        // It cuts the middle out of more than about 2,500 tokens, which are three to four bytes each.
        max_context_size: 8_000,
        counts_bytes: true,
    }
    Gemini "gemini" {
        display_name: "Gemini CLI",
        settings_folders: &[".gemini/"],
        accepts_context_before_tools: false,
        // It has no such event.
        accepts_context_at_subagent_start: false,
        // Headless, it puts the context before the prompt and only then looks for a slash command.
        keeps_start_context_apart: false,
    }
    Copilot "copilot" {
        display_name: "GitHub Copilot CLI",
        settings_folders: &[".agents/", ".github/hooks/"],
        settings_files: &[".mcp.json"],
        counts_bytes: true,
    }
}

impl Host {
    /// Parses a host's name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|host| host.as_str() == word)
    }

    /// Returns the product name.
    #[must_use]
    pub fn display_name(self) -> &'static str {
        self.traits().display_name
    }

    /// Whether a path of the project is a settings file of the host or lies in a folder of them.
    #[must_use]
    pub fn has_settings_at(self, path: &str) -> bool {
        let traits = self.traits();
        traits.settings_files.contains(&path)
            || traits
                .settings_folders
                .iter()
                .any(|folder| path.starts_with(folder))
    }

    /// Whether context from a hook before a tool call reaches the model.
    #[must_use]
    pub fn accepts_context_before_tools(self) -> bool {
        // Where it does not, context is delivered with the next prompt or after the tool.
        self.traits().accepts_context_before_tools
    }

    /// Whether context from a hook at a prompt reaches the model.
    #[must_use]
    pub fn accepts_context_with_prompts(self) -> bool {
        // Where it does not, context is delivered with the next tool.
        self.traits().accepts_context_with_prompts
    }

    /// Whether context at the start of a subagent reaches it.
    #[must_use]
    pub fn accepts_context_at_subagent_start(self) -> bool {
        // Where it does not, the context goes to the agent that starts it.
        self.traits().accepts_context_at_subagent_start
    }

    /// Whether the host sends a session start after it compacted a conversation.
    #[must_use]
    pub fn restarts_after_compaction(self) -> bool {
        // On the others a briefing is owed and goes out with the next event that can carry it.
        self.traits().restarts_after_compaction
    }

    /// Whether context at the start of a session leaves the prompt as it was typed.
    #[must_use]
    pub fn keeps_start_context_apart(self) -> bool {
        // On the others the briefing goes out with the first prompt.
        self.traits().keeps_start_context_apart
    }

    /// Whether an edit may pass unblocked, so that the agent has to be told before it stops.
    #[must_use]
    pub fn needs_stop_follow_up(self) -> bool {
        self.traits().needs_stop_follow_up
    }

    /// Returns the maximum context size the host passes on untruncated, in the unit of
    /// [`Host::context_size`].
    #[must_use]
    pub fn max_context_size(self) -> usize {
        self.traits().max_context_size
    }

    /// Returns the size of a text in the host's unit: bytes or UTF-16 code units.
    #[must_use]
    pub fn context_size(self, text: &str) -> usize {
        match self.traits().counts_bytes {
            true => text.len(),
            false => text.encode_utf16().count(),
        }
    }
}
