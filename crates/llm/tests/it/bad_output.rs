//! Bad answers of many kinds, kept as files, and what becomes of each: `tests/bad-output/cases.toml` says it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use llm::{CallEvent, Request};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::server::{FaultServer, Reply};
use crate::setup::Bench;
use crate::speech::{SPEAKERS, Why};

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    file: String,
    /// `read`, `asked again` or `more room`.
    handling: String,
    /// A note or an objection that must be made.
    says: Option<String>,
    /// What must be in the value that was read, as a JSON pointer and what it holds.
    holds: Option<(String, Value)>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/bad-output")
}

/// A plan as the planner asks for it: tools by name with their own arguments, known ids, everything bounded.
fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["rationale", "scene_intention", "actions"],
        "additionalProperties": false,
        "properties": {
            "rationale": {"type": "string", "maxLength": 400},
            "scene_intention": {"type": "string", "minLength": 1, "maxLength": 200},
            "pov_character": {"enum": ["C0", "C1"]},
            "actions": {"type": "array", "maxItems": 4, "items": {"anyOf": [
                {"type": "object", "required": ["tool", "args"], "additionalProperties": false, "properties": {
                    "tool": {"const": "memory.search"},
                    "args": {"type": "object", "required": ["query"], "additionalProperties": false, "properties": {
                        "query": {"type": "string", "maxLength": 80}, "limit": {"type": "integer", "minimum": 1, "maximum": 10}}},
                    "reason": {"type": "string"}}},
                {"type": "object", "required": ["tool", "args"], "additionalProperties": false, "properties": {
                    "tool": {"const": "character.generate"},
                    "args": {"type": "object", "required": ["name"], "additionalProperties": false, "properties": {
                        "name": {"type": "string"}, "traits": {"type": "array", "items": {"type": "string"}}}},
                    "reason": {"type": "string"}}}
            ]}},
            "expected_outcomes": {"type": "array", "maxItems": 5, "items": {"type": "string"}}
        }
    })
}

#[test]
fn every_bad_answer_is_handled_as_described() {
    let cases: Cases =
        toml::from_str(&std::fs::read_to_string(folder().join("cases.toml")).unwrap()).unwrap();
    let good = std::fs::read_to_string(folder().join("good.txt")).unwrap();
    let good_value: Value = serde_json::from_str(&good).unwrap();
    let [chat, ..] = &SPEAKERS;
    for case in &cases.case {
        let bad = std::fs::read_to_string(folder().join(&case.file)).unwrap();
        // A provider says when it cut an answer; one that claims to be finished is corrected instead.
        let why = if case.handling == "more room" {
            Why::NoRoom
        } else {
            Why::Done
        };
        let server = FaultServer::start([
            Reply::stream((chat.events)(&[&bad], why)),
            Reply::stream((chat.events)(&[&good], Why::Done)),
        ]);
        let bench = Bench::new(chat, &server);
        let request = Request::text_request("plan", "You plan.", "Plan the next scene.", 1_000)
            .with_schema("plan", schema());
        let outcome = bench
            .ask(&request)
            .unwrap_or_else(|error| panic!("{}: {error:?}", case.file));
        let seen = server.seen();
        let value = outcome.json.unwrap();
        let handling = match seen.as_slice() {
            [_] => "read",
            [first, second] if second.body["max_tokens"] != first.body["max_tokens"] => "more room",
            _ => "asked again",
        };
        assert_eq!(
            handling, case.handling,
            "{}: {:?}",
            case.file, outcome.notes
        );
        if handling != "read" {
            assert_eq!(value, good_value, "{}", case.file);
        }
        if let Some(says) = &case.says {
            let told = seen
                .get(1)
                .map(|seen| seen.body.to_string())
                .unwrap_or_default();
            let said = outcome
                .notes
                .iter()
                .any(|note| note.contains(says.as_str()))
                || told.contains(says.as_str());
            assert!(
                said,
                "{}: nobody said `{says}`: {:?}",
                case.file, outcome.notes
            );
        }
        if let Some((pointer, holds)) = &case.holds {
            assert_eq!(
                value.pointer(pointer),
                Some(holds),
                "{}: {value:#}",
                case.file
            );
        }
        let asked_again = bench
            .events
            .lock()
            .unwrap()
            .iter()
            .any(|event| matches!(event, CallEvent::AskingAgain { .. }));
        assert_eq!(asked_again, handling != "read", "{}", case.file);
    }
    let named: BTreeSet<&str> = cases.case.iter().map(|case| case.file.as_str()).collect();
    let files = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = files
        .filter(|name| !["cases.toml", "good.txt"].contains(&name.as_str()))
        .collect();
    assert_eq!(
        named,
        files.iter().map(String::as_str).collect(),
        "files and cases.toml differ"
    );
    assert!(named.len() >= 20);
}
