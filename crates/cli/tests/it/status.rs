//! `tl status`

use serde_json::json;

use crate::{planned, story};
use testkit::Project;

#[test]
fn an_empty_project_says_how_to_start() {
    let project = story();
    assert_eq!(
        project.ok(&["status"]).stdout,
        "No plans yet. Start with:  tl plan\n"
    );
    let view = project.json(&["status"]);
    assert_eq!(view["nodes"], json!(0));
    assert_eq!(view["attention"], json!([]));
}

#[test]
fn counts_and_what_needs_someone() {
    let project = planned();
    let view = project.json(&["status"]);
    let none = json!({"draft": 0, "approved": 1, "requires-revalidation": 0, "invalid": 0});
    assert_eq!(view["profiles"], json!(["story"]));
    assert_eq!(view["nodes"], json!(3));
    assert_eq!(
        view["status_counts"],
        json!({"draft": 0, "approved": 3, "requires-revalidation": 0, "invalid": 0})
    );
    assert_eq!(
        view["levels"],
        json!([
            {"level": "act", "status_counts": none},
            {"level": "chapter", "status_counts": none},
            {"level": "scene", "status_counts": none},
        ])
    );
    assert_eq!(view["attention"], json!([]));
    assert_eq!(
        view["last_operation"]["summary"],
        json!("approve act-1/chapter-01/scene-0101")
    );
    assert!(
        project
            .ok(&["status"])
            .stdout
            .contains("Nothing needs attention.")
    );

    project.write(Project::ACT, crate::ACT_EDITED);
    let view = project.json(&["status"]);
    assert_eq!(
        view["status_counts"],
        json!({"draft": 1, "approved": 0, "requires-revalidation": 2, "invalid": 0})
    );
    assert_eq!(
        view["attention"],
        json!([{"path": "act-1", "status": "draft", "reason": null, "next_step": "tl approve act-1"}]),
        "what is below waits for the act"
    );

    project.ok(&["approve", "act-1"]);
    assert_eq!(
        project.json(&["status"])["attention"],
        json!([{
            "path": "act-1/chapter-01",
            "status": "requires-revalidation",
            "reason": "`act-1` changed",
            "next_step": "tl revalidate act-1/chapter-01",
        }])
    );
    let said = project.ok(&["status"]).stdout;
    assert!(
        said.contains("↻ stale act-1/chapter-01: `act-1` changed"),
        "{said}"
    );
    assert!(said.contains("tl revalidate act-1/chapter-01"), "{said}");
}

#[test]
fn the_worst_comes_first() {
    let project = planned();
    project.write("acts/act-2/strategic-plan.md", "# Act 2\n");
    project.write("acts/act-3/strategic-plan.md", "# Act 3\n");
    project.ok(&["invalidate", "act-3", "--reason", "no third act"]);
    let view = project.json(&["status"]);
    let order: Vec<&str> = view["attention"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| crate::text(one, "path"))
        .collect();
    assert_eq!(order, ["act-3", "act-2"]);
    assert_eq!(
        view["attention"][0]["reason"],
        json!("condemned: no third act")
    );
}

#[test]
fn a_trail_is_shown_from_the_trajectory_to_the_cursor() {
    let project = crate::trail();
    assert!(project.ok(&["status"]).stdout.contains("tl trail intent"));
    project.ok(&["trail", "intent", "Построить вход"]);
    project.ok(&["trail", "map", "tactic", "JWT"]);
    let said = project.ok(&["status"]).stdout;
    assert!(
        said.contains("trail: Построить вход › JWT (active)") && !said.contains("No plans yet"),
        "{said}"
    );
    assert_eq!(project.json(&["status"])["trail"][1]["content"], "JWT");
}
