//! The table of scenarios: every command that changes something, with the project it runs in.

mod documents;
mod exempt;
mod hosts;
mod loops;
mod state;
mod story;
mod tickets;
mod trail;

use super::lab::{Call, FROM_FILE};
pub(crate) use exempt::EXEMPT;
pub(crate) use story::STORY;

/// A project that several scenarios start from, made once by a worker.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) name: &'static str,
    /// A shell script; the project is the present directory.
    pub(crate) script: &'static str,
}

/// How an interrupted command and its repetition relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeats {
    /// The fault leaves the state before or after; repeating ends as an undisturbed run does.
    Whole,
    /// The command works in steps by design: any state is right from which repeating it ends as an undisturbed run does.
    Resume,
    /// The command works in steps by design and cannot be repeated as it is: what it left in between is judged by whether it can
    /// be used, whether something is lost, and by the command's answer.
    Never,
}

/// How a command says that it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acknowledges {
    /// By its exit code, or by having printed all that an undisturbed run prints.
    ByExitCode,
    /// By its output alone: a server and a hook end with 0 whatever happened.
    ByOutput,
    /// Not at all: the output says nothing about what was recorded.
    Never,
}

/// One command in one project.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// The program's commands it stands for, as the manual pages name them: `doc-add-decision`.
    pub(crate) covers: &'static [&'static str],
    pub(crate) base: &'static Base,
    /// A shell script after that of the base.
    pub(crate) setup: &'static str,
    /// The command line; `tl` is the program under test.
    words: Vec<String>,
    input: String,
    /// Whether only a person may run it.
    at_terminal: bool,
    /// A command whose output is compared too, where tree, journal and files do not tell all.
    pub(crate) view: &'static [&'static str],
    pub(crate) repeats: Repeats,
    pub(crate) acknowledges: Acknowledges,
    /// Whether it is right that an undisturbed run changes nothing that is compared.
    pub(crate) is_read_only: bool,
}

impl Scenario {
    /// Returns a scenario for a command that is all or nothing.
    pub(crate) fn new(
        name: &'static str,
        covers: &'static [&'static str],
        base: &'static Base,
        setup: &'static str,
        command: &str,
    ) -> Self {
        Self {
            name,
            covers,
            base,
            setup,
            words: command.split(' ').map(str::to_owned).collect(),
            input: String::new(),
            at_terminal: false,
            view: &[],
            repeats: Repeats::Whole,
            acknowledges: Acknowledges::ByExitCode,
            is_read_only: false,
        }
    }

    fn with_input(mut self, input: impl Into<String>) -> Self {
        self.input = input.into();
        self
    }

    fn with_view(mut self, arguments: &'static [&'static str]) -> Self {
        self.view = arguments;
        self
    }

    fn at_terminal(mut self) -> Self {
        self.at_terminal = true;
        self
    }

    /// Returns its command line and input.
    pub(crate) fn call(&self) -> Call<'_> {
        Call {
            words: &self.words,
            input: &self.input,
            at_terminal: self.at_terminal,
        }
    }

    /// Adds a word that may hold blanks.
    pub(crate) fn with_word(mut self, word: &str) -> Self {
        self.words.push(word.to_owned());
        self
    }

    pub(crate) fn with(mut self, repeats: Repeats) -> Self {
        self.repeats = repeats;
        self
    }

    fn acknowledging(mut self, how: Acknowledges) -> Self {
        self.acknowledges = how;
        self
    }

    fn read_only(mut self) -> Self {
        self.is_read_only = true;
        self
    }
}

/// Returns every scenario of the lane.
pub(crate) fn all() -> Vec<Scenario> {
    let mut all = story::scenarios();
    all.extend(tickets::scenarios());
    all.extend(trail::scenarios());
    all.extend(documents::scenarios());
    all.extend(loops::scenarios());
    all.extend(state::scenarios());
    all.extend(hosts::scenarios());
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{EXEMPT, all};

    #[test]
    fn every_scenario_has_a_name_of_its_own_and_exempts_nothing_it_covers() {
        let scenarios = all();
        let names: BTreeSet<&str> = scenarios.iter().map(|scenario| scenario.name).collect();
        assert_eq!(names.len(), scenarios.len());
        for (command, reason) in EXEMPT {
            assert!(!reason.is_empty(), "{command} is exempt without a reason");
            let covered = scenarios
                .iter()
                .any(|scenario| scenario.covers.contains(command));
            assert!(!covered, "{command} is exempt and covered");
        }
    }
}
