//! What goes wrong between a provider and us, over a real socket, in every dialect.

use std::time::Duration;

use llm::{Call, CallEvent, ConnectOptions, ErrorClass, LlmError, Request, TimeoutPhase};
use serde_json::json;

use crate::server::{FaultServer, Reply};
use crate::setup::{Bench, KEY};
use crate::speech::{SPEAKERS, Speaker, Why};

fn good(speaker: &Speaker) -> Reply {
    Reply::stream((speaker.events)(&["Hel", "lo"], Why::Done))
}

/// The first `Hel` of an answer.
fn begun(speaker: &Speaker) -> Reply {
    let events = (speaker.events)(&["Hel", "lo"], Why::Done);
    let said = events
        .iter()
        .position(|event| event.contains("\"Hel\""))
        .unwrap();
    Reply::begun(events.into_iter().take(said + 1))
}

/// Whatever the first reply is, the second attempt gets the answer, and the ledger tells of both.
fn survives(speaker: &Speaker, first: Reply, class: ErrorClass) -> Vec<Duration> {
    survives_with(speaker, "", first, class)
}

fn survives_with(speaker: &Speaker, extra: &str, first: Reply, class: ErrorClass) -> Vec<Duration> {
    let server = FaultServer::start([first, good(speaker)]);
    let bench = Bench::with(speaker, &server.url(), extra, ConnectOptions::default());
    let outcome = bench
        .ask_text()
        .unwrap_or_else(|error| panic!("{}: {error:?}", speaker.dialect));
    assert_eq!(outcome.text, "Hello", "{}", speaker.dialect);
    let attempts: Vec<_> = outcome
        .ledger
        .iter()
        .map(|entry| (entry.attempt, entry.error))
        .collect();
    assert_eq!(
        attempts,
        [(1, Some(class)), (2, None)],
        "{}",
        speaker.dialect
    );
    let told = bench
        .events
        .lock()
        .unwrap()
        .iter()
        .any(|event| matches!(event, CallEvent::Retrying { attempt: 2, .. }));
    assert!(told, "{}: nobody was told of the retry", speaker.dialect);
    bench.clock.waited()
}

/// One request, no retry.
fn fails(speaker: &Speaker, reply: Reply) -> Box<LlmError> {
    let server = FaultServer::start([reply]);
    let error = Bench::new(speaker, &server).ask_text().unwrap_err();
    assert_eq!(server.seen().len(), 1, "{}: {error:?}", speaker.dialect);
    assert!(!error.next.is_empty(), "{error:?}");
    assert!(!format!("{error:?}").contains(KEY), "{error:?}");
    error
}

#[test]
fn a_server_that_is_not_ready_yet() {
    for speaker in &SPEAKERS {
        let loading = json!({"error": {"type": "unavailable_error", "message": "Loading model"}});
        let waited = survives(
            speaker,
            Reply::whole(503, &[], loading),
            ErrorClass::Overloaded,
        );
        // Without a word from the server at least four seconds: limits count minutes.
        assert!(
            waited.iter().all(|wait| *wait >= Duration::from_secs(4)),
            "{waited:?}"
        );
        survives(
            speaker,
            Reply::whole(
                502,
                &[("content-type", "text/html")],
                "<html>Bad Gateway</html>",
            ),
            ErrorClass::Server,
        );
        survives(
            speaker,
            Reply::whole(500, &[], json!({"error": "boom"})),
            ErrorClass::Server,
        );
    }
}

