//! Reads a shell command line: which programs it runs, with which words, and which files it writes
//! by redirection.
//!
//! Not a shell: nothing is expanded, and no file is looked at. Quotes, operators, subshells,
//! substitutions, heredocs and programs that start another one (`env`, `sudo`, `bash -c`) are
//! understood; what is not is marked, so that a reader can be careful.

mod ansi_c_quotes;
mod effects;
mod parser;
mod wrappers;

/// A command line, as the commands it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellLine {
    /// In the order they are written, those of substitutions and of started shells included.
    pub commands: Vec<ShellCommand>,
    /// Whether everything in the line was understood.
    pub is_understood: bool,
}

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellCommand {
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// Whether variables are set for it: `PAGER=x git log`.
    pub has_assignments: bool,
    /// Files its output is redirected to.
    pub writes: Vec<Redirection>,
}

/// A file that output is redirected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    pub target: Word,
    pub appends: bool,
}

/// A word after quotes are removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    /// Whether the shell passes exactly this text: no variable, substitution or pattern.
    pub is_literal: bool,
}

impl ShellLine {
    /// Reads a command line.
    #[must_use]
    pub fn parse(line: &str) -> Self {
        parser::parse_line(line, 0)
    }

    /// Whether a program of this name is run, by whatever path.
    #[must_use]
    pub fn runs_program(&self, name: &str) -> bool {
        self.commands
            .iter()
            .any(|command| command.program() == Some(name))
    }

    /// Returns the arguments of each call of `tl`.
    #[must_use]
    pub fn own_calls(&self) -> Vec<Vec<String>> {
        let text = |word: &Word| word.text.clone();
        self.commands
            .iter()
            .filter(|command| command.program() == Some("tl"))
            .map(|command| command.arguments().iter().map(text).collect())
            .collect()
    }

    /// Whether `tl hook` is run: an agent that does so could fake the prompt of a person.
    #[must_use]
    pub fn runs_own_hook(&self) -> bool {
        self.commands.iter().any(|command| {
            let mut arguments = command.arguments().iter();
            match command.program() {
                // A variable may expand to `hook`, so it counts as one.
                Some("tl") => arguments.any(|word| word.text == "hook" || !word.is_literal),
                // A program named by a variable may be this one.
                None => arguments.any(|word| word.text == "hook"),
                Some(_) => false,
            }
        })
    }
}

impl ShellCommand {
    /// Returns the name of the program without its directory; `None` if the line does not say it.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        // A program named by a variable is unknown; `only_reads` and `may_commit` then assume the
        // worst.
        let word = self.words.first().filter(|word| word.is_literal)?;
        word.text.rsplit('/').next()
    }

    /// Returns the arguments of the program.
    #[must_use]
    pub fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }
}

