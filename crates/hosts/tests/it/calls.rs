//! Tool calls: names to kinds, inputs to touches, patches to both.

use domain::host_event::{FileEffect, Host, ToolCall, ToolKind};
use serde_json::{Value, json};

use crate::recorded::{call, read};

/// `kind: effect path, …`, with sizes.
fn shown(call: &ToolCall) -> String {
    let touches = call.touches.iter().map(|touch| {
        let path = &touch.path;
        match &touch.effect {
            FileEffect::Read => format!("read {path}"),
            FileEffect::Write { text: Some(text) } => format!("write {path} {text:?}"),
            FileEffect::Write { text: None } => format!("write {path}"),
            FileEffect::Edit { removed, added } => format!("edit {path} -{removed} +{added}"),
            FileEffect::Delete => format!("delete {path}"),
        }
    });
    format!(
        "{}: {}",
        call.kind.as_str(),
        touches.collect::<Vec<_>>().join(", ")
    )
    .trim_end()
    .to_owned()
}

fn check(host: Host, tool: &str, input: Value, expected: &str) {
    assert_eq!(
        shown(&call(host, tool, &input)),
        expected,
        "{host:?} {tool} {input}"
    );
}

#[test]
fn built_in_tools() {
    use Host::{ClaudeCode, Codex, Copilot, Cursor, Gemini, OpenCode};
    let replace = json!({ "file_path": "/p/a", "old_string": "one", "new_string": "three" });
    check(
        ClaudeCode,
        "Write",
        json!({ "file_path": "/p/a", "content": "x\n" }),
        "write: write /p/a \"x\\n\"",
    );
    check(
        ClaudeCode,
        "Write",
        json!({ "file_path": "/p/a", "content": "" }),
        "write: write /p/a \"\"",
    );
    check(ClaudeCode, "Edit", replace.clone(), "edit: edit /p/a -3 +5");
    let edits =
        json!([{ "old_string": "ä", "new_string": "" }, { "old_string": "b", "new_string": "cc" }]);
    check(
        ClaudeCode,
        "MultiEdit",
        json!({ "file_path": "/p/a", "edits": edits }),
        "edit: edit /p/a -3 +2",
    );
    let cell = json!({ "notebook_path": "/p/n.ipynb", "new_source": "1+1" });
    check(
        ClaudeCode,
        "NotebookEdit",
        cell,
        "edit: edit /p/n.ipynb -0 +3",
    );
    check(
        ClaudeCode,
        "Read",
        json!({ "file_path": "/p/a" }),
        "read: read /p/a",
    );
    check(
        ClaudeCode,
        "Grep",
        json!({ "pattern": "x", "path": "/p" }),
        "read:",
    );
    check(
        ClaudeCode,
        "Bash",
        json!({ "command": "rm -rf /p/a" }),
        "shell:",
    );
    check(
        ClaudeCode,
        "Agent",
        json!({ "prompt": "write /p/a" }),
        "agent:",
    );
    check(ClaudeCode, "Task", json!({}), "agent:");
    check(ClaudeCode, "TodoWrite", json!({ "todos": [] }), "other:");
    check(Codex, "spawn_agent", json!({ "message": "x" }), "agent:");
    check(Codex, "exec_command", json!({ "cmd": "ls" }), "shell:");
    check(
        Gemini,
        "write_file",
        json!({ "file_path": "a", "content": "x" }),
        "write: write a \"x\"",
    );
    check(Gemini, "replace", replace.clone(), "edit: edit /p/a -3 +5");
    check(
        Gemini,
        "read_many_files",
        json!({ "paths": ["a", "b/*"] }),
        "read: read a, read b/*",
    );
    check(
        Gemini,
        "run_shell_command",
        json!({ "command": "ls" }),
        "shell:",
    );
    check(
        Copilot,
        "create",
        json!({ "path": "/p/a", "file_text": "x" }),
        "write: write /p/a \"x\"",
    );
    check(
        Copilot,
        "edit",
        json!({ "path": "/p/a", "old_str": "a", "new_str": "bb" }),
        "edit: edit /p/a -1 +2",
    );
    check(
        Copilot,
        "view",
        json!({ "path": "/p/a" }),
        "read: read /p/a",
    );
    check(Copilot, "task", json!({ "prompt": "x" }), "agent:");
    check(
        OpenCode,
        "write",
        json!({ "filePath": "/p/a", "content": "x" }),
        "write: write /p/a \"x\"",
    );
    let opencode = json!({ "filePath": "/p/a", "oldString": "a", "newString": "" });
    check(OpenCode, "edit", opencode, "edit: edit /p/a -1 +0");
    check(OpenCode, "plan_exit", json!({}), "other:");
    check(
        Cursor,
        "Delete",
        json!({ "file_path": "/p/a" }),
        "delete: delete /p/a",
    );
    check(
        Cursor,
        "Shell",
        json!({ "command": "ls", "cwd": "" }),
        "shell:",
    );
    check(Cursor, "Write", replace, "write: edit /p/a -3 +5");
}

