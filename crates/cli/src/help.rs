//! Help of the whole program: commands in named sections, the common ones first.
//!
//! clap lists subcommands as one flat list; the sections are text in its help template. What a
//! command does is taken from its own help, so that the list cannot contradict it.

use clap::builder::StyledStr;
use clap::{Command, CommandFactory};

use crate::Cli;
use crate::ui::BOLD;

/// Commands of one purpose.
#[derive(Debug)]
pub(crate) struct HelpSection {
    pub(crate) title: &'static str,
    /// Listed by `tl --help`, the most used first.
    pub(crate) common: &'static [&'static str],
    /// Listed by `tl help all` too.
    pub(crate) rare: &'static [&'static str],
}

/// Sections in the order in which a project needs them.
pub(crate) const SECTIONS: &[HelpSection] = &[
    HelpSection {
        title: "Start",
        common: &["init", "demo", "config", "host"],
        rare: &["import", "completions", "man"],
    },
    HelpSection {
        title: "Plan and approve",
        common: &[
            "status",
            "tree",
            "show",
            "plan",
            "approve",
            "revalidate",
            "why",
        ],
        rare: &[
            "request-changes",
            "children",
            "invalidate",
            "outline",
            "stats",
            "ui",
        ],
    },
    HelpSection {
        title: "Change the shape",
        common: &["insert", "move"],
        rare: &["add", "rename", "split", "merge", "remove", "renumber"],
    },
    HelpSection {
        title: "Work",
        common: &[
            "next", "focus", "claim", "ticket", "note", "search", "trail",
        ],
        rare: &[
            "evidence", "where", "release", "overlap", "progress", "brief",
        ],
    },
    HelpSection {
        title: "Review",
        common: &["comment", "review", "diff", "log", "undo", "restore"],
        rare: &["versions", "wait"],
    },
    HelpSection {
        title: "Automate",
        common: &["story", "gate"],
        rare: &["flow", "doc", "mcp", "hook", "statusline"],
    },
    HelpSection {
        title: "Share",
        common: &["serve", "team"],
        rare: &["submit", "decisions", "conflicts"],
    },
    HelpSection {
        title: "Look after",
        common: &["check", "state"],
        rare: &["policy"],
    },
];

pub(crate) const INTRODUCTION: &str = "\
Throughline keeps a tree of plans (act → chapter → scene, or a profile of your
own), binds approval to content, marks plans stale when their parent changes, and
can restore every version.";

const FOOTER: &str = "\
`tl` alone shows where the project stands. `tl help COMMAND` explains a command
with examples, `tl help all` lists the rest, `tl help shape` shows how plans are
inserted, moved, split and merged.

A node is named by its alias (chapter-02), its path (act-1/chapter-02) or two
words (chapter 2). Exit codes: 0 done, 1 failed or refused, 2 usage error,
3 problems found (check, host doctor).";

/// Returns the full parser, with the sections in its help.
pub(crate) fn full_parser() -> Command {
    let program = Cli::command();
    let sections = render_sections(&program, false);
    let template = format!(
        "{{about}}\n\n{INTRODUCTION}\n\n{{usage-heading}} {{usage}}\n{sections}\n{BOLD}Options:{BOLD:#}\n\
         {{options}}{{after-help}}"
    );
    program
        .help_template(StyledStr::from(template))
        .after_help(FOOTER)
}

/// Prints the list of all commands, for `tl help all`.
pub(crate) fn print_all_commands() {
    let sections = render_sections(&Cli::command(), true);
    // Through clap, which knows whether the terminal has colours. A closed pipe is not an error.
    let _ = Command::new("tl")
        .help_template(StyledStr::from(sections.trim_start().to_owned()))
        .print_help();
}

fn render_sections(program: &Command, all: bool) -> String {
    let sections = SECTIONS.iter();
    sections
        .map(|section| render_command_list(program, section, all))
        .collect()
}

/// Renders the commands of a section below its title; with `all` also those that are used rarely.
pub(crate) fn render_command_list(program: &Command, section: &HelpSection, all: bool) -> String {
    let mut text = format!("\n{BOLD}{}:{BOLD:#}\n", section.title);
    let rare = if all { section.rare } else { &[] };
    let names = section.common.iter().chain(rare);
    for command in names.filter_map(|name| program.find_subcommand(name)) {
        text.push_str(&format!(
            "  {BOLD}{:<12}{BOLD:#} {}\n",
            command.get_name(),
            command.get_about().cloned().unwrap_or_default()
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_is_in_one_section() {
        let program = Cli::command();
        let listed: Vec<&str> = SECTIONS
            .iter()
            .flat_map(|section| section.common.iter().chain(section.rare).copied())
            // Declared here before its command exists.
            .filter(|name| *name != "config" || program.find_subcommand(name).is_some())
            .collect();
        let unique: BTreeSet<&str> = listed.iter().copied().collect();
        let known: BTreeSet<&str> = program
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(Command::get_name)
            .collect();
        assert_eq!(unique.len(), listed.len());
        assert_eq!(unique, known);
    }
}
