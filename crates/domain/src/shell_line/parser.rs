//! Splits a line into commands and words.

use super::ansi_c_quotes::decode_ansi_c_quotes;
use super::{Redirection, ShellCommand, ShellLine, Word, wrappers};

/// Maximum depth of substitutions and started shells.
const MAX_DEPTH: usize = 8;

/// Parses a line; `depth` is the number of lines around it.
pub(super) fn parse_line(line: &str, depth: usize) -> ShellLine {
    let mut parser = Parser {
        text: line.chars().collect(),
        at: 0,
        depth,
        line: ShellLine {
            commands: Vec::new(),
            is_understood: true,
        },
        command: ShellCommand::default(),
        heredocs: Vec::new(),
    };
    if depth > MAX_DEPTH {
        parser.line.is_understood = false;
        return parser.line;
    }
    parser.parse_commands(None);
    // A heredoc without its end.
    parser.line.is_understood &= parser.heredocs.is_empty();
    parser.line
}

struct Parser {
    text: Vec<char>,
    at: usize,
    depth: usize,
    line: ShellLine,
    command: ShellCommand,
    /// Heredocs whose bodies begin with the next line.
    heredocs: Vec<Heredoc>,
}

struct Heredoc {
    end: String,
    strips_tabs: bool,
    /// Whether substitutions in the body are carried out.
    is_expanded: bool,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    /// Returns the text since `begin`, as it is written.
    fn text_since(&self, begin: usize) -> &[char] {
        self.text
            .get(begin..self.at.min(self.text.len()))
            .unwrap_or_default()
    }

    fn starts_with(&self, operator: &str) -> bool {
        operator
            .chars()
            .enumerate()
            .all(|(offset, c)| self.text.get(self.at + offset) == Some(&c))
    }

    /// Skips an operator if it is next.
    fn take_operator(&mut self, operator: &str) -> bool {
        let found = self.starts_with(operator);
        if found {
            self.at += operator.chars().count();
        }
        found
    }

    /// Parses commands up to `end`, or to the end of the text.
    fn parse_commands(&mut self, end: Option<char>) {
        while let Some(c) = self.peek() {
            if Some(c) == end {
                self.finish_command();
                return;
            }
            match c {
                '\n' => {
                    self.at += 1;
                    self.finish_command();
                    self.skip_heredocs();
                }
                ' ' | '\t' | '\r' => self.at += 1,
                '#' => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                // Before the plain `&`, which would end the command and run the rest in the
                // background.
                '&' if self.starts_with("&>") => {
                    self.at += 1;
                    self.parse_redirection();
                }
                // `&&`, `||` and `;;` are read as two ends; an empty command between them is
                // dropped.
                ';' | '&' | '|' => {
                    self.at += 1;
                    self.finish_command();
                }
                '(' => {
                    self.at += 1;
                    self.finish_command();
                    self.parse_group();
                }
                ')' => {
                    // Not opened: a pattern of `case`, or a line that is cut off.
                    self.at += 1;
                    self.finish_command();
                    self.line.is_understood = false;
                }
                // A process substitution is an argument and runs its commands; it is no
                // redirection.
                '<' if self.starts_with("<(") => self.parse_word(),
                '>' if self.starts_with(">(") => self.parse_word(),
                '<' | '>' => self.parse_redirection(),
                c if c.is_ascii_digit() && self.is_descriptor() => {
                    while self.peek().is_some_and(|c| c.is_ascii_digit()) {
                        self.at += 1;
                    }
                    self.parse_redirection();
                }
                _ => self.parse_word(),
            }
        }
        self.finish_command();
        // The closing `)` never came.
        self.line.is_understood &= end.is_none();
    }

    /// Parses a subshell up to its `)`.
    fn parse_group(&mut self) {
        let before = std::mem::take(&mut self.command);
        self.parse_commands(Some(')'));
        self.at += 1;
        self.command = before;
    }

    /// Whether the digits here belong to a redirection, such as `2>`.
    fn is_descriptor(&self) -> bool {
        let digits = self.text[self.at..]
            .iter()
            .take_while(|c| c.is_ascii_digit())
            .count();
        matches!(self.text.get(self.at + digits), Some('<' | '>'))
    }

    fn finish_command(&mut self) {
        let command = std::mem::take(&mut self.command);
        let (commands, is_understood) = wrappers::find_run_commands(command, self.depth);
        self.line.commands.extend(commands);
        self.line.is_understood &= is_understood;
    }

