//! `tl wait`: ends when a person decides or says something.

use std::process::Stdio;
use std::time::{Duration, Instant};

use testkit::Project;

use crate::{ACT_TEXT, story};

/// A project with an act nobody has decided about.
fn drafted() -> Project {
    let project = story();
    project.write(Project::ACT, ACT_TEXT);
    project
}

#[test]
fn an_approval_ends_the_waiting() {
    let project = drafted();
    let waiting = project
        .command(&["--json", "wait", "act-1", "--timeout", "60"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    project.ok(&["approve", "act-1"]);
    let decided = Instant::now();
    let output = waiting.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(
        decided.elapsed() < Duration::from_secs(30),
        "long before its own time is over"
    );
    let view: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&view["done"], &view["status"]),
        (&true.into(), &"approved".into())
    );
}

/// Waits in another process while `decide` runs, and returns what the wait ended with.
pub(crate) fn wait_for(project: &Project, decide: impl FnOnce()) -> serde_json::Value {
    let waiting = project
        .command(&["--json", "wait", "act-1", "--timeout", "120"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a waiting process");
    std::thread::sleep(Duration::from_millis(300));
    decide();
    let output = waiting.wait_with_output().expect("its output");
    // With its own time it would have ended with 1.
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn every_no_ends_the_waiting_with_the_persons_words() {
    let project = drafted();
    project.configure("policy.approval", "\"human\"");
    let by_person = |input: &str, arguments: &[&str], code: i32| {
        let output = project.run_as_person("ann", input, arguments);
        assert_eq!(output.code, code, "{output:?}");
    };
    let changes = ["request-changes", "act-1", "-m", "more wind"];
    let reject = ["invalidate", "act-1", "--reason", "too dark"];
    let mut number = 0;
    let mut decided = |input: &str, arguments: &[&str], code: i32| {
        // The next text is a draft again, whatever was decided about the last one.
        number += 1;
        project.write(Project::ACT, format!("{ACT_TEXT}\n{number}\n"));
        project.ok(&["status"]);
        let view = wait_for(&project, || by_person(input, arguments, code));
        let made = &view["decision"];
        (made["kind"].clone(), made["text"].clone())
    };
    assert_eq!(
        decided("", &changes, 0),
        ("changes-requested".into(), "more wind".into())
    );
    assert_eq!(
        decided("y\n", &reject, 0),
        ("rejected".into(), "too dark".into())
    );
    assert_eq!(decided("n\n", &["approve", "act-1"], 1).0, "declined");
}

#[test]
fn the_time_is_over() {
    let project = drafted();
    let output = project.run(&["wait", "act-1", "--timeout", "0"]);
    assert!(output.code == 1, "{output:?}");
    assert!(output.stdout.contains("act-1"), "{output:?}");
    project.refused(&["wait", "nothing-of-this-name", "--timeout", "0"]);
}
