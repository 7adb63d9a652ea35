//! What a change of a parent does to what is below: deep and precise cascade, early cutoff.

use serde_json::json;

use crate::{planned, run_with, statuses, story, text};
use testkit::Project;

const ALL_APPROVED: [&str; 3] = [
    "act-1 approved",
    "act-1/chapter-01 approved",
    "act-1/chapter-01/scene-0101 approved",
];

#[test]
fn an_edit_makes_everything_below_stale() {
    let project = planned();
    assert_eq!(statuses(&project), ALL_APPROVED);
    project.write(Project::ACT, crate::ACT_EDITED);
    assert_eq!(
        statuses(&project),
        [
            "act-1 draft",
            "act-1/chapter-01 requires-revalidation",
            "act-1/chapter-01/scene-0101 requires-revalidation"
        ]
    );
    let scene = project.json(&["show", "scene-0101"]);
    assert_eq!(text(&scene, "invalidation_reason"), "`act-1` changed");
    assert!(scene["invalidated_at"].is_string());
}

#[test]
fn a_draft_is_stale_until_its_changed_parent_is_approved() {
    let project = planned();
    project.write("acts/act-1/chapters/chapter-02/plan.md", "# Chapter 2\n");
    assert_eq!(project.status("chapter-02"), "draft");
    project.write(Project::ACT, crate::ACT_EDITED);
    assert_eq!(project.status("chapter-02"), "requires-revalidation");
    project.write(
        "acts/act-1/chapters/chapter-02/plan.md",
        "# Chapter 2, after the change\n",
    );
    assert_eq!(
        project.status("chapter-02"),
        "requires-revalidation",
        "the act is not decided on"
    );
    let why = project.ok(&["why", "chapter-02"]).stdout;
    assert!(
        why.contains("`act-1` was changed after its approval")
            && why.contains("+Begin, but later."),
        "{why}"
    );
    project.ok(&["approve", "act-1"]);
    assert_eq!(project.status("chapter-02"), "draft");
}

#[test]
fn siblings_and_other_acts_are_left_alone() {
    let project = crate::two_acts();
    project.write("acts/act-1/chapters/chapter-02/plan.md", "# Chapter 2\n");
    project.ok(&["approve", "chapter-02"]);
    project.write(Project::CHAPTER, "# Chapter 1, edited\n");
    assert_eq!(
        statuses(&project),
        [
            "act-1 approved",
            "act-1/chapter-01 draft",
            "act-1/chapter-01/scene-0101 requires-revalidation",
            "act-1/chapter-02 approved",
            "act-2 approved",
            "act-2/chapter-01 approved",
            "act-2/chapter-01/scene-0101 approved",
        ]
    );
}

#[test]
fn the_cascade_is_one_operation() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    let before = crate::newest_operation(&project);
    // `log` itself looked at the files: the edit is in the newest operation.
    let newest = &project.json(&["log", "--limit", "1"])[0];
    assert_eq!(newest["operation"], json!(before));
    assert_eq!(text(newest, "verb"), "observe");
    assert_eq!(text(newest, "summary"), "changed: act-1");
    for node in ["act-1", "chapter-01", "scene-0101"] {
        assert_eq!(
            project.json(&["log", node, "--limit", "1"])[0]["operation"],
            json!(before),
            "{node}"
        );
    }
}

const ACT_WITH_SECTIONS: &str = "\
# Act 1

## Mood
Grey.

## Chapter 1
Mara wakes.

## Chapter 2
Mara leaves.
";

fn with_sections() -> Project {
    let project = story().with_environment("THROUGHLINE_CASCADE", "precise");
    project.write(Project::ACT, ACT_WITH_SECTIONS);
    project.ok(&["approve", "act-1"]);
    for (chapter, front) in [
        ("01", ""),
        ("02", ""),
        ("03", "---\nrelies_on: [Mood]\n---\n"),
        ("04", ""),
    ] {
        project.write(
            &format!("acts/act-1/chapters/chapter-{chapter}/plan.md"),
            format!("{front}# The {chapter}th part\n\nText.\n"),
        );
        project.ok(&["approve", &format!("chapter-{chapter}")]);
    }
    project
}

/// Edits the act, approves it, and returns how the four chapters stand.
fn after_edit(project: &Project, from: &str, to: &str) -> [String; 4] {
    let text = project.read(Project::ACT);
    assert!(text.contains(from));
    project.write(Project::ACT, text.replace(from, to));
    project.ok(&["approve", "act-1"]);
    ["01", "02", "03", "04"].map(|chapter| project.status(&format!("chapter-{chapter}")))
}

#[test]
fn a_precise_cascade_touches_only_who_relies_on_the_section() {
    let cases = [
        // Chapter 4 is named nowhere and lists nothing: it relies on everything.
        (
            "Mara wakes.",
            "Mara sleeps.",
            [
                "requires-revalidation",
                "approved",
                "approved",
                "requires-revalidation",
            ],
        ),
        (
            "Mara leaves.",
            "Mara stays.",
            [
                "approved",
                "requires-revalidation",
                "approved",
                "requires-revalidation",
            ],
        ),
        (
            "Grey.",
            "Golden.",
            [
                "approved",
                "approved",
                "requires-revalidation",
                "requires-revalidation",
            ],
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(
            after_edit(&with_sections(), from, to),
            expected,
            "{from} → {to}"
        );
    }
}

#[test]
fn a_deep_cascade_touches_all() {
    let project = with_sections();
    let edited = ACT_WITH_SECTIONS.replace("Mara wakes.", "Mara sleeps.");
    project.write(Project::ACT, edited);
    let deep = [("THROUGHLINE_CASCADE", "deep")];
    assert_eq!(run_with(&project, &deep, &["approve", "act-1"]).code, 0);
    let output = run_with(&project, &deep, &["children", "act-1", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(
        value["status_counts"],
        json!({"draft": 0, "approved": 0, "requires-revalidation": 4, "invalid": 0})
    );
}

#[test]
fn the_precise_cascade_agrees_with_check() {
    let project = with_sections();
    after_edit(&project, "Mara wakes.", "Mara sleeps.");
    let output = project.run(&["check"]);
    assert_eq!(output.code, 0, "{}", output.stdout);
}

#[test]
fn scenes_below_an_untouched_chapter_stay_approved() {
    let project = with_sections();
    project.write(
        "acts/act-1/chapters/chapter-02/scenes/scene-0201-blueprint.md",
        "# Scene\n",
    );
    project.ok(&["approve", "scene-0201"]);
    after_edit(&project, "Mara wakes.", "Mara sleeps.");
    assert_eq!(project.status("scene-0201"), "approved");
}

#[test]
fn a_tree_deeper_than_the_limit_is_an_error_not_a_loop() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    let output = run_with(
        &project,
        &[("THROUGHLINE_CASCADE_MAX_DEPTH", "1")],
        &["approve", "act-1"],
    );
    assert_eq!(output.code, 1, "{}", output.stdout);
    assert!(
        output.stderr.contains("policy.cascade_max_depth"),
        "{}",
        output.stderr
    );
    assert_eq!(project.status("act-1"), "draft", "nothing was approved");
}
