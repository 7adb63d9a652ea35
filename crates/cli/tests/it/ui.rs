//! `tl ui`: decisions by keys, in a terminal.

use testkit::Project;

use crate::{ACT_EDITED, ACT_TEXT, planned, story};

fn drafted() -> Project {
    let project = story();
    project.write(Project::ACT, ACT_TEXT);
    project
}

#[test]
fn without_a_terminal_the_list_is_named_instead() {
    let refused = drafted().refused(&["ui"]);
    assert!(
        refused.stderr.contains("needs a terminal"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("tl status"), "{}", refused.stderr);
}

#[test]
fn a_person_approves_what_is_on_the_screen() {
    let project = drafted();
    project.configure("policy.approval", "\"human\"");
    let seen = project.run_as_person("ann", "ayq", &["ui"]);
    assert_eq!(seen.code, 0, "{}", seen.stdout);
    assert_eq!(project.status("act-1"), "approved");
    let log = project.ok(&["log"]).stdout;
    assert!(log.contains("ann"), "{log}");
}

#[test]
fn no_key_but_y_decides() {
    let project = drafted();
    let seen = project.run_as_person("ann", "anq", &["ui"]);
    assert_eq!(seen.code, 0, "{}", seen.stdout);
    assert_eq!(project.status("act-1"), "draft");
}

#[test]
fn changes_are_requested_with_the_typed_text() {
    let project = drafted();
    let seen = project.run_as_person("ann", "rКто такая Мара?\rq", &["ui"]);
    assert_eq!(seen.code, 0, "{}", seen.stdout);
    let status = project.ok(&["status"]).stdout;
    assert!(status.contains("Кто такая Мара?"), "{status}");
}

#[test]
fn a_stale_plan_is_kept_and_the_decision_undone() {
    let project = planned();
    project.write(Project::ACT, ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    assert_eq!(project.status("act-1/chapter-01"), "requires-revalidation");
    let seen = project.run_as_person("ann", "ayq", &["ui"]);
    assert_eq!(seen.code, 0, "{}", seen.stdout);
    assert_eq!(project.status("act-1/chapter-01"), "approved");
    let seen = project.run_as_person("ann", "uyq", &["ui"]);
    assert_eq!(seen.code, 0, "{}", seen.stdout);
    assert_eq!(project.status("act-1/chapter-01"), "requires-revalidation");
}
