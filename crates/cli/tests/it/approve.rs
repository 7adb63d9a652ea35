//! `tl approve`

use serde_json::json;

use crate::{
    assert_refused, fingerprint, newest_operation, planned, run_with, statuses, story, text, texts,
};
use testkit::Project;

const STRANGER: &str = "# Scene 1.1\n\n## Characters\n- Mara\n- Ivo\n";

#[test]
fn an_act_is_approved_and_says_so() {
    let project = story();
    project.write(Project::ACT, crate::ACT_TEXT);
    let outcome = project.json(&["approve", "act", "1"]);
    let version = project.json(&["show", "act-1"])["version_hash"].clone();
    assert_eq!(
        outcome,
        json!({
            "success": true,
            "message": "`act-1` is approved",
            "warnings": [],
            "entity_id": "act-1",
            "path": "act-1",
            "version_hash": version,
            "changed_entities": [],
            "operation": newest_operation(&project),
        })
    );
    assert_eq!(project.status("act-1"), "approved");
}

#[test]
fn approving_twice_changes_nothing() {
    let project = planned();
    let before = fingerprint(&project);
    assert_eq!(
        project.ok(&["approve", "act", "1"]).stdout,
        "✓ `act-1` is approved already\n"
    );
    assert_eq!(fingerprint(&project), before);
}

#[test]
fn the_parent_comes_first() {
    let project = story();
    project.write(Project::ACT, crate::ACT_TEXT);
    project.write(Project::CHAPTER, "# Chapter 1\n");
    let error = assert_refused(
        &project,
        &["approve", "chapter", "1"],
        "refused",
        &["parent `act-1` is `draft`, expected `approved`"],
    );
    assert_eq!(
        error["next_steps"],
        json!([
            format!("review {}", Project::ACT),
            "tl approve act-1",
            "tl approve act-1/chapter-01"
        ])
    );
    assert_eq!(
        statuses(&project),
        ["act-1 draft", "act-1/chapter-01 draft"]
    );
}

#[test]
fn a_stale_parent_is_not_approved_either() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    assert_refused(
        &project,
        &["approve", "scene-0101"],
        "refused",
        &["parent `act-1/chapter-01` is `stale`"],
    );
}

#[test]
fn warnings_are_shown_and_recorded_and_block_nothing() {
    let project = planned();
    project.write(Project::SCENE, STRANGER);
    let output = project.ok(&["approve", "scene", "0101"]);
    assert_eq!(
        output.stdout,
        "✓ `act-1/chapter-01/scene-0101` is approved\n"
    );
    assert!(
        output
            .stderr
            .contains("warning: characters not named in parent `chapter-01`: Ivo"),
        "{}",
        output.stderr
    );
    let scene = project.json(&["show", "scene-0101"]);
    assert_eq!(text(&scene, "status"), "approved");
    assert_eq!(
        texts(&scene["approval"]["warnings"]),
        ["characters not named in parent `chapter-01`: Ivo"]
    );
    assert!(
        project
            .ok(&["show", "scene-0101"])
            .stdout
            .contains("despite: characters not named")
    );
}

#[test]
fn the_policy_may_ask_for_force() {
    let project = story().with_environment("THROUGHLINE_CONSISTENCY", "require-force");
    project.plan_story();
    project.write(Project::SCENE, STRANGER);
    let error = assert_refused(
        &project,
        &["approve", "scene-0101"],
        "refused",
        &["policy.consistency is `require-force`", "Ivo"],
    );
    assert_eq!(
        texts(&error["next_steps"]),
        ["tl approve act-1/chapter-01/scene-0101 --force"]
    );
    assert_eq!(project.status("scene-0101"), "draft");
    let outcome = project.json(&["approve", "scene-0101", "--force"]);
    assert_eq!(
        texts(&outcome["warnings"]),
        ["characters not named in parent `chapter-01`: Ivo"]
    );
    assert_eq!(project.status("scene-0101"), "approved");
}

