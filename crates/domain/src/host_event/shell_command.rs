//! Which command lines only look: most that an agent runs are of that kind, and nothing has to be looked at after them.
//!
//! Only what is plainly harmless counts. A quote, a variable or a program that is not known here may hide anything, so
//! such a line is taken for one that changes something; that costs time, never truth.

/// Programs that write nothing, whatever they are given.
const LOOKS: &[&str] = &[
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

/// Programs that write or run something only where one of these words asks for it.
const LOOKS_UNLESS: &[(&str, &[&str])] = &[
    ("file", &["-C", "--compile"]),
    (
        "find",
        &[
            "-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok",
            "-okdir",
        ],
    ),
    ("rg", &["--pre", "--hostname-bin"]),
    ("sort", &["-o", "--output", "--compress-program"]),
    ("tree", &["-o", "-R"]),
    ("uniq", &[]),
];

/// What git only shows. Each can be told to write into a file.
const GIT_LOOKS: &[&str] = &[
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

/// Redirections that write into nothing.
const INTO_NOTHING: &[&str] = &[
    "2>/dev/null",
    "2> /dev/null",
    ">/dev/null",
    "> /dev/null",
    "2>&1",
    "&>/dev/null",
];

/// Says whether a command line plainly changes no file.
pub(super) fn only_looks(command: &str) -> bool {
    let command = INTO_NOTHING
        .iter()
        .fold(command.to_owned(), |text, word| text.replace(word, " "));
    if command.contains(['>', '`']) || command.contains("$(") || command.contains("<(") {
        return false;
    }
    let mut parts = command
        .split([';', '|', '&', '\n'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .peekable();
    parts.peek().is_some() && parts.all(looks)
}

/// Says whether a command line plainly changes no file but through our own program.
pub(super) fn only_looks_or_is_ours(command: &str) -> bool {
    let hides =
        |part: &str| part.contains(['>', '`']) || part.contains("$(") || part.contains("<(");
    let is_ours = |part: &str| part.split_whitespace().next() == Some("tl") && !hides(part);
    let command = INTO_NOTHING
        .iter()
        .fold(command.to_owned(), |text, word| text.replace(word, " "));
    let mut parts = command
        .split([';', '|', '&', '\n'])
        .map(str::trim)
        .filter(|part| !part.is_empty());
    parts.all(|part| is_ours(part) || only_looks(part))
}

/// Says of one program and its words whether it only looks.
fn looks(part: &str) -> bool {
    let mut words = part.split_whitespace();
    let Some(program) = words.next() else {
        return true;
    };
    // `-o` may stand together with other letters and with its value: `-uo file`, `--output=file`.
    let asks = |word: &str, for_it: &str| match for_it
        .strip_prefix('-')
        .filter(|rest| rest.len() == 1)
    {
        Some(letter) => word.starts_with('-') && !word.starts_with("--") && word.contains(letter),
        None => word.split('=').next() == Some(for_it),
    };
    if LOOKS.contains(&program) {
        return true;
    }
    if let Some((_, unless)) = LOOKS_UNLESS.iter().find(|(name, _)| *name == program) {
        let plain: Vec<&str> = words
            .clone()
            .filter(|word| !word.starts_with('-'))
            .collect();
        // `uniq in out` writes its second file.
        return (program != "uniq" || plain.len() < 2)
            && !words.any(|word| unless.iter().any(|one| asks(word, one)));
    }
    match program {
        "git" => {
            words.next().is_some_and(|verb| GIT_LOOKS.contains(&verb))
                && !words.any(|word| {
                    asks(word, "--output")
                        || asks(word, "--ext-diff")
                        || word.starts_with("--open-files")
                        || word.starts_with("-O")
                })
        }
        "sed" => {
            words.next() == Some("-n")
                && words.next().is_some_and(prints_lines)
                && words.all(|word| !word.starts_with('-'))
        }
        _ => false,
    }
}

/// Says whether a script of `sed` is `10,20p` and no more: others can write and run.
fn prints_lines(script: &str) -> bool {
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

    use super::{only_looks, only_looks_or_is_ours};

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
            assert!(only_looks(command), "{command}");
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
            "git -C x status",
            "xargs rm",
            "ls | xargs rm",
            "PAGER=rm git log",
            "tee plans/act-1.md",
            "rg --pre rm x",
            "git grep -Orm x",
            "file -C",
            "bash -c 'ls'",
            "python3 -c 'print(1)'",
            "grep 'a; rm b' c",
        ] {
            assert!(!only_looks(command), "{command}");
        }
    }

    #[test]
    fn our_own_program_is_no_stranger() {
        for command in [
            "tl intent \"Build auth\"",
            "cd app && tl where 2>/dev/null | head -3",
            "ls",
        ] {
            assert!(only_looks_or_is_ours(command), "{command}");
        }
        for command in [
            "tl brief > src/a.rs",
            "tl where; rm a",
            "tl intent \"$(rm a)\"",
            "make",
        ] {
            assert!(!only_looks_or_is_ours(command), "{command}");
        }
    }

    proptest! {
        /// Whatever stands around it, a program that is not known makes a line one that may change something.
        #[test]
        fn a_stranger_is_never_harmless(before in "(ls|cat a|git log)( \\| | && |; )", after in "( \\| wc|; ls| 2>&1)?") {
            let line = format!("{before}deploy now{after}");
            prop_assert!(!only_looks(&line));
        }

        #[test]
        fn no_line_breaks_it(line in "\\PC{0,80}") {
            only_looks(&line);
        }
    }
}
