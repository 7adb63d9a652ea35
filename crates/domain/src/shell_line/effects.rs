//! What a command line does to files: whether it only reads, whether it may commit, what it plainly
//! writes.
//!
//! Reading is an allowlist: a variable in place of a program or an unknown program may hide
//! anything. A wrong "may change" costs time; a wrong "only reads" would miss a change.

use super::{ShellCommand, ShellLine, Word};
use crate::host_event::FileEffect;

/// The effect of a command that replaces a file by a text the line does not tell.
const REPLACED: FileEffect = FileEffect::Write { text: None };
/// The effect of a command that changes parts of a file.
const CHANGED: FileEffect = FileEffect::Edit {
    removed: 0,
    added: 0,
};

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

/// Programs that change files or run others by design.
const WRITING_PROGRAMS: &[&str] = &[
    "chmod", "chown", "cp", "dd", "install", "ln", "mkdir", "mv", "patch", "rm", "rmdir", "rsync",
    "tar", "tee", "touch", "truncate", "unzip",
];

/// Git commands that can move HEAD.
const COMMITTING_GIT_COMMANDS: &[&str] = &[
    "am",
    "bisect",
    "checkout",
    "cherry-pick",
    "commit",
    "commit-tree",
    "merge",
    "pull",
    "rebase",
    "reset",
    "revert",
    "switch",
    "update-ref",
];

impl ShellLine {
    /// Whether the line is known to change no file.
    #[must_use]
    pub fn only_reads(&self) -> bool {
        self.only_runs(ShellCommand::only_reads)
    }

    /// Whether the line is known to change no file except through `tl` itself.
    #[must_use]
    pub fn only_reads_or_own(&self) -> bool {
        // The bare word `tl`: a path such as `./tl` may be another program.
        self.only_runs(|command| {
            command.only_reads()
                || command.writes.is_empty()
                    && command.words.first().is_some_and(|word| word.text == "tl")
        })
    }

    fn only_runs(&self, is_allowed: impl Fn(&ShellCommand) -> bool) -> bool {
        // An empty line is no command, so nothing is known about it.
        self.is_understood && !self.commands.is_empty() && self.commands.iter().all(is_allowed)
    }

    /// Whether the line may have made a commit. Broad: a script named `commit` counts, because a
    /// missed one would leave the commit without its session.
    #[must_use]
    pub fn may_commit(&self) -> bool {
        !self.is_understood || self.commands.iter().any(ShellCommand::may_commit)
    }

    /// Returns the files that the line plainly writes or deletes, with the effect on them.
    #[must_use]
    pub fn written_files(&self) -> Vec<(&str, FileEffect)> {
        let mut found = Vec::new();
        for command in &self.commands {
            let redirected = command.writes.iter().map(|write| {
                let effect = if write.appends { CHANGED } else { REPLACED };
                (&write.target, effect)
            });
            found.extend(redirected.chain(command.written_arguments()));
        }
        // A pattern or variable names a file only the shell knows; such a line is rescanned
        // afterwards.
        found.retain(|(word, _)| word.is_literal && !word.text.is_empty());
        found
            .into_iter()
            .map(|(word, effect)| (word.text.as_str(), effect))
            .collect()
    }
}

impl ShellCommand {
    /// Whether it is known to change no file.
    pub(crate) fn only_reads(&self) -> bool {
        // An assignment can change which program is run: `PAGER=rm git log`.
        if self.has_assignments || !self.writes.is_empty() {
            return false;
        }
        // By its bare name: `./cat` may be any program.
        let Some(program) = self.words.first().filter(|word| word.is_literal) else {
            return false;
        };
        let arguments = self.arguments();
        let has_option = |option: &str| arguments.iter().any(|word| asks_for(word, option));
        match program.text.as_str() {
            "git" => self.reads_git(),
            "sed" => self.prints_lines(),
            // `uniq IN OUT` writes its second operand.
            "uniq" => self.operands().count() < 2,
            name => {
                READ_ONLY_PROGRAMS.contains(&name)
                    || READ_ONLY_UNLESS_OPTION
                        .iter()
                        .find(|(known, _)| *known == name)
                        .is_some_and(|(_, unless)| !unless.iter().any(|one| has_option(one)))
            }
        }
    }

