//! What the program survives: kill -9 at any moment, and many processes at once.

use std::process::Stdio;
use std::time::Duration;

use testkit::Project;

use crate::story;

/// A story with the given number of scenes in its first chapter.
fn with_scenes(number: usize) -> Project {
    let project = story();
    project.write(Project::ACT, "# Act 1\n");
    project.write(Project::CHAPTER, "# Chapter 1\n");
    for scene in 1..=number {
        let path = format!("acts/act-1/chapters/chapter-01/scenes/scene-01{scene:02}-blueprint.md");
        project.write(&path, format!("# Scene {scene}\n"));
    }
    project.ok(&["status"]);
    project
}

/// Commands are killed at every stage of their life. What was acknowledged is there afterwards; what
/// was not is there whole or not at all.
#[test]
fn kill_loses_nothing_that_was_acknowledged() {
    const ROUNDS: usize = 90;
    let project = with_scenes(ROUNDS);
    let started = std::time::Instant::now();
    project.ok(&["progress", "act-1", "active"]);
    let mut whole = started.elapsed();

    let mut acknowledged = Vec::new();
    let mut killed = 0;
    for round in 1..=ROUNDS {
        let node = format!("scene-01{round:02}");
        let mut child = project
            .command(&["progress", &node, "active"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Steps over the whole life and a little beyond it. How long a life is depends on what else
        // the machine does: a kill that comes after the end makes the next steps shorter, and the other way round.
        let step = u32::try_from(round % 10 + 1).unwrap();
        std::thread::sleep(whole * step / 8);
        let _ = child.kill();
        if child.wait().unwrap().success() {
            acknowledged.push(node);
            whole = whole * 9 / 10;
        } else {
            killed += 1;
            whole = whole * 11 / 10;
        }
    }
    assert!(killed > 10, "the kills came too late: {killed}");
    assert!(
        acknowledged.len() > 3,
        "the kills came too early: {}",
        acknowledged.len()
    );

    for node in &acknowledged {
        assert_eq!(
            project.json(&["show", node])["progress"],
            "active",
            "{node} was acknowledged and is lost"
        );
    }
    // One whole command catches up with whatever the killed ones left half done …
    project.ok(&["progress", "act-1", "complete"]);
    // … and then nothing is wrong anywhere: sums, chain, replay, texts, mirror.
    project.ok(&["state", "repair"]);
    project.ok(&["check"]);
    let journal = project.read(".throughline/journal.jsonl");
    let recorded = journal.matches("\"verb\":\"progress\"").count();
    assert!(
        recorded >= acknowledged.len() + 2,
        "{recorded} recorded, {} acknowledged",
        acknowledged.len()
    );
}

/// An interrupted cascade is there whole or not at all.
#[test]
fn a_killed_cascade_is_all_or_nothing() {
    let project = with_scenes(40);
    project.ok(&["approve", "act-1"]);
    project.ok(&["approve", "chapter-01"]);
    for scene in 1..=40 {
        project.ok(&["approve", &format!("scene-01{scene:02}")]);
    }
    for round in 0..12_u32 {
        project.write(Project::ACT, format!("# Act 1, take {round}\n"));
        let mut child = project
            .command(&["status"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(u64::from(round) * 2));
        let _ = child.kill();
        let _ = child.wait();
        // The files are as they were: read the recorded state without looking at them again.
        let journal = project.read(".throughline/journal.jsonl");
        let torn = !journal.ends_with('\n');
        project.ok(&["status"]);
        let tree = project.ok(&["tree"]).stdout;
        assert_eq!(tree.matches("↻ stale").count(), 41, "torn: {torn}\n{tree}");
        project.write(Project::ACT, "# Act 1\n");
        let tree = project.ok(&["tree"]).stdout;
        assert_eq!(tree.matches("✓ approved").count(), 42, "{tree}");
    }
    project.ok(&["state", "repair"]);
    project.ok(&["check"]);
}

/// Eight processes make a hundred changes each, at once: none fails, none is lost.
#[test]
fn many_processes_at_once() {
    const PROCESSES: usize = 8;
    const CHANGES: usize = 100;
    let project = with_scenes(PROCESSES);
    std::thread::scope(|scope| {
        for process in 1..=PROCESSES {
            let project = &project;
            scope.spawn(move || {
                let node = format!("scene-01{process:02}");
                for change in 0..CHANGES {
                    let state = if change % 2 == 0 { "active" } else { "pending" };
                    project.ok(&["progress", &node, state]);
                }
            });
        }
    });
    let journal = project.read(".throughline/journal.jsonl");
    for process in 1..=PROCESSES {
        let changes = journal
            .matches(&format!("chapter-01/scene-01{process:02} is "))
            .count();
        assert_eq!(changes, CHANGES, "scene-01{process:02}");
    }
    project.ok(&["state", "repair"]);
    project.ok(&["check"]);
}
