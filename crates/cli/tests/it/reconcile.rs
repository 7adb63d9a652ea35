//! `tl doc reconcile`

use serde_json::json;
use testkit::Project;

use crate::doc::planned_search;
use crate::{assert_refused, finished};

/// Runs git in the project.
#[expect(clippy::disallowed_methods, reason = "a test needs a repository")]
pub(crate) fn git(project: &Project, arguments: &[&str]) {
    let mut command = std::process::Command::new("git");
    command
        .args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b.c",
            "-c",
            "commit.gpgsign=false",
        ])
        .args(arguments);
    command
        .current_dir(project.root())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = finished(&mut command);
    assert_eq!(output.code, 0, "git {arguments:?}: {}", output.stderr);
}

/// A repository around a project, with everything in it committed.
pub(crate) fn committed(project: &Project) {
    git(project, &["init", "-q"]);
    project.write("src/lib.rs", "// empty\n");
    project.write("tests/index.rs", "// a test\n");
    git(project, &["add", "-A"]);
    git(project, &["commit", "-q", "-m", "before"]);
}

#[test]
fn a_plan_is_compared_with_the_repository_since_the_freeze() {
    let project = planned_search();
    committed(&project);
    assert_refused(
        &project,
        &["doc", "reconcile"],
        "refused",
        &["`add-search` is not frozen"],
    );
    project.ok(&["doc", "freeze"]);
    project.write("src/index.rs", "fn build() {}\n");
    project.write("src/stray.rs", "fn stray() {}\n");
    project.write("target/ignored", "x");
    project.write(".gitignore", "target\n");
    let output = project.run(&["doc", "reconcile"]);
    assert_eq!(output.code, 3);
    for part in [
        "# Reconciliation of Add search (add-search)",
        "## Intents without a change\n\n- M-002 CI-002 `src/query.rs`: Finds places.",
        "## Changes without an intent\n\n- `src/stray.rs`\n",
        "- M-001 cargo test",
    ] {
        assert!(output.stdout.contains(part), "{part}:\n{}", output.stdout);
    }
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "work"]);
    let report = project.json(&["doc", "reconcile"]);
    assert_eq!(
        (&report["ok"], &report["carried_out"]),
        (&json!(false), &json!(1)),
        "{report}"
    );
    assert_eq!(report["changes_without_intents"], json!(["src/stray.rs"]));
    assert_eq!(
        project.json(&["doc", "reconcile", "--since", "HEAD"])["carried_out"],
        json!(0)
    );
    assert_refused(
        &project,
        &["doc", "reconcile", "--since=--output=x"],
        "unavailable",
        &["is not a commit"],
    );
    assert_refused(
        &project,
        &["doc", "reconcile", "--since", "nothing"],
        "unavailable",
        &["cannot be compared"],
    );
}

#[test]
fn nothing_in_the_repository_is_run() {
    let project = planned_search();
    committed(&project);
    project.ok(&["doc", "freeze"]);
    let trap = "#!/bin/sh\ntouch \"$(git rev-parse --show-toplevel)/trapped\"\ncat\n";
    project.write("trap.sh", trap);
    git(&project, &["config", "core.fsmonitor", "sh ./trap.sh"]);
    git(&project, &["config", "filter.trap.clean", "sh ./trap.sh"]);
    git(&project, &["config", "diff.trap.textconv", "sh ./trap.sh"]);
    git(&project, &["config", "diff.external", "sh ./trap.sh"]);
    project.write(".gitattributes", "* filter=trap diff=trap\n");
    project.write("src/index.rs", "fn build() {}\n");
    assert_eq!(project.run(&["doc", "reconcile"]).code, 3);
    assert!(!project.root().join("trapped").exists());
}

#[test]
fn without_a_repository_it_says_so() {
    let project = planned_search();
    project.ok(&["doc", "freeze"]);
    assert_refused(
        &project,
        &["doc", "reconcile"],
        "unavailable",
        &["the repository cannot be compared"],
    );
}
