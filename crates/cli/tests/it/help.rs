//! `--help` and `--version`.

use crate::{COMMANDS, empty};

#[test]
fn every_command_has_help_with_examples() {
    let project = empty();
    for command in COMMANDS {
        let output = project.ok(&[command, "--help"]);
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
        assert_eq!(project.ok(&["help", command]).stdout, output.stdout);
    }
}

#[test]
fn the_help_lists_every_command_and_the_exit_codes() {
    let output = empty().ok(&["--help"]);
    let listed: Vec<&str> = output
        .stdout
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| *word != "help")
        .collect();
    assert_eq!(listed, COMMANDS);
    assert!(output.stdout.contains("Examples:\n  tl "));
    assert!(output.stdout.contains(
        "Exit codes: 0 done, 1 failed or refused, 2 usage error, 3 problems found (check, doctor)."
    ));
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
        project.ok(&[command, "--help"]);
    }
    assert_eq!(crate::names_in(&project, "."), Vec::<String>::new());
}
