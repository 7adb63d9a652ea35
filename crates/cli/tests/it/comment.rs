//! `tl comment`: words to who waits, from a terminal.

use std::process::Stdio;
use std::time::Duration;

use testkit::Project;

use crate::{ACT_TEXT, story, text};

#[test]
fn words_are_kept_listed_and_end_the_waiting() {
    let project = story();
    project.write(Project::ACT, ACT_TEXT);
    let waiting = project
        .command(&["--json", "wait", "act-1", "--timeout", "60"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let said = project.json(&["comment", "act", "1", "-m", "the storm\ncomes too early"]);
    assert_eq!(
        (text(&said, "path"), text(&said, "text")),
        ("act-1", "the storm\ncomes too early")
    );
    let output = waiting.wait_with_output().unwrap();
    let view: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&view["done"], &view["status"]),
        (&true.into(), &"draft".into())
    );
    assert_eq!(
        text(&view["comments"][0], "text"),
        "the storm\ncomes too early"
    );

    let listed = project.ok(&["comment", "act-1"]).stdout;
    assert!(
        listed.contains("  the storm\n  comes too early\n"),
        "{listed}"
    );
    project.ok(&["approve", "act-1"]);
    assert!(
        project
            .ok(&["comment", "act-1"])
            .stdout
            .contains("answered")
    );
    project.refused(&["comment", "act-1", "-m", " "]);
    project.refused(&["comment", "nothing-of-this-name", "-m", "hello"]);
}
