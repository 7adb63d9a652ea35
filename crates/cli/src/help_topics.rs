//! Help topics: a family of commands explained together by one worked example, as in `tl help shape`.
//!
//! A topic is no command: its commands are on the top level, where they are used most. What each does is
//! taken from its own help.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::{Command, CommandFactory};

use crate::Cli;
use crate::help::{SECTIONS, render_command_list};
use crate::ui::BOLD;

/// Text about the commands of a help section.
#[derive(Debug)]
pub(crate) struct HelpTopic {
    /// The word after `tl help`.
    name: &'static str,
    about: &'static str,
    /// Title of the section with its commands.
    pub(crate) section: &'static str,
    pub(crate) text: &'static str,
    /// A sequence that can be typed from top to bottom.
    pub(crate) example: &'static str,
}

pub(crate) const TOPICS: &[HelpTopic] = &[HelpTopic {
    name: "shape",
    about: "Change the shape of the work: add, insert, move, rename, split, merge, remove, renumber",
    section: "Change the shape",
    text: "\
Each of these commands is one operation. It renames files and folders, rewrites the
references in plan files, and takes along what is attached to a plan: versions,
approvals, comments, progress, claims, evidence and prose. An approval holds where the
text of the plan and that of its parent say the same as before.

`--dry-run` lists every file and every status that would change, and changes nothing;
`tl undo` reverts the whole operation, files included.",
    example: "\
tl insert chapter 2 --under act-1 --title \"The storm\" --dry-run    # look first
tl insert chapter 2 --under act-1 --title \"The storm\"    # 2 and 3 become 3 and 4
tl move act-1/chapter-03/scene-0301 --under act-2/chapter-01    # to another act
tl split scene-0102 --at \"The door\" --title \"The door\"    # one scene becomes two
tl merge act-1/chapter-01/scene-0103 act-1/chapter-01/scene-0102    # and two one
tl add chapter --under act-1 --name prologue    # sorts before chapter 1
tl rename act-1/prologue foreword    # another name
tl remove act-1/chapter-03    # with everything below it
tl renumber act-1 --children    # close the gap: 4 becomes 3
tl undo    # the last of these, with its files",
}];

impl HelpTopic {
    fn render(&self) -> String {
        let example: String = self
            .example
            .lines()
            .map(|line| format!("  {line}\n"))
            .collect();
        let commands: String = SECTIONS
            .iter()
            .filter(|section| section.title == self.section)
            .map(|section| render_command_list(&Cli::command(), section, true))
            .collect();
        format!(
            "{}\n\n{}\n\n{BOLD}Example:{BOLD:#}\n{example}{commands}\n`tl help COMMAND` explains \
             each of them.\n",
            self.about, self.text
        )
    }
}

/// Prints the topic that a command line asks for; `false` if it asks for none.
pub(crate) fn try_print_topic(arguments: &[OsString]) -> bool {
    let [_, help, name] = arguments else {
        return false;
    };
    let Some(topic) = TOPICS
        .iter()
        .find(|topic| help == "help" && name == topic.name)
    else {
        return false;
    };
    // Through clap, which knows whether the terminal has colours. A closed pipe is not an error.
    let _ = Command::new("tl")
        .help_template(StyledStr::from(topic.render()))
        .print_help();
    true
}
