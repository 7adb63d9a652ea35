//! A project in a shared database: the same product, on several machines.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use testkit::{Database, Project};

use crate::{ACT_TEXT, as_session, json_as, run_with};

fn tl() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_tl"))
}

/// A project, and another working copy of it on another machine, whose user took it over.
fn two_machines(database: &Database, profiles: &str) -> (Project, Project) {
    let here = Project::in_database(tl(), &database.url(), "novel");
    here.ok(&["init", "--profile", profiles]);
    (here, joined(database, profiles))
}

fn joined(database: &Database, profiles: &str) -> Project {
    let there = Project::in_database(tl(), &database.url(), "novel");
    let _ = there.run(&["init", "--profile", profiles]);
    there.ok(&["adopt", "--yes"]);
    there
}

fn copy_plans(from: &Project, to: &Project) {
    for plan in [Project::ACT, Project::CHAPTER, Project::SCENE] {
        to.write(plan, from.read(plan));
    }
}

#[test]
fn an_approval_counts_on_every_machine() {
    let database = Database::new();
    let (here, there) = two_machines(&database, "story");
    here.plan_story();
    copy_plans(&here, &there);
    assert_eq!(there.status("scene-0101"), "approved");
    // A change on one machine is a change for all, once the other has the file too.
    let act = here.read(Project::ACT) + "\n## Stakes\nAll of it.\n";
    here.write(Project::ACT, &act);
    assert_eq!(here.status("chapter-01"), "requires-revalidation");
    there.write(Project::ACT, &act);
    assert_eq!(there.status("scene-0101"), "requires-revalidation");
    there.ok(&["undo"]);
    for project in [&here, &there] {
        project.ok(&["check"]);
    }
    assert!(!here.root().join(".throughline/state.db").exists());
    assert!(!here.root().join(".throughline/journal.jsonl").exists());
}

#[test]
fn state_of_others_counts_after_it_was_adopted() {
    let database = Database::new();
    let here = Project::in_database(tl(), &database.url(), "novel");
    here.ok(&["init"]);
    let there = Project::in_database(tl(), &database.url(), "novel");
    let output = there.run(&["init"]);
    assert!(output.code != 0 && output.stderr.contains("tl adopt"), "{output:?}");
    // Nor is it theirs to begin anew.
    here.ok(&["backup", "novel.tlbackup"]);
    let backup = here.root().join("novel.tlbackup").display().to_string();
    for arguments in [vec!["rebuild"], vec!["restore-backup", backup.as_str(), "--yes"]] {
        let output = there.run(&arguments);
        assert!(output.code != 0 && output.stderr.contains("adopt"), "{output:?}");
        here.ok(&["status"]);
    }
    there.ok(&["adopt", "--yes"]);
    there.ok(&["status"]);
}

/// A state that is restored ends the work of everybody on the one before, on every machine.
#[test]
fn a_restored_state_is_everybodys() {
    let database = Database::new();
    let (here, there) = two_machines(&database, "story");
    here.plan_story();
    copy_plans(&here, &there);
    here.ok(&["backup", "novel.tlbackup"]);
    here.ok(&["invalidate", "act-1", "--reason", "wrong"]);
    assert_eq!(there.status("act-1"), "invalid");
    here.ok(&["restore-backup", "novel.tlbackup", "--yes"]);
    assert_eq!(there.status("act-1"), "approved");
    here.ok(&["check"]);
    // Whoever saw what is gone is told, and accepts it for themselves.
    let check = there.run(&["check"]);
    assert!(check.code == 3 && check.stdout.contains("history-changed"), "{}", check.stdout);
    assert_eq!(there.run_as_person("mara", "y\n", &["check", "--accept-history"]).code, 0);
    there.ok(&["check"]);
}

#[test]
fn a_claim_holds_on_every_machine() {
    let database = Database::new();
    let (here, there) = two_machines(&database, "story");
    here.plan_story();
    copy_plans(&here, &there);
    let claim = json_as(&here, "a", &["claim", "act-1"]);
    let refused =
        run_with(&there, &[("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "b")], &["claim", "act-1/chapter-01"]);
    assert!(refused.code == 1 && refused.stderr.contains("claimed by a"), "{refused:?}");
    as_session(&here, "a", &["release", "act-1"]);
    let later = json_as(&there, "b", &["claim", "act-1/chapter-01"]);
    assert!(later["token"].as_u64() > claim["token"].as_u64(), "{claim} {later}");
}

/// Who waits at one machine hears what is decided at another.
#[test]
fn waiting_reaches_across_machines() {
    let database = Database::new();
    let (here, there) = two_machines(&database, "story");
    here.write(Project::ACT, ACT_TEXT);
    there.write(Project::ACT, ACT_TEXT);
    let waiting = here.command(&["--json", "wait", "act-1", "--timeout", "60"]).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    there.ok(&["approve", "act-1"]);
    let output = waiting.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let view: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&view["done"], &view["status"]), (&true.into(), &"approved".into()));
}

/// A password is in no message, whatever goes wrong.
#[test]
fn the_password_is_shown_nowhere() {
    for url in ["postgres://tl:geheim@127.0.0.1:1/plans", "postgres://tl:geheim@h:port/x", "geheim"] {
        let project = Project::in_database(tl(), url, "novel");
        for arguments in [vec!["init"], vec!["status"], vec!["doctor"], vec!["--json", "init"]] {
            let output = project.run(&arguments);
            assert_ne!(output.code, 0, "{output:?}");
            assert!(!output.stdout.contains("geheim") && !output.stderr.contains("geheim"), "{output:?}");
        }
        let log = std::fs::read_to_string(project.root().join(".throughline/logs/tl.log")).unwrap_or_default();
        assert!(!log.contains("geheim"), "{log}");
    }
}

/// A file that came with a repository chooses no server; a person does.
#[test]
fn a_database_named_by_a_repository_is_asked_after_a_person_said_so() {
    let database = Database::new();
    Project::in_database(tl(), &database.url(), "novel").ok(&["init"]);
    let cloned = Project::empty(tl());
    let config =
        format!("storage = \"postgres\"\ndatabase_url = \"{}\"\ndatabase_project = \"novel\"\n", database.url());
    cloned.write(".throughline/config.toml", config);
    let output = cloned.run(&["status"]);
    assert!(output.code != 0 && output.stderr.contains("tl adopt"), "{output:?}");
    cloned.ok(&["adopt", "--yes"]);
    cloned.ok(&["status"]);
}
