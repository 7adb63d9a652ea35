//! The OpenCode plugin: OpenCode has no hooks that start a program, so a small plugin does.

use super::{Call, Entry, Found, Setup};

/// First words of the plugin, which identify it.
pub(super) const MARK: &str = "// Throughline in OpenCode.";

const TEMPLATE: &str = include_str!("../../assets/opencode/throughline.js");
const PROGRAM: &str = "const PROGRAM = ";
const STRICT: &str = "const STRICT = ";

/// Renders the plugin.
pub(super) fn plugin(program: &str, strict: bool) -> String {
    // A JSON string is also a JavaScript literal, whatever characters the path has.
    let program = serde_json::Value::from(program).to_string();
    let line = |line: &str| {
        if line.starts_with(PROGRAM) {
            format!("{PROGRAM}{program}\n")
        } else if line.starts_with(STRICT) {
            format!("{STRICT}{strict}\n")
        } else {
            format!("{line}\n")
        }
    };
    TEMPLATE.lines().map(line).collect()
}

/// Parses the program from the plugin; `None` if it is not ours.
pub(super) fn found(text: &str) -> Option<Found> {
    if !text.starts_with(MARK) {
        return None;
    }
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        serde_json::from_str::<serde_json::Value>(line).ok()
    };
    let program = value(PROGRAM)?.as_str()?.to_owned();
    let strict = value(STRICT)?.as_bool()?;
    // The plugin starts it without a shell.
    let call = Call::Program(
        program.clone(),
        vec!["hook".to_owned(), "opencode".to_owned()],
    );
    Some(Found {
        setup: Setup { program, strict },
        entries: vec![Entry {
            event: String::new(),
            call,
        }],
    })
}
