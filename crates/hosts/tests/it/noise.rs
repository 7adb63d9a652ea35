//! Payloads no host would send: they are refused or passed over, and never end the program.

use domain::host_event::{Host, Reply};
use hosts::wire;
use serde_json::{Map, Value};

use crate::recorded::{folders, recorded};

/// A small generator (xorshift), so that a failure comes again.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    fn value(&mut self, depth: usize) -> Value {
        const TEXTS: [&str; 14] = [
            "",
            "a",
            "ü😀\u{0}",
            "/",
            "*** Begin Patch\n*** Update File: a\n*** Move to: \n-ü\n+😀",
            "apply_patch *** Begin Patch\n*** Add File: ü\n+x",
            "cd && apply_patch",
            "mcp__",
            "MCP:",
            "mcp__write__",
            "_write",
            "-edit",
            "Throughline command: ",
            "$",
        ];
        match self.below(if depth == 0 { 4 } else { 7 }) {
            0 => Value::Null,
            1 => Value::from(self.below(2) == 0),
            2 => Value::from(self.next() as i32),
            3 | 4 => Value::from(TEXTS[self.below(TEXTS.len())]),
            5 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            _ => {
                const KEYS: [&str; 8] = [
                    "path",
                    "content",
                    "edits",
                    "command",
                    "files",
                    "old_string",
                    "patch",
                    "x",
                ];
                let count = self.below(5);
                Value::Object(
                    (0..count)
                        .map(|_| {
                            (
                                KEYS[self.below(KEYS.len())].to_owned(),
                                self.value(depth - 1),
                            )
                        })
                        .collect(),
                )
            }
        }
    }

    /// Replaces some of the fields, at any depth.
    fn disturb(&mut self, value: &mut Value) {
        match value {
            Value::Object(fields) => self.disturb_fields(fields),
            Value::Array(items) => items.iter_mut().for_each(|item| self.disturb(item)),
            other if self.below(3) == 0 => *other = self.value(3),
            _ => {}
        }
    }

    fn disturb_fields(&mut self, fields: &mut Map<String, Value>) {
        for (name, value) in fields {
            if name == "hook_event_name" {
                continue;
            }
            if self.below(4) == 0 {
                *value = self.value(4)
            } else {
                self.disturb(value)
            }
        }
    }
}

fn read_and_answer(host: Host, event: &str, payload: &[u8]) {
    let text = || Some("x".to_owned());
    if let Ok(Some(event)) = wire::read_event(host, Some(event), payload) {
        let answer = wire::render_reply(
            &event,
            &Reply {
                block: text(),
                context: text(),
                notice: text(),
                compaction_prompt: text(),
            },
        );
        assert!(answer.is_empty() || serde_json::from_str::<Map<String, Value>>(&answer).is_ok());
    }
}

#[test]
fn disturbed_payloads() {
    let mut noise = Noise(0x5EED);
    for (folder, host) in folders() {
        for recorded in recorded(&folder) {
            for payload in &recorded.payloads {
                for _ in 0..40 {
                    let mut payload = payload.clone();
                    noise.disturb(&mut payload);
                    read_and_answer(host, &recorded.event, payload.to_string().as_bytes());
                }
            }
        }
    }
}

#[test]
fn any_json_for_any_event() {
    let mut noise = Noise(0xBEEF);
    for (folder, host) in folders() {
        for recorded in recorded(&folder) {
            for _ in 0..60 {
                read_and_answer(host, &recorded.event, noise.value(5).to_string().as_bytes());
            }
        }
    }
}

#[test]
fn any_bytes() {
    let mut noise = Noise(0xCAFE);
    for host in Host::ALL {
        for _ in 0..300 {
            let length = noise.below(80);
            let bytes: Vec<u8> = (0..length).map(|_| noise.next() as u8).collect();
            assert!(wire::read_event(host, Some("PreToolUse"), &bytes).is_err());
        }
        for (folder, _) in folders() {
            for recorded in recorded(&folder) {
                let mut bytes = recorded.payloads[0].to_string().into_bytes();
                for _ in 0..20 {
                    let at = noise.below(bytes.len());
                    bytes[at] = noise.next() as u8;
                    read_and_answer(host, &recorded.event, &bytes);
                }
                let end = noise.below(bytes.len());
                read_and_answer(host, &recorded.event, &bytes[..end]);
            }
        }
    }
}

#[test]
fn deep_nesting() {
    let deep = format!(
        "{{\"tool_name\":\"Write\",\"tool_input\":{}{}}}",
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    for host in Host::ALL {
        read_and_answer(host, "PreToolUse", deep.as_bytes());
        read_and_answer(host, "preToolUse", deep.as_bytes());
        read_and_answer(host, "BeforeTool", deep.as_bytes());
    }
}