    /// Returns the arguments that are not options.
    fn operands(&self) -> impl Iterator<Item = &Word> {
        self.arguments()
            .iter()
            .filter(|word| !word.text.starts_with('-'))
    }

    /// Returns git's command and what follows it.
    fn git_command(&self) -> Option<(&str, &[Word])> {
        let mut rest = self.arguments();
        loop {
            let (first, after) = rest.split_first()?;
            match first.text.as_str() {
                // Global options whose value is a word of its own, which is not the command.
                "-C" | "-c" | "--git-dir" | "--work-tree" => {
                    rest = after.get(1..).unwrap_or_default();
                }
                option if option.starts_with('-') => rest = after,
                verb => return first.is_literal.then_some((verb, after)),
            }
        }
    }

    fn reads_git(&self) -> bool {
        let Some((verb, after)) = self.git_command() else {
            return false;
        };
        // `git -c alias.x='!rm' x` can run anything.
        let is_configured = self
            .arguments()
            .iter()
            .take_while(|word| word.text != verb)
            .any(|word| word.text == "-c" || word.text.starts_with("--config"));
        READ_ONLY_GIT_COMMANDS.contains(&verb)
            && !is_configured
            && !after.iter().any(|word| {
                asks_for(word, "--output")
                    || asks_for(word, "--ext-diff")
                    || word.text.starts_with("--open-files")
                    || word.text.starts_with("-O")
            })
    }

    /// Whether it is `sed -n 10,20p FILE`, the form agents use to page through a file.
    fn prints_lines(&self) -> bool {
        let mut words = self.arguments().iter();
        words.next().is_some_and(|word| word.text == "-n")
            && words.next().is_some_and(|word| is_print_script(&word.text))
            && words.all(|word| !word.text.starts_with('-'))
    }

    fn may_commit(&self) -> bool {
        let Some(program) = self.program() else {
            return true;
        };
        match program {
            "git" => self.git_command().is_none_or(|(verb, _)| {
                // An unknown word may be an alias of `commit`.
                COMMITTING_GIT_COMMANDS.contains(&verb) || !is_known_git(verb)
            }),
            "jj" | "gh" | "hg" => true,
            _ => {
                let says =
                    |word: &Word| word.text.contains("commit") || word.text.contains("merge");
                // The first words name script and task (`npm run commit`); further ones are mostly
                // text.
                !self.only_reads() && self.words.iter().take(3).any(says)
            }
        }
    }

    /// Returns the arguments that name a written or deleted file, with the effect on it.
    fn written_arguments(&self) -> Vec<(&Word, FileEffect)> {
        let operands: Vec<&Word> = self.operands().collect();
        let has_option = |option: &str| self.arguments().iter().any(|word| asks_for(word, option));
        let (files, effect) = match (self.program(), operands.as_slice()) {
            (Some("rm" | "unlink"), _) => (operands, FileEffect::Delete),
            (Some("tee"), _) if has_option("-a") || has_option("--append") => (operands, CHANGED),
            (Some("tee"), _) => (operands, REPLACED),
            (Some("touch" | "truncate"), _) => (operands, CHANGED),
            // If the last one is a folder, it is no plan file, and the rescan finds what was put
            // into it.
            (Some("cp" | "mv" | "install"), [_, .., last]) => (vec![*last], REPLACED),
            (Some("sed" | "perl"), _) if self.edits_in_place() => (self.edited_files(), CHANGED),
            _ => return Vec::new(),
        };
        files
            .into_iter()
            .map(|word| (word, effect.clone()))
            .collect()
    }

