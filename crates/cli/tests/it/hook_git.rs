//! Hooks in a git repository: one that touches no plan leaves git's objects alone.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::Project;

use crate::empty;

/// What a program and those it started did: the files they opened and the programs they ran.
#[derive(Debug)]
struct SystemCalls {
    opened_objects: Vec<String>,
    started_programs: Vec<String>,
}

/// Runs a command under strace; `None` where there is no strace, which is said.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "strace starts the program; a skipped test says so"
)]
fn trace_command(project: &Project, plain: &Command, input: &str) -> Option<SystemCalls> {
    let folder = project.root().with_file_name("traced");
    fs::create_dir_all(&folder).expect("a folder");
    let (log, event) = (folder.join("calls"), folder.join("event.json"));
    fs::write(&event, input).expect("written");
    let mut traced = Command::new("strace");
    traced
        .args(["-f", "-qq", "-e", "trace=open,openat,openat2,execve", "-o"])
        .arg(&log)
        .arg(plain.get_program())
        .args(plain.get_args())
        .env_clear()
        .current_dir(project.root())
        .stdin(fs::File::open(&event).expect("the event"))
        .stdout(Stdio::null());
    for (name, value) in plain.get_envs() {
        if let Some(value) = value {
            traced.env(name, value);
        }
    }
    match traced.status() {
        Ok(status) => assert!(status.success(), "{status}"),
        Err(error) => {
            eprintln!("skipped: strace cannot be run here ({error})");
            return None;
        }
    }
    Some(read_calls(&log))
}

fn read_calls(log: &Path) -> SystemCalls {
    let text = fs::read_to_string(log).expect("the log of strace");
    let lines = |call: &str, part: &str| -> Vec<String> {
        text.lines()
            .filter(|line| line.contains(call) && line.contains(part))
            .map(str::to_owned)
            .collect()
    };
    SystemCalls {
        opened_objects: lines("open", ".git/objects"),
        // The first is the traced program itself.
        started_programs: lines("execve(", "").split_off(1),
    }
}

/// A repository with an approved story and a source file, everything committed.
fn repository() -> Project {
    let project = empty();
    assert!(project.shell("git init -q -b main ."));
    project.ok(&["init"]);
    project.plan_story();
    project.write("src/main.rs", "fn main() {}\n");
    assert!(project.shell("git add -A && git commit -q -m start"));
    project.ok(&["status"]);
    project
}

fn event(project: &Project, name: &str, tool: &str, input: &Value) -> String {
    json!({
        "session_id": "s-1", "cwd": project.root(), "hook_event_name": name, "tool_name": tool,
        "tool_input": input, "tool_use_id": "toolu_1",
    })
    .to_string()
}

#[test]
fn a_hook_that_touches_no_plan_opens_no_object_and_starts_no_git() {
    let project = repository();
    let file = project.root().join("src/main.rs");
    let write = json!({ "file_path": file, "content": "fn main() { run(); }\n" });
    let read = json!({ "file_path": file });
    let look = json!({ "command": "rg -n main src" });
    let hook = project.command(&["hook", "claude-code"]);
    let events = [
        ("PreToolUse", "Write", &write),
        ("PostToolUse", "Write", &write),
        ("PostToolUse", "Read", &read),
        ("PostToolUse", "Bash", &look),
    ];
    for round in ["as it was", "after a commit", "on another branch"] {
        for (name, tool, input) in events {
            let event = event(&project, name, tool, input);
            let Some(calls) = trace_command(&project, &hook, &event) else {
                return;
            };
            assert!(
                calls.opened_objects.is_empty() && calls.started_programs.is_empty(),
                "{round}: {name} {tool}: {calls:?}"
            );
        }
        match round {
            "as it was" => {
                project.write("src/main.rs", "fn main() { run(); }\n");
                assert!(project.shell("git commit -q -a -m more"));
            }
            "after a commit" => assert!(project.shell("git checkout -q -b side HEAD~1")),
            _ => {}
        }
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "git itself, to see that its reads would be noticed"
)]
fn the_trace_notices_what_git_opens() {
    let project = repository();
    let mut git = Command::new("git");
    git.args(["cat-file", "-p", "HEAD^{tree}"]);
    git.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    if let Some(calls) = trace_command(&project, &git, "") {
        assert!(!calls.opened_objects.is_empty(), "{calls:?}");
    }
}
