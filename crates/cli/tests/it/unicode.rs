//! Text in any language, everywhere.

use serde_json::json;

use crate::{planned, story, text, texts};
use testkit::Project;

const ACT: &str = "\
# Акт первый: «Возвращение»

## Персонажи
- Мара
- Иво

## Цель
Мара возвращается домой.
";

#[test]
fn the_projects_own_path_is_cyrillic() {
    let project = story();
    assert!(project.root().to_str().expect("Unicode").contains("проект"));
    assert!(project.ok(&["init"]).stdout.contains("проект"));
}

#[test]
fn titles_names_and_sections_in_cyrillic() {
    let project = story();
    project.write(Project::ACT, ACT);
    project.ok(&["approve", "act-1"]);
    assert_eq!(
        project.ok(&["tree"]).stdout,
        "act-1  ✓ approved  Акт первый: «Возвращение»\n"
    );
    project.write(
        Project::CHAPTER,
        "# Глава 1\n\n## Персонажи\n- Мара\n- Лев\n",
    );
    let outcome = project.json(&["approve", "chapter-01"]);
    assert_eq!(
        texts(&outcome["warnings"]),
        ["characters not named in parent `act-1`: Лев"]
    );
    let prompt = project.ok(&["plan", "chapter", "2"]).stdout;
    assert!(prompt.contains("│ Мара возвращается домой."), "{prompt}");

    project.write(Project::ACT, ACT.replace("домой", "в горы"));
    let why = project.json(&["why", "chapter-01"]);
    assert_eq!(
        why["diff"]["sections"],
        json!([{"heading": "Цель", "change": "changed"}])
    );
    let diff = project.ok(&["diff", "act-1"]).stdout;
    assert!(
        diff.ends_with("-Мара возвращается домой.\n+Мара возвращается в горы.\n"),
        "{diff}"
    );
}

#[test]
fn reasons_and_sessions_in_any_script() {
    let project = planned();
    project.ok(&["invalidate", "act-1", "--reason", "противоречит финалу 🎭"]);
    assert_eq!(
        text(&project.json(&["show", "act-1"]), "invalidation_reason"),
        "condemned: противоречит финалу 🎭"
    );
    assert!(
        project
            .ok(&["log", "--limit", "1"])
            .stdout
            .contains("противоречит финалу 🎭")
    );
}

#[test]
fn relying_on_a_section_with_a_cyrillic_heading() {
    let project = story().with_environment("THROUGHLINE_CASCADE", "precise");
    project.write(Project::ACT, ACT);
    project.ok(&["approve", "act-1"]);
    project.write(
        Project::CHAPTER,
        "---\nrelies_on: [персонажи]\n---\n# Глава 1\n",
    );
    project.ok(&["approve", "chapter-01"]);
    project.write(Project::ACT, ACT.replace("домой", "в горы"));
    project.ok(&["approve", "act-1"]);
    assert_eq!(project.status("chapter-01"), "approved");
    project.write(Project::ACT, ACT.replace("- Иво", "- Лев"));
    project.ok(&["approve", "act-1"]);
    assert_eq!(project.status("chapter-01"), "requires-revalidation");
}

#[test]
fn a_front_matter_title_wins() {
    let project = story();
    project.write(Project::ACT, "---\ntitle: \"Акт: начало\"\n---\n# Act 1\n");
    assert_eq!(
        text(&project.json(&["show", "act-1"]), "title"),
        "Акт: начало"
    );
}
