//! `tl children`

use serde_json::json;

use crate::{assert_refused, planned};
use testkit::Project;

#[test]
fn children_are_counted_and_listed() {
    let project = planned();
    project.write("acts/act-1/chapters/chapter-02/plan.md", "# Chapter 2\n");
    project.write("acts/act-1/chapters/chapter-10/plan.md", "# Chapter 10\n");
    assert_eq!(
        project.json(&["children", "act", "1"]),
        json!({
            "total_children": 3,
            "status_counts": {"draft": 2, "approved": 1, "requires-revalidation": 0, "invalid": 0},
            "children": [
                {"entity_id": "chapter-01", "entity_type": "chapter", "status": "approved", "file_path": Project::CHAPTER, "title": "Chapter 1"},
                {"entity_id": "chapter-02", "entity_type": "chapter", "status": "draft", "file_path": "acts/act-1/chapters/chapter-02/plan.md", "title": "Chapter 2"},
                {"entity_id": "chapter-10", "entity_type": "chapter", "status": "draft", "file_path": "acts/act-1/chapters/chapter-10/plan.md", "title": "Chapter 10"},
            ],
        })
    );
    assert_eq!(
        project.ok(&["children", "act-1"]).stdout,
        "chapter-01  ✓ approved  Chapter 1\nchapter-02  ○ draft  Chapter 2\nchapter-10  ○ draft  Chapter 10\n"
    );
}

#[test]
fn changes_of_children_are_seen() {
    let project = planned();
    project.write(Project::CHAPTER, "# Chapter 1, edited\n");
    assert_eq!(
        project.json(&["children", "act-1"])["status_counts"],
        json!({"draft": 1, "approved": 0, "requires-revalidation": 0, "invalid": 0})
    );
    std::fs::remove_file(project.root().join(Project::CHAPTER)).expect("removed");
    assert_eq!(
        project.json(&["children", "act-1"])["status_counts"],
        json!({"draft": 0, "approved": 0, "requires-revalidation": 0, "invalid": 1})
    );
}

#[test]
fn a_leaf_has_none() {
    let project = planned();
    let output = project.ok(&["children", "scene", "0101"]);
    assert_eq!(
        (output.stdout.as_str(), output.stderr.trim_end()),
        ("", "no children")
    );
    assert_eq!(
        project.json(&["children", "scene-0101"])["total_children"],
        json!(0)
    );
    assert_refused(
        &project,
        &["children", "scene-0102"],
        "not-found",
        &["`scene-0101`"],
    );
}
