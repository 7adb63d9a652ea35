//! `tl story memory`: entries in the store and in files, kept in sync.

use crate::model_server::ModelServer;
use crate::{assert_refused, story, text};
use serde_json::json;
use testkit::Project;

const ELENA: &str = "memory/characters/C0.md";

fn with_elena() -> Project {
    let project = story();
    project.ok(&[
        "story",
        "memory",
        "edit",
        "--new",
        "character",
        "name=Elena",
        "role=protagonist",
        "goals=[\"find the map\"]",
    ]);
    project
}

fn entry(project: &Project, name: &str) -> serde_json::Value {
    project.json(&["story", "memory", "show", name])["entry"].clone()
}

#[test]
fn an_entry_is_a_record_and_a_file() {
    let project = with_elena();
    let file = project.read(ELENA);
    assert!(
        file.starts_with("---\nid: C0\nname: Elena\nrole: protagonist\ngoals:\n"),
        "{file}"
    );
    project.ok(&[
        "story",
        "memory",
        "edit",
        "elena",
        "text=Grew up in the archive.",
        "emotional_state=tense",
    ]);
    assert_eq!(
        entry(&project, "c0"),
        json!({ "id": "C0", "name": "Elena", "role": "protagonist", "goals": ["find the map"], "emotional_state": "tense",
                "created_tick": 0, "text": "Grew up in the archive." })
    );
    assert!(
        project
            .read(ELENA)
            .ends_with("---\n\nGrew up in the archive.\n")
    );
}

#[test]
fn what_people_edit_is_taken_over_and_never_overwritten() {
    let project = with_elena();
    let edited = project.read(ELENA).replace("protagonist", "антагонист") + "\nHas a scar.\n";
    project.write(ELENA, &edited);
    assert_eq!(text(&entry(&project, "Elena"), "role"), "антагонист");
    assert_eq!(project.read(ELENA), edited, "reading writes nothing");
    // A file that a user adds is an entry.
    project.write(
        "memory/locations/L0.md",
        "---\nname: The Archive\n---\nDust.\n",
    );
    assert_eq!(text(&entry(&project, "the archive"), "text"), "Dust.");
    // One that cannot be read stays as it is, and so does what is known.
    project.write(ELENA, "---\nname: [Elena\n---\n");
    let shown = project.run(&["story", "memory", "show", "C0"]);
    assert!(
        shown.stdout.contains("антагонист") && shown.stderr.contains("not imported"),
        "{shown:?}"
    );
    project.ok(&["story", "memory", "edit", "C0", "role=witness"]);
    assert_eq!(project.read(ELENA), "---\nname: [Elena\n---\n");
    project.write(ELENA, "---\nname: Elena\nrolle: x\n---\n");
    assert!(
        project
            .run(&["story", "memory", "show", "C0"])
            .stderr
            .contains("did you mean `role`")
    );
}

#[test]
fn a_file_that_is_gone_is_written_again_and_undo_reaches_it() {
    let project = with_elena();
    let before = project.read(ELENA);
    std::fs::remove_file(project.root().join(ELENA)).unwrap();
    project.ok(&["story", "memory", "show"]);
    assert_eq!(project.read(ELENA), before);
    let operation = project.json(&["log"])[0]["operation"].clone();
    project.ok(&["story", "memory", "edit", "C0", "role=ghost"]);
    assert!(project.read(ELENA).contains("ghost"), "after {operation}");
    let last = project.json(&["log"])[0]["operation"].to_string();
    project.ok(&["undo", &last]);
    project.ok(&["story", "memory", "show"]);
    assert_eq!(project.read(ELENA), before);
    project.ok(&["story", "memory", "forget", "Elena"]);
    assert!(!project.root().join(ELENA).exists());
    assert_refused(
        &project,
        &["story", "memory", "show", "Elena"],
        "not-found",
        &["there is no memory entry"],
    );
}

