//! `--help` and `--version`.

use crate::{COMMANDS, empty};

#[test]
fn every_command_has_help_with_examples() {
    let project = empty();
    for command in COMMANDS {
        let words: Vec<&str> = command.split(' ').collect();
        let output = project.ok(&[&words, &["--help"][..]].concat());
        assert!(
            output.stdout.contains("Examples:\n  tl "),
            "tl {command} --help:\n{}",
            output.stdout
        );
        assert!(
            output.stdout.contains("--json"),
            "tl {command} --help:\n{}",
            output.stdout
        );
        assert!(
            output.stdout.contains("--project <DIR>"),
            "tl {command} --help:\n{}",
            output.stdout
        );
        assert_eq!(output.stderr, "", "tl {command} --help");
        assert_eq!(
            project.ok(&[&["help"][..], &words].concat()).stdout,
            output.stdout
        );
    }
}

/// Returns the sections of a help text with their commands.
fn sections(help: &str) -> Vec<(String, Vec<String>)> {
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    for line in help.lines() {
        if let Some(title) = line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
            sections.push((title.to_owned(), Vec::new()));
        } else if let Some(name) = line
            .strip_prefix("  ")
            .and_then(|rest| rest.split(' ').next())
            && let Some((_, names)) = sections.last_mut()
            && !name.is_empty()
        {
            names.push(name.to_owned());
        }
    }
    sections
}

#[test]
fn the_help_has_few_commands_in_named_sections() {
    let project = empty();
    let output = project.ok(&["--help"]);
    assert_eq!(project.ok(&["help"]).stdout, output.stdout);
    assert_eq!(project.ok(&["-h"]).stdout, output.stdout);
    let listed = sections(&output.stdout);
    let titles: Vec<&str> = listed.iter().map(|(title, _)| title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "Start",
            "Plan and approve",
            "Change the shape",
            "Work",
            "Review",
            "Automate",
            "Share",
            "Look after",
            "Options"
        ]
    );
    let commands: Vec<&String> = listed
        .iter()
        .filter(|(title, _)| title != "Options")
        .flat_map(|(_, names)| names)
        .collect();
    assert!(commands.len() <= 32, "{}: {commands:?}", commands.len());
    for name in commands {
        assert!(COMMANDS.contains(&name.as_str()), "{name}");
    }
    for line in output.stdout.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    assert!(
        output
            .stdout
            .contains("Exit codes: 0 done, 1 failed or refused")
    );
}

#[test]
fn the_full_list_has_every_command() {
    let output = empty().ok(&["help", "all"]);
    let listed: Vec<String> = sections(&output.stdout)
        .into_iter()
        .flat_map(|(_, names)| names)
        .collect();
    for command in COMMANDS.iter().filter(|name| !name.contains(' ')) {
        assert!(listed.contains(&(*command).to_owned()), "{command}");
    }
}

#[test]
fn help_is_help_also_with_json() {
    let output = empty().ok(&["--json", "show", "--help"]);
    assert!(output.stdout.contains("Examples:"));
}

#[test]
fn the_version_is_told() {
    let output = empty().ok(&["--version"]);
    assert!(output.stdout.starts_with("tl "), "{}", output.stdout);
}

#[test]
fn help_makes_no_project() {
    let project = empty();
    for command in COMMANDS {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        project.ok(&words);
    }
    assert_eq!(crate::names_in(&project, "."), Vec::<String>::new());
}
