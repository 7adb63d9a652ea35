//! Classifies tool calls by purpose: reading, writing, querying, or keeping the trail.
//!
//! A heuristic for signals only. The gates rely on `host_event`, which is strict about what it does
//! not know.

use serde::{Deserialize, Serialize};

use crate::host_event::{ToolCall, ToolKind};

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

/// Programs that only read.
const READ_ONLY_PROGRAMS: &[&str] = &[
    "cat", "head", "tail", "less", "more", "ls", "tree", "wc", "file", "stat", "diff", "cmp", "nl",
    "bat", "grep", "egrep", "fgrep", "rg", "ag", "find", "fd", "pwd", "echo", "printf", "which",
    "type", "env", "date", "du", "df", "ps", "jq",
];

/// Programs that change files.
const WRITING_PROGRAMS: &[&str] = &[
    "tee", "mv", "cp", "rm", "mkdir", "rmdir", "touch", "ln", "chmod", "chown", "patch",
    "truncate", "install", "dd", "rsync", "unzip", "tar",
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
        ToolKind::Mcp | ToolKind::Agent | ToolKind::Other => ToolUse::Query,
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
    let mut uses = Vec::new();
    // `2>&1` would otherwise be split at the `&`.
    for part in line.replace(">&", ">").split(['\n', ';', '|', '&']) {
        let mut words = part
            .split_whitespace()
            // Assignments before the program: `RUST_LOG=debug cargo test`.
            .skip_while(|word| word.contains('=') || *word == "sudo");
        let Some(program) = words.next() else {
            continue;
        };
        let program = program.rsplit('/').next().unwrap_or(program);
        // The value of an option may be taken for the verb (`git -C dir commit`); for a hint that
        // is good enough.
        let first = words.find(|word| !word.starts_with('-'));
        uses.push(match program {
            // Neither a read nor a write; agents put it before almost every command.
            "cd" => continue,
            "tl" => ToolUse::Governance,
            "sed" | "perl" if part.contains(" -i") => ToolUse::Write,
            "sed" | "awk" => ToolUse::Read,
            "git" if first.is_some_and(|word| WRITING_GIT_COMMANDS.contains(&word)) => {
                ToolUse::Write
            }
            "git" => ToolUse::Read,
            _ if WRITING_PROGRAMS.contains(&program) => ToolUse::Write,
            _ if READ_ONLY_PROGRAMS.contains(&program) => ToolUse::Read,
            _ => ToolUse::Query,
        });
    }
    if redirects_to_file(line) || uses.contains(&ToolUse::Write) {
        return ToolUse::Write;
    }
    // Governance first: a line with `tl` in it maps or asks for the position, whatever it is piped
    // into.
    for strongest in [ToolUse::Governance, ToolUse::Query, ToolUse::Read] {
        if uses.contains(&strongest) {
            return strongest;
        }
    }
    ToolUse::Query
}

/// Whether output is redirected into a file; `2>&1` and `>/dev/null` are not.
fn redirects_to_file(line: &str) -> bool {
    line.split('>').skip(1).any(|after| {
        let target = after.trim_start_matches('>').trim_start();
        !target.is_empty()
            && !target.starts_with('&')
            && !target.starts_with("/dev/null")
            && !target.starts_with('=')
    })
}