#[test]
fn every_form_of_please_wait() {
    let [chat, ..] = &SPEAKERS;
    let body = json!({"error": {"message": "slow down"}}).to_string();
    let date = ("date", "Sun, 15 Nov 2026 10:00:00 GMT");
    let cases = [
        (vec![("retry-after", "3")], body.clone(), 3.0),
        (vec![("retry-after", "0.25")], body.clone(), 0.25),
        (vec![("retry-after-ms", "1500")], body.clone(), 1.5),
        (
            vec![("retry-after", "Sun, 15 Nov 2026 10:00:42 GMT"), date],
            body.clone(),
            42.0,
        ),
        (
            vec![],
            json!({"error": {"message": "Rate limit reached, please try again in 11.054s."}})
                .to_string(),
            11.054,
        ),
        (
            vec![],
            json!({"error": {"message": "try again in 28ms"}}).to_string(),
            0.028,
        ),
        (
            vec![],
            json!({"error": {"retry_after_seconds": 9}}).to_string(),
            9.0,
        ),
        (
            vec![],
            json!([{"error": {"details": [{"retryDelay": "36s"}]}}]).to_string(),
            36.0,
        ),
        (
            vec![],
            "Too many requests. Retry after 20 seconds.".to_owned(),
            20.0,
        ),
    ];
    for (headers, body, seconds) in cases {
        let waited = survives(
            chat,
            Reply::whole(429, &headers, &body),
            ErrorClass::RateLimited,
        );
        assert_eq!(
            waited,
            [Duration::from_secs_f64(seconds)],
            "{headers:?} {body}"
        );
    }
}

/// A 429 inside a 200: no retry of HTTP sees it.
#[test]
fn an_error_as_the_first_thing_in_a_stream() {
    for speaker in &SPEAKERS {
        let waited = survives(
            speaker,
            Reply::stream([(speaker.throttled)()]),
            ErrorClass::RateLimited,
        );
        assert_eq!(waited, [Duration::from_secs(7)], "{}", speaker.dialect);
    }
}

#[test]
fn an_error_in_the_middle_of_a_stream() {
    for speaker in &SPEAKERS {
        let mut events = (speaker.events)(&["Hel"], Why::Done);
        let said = events
            .iter()
            .position(|event| event.contains("\"Hel\""))
            .unwrap();
        events.truncate(said + 1);
        // The reason came with the text in this dialect; then the answer is whole and nothing went wrong.
        if speaker.dialect == "openai-chat" {
            events = vec![events.concat().replace("\"stop\"", "null")];
        }
        events.push((speaker.throttled)());
        survives(speaker, Reply::stream(events), ErrorClass::RateLimited);
    }
}

#[test]
fn a_server_that_goes_quiet() {
    // All at once: each of them waits, and a short wait would be too short for the good answer on a busy machine.
    let timeouts = "timeouts = { first_byte = 3, idle = 3 }";
    std::thread::scope(|scope| {
        for speaker in &SPEAKERS {
            let quiet = move |reply, phase| {
                survives_with(speaker, timeouts, reply, ErrorClass::Timeout(phase))
            };
            scope.spawn(move || quiet(Reply::silence(), TimeoutPhase::FirstByte));
            scope.spawn(move || quiet(begun(speaker).then_stall(), TimeoutPhase::Idle));
            // Headers alone are no sign of life.
            scope.spawn(move || {
                quiet(
                    Reply::begun(Vec::<String>::new()).then_stall(),
                    TimeoutPhase::FirstByte,
                )
            });
        }
    });
}

#[test]
fn a_stalled_connection_is_let_go() {
    let [chat, ..] = &SPEAKERS;
    let server = FaultServer::start([begun(chat).then_stall()]);
    let extra = "timeouts = { idle = 1 }\nretry = { attempts = 1 }";
    let error = Bench::with(chat, &server.url(), extra, ConnectOptions::default())
        .ask_text()
        .unwrap_err();
    assert_eq!(
        (error.class, error.text.as_str()),
        (ErrorClass::Timeout(TimeoutPhase::Idle), "Hel")
    );
    server.wait_until_given_up();
}

#[test]
fn connections_that_break() {
    for speaker in &SPEAKERS {
        survives(speaker, Reply::reset(), ErrorClass::Network);
        survives(
            speaker,
            begun(speaker).then_reset(),
            ErrorClass::StreamEndedEarly,
        );
        // Closed without the end of the HTTP stream.
        survives(speaker, begun(speaker), ErrorClass::StreamEndedEarly);
        // A stream that ends well as far as HTTP knows, but not as far as the dialect does.
        let mut events = (speaker.events)(&["Hel", "lo"], Why::Done);
        let said = events
            .iter()
            .position(|event| event.contains("\"Hel\""))
            .unwrap();
        events.truncate(said + 1);
        survives(speaker, Reply::stream(events), ErrorClass::StreamEndedEarly);
    }
}

