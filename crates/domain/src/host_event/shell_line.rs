//! Shell tokenizer, complete enough to find the calls of `tl` in a command line.

/// A command line split the way a shell does: simple commands, each a list of words.
///
/// Quotes and backslashes are resolved; comments and redirections are dropped. Assignments and
/// programs that run others (`env`, `sudo`) are words like any other. Nothing is expanded: a word
/// with a `$` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellLine {
    commands: Vec<Vec<String>>,
}

/// Maximum nesting of command lines within quotes, as in `bash -lc 'tl where'`. Deeper ones are
/// ignored, which bounds the recursion.
const MAX_QUOTED_DEPTH: usize = 3;

impl ShellLine {
    /// Tokenizes a line. A malformed one, such as with an open quote, is read to its end.
    #[must_use]
    pub fn parse(line: &str) -> Self {
        let mut commands = vec![Vec::new()];
        let mut word: Option<String> = None;
        let mut characters = line.chars().peekable();
        let mut is_target = false;
        let mut end_word =
            |word: &mut Option<String>, commands: &mut Vec<Vec<String>>, redirects: bool| {
                // The target of a redirection is not an argument, and neither is the file
                // descriptor before it: the `2` of `2>&1`.
                if let (Some(word), Some(command)) = (word.take(), commands.last_mut())
                    && !std::mem::take(&mut is_target)
                    && !(redirects && word.bytes().all(|byte| byte.is_ascii_digit()))
                {
                    command.push(word);
                }
                is_target |= redirects;
            };
        while let Some(character) = characters.next() {
            match character {
                '\'' => {
                    let text = word.get_or_insert_default();
                    text.extend(characters.by_ref().take_while(|next| *next != '\''));
                }
                '"' => {
                    let text = word.get_or_insert_default();
                    while let Some(next) = characters.next().filter(|next| *next != '"') {
                        match next {
                            '\\' => match characters.next() {
                                // Within double quotes POSIX keeps a backslash before other
                                // characters.
                                Some(escaped @ ('"' | '\\' | '$' | '`')) => text.push(escaped),
                                Some('\n') | None => {}
                                Some(other) => text.extend(['\\', other]),
                            },
                            _ => text.push(next),
                        }
                    }
                }
                '\\' => {
                    if let Some(next) = characters.next().filter(|next| *next != '\n') {
                        word.get_or_insert_default().push(next);
                    }
                }
                // Parentheses and backticks start commands too: subshells and substitutions.
                ';' | '|' | '&' | '\n' | '(' | ')' | '`' => {
                    end_word(&mut word, &mut commands, false);
                    commands.push(Vec::new());
                }
                '<' | '>' => {
                    end_word(&mut word, &mut commands, true);
                    while characters
                        .next_if(|next| matches!(next, '<' | '>' | '&' | '|'))
                        .is_some()
                    {}
                }
                // A `#` starts a comment only at the start of a word: `a#b` is an argument.
                '#' if word.is_none() => {
                    while characters.next_if(|next| *next != '\n').is_some() {}
                }
                _ if character.is_whitespace() => end_word(&mut word, &mut commands, false),
                _ => word.get_or_insert_default().push(character),
            }
        }
        end_word(&mut word, &mut commands, false);
        commands.retain(|command| !command.is_empty());
        Self { commands }
    }

    /// Returns the arguments of each call of `tl`, with or without a path, also behind programs
    /// that run it (`env`, `sudo`, `bash -c`).
    #[must_use]
    pub fn own_calls(&self) -> Vec<Vec<String>> {
        self.own_calls_within(MAX_QUOTED_DEPTH)
    }

    fn own_calls_within(&self, depth: usize) -> Vec<Vec<String>> {
        let mut calls = Vec::new();
        for command in &self.commands {
            // Any word may be the program, not only the first: the options of every wrapper (`env`,
            // `sudo -u`) cannot be known. `echo tl` is found too, but no process matches it later.
            for (index, word) in command.iter().enumerate() {
                if word.rsplit('/').next() == Some("tl") {
                    calls.push(command.get(index + 1..).unwrap_or_default().to_vec());
                // A word with whitespace was quoted, so it may be a command line for another shell.
                } else if depth > 0 && word.contains("tl") && word.contains(char::is_whitespace) {
                    calls.extend(Self::parse(word).own_calls_within(depth - 1));
                }
            }
        }
        calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
