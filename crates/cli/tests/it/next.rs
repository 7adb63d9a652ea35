//! `tl next`, and `needs`.

use serde_json::json;

use crate::{assert_refused, planned, story, text, texts};
use testkit::Project;

const SECOND: &str = "acts/act-1/chapters/chapter-01/scenes/scene-0102-blueprint.md";

fn ready(project: &Project) -> Vec<String> {
    let view = project.json(&["next"]);
    view["ready"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|one| one["kind"] == "node")
        .map(|one| text(one, "path").to_owned())
        .collect()
}

#[test]
fn nothing_planned_is_nothing_ready() {
    let project = story();
    let output = project.ok(&["next"]);
    assert_eq!(output.stdout, "");
    assert!(
        output.stderr.contains("nothing is ready"),
        "{}",
        output.stderr
    );
    assert_eq!(
        project.json(&["next"]),
        json!({"ready": [], "total": 0, "problems": []})
    );
}

#[test]
fn a_limit_does_not_change_the_total() {
    let project = story();
    for act in 1..=5 {
        project.write(
            &format!("acts/act-{act}/strategic-plan.md"),
            format!("# Act {act}\n"),
        );
    }
    let all = project.json(&["next"]);
    let few = project.json(&["next", "--limit", "2"]);
    assert_eq!(few["ready"].as_array().expect("a list").len(), 2);
    assert_eq!(few["total"], all["total"]);
    assert_eq!(few["total"], json!(5));
}

#[test]
fn what_is_ready_says_what_to_do() {
    let project = story();
    project.write(Project::ACT, crate::ACT_TEXT);
    assert_eq!(
        ready(&project),
        Vec::<String>::new(),
        "a draft is not ready"
    );
    let waiting = &project.json(&["next"])["ready"][0];
    assert_eq!(
        (text(waiting, "kind"), text(waiting, "path")),
        ("decision", "act-1"),
        "but it waits for a decision"
    );
    project.ok(&["approve", "act-1"]);
    let view = project.json(&["next"]);
    assert_eq!(
        view["ready"],
        json!([{"kind": "node", "entity_id": "act-1", "entity_type": "act", "path": "act-1", "title": "Act 1",
                "progress": "pending", "reason": "ready: nothing it needs is open",
                "action": "tl plan chapter chapter-01 --under act-1"}])
    );
    let action: Vec<&str> = text(&view["ready"][0], "action")
        .split(' ')
        .skip(1)
        .collect();
    project.ok(&action);
}

#[test]
fn needs_are_written_in_every_form() {
    for needs in [
        "scene-0101",
        "scene 0101",
        "[scene-0101]",
        "\"act-1/chapter-01/scene-0101\"",
        "\n  - chapter-01/scene-0101",
    ] {
        let project = planned();
        project.write(SECOND, format!("---\nneeds: {needs}\n---\n# Scene 1.2\n"));
        project.ok(&["approve", "scene-0102"]);
        assert_eq!(ready(&project), ["act-1/chapter-01/scene-0101"], "{needs}");
        assert_eq!(project.json(&["next"])["problems"], json!([]), "{needs}");
    }
}

#[test]
fn circles_are_refused() {
    let project = planned();
    project.write(Project::SCENE, "---\nneeds: scene-0102\n---\n# Scene 1.1\n");
    project.write(SECOND, "---\nneeds: scene-0101\n---\n# Scene 1.2\n");
    let view = project.json(&["next"]);
    assert_eq!(
        view["problems"].as_array().expect("a list").len(),
        1,
        "{view}"
    );
    assert!(
        texts(&view["problems"])[0].contains("scene-0102 needs scene-0101 needs scene-0102"),
        "{view}"
    );
    assert_refused(
        &project,
        &["approve", "scene-0102"],
        "refused",
        &["cannot need", SECOND],
    );
    assert_eq!(project.run(&["check"]).code, 3);

    project.write(SECOND, "---\nneeds: scene-0102\n---\n# Scene 1.2\n");
    project.ok(&["approve", "scene-0101"]);
    assert_refused(
        &project,
        &["approve", "scene-0102"],
        "refused",
        &["`scene-0102`"],
    );
}

#[test]
fn a_need_that_is_not_there_is_told() {
    let project = planned();
    project.write(SECOND, "---\nneeds: scene-0909\n---\n# Scene 1.2\n");
    let view = project.json(&["next"]);
    assert_eq!(
        texts(&view["problems"]),
        ["`act-1/chapter-01/scene-0102` needs `scene-0909`, but there is no such node"]
    );
    assert!(
        project
            .ok(&["next"])
            .stderr
            .contains("warning: `act-1/chapter-01/scene-0102` needs")
    );
}

#[test]
fn among_several_a_sibling_is_meant() {
    let project = crate::two_acts();
    project.write(
        "acts/act-2/chapters/chapter-01/scenes/scene-0102-blueprint.md",
        "---\nneeds: scene-0101\n---\n# S\n",
    );
    project.ok(&["approve", "act-2/chapter-01/scene-0102"]);
    assert_eq!(
        ready(&project),
        ["act-1/chapter-01/scene-0101", "act-2/chapter-01/scene-0101"]
    );
    assert_eq!(project.json(&["next"])["problems"], json!([]));
}

#[test]
fn a_plan_document_has_a_next_step_until_it_is_frozen() {
    let project = crate::empty();
    project.ok(&["init", "--profile", "milestones"]);
    let next = || project.ok(&["next"]).stdout + &project.ok(&["next"]).stderr;
    assert!(
        next().contains("next: tl flow start planner --new"),
        "{}",
        next()
    );
    project.ok(&["doc", "new", "search"]);
    assert!(
        next().contains("tl flow start planner --for search   # a draft without milestones"),
        "{}",
        next()
    );
    project.ok(&["flow", "start", "planner", "--for", "search"]);
    assert!(
        next().contains("tl flow next") && !next().contains("flow start"),
        "{}",
        next()
    );
    project.ok(&["flow", "abort", "--for", "search"]);
    project.ok(&["doc", "add-milestone", "--name", "Index"]);
    assert!(
        next().contains("tl doc validate --doc search   # a draft with 1 milestone"),
        "{}",
        next()
    );
    project.write(".throughline/plans/search/plan.json", "{ \"broken\": ");
    assert!(
        next().starts_with(
            "search\n    tl doc validate --doc search   # its plan.json was changed outside"
        ),
        "{}",
        next()
    );
    let status = project.ok(&["status"]).stdout;
    assert!(
        status.contains("search: its plan.json was changed outside of `tl`")
            && status.contains("tl doc validate --doc search"),
        "{status}"
    );
}
