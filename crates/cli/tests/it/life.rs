//! The whole life of a story, from the first prompt to the last undo.

use crate::{assert_refused, statuses, story, text};
use testkit::Project;

#[test]
fn plan_refuse_approve_plan_cascade_why_revalidate_restore_undo() {
    let project = story();

    // Nothing below what is not planned.
    assert_refused(
        &project,
        &["plan", "chapter", "1"],
        "refused",
        &["its parent is missing", "tl plan act 1"],
    );
    let prompt = project.ok(&["plan", "act", "1"]).stdout;
    assert!(
        prompt.contains(Project::ACT) && prompt.contains("Phase 5"),
        "{prompt}"
    );

    // Nothing below what is not approved.
    project.write(Project::ACT, crate::ACT_TEXT);
    assert_refused(
        &project,
        &["plan", "chapter", "1"],
        "refused",
        &["`act-1` is `draft`", "tl approve act-1"],
    );
    project.ok(&["approve", "act", "1"]);

    // Down the tree.
    let prompt = project.ok(&["plan", "chapter", "1"]).stdout;
    assert!(
        prompt.contains("│ - Mara"),
        "the act's plan is in it: {prompt}"
    );
    project.write(Project::CHAPTER, "# Chapter 1\n\n## Characters\n- Mara\n");
    assert_refused(
        &project,
        &["plan", "scene", "0101"],
        "refused",
        &["`act-1/chapter-01` is `draft`"],
    );
    project.ok(&["approve", "chapter", "1"]);
    project.ok(&["plan", "scene", "0101"]);
    project.write(Project::SCENE, "# Scene 1.1\n\n## Characters\n- Mara\n");
    project.ok(&["approve", "scene", "0101"]);
    let all_approved = statuses(&project);
    assert_eq!(
        all_approved,
        [
            "act-1 approved",
            "act-1/chapter-01 approved",
            "act-1/chapter-01/scene-0101 approved"
        ]
    );

    // An edit makes what is below stale, and blocks planning there.
    project.write(Project::ACT, crate::ACT_EDITED);
    assert_eq!(
        statuses(&project),
        [
            "act-1 draft",
            "act-1/chapter-01 requires-revalidation",
            "act-1/chapter-01/scene-0101 requires-revalidation"
        ]
    );
    assert_refused(
        &project,
        &["plan", "scene", "0102"],
        "refused",
        &["`act-1/chapter-01` is `stale`"],
    );

    // Why?
    let why = project.json(&["why", "scene", "0101"]);
    assert_eq!(text(&why, "summary"), "`act-1` changed");
    assert!(
        text(&why["diff"], "unified").contains("+Begin, but later."),
        "{why}"
    );

    // Decide.
    project.ok(&["approve", "act", "1"]);
    let review = project.json(&["revalidate", "chapter", "1"]);
    assert_eq!(
        review["parent_changes"]["sections"][0]["heading"],
        "Purpose"
    );
    project.ok(&["revalidate", "chapter", "1", "--keep"]);
    assert_eq!(statuses(&project), all_approved);

    // Back to the first act: its approval was for another text, the chapter's too.
    let restored = project.json(&["restore", "act", "1", "-1"]);
    assert_eq!(project.read(Project::ACT), crate::ACT_TEXT);
    assert_eq!(
        restored["cascade"]["invalidated_entities"]
            .as_array()
            .expect("a list")
            .len(),
        2
    );
    assert_eq!(project.status("act-1"), "draft");

    // And back again.
    project.ok(&["undo"]);
    assert_eq!(project.read(Project::ACT), crate::ACT_EDITED);
    assert_eq!(statuses(&project), all_approved);
    project.ok(&["check"]);
}
