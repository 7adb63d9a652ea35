//! Replacing the whole state is all or nothing: killed or without room at any step, the old or the new state is there.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use testkit::{Output, Project};

use crate::{copy_directory, empty, finished, names_in, planned, story};

/// Calls that change something on disk: a kill at one of them is a kill between any two states of the files.
const CHANGING: &str = "write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,ftruncate";

/// The steps of the swap itself; all others build what nobody uses yet.
const SWAPPING: [&str; 7] = [
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
];

/// Every step of the swap is tried; of the many calls that are alike, some. The full sweep belongs to the fault lane.
fn step(call: &str) -> usize {
    match call {
        call if SWAPPING.contains(&call) => 1,
        "pwrite64" => 25,
        _ => 3,
    }
}

const STRACE: &str = "/usr/bin/strace";

/// Runs a command of the program under strace.
#[expect(
    clippy::disallowed_methods,
    reason = "tests start the program under test"
)]
fn traced(project: &Project, options: &[&str], arguments: &[&str]) -> Output {
    let plain = project.command(arguments);
    let mut command = std::process::Command::new(STRACE);
    command
        .args(["-f", "-qq"])
        .args(options)
        .arg(plain.get_program())
        .args(arguments)
        .current_dir(project.root());
    command.env_clear().envs(
        plain
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    finished(command.stdin(std::process::Stdio::null()))
}

/// Returns how often each changing call is made.
fn calls(project: &Project, arguments: &[&str]) -> BTreeMap<String, usize> {
    let log = project.user_directory().join("calls");
    let trace = format!("trace={CHANGING}");
    let output = traced(
        project,
        &["-o", &log.display().to_string(), "-e", &trace],
        arguments,
    );
    assert_eq!(output.code, 0, "{output:?}");
    let mut calls = BTreeMap::new();
    for line in std::fs::read_to_string(log)
        .expect("what strace saw")
        .lines()
    {
        if let Some((name, _)) = line
            .split_whitespace()
            .nth(1)
            .and_then(|call| call.split_once('('))
        {
            *calls.entry(name.to_owned()).or_default() += 1;
        }
    }
    calls
}

/// What a person can see of a state, without times and hashes that differ from run to run.
fn seen(project: &Project) -> Vec<String> {
    let Value::Array(log) = project.json(&["log", "--limit", "1000"]) else {
        return vec!["no log".to_owned()];
    };
    log.iter()
        .map(|one| format!("{} {}", one["operation"], one["summary"]))
        .collect()
}

/// Returns a project of its own with the same files and the same user.
fn copy_of(project: &Project) -> Project {
    let other = empty();
    copy_directory(&project.root(), &other.root(), &|_| false);
    copy_directory(&project.user_directory(), &other.user_directory(), &|_| {
        false
    });
    other
}

/// Says whether calls can be interrupted here; where they cannot, the test says that it shows nothing.
#[expect(clippy::print_stdout, reason = "a test that is skipped says why")]
fn can_interrupt() -> bool {
    let can = Path::new(STRACE).exists();
    if !can {
        println!("skipped: {STRACE} is not there");
    }
    can
}

/// Interrupts a command at every step of its swap, by a kill and by a full disk, and expects the old or the new state.
fn interrupt_everywhere(original: &Project, arguments: &[&str]) {
    if !can_interrupt() {
        return;
    }
    let project = copy_of(original);
    let old = seen(&project);
    let calls = calls(&project, arguments);
    let new = seen(&project);
    for (call, times) in calls {
        for when in (1..=times).step_by(step(&call)) {
            for fault in ["signal=KILL", "error=ENOSPC"] {
                let project = copy_of(original);
                let inject = format!("inject={call}:{fault}:when={when}");
                let trace = format!("trace={call}");
                let output = traced(
                    &project,
                    &["-o", "/dev/null", "-e", &trace, "-e", &inject],
                    arguments,
                );
                let what = format!("{arguments:?} with {inject}: {output:?}");
                let next = project.run(&["status"]);
                assert_eq!(next.code, 0, "{what}: {next:?}");
                assert!(!next.stderr.contains("rebuilt from"), "{what}: {next:?}");
                let found = seen(&project);
                assert!(found == old || found == new, "{what}: {found:?}");
                assert!(
                    output.code != 0 || found == new,
                    "{what}: false success: {found:?}"
                );
                let check = project.run(&["check"]);
                assert_eq!(check.code, 0, "{what}: {check:?}");
            }
        }
    }
}

/// A project whose backup is some operations old.
fn with_backup() -> Project {
    let project = planned();
    project.ok(&["state", "backup", "b.tlbackup"]);
    project.ok(&["comment", "act-1", "-m", "after the backup"]);
    project.ok(&["progress", "act-1", "active"]);
    project
}

#[test]
fn an_interrupted_restore_backup_leaves_the_old_or_the_new_state() {
    interrupt_everywhere(&with_backup(), &["state", "restore", "b.tlbackup", "--yes"]);
}

#[test]
fn an_interrupted_restore_backup_of_the_json_engine_leaves_the_old_or_the_new_state() {
    let project = with_backup();
    project.ok(&["state", "move", "--to", "json"]);
    interrupt_everywhere(&project, &["state", "restore", "b.tlbackup", "--yes"]);
}

/// A move changes no operation: old and new look the same, and each must be whole.
#[test]
fn an_interrupted_move_leaves_the_state_in_one_engine_or_the_other() {
    let project = with_backup();
    interrupt_everywhere(&project, &["state", "move", "--to", "json"]);
    project.ok(&["state", "move", "--to", "json"]);
    interrupt_everywhere(&project, &["state", "move", "--to", "sqlite"]);
}

#[test]
fn an_interrupted_restore_from_quarantine_leaves_the_old_or_the_new_state() {
    let project = with_backup();
    project.ok(&["state", "restore", "b.tlbackup", "--yes"]);
    interrupt_everywhere(&project, &["state", "quarantine", "--restore", "1"]);
}

/// Whatever was interrupted, adopting again works, and nothing but the mirror was there to adopt.
#[test]
fn an_interrupted_adopt_can_be_repeated() {
    if !can_interrupt() {
        return;
    }
    let clone = planned();
    for name in ["state.db", "state.db-wal", "state.db-shm", "journal.jsonl"] {
        let _ = std::fs::remove_file(clone.root().join(".throughline").join(name));
    }
    std::fs::remove_dir_all(clone.user_directory()).unwrap();
    std::fs::create_dir_all(clone.user_directory()).unwrap();
    let arguments = ["adopt", "--yes"];
    for (call, times) in calls(&copy_of(&clone), &arguments) {
        for when in (1..=times).step_by(step(&call)) {
            for fault in ["signal=KILL", "error=ENOSPC"] {
                let project = copy_of(&clone);
                let inject = format!("inject={call}:{fault}:when={when}");
                let output = traced(
                    &project,
                    &[
                        "-o",
                        "/dev/null",
                        "-e",
                        &format!("trace={call}"),
                        "-e",
                        &inject,
                    ],
                    &arguments,
                );
                let before = project.run(&["status"]);
                assert!(
                    before.code == 0 || before.stderr.contains("tl state adopt"),
                    "{inject}: {output:?} {before:?}"
                );
                let again = project.ok(&arguments);
                assert!(
                    again.stdout.contains("adopted 3 nodes, 3 approved"),
                    "{inject}: {again:?}"
                );
                project.ok(&["check"]);
            }
        }
    }
}

#[test]
fn an_interrupted_rebuild_leaves_the_foreign_state_or_the_new_one() {
    if !can_interrupt() {
        return;
    }
    let foreign = planned();
    std::fs::remove_dir_all(foreign.user_directory()).unwrap();
    std::fs::create_dir_all(foreign.user_directory()).unwrap();
    for (call, times) in calls(&copy_of(&foreign), &["state", "rebuild"]) {
        for when in (1..=times).step_by(step(&call)) {
            for fault in ["signal=KILL", "error=ENOSPC"] {
                let project = copy_of(&foreign);
                let inject = format!("inject={call}:{fault}:when={when}");
                let output = traced(
                    &project,
                    &[
                        "-o",
                        "/dev/null",
                        "-e",
                        &format!("trace={call}"),
                        "-e",
                        &inject,
                    ],
                    &["state", "rebuild"],
                );
                let next = project.run(&["status"]);
                let what = format!("{inject}: {output:?} {next:?}");
                assert!(
                    next.code == 0 || next.stderr.contains("was not adopted"),
                    "{what}"
                );
                if next.code == 0 {
                    assert_eq!(project.status("act-1"), "draft", "{what}");
                    assert!(
                        seen(&project)
                            .iter()
                            .any(|one| one.contains("from the plan files")),
                        "{what}"
                    );
                }
                assert!(output.code != 0 || next.code == 0, "false success: {what}");
            }
        }
    }
}

/// What an older program or a lost note leaves: a seal, and nothing that took the state's place.
#[test]
fn a_state_that_was_sealed_for_nothing_is_used_again() {
    let project = with_backup();
    let before = seen(&project);
    if !can_interrupt() {
        return;
    }
    let killed = (1..40).find(|when| {
        let inject = format!("inject=rename:signal=KILL:when={when}");
        let options = ["-o", "/dev/null", "-e", "trace=rename", "-e", &inject];
        traced(
            &project,
            &options,
            &["state", "restore", "b.tlbackup", "--yes"],
        );
        let note = project.root().join(".throughline/replacing.json");
        note.exists() && std::fs::remove_file(note).is_ok()
    });
    assert!(killed.is_some(), "no kill came after the note");
    let next = project.ok(&["status"]);
    assert!(
        next.stderr.contains("in use again") || next.stderr.is_empty(),
        "{next:?}"
    );
    assert_eq!(seen(&project), before);
    project.ok(&["check"]);
}

#[test]
fn quarantined_states_are_listed_and_restored() {
    let project = with_backup();
    let listed = project.ok(&["state", "quarantine"]);
    assert!(
        listed.stdout.contains("the quarantine is empty"),
        "{listed:?}"
    );
    let before = seen(&project);
    project.ok(&["state", "restore", "b.tlbackup", "--yes"]);
    let after = seen(&project);
    assert_ne!(before, after);

    let listed = project.json(&["state", "quarantine"]);
    let set = &listed["quarantine"][0];
    assert_eq!(
        (&set["id"], &set["operations"]),
        (&"1".into(), &before.len().into()),
        "{listed}"
    );
    assert_eq!(set["reason"], "replaced", "{listed}");
    let text = project.ok(&["state", "quarantine"]).stdout;
    assert!(
        text.contains("replaced by `tl state restore`") && text.contains("journal.jsonl, state.db"),
        "{text}"
    );

    let restored = project.ok(&["state", "quarantine", "--restore", "1"]);
    assert!(
        restored.stderr.contains("kept as .throughline/damaged/2"),
        "{restored:?}"
    );
    assert_eq!(seen(&project), before);
    project.ok(&["check"]);
    let value = project.json(&["state", "quarantine", "--restore", "2"]);
    assert_eq!(value["operations"], after.len(), "{value}");
    assert_eq!(seen(&project), after);

    let unknown = project.run(&["state", "quarantine", "--restore", "../1"]);
    assert!(
        unknown.code != 0 && unknown.stderr.contains("is not in quarantine"),
        "{unknown:?}"
    );
}

#[test]
fn a_lost_state_comes_back_from_a_quarantined_journal_before_the_mirror() {
    let project = with_backup();
    let before = seen(&project);
    project.ok(&["state", "restore", "b.tlbackup", "--yes"]);
    project.ok(&["state", "quarantine", "--restore", "1"]);
    // Everything in use is gone; what is left are the mirror and a set with the same operations.
    for name in ["state.db", "state.db-wal", "state.db-shm", "journal.jsonl"] {
        let _ = std::fs::remove_file(project.root().join(".throughline").join(name));
    }
    let next = project.ok(&["status"]);
    assert!(
        next.stderr
            .contains("rebuilt from the quarantined journal in .throughline/damaged/1"),
        "{next:?}"
    );
    assert_eq!(seen(&project), before);
    project.ok(&["check"]);
}

/// A quarantined journal that lacks what the mirror knows would undo decisions made since.
#[test]
fn a_quarantined_journal_older_than_the_mirror_is_not_used_for_recovery() {
    let project = with_backup();
    project.ok(&["state", "restore", "b.tlbackup", "--yes"]);
    for turn in 0..9 {
        project.ok(&["comment", "act-1", "-m", &format!("later {turn}")]);
    }
    project.ok(&["invalidate", "act-1", "--reason", "wrong"]);
    for name in ["state.db", "state.db-wal", "state.db-shm", "journal.jsonl"] {
        let _ = std::fs::remove_file(project.root().join(".throughline").join(name));
    }
    let next = project.ok(&["status"]);
    assert!(next.stderr.contains("rebuilt from the mirror"), "{next:?}");
    assert_eq!(project.status("act-1"), "invalid");
}

#[test]
fn a_newer_journal_is_never_replaced() {
    let project = with_backup();
    project.ok(&["state", "move", "--to", "json"]);
    let path = ".throughline/journal.jsonl";
    let newer =
        project
            .read(path)
            .replacen("\"throughline-journal\":1", "\"throughline-journal\":2", 1);
    project.write(path, &newer);
    for arguments in [
        vec!["state", "restore", "b.tlbackup", "--yes"],
        vec!["state", "rebuild"],
        vec!["state", "repair"],
        vec!["state", "adopt", "--yes"],
        vec!["state", "move", "--to", "sqlite"],
        vec!["status"],
    ] {
        let output = project.run(&arguments);
        assert!(
            output.code != 0 && output.stderr.contains("newer version"),
            "{arguments:?}: {output:?}"
        );
        assert_eq!(project.read(path), newer, "{arguments:?}");
        assert_eq!(
            names_in(&project, ".throughline/damaged").len(),
            1,
            "{arguments:?}: that of the move alone"
        );
    }
}

/// One bit in the statement that made the search table: the schema is valid, but not ours.
#[test]
fn a_damaged_schema_is_found_and_rebuilt() {
    let project = story();
    project.ok(&["note", "add", "the lamp is green"]);
    let found = |project: &Project| project.run(&["note", "find", "lamp"]);
    let before = found(&project);
    assert!(before.stdout.contains("the lamp is green"), "{before:?}");
    // Everything into the database file, so that the bit is in the page that is read.
    let database = project.root().join(".throughline/state.db");
    checkpoint(&project);
    let mut bytes = std::fs::read(&database).unwrap();
    let statement = b"CREATE VIRTUAL TABLE search USING fts5 (kind";
    let at = bytes
        .windows(statement.len())
        .position(|window| window == statement)
        .expect("the statement");
    bytes[at + statement.len() - 4] ^= 1;
    project.write(".throughline/state.db", &bytes);

    let check = project.run(&["check"]);
    assert!(
        check.code == 3 && check.stdout.contains("the schema of `search`"),
        "{check:?}"
    );
    let repaired = project.ok(&["state", "repair"]);
    assert!(
        repaired.stderr.contains("rebuilt from the journal"),
        "{repaired:?}"
    );
    assert_eq!(found(&project).stdout, before.stdout);
    project.ok(&["check"]);
}

/// A new database has no log: all of it is in the one file.
fn checkpoint(project: &Project) {
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let _ = std::fs::remove_file(project.root().join(".throughline").join(name));
    }
    project.ok(&["state", "repair"]);
}
