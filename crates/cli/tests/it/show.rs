//! `tl show`

use serde_json::json;

use crate::{assert_refused, planned, story, text};
use testkit::Project;

#[test]
fn an_approved_chapter_is_shown_whole() {
    let project = planned();
    let act = project.json(&["show", "act-1"]);
    let mut chapter = project.json(&["show", "chapter-01"]);
    let version = text(&chapter, "version_hash").to_owned();
    assert_eq!(version.len(), 64, "a SHA-256 in hex");
    for key in ["created_at", "updated_at"] {
        let at = text(&chapter, key);
        assert!(
            at.starts_with("20") && at.ends_with('Z'),
            "{key} is an ISO time: {at}"
        );
        chapter[key] = json!("TIME");
    }
    chapter["approval"]["at"] = json!("TIME");
    assert_eq!(
        chapter,
        json!({
            "entity_id": "chapter-01",
            "entity_type": "chapter",
            "status": "approved",
            "version_hash": version,
            "parent_id": "act-1",
            "parent_version_hash": act["version_hash"],
            "children": ["scene-0101"],
            "file_path": Project::CHAPTER,
            "created_at": "TIME",
            "updated_at": "TIME",
            "invalidation_reason": null,
            "invalidated_at": null,
            "path": "act-1/chapter-01",
            "profile": "story",
            "title": "Chapter 1",
            "progress": "pending",
            "needs": [],
            "approval": {
                "by": "agent:shell/unknown",
                "at": "TIME",
                "version_hash": version,
                "holds": true,
                "warnings": [],
            },
        })
    );
}

#[test]
fn the_version_hash_is_the_sha_256_of_the_bytes() {
    let project = story();
    project.write(Project::ACT, "abc");
    let act = project.json(&["show", "act-1"]);
    assert_eq!(
        text(&act, "version_hash"),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

#[test]
fn people_see_status_file_parent_and_children() {
    let project = planned();
    let output = project.ok(&["show", "chapter", "1"]);
    assert!(
        output
            .stdout
            .starts_with("act-1/chapter-01  ✓ approved  Chapter 1\n"),
        "{}",
        output.stdout
    );
    for part in [
        Project::CHAPTER,
        "parent    act-1",
        "children  scene-0101",
        "progress  pending",
        "agent:shell/unknown",
    ] {
        assert!(
            output.stdout.contains(part),
            "no `{part}` in:\n{}",
            output.stdout
        );
    }
}

#[test]
fn a_changed_text_keeps_its_old_approval_visible() {
    let project = planned();
    project.write(Project::SCENE, "# Scene 1.1, rewritten\n");
    let scene = project.json(&["show", "scene-0101"]);
    assert_eq!(text(&scene, "status"), "draft");
    assert_eq!(scene["approval"]["holds"], json!(false));
    assert!(
        project
            .ok(&["show", "scene-0101"])
            .stdout
            .contains("(for another text)")
    );
}

#[test]
fn an_unknown_node_suggests_the_nearest() {
    let project = planned();
    assert_refused(
        &project,
        &["show", "chapter-03"],
        "not-found",
        &[
            "no node `chapter-03`",
            "did you mean `chapter-01`?",
            "tl tree",
        ],
    );
    assert_refused(
        &project,
        &["show", "secne-0101"],
        "not-found",
        &["`scene-0101`"],
    );
    assert_refused(
        &project,
        &["show", "act-1/chapter-07"],
        "not-found",
        &["`act-1/chapter-01`"],
    );
}

#[test]
fn one_word_too_many_is_told() {
    let project = planned();
    assert_refused(
        &project,
        &["show", "act-1", "chapter-01"],
        "invalid",
        &["`chapter-01`", "unexpected argument"],
    );
}
