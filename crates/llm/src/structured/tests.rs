//! Tests of reading answers: single rules here, whole bad answers in `tests/bad-output`.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn validator() -> Validator {
    Validator::new(&json!({
        "type": "object",
        "required": ["name", "steps"],
        "additionalProperties": false,
        "properties": {
            "name": {"type": "string", "maxLength": 20},
            "note": {"type": "string"},
            "count": {"type": "integer", "minimum": 0, "maximum": 10},
            "who": {"enum": ["C0", "C1"]},
            "steps": {"type": "array", "maxItems": 3, "items": {"anyOf": [
                {"type": "object", "required": ["tool", "args"], "properties": {
                    "tool": {"const": "memory.search"},
                    "args": {"type": "object", "required": ["query"], "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}}}},
                {"type": "object", "required": ["tool", "args"], "properties": {
                    "tool": {"const": "loop.open"},
                    "args": {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}}}},
            ]}}
        }
    }))
    .unwrap()
}

/// The value, then a line for each note; or the findings.
fn read(text: &str) -> String {
    match read_answer(text, &validator()) {
        AnswerReading::Good(CheckedValue { value, notes }) => std::iter::once(value.to_string())
            .chain(notes)
            .collect::<Vec<_>>()
            .join("\n"),
        AnswerReading::Wrong { findings } => findings
            .iter()
            .map(SchemaFinding::to_string)
            .collect::<Vec<_>>()
            .join("\n"),
        AnswerReading::Truncated => "truncated".to_owned(),
        AnswerReading::Nothing => "nothing".to_owned(),
    }
}

#[test]
fn values_are_found_where_models_put_them() {
    let plain = r#"{"name":"x","steps":[]}"#;
    for text in [
        plain.to_owned(),
        format!("\u{feff}{plain}\n"),
        format!("Sure! Here it is:\n```json\n{plain}\n```\nUse {{braces}} wisely."),
        format!("const plan = {plain};"),
        format!("<think>maybe {{\"name\": \"no\"}} …</think>{plain}"),
        format!("First {{\"name\":\"draft\"}} then better: {plain}"),
        format!("{plain}\nIf {{ appears later it is prose"),
        format!("Don't worry {{about that}}: {plain}"),
    ] {
        assert_eq!(read(&text), plain, "{text}");
    }
    assert_eq!(read("I cannot do that."), "nothing");
    assert_eq!(read("<think>{\"name\":\"x\",\"steps\":[]}"), "nothing");
}

#[test]
fn an_answer_that_breaks_off_is_no_wrong_answer() {
    for text in [
        r#"{"name": "x", "steps": [{"tool": "#,
        "```json\n{\n  \"name\": \"The ",
        "{",
        r#"[{"name": "x"}, {"na"#,
    ] {
        assert_eq!(read(text), "truncated", "{text}");
    }
    assert_eq!(read("a { of prose"), "nothing");
}

#[test]
fn form_is_mended_and_noted() {
    let note = "the answer was not quite JSON: commas, comments or quotes were repaired";
    assert_eq!(
        read("{name: 'x', \"steps\": [],} // done"),
        format!("{{\"name\":\"x\",\"steps\":[]}}\n{note}")
    );
    assert_eq!(
        read("{\"name\": \"two\nlines\", \"steps\": []}"),
        format!("{{\"name\":\"two\\nlines\",\"steps\":[]}}\n{note}")
    );
    assert!(read("{'name': 'x', 'steps': [], 'note': None}").ends_with("/note: null left out"));
    assert!(
        read(r#""{\"name\":\"x\",\"steps\":[]}""#).ends_with("the answer was JSON inside a string")
    );
    let count = r#"{"name":"x","steps":[],"count":"3"}"#;
    assert_eq!(
        read(count),
        "{\"count\":3,\"name\":\"x\",\"steps\":[]}\n/count: \"3\" read as 3"
    );
    assert!(read(r#"{"name":"x","steps":[],"count":99}"#).ends_with("/count: 99 read as 10"));
    assert!(read(r#"{"name":7,"steps":[]}"#).ends_with("/name: 7 read as \"7\""));
    assert!(
        read(r#"{"name":"x","steps":[],"who":"c-0"}"#).ends_with("/who: \"c-0\" read as \"C0\"")
    );
    assert!(read(r#"{"name":"x","steps":[],"mood":"grim"}"#).ends_with("/: unknown mood left out"));
    assert!(
        read(r#"{"plan":{"name":"x","steps":[]}}"#)
            .ends_with("/: taken out of the envelope around it")
    );
    let one = r#"{"name":"x","steps":{"tool":"Memory.Search","args":"{\"query\":\"sea\",\"limit\":\"3\"}"}}"#;
    let value =
        r#"{"name":"x","steps":[{"args":{"limit":3,"query":"sea"},"tool":"memory.search"}]}"#;
    assert_eq!(read(one).lines().next(), Some(value), "{}", read(one));
}

#[test]
fn meaning_is_not_mended_and_the_finding_says_where() {
    assert_eq!(
        read(r#"{"name":"x"}"#),
        "/: \"steps\" is a required property"
    );
    assert!(
        read(r#"{"name":"x","steps":[],"who":"C7"}"#).starts_with("/who: \"C7\" is not one of")
    );
    assert!(read(r#"{"name":"a name that is much too long","steps":[]}"#).starts_with("/name: "));
    assert_eq!(
        read(r#"{"name":"x","steps":[{"tool":"loop.open","args":{}}]}"#),
        "/steps/0/args: \"title\" is a required property"
    );
    assert_eq!(
        read(r#"{"name":"x","steps":[{"tool":"shell.run","args":{}}]}"#),
        "/steps/0: expected one of \"memory.search\" at /steps/0/tool, \"loop.open\" at /steps/0/tool"
    );
}

#[test]
fn a_schema_that_is_none_is_the_callers_fault() {
    let error = Validator::new(&json!({"type": "objekt"})).unwrap_err();
    assert_eq!(error.class, crate::ErrorClass::Setup);
    assert!(error.what.contains("`/type`"), "{}", error.what);
}

#[test]
fn deep_nesting_is_survived() {
    assert_eq!(read(&"[".repeat(100_000)), "nothing");
    assert_eq!(read(&("[".repeat(5_000) + &"]".repeat(5_000))), "nothing");
}

proptest! {
    /// Whatever a model says, reading it neither panics nor hangs.
    #[test]
    fn any_text_is_survived(text in r#"[\[\]{}"':,\\ a-z0-9\n“”é]{0,80}"#) {
        let _ = read(&text);
    }

    /// A value that is right is found whole, whatever stands around it.
    #[test]
    fn a_right_value_is_found_in_any_prose(name in "[a-z{}\\[\\]\"'\\\\ ]{0,20}", before in "[a-zA-Z .,!\n]{0,40}", after in "[a-zA-Z .,!\n]{0,40}") {
        let value = json!({"name": name, "steps": []});
        let reading = read_answer(&format!("{before}{value}{after}"), &validator());
        prop_assert_eq!(reading, AnswerReading::Good(CheckedValue { value, notes: vec![] }));
    }
}
