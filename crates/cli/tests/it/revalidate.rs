//! `tl revalidate`

use serde_json::json;

use crate::{assert_refused, planned, statuses, text, texts};
use testkit::Project;

/// The act was edited and approved again: chapter and scene are stale.
fn stale() -> Project {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    project
}

#[test]
fn the_parents_changes_are_shown_by_section() {
    let project = stale();
    let view = project.json(&["revalidate", "chapter", "1"]);
    assert_eq!(text(&view, "path"), "act-1/chapter-01");
    assert_eq!(text(&view, "reason"), "`act-1` changed");
    assert_eq!(
        view["parent_changes"]["sections"],
        json!([{"heading": "Purpose", "change": "changed"}])
    );
    assert!(
        text(&view["parent_changes"], "unified").contains("-Begin.\n+Begin, but later.\n"),
        "{view}"
    );
    let choices = texts(&view["choices"]);
    assert!(
        choices[0].starts_with("tl revalidate act-1/chapter-01 --keep"),
        "{choices:?}"
    );
    assert_eq!(choices[1], format!("edit {}", Project::CHAPTER));
    assert!(
        choices[2].starts_with("tl plan chapter act-1/chapter-01"),
        "{choices:?}"
    );

    let said = project.ok(&["revalidate", "chapter", "1"]).stdout;
    for part in [
        "`act-1` changed",
        "changed Purpose",
        "-Begin.",
        "+Begin, but later.",
        "--keep",
    ] {
        assert!(said.contains(part), "no `{part}` in:\n{said}");
    }
    assert_eq!(
        project.status("chapter-01"),
        "requires-revalidation",
        "looking changes nothing"
    );
}

#[test]
fn the_choices_offered_work() {
    let project = stale();
    // Regenerate: the prompt for the chapter, with the new act in it.
    let prompt = project.ok(&["plan", "chapter", "act-1/chapter-01"]).stdout;
    assert!(prompt.contains("│ Begin, but later."), "{prompt}");
    // Keep.
    project.ok(&["revalidate", "act-1/chapter-01", "--keep"]);
    assert_eq!(project.status("chapter-01"), "approved");
}

#[test]
fn keep_with_the_version_of_another_text_is_refused_and_with_the_shown_one_done() {
    let project = stale();
    let view = project.json(&["revalidate", "chapter", "1"]);
    let (version, parent) = (
        text(&view, "version_hash")
            .get(..8)
            .expect("a hash")
            .to_owned(),
        text(&view, "current_parent_hash").to_owned(),
    );
    let keep = |version: &str, parent: &str| {
        project.run(&[
            "revalidate",
            "chapter-01",
            "--keep",
            "--version",
            version,
            "--parent-version",
            parent,
        ])
    };
    for (version, parent) in [(parent.as_str(), parent.as_str()), (&version, &version)] {
        let refused = keep(version, parent);
        assert!(
            refused.code == 1 && refused.stderr.contains("changed since it was shown"),
            "{refused:?}"
        );
        assert_eq!(project.status("chapter-01"), "requires-revalidation");
    }
    assert_eq!(
        keep(version.get(..7).expect("a hash"), &parent).code,
        2,
        "too short to name a version"
    );
    assert_eq!(keep(&version, &parent).code, 0);
    assert_eq!(project.status("chapter-01"), "approved");
}

#[test]
fn keeping_a_chapter_brings_its_scenes_back() {
    let project = stale();
    let outcome = project.json(&["revalidate", "chapter", "1", "--keep"]);
    assert_eq!(outcome["success"], json!(true));
    assert_eq!(text(&outcome["kept"][0], "status"), "approved");
    assert_eq!(
        outcome["reinstated_entities"],
        json!([{"entity_type": "scene", "entity_id": "scene-0101", "previous_status": "requires-revalidation",
                "new_status": "approved", "path": "act-1/chapter-01/scene-0101"}])
    );
    assert_eq!(outcome["refused"], json!([]));
    let act = project.json(&["show", "act-1"]);
    assert_eq!(
        project.json(&["show", "chapter-01"])["parent_version_hash"],
        act["version_hash"]
    );
}

#[test]
fn an_edited_chapter_is_approved_as_usual() {
    let project = stale();
    project.write(
        Project::CHAPTER,
        "# Chapter 1\n\n## Characters\n- Mara\n\nLater.\n",
    );
    assert_eq!(project.status("chapter-01"), "draft");
    project.ok(&["approve", "chapter-01"]);
    assert_eq!(
        project.status("scene-0101"),
        "requires-revalidation",
        "its own parent changed now"
    );
}

#[test]
fn all_goes_from_the_top_down() {
    let project = stale();
    let views = project.json(&["revalidate", "--all"]);
    let paths: Vec<&str> = views
        .as_array()
        .expect("a list")
        .iter()
        .map(|view| text(view, "path"))
        .collect();
    assert_eq!(paths, ["act-1/chapter-01", "act-1/chapter-01/scene-0101"]);
    assert!(
        project
            .ok(&["revalidate", "--all"])
            .stderr
            .contains("2 plans to revalidate")
    );

    let outcome = project.json(&["revalidate", "--all", "--keep"]);
    assert_eq!(outcome["success"], json!(true));
    assert_eq!(
        statuses(&project),
        [
            "act-1 approved",
            "act-1/chapter-01 approved",
            "act-1/chapter-01/scene-0101 approved"
        ]
    );
    assert_eq!(project.json(&["revalidate", "--all"]), json!([]));
    assert!(
        project
            .ok(&["revalidate", "--all", "--keep"])
            .stderr
            .contains("no stale plans")
    );
}

#[test]
fn all_may_be_below_one_node() {
    let project = crate::two_acts();
    project.write(
        "acts/act-2/strategic-plan.md",
        "# Act 2, edited\n\n## Characters\n- Mara\n",
    );
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    project.ok(&["approve", "act-2"]);
    project.ok(&["revalidate", "--all", "act", "1", "--keep"]);
    assert_eq!(project.status("act-1/chapter-01"), "approved");
    assert_eq!(project.status("act-2/chapter-01"), "requires-revalidation");
}

#[test]
fn nothing_is_kept_below_a_parent_that_is_not_settled() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    assert_refused(
        &project,
        &["revalidate", "chapter-01", "--keep"],
        "refused",
        &["parent `act-1` is `draft`"],
    );
    assert_refused(
        &project,
        &["revalidate", "scene-0101", "--keep"],
        "refused",
        &["parent `act-1/chapter-01` is `stale`"],
    );
    let outcome = project.run(&["revalidate", "--all", "--keep", "--json"]);
    assert_eq!(outcome.code, 1);
    let view = project.json(&["revalidate", "chapter-01"]);
    assert!(
        texts(&view["choices"])[0].starts_with("tl approve act-1"),
        "{view}"
    );
}

#[test]
fn a_stale_draft_is_a_draft_again_when_its_parent_is_approved() {
    let project = planned();
    project.write("acts/act-1/chapters/chapter-02/plan.md", "# Chapter 2\n");
    assert_eq!(project.status("chapter-02"), "draft");
    project.write(Project::ACT, crate::ACT_EDITED);
    assert_eq!(project.status("chapter-02"), "requires-revalidation");
    assert_refused(
        &project,
        &["revalidate", "chapter-02", "--keep"],
        "refused",
        &["parent `act-1` is `draft`", "tl approve act-1"],
    );
    project.ok(&["approve", "act-1"]);
    assert_eq!(project.status("chapter-02"), "draft");
}
