//! Both levels of recordings, made from a real exchange and played without a server.

use std::path::Path;

use llm::{CassetteMode, ConnectOptions, ErrorClass, Outcome, Request, Scrubber, Secret, WireTape};

use crate::server::{FaultServer, Reply};
use crate::setup::{Bench, KEY};
use crate::speech::{SPEAKERS, Speaker, Why};

/// Nobody listens there.
const NOWHERE: &str = "http://127.0.0.1:1/base";

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn scrubber() -> Scrubber {
    Scrubber::new(vec![Secret::new(KEY).unwrap()], str::to_owned)
}

fn taped(tape: WireTape) -> ConnectOptions {
    ConnectOptions {
        wire_tape: Some(tape),
        ..ConnectOptions::default()
    }
}

fn without_time(outcome: Outcome) -> Outcome {
    let mut outcome = outcome;
    for entry in &mut outcome.ledger {
        entry.latency_ms = 0;
        entry.replayed = false;
    }
    outcome
}

/// Cuts inside letters, so that the boundaries on the tape matter.
fn answer(speaker: &Speaker) -> Reply {
    let bytes = (speaker.events)(&["Grüße, ", "日本"], Why::Done)
        .concat()
        .into_bytes();
    Reply::stream(bytes.chunks(7).map(<[u8]>::to_vec).collect::<Vec<_>>())
}

#[test]
fn the_wire_comes_back_as_it_was() {
    for speaker in &SPEAKERS {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("wire.jsonl");
        let server = FaultServer::start([
            Reply::whole(
                429,
                &[("retry-after", "2"), ("set-cookie", "session=1")],
                format!("{{\"error\": \"no, {KEY}\"}}"),
            ),
            answer(speaker),
        ]);
        let recorder = Bench::with(
            speaker,
            &server.url(),
            "",
            taped(WireTape::open_recording(&path, scrubber())),
        );
        let request = Request::text_request("test", "be brief", &format!("say {KEY}"), 100);
        let live = recorder.ask(&request).unwrap();
        let recorded = text(&path);
        assert!(
            !recorded.contains(KEY) && !recorded.contains("set-cookie"),
            "{recorded}"
        );
        assert_eq!(recorded.lines().count(), 2);

        let player = Bench::with(
            speaker,
            NOWHERE,
            "",
            taped(WireTape::open_replay(&path, scrubber()).unwrap()),
        );
        let played = player.ask(&request).unwrap();
        assert_eq!(player.clock.waited(), recorder.clock.waited());
        assert_eq!(
            without_time(played),
            without_time(live),
            "{}",
            speaker.dialect
        );
        assert_eq!(player.shown(), recorder.shown());
    }
}

#[test]
fn a_broken_connection_is_played_as_broken() {
    let [chat, ..] = &SPEAKERS;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("wire.jsonl");
    let events = (chat.events)(&["Hel", "lo"], Why::Done);
    let server = FaultServer::start([
        Reply::begun(events.iter().take(2)).then_reset(),
        answer(chat),
    ]);
    let recorder = Bench::with(
        chat,
        &server.url(),
        "",
        taped(WireTape::open_recording(&path, scrubber())),
    );
    let live = recorder.ask_text().unwrap();
    let player = Bench::with(
        chat,
        &server.url(),
        "",
        taped(WireTape::open_replay(&path, scrubber()).unwrap()),
    );
    let played = player.ask_text().unwrap();
    assert_eq!(without_time(played), without_time(live));
}

#[test]
fn a_request_that_changed_its_form_is_a_miss_on_the_wire() {
    let [chat, ..] = &SPEAKERS;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("wire.jsonl");
    let server = FaultServer::start([answer(chat)]);
    Bench::with(
        chat,
        &server.url(),
        "",
        taped(WireTape::open_recording(&path, scrubber())),
    )
    .ask_text()
    .unwrap();
    let player = Bench::with(
        chat,
        &server.url(),
        "patch = { top_p = 0.5 }",
        taped(WireTape::open_replay(&path, scrubber()).unwrap()),
    );
    let error = player.ask_text().unwrap_err();
    assert_eq!(error.class, ErrorClass::NotRecorded);
    assert!(error.what.contains("+    \"top_p\": 0.5"), "{}", error.what);
}

#[test]
fn questions_and_answers_come_back_without_a_key_or_a_server() {
    for speaker in &SPEAKERS {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("answers.jsonl");
        let cassette = |mode| ConnectOptions {
            cassette: Some((path.clone(), mode)),
            ..ConnectOptions::default()
        };
        let server = FaultServer::start([Reply::whole(503, &[], ""), answer(speaker)]);
        let prompt = Request::text_request("test", "be brief", &format!("my key is {KEY}"), 100);
        let recorder = Bench::with(speaker, &server.url(), "", cassette(CassetteMode::Record));
        let live = recorder.ask(&prompt).unwrap();
        assert!(!text(&path).contains(KEY), "{}", text(&path));
        assert_eq!(
            text(&path).lines().count(),
            1,
            "a retry is not an answer of its own"
        );

        let player = Bench::with(speaker, NOWHERE, "", cassette(CassetteMode::Replay));
        let played = player.ask(&prompt).unwrap();
        assert!(played.ledger.iter().all(|entry| entry.replayed));
        assert_eq!(without_time(played), without_time(live));
        let error = player.ask_text().unwrap_err();
        assert_eq!(error.class, ErrorClass::NotRecorded);
        assert!(error.what.contains("say hello"), "{}", error.what);
    }
}
