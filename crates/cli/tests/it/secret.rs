//! Secrets: masked before anything is stored, found and purged in what was stored before. `tl state secret`

use std::path::Path;

use domain::ids::{Digest32, VersionHash};
use serde_json::{Value, json};
use testkit::{Database, Project};

use crate::hook_gates::answering;
use crate::mcp::{Client, ERAS, structured};
use crate::remote::Team;
use crate::{assert_refused, empty, run_with, text};

/// Made up, in the format of a provider.
const KEY: &str = "sk-ant-api03-Zx81kQpLmN0aRtYuVwEe7Gh2Qz3A";
/// What a mask may show of it, and what it must not.
const RANDOM_PART: &str = "Zx81kQpLmN0aRtYuVwEe7Gh2";
const MASK: &str = "[masked anthropic key …Qz3A]";
/// No secret, and replaced by one to make a state that was stored without masking.
const STAND_IN: &str = "the key of the house";

fn project() -> Project {
    project_in("sqlite")
}

fn project_in(storage: &str) -> Project {
    let project = empty()
        .with_environment("THROUGHLINE_SESSION", "s1")
        .with_environment("THROUGHLINE_STORAGE", storage);
    project.ok(&["init", "--profile", "story,trail"]);
    project.write(Project::ACT, "# Act 1\n\n## Purpose\nBegin.\n");
    project.ok(&["approve", "act-1"]);
    project
}

/// Stores a text by every command of the finding. Returns what was said about it.
fn store_everywhere(project: &Project, words: &str) -> String {
    let with = |more: &str| format!("{more} {words}");
    let mut said = String::new();
    for arguments in [
        vec!["trail", "intent", &with("Deploy with")],
        vec!["comment", "act-1", "-m", &with("use")],
        vec!["note", "add", &with("remember")],
        vec!["note", "add", "--pin", &with("never lose")],
        vec![
            "review",
            "add",
            "--of",
            "act-1",
            "--check",
            &with("holds"),
            "--severity",
            "must",
        ],
    ] {
        said.push_str(&project.ok(&arguments).stderr);
    }
    // The command's output holds what no file of the project does.
    let (first, second) = words.split_at(words.len() / 2);
    project.write(
        "leak.sh",
        format!("printf '%s%s\\n' '{first}' '{second}'\nexit 1\n"),
    );
    project.ok(&["evidence", "add", "act-1", "--", "sh", "leak.sh"]);
    let ran = project.run(&["evidence", "run", "act-1"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    said.push_str(&ran.stderr);
    said
}

/// Returns every file below a folder that holds a text, as bytes.
fn files_with(folder: &Path, wanted: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, wanted));
        } else if std::fs::read(&path).is_ok_and(|bytes| {
            bytes
                .windows(wanted.len())
                .any(|part| part == wanted.as_bytes())
        }) {
            found.push(path.display().to_string());
        }
    }
    found
}

fn copies(project: &Project, wanted: &str) -> Vec<String> {
    let mut found = files_with(&project.root(), wanted);
    found.extend(files_with(&project.user_directory(), wanted));
    found
}

#[test]
fn a_key_given_to_every_command_that_stores_text_is_in_no_file_and_the_user_is_told() {
    for storage in ["sqlite", "json"] {
        let project = project_in(storage);
        let said = store_everywhere(&project, KEY);
        assert_eq!(
            copies(&project, RANDOM_PART),
            Vec::<String>::new(),
            "{storage}"
        );
        for place in ["comment", "intent", "note", "review", "evidence"] {
            let told =
                format!("masked 1 secret (anthropic key) in the {place} before it was stored");
            assert!(said.contains(&told), "{storage}: {place} in {said}");
        }
        assert!(!said.contains(RANDOM_PART));
        let log = project.ok(&["--json", "log"]).stdout;
        assert!(!log.contains(RANDOM_PART), "{log}");
        assert!(project.ok(&["comment", "act-1"]).stdout.contains(MASK));
        assert!(
            project
                .ok(&["evidence", "show", "act-1"])
                .stdout
                .contains("[masked anthropic key")
        );
        project.ok(&["check"]);
        assert_eq!(
            project.run(&["state", "secret", "scan"]).code,
            0,
            "{storage}"
        );
    }
}

#[test]
fn an_mcp_client_is_told_that_its_note_was_masked() {
    for era in ERAS {
        let project = project();
        let mut client = Client::start(&project, era, &[]);
        let answer = client.call("save_mem", json!({ "text": format!("use {KEY}") }));
        let value = structured(&answer);
        assert_eq!(
            value["warnings"][0],
            "masked 1 secret (anthropic key) in the note before it was stored",
            "{value}"
        );
        client.end();
        assert_eq!(copies(&project, RANDOM_PART), Vec::<String>::new());
    }
}

