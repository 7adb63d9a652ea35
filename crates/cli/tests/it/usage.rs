//! Wrong usage: exit code 2, in words on stderr or as JSON on stdout.

use serde_json::Value;

use crate::{keys, story, text};

const WRONG: &[&[&str]] = &[
    &["frobnicate"],
    &["show"],
    &["children"],
    &["approve"],
    &["why"],
    &["versions"],
    &["diff"],
    &["restore"],
    &["restore", "act-1"],
    &["invalidate", "act", "1"],
    &["invalidate", "--reason", "no node"],
    &["revalidate"],
    &["revalidate", "act-1", "--force"],
    &["progress", "act-1"],
    &["completions"],
    &["completions", "tcsh"],
    &["man"],
    &["show", "act", "1", "chapter", "1"],
    &["show", "act-1", "--frob"],
    &["log", "--limit", "many"],
    &["undo", "first"],
    &["undo", "1", "--to", "1"],
    &["plan", "chapter", "1", "--act", "1", "--under", "act-1"],
];

#[test]
fn wrong_usage_is_exit_code_2_and_told_on_stderr() {
    let project = story();
    for arguments in WRONG {
        let output = project.run(arguments);
        assert_eq!(
            output.code, 2,
            "tl {arguments:?}\n{}\n{}",
            output.stdout, output.stderr
        );
        assert_eq!(output.stdout, "", "tl {arguments:?}");
        assert!(!output.stderr.is_empty(), "tl {arguments:?}");
    }
}

#[test]
fn wrong_usage_is_json_where_that_was_asked_for() {
    let project = story();
    for arguments in WRONG {
        let mut with_json = arguments.to_vec();
        with_json.push("--json");
        let output = project.run(&with_json);
        assert_eq!(
            output.code, 2,
            "tl {with_json:?}\n{}\n{}",
            output.stdout, output.stderr
        );
        let value: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|error| {
            panic!(
                "tl {with_json:?} ({error}): {}\n{}",
                output.stdout, output.stderr
            )
        });
        assert_eq!(keys(&value), ["error"]);
        assert_eq!(keys(&value["error"]), ["kind", "message", "next_steps"]);
        assert_eq!(text(&value["error"], "kind"), "usage");
        assert!(
            !text(&value["error"], "message").trim().is_empty(),
            "tl {with_json:?}: {value}"
        );
    }
}

#[test]
fn a_missing_id_is_wrong_usage() {
    let output = story().run(&["plan", "chapter"]);
    assert_eq!(output.code, 2, "{}", output.stderr);
    assert!(
        output.stderr.contains("tl plan chapter 1"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_mistyped_command_is_corrected() {
    let output = story().run(&["aprove", "act", "1"]);
    assert_eq!(output.code, 2);
    assert!(output.stderr.contains("approve"), "{}", output.stderr);
}

#[test]
fn outside_a_project_every_command_says_what_to_do() {
    let project = crate::empty();
    let commands: &[&[&str]] = &[
        &["status"],
        &["tree"],
        &["show", "act-1"],
        &["children", "act-1"],
        &["next"],
        &["plan"],
        &["plan", "act", "1"],
        &["approve", "act-1"],
        &["revalidate", "--all"],
        &["invalidate", "act-1", "--reason", "x"],
        &["why", "act-1"],
        &["progress", "act-1", "active"],
        &["versions", "act-1"],
        &["diff", "act-1"],
        &["restore", "act-1", "-1"],
        &["log"],
        &["undo"],
        &["check"],
        &["state", "repair"],
        &["state", "rebuild"],
        &["state", "sync-hashes"],
        &["state", "adopt", "--yes"],
    ];
    for arguments in commands {
        crate::assert_refused(
            &project,
            arguments,
            "not-found",
            &["there is no Throughline project", "tl init"],
        );
    }
    assert_eq!(
        crate::names_in(&project, "."),
        Vec::<String>::new(),
        "nothing was made"
    );
}
