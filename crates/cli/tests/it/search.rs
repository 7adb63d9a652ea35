//! `tl search` in English and Russian.

use testkit::Project;

use crate::{assert_refused, planned, text};

const PROSE: &str = "acts/act-1/chapters/chapter-01/content/scene-0101.md";

#[test]
fn words_are_found_in_plans_prose_comments_and_memory() {
    let project = planned();
    project.write(
        Project::CHAPTER,
        "# Chapter 1\n\n## Characters\n- Mara\n\nThe lighthouse is dark. В медпалате тихо.\n",
    );
    project.write(PROSE, "Mara climbs the lighthouse stairs.\n");
    project.ok(&["comment", "act-1", "-m", "No lighthouse before chapter 3"]);
    project.ok(&[
        "story",
        "memory",
        "edit",
        "--new",
        "location",
        "name=Lighthouse",
    ]);
    let found = project.json(&["search", "lighthouse"]);
    let kinds: Vec<&str> = found["hits"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|hit| text(hit, "kind"))
        .collect();
    for kind in ["plan", "prose", "comment", "memory", "log"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    let shown = project.ok(&["search", "lihgthouse", "kind:plan"]).stdout;
    assert!(
        shown.contains("act-1/chapter-01")
            && shown.contains("chapter-01/plan.md:6")
            && shown.contains("The lighthouse is dark"),
        "{shown}"
    );
    let russian = project.json(&["search", "медпалата", "status:draft"]);
    assert_eq!(text(&russian["hits"][0], "id"), "act-1/chapter-01");
    // A cache: without it the same is found.
    std::fs::remove_file(project.root().join(".throughline/search.db")).expect("removed");
    assert_eq!(
        project.json(&["search", "медпалата", "status:draft"]),
        russian
    );
    assert_refused(
        &project,
        &["search", "kind:x", "sea"],
        "invalid",
        &["is not a kind"],
    );
}