#[test]
fn a_plan_file_keeps_its_key_while_every_stored_copy_is_masked_and_approvals_stay_bound_to_the_text()
 {
    let project = project();
    let with_key = format!("# Act 1\n\nThe key is {KEY}.\n");
    project.write(Project::ACT, &with_key);
    let told = project.ok(&["approve", "act-1"]).stderr;
    assert!(
        told.contains("masked 1 secret (anthropic key) in the stored copy of a plan"),
        "{told}"
    );
    assert_eq!(project.read(Project::ACT), with_key);
    assert_eq!(project.status("act-1"), "approved");
    let file = project.root().join(Project::ACT).display().to_string();
    assert_eq!(copies(&project, RANDOM_PART), std::slice::from_ref(&file));

    // Another key is another text, although its mask could be the same.
    project.write(Project::ACT, with_key.replace("Zx81k", "Zx82k"));
    assert_eq!(project.status("act-1"), "draft");
    project.write(Project::ACT, &with_key);
    assert_eq!(project.status("act-1"), "approved");

    let findings = project.json(&["check"]);
    assert_eq!(
        (&findings["ok"], text(&findings["findings"][0], "kind")),
        (&json!(true), "secret-in-plan")
    );
    assert!(
        text(&findings["findings"][0], "message").contains("line 3 (anthropic key)"),
        "{findings}"
    );
    let versions = project.json(&["versions", "act-1"]);
    assert_eq!(versions["versions"][0]["masked"], true);
    // Rebuilding from the journal knows masked versions.
    std::fs::remove_file(project.root().join(".throughline/state.db")).unwrap();
    project.ok(&["status"]);
    assert_eq!(project.json(&["check"])["ok"], true);
    assert_eq!(project.status("act-1"), "approved");
    assert_eq!(copies(&project, RANDOM_PART), [file]);
}

