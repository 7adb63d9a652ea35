//! `tl host replay`: what recorded events would have led to. Nothing changes.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use testkit::Project;

use crate::{assert_refused, keys, planned, text};

const CHAPTER_2: &str = "acts/act-1/chapters/chapter-02/plan.md";

/// Returns every file of the project with its bytes.
fn snapshot(project: &Project) -> BTreeMap<String, Vec<u8>> {
    fn collect(folder: &Path, into: &mut BTreeMap<String, Vec<u8>>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                collect(&path, into);
            } else {
                into.insert(
                    path.to_str().expect("Unicode").to_owned(),
                    std::fs::read(&path).expect("a file"),
                );
            }
        }
    }
    let mut files = BTreeMap::new();
    collect(&project.root(), &mut files);
    files
}

/// A session of Claude Code: a start, a write that is allowed, one that is not, an approval and a foreign event.
fn recorded(project: &Project) -> Vec<Value> {
    let session = project.session("s");
    let at = |path: &str| project.root().join(path);
    let write = |path: &str| json!({ "file_path": at(path), "content": "# New\n" });
    let call = |before: bool, tool: &str, input: &Value| {
        let (name, fields) = session.call(before, tool, input);
        session.payload(name, fields)
    };
    vec![
        session.payload("SessionStart", json!({ "source": "startup" })),
        call(true, "Write", &write(CHAPTER_2)),
        call(
            true,
            "Write",
            &write("acts/act-2/chapters/chapter-01/plan.md"),
        ),
        call(true, "Write", &write(Project::ACT)),
        call(false, "Read", &json!({ "file_path": at(Project::ACT) })),
        call(true, "Write", &write(Project::ACT)),
        session.payload(
            "UserPromptSubmit",
            json!({ "prompt": "/approve-plan act 2" }),
        ),
        call(
            true,
            "Write",
            &write("acts/act-2/chapters/chapter-01/plan.md"),
        ),
        session.payload("TeammateIdle", json!({})),
        call(false, "Bash", &json!({ "command": "true" })),
    ]
}

fn lines(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

/// An approved first act, a second that is a draft, and a third nobody has noticed yet.
fn with_three_acts() -> Project {
    let project = planned();
    project.write("acts/act-2/strategic-plan.md", "# Act 2\n");
    project.ok(&["status"]);
    project.write("acts/act-3/strategic-plan.md", "# Act 3\n");
    project
}

#[test]
fn what_would_have_happened_is_shown_and_nothing_changes() {
    let project = with_three_acts();
    let _ = project.session("before").start("startup");
    project.write("events.jsonl", lines(&recorded(&project)));
    let log = project.json(&["log"]);
    let before = snapshot(&project);
    let output = project.ok(&["host", "replay", "claude-code", "events.jsonl"]);
    assert_eq!(output.stderr, "");
    let heads: Vec<String> = output
        .stdout
        .lines()
        .filter(|line| {
            line.get(..4)
                .is_some_and(|number| number.trim().parse::<u32>().is_ok())
        })
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        heads,
        [
            "1 context SessionStart",
            "2 context PreToolUse Write [act-1/chapter-02]",
            "3 block PreToolUse Write [act-2/chapter-01]",
            "4 block PreToolUse Write [act-1]",
            "5 pass PostToolUse Read [act-1]",
            "6 pass PreToolUse Write [act-1]",
            "7 context UserPromptSubmit",
            "8 context PreToolUse Write [act-2/chapter-01]",
            "9 not ours ?",
            "10 pass PostToolUse Bash",
        ]
    );
    for part in [
        "(hierarchy gate)",
        "(read-before-write gate)",
        "`act-2` is approved (typed by human:",
        "1 act (1 approved)",
    ] {
        assert_eq!(
            output.stdout.contains(part),
            part != "1 act (1 approved)",
            "{part}: {}",
            output.stdout
        );
    }
    let after = snapshot(&project);
    let changed: Vec<&String> = after
        .iter()
        .filter(|(path, bytes)| before.get(*path) != Some(*bytes))
        .map(|(path, _)| path)
        .collect();
    assert_eq!(changed, Vec::<&String>::new(), "changed or made");
    assert_eq!(after.len(), before.len(), "removed");
    assert_eq!(project.json(&["log"]), log);
    assert_eq!(
        project.status("act-2"),
        "draft",
        "the approval was played only"
    );
}

