//! Recognises read-only shell commands, after which no rescan of the plan files is needed.
//!
//! An allowlist: most commands an agent runs are of this kind. A quote, a variable or an unknown
//! program may hide anything, so such a line counts as one that may change files. A wrong "may
//! change" costs time; a wrong "read-only" would miss a change.

/// Programs that never write a file, whatever their arguments.
const READ_ONLY_PROGRAMS: &[&str] = &[
    // Absent on purpose: `awk` can write files, `env`, `time` and `xargs` run other programs, and
    // `less` can start an editor.
    "basename",
    "cat",
    "cd",
    "cmp",
    "column",
    "comm",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "false",
    "fgrep",
    "fold",
    "grep",
    "head",
    "id",
    "jq",
    "ls",
    "md5sum",
    "nl",
    "od",
    "paste",
    "printf",
    "ps",
    "pwd",
    "readlink",
    "realpath",
    "rev",
    "seq",
    "sha256sum",
    "sleep",
    "stat",
    "tac",
    "tail",
    "test",
    "tr",
    "true",
    "type",
    "uname",
    "wc",
    "which",
    "whoami",
];

/// Programs that write or run something only with one of these options.
const READ_ONLY_UNLESS_OPTION: &[(&str, &[&str])] = &[
    ("file", &["-C", "--compile"]),
    (
        "find",
        &[
            "-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok",
            "-okdir",
        ],
    ),
    // Both options run a program.
    ("rg", &["--pre", "--hostname-bin"]),
    ("sort", &["-o", "--output", "--compress-program"]),
    ("tree", &["-o", "-R"]),
    // Its second operand is an output file, which is checked separately.
    ("uniq", &[]),
];

/// Read-only git commands. Most accept options that write a file, which are checked separately.
const READ_ONLY_GIT_COMMANDS: &[&str] = &[
    "blame",
    "cat-file",
    "describe",
    "diff",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "rev-parse",
    "shortlog",
    "show",
    "status",
];

/// Redirections that write no file.
const HARMLESS_REDIRECTIONS: &[&str] = &[
    "2>/dev/null",
    "2> /dev/null",
    ">/dev/null",
    "> /dev/null",
    "2>&1",
    "&>/dev/null",
];

