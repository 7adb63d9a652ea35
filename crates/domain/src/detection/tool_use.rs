//! Classifies tool calls by purpose: reading, writing, querying, or keeping the trail.
//!
//! A heuristic for signals only. The gates rely on `host_event`, which is strict about what it does
//! not know.

use serde::{Deserialize, Serialize};

use crate::host_event::{ToolCall, ToolKind};
use crate::shell_line::{ShellCommand, ShellLine};

/// The purpose of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolUse {
    Read,
    Write,
    /// Searches, runs a program, queries a server.
    Query,
    /// Calls Throughline.
    Governance,
}

/// Names of Throughline's MCP tools; hosts add prefixes to them.
const OWN_TOOLS: &[&str] = &[
    "declare_intent",
    "map_context",
    "compact_session",
    "scan_hierarchy",
    "think_back",
    "check_drift",
    "self_rate",
    "save_anchor",
    "save_mem",
    "recall_mems",
    "list_shelves",
    "hierarchy_prune",
    "hierarchy_migrate",
];

/// Programs that only read, beside those known to change nothing.
const READING_PROGRAMS: &[&str] = &[
    "ag", "awk", "bat", "env", "fd", "find", "less", "more", "sed",
];

/// Git commands that change files or history.
const WRITING_GIT_COMMANDS: &[&str] = &[
    "add",
    "commit",
    "apply",
    "am",
    "merge",
    "rebase",
    "cherry-pick",
    "revert",
    "checkout",
    "switch",
    "restore",
    "reset",
    "stash",
    "mv",
    "rm",
    "clean",
    "pull",
    "tag",
    "init",
    "clone",
];

/// Returns the purpose of a tool call.
#[must_use]
pub fn classify_tool_call(call: &ToolCall) -> ToolUse {
    if is_own_tool(&call.name) {
        return ToolUse::Governance;
    }
    match call.kind {
        ToolKind::Write | ToolKind::Edit | ToolKind::Delete => ToolUse::Write,
        ToolKind::Read => ToolUse::Read,
        ToolKind::Shell => call
            .command
            .as_deref()
            .map_or(ToolUse::Query, classify_command_line),
        // The purpose of a foreign tool is unknown, but a file it changes makes it a write.
        ToolKind::Mcp | ToolKind::Other
            if call
                .touches
                .iter()
                .any(|touch| touch.effect.modifies_file()) =>
        {
            ToolUse::Write
        }
        ToolKind::Mcp | ToolKind::Agent | ToolKind::Skill | ToolKind::Other => ToolUse::Query,
    }
}

/// Whether a tool is one of Throughline's.
fn is_own_tool(name: &str) -> bool {
    // The suffix is compared, because each host prefixes the server's name in its own way, such as
    // `mcp__throughline__map_context`.
    let name = name.to_ascii_lowercase();
    OWN_TOOLS.iter().any(|tool| name.ends_with(tool))
}

/// Classifies a command line by the strongest use among its programs.
fn classify_command_line(line: &str) -> ToolUse {
    let line = ShellLine::parse(line);
    let uses: Vec<ToolUse> = line.commands.iter().filter_map(classify_command).collect();
    // Governance before queries and reads: a line with `tl` in it maps or asks for the position,
    // whatever it is piped into. Only a write is stronger.
    [
        ToolUse::Write,
        ToolUse::Governance,
        ToolUse::Query,
        ToolUse::Read,
    ]
    .into_iter()
    .find(|strongest| uses.contains(strongest))
    .unwrap_or(ToolUse::Query)
}

/// Classifies one command; `None` for one that is neither a read nor a write.
fn classify_command(command: &ShellCommand) -> Option<ToolUse> {
    if !command.writes.is_empty() || command.is_writing_program() {
        return Some(ToolUse::Write);
    }
    let verb = command
        .arguments()
        .iter()
        .find(|word| !word.text.starts_with('-'));
    Some(match command.program()? {
        // Agents put it before almost every command.
        "cd" => return None,
        "tl" => ToolUse::Governance,
        "sed" | "perl" if command.edits_in_place() => ToolUse::Write,
        "git" if verb.is_some_and(|word| WRITING_GIT_COMMANDS.contains(&word.text.as_str())) => {
            ToolUse::Write
        }
        "git" => ToolUse::Read,
        program if READING_PROGRAMS.contains(&program) => ToolUse::Read,
        _ if command.only_reads() => ToolUse::Read,
        _ => ToolUse::Query,
    })
}
