//! `tl statusline` and `tl where --short`: the position in one line, and silence on every error.

use std::process::Stdio;

use serde_json::json;
use testkit::Project;

use crate::{empty, run_with, story, tickets};

/// Runs `tl statusline` as a host does, with a description of the session on standard input.
fn status_line(project: &Project, input: &str) -> (Option<i32>, String, String) {
    use std::io::Write;
    let mut child = project
        .command(&["statusline"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("written");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let read = |bytes: Vec<u8>| String::from_utf8(bytes).expect("Unicode");
    (
        output.status.code(),
        read(output.stdout),
        read(output.stderr),
    )
}

#[test]
fn the_line_is_the_position_of_the_session_that_the_host_names() {
    let project = tickets();
    let in_session = |arguments: &[&str]| {
        let marks = [("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "s1")];
        run_with(&project, &marks, arguments)
    };
    assert_eq!(in_session(&["focus", "enter", "017a"]).code, 0);
    let line = in_session(&["where", "--short"]).stdout;
    assert_eq!(line, "017 › 017a › loc-tracking [red] 0/3 · 0/400 loc\n");
    let described = |session: &str| {
        json!({
            "session_id": session, "model": { "id": "m" },
            "workspace": { "current_dir": project.root() },
        })
        .to_string()
    };
    assert_eq!(
        status_line(&project, &described("s1")),
        (Some(0), line, String::new())
    );
    assert_eq!(
        status_line(&project, &described("another")),
        (Some(0), "\n".to_owned(), String::new()),
        "it has no focus"
    );
}

#[test]
fn errors_give_an_empty_line() {
    let project = story();
    let root = project.root();
    let described = json!({ "session_id": "s", "cwd": root }).to_string();
    let elsewhere = json!({ "session_id": "s", "cwd": "/" }).to_string();
    for input in ["", "nonsense", "{}", &elsewhere, &described] {
        assert_eq!(
            status_line(&project, input),
            (Some(0), "\n".to_owned(), String::new()),
            "{input}"
        );
    }
    project.write(".throughline/state.db", "damaged");
    assert_eq!(status_line(&project, &described).0, Some(0));
    let nowhere = empty();
    let output = nowhere.run(&["where", "--short"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
}
