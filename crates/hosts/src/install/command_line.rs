//! Command lines of our hooks: quoting for a shell, and recognition of our own entries.

use domain::host_event::Host;

use super::HookCall;

/// Returns the line that the host passes to its shell.
pub(crate) fn hook_command_line(program: &str, host: Host, event: Option<&str>) -> String {
    let mut line = format!("{} hook {}", quote_word(program), host.as_str());
    if let Some(event) = event {
        line.push(' ');
        line.push_str(event);
    }
    line
}

/// Quotes a word for a POSIX shell.
pub(super) fn quote_word(word: &str) -> String {
    // Plain paths stay unquoted: people read the line in their settings and in trust prompts.
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
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
        HookCall::Shell(line) => split_words(line),
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
            let line = hook_command_line(program, Host::Codex, None);
            assert_eq!(
                hook_program(Host::Codex, &HookCall::Shell(line.clone())).as_deref(),
                Some(program),
                "{line}"
            );
            assert_eq!(hook_program(Host::Gemini, &HookCall::Shell(line)), None);
        }
        assert_eq!(
            hook_command_line("/a b/tl", Host::Copilot, Some("preToolUse")),
            "'/a b/tl' hook copilot preToolUse"
        );
    }

    #[test]
    fn ours_are_told_from_others() {
        let ours = [
            "tl hook claude-code",
            "\"/a b/tl\" hook claude-code",
            "/a\\ b/tl   hook claude-code || { echo no >&2; exit 2; }",
            "THROUGHLINE_HOME=/x tl hook claude-code",
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
