//! Payloads as hosts sent them (Cursor's as documented), and short ways to read one.

use std::path::Path;

use domain::host_event::{Happening, Host, HostEvent, ToolCall};
use hosts::{ToolCallSample, host_spec, wire};
use serde_json::Value;

/// Returns the folders of `tests/data`, and whose payloads they hold: `HOST` or `HOST-VARIANT`.
pub(crate) fn folders() -> Vec<(String, Host)> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut folders: Vec<(String, Host)> = std::fs::read_dir(data)
        .unwrap()
        .map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let host = Host::ALL.into_iter().find(|host| {
                let rest = name.strip_prefix(host.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            });
            (name, host.expect("a host's name"))
        })
        .collect();
    folders.sort();
    folders
}

/// One file of `tests/data`: an event and its payloads.
pub(crate) struct Recorded {
    pub(crate) event: String,
    pub(crate) payloads: Vec<Value>,
}

/// Returns all events of a folder in the order of their names.
pub(crate) fn recorded(folder: &str) -> Vec<Recorded> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(folder);
    let mut events: Vec<Recorded> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let event = path
                .file_stem()
                .unwrap()
                .to_str()
                .unwrap()
                .replace("event_", "event:");
            Recorded {
                event,
                payloads: serde_json::from_str(&text).unwrap(),
            }
        })
        .collect();
    events.sort_by(|a, b| a.event.cmp(&b.event));
    events
}

pub(crate) fn read(host: Host, event: &str, payload: &Value) -> Option<HostEvent> {
    wire::read_event(host, Some(event), payload.to_string().as_bytes()).unwrap()
}

/// Reads a call of a tool from a payload of the host.
pub(crate) fn call(host: Host, tool: &str, input: &Value) -> ToolCall {
    let spec = host_spec(host);
    let payload = (spec.render_sample)(&ToolCallSample {
        // Without ids: not every host sends them.
        session: "",
        directory: "/project",
        tool,
        input,
    });
    match read(host, spec.gate_event, &payload).unwrap().happening {
        Happening::ToolAboutToRun(call) => call,
        other => panic!("{other:?}"),
    }
}

/// Compares with a snapshot in `tests/snapshots`.
macro_rules! assert_golden {
    ($name:expr, $text:expr) => {
        insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false,
            omit_expression => true }, { insta::assert_snapshot!($name, $text) })
    };
}
pub(crate) use assert_golden;