    /// Returns the files of `sed -i` or `perl -i`: the operands that are not the script.
    fn edited_files(&self) -> Vec<&Word> {
        let mut files = Vec::new();
        let (mut has_script, mut is_script) = (false, false);
        for word in self.arguments() {
            if std::mem::take(&mut is_script) {
                continue;
            }
            if word.text.starts_with('-') {
                is_script = asks_for(word, "-e") || asks_for(word, "-f");
                has_script |= is_script;
            } else if std::mem::replace(&mut has_script, true) {
                files.push(word);
            }
        }
        files
    }

    /// Whether `sed` or `perl` replaces its files.
    pub(crate) fn edits_in_place(&self) -> bool {
        self.arguments().iter().any(|word| {
            let text = word.text.as_str();
            text.starts_with("--in-place")
                // Combined with other letters (`-ni`) or with a suffix for the backup (`-i.bak`).
                || text.starts_with('-') && !text.starts_with("--") && text.contains('i')
        })
    }

    /// Whether the program changes files by design.
    pub(crate) fn is_writing_program(&self) -> bool {
        self.program()
            .is_some_and(|program| WRITING_PROGRAMS.contains(&program))
    }
}

/// Whether a git command is one that neither moves HEAD nor is unknown, such as an alias.
fn is_known_git(verb: &str) -> bool {
    READ_ONLY_GIT_COMMANDS.contains(&verb)
        || matches!(
            verb,
            "add"
                | "apply"
                | "branch"
                | "clean"
                | "clone"
                | "config"
                | "fetch"
                | "init"
                | "mv"
                | "push"
                | "remote"
                | "restore"
                | "rm"
                | "stash"
                | "tag"
                | "worktree"
        )
}

/// Whether a word is the option, alone, combined with others (`-uo file`), with its value
/// (`--output=file`), or abbreviated (`--out`), as GNU programs and git accept it.
fn asks_for(word: &Word, option: &str) -> bool {
    let text = word.text.as_str();
    match option.strip_prefix('-').filter(|rest| rest.len() == 1) {
        Some(letter) => text.starts_with('-') && !text.starts_with("--") && text.contains(letter),
        None => {
            let name = text.split('=').next().unwrap_or_default();
            name.len() > "--".len() && option.starts_with(name)
        }
    }
}

