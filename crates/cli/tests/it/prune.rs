//! `tl trail prune`: finished branches go, a line about each stays.

use crate::{assert_refused, story, text, trail};

#[test]
fn finished_branches_become_lines_and_come_back_by_undo() {
    let project = trail();
    project.ok(&["trail", "intent", "Build auth"]);
    for name in ["One", "Two"] {
        project.ok(&["trail", "map", "tactic", name]);
        project.ok(&[
            "trail",
            "map",
            "action",
            &format!("Step of {name}"),
            "--status",
            "complete",
        ]);
        project.ok(&["trail", "map", "tactic", name, "--status", "complete"]);
    }
    project.ok(&["trail", "map", "tactic", "Three"]);
    let before = project.json(&["trail", "scan"]);
    let outcome = project.json(&["trail", "prune"]);
    assert_eq!(
        (&outcome["branches"], &outcome["nodes"]),
        (&2.into(), &4.into())
    );
    let after = project.json(&["trail", "scan"]);
    assert_eq!(after["root"]["children"].as_array().map(Vec::len), Some(1));
    let summary = text(&after["root"], "summary");
    assert!(
        summary.contains("One (1 step)") && summary.contains("Two (1 step)"),
        "{summary}"
    );
    assert_eq!(project.json(&["trail", "prune"])["branches"], 0);
    let operation = crate::newest_operation(&project).to_string();
    project.ok(&["undo", &operation]);
    assert_eq!(project.json(&["trail", "scan"])["root"], before["root"]);
    assert!(
        project.json(&["check"])["findings"]
            .as_array()
            .is_none_or(Vec::is_empty)
    );
}

#[test]
fn without_a_trail_there_is_nothing_to_prune() {
    assert_refused(
        &story(),
        &["trail", "prune"],
        "refused",
        &["keeps no trail"],
    );
    assert_eq!(trail().json(&["trail", "prune"])["branches"], 0);
}
