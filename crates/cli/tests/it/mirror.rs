//! The JSON mirror: complete after every command, and never in the way of git.

#![expect(
    clippy::disallowed_methods,
    reason = "a file is made older than the interval"
)]

use std::fs;

use serde_json::{Value, json};
use testkit::Project;

use crate::{empty, git_output, planned, tickets};

/// The number of acts in [`wide_story`]: more than a hook writes to the mirror at once.
const ACTS: usize = 9;

/// A story with an approved act, 24 scenes below it, and eight acts more.
fn wide_story(project: &Project) {
    project.ok(&["init"]);
    project.write(Project::ACT, crate::ACT_TEXT);
    project.write(Project::CHAPTER, "# Chapter 1\n");
    for scene in 1..=24 {
        let path = format!("acts/act-1/chapters/chapter-01/scenes/scene-01{scene:02}-blueprint.md");
        project.write(&path, format!("# Scene {scene}\n"));
    }
    for act in 2..=ACTS {
        project.write(&format!("acts/act-{act}/strategic-plan.md"), "# Act\n");
    }
    project.ok(&["approve", "act-1"]);
}

/// Asserts that the mirror is what a full synchronisation would write.
#[track_caller]
fn assert_complete(project: &Project, after: &str) {
    let head: Value =
        serde_json::from_str(&project.read(".throughline/mirror/head.json")).expect("a head");
    let last = &project.json(&["log", "--limit", "1"])[0]["operation"];
    assert_eq!(&head["operation"], last, "after {after}: {head}");
    assert_eq!(head["and_nodes"], Value::Null, "after {after}: {head}");
    let repaired = project.json(&["state", "repair"]);
    assert!(
        !repaired.to_string().contains("of the mirror"),
        "after {after}: {repaired}"
    );
}

#[test]
fn the_mirror_is_complete_after_every_command() {
    let project = empty();
    wide_story(&project);
    assert_complete(&project, "approve");
    // Touches 26 nodes in one operation.
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    assert_complete(&project, "a cascade");
    project.ok(&["progress", "scene-0101", "active"]);
    assert_complete(&project, "progress");
    project.ok(&["undo"]);
    assert_complete(&project, "undo");
}

#[test]
fn what_a_hook_left_out_of_the_mirror_the_next_command_completes() {
    let project = empty();
    wide_story(&project);
    let session = project.session("s");
    project.write(Project::ACT, crate::ACT_EDITED);
    let _ = session.after(
        "Write",
        &json!({ "file_path": Project::ACT, "content": crate::ACT_EDITED }),
    );
    let head: Value =
        serde_json::from_str(&project.read(".throughline/mirror/head.json")).expect("a head");
    assert_eq!(
        head["partial"], true,
        "the hook stopped at its limit: {head}"
    );
    // A command that only reads, and only one node.
    project.ok(&["show", "act-2"]);
    assert_complete(&project, "show");
}

#[test]
fn with_an_interval_every_tenth_operation_completes_the_mirror() {
    let project = empty().with_environment("PLANNING_STATE_JSON_SYNC_INTERVAL_SECONDS", "3600");
    wide_story(&project);
    project.ok(&["state", "repair"]);
    let operation = || -> u64 {
        let head: Value =
            serde_json::from_str(&project.read(".throughline/mirror/head.json")).expect("a head");
        head["operation"].as_u64().expect("a number")
    };
    let first = operation();
    for act in 2..=ACTS {
        project.ok(&["approve", &format!("act-{act}")]);
    }
    assert_eq!(operation(), first, "eight operations wait for the interval");
    project.ok(&["check"]);
    project.ok(&["progress", "act-1", "active"]);
    project.ok(&["progress", "act-1", "blocked"]);
    assert_eq!(operation(), first + 10);
    assert_complete(&project, "ten operations");
}

#[test]
fn after_the_interval_any_command_completes_the_mirror() {
    let project = empty().with_environment("PLANNING_STATE_JSON_SYNC_INTERVAL_SECONDS", "60");
    wide_story(&project);
    project.ok(&["state", "repair"]);
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    let head = project.root().join(".throughline/mirror/head.json");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(61);
    fs::File::options()
        .write(true)
        .open(&head)
        .and_then(|file| file.set_modified(long_ago))
        .expect("an older file");
    project.ok(&["show", "act-2"]);
    assert_complete(&project, "the interval");
}

