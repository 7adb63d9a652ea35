//! Classification of tool calls: tool names of all hosts and what the tools do.
//!
//! One table for all hosts: they copy each other's names with their meaning, and some run under
//! another's settings.

use domain::host_event::{Happening, Host, ToolCall, ToolKind};
use serde_json::Value;

use super::fields::Fields;
use super::{patch, touches};
use crate::host_spec;

/// What a tool does to the files in its input.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileDeed {
    Read,
    Write,
    Edit,
    Delete,
    Move,
    Copy,
    /// Nothing: its input names no file, or none that can be known.
    Nothing,
}

/// A tool call as the host describes it.
pub(crate) struct DescribedCall {
    pub(crate) host: Host,
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) input: Value,
    /// Name of the tool at its MCP server, if the host says that it comes from one.
    pub(crate) server_tool: Option<String>,
}

/// Parses the call of a payload that has its fields at the top level.
fn read_tool_call(host: Host, fields: &Fields<'_>) -> ToolCall {
    let name = fields
        .first_text(&["tool_name", "toolName"])
        .unwrap_or_default();
    // Stated by the host, where it does: names alone are ambiguous.
    let from_server = fields.has("mcp_context") || fields.has("mcp_server");
    classify_call(DescribedCall {
        host,
        id: fields.first_text(&["tool_use_id", "toolUseId", "tool_call_id", "toolCallId"]),
        input: fields.first_value(&["tool_input", "toolArgs", "toolInput", "tool_args"]),
        server_tool: from_server.then(|| {
            fields
                .inner_fields("mcp_context")
                .first_text(&["tool_name"])
                .unwrap_or_else(|| strip_server_name(&name).to_owned())
        }),
        name,
    })
}

/// Parses a call that is about to run.
pub(crate) fn read_call_before(host: Host, fields: &Fields<'_>) -> Happening {
    Happening::ToolAboutToRun(read_tool_call(host, fields))
}

/// Parses a call that has run.
pub(crate) fn read_call_after(host: Host, fields: &Fields<'_>, failed: bool) -> Happening {
    let call = read_tool_call(host, fields);
    Happening::ToolFinished { call, failed }
}

pub(crate) fn classify_call(described: DescribedCall) -> ToolCall {
    let DescribedCall {
        host,
        id,
        name,
        input,
        server_tool,
    } = described;
    let input = normalize_input(input);
    let (kind, deed) = match server_tool
        .as_deref()
        .or_else(|| parse_server_tool(host, &name))
    {
        Some(tool) => (ToolKind::Mcp, guess_deed(tool)),
        None => classify_built_in(&name).unwrap_or_else(|| (ToolKind::Other, guess_deed(&name))),
    };
    // Read by its command line; the paths in a shell's input are working directories.
    if kind == ToolKind::Shell {
        return classify_shell_call(id, name, &input);
    }
    let (kind, deed) = match (kind, classify_editor_command(&input)) {
        // Only for editors: a shell has a field `command` too.
        (ToolKind::Edit, Some(command)) => command,
        _ => (kind, deed),
    };
    let says = match kind {
        ToolKind::Skill => read_skill_command(&input),
        ToolKind::Agent => collect_prose(&input, MAX_DELEGATED_CHARS),
        _ => collect_prose(&input, MAX_PROSE_CHARS),
    };
    ToolCall {
        id,
        touches: touches::touches_of_call(deed, &input),
        command: None,
        says,
        name,
        kind,
    }
}

/// Builds a shell call, or an edit if its command applies a patch.
fn classify_shell_call(id: Option<String>, name: String, input: &Value) -> ToolCall {
    let command = touches::read_command_line(input);
    let patched = command
        .as_deref()
        .map(|command| patched_by_shell(command, input))
        .unwrap_or_default();
    let kind = if patched.is_empty() {
        ToolKind::Shell
    } else {
        ToolKind::Edit
    };
    ToolCall {
        id,
        name,
        kind,
        touches: patched,
        command,
        says: collect_prose(input, MAX_PROSE_CHARS),
    }
}

/// Maximum length of a call's prose: signals are detected in it, and a hook has only milliseconds.
const MAX_PROSE_CHARS: usize = 4_000;

/// Maximum length of a subagent's prompt: the plan it is about may be named at its end.
const MAX_DELEGATED_CHARS: usize = 32_000;

/// Returns the command of a skill or a slash-command tool as a person would type it.
fn read_skill_command(input: &Value) -> Option<String> {
    let name = touches::first_text(input, &["skill", "command", "name"])?;
    let arguments = touches::first_text(input, &["args", "arguments"]).unwrap_or_default();
    let command = format!("/{} {arguments}", name.trim_start_matches('/'));
    Some(command.trim_end().to_owned())
}

/// Returns the prose in a call's input, without the content it writes: a file may mention anything.
fn collect_prose(input: &Value, max_chars: usize) -> Option<String> {
    let fields = [
        "description",
        "prompt",
        "query",
        "question",
        "explanation",
        "justification",
        "instruction",
        "message",
        "objective",
    ];
    // Codex may split the message to a subagent into items.
    let items = input.get("items").and_then(Value::as_array);
    let said: Vec<&str> = fields
        .iter()
        .filter_map(|field| input.get(*field)?.as_str())
        .chain(
            items
                .into_iter()
                .flatten()
                .filter_map(|item| item.get("text")?.as_str()),
        )
        .collect();
    (!said.is_empty()).then(|| said.join("\n").chars().take(max_chars).collect())
}

