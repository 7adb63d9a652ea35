//! `tl invalidate`

use serde_json::json;

use crate::{assert_refused, newest_operation, planned, statuses, text};

#[test]
fn everything_below_must_be_looked_at_again() {
    let project = planned();
    let outcome = project.json(&["invalidate", "act", "1", "--reason", "the ending changed"]);
    assert_eq!(
        outcome,
        json!({
            "success": true,
            "invalidated_entities": [
                {"entity_type": "chapter", "entity_id": "chapter-01", "previous_status": "approved",
                 "new_status": "requires-revalidation", "path": "act-1/chapter-01"},
                {"entity_type": "scene", "entity_id": "scene-0101", "previous_status": "approved",
                 "new_status": "requires-revalidation", "path": "act-1/chapter-01/scene-0101"},
            ],
            "reinstated_entities": [],
            "operation": newest_operation(&project),
        })
    );
    assert_eq!(
        statuses(&project),
        [
            "act-1 invalid",
            "act-1/chapter-01 requires-revalidation",
            "act-1/chapter-01/scene-0101 requires-revalidation"
        ]
    );
    for node in ["act-1", "chapter-01", "scene-0101"] {
        let reason = text(&project.json(&["show", node]), "invalidation_reason").to_owned();
        assert!(reason.contains("the ending changed"), "{node}: {reason}");
    }
}

#[test]
fn what_is_invalid_already_is_left_alone() {
    let project = planned();
    project.ok(&["invalidate", "scene-0101", "--reason", "first"]);
    let outcome = project.json(&["invalidate", "act-1", "--reason", "second"]);
    assert_eq!(
        outcome["invalidated_entities"],
        json!([{"entity_type": "chapter", "entity_id": "chapter-01", "previous_status": "approved",
                "new_status": "requires-revalidation", "path": "act-1/chapter-01"}])
    );
    assert_eq!(project.status("scene-0101"), "invalid");
    assert!(
        text(
            &project.json(&["show", "scene-0101"]),
            "invalidation_reason"
        )
        .contains("first")
    );
}

#[test]
fn drafts_below_become_stale_too() {
    let project = planned();
    project.write("acts/act-1/chapters/chapter-02/plan.md", "# Chapter 2\n");
    assert_eq!(project.status("chapter-02"), "draft");
    project.ok(&["invalidate", "act-1", "--reason", "no"]);
    assert_eq!(project.status("chapter-02"), "requires-revalidation");
}

#[test]
fn people_see_what_became_of_what() {
    let project = planned();
    assert_eq!(
        project
            .ok(&[
                "invalidate",
                "chapter",
                "1",
                "--reason",
                "contradicts the ending"
            ])
            .stdout,
        "✗ chapter 1 is invalid; 1 plan below it to revalidate\n  act-1/chapter-01/scene-0101  approved → ↻ stale\n"
    );
}

#[test]
fn a_reason_is_needed() {
    let project = planned();
    assert_refused(
        &project,
        &["invalidate", "act-1", "--reason", "  "],
        "invalid",
        &["a reason is needed"],
    );
    assert_eq!(project.status("act-1"), "approved");
}

#[test]
fn the_newest_reason_is_the_one_that_is_shown() {
    let project = planned();
    project.ok(&["invalidate", "act-1", "--reason", "first"]);
    project.ok(&["invalidate", "act-1", "--reason", "second"]);
    assert_eq!(
        text(&project.json(&["show", "act-1"]), "invalidation_reason"),
        "condemned: second"
    );
}
