//! Every recorded payload of every host, and what is read in it.

use domain::host_event::{Happening, Host, HostEvent, StartSource};
use hosts::wire;
use serde_json::json;

use crate::recorded::{assert_golden, folders, read, recorded};

#[test]
fn every_recorded_payload_is_read() {
    for (folder, host) in folders() {
        let mut text = String::new();
        for recorded in recorded(&folder) {
            for payload in &recorded.payloads {
                let line = read(host, &recorded.event, payload)
                    .map_or("–".to_owned(), |event| shown(&event));
                text += &format!("{}: {line}\n", recorded.event);
            }
        }
        assert_golden!(format!("read_{folder}"), text);
    }
}

fn shown(event: &HostEvent) -> String {
    let HostEvent {
        session,
        turn,
        agent,
        directory,
        happening,
        ..
    } = event;
    let turn = turn
        .as_deref()
        .map(|turn| format!(" turn {}", short(turn)))
        .unwrap_or_default();
    let agent = agent
        .as_deref()
        .map(|agent| format!(" agent {}", short(agent)))
        .unwrap_or_default();
    format!(
        "[{}{turn}{agent}] {} {happening:?}",
        short(session),
        directory.as_deref().unwrap_or("?")
    )
}

/// Recorded ids differ in their last digits only.
fn short(id: &str) -> &str {
    id.strip_prefix("00000000-0000-4000-8000-0000000000")
        .unwrap_or(id)
}

#[test]
fn unknown_events_pass() {
    for host in Host::ALL {
        assert_eq!(
            wire::read_event(host, Some("SomethingNew"), b"{}"),
            Ok(None)
        );
        assert_eq!(wire::read_event(host, None, b"{}"), Ok(None));
    }
}

#[test]
fn what_is_no_object_is_unreadable() {
    for payload in [
        "",
        "null",
        "[]",
        "7",
        "\"PreToolUse\"",
        "{",
        "{} {}",
        "not json",
    ] {
        assert!(
            wire::read_event(Host::ClaudeCode, Some("PreToolUse"), payload.as_bytes()).is_err(),
            "{payload}"
        );
    }
    assert!(wire::read_event(Host::ClaudeCode, Some("PreToolUse"), b"{\"a\": \"\xff\"}").is_err());
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    let payload = b"\xEF\xBB\xBF{\"hook_event_name\": \"stop\"}";
    assert!(
        wire::read_event(Host::Cursor, None, payload)
            .unwrap()
            .is_some()
    );
}

#[test]
fn a_field_of_another_type_counts_as_absent() {
    let payload =
        json!({ "session_id": 7, "cwd": ["x"], "agent_id": {}, "stop_hook_active": "yes" });
    let event = read(Host::ClaudeCode, "Stop", &payload).unwrap();
    assert_eq!(
        (event.session.as_str(), event.agent, event.directory),
        ("", None, None)
    );
    assert_eq!(event.happening, Happening::Stopping { again: false });
}

#[test]
fn the_payload_knows_its_event_better_than_the_command_line() {
    let payload = json!({ "hook_event_name": "SessionEnd" });
    assert_eq!(
        read(Host::ClaudeCode, "Stop", &payload).unwrap().name,
        "SessionEnd"
    );
}

#[test]
fn sources_of_a_session() {
    let cases = [
        ("startup", StartSource::Startup),
        ("new", StartSource::Startup),
        ("something-new", StartSource::Startup),
        ("resume", StartSource::Resume),
        ("fork", StartSource::Resume),
        ("clear", StartSource::Clear),
        ("compact", StartSource::Compact),
    ];
    for (word, source) in cases {
        let event = read(Host::ClaudeCode, "SessionStart", &json!({ "source": word })).unwrap();
        assert_eq!(
            event.happening,
            Happening::SessionStarted { source },
            "{word}"
        );
    }
}

#[test]
fn a_subagent_of_opencode_is_known_when_the_plugin_says_its_parent() {
    let payload = json!({ "parentID": "ses_1", "input": { "sessionID": "ses_2" } });
    let event = read(Host::OpenCode, "event:session.idle", &payload).unwrap();
    assert_eq!(
        (event.session.as_str(), event.agent.as_deref()),
        ("ses_1", Some("ses_2"))
    );
    assert_eq!(event.happening, Happening::SubagentStopping);
}

#[test]
fn failures_are_seen_where_there_is_no_event_for_them() {
    let cases = [
        (
            Host::Copilot,
            "postToolUse",
            json!({ "toolResult": { "resultType": "failure" } }),
        ),
        (
            Host::Copilot,
            "PostToolUse",
            json!({ "tool_result": { "result_type": "denied" } }),
        ),
        (
            Host::Gemini,
            "AfterTool",
            json!({ "tool_response": { "error": { "message": "no" } } }),
        ),
        (
            Host::OpenCode,
            "tool.execute.after",
            json!({ "output": { "isError": true } }),
        ),
        (
            Host::OpenCode,
            "tool.execute.after",
            json!({ "output": { "metadata": { "exit": 2 } } }),
        ),
    ];
    for (host, name, payload) in cases {
        let event = read(host, name, &payload).unwrap();
        assert!(
            matches!(
                event.happening,
                Happening::ToolFinished { failed: true, .. }
            ),
            "{event:?}"
        );
    }
}