/// Whether a `sed` script is only an address and `p`, such as `10,20p`: other commands (`w`, `e`)
/// can write files and run programs.
fn is_print_script(script: &str) -> bool {
    script.strip_suffix('p').is_some_and(|lines| {
        lines
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, ',' | '$'))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ShellLine;
    use crate::host_event::FileEffect;

    fn only_reads(line: &str) -> bool {
        ShellLine::parse(line).only_reads()
    }

    #[test]
    fn what_only_reads() {
        for line in [
            "ls -la",
            "cat src/main.rs | head -50",
            "rg -n 'fn main' crates 2>/dev/null",
            "cd /tmp && git status --short && git log --oneline -5",
            "sed -n '10,20p' src/main.rs",
            "find . -name '*.rs' | sort | uniq -c",
            "grep -rn план plans; wc -l plans/act-1.md",
            "git diff HEAD~1 -- src >/dev/null 2>&1",
            "tail -f log &",
            "grep 'a; rm b' c",
            "git -C x status",
            "git --no-pager log -3",
            "bash -c 'ls -la'",
            "grep -l x $(ls)",
            "cat \"$HOME/notes.md\"",
            "time ls",
            "cat <<'EOF'\nrm -rf x\nEOF",
            "for f in a b; do cat $f; done",
            "if grep -q x y; then echo found; fi",
        ] {
            assert!(only_reads(line), "{line}");
        }
    }

    #[test]
    fn what_may_change_something() {
        for line in [
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
            "sort --out=plans/act-1.md a",
            "echo \"$'\" ; rm x ; echo \"'\"",
            "$'\\x72m' x",
            "$\"rm\" x",
            "uniq a plans/act-1.md",
            "git commit -am x",
            "git checkout .",
            "git diff --output=plans/act-1.md",
            "git -c alias.log='!rm a' log",
            "xargs rm",
            "ls | xargs rm",
            // An assignment can change which program is run.
            "PAGER=rm git log",
            "env PAGER=rm git log",
            "tee plans/act-1.md",
            // Options that run a program on the files found.
            "rg --pre rm x",
            "git grep -Orm x",
            "file -C",
            "bash -c 'rm a'",
            "bash -c \"$X\"",
            "python3 -c 'print(1)'",
            "./cat a",
            "$X",
            "cat <<EOF\n$(rm a)\nEOF",
            "echo ${x:-$(rm a)}",
            "ls 'a",
            "eval \"rm $X\"",
            "sudo rm a",
        ] {
            assert!(!only_reads(line), "{line}");
        }
    }

    #[test]
    fn our_own_program_is_allowed() {
        for line in [
            "tl trail intent \"Build auth\"",
            "cd app && tl where 2>/dev/null | head -3",
            "ls",
        ] {
            assert!(ShellLine::parse(line).only_reads_or_own(), "{line}");
        }
        for line in [
            "tl brief > src/a.rs",
            "tl where; rm a",
            "tl trail intent \"$(rm a)\"",
            "./tl where",
            "make",
        ] {
            assert!(!ShellLine::parse(line).only_reads_or_own(), "{line}");
        }
    }

    #[test]
    fn a_commit_is_seen_and_a_file_name_is_none() {
        for line in [
            "git commit -m x",
            "cd a && git -C b commit",
            "git ci -m x",
            "git merge topic",
            "jj new",
            "./scripts/commit.sh",
            "npm run commit",
            "bash -c 'git commit'",
            "$GIT commit",
        ] {
            assert!(ShellLine::parse(line).may_commit(), "{line}");
        }
        for line in [
            "cat digits.txt",
            "git status",
            "git add -A",
            "echo 'git commit'",
            "cargo test",
            "grep -rn commit src",
        ] {
            assert!(!ShellLine::parse(line).may_commit(), "{line}");
        }
    }

    #[test]
    fn the_files_a_line_plainly_writes() {
        let (replaced, changed, deleted) = (super::REPLACED, super::CHANGED, FileEffect::Delete);
        for (line, files, effect) in [
            (
                "cat > plans/act-1.md <<'EOF'\n# Act\nEOF",
                &["plans/act-1.md"][..],
                &replaced,
            ),
            ("echo x >> a.md", &["a.md"], &changed),
            ("echo x | tee -a a.md b.md", &["a.md", "b.md"], &changed),
            ("echo x | sudo tee a.md", &["a.md"], &replaced),
            ("cp a b c/", &["c/"], &replaced),
            ("mv a b", &["b"], &replaced),
            ("sed -i 's/a/b/' x.md y.md", &["x.md", "y.md"], &changed),
            ("sed -i -e 's/a/b/' x.md", &["x.md"], &changed),
            ("perl -pi -e 's/a/b/' x.md", &["x.md"], &changed),
            ("bash -c 'rm -f a'", &["a"], &deleted),
            ("echo x > $F", &[], &replaced),
            ("echo 'x > a.md'", &[], &replaced),
            ("ls", &[], &replaced),
        ] {
            let expected: Vec<_> = files.iter().map(|file| (*file, effect.clone())).collect();
            assert_eq!(ShellLine::parse(line).written_files(), expected, "{line}");
        }
    }

    proptest! {
        /// An unknown program anywhere in a line makes it one that may change something.
        #[test]
        fn an_unknown_program_is_never_harmless(before in "(ls|cat a|git log)( \\| | && |; )", after in "( \\| wc|; ls| 2>&1)?") {
            let line = format!("{before}deploy now{after}");
            prop_assert!(!only_reads(&line));
        }
    }
}
