//! `tl review`

use serde_json::json;

use crate::doc::planned_search;
use crate::{assert_refused, planned, run_with, story, text, texts};

const SUBJECT: &str = "act-1/chapter-01";

#[test]
fn prose_is_reviewed_as_plans_are() {
    let project = planned();
    for (check, severity, id) in [
        ("POV holds", "must", "qa-001"),
        ("rhythm", "COULD", "qa-002"),
    ] {
        let output = project.ok(&[
            "review",
            "add",
            "--of",
            SUBJECT,
            "--check",
            check,
            "--severity",
            severity,
        ]);
        assert_eq!(output.stdout, format!("{id}\n"));
    }
    let of = ["--of", SUBJECT];
    assert_refused(
        &project,
        &["review", "conclude", "--of", SUBJECT],
        "refused",
        &["2 of `act-1/chapter-01` wait for a verdict"],
    );
    for iteration in 1..=5 {
        let fail = [
            "review",
            "verdict",
            "qa-001",
            "fail",
            "--finding",
            "she knows too much",
            of[0],
            of[1],
        ];
        assert_eq!(project.ok(&fail).stdout, "qa-001 is FAIL\n");
        if iteration <= 2 {
            project.ok(&[
                "review",
                "verdict",
                "qa-002",
                "fail",
                "--finding",
                "slow",
                of[0],
                of[1],
            ]);
        } else if iteration == 3 {
            // It does not stop the work any more, so it was not sent back.
            project.ok(&[
                "review",
                "verdict",
                "qa-002",
                "fail",
                "--finding",
                "still slow",
                of[0],
                of[1],
            ]);
        }
        let output = project.run(&["--json", "review", "conclude", of[0], of[1]]);
        assert_eq!(output.code, 3);
        let value: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
        let expected = if iteration == 5 {
            "needs-person"
        } else {
            "retry"
        };
        assert_eq!(
            text(&value, "outcome"),
            expected,
            "iteration {iteration}: {value}"
        );
    }
    let waiting = project.json(&["review", "escalated"]);
    assert_eq!(
        (
            text(&waiting[0], "subject"),
            text(&waiting[0]["item"], "id")
        ),
        (SUBJECT, "qa-001")
    );
    assert!(
        project
            .ok(&["review", "escalated"])
            .stdout
            .contains("tl review accept qa-001 --of act-1/chapter-01")
    );
    assert_refused(
        &project,
        &[
            "review", "accept", "qa-001", "--reason", "fine", of[0], of[1],
        ],
        "refused",
        &["only a person can accept a finding, in a terminal or on the dashboard"],
    );
    // Fixed after all: the reviewer says so, and the review is complete. What only could be better is accepted, with a reason.
    project.ok(&["review", "verdict", "qa-001", "pass", of[0], of[1]]);
    let done = project.json(&["review", "conclude", of[0], of[1]]);
    assert_eq!(
        (text(&done, "outcome"), &done["accepted"]),
        ("complete", &json!(["qa-002"]))
    );
    let view = project.json(&["review", "status", of[0], of[1]]);
    assert_eq!(text(&view, "state"), "COMPLETE");
    assert!(
        text(&view["items"][1]["resolution"], "reason").contains("COULD does not block"),
        "{view}"
    );
    assert!(
        project
            .ok(&["review", "status", of[0], of[1]])
            .stdout
            .contains("COMPLETE, iteration 5")
    );
    // A new check begins a new review.
    project.ok(&[
        "review",
        "add",
        of[0],
        of[1],
        "--check",
        "again",
        "--severity",
        "should",
    ]);
    assert_eq!(
        project.json(&["review", "status", of[0], of[1]])["iteration"],
        json!(1)
    );
}

#[test]
fn every_refusal_says_what_to_do() {
    let project = story();
    let cases: &[(&[&str], &str, &[&str])] = &[
        (
            &["status", "--of", "x"],
            "not-found",
            &["there is no review of `x` yet"],
        ),
        (&["status"], "not-found", &["there is no plan document yet"]),
        (
            &["add", "--of", "x", "--check", "c", "--severity", "maybe"],
            "invalid",
            &["MUST, SHOULD, COULD"],
        ),
        (
            &["add", "--of", "x", "--check", " ", "--severity", "must"],
            "invalid",
            &["a check needs a description"],
        ),
        (
            &["add", "--of", " ", "--check", "c", "--severity", "must"],
            "invalid",
            &["needs a subject"],
        ),
        (
            &["verdict", "qa-001", "pass", "--of", "x"],
            "not-found",
            &["there is no review of `x` yet"],
        ),
    ];
    for (arguments, kind, parts) in cases {
        let mut all = vec!["review"];
        all.extend(*arguments);
        assert_refused(&project, &all, kind, parts);
    }
    project.ok(&[
        "review",
        "add",
        "--of",
        "x",
        "--check",
        "c",
        "--severity",
        "must",
    ]);
    assert_refused(
        &project,
        &["review", "verdict", "qa-001", "perhaps", "--of", "x"],
        "invalid",
        &["`pass` or `fail`"],
    );
    assert_refused(
        &project,
        &["review", "verdict", "qa-001", "fail", "--of", "x"],
        "invalid",
        &["needs a finding"],
    );
    assert_refused(
        &project,
        &["review", "verdict", "qa-002", "pass", "--of", "x"],
        "not-found",
        &["no check `qa-002`"],
    );
    let output = project.refused(&[
        "--json",
        "review",
        "verdict",
        "qa-001",
        "pass",
        "--of",
        "x",
        "--version",
        "4",
    ]);
    let value: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(
        (text(&value["error"], "kind"), &value["current"]["version"]),
        ("conflict", &json!(1))
    );
    assert_refused(
        &planned_search(),
        &["review", "status"],
        "invalid",
        &["no review subject", "--of SUBJECT"],
    );
}

#[test]
fn who_wrote_it_does_not_judge_it_where_policy_says_so() {
    let project = story();
    project.configure("policy.review.reviewer", "\"other\"");
    let add = [
        "review",
        "add",
        "--of",
        "code",
        "--check",
        "c",
        "--severity",
        "must",
        "--author",
        "agent:shell/writer",
    ];
    let as_writer = [("THROUGHLINE_SESSION", "writer")];
    assert_eq!(
        run_with(&project, &as_writer, &add).code,
        1,
        "not even a check is written by the author"
    );
    assert_eq!(
        run_with(&project, &[("THROUGHLINE_SESSION", "reader")], &add).code,
        0
    );
    let verdict = ["review", "verdict", "qa-001", "pass", "--of", "code"];
    let output = run_with(&project, &as_writer, &verdict);
    assert!(
        output.stderr.contains("policy.review.reviewer is `other`"),
        "{}",
        output.stderr
    );
    assert_eq!(
        run_with(&project, &[("THROUGHLINE_SESSION", "reader")], &verdict).code,
        0
    );
    assert_eq!(
        project.json(&["review", "conclude", "--of", "code"])["outcome"],
        json!("complete")
    );
    let output = run_with(&project, &[("THROUGHLINE_REVIEWER", "anyone")], &["status"]);
    assert!(
        output.stderr.contains("the environment cannot loosen it"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_verdict_can_be_taken_back() {
    let project = story();
    project.ok(&[
        "review",
        "add",
        "--of",
        "x",
        "--check",
        "c",
        "--severity",
        "must",
    ]);
    project.ok(&["review", "verdict", "qa-001", "pass", "--of", "x"]);
    project.ok(&["undo"]);
    assert_eq!(
        texts(&project.json(&["review", "status", "--of", "x"])["todo"]),
        ["qa-001"]
    );
}
