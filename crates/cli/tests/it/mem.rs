//! `tl mem`: notes on shelves.

use crate::{assert_refused, story, text};

#[test]
fn notes_are_found_again_in_any_language() {
    // Notes need no trail.
    let project = story();
    project.ok(&[
        "mem",
        "save",
        "--shelf",
        "Decisions",
        "JWT with jose, checked in middleware",
    ]);
    project.ok(&["mem", "save", "Решили не брать passport"]);
    project.ok(&["mem", "save", "会議は東京タワーで"]);
    let found = |query: &str| -> Vec<String> {
        let found = project.json(&["mem", "recall", query]);
        found
            .as_array()
            .unwrap()
            .iter()
            .map(|mem| text(mem, "text").to_owned())
            .collect()
    };
    assert_eq!(found("middle"), ["JWT with jose, checked in middleware"]);
    assert_eq!(found("РЕШИЛИ"), ["Решили не брать passport"]);
    assert_eq!(found("東京"), ["会議は東京タワーで"]);
    assert_eq!(found("nothing"), Vec::<String>::new());
    assert_eq!(
        project.json(&["mem", "recall", "--shelf", "decisions", "pass"]),
        serde_json::json!([])
    );
    let shelves = project.json(&["mem", "shelves"]);
    assert_eq!(
        shelves,
        serde_json::json!([{ "shelf": "decisions", "notes": 1 }, { "shelf": "general", "notes": 2 }])
    );
    assert_refused(&project, &["mem", "save", " "], "invalid", &["empty"]);
    assert_refused(
        &project,
        &["mem", "save", "--shelf", "a b", "x"],
        "invalid",
        &["is not a shelf name"],
    );
    assert_refused(
        &project,
        &["mem", "recall", "..."],
        "invalid",
        &["expected words"],
    );
}

#[test]
fn the_json_engine_finds_the_same() {
    let project = crate::empty().with_environment("THROUGHLINE_STORAGE", "json");
    project.ok(&["init"]);
    for note in ["jwt tokens", "jwt", "other"] {
        project.ok(&["mem", "save", note]);
    }
    let found = project.json(&["mem", "recall", "jwt"]);
    assert_eq!(
        (text(&found[0], "text"), text(&found[1], "text")),
        ("jwt", "jwt tokens")
    );
}