#[test]
fn restoring_a_masked_version_takes_the_key_from_the_file_or_is_refused_with_the_line() {
    let project = project();
    let first = format!("# Act 1\n\nThe key is {KEY}.\n\nOne.\n");
    project.write(Project::ACT, &first);
    project.ok(&["approve", "act-1"]);
    project.write(Project::ACT, first.replace("One", "Two"));
    project.ok(&["status"]);
    // The key is still in the file.
    project.ok(&["restore", "act-1", "-1"]);
    assert_eq!(project.read(Project::ACT), first);
    assert_eq!(project.status("act-1"), "approved");
    project.ok(&["undo"]);
    assert!(project.read(Project::ACT).contains("Two") && project.read(Project::ACT).contains(KEY));
    // It is not there any more.
    let without = "# Act 1\n\nThe key is in the safe.\n";
    project.write(Project::ACT, without);
    project.ok(&["status"]);
    let versions = project.json(&["versions", "act-1"]);
    let wanted = versions["versions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|version| version["masked"] == true)
        .unwrap();
    let back = text(wanted, "back").to_owned();
    assert_refused(
        &project,
        &["restore", "act-1", &back],
        "refused",
        &["line 3 (anthropic key)", "masks"],
    );
    assert_eq!(project.read(Project::ACT), without);
}

#[test]
fn a_key_in_a_heading_is_no_change_at_every_command() {
    let project = project();
    project.write(Project::ACT, format!("# Act 1 {KEY}\n"));
    project.ok(&["status"]);
    let before = crate::newest_operation(&project);
    project.write(Project::ACT, format!("# Act 1 {KEY}\n"));
    project.ok(&["check"]);
    project.ok(&["state", "sync-hashes"]);
    assert_eq!(crate::newest_operation(&project), before);
}

/// Makes the state what a build without masking would have stored: the stand-in becomes the key in every operation and
/// text, the chain is made again, and the database is built from the journal.
fn store_unmasked(project: &Project) {
    let path = project.root().join(".throughline/journal.jsonl");
    let journal = std::fs::read_to_string(&path).expect("a journal");
    let mut lines = journal.lines();
    let header: Value = serde_json::from_str(lines.next().expect("a header")).expect("JSON");
    let start = format!("throughline-journal 1 {}", text(&header, "store"));
    let mut prev = Digest32::of_bytes(start.as_bytes());
    let mut written = format!("{header}\n");
    let mut hashes: Vec<(String, String)> = Vec::new();
    for line in lines {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let mut texts = serde_json::Map::new();
        for (hash, kept) in line["texts"].as_object().expect("texts") {
            let kept = kept.as_str().expect("a text").replace(STAND_IN, KEY);
            let now = VersionHash::of_bytes(kept.as_bytes()).to_string();
            hashes.push((hash.clone(), now.clone()));
            texts.insert(now, Value::String(kept));
        }
        let body = hashes
            .iter()
            .fold(line["op"].to_string(), |body, (was, now)| {
                body.replace(was, now)
            });
        let body = body.replace(STAND_IN, KEY);
        let hash = Digest32::of_bytes(&[&prev.0[..], body.as_bytes()].concat());
        let texts = Value::Object(texts);
        written.push_str(&format!(
            "{{\"op\":{body},\"texts\":{texts},\"prev\":\"{prev}\",\"hash\":\"{hash}\"}}\n"
        ));
        prev = hash;
    }
    project.write(".throughline/journal.jsonl", written);
    for file in ["state.db", "state.db-wal", "state.db-shm"] {
        let _ = std::fs::remove_file(project.root().join(".throughline").join(file));
    }
    for file in copies(project, STAND_IN) {
        if let Ok(known) = std::fs::read_to_string(&file) {
            project.write(&file, known.replace(STAND_IN, KEY));
        }
    }
    // A build that did not mask did not remember heads either.
    let _ = std::fs::remove_dir_all(project.user_directory().join("heads"));
    // Its sums were those of the other text.
    let _ = std::fs::remove_dir_all(project.root().join(".throughline/mirror"));
    project.ok(&["state", "repair"]);
}

#[test]
fn a_history_stored_without_masking_is_found_and_purged_by_a_person_alone() {
    let project = project();
    let _ = store_everywhere(&project, STAND_IN);
    project.write(Project::ACT, format!("# Act 1\n\nFirst, {STAND_IN}.\n"));
    project.ok(&["approve", "act-1"]);
    project.write(Project::ACT, "# Act 1\n\nThen.\n");
    project.ok(&["approve", "act-1"]);
    store_unmasked(&project);
    project.write(
        ".throughline/logs/tl.log",
        format!("2026 the provider said: {KEY} is wrong\n"),
    );
    project.ok(&["status"]);
    project.ok(&["state", "backup", "story.tlbackup"]);
    let journal = project.read(".throughline/journal.jsonl");
    project.write(".throughline/damaged/journal.jsonl.1", &journal);
    // A quarantined database is removed, never rewritten as text.
    project.write(".throughline/damaged/set/note", "");
    let home = project.root().join(".throughline");
    std::fs::copy(home.join("state.db"), home.join("damaged/set/state.db")).unwrap();
    project.ok(&["check"]);
    assert!(!copies(&project, RANDOM_PART).is_empty());

    // Work goes on: what is there is changed although it holds a key.
    assert_eq!(project.run(&["evidence", "run", "act-1"]).code, 3);

    let scan = project.run(&["--json", "state", "secret", "scan"]);
    let found: Value = serde_json::from_str(&scan.stdout).unwrap();
    assert_eq!(
        (scan.code, &found["clean"], &found["secrets"]),
        (3, &json!(false), &json!({ "anthropic key": 1 }))
    );
    let places: Vec<&str> = found["places"]
        .as_array()
        .unwrap()
        .iter()
        .map(|place| text(place, "place"))
        .collect();
    for expected in [
        "(comment)",
        "(intent)",
        "(remember)",
        "tl.log",
        "story.tlbackup",
        "damaged/journal.jsonl.1",
        "damaged/set/state.db",
        "backups/",
    ] {
        assert!(
            places.iter().any(|place| place.contains(expected)),
            "{expected} in {places:?}"
        );
    }
    assert!(!scan.stdout.contains(RANDOM_PART));

    for environment in [&[][..], &[("CLAUDECODE", "1")]] {
        let output = run_with(&project, environment, &["state", "secret", "purge"]);
        assert_eq!(output.code, 1);
        assert!(
            output.stderr.contains("a person's decision"),
            "{}",
            output.stderr
        );
    }
    let Some(no) = answering(&project, &["state", "secret", "purge"], "n\n") else {
        return;
    };
    assert_eq!(no.code, 1, "{}", no.stdout);
    assert!(!copies(&project, RANDOM_PART).is_empty());

    let before = crate::statuses(&project);
    let head = crate::newest_operation(&project);
    let purged = answering(&project, &["state", "secret", "purge"], "y\n").unwrap();
    assert_eq!(purged.code, 0, "{}", purged.stdout);
    assert!(
        purged.stdout.contains("masked 1 secret (anthropic key)"),
        "{}",
        purged.stdout
    );
    assert_eq!(copies(&project, RANDOM_PART), Vec::<String>::new());
    assert_eq!(project.run(&["state", "secret", "scan"]).code, 0);
    assert_eq!(project.json(&["check"])["ok"], true);
    assert_eq!(crate::statuses(&project), before);
    let last = &project.json(&["log", "--limit", "1"])[0];
    assert_eq!(last["operation"], head + 1);
    assert_eq!(text(last, "by"), "human:mara");
    assert!(
        text(last, "summary").contains("purge 1 secret (anthropic key)"),
        "{last}"
    );
    assert!(
        text(last, "summary").contains(&format!("the head {head} ")),
        "{last}"
    );
    // The state, the rewritten backup and the database made from the journal are sound.
    assert!(project.ok(&["comment", "act-1"]).stdout.contains(MASK));
    std::fs::remove_file(project.root().join(".throughline/state.db")).unwrap();
    project.ok(&["status"]);
    assert_eq!(project.json(&["check"])["ok"], true);
    project.ok(&["state", "restore", "story.tlbackup", "--yes"]);
    assert_eq!(project.json(&["check"])["ok"], true);
    assert_eq!(copies(&project, RANDOM_PART), Vec::<String>::new());
}

#[test]
fn a_purge_of_a_clean_state_changes_nothing() {
    let project = project();
    let before = crate::newest_operation(&project);
    assert!(
        project
            .ok(&["state", "secret", "scan"])
            .stdout
            .contains("no secrets")
    );
    let Some(purged) = answering(&project, &["state", "secret", "purge"], "") else {
        return;
    };
    assert_eq!(purged.code, 0, "{}", purged.stdout);
    assert_eq!(crate::newest_operation(&project), before);
}

#[test]
fn a_hook_tells_the_agent_that_a_plan_it_wrote_holds_a_key() {
    let project = project();
    let session = project.session("s1");
    let _ = session.start("startup");
    let _ = session.read(Project::ACT);
    let (_, after) = session.write(Project::ACT, &format!("# Act 1\n\nThe key is {KEY}.\n"));
    let told = after
        .and_then(|answer| answer.context())
        .unwrap_or_default();
    assert!(
        told.contains("masked 1 secret (anthropic key) in the stored copy of a plan"),
        "{told}"
    );
    assert!(!told.contains(RANDOM_PART));
    assert_eq!(
        copies(&project, RANDOM_PART),
        [project.root().join(Project::ACT).display().to_string()]
    );
}

#[test]
fn a_shared_database_keeps_no_key_and_a_purge_there_says_what_to_do() {
    let database = Database::new();
    let project = Project::in_database(crate::binary(), &database.url(), "secrets");
    project.ok(&["init"]);
    project.write(Project::ACT, format!("# Act 1\n\nThe key is {KEY}.\n"));
    project.ok(&["approve", "act-1"]);
    project.ok(&["comment", "act-1", "-m", &format!("use {KEY}")]);
    assert!(!project.ok(&["--json", "log"]).stdout.contains(RANDOM_PART));
    assert!(project.ok(&["comment", "act-1"]).stdout.contains(MASK));
    assert_eq!(project.json(&["check"])["ok"], true);
    assert_eq!(project.run(&["state", "secret", "scan"]).code, 0);
    assert_refused(
        &project,
        &["state", "secret", "purge"],
        "refused",
        &["PostgreSQL", "tl state move --to sqlite"],
    );
}

#[test]
fn a_laptop_sends_a_team_server_the_masked_text_and_both_agree_on_the_status() {
    let team = Team::start();
    let laptop = team.laptop_with(&team.url(), &team.token);
    let with_key = format!("# Act 1\n\nThe key is {KEY}.\n");
    laptop.write(Project::ACT, &with_key);
    laptop.ok(&["status"]);
    assert_eq!(laptop.status("act-1"), "draft");
    team.project.write(Project::ACT, &with_key);
    assert_eq!(team.project.status("act-1"), "draft");
    for project in [&laptop, &team.project] {
        assert_eq!(
            copies(project, RANDOM_PART),
            [project.root().join(Project::ACT).display().to_string()]
        );
        assert_eq!(project.json(&["check"])["ok"], true);
    }
    assert_refused(
        &laptop,
        &["state", "secret", "purge"],
        "refused",
        &["on the server"],
    );
}
