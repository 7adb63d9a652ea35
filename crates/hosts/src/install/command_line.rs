//! Command lines of our hooks: quoting for a shell, and recognition of our own entries.
//!
//! Settings are shared through a repository, so a line also runs on machines without the program.
//! There a guard ends it with exit code 0: several hosts block the tool or the prompt if a hook
//! fails. Installed strictly, the gate's line has no guard.

use domain::host_event::{Happening, Host, HostEvent, Reply, StartSource};
use domain::shell_line::quote_word;

use super::{HookCall, HookSetup};
use crate::host_spec;
use crate::wire::render_reply;

const GUARD_START: &str = "command -v ";
const GUARD_END: &str = "exit 0; }; ";
const STATUS_COMMAND: &str = "statusline";

/// Returns the line that the host passes to its shell.
pub(crate) fn hook_command_line(setup: &HookSetup, host: Host, event: &str) -> String {
    let program = quote_word(&setup.program);
    let guard = if setup.strict && event == host_spec(host).gate_event {
        String::new()
    } else {
        let warning = missing_program_warning(&setup.program, host, event);
        format!("{GUARD_START}{program} >/dev/null 2>&1 || {{ {warning}{GUARD_END}")
    };
    format!("{guard}{program} hook {}", host.as_str())
}

/// Returns the line that prints the position of a session for the host's status line.
pub(super) fn status_command_line(program: &str) -> String {
    let program = quote_word(program);
    format!("{GUARD_START}{program} >/dev/null 2>&1 || {{ {GUARD_END}{program} {STATUS_COMMAND}")
}

/// Whether a line prints our status line.
pub(super) fn is_status_command(line: &str) -> bool {
    let words = split_words(strip_guard(line));
    matches!(words.as_slice(), [program, command] if is_program_name(program) && command == STATUS_COMMAND)
}

/// Returns the commands that warn of a missing program: at the start of a session, in the host's own
/// format, and in Throughline projects only, because a plugin is active in all of a user's projects.
fn missing_program_warning(program: &str, host: Host, event: &str) -> String {
    if !event.eq_ignore_ascii_case("SessionStart") {
        return String::new();
    }
    let text = format!(
        "Throughline: `{program}` was not found on this machine, so the gates of this project are off. \
         Next: `npm install --global throughline` (or `cargo install throughline`), then `tl host doctor --fix`."
    );
    let event = HostEvent {
        host,
        name: event.to_owned(),
        session: String::new(),
        turn: None,
        agent: None,
        directory: None,
        happening: Happening::SessionStarted {
            source: StartSource::Startup,
        },
    };
    let reply = Reply {
        context: Some(text.clone()),
        notice: Some(text),
        ..Reply::default()
    };
    // `printf`, because `echo` in some shells interprets the backslashes of JSON.
    let answer = quote_word(&render_reply(&event, &reply));
    format!("[ ! -d .throughline ] || printf %s {answer}; ")
}

/// Whether a call ends without an error on a machine without the program.
pub(super) fn tolerates_missing_program(call: &HookCall) -> bool {
    matches!(call, HookCall::Shell(line) if strip_guard(line) != line)
}

fn strip_guard(line: &str) -> &str {
    line.strip_prefix(GUARD_START)
        .and_then(|rest| rest.rsplit_once(GUARD_END))
        .map_or(line, |(_, rest)| rest)
}

/// Whether a program may be installed: entries with another name would not be recognised later.
#[must_use]
pub fn is_program_name(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    matches!(name, "tl" | "tl.exe")
}

/// Returns the program of a call, if it is our hook for this host.
pub(super) fn hook_program(host: Host, call: &HookCall) -> Option<String> {
    let words = match call {
        HookCall::Shell(line) => split_words(strip_guard(line)),
        HookCall::Program(program, arguments) => {
            [std::slice::from_ref(program), arguments].concat()
        }
    };
    // `NAME=value` before the program sets its environment.
    let mut words = words.into_iter().skip_while(|word| is_assignment(word));
    let program = words.next().filter(|word| is_program_name(word))?;
    (words.next().as_deref() == Some("hook") && words.next().as_deref() == Some(host.as_str()))
        .then_some(program)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Splits a line as a shell would; an operator ends it.
fn split_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                let inside: String = chars.by_ref().take_while(|c| *c != '\'').collect();
                word.get_or_insert_default().push_str(&inside);
            }
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    word.push(if c == '\\' {
                        chars.next().unwrap_or(c)
                    } else {
                        c
                    });
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            ' ' | '\t' | '\n' => words.extend(word.take()),
            // What follows is another command, such as the fail-closed suffix.
            ';' | '|' | '&' | '<' | '>' | '(' | ')' => break,
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(program: &str, strict: bool) -> HookSetup {
        HookSetup {
            program: program.to_owned(),
            strict,
            status_line: false,
        }
    }

    #[test]
    fn a_line_is_known_again() {
        for program in [
            "tl",
            "/usr/local/bin/tl",
            "/home/me/my tools/tl",
            "/home/o'brien/tl",
            "/проект/tl",
            "C:\\x\\tl",
        ] {
            for (event, strict) in [
                ("SessionStart", false),
                ("PreToolUse", true),
                ("Stop", true),
            ] {
                let line = hook_command_line(&setup(program, strict), Host::Codex, event);
                let call = HookCall::Shell(line.clone());
                assert_eq!(
                    hook_program(Host::Codex, &call).as_deref(),
                    Some(program),
                    "{line}"
                );
                assert_eq!(hook_program(Host::Gemini, &call), None);
                assert_eq!(
                    tolerates_missing_program(&call),
                    event != "PreToolUse",
                    "{line}"
                );
            }
        }
        assert_eq!(
            hook_command_line(&setup("/a b/tl", false), Host::Copilot, "preToolUse"),
            "command -v '/a b/tl' >/dev/null 2>&1 || { exit 0; }; '/a b/tl' hook copilot"
        );
    }

    #[test]
    fn ours_are_told_from_others() {
        let ours = [
            "tl hook claude-code",
            "\"/a b/tl\" hook claude-code",
            "/a\\ b/tl   hook claude-code || { echo no >&2; exit 2; }",
            "THROUGHLINE_HOME=/x tl hook claude-code",
            "command -v tl >/dev/null 2>&1 || { exit 0; }; tl hook claude-code",
        ];
        let others = [
            "",
            "tl",
            "tl hook",
            "tl hook codex",
            "tl hook claude-code-2",
            "atl hook claude-code",
            "echo tl hook claude-code",
            "tl; hook claude-code",
            "tl-wrapper hook claude-code",
            "'tl hook claude-code'",
            "command -v tl && tl hook claude-code",
            "exit 0; }; tl hook claude-code",
        ];
        for line in ours {
            assert!(
                hook_program(Host::ClaudeCode, &HookCall::Shell(line.to_owned())).is_some(),
                "{line}"
            );
        }
        for line in others {
            assert_eq!(
                hook_program(Host::ClaudeCode, &HookCall::Shell(line.to_owned())),
                None,
                "{line}"
            );
        }
        let arguments = vec!["hook".to_owned(), "claude-code".to_owned()];
        assert!(
            hook_program(
                Host::ClaudeCode,
                &HookCall::Program("/x y/tl".to_owned(), arguments)
            )
            .is_some()
        );
    }
}
