//! A project in a shared database: the same product, on several machines.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use testkit::{Database, Output, Project};

use crate::{ACT_TEXT, as_session, finished, json_as, machine_on, run_with};

fn tl() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_tl"))
}

/// A project, and another working copy of it on another machine, whose user took it over.
fn two_machines(database: &Database, profiles: &str) -> (Project, Project) {
    (
        machine_on(database, profiles),
        machine_on(database, profiles),
    )
}

/// A directory whose state will be in a shared database, under the name of its directory.
fn unnamed(database: &Database) -> Project {
    Project::empty(tl())
        .with_environment("THROUGHLINE_STORAGE", "postgres")
        .with_environment("THROUGHLINE_DATABASE_URL", &database.url())
}

/// Runs the program in a shell that does not know of the database.
fn in_next_shell(project: &Project, arguments: &[&str]) -> Output {
    let mut command = project.command(arguments);
    for name in [
        "THROUGHLINE_STORAGE",
        "THROUGHLINE_DATABASE_URL",
        "THROUGHLINE_DATABASE_PROJECT",
    ] {
        command.env_remove(name);
    }
    finished(&mut command)
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
    let output = there.run(&["init", "--join-existing"]);
    assert!(
        output.code != 0 && output.stderr.contains("tl state adopt"),
        "{output:?}"
    );
    // Nor may they start from scratch.
    here.ok(&["state", "backup", "novel.tlbackup"]);
    let backup = here.root().join("novel.tlbackup").display().to_string();
    for arguments in [
        vec!["state", "rebuild"],
        vec!["state", "restore", backup.as_str(), "--yes"],
    ] {
        let output = there.run(&arguments);
        assert!(
            output.code != 0 && output.stderr.contains("adopt"),
            "{output:?}"
        );
        here.ok(&["status"]);
    }
    there.ok(&["state", "adopt", "--yes"]);
    there.ok(&["status"]);
}

/// Restoring a state ends the work on the one before, on every machine.
#[test]
fn a_restored_state_is_everybodys() {
    let database = Database::new();
    let (here, there) = two_machines(&database, "story");
    here.plan_story();
    copy_plans(&here, &there);
    here.ok(&["state", "backup", "novel.tlbackup"]);
    here.ok(&["invalidate", "act-1", "--reason", "wrong"]);
    assert_eq!(there.status("act-1"), "invalid");
    here.ok(&["state", "restore", "novel.tlbackup", "--yes"]);
    assert_eq!(there.status("act-1"), "approved");
    here.ok(&["check"]);
    // Users who saw the missing operations get a warning, and each accepts it.
    let check = there.run(&["check"]);
    assert!(
        check.code == 3 && check.stdout.contains("history-changed"),
        "{}",
        check.stdout
    );
    assert_eq!(
        there
            .run_as_person("mara", "y\n", &["check", "--accept-history"])
            .code,
        0
    );
    there.ok(&["check"]);
}

