//! Every answer to every recorded event, and what becomes of long ones.

use domain::host_event::{Host, HostEvent, Reply};
use hosts::{host_spec, wire};
use serde_json::{Value, json};

use crate::recorded::{assert_golden, folders, read, recorded};

fn reply(block: Option<&str>, context: Option<&str>, notice: Option<&str>) -> Reply {
    let text = |text: Option<&str>| text.map(str::to_owned);
    Reply {
        block: text(block),
        context: text(context),
        notice: text(notice),
        ..Reply::default()
    }
}

#[test]
fn every_event_is_answered_in_its_hosts_words() {
    let replies = [
        ("block  ", reply(Some("B"), None, None)),
        ("context", reply(None, Some("C"), None)),
        ("notice ", reply(None, None, Some("N"))),
        ("all    ", reply(Some("B"), Some("C"), Some("N"))),
    ];
    for (folder, host) in folders() {
        let mut text = String::new();
        for recorded in recorded(&folder) {
            let Some(event) = recorded
                .payloads
                .iter()
                .find_map(|payload| read(host, &recorded.event, payload))
            else {
                continue;
            };
            text += &format!("{} ({})\n", event.name, event.happening.as_str());
            for (title, reply) in &replies {
                text += format!("  {title} {}", wire::render_reply(&event, reply)).trim_end();
                text += "\n";
            }
            let silence = wire::render_reply(&event, &Reply::default());
            match (host, event.name.as_str()) {
                (Host::Cursor, "sessionStart") => {
                    let env = json!({ "env": { "THROUGHLINE_SESSION": event.session } });
                    assert_eq!(serde_json::from_str::<Value>(&silence).unwrap(), env);
                }
                _ => assert_eq!(silence, "", "{folder} {}", event.name),
            }
        }
        assert_golden!(format!("render_{folder}"), text);
    }
}

fn about_to_write(host: Host) -> HostEvent {
    read(host, host_spec(host).gate_event, &json!({})).unwrap()
}

/// Returns the text of an answer: its longest one.
fn text_of(answer: &str) -> String {
    fn texts(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
            Value::Object(fields) => fields.values().for_each(|item| texts(item, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut found = Vec::new();
    texts(&serde_json::from_str(answer).unwrap(), &mut found);
    found.into_iter().max_by_key(String::len).unwrap()
}

#[test]
fn a_long_text_is_cut_at_a_line_and_says_so() {
    for host in Host::ALL {
        let long: String = (0..2_000)
            .map(|number| format!("line {number} ü😀\n"))
            .collect();
        let text = text_of(&wire::render_reply(
            &about_to_write(host),
            &reply(Some(&long), None, None),
        ));
        assert!(text.encode_utf16().count() <= host.max_context_size());
        assert!(
            text.len() <= host.max_context_size() || !matches!(host, Host::Codex | Host::Copilot)
        );
        let (kept, last) = text.rsplit_once('\n').unwrap();
        assert_eq!(
            last,
            "… cut here: the rest is longer than this host passes on"
        );
        assert!(long.starts_with(&format!("{kept}\n")), "{host:?}");
        assert!(
            text.encode_utf16().count() > host.max_context_size() / 2,
            "{host:?} keeps what it can"
        );
    }
}

#[test]
fn one_long_line_is_cut_between_characters() {
    for host in Host::ALL {
        let long = "😀".repeat(20_000);
        let text = text_of(&wire::render_reply(
            &about_to_write(host),
            &reply(Some(&long), None, None),
        ));
        assert!(
            text.starts_with("😀😀") && text.ends_with("this host passes on"),
            "{host:?}"
        );
        assert!(text.encode_utf16().count() <= host.max_context_size());
    }
}

#[test]
fn what_fits_is_left_alone() {
    for host in Host::ALL {
        let whole = "x".repeat(host.max_context_size());
        assert_eq!(
            text_of(&wire::render_reply(
                &about_to_write(host),
                &reply(Some(&whole), None, None)
            )),
            whole
        );
    }
}

#[test]
fn a_denial_always_has_a_reason() {
    for host in Host::ALL {
        let text = text_of(&wire::render_reply(
            &about_to_write(host),
            &reply(Some(" "), None, None),
        ));
        assert_eq!(text, "blocked by Throughline; `tl status` shows why");
    }
}

#[test]
fn only_a_host_that_lets_its_prompt_be_replaced_is_given_another() {
    let reply = Reply {
        compaction_prompt: Some("keep this".to_owned()),
        ..reply(None, Some("context"), None)
    };
    let compacting = |host: Host, payload: &str| {
        let event = wire::read_event(host, Some("preCompact"), payload.as_bytes())
            .unwrap()
            .unwrap();
        wire::render_reply(&event, &reply)
    };
    let opencode = r#"{"hook_event_name": "experimental.session.compacting", "input": {"sessionID": "s"}, "output": {}}"#;
    assert_eq!(
        compacting(Host::OpenCode, opencode),
        r#"{"prompt":"keep this"}"#
    );
    let claude =
        r#"{"hook_event_name": "PreCompact", "session_id": "s", "cwd": "/x", "trigger": "auto"}"#;
    assert!(!compacting(Host::ClaudeCode, claude).contains("keep this"));
}

#[test]
fn a_person_at_codex_is_told_the_command_as_codex_takes_it() {
    let text = "ask the person: they type `/approve-plan act-1`, or\n/approve-plan act-1 CODE; see docs/approve-plan and /approve-plans";
    for (host, expected) in [
        (Host::ClaudeCode, text.to_owned()),
        (
            Host::Codex,
            "ask the person: they type `$approve-plan act-1`, or\n$approve-plan act-1 CODE; see docs/approve-plan and /approve-plans".to_owned(),
        ),
    ] {
        let answer = wire::render_reply(&about_to_write(host), &reply(Some(text), None, None));
        assert_eq!(text_of(&answer), expected, "{host:?}");
    }
}
