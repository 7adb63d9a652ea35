//! Shell command lines, read as far as it takes to find the calls of our own program in them.

/// A command line as a shell splits it: simple commands, each a list of words.
///
/// Quotes and backslashes are resolved, comments and redirections left out; assignments and programs that
/// run others (`env`, `sudo`) are words like any other.
/// Nothing is expanded: a word with a `$` stays as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellLine {
    commands: Vec<Vec<String>>,
}

/// What a line holds within quotes may be a line itself: `bash -lc 'tl where'`. Deeper ones are not looked into.
const MAX_DEPTH: usize = 3;

impl ShellLine {
    /// Reads a line. One that a shell would refuse is read as far as it goes.
    #[must_use]
    pub fn read(line: &str) -> Self {
        let mut commands = vec![Vec::new()];
        let mut word: Option<String> = None;
        let mut characters = line.chars().peekable();
        let mut is_target = false;
        let mut end_word =
            |word: &mut Option<String>, commands: &mut Vec<Vec<String>>, redirects: bool| {
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

    /// Returns the arguments of each call of `tl`, by whatever path, behind whatever program runs it.
    #[must_use]
    pub fn own_calls(&self) -> Vec<Vec<String>> {
        self.own_calls_to(MAX_DEPTH)
    }

    fn own_calls_to(&self, depth: usize) -> Vec<Vec<String>> {
        let mut calls = Vec::new();
        for command in &self.commands {
            for (index, word) in command.iter().enumerate() {
                if word.rsplit('/').next() == Some("tl") {
                    calls.push(command.get(index + 1..).unwrap_or_default().to_vec());
                } else if depth > 0 && word.contains("tl") && word.contains(char::is_whitespace) {
                    calls.extend(Self::read(word).own_calls_to(depth - 1));
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
            let calls = ShellLine::read(line).own_calls();
            assert!(
                calls.iter().any(|call| *call == ["focus", "enter", "001"]),
                "{line}: {calls:?}"
            );
        }
        assert_eq!(
            ShellLine::read("tl mem save a#b 3").own_calls(),
            [["mem", "save", "a#b", "3"]]
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
                ShellLine::read(line).own_calls(),
                Vec::<Vec<String>>::new(),
                "{line}"
            );
        }
    }

    #[test]
    fn quoted_words_are_what_a_program_gets() {
        let calls = ShellLine::read(r#"tl intent "say \"it\" \n" '$HOME' a'b'c"#).own_calls();
        assert_eq!(calls, [[r"intent", r#"say "it" \n"#, "$HOME", "abc"]]);
    }
}