#[test]
fn a_claim_holds_on_every_machine() {
    let database = Database::new();
    let (here, there) = two_machines(&database, "story");
    here.plan_story();
    copy_plans(&here, &there);
    let claim = json_as(&here, "a", &["claim", "act-1"]);
    let refused = run_with(
        &there,
        &[("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "b")],
        &["claim", "act-1/chapter-01"],
    );
    assert!(
        refused.code == 1 && refused.stderr.contains("claimed by a"),
        "{refused:?}"
    );
    as_session(&here, "a", &["release", "act-1"]);
    let later = json_as(&there, "b", &["claim", "act-1/chapter-01"]);
    assert!(
        later["token"].as_u64() > claim["token"].as_u64(),
        "{claim} {later}"
    );
}

/// Who waits at one machine hears what is decided at another.
#[test]
fn waiting_reaches_across_machines() {
    let database = Database::new();
    let (here, there) = two_machines(&database, "story");
    here.write(Project::ACT, ACT_TEXT);
    there.write(Project::ACT, ACT_TEXT);
    let waiting = here
        .command(&["--json", "wait", "act-1", "--timeout", "60"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    there.ok(&["approve", "act-1"]);
    let output = waiting.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let view: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&view["done"], &view["status"]),
        (&true.into(), &"approved".into())
    );
}

/// A password is in no message, whatever goes wrong.
#[test]
fn the_password_is_shown_nowhere() {
    for url in [
        "postgres://tl:geheim@127.0.0.1:1/plans",
        "postgres://tl:geheim@h:port/x",
        "geheim",
    ] {
        let project = Project::in_database(tl(), url, "novel");
        for arguments in [
            vec!["init"],
            vec!["status"],
            vec!["host", "doctor"],
            vec!["--json", "init"],
        ] {
            let output = project.run(&arguments);
            assert_ne!(output.code, 0, "{output:?}");
            assert!(
                !output.stdout.contains("geheim") && !output.stderr.contains("geheim"),
                "{output:?}"
            );
        }
        let log = std::fs::read_to_string(project.root().join(".throughline/logs/tl.log"))
            .unwrap_or_default();
        assert!(!log.contains("geheim"), "{log}");
    }
}

/// A file that came with a repository chooses no server; a person does.
#[test]
fn a_database_named_by_a_repository_is_asked_after_a_person_said_so() {
    let database = Database::new();
    Project::in_database(tl(), &database.url(), "novel").ok(&["init"]);
    let cloned = Project::empty(tl());
    let config = format!(
        "storage = \"postgres\"\ndatabase_url = \"{}\"\ndatabase_project = \"novel\"\n",
        database.url()
    );
    cloned.write(".throughline/config.toml", config);
    let output = cloned.run(&["status"]);
    assert!(
        output.code != 0 && output.stderr.contains("tl state adopt"),
        "{output:?}"
    );
    cloned.ok(&["state", "adopt", "--yes"]);
    cloned.ok(&["status"]);
}

/// Two unrelated projects in directories of one name: never one state, also not for the user of both.
#[test]
fn projects_of_one_name_never_share_state() {
    let database = Database::new();
    let first = unnamed(&database);
    first.ok(&["init"]);
    first.plan_story();
    let home = first.user_directory().display().to_string();
    let second = unnamed(&database).with_environment("THROUGHLINE_HOME", &home);
    let output = second.run(&["init"]);
    assert_eq!(output.code, 1, "{output:?}");
    for part in [
        "another project called `work`",
        "tl init --join-existing",
        "tl init --name ANOTHER",
    ] {
        assert!(output.stderr.contains(part), "{part}: {}", output.stderr);
    }
    assert!(
        !second.root().join(".throughline").exists(),
        "nothing is half made"
    );
    second.ok(&["init", "--name", "another"]);
    assert_eq!(second.json(&["tree"]), serde_json::json!([]));
    // Whatever it is called: a project is its id.
    let renamed = second.with_environment("THROUGHLINE_DATABASE_PROJECT", "work");
    assert_eq!(renamed.json(&["tree"]), serde_json::json!([]));
    assert_eq!(first.status("scene-0101"), "approved");
    first.ok(&["check"]);
    // A third one that says so shares it.
    let third = unnamed(&database).with_environment("THROUGHLINE_HOME", &home);
    third.ok(&["init", "--join-existing"]);
    copy_plans(&first, &third);
    assert_eq!(third.status("scene-0101"), "approved");
    let absent = unnamed(&database).run(&["init", "--join-existing", "--name", "nobody"]);
    assert!(
        absent.code == 1 && absent.stderr.contains("there is no nobody in"),
        "{absent:?}"
    );
}

/// The next shell has no variables, and the second machine has what git has.
#[test]
fn a_project_begun_in_the_database_stays_there_without_the_variables() {
    let database = Database::new();
    let here = unnamed(&database);
    here.ok(&["init"]);
    here.plan_story();
    let output = in_next_shell(&here, &["status", "--json"]);
    assert!(
        output.code == 0 && output.stdout.contains("\"approved\":1"),
        "{output:?}"
    );
    assert!(
        !here.root().join(".throughline/state.db").exists(),
        "{output:?}"
    );
    let config = here.read(".throughline/config.toml");
    for part in [
        "\nstorage = \"postgres\"\n",
        "\ndatabase_project = \"work\"\n",
        "\nproject_id = \"",
    ] {
        assert!(config.contains(part), "{part}: {config}");
    }

    let there = Project::empty(tl()).with_environment("THROUGHLINE_DATABASE_URL", &database.url());
    there.write(".throughline/config.toml", config);
    copy_plans(&here, &there);
    there.ok(&["state", "adopt", "--yes"]);
    assert_eq!(there.status("scene-0101"), "approved");
    let output = in_next_shell(&there, &["status", "--json"]);
    assert!(
        output.code == 0 && output.stdout.contains("\"approved\":1"),
        "{output:?}"
    );
    assert!(!there.root().join(".throughline/state.db").exists());
}

#[test]
fn a_shared_state_is_not_begun_beside_a_local_one() {
    let database = Database::new();
    let project = crate::planned();
    let config = project.read(".throughline/config.toml");
    let shared = [
        ("THROUGHLINE_STORAGE", "postgres"),
        ("THROUGHLINE_DATABASE_URL", &database.url()),
    ];
    let output = run_with(&project, &shared, &["init"]);
    assert!(
        output.code == 1 && output.stderr.contains("tl state move --to"),
        "{output:?}"
    );
    assert_eq!(project.read(".throughline/config.toml"), config);
    assert_eq!(project.status("scene-0101"), "approved");
}

/// A database and a project of the time before projects had ids.
#[test]
fn a_project_without_an_id_goes_on_until_a_person_gives_it_one() {
    let database = Database::new();
    let old = machine_on(&database, "story");
    old.plan_story();
    let without_id = |project: &Project| {
        let config = project.read(".throughline/config.toml");
        let kept: Vec<&str> = config
            .lines()
            .filter(|line| !line.starts_with("project_id"))
            .collect();
        project.write(".throughline/config.toml", kept.join("\n"));
    };
    without_id(&old);
    let older = "ALTER TABLE throughline.project DROP COLUMN uid; DELETE FROM throughline.migration WHERE number = 2";
    database
        .client()
        .batch_execute(older)
        .expect("the database answers");
    assert_eq!(old.status("scene-0101"), "approved");
    old.ok(&["comment", "act-1", "-m", "still here"]);
    old.ok(&["init"]);
    assert!(
        !old.read(".throughline/config.toml")
            .contains("\nproject_id"),
        "others use it without"
    );

    let output = Project::in_database(tl(), &database.url(), "novel").run(&["init"]);
    assert!(
        output.code == 1 && output.stderr.contains("another project called `novel`"),
        "{output:?}"
    );

    let colleague = Project::in_database(tl(), &database.url(), "novel");
    colleague.write(".throughline/config.toml", "storage = \"postgres\"\n");
    copy_plans(&old, &colleague);
    colleague.ok(&["state", "adopt", "--yes"]);
    old.ok(&["init", "--join-existing"]);
    assert!(
        old.read(".throughline/config.toml")
            .contains("\nproject_id = \"")
    );
    assert_eq!(old.status("scene-0101"), "approved");
    // Who has no id cannot tell that it is the same; a person can.
    let output = colleague.run(&["status"]);
    assert!(
        output.code == 1 && output.stderr.contains("another project called `novel`"),
        "{output:?}"
    );
    colleague.ok(&["state", "adopt", "--yes"]);
    colleague.ok(&["status"]);
    old.ok(&["check"]);
}
