//! Finds the programs that a command really runs: behind keywords, behind programs that start
//! another one, and in the command line of a started shell.

use super::parser::parse_line;
use super::{ShellCommand, Word};

/// Keywords that stand before a command.
const KEYWORDS: &[&str] = &[
    "!", "{", "}", "do", "done", "elif", "else", "esac", "fi", "if", "then", "until", "while",
];

/// Keywords whose line names no program.
const LIST_KEYWORDS: &[&str] = &["case", "for", "function", "select"];

const SHELLS: &[&str] = &["bash", "dash", "ksh", "sh", "zsh"];

/// Programs that run the program in their arguments, with the options that take a value, and how
/// many words come before the program.
const WRAPPERS: &[(&str, &str, usize)] = &[
    ("builtin", "", 0),
    ("command", "", 0),
    ("doas", "uC", 0),
    ("env", "uCS", 0),
    ("exec", "a", 0),
    ("ionice", "cn", 0),
    ("nice", "n", 0),
    ("nohup", "", 0),
    ("setsid", "", 0),
    ("stdbuf", "ioe", 0),
    ("sudo", "ugpCrtTUDhR", 0),
    ("time", "fo", 0),
    ("timeout", "ks", 1),
    ("xargs", "InPdLsEa", 0),
];

/// Whether a word before the program sets a variable: `NAME=value`.
pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Returns the commands that a command runs, and whether they are certain.
pub(super) fn find_run_commands(
    mut command: ShellCommand,
    depth: usize,
) -> (Vec<ShellCommand>, bool) {
    let is_word =
        |word: &Word, words: &[&str]| word.is_literal && words.contains(&word.text.as_str());
    // Several may follow each other: `then if ! cmd`.
    while let Some(first) = command.words.first() {
        if !is_word(first, KEYWORDS) {
            break;
        }
        command.words.remove(0);
    }
    if command
        .words
        .first()
        .is_some_and(|first| is_word(first, LIST_KEYWORDS))
    {
        command.words.clear();
    }
    if command.words.is_empty() {
        // `> file` without a program empties the file.
        let only_writes = !command.writes.is_empty();
        return (
            if only_writes {
                vec![command]
            } else {
                Vec::new()
            },
            true,
        );
    }
    let mut is_certain = true;
    // Wrappers nest: `sudo env X=1 nice cmd`.
    while let Some(inner) = find_wrapped(&command) {
        let ShellCommand {
            has_assignments,
            writes,
            ..
        } = command;
        // An option of `env` may hold a whole command line.
        is_certain &= inner.is_certain;
        command = ShellCommand {
            has_assignments: has_assignments || inner.has_assignments,
            words: inner.words,
            writes,
        };
    }
    match find_inner_line(&command) {
        Some(inner) if inner.is_literal => {
            // The depth is bounded in `parse_line`: a line may quote itself any number of times.
            let mut line = parse_line(&inner.text, depth + 1);
            if !command.writes.is_empty() {
                // A redirection of the shell itself writes too, whatever it runs.
                line.commands.push(ShellCommand {
                    writes: std::mem::take(&mut command.writes),
                    ..ShellCommand::default()
                });
            }
            (line.commands, is_certain && line.is_understood)
        }
        // A line with a variable in it can be anything.
        Some(_) => (vec![command], false),
        None => (vec![command], is_certain),
    }
}

/// What a wrapper runs.
struct Wrapped {
    words: Vec<Word>,
    has_assignments: bool,
    is_certain: bool,
}

/// Returns the words behind a program that starts another one.
fn find_wrapped(command: &ShellCommand) -> Option<Wrapped> {
    let program = command.program()?;
    let (name, with_value, skipped) = WRAPPERS.iter().find(|(name, ..)| *name == program)?;
    let mut rest = command.arguments();
    let mut skip = *skipped;
    let mut has_assignments = false;
    while let Some((first, after)) = rest.split_first() {
        let text = first.text.as_str();
        if text.starts_with('-') && text.len() > 1 {
            let letters = text.trim_start_matches('-');
            // `-u ann`; in `-uann` and `--user=ann` the value is part of the word.
            let takes_next =
                letters.len() == 1 && with_value.contains(letters) && !text.starts_with("--");
            rest = after.get(usize::from(takes_next)..).unwrap_or_default();
        } else if matches!(*name, "env" | "sudo") && is_assignment(text) {
            has_assignments = true;
            rest = after;
        } else if skip > 0 {
            skip -= 1;
            rest = after;
        } else {
            break;
        }
    }
    let splits_text = *name == "env"
        && command
            .arguments()
            .iter()
            .any(|word| word.text.starts_with("-S") || word.text.starts_with("--split-string"));
    (!rest.is_empty()).then(|| Wrapped {
        words: rest.to_vec(),
        has_assignments,
        is_certain: !splits_text,
    })
}

/// Returns the command line that a shell or `eval` is given.
fn find_inner_line(command: &ShellCommand) -> Option<Word> {
    let program = command.program()?;
    if program == "eval" {
        let words = command.arguments();
        return Some(Word {
            text: words
                .iter()
                .map(|word| word.text.as_str())
                .collect::<Vec<_>>()
                .join(" "),
            is_literal: words.iter().all(|word| word.is_literal),
        });
    }
    if !SHELLS.contains(&program) {
        return None;
    }
    // `-c` may be among other letters, as in `bash -lc`.
    let at = command.arguments().iter().position(|word| {
        word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('c')
    })?;
    command.arguments().get(at + 1).cloned()
}
