//! `tl story memory reread`, `at`, `merge`, `split`, `intend`: the memory follows the written texts.

use crate::write::approved;
use crate::{text, with_model};
use serde_json::{Value, json};
use testkit::Project;

const FIRST: &str = "acts/act-1/chapters/chapter-01/content/scene-0101.md";
const SECOND: &str = "acts/act-1/chapters/chapter-01/content/scene-0102.md";

/// A manuscript of two scenes written by hand.
fn manuscript() -> Project {
    let project = approved();
    project.write(
        &Project::SCENE.replace("0101", "0102"),
        "# Scene: The letter\n\nPOV: Elena\n\n## Characters\n- Elena\n\n## Location\n- The Archive\n",
    );
    project.write(
        FIRST,
        "Elena had green eyes. “Where is it?” asked Ivo Marek, and Ivo Marek looked away.\n",
    );
    project.write(
        SECOND,
        "Elena's eyes were blue that night. She waited in the Archive. Elena turned the page.\n",
    );
    project
}

fn memory(project: &Project) -> Value {
    project.json(&["story", "memory", "show"])["entries"].clone()
}

fn facts(project: &Project) -> Vec<String> {
    let all = project.json(&["story", "memory", "show", "facts"]);
    let line = |it: &Value| {
        let fact = &it["entry"];
        format!(
            "{} {} {} {}",
            text(fact, "subject"),
            text(fact, "predicate"),
            text(fact, "object"),
            text(fact, "truth")
        )
    };
    all["entries"]
        .as_array()
        .expect("a value")
        .iter()
        .map(line)
        .collect()
}

#[test]
fn a_manuscript_becomes_a_memory_without_a_model() {
    let project = manuscript();
    let read = project.json(&["story", "memory", "reread", "--all"]);
    assert_eq!(read["read"].as_array().expect("a value").len(), 2, "{read}");
    assert_eq!(read["read"][1]["location"], "The Archive", "{read}");
    assert_eq!(read["read"][0]["reader"], "rules");
    assert!(
        read["read"][0]["characters"]
            .as_array()
            .expect("a value")
            .contains(&json!("Ivo Marek")),
        "{read}"
    );
    // The manuscript contradicts itself, which is told with both places.
    let disputed = &read["disputed"][0];
    assert_eq!(text(disputed, "statement"), "Elena eyes blue", "{read}");
    assert!(
        text(disputed, "against").contains("Elena eyes green"),
        "{read}"
    );
    // The same texts give the same memory.
    let before = memory(&project);
    project.ok(&["story", "memory", "reread", "--all"]);
    assert_eq!(memory(&project), before);
    project.ok(&["check"]);
}

#[test]
fn an_edit_by_hand_is_read_by_the_next_command_and_undone_with_the_text() {
    let project = manuscript();
    project.ok(&["story", "memory", "reread", "--all"]);
    let before = memory(&project);
    let original = project.read(FIRST);
    project.write(FIRST, original.replace("green", "blue"));
    assert_eq!(facts(&project), ["C0 eyes blue canon"]);
    project.write(FIRST, &original);
    assert_eq!(facts(&project).len(), 2);
    // A text that is gone leaves nothing, and comes back as it was.
    std::fs::remove_file(project.root().join(FIRST)).expect("a value");
    assert_eq!(facts(&project), ["C0 eyes blue canon"]);
    assert!(!memory(&project).to_string().contains("Ivo Marek"));
    project.write(FIRST, &original);
    let told = |all: &Value| {
        let mut names: Vec<String> = all
            .as_array()
            .expect("a value")
            .iter()
            .map(|it| format!("{} {}", text(it, "kind"), text(it, "name")))
            .collect();
        names.sort();
        names
    };
    assert_eq!(told(&memory(&project)), told(&before));
    project.ok(&["check"]);
}

#[test]
fn who_knows_what_can_be_asked_for_any_scene() {
    let project = manuscript();
    let first = project.json(&["story", "memory", "at", "scene-0101"]);
    assert_eq!(first["facts"], json!([]), "nothing was before: {first}");
    let second = project.json(&["story", "memory", "at", "scene-0102"]);
    let elena = &second["characters"][0];
    assert_eq!(text(elena, "name"), "Elena");
    assert_eq!(
        elena["knows"][0],
        json!({ "fact": "F0", "statement": "Elena eyes green", "since": "S001" }),
        "{second}"
    );
    let shown = project.ok(&["story", "memory", "at", "scene-0102"]).stdout;
    assert!(
        shown.contains("knows F0 Elena eyes green since S001"),
        "{shown}"
    );
}

#[test]
fn what_a_person_intends_is_not_disputed_again() {
    let project = manuscript();
    let read = project.json(&["story", "memory", "reread", "--all"]);
    let fact = text(&read["disputed"][0], "fact").to_owned();
    project.ok(&["story", "memory", "intend", &fact]);
    let again = project.json(&["story", "memory", "reread", "--all"]);
    assert_eq!(again["disputed"], json!([]));
    // Nor by an edit elsewhere in the scene.
    project.write(SECOND, &(project.read(SECOND) + "\nThe lamp went out.\n"));
    assert!(
        facts(&project).contains(&"C0 eyes blue intended".to_owned()),
        "{:?}",
        facts(&project)
    );
}

#[test]
fn one_person_under_two_names_is_merged_and_split() {
    let project = manuscript();
    project.write(
        SECOND,
        "Lena had blue eyes. “Come,” said Lena, and Lena turned the page. Elena waited.\n",
    );
    project.ok(&["story", "memory", "reread", "--all"]);
    assert!(facts(&project).iter().any(|it| it.ends_with("blue canon")));
    let merged = project.json(&["story", "memory", "merge", "Elena", "Lena"]);
    assert_eq!(merged["entry"]["aliases"], json!(["Lena"]), "{merged}");
    assert!(
        facts(&project).contains(&"C0 eyes blue disputed".to_owned()),
        "{:?}",
        facts(&project)
    );
    project.ok(&["story", "memory", "split", "Elena", "Lena"]);
    assert!(facts(&project).iter().all(|it| it.ends_with("canon")));
    project.ok(&["check"]);
}

#[test]
fn a_model_reads_better_and_its_reading_survives_an_edit_elsewhere() {
    let verdict = json!({ "findings": [], "summary": ["Elena is asked"], "characters": ["C0"],
        "facts": [{ "subject": "Elena", "predicate": "is asked by", "object": "Ivo", "quote": "asked Ivo Marek" },
                  { "subject": "Elena", "predicate": "lies", "object": "always", "quote": "not in the text" }] })
    .to_string();
    let project = with_model(manuscript(), &[&verdict]);
    let read = project.json(&["story", "memory", "reread", "scene-0101"]);
    assert_eq!(
        text(&read["read"][0], "reader"),
        "command/default",
        "{read}"
    );
    assert!(facts(&project).contains(&"C0 is asked by Ivo canon".to_owned()));
    assert!(!facts(&project).iter().any(|it| it.contains("lies")));
    // What is still quoted stays; what the text no longer says is gone.
    let original = project.read(FIRST);
    project.write(FIRST, original.replace("Elena had green eyes", "It rained"));
    assert!(facts(&project).contains(&"C0 is asked by Ivo canon".to_owned()));
    project.write(FIRST, "It rained on the roofs. Nobody came.\n");
    assert!(!facts(&project).iter().any(|it| it.contains("asked by")));
    // The text comes back, and the paid reading with it.
    project.write(FIRST, &original);
    assert!(facts(&project).contains(&"C0 is asked by Ivo canon".to_owned()));
}