#[test]
fn the_policy_may_switch_checks_off() {
    let project = planned();
    project.write(Project::SCENE, STRANGER);
    let output = run_with(
        &project,
        &[("THROUGHLINE_CONSISTENCY", "off")],
        &["approve", "scene-0101", "--json"],
    );
    assert_eq!(output.code, 0);
    assert!(
        output.stdout.contains("\"warnings\":[]"),
        "{}",
        output.stdout
    );
}

#[test]
fn only_a_person_where_the_policy_says_so() {
    let project = story();
    project.write(Project::ACT, crate::ACT_TEXT);
    project.configure("policy.approval", "\"human\"");
    // The change of policy is an operation of its own.
    project.ok(&["status"]);
    let before = fingerprint(&project);
    for arguments in [
        ["approve", "act-1"].as_slice(),
        &["approve", "act-1", "--force"],
    ] {
        assert_refused(
            &project,
            arguments,
            "refused",
            &["only a person may approve here", "in their own terminal"],
        );
    }
    let output = run_with(&project, &[("CLAUDECODE", "1")], &["approve", "act-1"]);
    assert_eq!(output.code, 1);
    assert!(
        output.stderr.contains("agent:claude-code/"),
        "{}",
        output.stderr
    );
    assert_eq!(fingerprint(&project), before);
}

#[test]
fn keeping_a_stale_node_is_an_approval_too() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    let human = [("THROUGHLINE_APPROVAL", "human")];
    for arguments in [
        ["revalidate", "chapter-01", "--keep"].as_slice(),
        &["revalidate", "--all", "--keep"],
    ] {
        let output = run_with(&project, &human, arguments);
        assert_eq!(output.code, 1, "{arguments:?}: {}", output.stdout);
        assert!(
            output.stderr.contains("only a person may approve here"),
            "{}",
            output.stderr
        );
    }
    assert_eq!(project.status("chapter-01"), "requires-revalidation");
}

#[test]
fn condemned_text_needs_force() {
    let project = planned();
    project.ok(&[
        "invalidate",
        "scene-0101",
        "--reason",
        "contradicts the ending",
    ]);
    assert_refused(
        &project,
        &["approve", "scene-0101"],
        "refused",
        &[
            "condemned by agent:shell/unknown: contradicts the ending",
            "tl approve act-1/chapter-01/scene-0101 --force",
        ],
    );
    assert_eq!(project.status("scene-0101"), "invalid");
    project.ok(&["approve", "scene-0101", "--force"]);
    assert_eq!(project.status("scene-0101"), "approved");
}

#[test]
fn new_text_is_free_of_a_condemnation() {
    let project = planned();
    project.ok(&["invalidate", "scene-0101", "--reason", "dull"]);
    project.write(
        Project::SCENE,
        "# Scene 1.1\n\n## Characters\n- Mara, wide awake\n",
    );
    assert_eq!(project.status("scene-0101"), "draft");
    project.ok(&["approve", "scene-0101"]);
    assert_eq!(project.status("scene-0101"), "approved");
}

#[test]
fn a_missing_file_cannot_be_approved() {
    let project = planned();
    std::fs::remove_file(project.root().join(Project::SCENE)).expect("removed");
    assert_refused(
        &project,
        &["approve", "scene-0101"],
        "refused",
        &[
            "is missing",
            Project::SCENE,
            "tl versions act-1/chapter-01/scene-0101",
        ],
    );
    assert_refused(
        &project,
        &["approve", "scene-0101", "--force"],
        "refused",
        &["is missing"],
    );
}