#[test]
fn the_same_file_gives_the_same_answer_again() {
    let project = with_three_acts();
    project.write("events.jsonl", lines(&recorded(&project)));
    let first = project.json(&["host", "replay", "claude-code", "events.jsonl"]);
    assert_eq!(
        project.json(&["host", "replay", "claude-code", "events.jsonl"]),
        first
    );
}

#[test]
fn as_json_each_event_is_an_object() {
    let project = with_three_acts();
    // An empty line is nothing, and counts as a line.
    project.write("events.jsonl", format!("\n{}", lines(&recorded(&project))));
    let value = project.json(&["host", "replay", "claude-code", "events.jsonl"]);
    let events = value.as_array().expect("a list");
    assert_eq!(events.len(), 10);
    for event in events {
        assert_eq!(
            keys(event),
            [
                "block", "context", "event", "gates", "line", "outcome", "plans", "tool"
            ]
        );
    }
    assert_eq!(
        (&events[0]["line"], text(&events[0], "event")),
        (&json!(2), "SessionStart")
    );
    let refused = &events[2];
    assert_eq!(
        (text(refused, "outcome"), text(refused, "tool")),
        ("block", "Write")
    );
    assert_eq!(
        (&refused["gates"], &refused["plans"]),
        (&json!(["hierarchy"]), &json!(["act-2/chapter-01"]))
    );
    assert!(
        text(refused, "block").contains("its parent `act-2` is a draft"),
        "{refused}"
    );
    assert_eq!(refused["context"], Value::Null);
    assert_eq!(text(&events[8], "outcome"), "not ours");
}

/// A payload that does not name its event is wrapped with its name.
#[test]
fn events_of_hosts_that_do_not_name_them_are_wrapped() {
    let project = with_three_acts();
    let path = project
        .root()
        .join("acts/act-2/chapters/chapter-01/plan.md");
    let payload = json!({ "sessionId": "s", "cwd": project.root(), "toolName": "create", "toolArgs": { "path": path, "file_text": "x" } });
    project.write(
        "events.jsonl",
        lines(&[json!({ "event": "preToolUse", "payload": payload })]),
    );
    let value = project.json(&["host", "replay", "copilot", "events.jsonl"]);
    assert_eq!(
        (text(&value[0], "event"), text(&value[0], "outcome")),
        ("preToolUse", "block")
    );
}

/// The gates of a replay and of the hook itself say the same.
#[test]
fn a_replay_says_what_the_hook_says() {
    let project = with_three_acts();
    let events = recorded(&project);
    project.write("events.jsonl", lines(&events));
    let replayed = project.json(&["host", "replay", "claude-code", "events.jsonl"]);
    for (index, event) in events.iter().enumerate() {
        let answer = project.hook(event);
        let one = &replayed[index];
        assert_eq!(
            answer.block().as_deref(),
            one["block"].as_str(),
            "event {}",
            index + 1
        );
        assert_eq!(
            answer.context().as_deref(),
            one["context"].as_str(),
            "event {}",
            index + 1
        );
    }
}

#[test]
fn what_cannot_be_replayed_is_said_with_its_line() {
    let project = planned();
    let good = project
        .session("s")
        .payload("SessionStart", json!({ "source": "startup" }));
    for (name, bad) in [
        ("half", "{\"hook_event_name\": "),
        ("a list", "[]"),
        ("a word", "nonsense"),
    ] {
        project.write("events.jsonl", format!("{good}\n\n{bad}\n{good}\n"));
        let error = assert_refused(
            &project,
            &["host", "replay", "claude-code", "events.jsonl"],
            "invalid",
            &["line 3: "],
        );
        assert!(
            text(&error, "message").len() > "line 3: ".len(),
            "{name}: {error}"
        );
    }
    assert_refused(
        &project,
        &["host", "replay", "claude-code", "none.jsonl"],
        "not-found",
        &["cannot read `none.jsonl`"],
    );
    assert_refused(
        &project,
        &["host", "replay", "claude-cod", "events.jsonl"],
        "invalid",
        &[
            "`claude-cod` is not a host; did you mean `claude-code`?",
            "hosts: claude-code, cursor, opencode",
        ],
    );
    assert_refused(
        &project,
        &["host", "replay", "emacs", "events.jsonl"],
        "invalid",
        &["`emacs` is not a host"],
    );
    assert_refused(
        &crate::empty(),
        &["host", "replay", "claude-code", "x"],
        "not-found",
        &[],
    );
}

#[test]
fn an_empty_file_is_an_empty_replay() {
    let project = planned();
    project.write("events.jsonl", "");
    assert_eq!(
        project.json(&["host", "replay", "claude-code", "events.jsonl"]),
        json!([])
    );
}