    fn parse_redirection(&mut self) {
        let is_output = self.peek() == Some('>');
        self.at += 1;
        if !is_output {
            if self.take_operator("<<") {
                // A here-string: its word is read, not run.
                let _ = self.read_word();
                return;
            }
            if self.take_operator("<") {
                return self.parse_heredoc();
            }
            // `<>` opens for writing as well.
            if !self.take_operator(">") {
                let _ = self.take_operator("&");
                let _ = self.read_word();
                return;
            }
        }
        let appends = self.take_operator(">");
        // `>|` overwrites even where `noclobber` is set.
        let _ = self.take_operator("|");
        let is_descriptor = self.take_operator("&");
        let target = self.read_word();
        let is_number = target.text.chars().all(|c| c.is_ascii_digit() || c == '-');
        // The common sinks; any other device counts as a written file.
        let is_device = matches!(
            target.text.as_str(),
            "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty"
        );
        if !(is_descriptor && is_number || is_device) {
            self.command.writes.push(Redirection { target, appends });
        }
    }

    fn parse_heredoc(&mut self) {
        let strips_tabs = self.take_operator("-");
        let begin = self.at;
        let end = self.read_word();
        // A quoted delimiter, in whole or in part, switches expansion of the body off.
        let is_expanded = !self
            .text_since(begin)
            .iter()
            .any(|c| matches!(c, '\'' | '"' | '\\'));
        self.heredocs.push(Heredoc {
            end: end.text,
            strips_tabs,
            is_expanded,
        });
    }

    /// Skips the bodies of the heredocs of the line that just ended.
    fn skip_heredocs(&mut self) {
        while !self.heredocs.is_empty() {
            let heredoc = self.heredocs.remove(0);
            loop {
                if self.at >= self.text.len() {
                    self.line.is_understood = false;
                    return;
                }
                let rest = &self.text[self.at..];
                let length = rest.iter().take_while(|c| **c != '\n').count();
                let line: String = rest[..length].iter().collect();
                self.at = (self.at + length + 1).min(self.text.len());
                let line = match heredoc.strips_tabs {
                    true => line.trim_start_matches('\t'),
                    false => line.as_str(),
                };
                if line == heredoc.end {
                    break;
                }
                // It runs a command that is not parsed here.
                if heredoc.is_expanded && (line.contains("$(") || line.contains('`')) {
                    self.line.is_understood = false;
                }
            }
        }
    }

    /// Parses a word of the command, or an assignment before it.
    fn parse_word(&mut self) {
        let begin = self.at;
        let word = self.read_word();
        // By the text as written: in `"A=b" cmd` the quoted word is the program.
        let is_assignment = self.command.words.is_empty() && {
            let raw: String = self.text_since(begin).iter().collect();
            wrappers::is_assignment(&raw)
        };
        if is_assignment {
            self.command.has_assignments = true;
        } else {
            self.command.words.push(word);
        }
        // A character no rule takes would stop the parser here.
        if self.at == begin {
            self.at += 1;
            self.line.is_understood = false;
        }
    }

    /// Reads a word up to the next blank or operator, spaces before it included.
    fn read_word(&mut self) -> Word {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
        let mut word = Word {
            text: String::new(),
            is_literal: true,
        };
        while let Some(c) = self.peek() {
            match c {
                '<' | '>' if self.starts_with("<(") || self.starts_with(">(") => {
                    self.at += 2;
                    self.parse_substitution();
                    word.is_literal = false;
                }
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\'' => {
                    self.at += 1;
                    self.read_until_quote(&mut word);
                }
                '"' => {
                    self.at += 1;
                    self.read_double_quoted(&mut word);
                }
                '\\' => {
                    self.at += 1;
                    match self.peek() {
                        Some('\n') => {}
                        Some(escaped) => word.text.push(escaped),
                        None => self.line.is_understood = false,
                    }
                    self.at += 1;
                }
                '$' if self.starts_with("$'") => self.read_ansi_c_quoted(&mut word),
                // Translated text: without a catalogue it is the text itself.
                '$' if self.starts_with("$\"") => self.at += 1,
                '$' | '`' => self.read_expansion(&mut word),
                '*' | '?' | '[' | '{' => {
                    // `[` alone is a program, `{` alone a group, `{}` an argument of `find`.
                    let is_alone = word.text.is_empty()
                        && self
                            .text
                            .get(self.at + 1)
                            .is_none_or(|next| next.is_whitespace() || *next == '}');
                    word.is_literal &= is_alone;
                    word.text.push(c);
                    self.at += 1;
                }
                c => {
                    word.text.push(c);
                    self.at += 1;
                }
            }
        }
        word
    }