/// A lost database and journal come back from the mirror with every approval, also right after a
/// cascade.
#[test]
fn a_state_rebuilt_from_the_mirror_has_every_approval() {
    let project = empty();
    wide_story(&project);
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    project.ok(&["approve", "chapter-01"]);
    let before = crate::statuses(&project);
    for name in ["state.db", "state.db-wal", "state.db-shm", "journal.jsonl"] {
        let _ = fs::remove_file(project.root().join(".throughline").join(name));
    }
    assert_eq!(crate::statuses(&project), before);
}

#[test]
fn everything_of_ours_is_ignored_by_git_except_the_users_files() {
    let project = empty();
    assert!(project.shell("git init -q -b main ."));
    wide_story(&project);
    project.write(".throughline/decisions/ab/abcd.json", "{}\n");
    project.write(".throughline/profiles/mine.toml", "name = \"mine\"\n");
    let listed = git_output(&project, "ls-files -o --exclude-standard .throughline");
    let names: Vec<&str> = listed
        .lines()
        .filter(|name| !name.ends_with(".json") || name.len() < 60)
        .collect();
    assert_eq!(
        names,
        [
            ".throughline/.gitignore",
            ".throughline/config.schema.json",
            ".throughline/config.toml",
            ".throughline/decisions/ab/abcd.json",
            ".throughline/profiles/mine.toml",
        ]
    );
}

/// Law 1 of the git design: reading, and hooks that change no plan, change nothing git can see.
#[test]
fn reading_leaves_the_working_tree_as_it_was() {
    let project = empty();
    assert!(project.shell("git init -q -b main ."));
    wide_story(&project);
    assert!(project.shell("git add -A && git commit -q -m start"));
    // Edited by hand and not looked at yet: noticing it writes a backup and the mirror.
    project.write(Project::ACT, crate::ACT_EDITED);
    let before = git_output(&project, "status --porcelain");
    for arguments in [
        &["status"][..],
        &["tree"],
        &["show", "act-1"],
        &["why", "scene-0101"],
        &["versions", "act-1"],
        &["diff", "act-1", "-1"],
        &["log"],
        &["check"],
        &["next"],
        &["children", "act-1"],
        &["where"],
        &["config", "list"],
        &["policy"],
        &["state", "secret", "scan"],
        &["host", "doctor"],
    ] {
        let output = project.run(arguments);
        let now = git_output(&project, "status --porcelain");
        assert_eq!(now, before, "tl {arguments:?}: {}", output.stderr);
    }
    let session = project.session("s");
    let _ = session.start("startup");
    let _ = session.prompt("go on");
    let _ = session.read(Project::ACT);
    let _ = session.shell("ls");
    let _ = session.before("Write", &json!({ "file_path": "src/a.rs", "content": "x" }));
    let _ = session.stop();
    assert_eq!(git_output(&project, "status --porcelain"), before);
}

#[test]
fn sessions_are_ignored_unless_the_project_shares_them() {
    let project = tickets();
    project.ok(&["config", "set", "profiles", "tickets,trail"]);
    assert!(project.shell("git add -A && git commit -q -m settings"));
    let sessions = || git_output(&project, "status --porcelain -uall .throughline/sessions");
    crate::as_session(&project, "one", &["trail", "intent", "a first aim"]);
    assert!(
        project
            .root()
            .join(".throughline/sessions/manifest.json")
            .is_file(),
        "there are session files"
    );
    assert_eq!(sessions(), "");
    project.ok(&["config", "set", "git.share_sessions", "true"]);
    crate::as_session(&project, "one", &["trail", "intent", "a second aim"]);
    assert!(sessions().contains("manifest.json"), "{}", sessions());
}

#[test]
fn two_commands_at_once_leave_the_mirror_complete() {
    let project = planned();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let project = &project;
            scope.spawn(move || {
                for _ in 0..3 {
                    project.ok(&["comment", "act-1", "-m", &format!("by {writer}")]);
                }
            });
        }
    });
    assert_complete(&project, "twelve commands");
}
