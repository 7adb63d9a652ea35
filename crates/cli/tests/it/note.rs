//! `tl note`: notes on shelves, and pinned ones.

use serde_json::{Value, json};
use testkit::Project;

use crate::{assert_refused, story, text, trail};

fn texts_of(notes: &Value) -> Vec<String> {
    let notes = notes.as_array().expect("a list of notes");
    notes
        .iter()
        .map(|note| text(note, "text").to_owned())
        .collect()
}

/// Returns the texts of the notes that a query finds.
fn found(project: &Project, query: &str) -> Vec<String> {
    texts_of(&project.json(&["note", "find", query]))
}

#[test]
fn notes_are_found_again_in_any_language() {
    // Notes need no trail.
    let project = story();
    project.ok(&[
        "note",
        "add",
        "--shelf",
        "Decisions",
        "JWT with jose, checked in middleware",
    ]);
    project.ok(&["note", "add", "Решили не брать passport"]);
    project.ok(&["note", "add", "会議は東京タワーで"]);
    assert_eq!(
        found(&project, "middle"),
        ["JWT with jose, checked in middleware"]
    );
    assert_eq!(found(&project, "РЕШИЛИ"), ["Решили не брать passport"]);
    assert_eq!(found(&project, "東京"), ["会議は東京タワーで"]);
    assert_eq!(found(&project, "nothing"), Vec::<String>::new());
    assert_eq!(
        project.json(&["note", "find", "--shelf", "decisions", "pass"]),
        json!([])
    );
    assert_eq!(
        project.json(&["note", "shelves"]),
        json!([{ "shelf": "decisions", "notes": 1 }, { "shelf": "general", "notes": 2 }])
    );
    assert_refused(&project, &["note", "add", " "], "invalid", &["empty"]);
    assert_refused(
        &project,
        &["note", "add", "--shelf", "a b", "x"],
        "invalid",
        &["is not a shelf name"],
    );
    assert_refused(
        &project,
        &["note", "find", "..."],
        "invalid",
        &["expected words"],
    );
}

#[test]
fn the_json_engine_finds_the_same() {
    let project = crate::empty().with_environment("THROUGHLINE_STORAGE", "json");
    project.ok(&["init"]);
    for note in ["jwt tokens", "jwt", "other"] {
        project.ok(&["note", "add", note]);
    }
    assert_eq!(found(&project, "jwt"), ["jwt", "jwt tokens"]);
}

#[test]
fn pinned_notes_are_listed_newest_first_and_briefed() {
    let project = trail();
    project.ok(&["note", "add", "--pin", "No new dependency"]);
    let stamp = text(&project.json(&["trail", "intent", "Build auth"]), "stamp").to_owned();
    let anchor = project.json(&["note", "add", "--pin", "JWT only"]);
    assert_eq!(text(&anchor, "session_stamp"), stamp);
    let list = project.json(&["note", "list", "--pinned"]);
    assert_eq!(texts_of(&list), ["JWT only", "No new dependency"]);
    assert_eq!(text(&list[0], "session_stamp"), stamp);
    assert!(project.ok(&["brief"]).stdout.contains("Anchor: “JWT only”"));
    assert_refused(
        &project,
        &["note", "add", "--pin", &"x".repeat(501)],
        "invalid",
        &["501 characters"],
    );
}

#[test]
fn a_note_keeps_its_shelf_while_it_is_pinned() {
    let project = trail();
    let note = project.json(&["note", "add", "--shelf", "auth", "JWT with jose"]);
    let stamp = text(&note, "stamp");
    let pinned = project.json(&["note", "pin", stamp]);
    assert_eq!(
        (&pinned["pinned"], text(&pinned, "shelf")),
        (&json!(true), "auth")
    );
    // Pinned twice is pinned, and recorded once.
    let log = project.json(&["log"]).as_array().expect("a list").len();
    project.ok(&["note", "pin", stamp]);
    assert_eq!(
        project.json(&["log"]).as_array().expect("a list").len(),
        log
    );
    // One note, although two records match.
    assert_eq!(found(&project, "jose"), ["JWT with jose"]);
    assert_eq!(
        texts_of(&project.json(&["note", "list"])),
        ["JWT with jose"]
    );
    assert!(project.ok(&["brief"]).stdout.contains("JWT with jose"));

    let unpinned = project.json(&["note", "unpin", stamp]);
    assert_eq!(
        (&unpinned["pinned"], text(&unpinned, "shelf")),
        (&json!(false), "auth")
    );
    assert_eq!(project.json(&["note", "list", "--pinned"]), json!([]));
}

#[test]
fn unpinning_a_note_without_a_shelf_keeps_it() {
    let project = trail();
    let anchor = project.json(&["note", "add", "--pin", "No new dependency"]);
    let stamp = text(&anchor, "stamp");
    project.ok(&["note", "unpin", stamp]);
    let list = project.json(&["note", "list"]);
    assert_eq!(
        (text(&list[0], "stamp"), text(&list[0], "shelf")),
        (stamp, "general")
    );
}

#[test]
fn a_removed_note_is_gone_until_the_undo() {
    let project = trail();
    let note = project.json(&["note", "add", "JWT with jose"]);
    let stamp = text(&note, "stamp");
    project.ok(&["note", "pin", stamp]);
    let removed = project.json(&["note", "remove", stamp]);
    let operation = removed["operation"].to_string();
    assert_eq!(project.json(&["note", "list"]), json!([]));
    assert_eq!(found(&project, "jose"), Vec::<String>::new());
    project.ok(&["undo", &operation]);
    let back = project.json(&["note", "list"]);
    assert_eq!(
        (&back[0]["pinned"], texts_of(&back)),
        (&json!(true), vec!["JWT with jose".to_owned()])
    );
    for action in ["pin", "unpin", "remove"] {
        assert_refused(
            &project,
            &["note", action, "1"],
            "not-found",
            &["no such note: `1`", "tl note list"],
        );
    }
}

#[test]
fn a_note_and_a_pinned_one_of_the_same_minute_have_different_stamps() {
    let project = trail();
    let stamps: Vec<Value> = [&["note", "add", "a"][..], &["note", "add", "--pin", "b"]]
        .iter()
        .map(|arguments| project.json(arguments)["stamp"].clone())
        .collect();
    assert_ne!(stamps[0], stamps[1]);
}
