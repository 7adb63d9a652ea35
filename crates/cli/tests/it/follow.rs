//! `tl story follow`: whom the story follows.

use testkit::Project;

use crate::{assert_refused, planned, text};

#[test]
fn the_plan_comes_before_the_choice_and_the_choice_before_the_first() {
    let project = planned();
    assert_eq!(
        text(&project.json(&["story", "follow"]), "reason"),
        "nobody"
    );
    for name in ["Mara", "Ines"] {
        let name = format!("name={name}");
        project.ok(&["story", "memory", "edit", "--new", "character", &name]);
    }
    assert_eq!(text(&project.json(&["story", "follow"]), "name"), "Mara");
    let chosen = project.ok(&["story", "follow", "ines"]);
    assert!(
        chosen.stdout.contains("follows Ines: you chose so"),
        "{chosen:?}"
    );
    // The chosen one is the point of view of a scene whose plan names none.
    let prompt = project.ok(&["story", "tick", "--dry-run", "--show-prompt"]);
    let prompt = format!("{}{}", prompt.stderr, prompt.stdout);
    assert!(prompt.contains("Ines"), "{prompt}");

    project.write(
        Project::CHAPTER,
        "---\npov: Mara\n---\n# Chapter 1\n\n## Characters\n- Mara\n",
    );
    let followed = project.json(&["story", "follow"]);
    assert_eq!(text(&followed, "name"), "Mara", "{followed}");
    assert_eq!(text(&followed, "reason"), "plan");
    assert_eq!(text(&followed, "scene"), "act-1/chapter-01/scene-0101");

    let back = project.ok(&["story", "follow", "--by-plan"]);
    assert!(back.stdout.contains("names the point of view"), "{back:?}");
    assert_refused(
        &project,
        &["story", "follow", "Nobody"],
        "not-found",
        &["no character `Nobody`", "tl story memory"],
    );
}
