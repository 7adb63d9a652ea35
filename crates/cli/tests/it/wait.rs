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

#[test]
fn the_time_is_over() {
    let project = drafted();
    let output = project.run(&["wait", "act-1", "--timeout", "0"]);
    assert!(output.code == 1, "{output:?}");
    assert!(output.stdout.contains("act-1"), "{output:?}");
    project.refused(&["wait", "nothing-of-this-name", "--timeout", "0"]);
}
