//! `tl team token`: given once, listed without their secret, taken back.

use testkit::Project;

use crate::{planned, run_with, text};

#[test]
fn a_token_is_given_listed_and_taken_back() {
    let project = planned();
    let given = project.ok(&[
        "team",
        "token",
        "create",
        "Anna's laptop",
        "--as",
        "human:anna",
        "--scope",
        "approve",
    ]);
    let secret = given.stdout.trim();
    assert!(secret.starts_with("tl_") && secret.len() == 67, "{secret}");
    assert!(given.stderr.contains("not shown again"), "{}", given.stderr);
    let other = project.json(&[
        "team",
        "token",
        "create",
        "nightly",
        "--as",
        "agent:ci/1",
        "--scope",
        "agent",
        "--expires",
        "90d",
    ]);
    assert_ne!(text(&other, "secret"), secret);
    assert!(other["expires_at"].is_string(), "{other}");

    let listed = project.json(&["team", "token", "list"]);
    assert_eq!(text(&listed[0], "principal"), "human:anna");
    // The test has no terminal: it is a script of the user's, and counts as theirs.
    assert!(
        text(&listed[0], "created_by").starts_with("human:"),
        "{listed}"
    );
    assert_eq!(
        (text(&listed[1], "scope"), text(&listed[1], "state")),
        ("agent", "valid")
    );
    assert!(
        !listed.to_string().contains(secret),
        "the secret is kept nowhere"
    );
    let shown = project.ok(&["team", "token", "list"]).stdout;
    assert!(
        shown.contains("Anna's laptop") && shown.contains("never used"),
        "{shown}"
    );

    let revoked = project.json(&["team", "token", "revoke", &other["id"].to_string()]);
    assert_eq!(text(&revoked, "state"), "revoked");
    assert_eq!(
        project.json(&["team", "token", "revoke", &other["id"].to_string()]),
        revoked,
        "once is enough"
    );
    let audit = project.json(&["team", "token", "audit"]);
    let actions: Vec<&str> = audit
        .as_array()
        .unwrap()
        .iter()
        .map(|line| text(line, "action"))
        .collect();
    assert_eq!(actions, ["token revoke", "token create", "token create"]);
    assert!(
        text(&audit[0], "principal").starts_with("human:"),
        "{audit}"
    );
    assert!(
        !audit.to_string().contains(secret),
        "no secret is in the log"
    );
    project.ok(&["check"]);
}

#[test]
fn what_may_not_be_is_refused() {
    let project = planned();
    let refused = |words: &[&str], why: &str| {
        let all: Vec<&str> = ["token", "create", "x"]
            .iter()
            .chain(words)
            .copied()
            .collect();
        let output = project.refused(&all);
        assert!(output.stderr.contains(why), "{words:?}: {}", output.stderr);
    };
    refused(
        &["--as", "agent:ci/1", "--scope", "approve"],
        "agents cannot decide for a person",
    );
    refused(
        &["--as", "agent:ci/1", "--scope", "admin"],
        "agents cannot decide for a person",
    );
    refused(
        &["--as", "anna", "--scope", "read"],
        "expected `human:NAME` or `agent:HOST/SESSION`",
    );
    refused(&["--as", "system", "--scope", "read"], "is not a principal");
    let unknown = project.refused(&["team", "token", "revoke", "99"]);
    assert!(
        unknown.stderr.contains("there is no token `99`"),
        "{}",
        unknown.stderr
    );
    let wrong = project.run(&[
        "team",
        "token",
        "create",
        "x",
        "--as",
        "human:a",
        "--scope",
        "read",
        "--expires",
        "soon",
    ]);
    assert!(
        wrong.code == 2 && wrong.stderr.contains("as in 90d"),
        "{}",
        wrong.stderr
    );
    assert_eq!(
        project
            .json(&["team", "token", "list"])
            .as_array()
            .map(Vec::len),
        Some(0)
    );
}

/// An agent that could give itself a token could be anybody.
#[test]
fn an_agent_gives_no_tokens() {
    let project = planned();
    let agent = [("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "s1")];
    for words in [
        vec![
            "team",
            "token",
            "create",
            "x",
            "--as",
            "human:anna",
            "--scope",
            "approve",
        ],
        vec!["team", "token", "revoke", "1"],
    ] {
        let output = run_with(&project, &agent, &words);
        assert!(
            output.code != 0 && output.stderr.contains("by a person"),
            "{words:?}: {}",
            output.stderr
        );
    }
}

#[test]
fn json_files_keep_no_tokens() {
    let project = Project::story(crate::binary()).with_environment("THROUGHLINE_STORAGE", "json");
    project.ok(&["init"]);
    let output = project.refused(&[
        "team",
        "token",
        "create",
        "x",
        "--as",
        "human:anna",
        "--scope",
        "read",
    ]);
    assert!(
        output.stderr.contains("there is no token store here"),
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains("tl state move --to sqlite"),
        "{}",
        output.stderr
    );
}
