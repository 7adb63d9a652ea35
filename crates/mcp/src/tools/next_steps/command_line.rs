//! A command line of ours, and the arguments of a call taken from it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A call of a tool.
pub(super) struct ToolCall {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
}

/// Options without a value; all others have one.
const FLAGS: &[&str] = &[
    "accept",
    "accept-history",
    "all",
    "by-plan",
    "changed",
    "children",
    "ci",
    "claim",
    "deleted",
    "drafts",
    "dry-run",
    "explain",
    "flat",
    "force",
    "full",
    "json",
    "keep",
    "keep-open",
    "list",
    "next",
    "pin",
    "pinned",
    "stale",
    "top",
    "yes",
];

/// The words of a command line of ours.
pub(super) struct CommandLine<'w> {
    pub(super) words: Vec<&'w str>,
    pub(super) options: BTreeMap<&'w str, &'w str>,
    /// The words behind `--`, whose options are not ours.
    pub(super) program: Vec<&'w str>,
}

impl<'w> CommandLine<'w> {
    pub(super) fn parse(given: &'w [String]) -> Self {
        let mut line = Self {
            words: Vec::new(),
            options: BTreeMap::new(),
            program: Vec::new(),
        };
        let mut given = given.iter().map(String::as_str).peekable();
        while let Some(word) = given.next() {
            // `[--scope TEXT]…` in a usage line: optional, so the call is complete without it.
            if word.starts_with('[') {
                let ends = |word: &str| word.trim_end_matches('…').ends_with(']');
                let mut last = word;
                while let Some(next) = given.next_if(|_| !ends(last)) {
                    last = next;
                }
                continue;
            }
            match word.strip_prefix("--").or((word == "-m").then_some("m")) {
                Some("") => line.program = given.by_ref().collect(),
                Some(name) if FLAGS.contains(&name) => {
                    line.options.insert(name, "");
                }
                Some(name) => {
                    let value = given.next_if(|next| !next.starts_with("--"));
                    line.options.insert(name, value.unwrap_or_default());
                }
                None => line.words.push(word),
            }
        }
        line
    }

    pub(super) fn option(&self, name: &str) -> Option<&'w str> {
        self.options.get(name).copied()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.options.contains_key(name)
    }
}

/// The arguments of a call, taken from a command line.
pub(super) struct CallArguments<'c> {
    line: &'c CommandLine<'c>,
    pub(super) given: Map<String, Value>,
}

impl<'c> CallArguments<'c> {
    pub(super) fn new(line: &'c CommandLine<'c>) -> Self {
        let given = Map::new();
        Self { line, given }
    }

    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.given.insert(name.to_owned(), value.into());
        self
    }

    /// Adds words that name one thing, if there are any.
    pub(super) fn words(self, name: &str, words: &[&str]) -> Self {
        match words {
            [] => self,
            words => self.with(name, words.join(" ")),
        }
    }

    /// Adds the values of options; the argument has the name of the option.
    pub(super) fn options(self, names: &[&str]) -> Self {
        names
            .iter()
            .fold(self, |given, name| given.option_as(name, name))
    }

    pub(super) fn option_as(self, option: &str, name: &str) -> Self {
        match self.line.option(option) {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds the number that an option has.
    pub(super) fn number_as(self, option: &str, name: &str) -> Self {
        match self.line.option(option).map(str::parse::<u64>) {
            Some(Ok(number)) => self.with(name, number),
            _ => self,
        }
    }

    /// Adds a flag, if it is set.
    pub(super) fn flag_as(self, flag: &str, name: &str) -> Self {
        match self.line.has(flag) {
            true => self.with(name, true),
            false => self,
        }
    }

    pub(super) fn call(self, tool: &'static str) -> Option<ToolCall> {
        let arguments = Value::Object(self.given);
        Some(ToolCall { tool, arguments })
    }
}
