//! The OpenCode plugin: OpenCode has no hooks that start a program, so a small plugin does.

use crate::install::{HookCall, HookEntry, HookSetup, InstalledHooks};

/// First words of the plugin, which identify it.
pub(super) const PLUGIN_MARK: &str = "// Throughline in OpenCode.";

const PLUGIN_TEMPLATE: &str = include_str!("../../assets/opencode/throughline.js");
/// Loads the plugin as OpenCode would, and calls its gate.
///
/// The plugin comes on stdin and is not imported from its file: what is run must be the text that
/// was checked, even if the file changes meanwhile.
pub(super) const PROBE_SCRIPT: &str = r#"
    let text = "";
    process.stdin.setEncoding("utf8");
    for await (const piece of process.stdin) text += piece;
    const plugin = await import("data:text/javascript;base64," + Buffer.from(text).toString("base64"));
    const directory = process.cwd();
    const hooks = await plugin.Throughline({ directory, worktree: directory, client: {} });
    const input = { tool: "read", sessionID: "throughline-doctor", callID: "throughline-doctor" };
    await hooks["tool.execute.before"](input, { args: { filePath: directory + "/throughline-doctor.txt" } });
"#;
const PROGRAM_LINE: &str = "const PROGRAM = ";
const STRICT_LINE: &str = "const STRICT = ";

/// Renders the plugin.
pub(super) fn render_plugin(setup: &HookSetup) -> String {
    let strict = setup.strict;
    // A JSON string is also a JavaScript literal, whatever characters the path has.
    let program = serde_json::Value::from(setup.program.as_str()).to_string();
    let line = |line: &str| {
        if line.starts_with(PROGRAM_LINE) {
            format!("{PROGRAM_LINE}{program}\n")
        } else if line.starts_with(STRICT_LINE) {
            format!("{STRICT_LINE}{strict}\n")
        } else {
            format!("{line}\n")
        }
    };
    PLUGIN_TEMPLATE.lines().map(line).collect()
}

/// Parses the program from the plugin; `None` if it is not ours.
pub(super) fn find_installed(text: &str) -> Option<InstalledHooks> {
    if !text.starts_with(PLUGIN_MARK) {
        return None;
    }
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        serde_json::from_str::<serde_json::Value>(line).ok()
    };
    let program = value(PROGRAM_LINE)?.as_str()?.to_owned();
    let strict = value(STRICT_LINE)?.as_bool()?;
    // The plugin starts it without a shell.
    let call = HookCall::Program(
        program.clone(),
        vec!["hook".to_owned(), "opencode".to_owned()],
    );
    Some(InstalledHooks {
        setup: HookSetup {
            program,
            strict,
            status_line: false,
        },
        entries: vec![HookEntry {
            event: String::new(),
            call,
        }],
    })
}