#[test]
fn one_tool_with_commands() {
    let check = |input, expected| check(Host::Copilot, "str_replace_editor", input, expected);
    check(json!({ "command": "view", "path": "a" }), "read: read a");
    check(
        json!({ "command": "create", "path": "a", "file_text": "x" }),
        "write: write a \"x\"",
    );
    check(
        json!({ "command": "str_replace", "path": "a", "old_str": "x" }),
        "edit: edit a -1 +0",
    );
    check(
        json!({ "command": "insert", "path": "a", "insert_text": "xy" }),
        "edit: edit a -0 +2",
    );
}

#[test]
fn claude_settings_under_copilot() {
    let input = json!({ "path": "/p/a", "file_text": "x" });
    let call = call(Host::ClaudeCode, "Write", &input);
    assert_eq!(
        (shown(&call).as_str(), call.id),
        ("write: write /p/a \"x\"", None)
    );
}

#[test]
fn servers_tools_by_their_names() {
    use Host::{ClaudeCode, Codex, Copilot, Cursor, Gemini, OpenCode};
    let file = json!({ "path": "a", "content": "x" });
    check(
        ClaudeCode,
        "mcp__files__write_file",
        file.clone(),
        "mcp: write a \"x\"",
    );
    check(
        Codex,
        "mcp__files__create_file",
        file.clone(),
        "mcp: write a \"x\"",
    );
    check(
        Gemini,
        "mcp_files_write_file",
        file.clone(),
        "mcp: write a \"x\"",
    );
    check(
        Copilot,
        "files-write_file",
        file.clone(),
        "mcp: write a \"x\"",
    );
    check(OpenCode, "files_save", file.clone(), "mcp: write a \"x\"");
    check(Cursor, "MCP:write_file", file.clone(), "mcp: write a \"x\"");
    check(
        ClaudeCode,
        "mcp__files__append_file",
        file.clone(),
        "mcp: edit a -0 +1",
    );
    check(
        ClaudeCode,
        "mcp__files__read_file",
        file.clone(),
        "mcp: read a",
    );
    check(
        ClaudeCode,
        "mcp__files__remove_file",
        file.clone(),
        "mcp: delete a",
    );
    check(ClaudeCode, "mcp__writer__lint", file.clone(), "mcp:");
    check(
        ClaudeCode,
        "mcp__files__create_directory",
        file.clone(),
        "mcp:",
    );
    check(
        ClaudeCode,
        "mcp__plan__create_node",
        json!({ "title": "x" }),
        "mcp:",
    );
    let edits = json!({ "path": "a", "edits": [{ "oldText": "x", "newText": "yy" }] });
    check(
        ClaudeCode,
        "mcp__files__edit_file",
        edits,
        "mcp: edit a -1 +2",
    );
    let files =
        json!({ "files": [{ "path": "a", "content": "x" }, { "path": "b", "content": {} }] });
    check(
        ClaudeCode,
        "mcp__files__write_files",
        files,
        "mcp: write a \"x\", write b",
    );
    let ends = json!({ "source": "a", "destination": "b" });
    check(
        ClaudeCode,
        "mcp__files__move_file",
        ends.clone(),
        "mcp: delete a, write b",
    );
    check(ClaudeCode, "mcp__files__copy_file", ends, "mcp: write b");
    check(
        OpenCode,
        "files_rename",
        json!({ "old_path": "a", "new_path": "b" }),
        "mcp: delete a, write b",
    );
    // Tools we do not know are read the same way.
    check(
        ClaudeCode,
        "SuperWrite",
        file.clone(),
        "other: write a \"x\"",
    );
    check(OpenCode, "explain", file, "other:");
}

#[test]
fn a_servers_name_is_not_what_its_tool_does() {
    let payload = json!({ "tool_name": "mcp_file_writer_read", "tool_input": { "path": "a" },
        "mcp_context": { "server_name": "file_writer", "tool_name": "read" } });
    let event = read(Host::Gemini, "BeforeTool", &payload).unwrap();
    assert_eq!(shown(event.happening.tool_call().unwrap()), "mcp: read a");
}

#[test]
fn the_input_may_be_a_text() {
    let input = json!("{\"path\":\"a\",\"content\":\"x\"}");
    check(Host::Cursor, "MCP:write_file", input, "mcp: write a \"x\"");
    let patch = json!("*** Begin Patch\n*** Delete File: a\n*** End Patch");
    check(Host::Codex, "apply_patch", patch, "edit: delete a");
}

