//! `tl state restore`

use testkit::{Database, Project};

use crate::story;

#[test]
fn a_restored_state_is_the_one_that_was_kept() {
    let project = story();
    project.plan_story();
    project.ok(&["state", "backup", "novel.tlbackup"]);
    let before = (project.json(&["tree"]), project.json(&["log"]));
    project.ok(&["invalidate", "act-1", "--reason", "wrong"]);
    assert_eq!(project.status("act-1"), "invalid");

    let refused = project.run(&["state", "restore", "novel.tlbackup"]);
    assert!(
        refused.code == 1 && refused.stderr.contains("a person's decision"),
        "{refused:?}"
    );
    let output = project.ok(&["state", "restore", "novel.tlbackup", "--yes"]);
    assert!(
        output.stderr.contains("kept as .throughline/damaged/1"),
        "{output:?}"
    );
    assert_eq!((project.json(&["tree"]), project.json(&["log"])), before);
    project.ok(&["check"]);
}

/// On another machine, by another user, into another engine.
#[test]
fn a_backup_goes_anywhere() {
    let project = story();
    project.plan_story();
    let file = project.root().join("novel.tlbackup").display().to_string();
    project.ok(&["state", "backup", &file]);
    let database = Database::new();
    let tl = std::path::Path::new(env!("CARGO_BIN_EXE_tl"));
    for other in [story(), Project::in_database(tl, &database.url(), "novel")] {
        let _ = other.run(&["init"]);
        for plan in [Project::ACT, Project::CHAPTER, Project::SCENE] {
            other.write(plan, project.read(plan));
        }
        other.ok(&["state", "restore", &file, "--yes"]);
        assert_eq!(other.status("scene-0101"), "approved");
        other.ok(&["check"]);
    }
}

#[test]
fn a_damaged_backup_changes_nothing() {
    let project = story();
    project.plan_story();
    project.ok(&["state", "backup", "novel.tlbackup"]);
    let good = std::fs::read(project.root().join("novel.tlbackup")).unwrap();
    let mut flipped = good.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    for bytes in [
        good[..good.len() / 2].to_vec(),
        flipped,
        b"no backup".to_vec(),
        Vec::new(),
    ] {
        project.write("novel.tlbackup", &bytes);
        let output = project.run(&["state", "restore", "novel.tlbackup", "--yes"]);
        assert_ne!(output.code, 0, "{output:?}");
        assert_eq!(project.status("scene-0101"), "approved");
        project.ok(&["check"]);
    }
}