/// Returns what `apply_patch <<'EOF' …` touches, also after `cd DIR &&`.
fn patched_by_shell(command: &str, input: &Value) -> Vec<domain::host_event::Touch> {
    let Some((before, rest)) = command
        .split_once("apply_patch")
        .or_else(|| command.split_once("applypatch"))
    else {
        return Vec::new();
    };
    let base = touches::first_text(input, &["workdir", "cwd"]).unwrap_or_default();
    let inner = before
        .trim()
        .strip_suffix("&&")
        .and_then(|before| before.trim().strip_prefix("cd "));
    let base = inner.map_or_else(
        || base.to_owned(),
        |inner| patch::join_path(base, inner.trim().trim_matches(['"', '\''])),
    );
    patch::patch_touches(rest, &base)
}

/// Normalises the input to an object. Some hosts send the object as a string; a bare string is the
/// only argument.
fn normalize_input(input: Value) -> Value {
    match input {
        Value::String(text) => serde_json::from_str(&text)
            .ok()
            .filter(Value::is_object)
            .unwrap_or_else(|| serde_json::json!({ "command": text })),
        Value::Array(words) => serde_json::json!({ "command": words }),
        other => other,
    }
}

/// Returns the tool's own name if the host's name alone tells that it comes from an MCP server.
fn parse_server_tool(host: Host, name: &str) -> Option<&str> {
    if name.starts_with("mcp__") || name.starts_with("MCP:") {
        return Some(strip_server_name(name));
    }
    // Built-in tools first: `write_file` has the separator of OpenCode's server names.
    if classify_built_in(name).is_some() {
        return None;
    }
    (host_spec(host).quirks.parse_server_tool)(name)
}

/// Extracts `tool` from `mcp__server__tool` and `MCP:tool`.
fn strip_server_name(name: &str) -> &str {
    let name = name.strip_prefix("MCP:").unwrap_or(name);
    name.rsplit_once("__").map_or(name, |(_, tool)| tool)
}

/// Classifies the hosts' built-in tools.
fn classify_built_in(name: &str) -> Option<(ToolKind, FileDeed)> {
    Some(match name.to_ascii_lowercase().as_str() {
        "write" | "write_file" | "create" | "create_file" => (ToolKind::Write, FileDeed::Write),
        "edit"
        | "multiedit"
        | "multi_edit"
        | "edit_file"
        | "replace"
        | "search_replace"
        | "str_replace"
        | "strreplace"
        | "insert"
        | "str_replace_editor"
        | "str_replace_based_edit_tool"
        | "notebookedit"
        | "editnotebook"
        | "edit_notebook"
        | "patch"
        | "apply_patch"
        | "applypatch" => (ToolKind::Edit, FileDeed::Edit),
        "delete" | "delete_file" => (ToolKind::Delete, FileDeed::Delete),
        "read" | "read_file" | "read_many_files" | "view" | "notebookread" => {
            (ToolKind::Read, FileDeed::Read)
        }
        // They search many files; their path is only where the search starts.
        "grep"
        | "grep_search"
        | "search_file_content"
        | "rg"
        | "glob"
        | "ls"
        | "list"
        | "list_directory" => (ToolKind::Read, FileDeed::Nothing),
        "bash" | "shell" | "shell_command" | "local_shell" | "exec_command" | "write_stdin"
        | "run_shell_command" | "run_terminal_cmd" | "write_bash" | "powershell"
        | "write_powershell" => (ToolKind::Shell, FileDeed::Nothing),
        "agent" | "task" | "spawn_agent" | "send_input" | "delegate_to_agent" | "invoke_agent" => {
            (ToolKind::Agent, FileDeed::Nothing)
        }
        "skill" | "slashcommand" | "slash_command" | "activate_skill" => {
            (ToolKind::Skill, FileDeed::Nothing)
        }
        // Listed so that their underscore is not taken for the separator of a server's name.
        "plan_enter" | "plan_exit" => (ToolKind::Other, FileDeed::Nothing),
        _ => return None,
    })
}

/// Classifies tools such as `str_replace_editor`, whose `command` argument selects the operation.
fn classify_editor_command(input: &Value) -> Option<(ToolKind, FileDeed)> {
    Some(match input.get("command")?.as_str()? {
        "view" => (ToolKind::Read, FileDeed::Read),
        "create" => (ToolKind::Write, FileDeed::Write),
        "delete" => (ToolKind::Delete, FileDeed::Delete),
        "rename" => (ToolKind::Edit, FileDeed::Move),
        _ => return None,
    })
}

/// Guesses from its name what an unknown tool does. Errs on the strict side: gates check the path
/// as well.
fn guess_deed(name: &str) -> FileDeed {
    let name = name.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
    // `remove` contains `move`, so deletion is tested first.
    if says(&["delete", "remove", "unlink"]) {
        FileDeed::Delete
    } else if says(&["move", "rename"]) {
        FileDeed::Move
    } else if says(&["copy"]) {
        FileDeed::Copy
    } else if says(&["create_dir", "createdir", "create_folder", "createfolder"]) {
        FileDeed::Nothing
    } else if says(&["edit", "append", "patch", "replace", "insert"]) {
        FileDeed::Edit
    } else if says(&["write", "create", "save", "update"]) {
        FileDeed::Write
    } else if says(&["read", "get", "view"]) {
        FileDeed::Read
    } else {
        FileDeed::Nothing
    }
}