const PATCH: &str = "*** Begin Patch\n*** Add File: new.md\n+one\n+\n+*** Begin Patch\n*** Update File: b.md\n@@ fn\n \
    *** Add File: context.md\n-old\n+newer\n+\n*** End of File\n*** Delete File: c.md\n*** Update File: d.md\n\
    *** Move to: e/d.md\n@@\n-x\n+y\n*** End Patch\n";
const PATCHED: &str = "edit: write new.md \"one\\n\\n*** Begin Patch\\n\", edit b.md -4 +7, delete c.md, \
    delete d.md, write e/d.md";

#[test]
fn a_patch_names_its_files() {
    check(
        Host::Codex,
        "apply_patch",
        json!({ "command": PATCH }),
        PATCHED,
    );
    check(
        Host::Codex,
        "apply_patch",
        json!({ "command": PATCH.replace('\n', "\r\n") }),
        PATCHED,
    );
    check(
        Host::Codex,
        "apply_patch",
        json!({ "command": ["apply_patch", PATCH] }),
        PATCHED,
    );
    check(
        Host::OpenCode,
        "apply_patch",
        json!({ "patchText": PATCH }),
        PATCHED,
    );
    check(
        Host::Copilot,
        "apply_patch",
        json!({ "input": PATCH }),
        PATCHED,
    );
    assert_eq!(
        call(Host::Codex, "apply_patch", &json!({ "command": PATCH })).command,
        None
    );
}

#[test]
fn odd_patches() {
    let check = |patch: &str, expected| {
        check(
            Host::Codex,
            "apply_patch",
            json!({ "command": patch }),
            expected,
        )
    };
    check("", "edit:");
    check("*** Add File: a\n+x\n", "edit:");
    check(
        "*** Begin Patch\n*** End Patch\n*** Delete File: a\n",
        "edit:",
    );
    check(
        "*** Begin Patch\n*** Add File:\n+x\n*** Move to: b\n",
        "edit:",
    );
    check("*** Begin Patch\n*** Move to: b\n", "edit:");
    check(
        "*** Begin Patch\n  *** Add File: a  \n+x",
        "edit: write a \"x\\n\"",
    );
    check(
        "*** Begin Patch\n*** Delete File: a\n*** End Patch\n*** Begin Patch\n*** Delete File: b",
        "edit: delete a, delete b",
    );
}

#[test]
fn a_patch_in_a_shell_command_is_a_patch() {
    let heredoc = format!("apply_patch <<'EOF'\n{PATCH}EOF\n");
    let patched = call(Host::Codex, "Bash", &json!({ "command": heredoc }));
    assert_eq!(
        (shown(&patched).as_str(), patched.command.as_ref()),
        (PATCHED, Some(&heredoc))
    );
    check(
        Host::Codex,
        "shell",
        json!({ "command": ["bash", "-lc", heredoc] }),
        PATCHED,
    );
    check(
        Host::Codex,
        "shell",
        json!({ "command": ["apply_patch", PATCH] }),
        PATCHED,
    );
    check(
        Host::ClaudeCode,
        "Bash",
        json!({ "command": format!("apply_patch '{PATCH}'") }),
        PATCHED,
    );

    let there = "cd \"sub dir\" && apply_patch <<EOF\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF";
    check(
        Host::Codex,
        "Bash",
        json!({ "command": there }),
        "edit: delete sub dir/a",
    );
    check(
        Host::Codex,
        "shell",
        json!({ "command": there, "workdir": "/p/" }),
        "edit: delete /p/sub dir/a",
    );
    check(
        Host::Codex,
        "Bash",
        json!({ "command": "echo apply_patch" }),
        "shell:",
    );
    check(
        Host::Codex,
        "Bash",
        json!({ "command": "grep '*** Begin Patch' -r ." }),
        "shell:",
    );
}

#[test]
fn commands_may_come_in_words() {
    let command = |input: Value| call(Host::Codex, "shell", &input).command;
    assert_eq!(
        command(json!({ "command": ["bash", "-lc", "ls -l"] })).as_deref(),
        Some("ls -l")
    );
    assert_eq!(
        command(json!({ "command": ["ls", "-l"] })).as_deref(),
        Some("ls -l")
    );
    assert_eq!(command(json!({ "cmd": "ls -l" })).as_deref(), Some("ls -l"));
    assert_eq!(command(json!({ "command": 7 })), None);
}

#[test]
fn half_a_character_does_not_hide_a_call() {
    let payload =
        br#"{"tool_name":"Write","tool_input":{"file_path":"a","content":"\ud83d \ud83d\ude00 \\ud83d \udc00"}}"#;
    let event = hosts::wire::read_event(Host::ClaudeCode, Some("PreToolUse"), payload)
        .unwrap()
        .unwrap();
    let call = event.happening.tool_call().unwrap();
    assert_eq!(call.kind, ToolKind::Write);
    assert_eq!(
        shown(call),
        "write: write a \"\u{fffd} 😀 \\\\ud83d \u{fffd}\""
    );
}