#[test]
fn it_is_searched_in_any_language_and_drawn() {
    let project = with_elena();
    project.ok(&[
        "story",
        "memory",
        "edit",
        "--new",
        "character",
        "name=Маркус",
        "text=наставник Елены",
    ]);
    project.ok(&[
        "story",
        "memory",
        "edit",
        "--new",
        "loop",
        "text=Who took the map?",
        "importance=high",
    ]);
    project.ok(&[
        "story",
        "memory",
        "edit",
        "--new",
        "relationship",
        "character_a=C0",
        "character_b=C1",
        "relationship_type=\"mentor & <pupil>\"",
        "intensity=7",
        "status=strained",
    ]);
    let ids = |arguments: &[&str]| -> Vec<String> {
        let found = project.json(arguments);
        found
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| text(entry, "id").to_owned())
            .collect()
    };
    assert_eq!(ids(&["story", "memory", "search", "НАСТАВ"]), ["C1"]);
    assert_eq!(ids(&["story", "memory", "search", "took map"]), ["OL0"]);
    assert_eq!(
        ids(&["story", "memory", "search", "--kind", "characters", "map"]),
        ["C0"]
    );
    let svg = project.ok(&["story", "memory", "graph"]).stdout;
    assert!(
        svg.contains("Маркус") && svg.contains("mentor &amp; &lt;pupil&gt;, strained"),
        "{svg}"
    );
    assert!(
        project
            .ok(&["story", "memory", "graph", "--dot"])
            .stdout
            .contains("\"C0\" -- \"C1\"")
    );
    assert_refused(
        &project,
        &["story", "memory", "forget", "C0"],
        "refused",
        &["R0 refers to `C0`"],
    );
    assert_refused(
        &project,
        &["story", "memory", "edit", "R0", "intensity=11"],
        "invalid",
        &["0 to 10"],
    );
    assert_refused(
        &project,
        &["story", "memory", "edit", "C0", "name="],
        "invalid",
        &["needs a name"],
    );
    assert_refused(
        &project,
        &["story", "memory", "edit", "C0", "nme=x"],
        "invalid",
        &["did you mean `name`"],
    );
}

#[test]
fn what_is_near_in_meaning_is_found_where_a_model_for_it_is_chosen() {
    let project = with_elena();
    project.ok(&[
        "story",
        "memory",
        "edit",
        "--new",
        "lore",
        "name=Tides",
        "text=The harbour freezes; no ship leaves.",
    ]);
    project.ok(&[
        "story",
        "memory",
        "edit",
        "--new",
        "character",
        "name=Маркус",
        "text=наставник Елены",
    ]);
    project.ok(&[
        "story",
        "memory",
        "edit",
        "--new",
        "loop",
        "text=Where is the chart of the harbour?",
    ]);
    assert_refused(
        &project,
        &["story", "memory", "index"],
        "refused",
        &["by words only", "THROUGHLINE_EMBED_PROVIDER"],
    );
    let server = ModelServer::start(|_| String::new());
    let project = project
        .with_environment("THROUGHLINE_EMBED_PROVIDER", "openai-compatible")
        .with_environment("THROUGHLINE_EMBED_MODEL", "topics")
        .with_environment("THROUGHLINE_EMBED_BASE_URL", &server.url);
    let ids = |project: &Project, query: &str| -> Vec<String> {
        let found = project.json(&["story", "memory", "search", "--limit", "2", query]);
        found
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| text(entry, "id").to_owned())
            .collect()
    };
    let unindexed = project.ok(&["story", "memory", "search", "teacher"]);
    assert!(
        unindexed.stderr.contains("the vector index is empty"),
        "{unindexed:?}"
    );
    assert_eq!(
        project.json(&["story", "memory", "index"]),
        json!({ "entries": 4, "embedded": 4 })
    );
    assert_eq!(
        project.json(&["story", "memory", "index"]),
        json!({ "entries": 4, "embedded": 0 })
    );
    assert_eq!(ids(&project, "teacher")[0], "C1", "no word is the same");
    let mut both = ids(&project, "harbour map");
    both.sort();
    assert_eq!(
        both,
        ["C0", "OL0"],
        "one has a word of it, the other its meaning; the lore has one word alone"
    );
    project.ok(&[
        "story",
        "memory",
        "edit",
        "C1",
        "text=keeps ash from the fire",
    ]);
    project.ok(&["story", "memory", "forget", "W0"]);
    assert_eq!(
        project.json(&["story", "memory", "index"]),
        json!({ "entries": 3, "embedded": 1 })
    );
    assert_eq!(ids(&project, "burn")[0], "C1");
    assert!(
        project
            .ok(&["story", "model", "check"])
            .stdout
            .contains("embeddings by openai-compatible/topics")
    );
    // A model that does not answer is told of; the words are searched all the same.
    let deaf = project.with_environment("THROUGHLINE_EMBED_BASE_URL", "http://127.0.0.1:9/v1");
    let found = deaf.ok(&["story", "memory", "search", "chart"]);
    assert!(
        found.stdout.contains("OL0") && found.stderr.contains("only words are searched"),
        "{found:?}"
    );
}