/// Whether a command line is known to change no file.
pub(super) fn is_read_only(command: &str) -> bool {
    let command = HARMLESS_REDIRECTIONS
        .iter()
        .fold(command.to_owned(), |text, word| text.replace(word, " "));
    // What is left after the harmless redirections writes a file or runs another command line.
    if command.contains(['>', '`']) || command.contains("$(") || command.contains("<(") {
        return false;
    }
    // Split without regard to quotes: `grep 'a; rm b' c` counts as two commands, the second
    // unknown, and is refused. That errs on the safe side and needs no shell parser on the hook's
    // path.
    let mut parts = command
        .split([';', '|', '&', '\n'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .peekable();
    // An empty line is not a command, so nothing is known about it.
    parts.peek().is_some() && parts.all(is_read_only_call)
}

/// Whether a command line is known to change no file except through `tl` itself.
pub(super) fn is_read_only_or_own(command: &str) -> bool {
    let hides =
        |part: &str| part.contains(['>', '`']) || part.contains("$(") || part.contains("<(");
    // The exact word `tl`: a path such as `./tl` may be another program.
    let is_ours = |part: &str| part.split_whitespace().next() == Some("tl") && !hides(part);
    let command = HARMLESS_REDIRECTIONS
        .iter()
        .fold(command.to_owned(), |text, word| text.replace(word, " "));
    let mut parts = command
        .split([';', '|', '&', '\n'])
        .map(str::trim)
        .filter(|part| !part.is_empty());
    parts.all(|part| is_ours(part) || is_read_only(part))
}

/// Whether one simple command only reads.
fn is_read_only_call(part: &str) -> bool {
    let mut words = part.split_whitespace();
    let Some(program) = words.next() else {
        return true;
    };
    // A short option may be combined with others (`-uo file`), a long one may carry its value
    // (`--output=file`).
    let asks = |word: &str, for_it: &str| match for_it
        .strip_prefix('-')
        .filter(|rest| rest.len() == 1)
    {
        Some(letter) => word.starts_with('-') && !word.starts_with("--") && word.contains(letter),
        None => word.split('=').next() == Some(for_it),
    };
    if READ_ONLY_PROGRAMS.contains(&program) {
        return true;
    }
    if let Some((_, unless)) = READ_ONLY_UNLESS_OPTION
        .iter()
        .find(|(name, _)| *name == program)
    {
        let plain: Vec<&str> = words
            .clone()
            .filter(|word| !word.starts_with('-'))
            .collect();
        // `uniq IN OUT` writes its second operand.
        return (program != "uniq" || plain.len() < 2)
            && !words.any(|word| unless.iter().any(|one| asks(word, one)));
    }
    match program {
        "git" => {
            // The verb has to be the first word: `git -c alias.x='!rm' x` can run anything.
            words
                .next()
                .is_some_and(|verb| READ_ONLY_GIT_COMMANDS.contains(&verb))
                && !words.any(|word| {
                    asks(word, "--output")
                        || asks(word, "--ext-diff")
                        || word.starts_with("--open-files")
                        || word.starts_with("-O")
                })
        }
        "sed" => {
            // Only the form agents use to page through a file.
            words.next() == Some("-n")
                && words.next().is_some_and(is_print_script)
                && words.all(|word| !word.starts_with('-'))
        }
        _ => false,
    }
}

/// Whether a `sed` script is only an address and `p`, such as `10,20p`: other commands (`w`, `e`)
/// can write files and run programs.
fn is_print_script(script: &str) -> bool {
    let bare = script.trim_matches(['\'', '"']);
    bare.strip_suffix('p').is_some_and(|lines| {
        lines
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, ',' | '$'))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{is_read_only, is_read_only_or_own};

    #[test]
    fn what_only_looks() {
        for command in [
            "ls -la",
            "cat src/main.rs | head -50",
            "rg -n 'fn main' crates 2>/dev/null",
            "cd /tmp && git status --short && git log --oneline -5",
            "sed -n '10,20p' src/main.rs",
            "find . -name '*.rs' | sort | uniq -c",
            "grep -rn план plans; wc -l plans/act-1.md",
            "git diff HEAD~1 -- src >/dev/null 2>&1",
            "tail -f log &",
        ] {
            assert!(is_read_only(command), "{command}");
        }
    }

    #[test]
    fn what_may_change_something() {
        for command in [
            "",
            "   ",
            "cargo test",
            "echo hello > plans/act-1.md",
            "cat a >> b",
            "ls; rm -rf plans",
            "grep -l x $(rm plans/act-1.md)",
            "cat `rm a`",
            "diff <(rm a) b",
            "sed -i 's/a/b/' plans/act-1.md",
            // The script's own `w` command writes a file.
            "sed -n 'w plans/act-1.md' a",
            "sed -n 10p -i a",
            "find plans -name '*.md' -delete",
            "find . -exec rm {} +",
            "sort -o plans/act-1.md a",
            "sort -uo plans/act-1.md a",
            "sort --output=plans/act-1.md a",
            "uniq a plans/act-1.md",
            "git commit -am x",
            "git checkout .",
            "git diff --output=plans/act-1.md",
            // Harmless, but options before the verb are not parsed.
            "git -C x status",
            "xargs rm",
            "ls | xargs rm",
            // An assignment can change which program is run.
            "PAGER=rm git log",
            "tee plans/act-1.md",
            // Options that run a program on the files found.
            "rg --pre rm x",
            "git grep -Orm x",
            "file -C",
            "bash -c 'ls'",
            "python3 -c 'print(1)'",
            // Harmless, but quotes are not parsed.
            "grep 'a; rm b' c",
        ] {
            assert!(!is_read_only(command), "{command}");
        }
    }

    #[test]
    fn our_own_program_is_no_stranger() {
        for command in [
            "tl trail intent \"Build auth\"",
            "cd app && tl where 2>/dev/null | head -3",
            "ls",
        ] {
            assert!(is_read_only_or_own(command), "{command}");
        }
        for command in [
            "tl brief > src/a.rs",
            "tl where; rm a",
            "tl trail intent \"$(rm a)\"",
            "make",
        ] {
            assert!(!is_read_only_or_own(command), "{command}");
        }
    }

    proptest! {
        /// An unknown program anywhere in a line makes it one that may change something.
        #[test]
        fn a_stranger_is_never_harmless(before in "(ls|cat a|git log)( \\| | && |; )", after in "( \\| wc|; ls| 2>&1)?") {
            let line = format!("{before}deploy now{after}");
            prop_assert!(!is_read_only(&line));
        }

        #[test]
        fn no_line_breaks_it(line in "\\PC{0,80}") {
            is_read_only(&line);
        }
    }
}
