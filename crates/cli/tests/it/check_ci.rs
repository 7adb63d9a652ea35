//! `tl check --ci`

use serde_json::{Value, json};

use crate::git_decisions::{Copy, shared_story, unadopted_clone};

/// The plans that must not be merged, with their status.
fn findings(copy: &Copy, arguments: &[&str]) -> (i32, Vec<(String, String)>) {
    let output = copy
        .project
        .run(&[&["--json", "check", "--ci"], arguments].concat());
    let outcome: Value = serde_json::from_str(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", output.stdout, output.stderr));
    assert_eq!(outcome["ok"], json!(output.code == 0));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let found = outcome["findings"].as_array().cloned().unwrap_or_default();
    let found = found
        .iter()
        .map(|one| (text(&one["path"]), text(&one["status"])))
        .collect();
    (output.code, found)
}

fn named(path: &str, status: &str) -> (String, String) {
    (path.to_owned(), status.to_owned())
}

#[test]
fn a_fresh_clone_is_judged_by_its_files_and_decisions() {
    let (folder, ann) = shared_story();
    let machine = unadopted_clone(folder.path());
    let drafts = vec![
        named("act-1/chapter-01", "draft"),
        named("act-1/chapter-02", "draft"),
    ];
    assert_eq!(findings(&machine, &[]), (3, drafts));
    assert_eq!(
        machine.project.status("act-1"),
        "draft",
        "nothing was adopted by the check"
    );

    ann.project.ok(&["approve", "act-1/chapter-01"]);
    ann.project.ok(&["approve", "act-1/chapter-02"]);
    ann.commit_all("approve");
    ann.push();
    machine.pull();
    assert_eq!(findings(&machine, &[]), (0, vec![]));
    assert_eq!(
        findings(&ann, &[]),
        (0, vec![]),
        "the same where it was made"
    );
}

#[test]
fn a_branch_answers_for_what_it_changed_and_what_is_below() {
    let (folder, ann) = shared_story();
    ann.project.ok(&["approve", "act-1/chapter-01"]);
    ann.commit_all("approve");
    ann.push();
    let machine = unadopted_clone(folder.path());
    machine.git(&["checkout", "-q", "-b", "other"]);
    machine.project.write("notes.md", "nothing planned\n");
    machine.commit_all("notes");
    assert_eq!(
        findings(&machine, &["--since", "origin/main"]),
        (0, vec![]),
        "the draft of chapter-02 is not this branch's"
    );

    machine.project.write(
        "acts/act-1/strategic-plan.md",
        "# Act one\n\nThe ship never leaves.\n",
    );
    machine.commit_all("act");
    let affected = vec![
        named("act-1", "draft"),
        named("act-1/chapter-01", "requires-revalidation"),
        named("act-1/chapter-02", "requires-revalidation"),
    ];
    assert_eq!(
        findings(&machine, &["--since", "origin/main"]),
        (3, affected)
    );
}

#[test]
fn a_base_that_was_not_fetched_is_told_with_the_command_that_fetches_it() {
    let (folder, _ann) = shared_story();
    let machine = unadopted_clone(folder.path());
    machine.git(&["checkout", "-q", "--orphan", "elsewhere"]);
    machine.commit_all("a history without a common commit");
    for base in ["origin/main", "no-such-branch"] {
        let output = machine.project.run(&["check", "--ci", "--since", base]);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(
            output.stderr.contains("next: git fetch --unshallow origin"),
            "{output:?}"
        );
    }
}

#[test]
fn a_decision_that_a_branch_deletes_is_noticed() {
    let (folder, _ann) = shared_story();
    let machine = unadopted_clone(folder.path());
    machine.git(&["rm", "-q", "-r", ".throughline/decisions"]);
    machine.commit_all("tidy");
    let (code, found) = findings(&machine, &["--since", "origin/main"]);
    assert_eq!((code, &found[0]), (3, &named("act-1", "draft")));
}

#[test]
fn on_github_a_finding_is_an_annotation() {
    let (folder, ann) = shared_story();
    ann.project.write(
        "acts/act-2/strategic-plan.md",
        "# Part 1: rain, 100 %\n\nIt rains.\n",
    );
    ann.commit_all("act 2");
    ann.push();
    let machine = unadopted_clone(folder.path());
    let mut command = machine.project.command(&["check", "--ci"]);
    command.env("GITHUB_ACTIONS", "true");
    let output = crate::finished(&mut command);
    assert_eq!(output.code, 3, "{}", output.stderr);
    let line = output
        .stdout
        .lines()
        .find(|line| line.contains("act-2"))
        .unwrap_or_else(|| panic!("{}", output.stdout));
    assert_eq!(
        line,
        "::error file=acts/act-2/strategic-plan.md,line=1,title=Part 1%3A rain%2C 100 %25::\
         `act-2` is draft, not approved (next: tl approve act-2)"
    );
}

#[test]
fn a_commit_that_does_not_exist_is_named() {
    let (_folder, ann) = shared_story();
    for base in ["nowhere", "--output=stolen"] {
        let since = format!("--since={base}");
        let output = ann.project.run(&["check", "--ci", &since]);
        assert_eq!(output.code, 1);
        assert!(
            output
                .stderr
                .contains(&format!("cannot find the commit `{base}`")),
            "{}",
            output.stderr
        );
    }
    assert!(!ann.project.root().join("stolen").exists());
}
