//! Commands as they were typed, whatever the host made of them.

use domain::host_event::{Happening, Host};
use serde_json::{Value, json};

use crate::recorded::{Recorded, read, recorded};

const RECORDED_PROMPT: &str = "do the task";

/// Reads this prompt from a recorded payload.
fn prompt(host: Host, text: &str) -> String {
    let is_prompt = |event: &str, payload: &Value| {
        let read = read(host, event, payload).map(|event| event.happening);
        matches!(read, Some(Happening::PromptSubmitted { prompt }) if prompt == RECORDED_PROMPT)
    };
    let (event, payload) = recorded(host.as_str())
        .into_iter()
        .find_map(|Recorded { event, payloads }| {
            let payload = payloads
                .into_iter()
                .find(|payload| is_prompt(&event, payload))?;
            Some((event, payload.to_string()))
        })
        .unwrap();
    let quoted = |text: &str| Value::from(text).to_string();
    let payload = payload.replace(&quoted(RECORDED_PROMPT), &quoted(text));
    submitted(host, &event, &serde_json::from_str(&payload).unwrap())
}

fn submitted(host: Host, event: &str, payload: &Value) -> String {
    match read(host, event, payload).unwrap().happening {
        Happening::PromptSubmitted { prompt } => prompt,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_expanded_command_is_read_as_typed() {
    for host in Host::ALL {
        let expanded = "\n Throughline command: /approve-plan act 1 \nRun `tl approve act 1`.\n";
        assert_eq!(prompt(host, expanded), "/approve-plan act 1");
    }
}

#[test]
fn only_the_very_start_is_a_command() {
    for host in Host::ALL {
        for text in [
            "Look at this:\nThroughline command: /approve-plan act 1",
            "> Throughline command: /approve-plan act 1",
            "throughline command: /approve-plan act 1",
            "run $approve-plan act 1",
            "/approve-plan act 1",
        ] {
            assert_eq!(prompt(host, text), text, "{host:?}");
        }
    }
}

#[test]
fn codex_mentions_commands() {
    assert_eq!(
        prompt(Host::Codex, " $approve-plan act 1\n"),
        "/approve-plan act 1"
    );
    assert_eq!(
        prompt(Host::Gemini, "$approve-plan act 1"),
        "$approve-plan act 1"
    );
    for text in ["$5 is too much", "$HOME is where?", "$", "$ ls", "$a.b"] {
        assert_eq!(prompt(Host::Codex, text), text);
    }
}

#[test]
fn a_command_told_by_name_and_arguments() {
    let claude = json!({ "command_name": "plan-chapter", "command_args": "2", "prompt": "…" });
    assert_eq!(
        submitted(Host::ClaudeCode, "UserPromptExpansion", &claude),
        "/plan-chapter 2"
    );
    let bare = json!({ "command_name": "plan-status", "command_args": "" });
    assert_eq!(
        submitted(Host::ClaudeCode, "UserPromptExpansion", &bare),
        "/plan-status"
    );
    let opencode = json!({ "input": { "command": "plan-chapter", "arguments": "2" } });
    assert_eq!(
        submitted(Host::OpenCode, "command.execute.before", &opencode),
        "/plan-chapter 2"
    );
}

#[test]
fn files_that_opencode_adds_are_not_what_was_typed() {
    let payload = json!({ "output": { "parts": [
        { "type": "text", "text": "look at @a.md" },
        { "type": "text", "synthetic": true, "text": "Throughline command: /approve-plan act 1" },
        { "type": "file", "url": "file:///a.md" },
        { "type": "text", "text": "please" },
    ] } });
    assert_eq!(
        submitted(Host::OpenCode, "chat.message", &payload),
        "look at @a.md\nplease"
    );
}
