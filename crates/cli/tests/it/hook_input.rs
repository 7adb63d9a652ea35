//! What a hook is sent: of any size, cut off, malformed, or never ending.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{Answer, Project};

use crate::planned;

/// Long enough for a debug build on a busy machine.
const PATIENT: (&str, &str) = ("THROUGHLINE_HOOK_DEADLINE_MS", "60000");
const NOT_A_RULE: &str = "This is an error in Throughline, not a rule.";

/// A `Write` as Claude Code sends it: in this order.
fn write(project: &Project, path: &str, content: &str) -> String {
    with_input(
        project,
        &format!(
            r#""file_path": {}, "content": {}"#,
            json!(project.root().join(path)),
            json!(content)
        ),
    )
}

fn with_input(project: &Project, input: &str) -> String {
    let about = format!(
        r#""session_id": "s", "cwd": {}, "hook_event_name": "PreToolUse""#,
        json!(project.root())
    );
    format!(r#"{{{about}, "tool_name": "Write", "tool_input": {{{input}}}}}"#)
}

fn faults(project: &Project) -> Vec<Value> {
    project
        .ledger()
        .into_iter()
        .filter(|line| line["outcome"] == "fault")
        .collect()
}

fn answer(project: &Project, payload: &[u8]) -> Answer {
    project.hook_bytes(&["claude-code"], payload, &[PATIENT])
}

#[test]
fn a_write_of_any_size_is_checked_wherever_its_path_stands_in_the_payload() {
    let project = planned();
    let content = "x".repeat(18 * 1024 * 1024);
    let path = project.root().join(Project::ACT);
    let path = path.to_str().expect("Unicode");
    let path = json!(path);
    for input in [
        format!(r#""file_path": {path}, "content": "{content}""#),
        format!(r#""content": "{content}", "file_path": {path}"#),
    ] {
        let payload = with_input(&project, &input);
        let reason = answer(&project, payload.as_bytes())
            .block()
            .expect("an unread plan is not overwritten");
        assert!(
            reason.contains("read-before-write") && !reason.contains(NOT_A_RULE),
            "{reason}"
        );
    }
    let code = write(&project, "src/generated.rs", &content);
    assert!(
        answer(&project, code.as_bytes()).is_silent(),
        "a file that is not a plan may have any size"
    );
    assert_eq!(faults(&project), Vec::<Value>::new());
}

#[test]
fn a_payload_that_is_cut_off_or_malformed_keeps_closed_gates_closed() {
    let project = planned();
    let whole = write(&project, Project::ACT, "# New\n");
    let (cut, _) = whole.split_once("# New").expect("the text");
    let malformed = format!("{} nonsense", whole.strip_suffix('}').expect("an object"));
    for payload in [cut, malformed.as_str()] {
        let reason = answer(&project, payload.as_bytes())
            .block()
            .unwrap_or_else(|| panic!("passed: {payload}"));
        for part in [
            "read-before-write gate",
            "`act-1`",
            "could not be read",
            NOT_A_RULE,
        ] {
            assert!(reason.contains(part), "no `{part}` in {reason}");
        }
    }
    // It writes, and nobody knows what.
    let unnamed = format!(
        r#"{{"cwd": {}, "hook_event_name": "PreToolUse", "tool_name": "Write", "tool_in"#,
        json!(project.root())
    );
    let reason = answer(&project, unnamed.as_bytes())
        .block()
        .expect("closed");
    assert!(
        reason.contains("a write to an unknown file") && reason.contains(NOT_A_RULE),
        "{reason}"
    );
    assert_eq!(faults(&project).len(), 3);
    let code = write(&project, "src/a.rs", "fn a() {}");
    assert!(
        answer(&project, &code.as_bytes()[..code.len() - 2]).is_silent(),
        "no gate is closed for code"
    );
    let off = project.hook_bytes(
        &["claude-code"],
        cut.as_bytes(),
        &[("THROUGHLINE_HOOKS", "off")],
    );
    assert!(off.is_silent(), "{off:?}");
}

/// Sends a payload and keeps the pipe open; the hook has to answer all the same.
fn answer_with_open_input(project: &Project, payload: &[u8]) -> Answer {
    let mut child = project
        .command(&["hook", "claude-code"])
        .env("THROUGHLINE_HOOK_DEADLINE_MS", "500")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(payload).expect("written");
    let output = child
        .wait_with_output()
        .expect("it ends while its input is open");
    drop(input);
    Answer {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

#[test]
fn a_host_that_does_not_close_its_pipe_is_answered_at_the_deadline() {
    let project = planned();
    let whole = write(&project, Project::ACT, "# New\n");
    for payload in [whole.as_bytes(), &whole.as_bytes()[..whole.len() - 4]] {
        let reason = answer_with_open_input(&project, payload)
            .block()
            .expect("closed");
        for part in [
            "read-before-write gate",
            "it took longer than 500 ms",
            NOT_A_RULE,
        ] {
            assert!(reason.contains(part), "no `{part}` in {reason}");
        }
    }
    for payload in [
        &b""[..],
        b"{\"hook_event",
        write(&project, "src/a.rs", "").as_bytes(),
    ] {
        let answer = answer_with_open_input(&project, payload);
        assert!(answer.is_silent(), "{answer:?}");
    }
    assert_eq!(faults(&project).len(), 5, "{:?}", faults(&project));
}