#[test]
fn who_approved_is_recorded() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[], "agent:shell/unknown"),
        (&[("THROUGHLINE_SESSION", "s-7")], "agent:shell/s-7"),
        (
            &[("CLAUDECODE", "1"), ("THROUGHLINE_SESSION", "abc")],
            "agent:claude-code/abc",
        ),
        (&[("CURSOR_AGENT", "1")], "agent:cursor/unknown"),
        (&[("CODEX_SANDBOX", "seatbelt")], "agent:codex/unknown"),
        (&[("GEMINI_CLI", "1")], "agent:gemini/unknown"),
    ];
    for (number, (environment, principal)) in (1..).zip(cases) {
        let project = story();
        let node = format!("act-{number}");
        project.write(&format!("acts/{node}/strategic-plan.md"), "# An act\n");
        assert_eq!(run_with(&project, environment, &["approve", &node]).code, 0);
        assert_eq!(
            text(&project.json(&["show", &node])["approval"], "by"),
            *principal
        );
        assert_eq!(
            text(&project.json(&["log", "--limit", "1"])[0], "by"),
            *principal
        );
    }
}

#[test]
fn a_wide_edit_is_approved_as_it_is_at_that_moment() {
    let project = story();
    for turn in 0..5 {
        project.write(Project::ACT, format!("# Act 1\n\nTurn {turn}\n"));
        project.ok(&["approve", "act-1"]);
        assert_eq!(project.status("act-1"), "approved", "turn {turn}");
    }
    assert_eq!(
        project.json(&["versions", "act-1"])["versions"]
            .as_array()
            .expect("a list")
            .len(),
        5
    );
}

/// A story where only people approve, with an approved act that was saved twice since.
fn approved_and_saved_twice() -> testkit::Project {
    let project = story();
    project.write(Project::ACT, crate::ACT_TEXT);
    project.configure("policy.approval", "\"human\"");
    let approved = project.run_as_person("ann", "y\n", &["approve", "act-1"]);
    assert_eq!(approved.code, 0, "{}", approved.stdout);
    let first = format!("{}\nNOBODY SURVIVES\n", crate::ACT_TEXT);
    project.write(Project::ACT, &first);
    project.ok(&["status"]);
    project.write(Project::ACT, format!("{first}The gate is shut.\n"));
    project
}

#[test]
fn a_terminal_shows_the_whole_change_and_records_a_no() {
    let project = approved_and_saved_twice();
    let refused = project.run_as_person("ann", "n\n", &["approve", "act-1"]);
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    for shown in [
        "+NOBODY SURVIVES",
        "+The gate is shut.",
        "tl request-changes act-1",
    ] {
        assert!(
            refused.stdout.contains(shown),
            "{shown}: {}",
            refused.stdout
        );
    }
    assert_eq!(project.status("act-1"), "draft");
    let log = project.json(&["log"]);
    let newest = &log[0];
    assert_eq!(
        (&newest["verb"], &newest["by"]),
        (&"decline".into(), &"human:ann".into()),
        "{log}"
    );

    // A text that is longer than any screen is shown whole: a pager's matter, not ours.
    let long: String = (0..3_000).map(|line| format!("NEWTEXT {line}\n")).collect();
    project.write(Project::ACT, &long);
    let asked = project.run_as_person("ann", "\n", &["approve", "act-1"]);
    assert!(asked.stdout.contains("+NEWTEXT 2999"), "the end is shown");
    assert_eq!(project.status("act-1"), "draft");
}

#[test]
fn a_terminal_approves_the_named_version_only() {
    let project = approved_and_saved_twice();
    let read = project.json(&["show", "act-1"])["version_hash"].clone();
    let read = read.as_str().expect("a hash");
    project.write(Project::ACT, "# Another act\n");
    let stale = project.run_as_person("ann", "y\n", &["approve", "act-1", "--version", read]);
    assert_ne!(stale.code, 0, "{}", stale.stdout);
    assert_eq!(project.status("act-1"), "draft");
    // The client's own file does not loosen the policy that is in force.
    project.configure("policy.approval", "\"anyone\"");
    let output = project.run(&["approve", "act-1"]);
    assert_ne!(output.code, 0, "{}", output.stdout);
    assert_eq!(project.status("act-1"), "draft");
}
