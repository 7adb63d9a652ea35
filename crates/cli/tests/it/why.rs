//! `tl why`

use serde_json::json;

use crate::{newest_operation, planned, text, texts};
use testkit::Project;

#[test]
fn the_chain_leads_to_the_edit() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    let why = project.json(&["why", "scene", "0101"]);
    let operation = newest_operation(&project);
    assert_eq!(text(&why, "path"), "act-1/chapter-01/scene-0101");
    assert_eq!(text(&why, "status"), "requires-revalidation");
    assert_eq!(text(&why, "summary"), "`act-1` changed");
    let chain: Vec<&str> = why["chain"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|link| text(link, "path"))
        .collect();
    assert_eq!(
        chain,
        ["act-1/chapter-01/scene-0101", "act-1/chapter-01", "act-1"]
    );
    assert_eq!(why["operation"]["operation"], json!(operation));
    assert_eq!(text(&why["operation"], "verb"), "observe");
    assert_eq!(
        why["diff"]["sections"],
        json!([{"heading": "Purpose", "change": "changed"}])
    );
    assert!(text(&why["diff"], "unified").contains("-Begin.\n+Begin, but later.\n"));

    let said = project.ok(&["why", "scene", "0101"]).stdout;
    for part in [
        "↻ stale",
        "└ act-1/chapter-01 is",
        &format!("in operation {operation}"),
        "changed Purpose",
        "+Begin, but later.",
    ] {
        assert!(said.contains(part), "no `{part}` in:\n{said}");
    }
}

#[test]
fn an_approved_node_says_who_and_when() {
    let project = planned();
    let why = project.json(&["why", "act-1"]);
    assert_eq!(text(&why, "status"), "approved");
    assert!(
        text(&why, "summary").starts_with("approved by agent:shell/unknown on 20"),
        "{why}"
    );
    assert_eq!(
        (
            why["chain"].clone(),
            why["diff"].clone(),
            why["next_steps"].clone()
        ),
        (json!([]), json!(null), json!([]))
    );
}

#[test]
fn a_draft_shows_what_differs_from_the_approved_text() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    let why = project.json(&["why", "act-1"]);
    assert_eq!(text(&why, "status"), "draft");
    assert!(
        text(&why, "summary").contains("not the one agent:shell/unknown approved"),
        "{why}"
    );
    assert!(text(&why["diff"], "unified").contains("+Begin, but later."));
    assert_eq!(texts(&why["next_steps"]), ["tl approve act-1"]);

    project.write("acts/act-2/strategic-plan.md", "# Act 2\n");
    assert_eq!(
        text(&project.json(&["why", "act-2"]), "summary"),
        "it was never approved"
    );
}

#[test]
fn a_condemnation_is_told_with_its_reason() {
    let project = planned();
    project.ok(&["invalidate", "act-1", "--reason", "wrong ending"]);
    let why = project.json(&["why", "scene-0101"]);
    assert!(
        text(&why, "summary").contains("`act-1` is invalid: wrong ending"),
        "{why}"
    );
    assert_eq!(text(&why["operation"], "verb"), "invalidate");
    let act = project.json(&["why", "act-1"]);
    assert_eq!(text(&act, "summary"), "condemned: wrong ending");
    assert!(
        texts(&act["next_steps"]).contains(&"tl approve act-1 --force"),
        "{act}"
    );
}

#[test]
fn a_missing_file_says_how_to_get_it_back_and_that_works() {
    let project = planned();
    let before = project.read(Project::SCENE);
    std::fs::remove_file(project.root().join(Project::SCENE)).expect("removed");
    let why = project.json(&["why", "scene-0101"]);
    assert_eq!(text(&why, "summary"), "the plan file is missing");
    let steps = texts(&why["next_steps"]);
    assert_eq!(
        steps,
        [
            "tl versions act-1/chapter-01/scene-0101",
            "tl restore act-1/chapter-01/scene-0101 -1"
        ]
    );
    for step in steps {
        let words: Vec<&str> = step.split(' ').skip(1).collect();
        project.ok(&words);
    }
    assert_eq!(project.read(Project::SCENE), before);
    assert_eq!(project.status("scene-0101"), "approved");
}

#[test]
fn an_edit_by_an_undo_is_named_as_such() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    project.ok(&["revalidate", "--all", "--keep"]);
    project.ok(&["restore", "act-1", "-1"]);
    let why = project.json(&["why", "chapter-01"]);
    assert_eq!(text(&why["operation"], "verb"), "restore", "{why}");
}
