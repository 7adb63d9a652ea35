//! `tl state move`: the state goes from one engine to another, whole.

use std::time::Duration;

use serde_json::Value;
use testkit::{Database, Project};

use crate::story;

/// What a person can see of a state.
fn seen(project: &Project) -> [Value; 3] {
    [
        project.json(&["tree"]),
        project.json(&["log"]),
        project.json(&["versions", "act-1"]),
    ]
}

fn planned() -> Project {
    let project = story();
    project.plan_story();
    project.write(
        Project::ACT,
        project.read(Project::ACT) + "\n## Stakes\nAll of it.\n",
    );
    project.ok(&["status"]);
    project
}

#[test]
fn everything_goes_there_and_back() {
    let database = Database::new();
    let project = planned();
    let before = seen(&project);
    for target in [
        database.url().as_str(),
        "sqlite",
        "json",
        database.url().as_str(),
        "json",
        "sqlite",
    ] {
        // Names of earlier moves are those of quarantined states.
        let output = project.ok(&["state", "move", "--to", target]);
        assert!(output.stdout.contains("verified"), "{output:?}");
        assert!(
            !output.stdout.contains("tl:") && !output.stderr.contains("tl:"),
            "a password: {output:?}"
        );
        assert_eq!(seen(&project), before, "{target}");
        project.ok(&["check"]);
    }
    project.ok(&["undo"]);
    assert!(
        project
            .read(".throughline/config.toml")
            .contains("# Settings of this project"),
        "comments stay"
    );
}

/// A client of the moved state gets an error; none of its changes is lost.
#[test]
fn who_comes_late_is_told() {
    let database = Database::new();
    let here = planned();
    here.ok(&["state", "move", "--to", &database.url(), "--name", "novel"]);
    let there = crate::machine_on(&database, "story");
    let serving = there
        .command(&["wait", "act-1", "--timeout", "60"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    here.ok(&["state", "move", "--to", "sqlite"]);
    let late = serving.wait_with_output().unwrap();
    assert!(
        String::from_utf8_lossy(&late.stderr).contains("moved elsewhere"),
        "{late:?}"
    );
    let late = there.run(&["status"]);
    assert!(late.code != 0, "{late:?}");
}

#[test]
fn what_is_there_already_stays() {
    let database = Database::new();
    let (first, second) = (planned(), planned());
    first.ok(&["state", "move", "--to", &database.url(), "--name", "novel"]);
    let output = second.run(&["state", "move", "--to", &database.url(), "--name", "novel"]);
    assert!(
        output.code != 0 && output.stderr.contains("another state"),
        "{output:?}"
    );
    second.ok(&["check"]);
    first.ok(&["check"]);
    for (arguments, told) in [
        (
            vec!["state", "move", "--to", "postgres://x:geheim@127.0.0.1:1/y"],
            "cannot be reached",
        ),
        (vec!["state", "move", "--to", "sqlite"], "already"),
        (vec!["state", "move", "--to", "geheim"], "invalid `--to`"),
    ] {
        let output = second.run(&arguments);
        assert!(
            output.code != 0 && output.stderr.contains(told),
            "{output:?}"
        );
        assert!(!output.stderr.contains("geheim"), "{output:?}");
        second.ok(&["check"]);
    }
}

/// An id is in a database once: the copy is not taken for the original on the way.
#[test]
fn a_move_to_another_name_in_the_same_database_keeps_everything() {
    let database = Database::new();
    let project = planned();
    let before = seen(&project);
    project.ok(&["state", "move", "--to", &database.url(), "--name", "one"]);
    let id = |project: &Project| {
        let config = project.read(".throughline/config.toml");
        config
            .lines()
            .find(|line| line.starts_with("project_id = "))
            .expect("an id")
            .to_owned()
    };
    let first = id(&project);
    for name in ["two", "one"] {
        project.ok(&["state", "move", "--to", &database.url(), "--name", name]);
        assert_eq!(seen(&project), before, "{name}");
        assert_ne!(id(&project), first);
        project.ok(&["check"]);
    }
}

/// Killed at any moment, the state is in one place or the other, and the same command goes on.
#[test]
fn a_move_that_is_killed_goes_on() {
    let database = Database::new();
    let project = planned();
    let before = seen(&project);
    for (turn, delay) in (0..24_u64).map(|turn| (turn, turn * 9)) {
        let target = if turn % 2 == 0 {
            database.url()
        } else {
            "sqlite".to_owned()
        };
        let mut moving = project
            .command(&["state", "move", "--to", &target])
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        let _ = moving.kill();
        moving.wait().unwrap();
        let again = project.run(&["state", "move", "--to", &target]);
        assert!(
            again.code == 0 || again.stderr.contains("already"),
            "after {delay} ms: {again:?}"
        );
        assert_eq!(seen(&project), before, "after {delay} ms");
        project.ok(&["check"]);
    }
}