/// Quotes a word for a POSIX shell, so that a command with it can be pasted.
#[must_use]
pub fn quote_word(word: &str) -> String {
    // Plain words stay as they are: people read the line in their settings and in trust prompts.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{ShellLine, quote_word};

    fn programs(line: &str) -> Vec<String> {
        ShellLine::parse(line)
            .commands
            .iter()
            .map(|command| command.program().unwrap_or("?").to_owned())
            .collect()
    }

    #[test]
    fn every_program_of_a_line_is_found() {
        for (line, expected) in [
            ("tl where", &["tl"][..]),
            ("/usr/local/bin/tl where", &["tl"]),
            (
                "cd app && ./bin/tl next | head -3; ls &",
                &["cd", "tl", "head", "ls"],
            ),
            ("env A=1 -u B tl where", &["tl"]),
            ("A=1 B='x y' tl where", &["tl"]),
            ("sudo -u ann tl where", &["tl"]),
            ("(cd app; tl where)", &["cd", "tl"]),
            ("bash -lc 'cd app && tl where'", &["cd", "tl"]),
            ("timeout -k 5 10s nice -n 3 tl where", &["tl"]),
            ("echo \"now: $(tl where --short)\"", &["tl", "echo"]),
            ("echo `tl where`", &["tl", "echo"]),
            ("diff <(tl tree) old", &["tl", "diff"]),
            (
                "if tl check; then git commit -m 'x; rm y'; fi",
                &["tl", "git"],
            ),
            ("for f in a b; do tl show $f; done", &["tl"]),
            ("while true; do sleep 1; done", &["true", "sleep"]),
            (
                "cat <<'EOF' > a.md\nrm -rf b; tl x\nEOF\nls",
                &["cat", "ls"],
            ),
            ("ls # tl hook", &["ls"]),
            ("echo tl", &["echo"]),
            (
                "find . -name '*.rs' | xargs -n 1 grep tl",
                &["find", "grep"],
            ),
            ("eval 'tl where'", &["tl"]),
            ("$TOOL x", &["?"]),
            ("! grep -q x y || { make; }", &["grep", "make"]),
            ("2>/dev/null ls", &["ls"]),
            ("", &[]),
        ] {
            assert_eq!(programs(line), expected, "{line}");
        }
    }

    #[test]
    fn quotes_and_escapes_make_words() {
        let line = ShellLine::parse(r#"git commit -m "fix: don't \"stop\"" 'a b'\ c $'x\ty'"#);
        let words: Vec<&str> = line.commands[0]
            .words
            .iter()
            .map(|word| word.text.as_str())
            .collect();
        assert_eq!(
            words,
            [
                "git",
                "commit",
                "-m",
                "fix: don't \"stop\"",
                "a b c",
                "x\ty"
            ]
        );
    }

    #[test]
    fn redirections_name_the_files_that_are_written() {
        for (line, expected) in [
            ("echo x > a.md", &["a.md"][..]),
            ("echo x >>'b c.md' 2>&1", &["b c.md"]),
            ("make &> build.log", &["build.log"]),
            ("ls 2>/dev/null >&2", &[]),
            ("cat < in.md", &[]),
            ("cat <<EOF > plan.md\ntext\nEOF", &["plan.md"]),
            ("(ls; pwd) > list", &["list"]),
        ] {
            let parsed = ShellLine::parse(line);
            let found: Vec<&str> = parsed
                .commands
                .iter()
                .flat_map(|command| &command.writes)
                .map(|write| write.target.text.as_str())
                .collect();
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn calls_of_our_program_are_found_however_it_is_called() {
        for line in [
            "tl focus enter 001",
            "/usr/local/bin/tl focus enter 001",
            "env X=1 tl focus enter 001",
            "X=1 tl focus enter 001",
            "(tl focus enter 001)",
            "sudo -u me tl focus enter 001",
            "bash -lc 'tl focus enter 001'",
            "cd x && tl focus enter 001 || true",
            "echo \"$(tl focus enter 001)\"",
            "tl \"focus\" 'enter' 00\\1",
            "if true; then tl focus enter 001; fi",
            "tl focus enter 001 # as it was",
            "tl focus enter 001 2>&1 | head",
            "tl 2>/dev/null focus enter > out.txt 001 < /dev/null",
            "tl focus enter 001 &> out.txt",
        ] {
            let calls = ShellLine::parse(line).own_calls();
            assert!(
                calls.iter().any(|call| *call == ["focus", "enter", "001"]),
                "{line}: {calls:?}"
            );
        }
        assert_eq!(
            ShellLine::parse("tl note add a#b 3").own_calls(),
            [["note", "add", "a#b", "3"]]
        );
        for line in [
            "title focus",
            "# tl focus",
            "echo x > tl",
            "cat digits.txt",
            "tlx focus",
            "",
            "'",
            "\"\\",
            "\\",
        ] {
            assert_eq!(
                ShellLine::parse(line).own_calls(),
                Vec::<Vec<String>>::new(),
                "{line}"
            );
        }
    }

    #[test]
    fn quoted_words_are_what_a_program_gets() {
        let calls =
            ShellLine::parse(r#"tl trail intent "say \"it\" \n" '$HOME' a'b'c"#).own_calls();
        assert_eq!(
            calls,
            [["trail", "intent", r#"say "it" \n"#, "$HOME", "abc"]]
        );
    }

    #[test]
    fn a_hook_is_recognised_in_a_command_line() {
        for line in [
            "tl hook claude-code",
            "echo '{}' | /usr/bin/tl hook codex",
            "bash -c 'tl hook x'",
            "env -i tl hook x",
            "tl \"hook\" x",
            "tl --project . hook x",
            "tl $WHAT",
            "$PROGRAM hook x",
            "tl $'\\x68ook' x",
            "echo \"$'\" ; tl hook x ; echo \"'\"",
        ] {
            assert!(ShellLine::parse(line).runs_own_hook(), "{line}");
        }
        for line in [
            "tl approve act-1",
            "ls hooks",
            "tl host doctor",
            "git hook run",
            "title hook",
            "echo 'tl hook x'",
        ] {
            assert!(!ShellLine::parse(line).runs_own_hook(), "{line}");
        }
    }

    #[test]
    fn what_is_cut_off_is_not_understood() {
        for line in [
            "echo 'a",
            "echo \"a",
            "(ls",
            "echo $(ls",
            "cat <<EOF\nx",
            "echo `ls",
        ] {
            assert!(!ShellLine::parse(line).is_understood, "{line}");
        }
        for line in ["echo a", "ls | wc -l", "cat <<EOF\nx\nEOF"] {
            assert!(ShellLine::parse(line).is_understood, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_breaks_it(line in "\\PC{0,120}") {
            let _ = ShellLine::parse(&line);
        }

        /// Operators, quotes and heredocs in any order.
        #[test]
        fn no_order_of_operators_breaks_it(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "tl", " ", "'", "\"", "$(", ")", "`", "<<E", "\n", "E", ";", "&&", ">", "(", "\\", "${", "}", "#", "bash -c ",
                ]),
                0..30,
            )
        ) {
            let _ = ShellLine::parse(&parts.concat());
        }

        /// A pasted word reaches the program as it is.
        #[test]
        fn a_quoted_word_is_one_word_with_that_text(word in "[ -~абв\n]{1,30}") {
            let line = ShellLine::parse(&format!("cd {}", quote_word(&word)));
            let words: Vec<&str> = line.commands[0].words.iter().map(|it| it.text.as_str()).collect();
            prop_assert_eq!(words, ["cd", word.as_str()]);
            prop_assert_eq!(line.commands.len(), 1);
        }

        /// Quoting a word never makes a program of it.
        #[test]
        fn a_quoted_text_runs_nothing(text in "[a-z ;|&]{0,20}") {
            let line = format!("echo '{text}'");
            prop_assert_eq!(programs(&line), ["echo"]);
        }
    }
}