#[test]
fn nobody_listens() {
    let [chat, ..] = &SPEAKERS;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let error = Bench::with(
        chat,
        &url,
        "retry = { attempts = 2 }",
        ConnectOptions::default(),
    )
    .ask_text()
    .unwrap_err();
    assert_eq!((error.class, error.ledger.len()), (ErrorClass::Network, 2));
    assert!(
        error.what.starts_with("`127.0.0.1` cannot be reached:"),
        "{}",
        error.what
    );
    assert!(
        error.what.to_lowercase().contains("refused"),
        "the cause is missing: {}",
        error.what
    );
    assert!(error.what.ends_with("(tried 2 times)"), "{}", error.what);
}

/// Also shows that there is a TLS to fail.
#[test]
fn a_server_that_speaks_no_tls() {
    let [chat, ..] = &SPEAKERS;
    let server = FaultServer::start([Reply::raw(b"HTTP/1.1 400 Bad Request\r\n\r\n")]);
    let url = server.url().replace("http:", "https:");
    let error = Bench::with(
        chat,
        &url,
        "retry = { attempts = 1 }",
        ConnectOptions::default(),
    )
    .ask_text()
    .unwrap_err();
    assert_eq!(error.class, ErrorClass::Network, "{error:?}");
    assert!(error.what.contains("tls"), "{}", error.what);
}

#[test]
fn bytes_that_come_one_by_one() {
    for speaker in &SPEAKERS {
        let text = (speaker.events)(&["Grüße, 日本", " 🦀"], Why::Done).concat();
        let server = FaultServer::start([Reply::stream(text.as_bytes().chunks(1))]);
        assert_eq!(
            Bench::new(speaker, &server).ask_text().unwrap().text,
            "Grüße, 日本 🦀",
            "{}",
            speaker.dialect
        );
    }
}

#[test]
fn line_ends_comments_and_a_missing_last_line() {
    for speaker in &SPEAKERS {
        let text = format!(
            ": hello\r\n\r\n{}",
            (speaker.events)(&["Hel", "lo"], Why::Done)
                .concat()
                .replace('\n', "\r\n")
        );
        let server = FaultServer::start([Reply::stream([text.trim_end().to_owned()])]);
        assert_eq!(
            Bench::new(speaker, &server).ask_text().unwrap().text,
            "Hello",
            "{}",
            speaker.dialect
        );
    }
}

#[test]
fn a_stream_under_the_wrong_name() {
    for speaker in &SPEAKERS {
        let server = FaultServer::start([Reply::whole(
            200,
            &[("content-type", "text/plain")],
            (speaker.events)(&["Hel", "lo"], Why::Done).concat(),
        )]);
        assert_eq!(
            Bench::new(speaker, &server).ask_text().unwrap().text,
            "Hello",
            "{}",
            speaker.dialect
        );
    }
}

#[test]
fn nonsense() {
    for speaker in &SPEAKERS {
        survives(
            speaker,
            Reply::whole(200, &[], "Welcome to the router"),
            ErrorClass::Malformed,
        );
        survives(
            speaker,
            Reply::stream(["data: {\"half\": \n\n"]),
            ErrorClass::Malformed,
        );
        survives(
            speaker,
            Reply::stream([&b"data: \xff\xfe\x00\n\n"[..]]),
            ErrorClass::Malformed,
        );
        survives(
            speaker,
            Reply::raw(b"SSH-2.0-OpenSSH_9.6\r\n"),
            ErrorClass::Network,
        );
        // Words without meaning, and then the end.
        survives(
            speaker,
            Reply::stream(["data: {\"hello\": [1, 2]}\n\n"]),
            ErrorClass::StreamEndedEarly,
        );
        survives(
            speaker,
            Reply::whole(200, &[], "{}"),
            if speaker.dialect == "openai-responses" {
                ErrorClass::Malformed
            } else {
                ErrorClass::StreamEndedEarly
            },
        );
        // An answer without a word.
        survives(
            speaker,
            Reply::stream((speaker.events)(&[""], Why::Done)),
            ErrorClass::Malformed,
        );
    }
}

