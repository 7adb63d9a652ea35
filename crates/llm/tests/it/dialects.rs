//! Each dialect, both ways: what is asked, and what is understood of the answer.

use llm::{ConnectOptions, ErrorClass, Message, Outcome, Request, StopReason, TokenUsage};
use serde_json::{Value, json};

use crate::server::{FaultServer, Reply};
use crate::setup::Bench;
use crate::speech::{SPEAKERS, Why};

#[test]
fn a_stream_is_understood() {
    for speaker in &SPEAKERS {
        let server = FaultServer::start([Reply::stream((speaker.events)(
            &["Hel", "lo, ", "wörld 日本"],
            Why::Done,
        ))]);
        let bench = Bench::new(speaker, &server);
        let outcome = bench.ask_text().unwrap();
        assert_eq!(
            bench.shown(),
            ["Hel", "lo, ", "wörld 日本"],
            "{}",
            speaker.dialect
        );
        let entry = outcome.ledger.first().unwrap().clone();
        let reasoning = (speaker.dialect != "anthropic-messages").then_some(1);
        let cache_write = (speaker.dialect == "anthropic-messages").then_some(0);
        assert_eq!(
            Outcome {
                ledger: vec![],
                ..outcome
            },
            Outcome {
                text: "Hello, wörld 日本".to_owned(),
                stop: StopReason::End,
                usage: TokenUsage {
                    input: Some(12),
                    output: Some(3),
                    cache_read: Some(4),
                    cache_write,
                    reasoning
                },
                model: Some("model-1-2026".to_owned()),
                request_id: Some("req-7".to_owned()),
                ..Outcome::default()
            },
            "{}",
            speaker.dialect
        );
        assert_eq!(
            (entry.provider.as_str(), entry.model.as_str(), entry.attempt),
            ("test", "model-1", 1)
        );
        assert_eq!(
            entry.cost,
            llm::Cost::Computed(12 + 30),
            "{}",
            speaker.dialect
        );
    }
}

#[test]
fn an_answer_in_one_piece_is_understood_too() {
    for speaker in &SPEAKERS {
        // A server that was asked for a stream and does not stream.
        let server = FaultServer::start([Reply::whole(200, &[], (speaker.whole)("Hello"))]);
        let outcome = Bench::new(speaker, &server).ask_text().unwrap();
        assert_eq!(
            (outcome.text.as_str(), outcome.stop),
            ("Hello", StopReason::End),
            "{}",
            speaker.dialect
        );
        assert_eq!(
            (outcome.usage.input, outcome.usage.output),
            (Some(12), Some(3)),
            "{}",
            speaker.dialect
        );

        let server = FaultServer::start([Reply::whole(200, &[], (speaker.whole)("Hello"))]);
        let bench = Bench::with(
            speaker,
            &server.url(),
            "stream = false",
            ConnectOptions::default(),
        );
        assert_eq!(bench.ask_text().unwrap().text, "Hello");
        let seen = server.seen().remove(0);
        assert_ne!(
            seen.body.get("stream"),
            Some(&json!(true)),
            "{}",
            speaker.dialect
        );
        assert!(!seen.path.contains("stream"), "{}", seen.path);
    }
}

#[test]
fn why_it_stopped_is_told() {
    for speaker in &SPEAKERS {
        let server = FaultServer::start([Reply::stream((speaker.events)(
            &["Once upon a"],
            Why::NoRoom,
        ))]);
        assert_eq!(
            Bench::new(speaker, &server).ask_text().unwrap().stop,
            StopReason::Length,
            "{}",
            speaker.dialect
        );
        // Defect: an answer that the provider broke off as refused was a complete one, if it had text.
        for text in ["", "Once upon a time there was a drawer."] {
            let events = (speaker.events)(&[text], Why::Withheld);
            let server = FaultServer::start([Reply::stream(events)]);
            let error = Bench::new(speaker, &server).ask_text().unwrap_err();
            assert_eq!(
                (error.class, server.seen().len()),
                (ErrorClass::ContentFilter, 1),
                "{}: {text}",
                speaker.dialect
            );
        }
    }
}

/// The request as the server sees it; the key is in its header and nowhere else.
#[test]
fn requests_have_the_form_of_the_dialect() {
    let mut request = Request::text_request("test", "be brief", "say hello", 100).with_schema(
        "answer",
        json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}, "why": {"type": "string", "maxLength": 9}}}),
    );
    request.messages.extend([
        Message::from_assistant("hello"),
        Message::from_user("again, as JSON"),
    ]);
    request.temperature = Some(0.5);
    request.seed = Some(7);
    request.stop = vec!["END".to_owned()];
    request.reuse_system = true;
    let mut bodies: Vec<Value> = Vec::new();
    for speaker in &SPEAKERS {
        let server =
            FaultServer::start([Reply::stream((speaker.events)(&["{\"n\": 1}"], Why::Done))]);
        let outcome = Bench::new(speaker, &server).ask(&request).unwrap();
        assert_eq!(outcome.json, Some(json!({"n": 1})));
        let seen = server.seen().remove(0);
        assert_eq!(seen.path, speaker.path);
        assert_eq!(
            seen.header(speaker.key_header.0),
            Some(speaker.key_header.1)
        );
        assert!(!seen.body.to_string().contains("key-of") && !seen.path.contains("key-of"));
        bodies.push(json!({speaker.dialect: seen.body}));
    }
    insta::assert_snapshot!(format!("{:#}", Value::Array(bodies)));
}

#[test]
fn provider_data_shapes_the_request() {
    let [chat, ..] = &SPEAKERS;
    let server = FaultServer::start([Reply::stream((chat.events)(&["hello"], Why::Done))]);
    let extra = "output_limit_field = 'max_completion_tokens'\nomit = ['stream_options']\nheaders = { x-team = 'red' }\n\
                 query = { api-version = '3' }\npatch = { reasoning = { effort = 'low' }, top_p = 0.9 }";
    let bench = Bench::with(chat, &server.url(), extra, ConnectOptions::default());
    let outcome = bench
        .ask(&Request {
            temperature: Some(1.0),
            ..Request::text_request("t", "", "hi", 50)
        })
        .unwrap();
    assert_eq!(outcome.text, "hello");
    let seen = server.seen().remove(0);
    assert_eq!(seen.path, "/base/chat/completions?api-version=3");
    assert_eq!(seen.header("x-team"), Some("red"));
    assert_eq!(
        seen.body,
        json!({"model": "model-1", "messages": [{"role": "user", "content": "hi"}], "stream": true, "temperature": 1.0,
            "max_completion_tokens": 50, "reasoning": {"effort": "low"}, "top_p": 0.9})
    );
}

#[test]
fn what_a_provider_says_it_cost_is_believed() {
    let [chat, ..] = &SPEAKERS;
    let mut events = (chat.events)(&["hello"], Why::Done);
    let usage = crate::speech::data(
        &json!({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.0021}}),
    );
    let at = events.len() - 1;
    events.insert(at, usage);
    let server = FaultServer::start([Reply::stream(events)]);
    let outcome = Bench::new(chat, &server).ask_text().unwrap();
    assert_eq!(
        outcome.ledger.first().unwrap().cost,
        llm::Cost::Reported(2_100)
    );
}
