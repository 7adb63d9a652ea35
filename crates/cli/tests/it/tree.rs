//! `tl tree`

use serde_json::json;

use crate::{assert_refused, planned, statuses, story, two_acts};
use testkit::Project;

#[test]
fn the_tree_is_drawn() {
    let project = two_acts();
    project.ok(&["progress", "act-2/chapter-01/scene-0101", "active"]);
    assert_eq!(
        project.ok(&["tree"]).stdout,
        "\
act-1  ✓ approved  Act 1
└─ chapter-01  ✓ approved  Chapter 1
   └─ scene-0101  ✓ approved  Scene 1.1
act-2  ✓ approved  Act 2
└─ chapter-01  ✓ approved  Chapter 1 of act 2
   └─ scene-0101  ✓ approved  Scene 1.1 of act 2  [active]
"
    );
    assert_eq!(
        project.ok(&["tree", "act", "2"]).stdout,
        "\
act-2  ✓ approved  Act 2
└─ chapter-01  ✓ approved  Chapter 1 of act 2
   └─ scene-0101  ✓ approved  Scene 1.1 of act 2  [active]
"
    );
}

#[test]
fn branches_of_siblings_are_joined() {
    let project = planned();
    project.write("acts/act-1/chapters/chapter-02/plan.md", "# Chapter 2\n");
    project.write(
        "acts/act-1/chapters/chapter-01/scenes/scene-0102-blueprint.md",
        "# Scene 1.2\n",
    );
    assert_eq!(
        project.ok(&["tree"]).stdout,
        "\
act-1  ✓ approved  Act 1
├─ chapter-01  ✓ approved  Chapter 1
│  ├─ scene-0101  ✓ approved  Scene 1.1
│  └─ scene-0102  ○ draft  Scene 1.2
└─ chapter-02  ○ draft  Chapter 2
"
    );
}

#[test]
fn json_is_nested() {
    let project = planned();
    let tree = project.json(&["tree", "act-1"]);
    let show = |name: &str| project.json(&["show", name]);
    assert_eq!(
        tree,
        json!({
            "entity_id": "act-1", "entity_type": "act", "path": "act-1", "title": "Act 1", "status": "approved",
            "progress": "pending", "version_hash": show("act-1")["version_hash"], "file_path": Project::ACT,
            "children": [{
                "entity_id": "chapter-01", "entity_type": "chapter", "path": "act-1/chapter-01", "title": "Chapter 1",
                "status": "approved", "progress": "pending", "version_hash": show("chapter-01")["version_hash"],
                "file_path": Project::CHAPTER,
                "children": [{
                    "entity_id": "scene-0101", "entity_type": "scene", "path": "act-1/chapter-01/scene-0101",
                    "title": "Scene 1.1", "status": "approved", "progress": "pending",
                    "version_hash": show("scene-0101")["version_hash"], "file_path": Project::SCENE, "children": [],
                }],
            }],
        })
    );
    assert_eq!(project.json(&["tree"]), json!([tree]));
    assert_eq!(
        project.json(&["tree", "scene", "0101"])["path"],
        json!("act-1/chapter-01/scene-0101")
    );
}

#[test]
fn an_empty_tree_is_an_empty_list() {
    let project = story();
    assert_eq!(project.json(&["tree"]), json!([]));
    assert_eq!(
        project.ok(&["tree"]).stdout,
        "No plans yet. Start with:  tl plan\n"
    );
    assert_refused(
        &project,
        &["tree", "act-1"],
        "not-found",
        &["no node `act-1`"],
    );
}

#[test]
fn a_new_file_is_in_the_tree_at_once() {
    let project = story();
    project.write(Project::ACT, "# Act 1\n");
    assert_eq!(statuses(&project), ["act-1 draft"]);
    project.write(Project::CHAPTER, "# Chapter 1\n");
    project.write(Project::SCENE, "# Scene 1.1\n");
    assert_eq!(
        statuses(&project),
        [
            "act-1 draft",
            "act-1/chapter-01 draft",
            "act-1/chapter-01/scene-0101 draft"
        ]
    );
}
