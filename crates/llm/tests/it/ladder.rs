//! Answers of a shape, over the wire: the ladder of schemas in each dialect, and more room for an answer that was cut.

use llm::{ErrorClass, Request};
use serde_json::{Value, json};

use crate::server::{FaultServer, Reply};
use crate::setup::Bench;
use crate::speech::{SPEAKERS, Why};

fn request() -> Request {
    let schema =
        json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
    Request::text_request("test", "be brief", "a number", 100).with_schema("answer", schema)
}

/// What of a request says that a shape is wanted.
fn rung(body: &Value) -> &'static str {
    let native = [
        "/response_format",
        "/text/format",
        "/output_config/format",
        "/generationConfig/responseJsonSchema",
    ];
    if native.iter().any(|place| body.pointer(place).is_some()) {
        "native"
    } else if body.get("tools").is_some()
        && (body.get("tool_choice").or(body.get("toolConfig"))).is_some()
    {
        "tool"
    } else if body.to_string().contains("JSON Schema") {
        "prompt"
    } else {
        "none"
    }
}

#[test]
fn a_provider_that_refuses_a_rung_gets_the_next() {
    for speaker in &SPEAKERS {
        let refused = || {
            Reply::whole(
                400,
                &[],
                json!({"error": {"message": speaker.refuses_schema}}),
            )
        };
        let server = FaultServer::start([
            refused(),
            refused(),
            Reply::stream((speaker.events)(&["Here: {\"n\":", " 3}."], Why::Done)),
        ]);
        let outcome = Bench::new(speaker, &server).ask(&request()).unwrap();
        assert_eq!(outcome.json, Some(json!({"n": 3})), "{}", speaker.dialect);
        let rungs: Vec<_> = server.seen().iter().map(|seen| rung(&seen.body)).collect();
        assert_eq!(rungs, ["native", "tool", "prompt"], "{}", speaker.dialect);
        assert_eq!(outcome.ledger.len(), 3);
    }
}

#[test]
fn the_arguments_of_the_forced_tool_are_the_answer() {
    for speaker in &SPEAKERS {
        let refused = Reply::whole(
            400,
            &[],
            json!({"error": {"message": speaker.refuses_schema}}),
        );
        let server =
            FaultServer::start([refused, Reply::stream((speaker.tool_call)(r#"{"n":3}"#))]);
        let outcome = Bench::new(speaker, &server).ask(&request()).unwrap();
        assert_eq!(outcome.json, Some(json!({"n": 3})), "{}", speaker.dialect);
    }
}

/// llama.cpp ignores schemas in two of its dialects and says 200: only the check finds out.
#[test]
fn a_provider_that_ignores_the_schema_is_found_out() {
    for speaker in &SPEAKERS {
        let server = FaultServer::start([
            Reply::stream((speaker.events)(&["Three, I think."], Why::Done)),
            Reply::stream((speaker.events)(&["{\"n\": 3}"], Why::Done)),
        ]);
        let outcome = Bench::new(speaker, &server).ask(&request()).unwrap();
        assert_eq!(outcome.json, Some(json!({"n": 3})), "{}", speaker.dialect);
        let again = server.seen().remove(1).body.to_string();
        assert!(
            again.contains("Three, I think.") && again.contains("there is no JSON in the answer"),
            "{again}"
        );
    }
}

#[test]
fn a_cut_answer_gets_more_room() {
    for speaker in &SPEAKERS {
        let server = FaultServer::start([
            Reply::stream((speaker.events)(&["{\"n\": "], Why::NoRoom)),
            // Not closed, but the server says that it was done: corrected, at no higher limit.
            Reply::stream((speaker.events)(&["{\"n\": "], Why::Done)),
            Reply::stream((speaker.events)(&["{\"n\": 3}"], Why::Done)),
        ]);
        Bench::new(speaker, &server).ask(&request()).unwrap();
        let places = [
            "/max_tokens",
            "/max_output_tokens",
            "/generationConfig/maxOutputTokens",
        ];
        let room = |body: &Value| places.iter().find_map(|place| body.pointer(place)).cloned();
        let rooms: Vec<_> = server
            .seen()
            .iter()
            .filter_map(|seen| room(&seen.body))
            .collect();
        assert_eq!(
            rooms,
            [json!(100), json!(200), json!(200)],
            "{}",
            speaker.dialect
        );
    }
}

#[test]
fn a_model_that_never_learns_fails_with_its_answer_kept() {
    let [chat, ..] = &SPEAKERS;
    let bad = || Reply::stream((chat.events)(&["{\"m\": 1}"], Why::Done));
    let server = FaultServer::start([bad(), bad(), bad(), bad()]);
    let error = Bench::new(chat, &server).ask(&request()).unwrap_err();
    assert_eq!(
        (error.class, server.seen().len(), error.ledger.len()),
        (ErrorClass::Shape, 3, 3)
    );
    assert_eq!(error.text, "{\"m\": 1}");
    assert!(
        error.what.contains("/: \"n\" is a required property"),
        "{}",
        error.what
    );
}