#[test]
fn what_trying_again_does_not_help() {
    for speaker in &SPEAKERS {
        let say = |message: &str| json!({"error": {"message": message}});
        let overflow = json!({"error": {"type": "exceed_context_size_error", "message": "too big", "n_prompt_tokens": 9000, "n_ctx": 8192}});
        // A page for people: there is something, but no model server.
        let page = Reply::whole(
            200,
            &[("content-type", "text/html")],
            "<!doctype html><p>Welcome to the router",
        );
        let table = [
            (page, ErrorClass::EndpointNotFound),
            (Reply::whole(401, &[], say("bad key")), ErrorClass::Auth),
            (
                Reply::whole(403, &[], say("not for you")),
                ErrorClass::Permission,
            ),
            (
                Reply::whole(402, &[], say("pay first")),
                ErrorClass::NoCredits,
            ),
            (
                Reply::whole(404, &[], "not found"),
                ErrorClass::EndpointNotFound,
            ),
            (Reply::whole(400, &[], say("what?")), ErrorClass::BadRequest),
            (Reply::whole(400, &[], overflow), ErrorClass::ContextTooLong),
            (Reply::whole(413, &[], ""), ErrorClass::ContextTooLong),
        ];
        for (reply, class) in table {
            assert_eq!(fails(speaker, reply).class, class, "{}", speaker.dialect);
        }
    }
}

#[test]
fn a_wait_that_is_too_long_is_not_waited() {
    let [chat, ..] = &SPEAKERS;
    let error = fails(chat, Reply::whole(429, &[("retry-after", "7200")], "{}"));
    assert_eq!(
        (error.class, error.retry_after),
        (ErrorClass::RateLimited, Some(Duration::from_secs(7200)))
    );
    assert_eq!(
        error.next.first().unwrap(),
        "the provider asks to retry after 7200s"
    );
}

/// The key must not follow a redirect to another host.
#[test]
fn redirects_are_not_followed() {
    let [chat, ..] = &SPEAKERS;
    let other = FaultServer::start([good(chat)]);
    let error = fails(chat, Reply::whole(307, &[("location", &other.url())], ""));
    assert_eq!(error.class, ErrorClass::EndpointNotFound);
    assert!(error.what.contains(&other.url()), "{}", error.what);
    assert_eq!(other.seen().len(), 0);
}

#[test]
fn a_call_that_is_cancelled_lets_go_at_once() {
    for speaker in &SPEAKERS {
        let server = FaultServer::start([begun(speaker).then_stall()]);
        let bench = Bench::new(speaker, &server);
        let watch = |event: &CallEvent| {
            if matches!(event, CallEvent::Text(_)) {
                bench.cancel.cancel();
            }
        };
        let call = Call {
            cancel: &bench.cancel,
            watch: &watch,
            interactive: true,
        };
        let error = bench
            .model
            .complete_request(&Request::text_request("t", "", "x", 9), &call)
            .unwrap_err();
        assert_eq!(
            (error.class, error.text.as_str()),
            (ErrorClass::Cancelled, "Hel"),
            "{}",
            speaker.dialect
        );
        assert_eq!(error.ledger.len(), 1);
        server.wait_until_given_up();
        // And nothing is asked afterwards.
        assert_eq!(bench.ask_text().unwrap_err().class, ErrorClass::Cancelled);
        assert_eq!(server.seen().len(), 1);
    }
}

#[test]
fn an_interactive_stream_that_broke_is_not_started_again() {
    let [chat, ..] = &SPEAKERS;
    let server = FaultServer::start([begun(chat).then_reset(), good(chat)]);
    let bench = Bench::new(chat, &server);
    let call = Call {
        cancel: &bench.cancel,
        watch: &|_| (),
        interactive: true,
    };
    let error = bench
        .model
        .complete_request(&Request::text_request("t", "", "x", 9), &call)
        .unwrap_err();
    assert_eq!(
        (error.class, error.text.as_str(), server.seen().len()),
        (ErrorClass::StreamEndedEarly, "Hel", 1)
    );
}