    fn read_until_quote(&mut self, word: &mut Word) {
        while let Some(c) = self.peek() {
            self.at += 1;
            if c == '\'' {
                return;
            }
            word.text.push(c);
        }
        self.line.is_understood = false;
    }

    /// Reads `$'…'`. Only outside of double quotes, in which it is ordinary text.
    fn read_ansi_c_quoted(&mut self, word: &mut Word) {
        self.at += 2;
        let rest = self.text.get(self.at..).unwrap_or_default();
        if let Some((text, length)) = decode_ansi_c_quotes(rest) {
            word.text.push_str(&text);
            self.at += length;
        } else {
            self.at = self.text.len();
            self.line.is_understood = false;
        }
    }

    fn read_double_quoted(&mut self, word: &mut Word) {
        while let Some(c) = self.peek() {
            match c {
                '"' => {
                    self.at += 1;
                    return;
                }
                '\\' => {
                    self.at += 1;
                    match self.peek() {
                        Some(c @ ('"' | '\\' | '$' | '`')) => word.text.push(c),
                        Some('\n') => {}
                        Some(c) => {
                            word.text.push('\\');
                            word.text.push(c);
                        }
                        None => break,
                    }
                    self.at += 1;
                }
                '$' | '`' => self.read_expansion(word),
                c => {
                    word.text.push(c);
                    self.at += 1;
                }
            }
        }
        self.line.is_understood = false;
    }

    /// Reads what begins with `$` or a backtick. The commands of a substitution are run too.
    fn read_expansion(&mut self, word: &mut Word) {
        if self.take_operator("`") {
            let begin = self.at;
            while self.peek().is_some_and(|c| c != '`') {
                self.at += 1 + usize::from(self.peek() == Some('\\'));
            }
            let inner: String = self.text_since(begin).iter().collect();
            self.line.is_understood &= self.at < self.text.len();
            self.at += 1;
            self.append_line(&inner);
            word.is_literal = false;
        } else if self.take_operator("$((") {
            // Arithmetic runs no program, unless a substitution hides in it.
            self.skip_balanced('(', ')', 2);
            word.is_literal = false;
        } else if self.take_operator("$(") {
            self.parse_substitution();
            word.is_literal = false;
        } else if self.take_operator("${") {
            self.skip_balanced('{', '}', 1);
            word.is_literal = false;
        } else {
            self.at += 1;
            let is_name = |c: char| {
                c.is_alphanumeric() || matches!(c, '_' | '?' | '!' | '@' | '*' | '#' | '$')
            };
            // A lone dollar is an ordinary character.
            if self.peek().is_some_and(is_name) {
                word.is_literal = false;
                while self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_') {
                    self.at += 1;
                }
                if self
                    .peek()
                    .is_some_and(|c| matches!(c, '?' | '!' | '@' | '*' | '#' | '$'))
                {
                    self.at += 1;
                }
            } else {
                word.text.push('$');
            }
        }
    }

    /// Parses the commands of `$(…)` or `<(…)` up to its end.
    fn parse_substitution(&mut self) {
        let before = std::mem::take(&mut self.command);
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.line.is_understood = false;
            // Nothing after it can be trusted to be outside of the substitution.
            self.at = self.text.len();
        } else {
            self.parse_commands(Some(')'));
            self.at += 1;
        }
        self.depth -= 1;
        self.command = before;
    }

    /// Skips to the end of an expansion; one with a substitution in it is not understood.
    fn skip_balanced(&mut self, open: char, close: char, mut level: usize) {
        while let Some(c) = self.peek() {
            self.line.is_understood &= c != '`' && !self.starts_with("$(");
            self.at += 1;
            if c == open {
                level += 1;
            } else if c == close {
                level -= 1;
                if level == 0 {
                    return;
                }
            }
        }
        self.line.is_understood = false;
    }

    fn append_line(&mut self, inner: &str) {
        let inner = parse_line(inner, self.depth + 1);
        self.line.commands.extend(inner.commands);
        self.line.is_understood &= inner.is_understood;
    }
}
