//! Damaged, emptied or missing state: quarantined, rebuilt, and reported.

use std::fs;

use crate::{Event, binary, names_in, planned, statuses};
use testkit::Project;

fn state(project: &Project, name: &str) -> std::path::PathBuf {
    project.root().join(".throughline").join(name)
}

fn remove_database(project: &Project) {
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let _ = fs::remove_file(state(project, name));
    }
}

fn scribble(project: &Project, name: &str) {
    let path = format!(".throughline/{name}");
    let length = fs::metadata(project.root().join(&path))
        .expect("a file")
        .len();
    project.write(
        &path,
        vec![b'x'; usize::try_from(length).expect("a small file")],
    );
}

/// A person accepts that the history is gone.
fn accept_history(project: &Project) {
    let accepted = project.run_as_person("mara", "y\n", &["check", "--accept-history"]);
    assert_eq!(accepted.code, 0, "{}", accepted.stdout);
}

/// Ways to lose or damage the database or the journal.
const DAMAGES: &[(&str, Event<'static>)] = &[
    ("no database", &remove_database),
    ("an emptied database", &|project| {
        remove_database(project);
        project.write(".throughline/state.db", "");
    }),
    ("a database of rubbish", &|project| {
        remove_database(project);
        project.write(
            ".throughline/state.db",
            "this is not a database".repeat(500),
        );
    }),
    ("no journal", &|project| {
        fs::remove_file(state(project, "journal.jsonl")).expect("removed")
    }),
    ("an emptied journal", &|project| {
        project.write(".throughline/journal.jsonl", "")
    }),
    ("a journal of rubbish", &|project| {
        scribble(project, "journal.jsonl")
    }),
    ("only the mirror is left", &|project| {
        remove_database(project);
        fs::remove_file(state(project, "journal.jsonl")).expect("removed");
    }),
];

#[test]
fn damage_is_mended_with_approvals_intact_and_told() {
    for (what, damage) in DAMAGES {
        let project = planned();
        let before = statuses(&project);
        damage(&project);
        let output = project.ok(&["tree"]);
        assert!(
            output.stderr.contains("repaired: "),
            "{what} is told: {}",
            output.stderr
        );
        assert_eq!(statuses(&project), before, "{what}");
        // The mirror has no history: that it is gone is said until a person accepts it.
        let history_is_lost = *what == "only the mirror is left";
        let again = project.ok(&["tree"]).stderr;
        match history_is_lost {
            true => assert!(
                again.contains("the history was rolled back") && !again.contains("repaired"),
                "{again}"
            ),
            false => assert_eq!(again, "", "{what} is told once"),
        }
        project.write(Project::ACT, crate::ACT_EDITED);
        project.ok(&["approve", "act-1"]);
        if history_is_lost {
            accept_history(&project);
        }
        let check = project.run(&["check"]);
        assert_eq!(check.code, 0, "{what}: {}", check.stdout);
        assert!(
            project.read(".throughline/logs/tl.log").lines().count() >= 1,
            "{what} is in the log file"
        );
    }
}

#[test]
fn damaged_files_are_quarantined_never_deleted() {
    let project = planned();
    remove_database(&project);
    let rubbish = "this is not a database".repeat(500);
    project.write(".throughline/state.db", &rubbish);
    project.ok(&["tree"]);
    let names = names_in(&project, ".throughline/damaged");
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!(
        project.read(&format!(".throughline/damaged/{}/state.db", names[0])),
        rubbish
    );
}

#[test]
fn a_lost_database_loses_no_history() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    let before = (
        project.json(&["log"]),
        project.json(&["versions", "act-1"]),
        project.json(&["tree"]),
    );
    remove_database(&project);
    assert_eq!(
        (
            project.json(&["log"]),
            project.json(&["versions", "act-1"]),
            project.json(&["tree"])
        ),
        before
    );
    project.ok(&["restore", "act-1", "-1"]);
    assert_eq!(project.read(Project::ACT), crate::ACT_TEXT);
}

#[test]
fn the_mirror_alone_gives_back_the_same_tree() {
    let project = planned();
    project.ok(&["progress", "scene-0101", "active"]);
    let before = project.json(&["tree"]);
    remove_database(&project);
    fs::remove_file(state(&project, "journal.jsonl")).expect("removed");
    let output = project.ok(&["status"]);
    assert!(
        output.stderr.contains("mirror"),
        "says what was used: {}",
        output.stderr
    );
    assert_eq!(project.json(&["tree"]), before);
}

#[test]
fn an_edited_mirror_gives_no_approval() {
    let project = planned();
    project.write("acts/act-2/strategic-plan.md", "# Act 2\n");
    project.ok(&["status"]);
    // An attacker approves the second act by copying the first one's approval.
    let first: serde_json::Value =
        serde_json::from_str(&project.read(".throughline/mirror/story/act-1.json")).expect("JSON");
    let mut second: serde_json::Value =
        serde_json::from_str(&project.read(".throughline/mirror/story/act-2.json")).expect("JSON");
    second["node"]["approval"] = first["node"]["approval"].clone();
    second["node"]["approval"]["version"] = second["node"]["content"]["version"].clone();
    second["node"]["approval"]["canonical"] = second["node"]["content"]["canonical"].clone();
    project.write(".throughline/mirror/story/act-2.json", second.to_string());
    remove_database(&project);
    fs::remove_file(state(&project, "journal.jsonl")).expect("removed");
    assert_eq!(project.status("act-2"), "draft");
    assert_eq!(project.status("act-1"), "approved");
}

#[test]
fn a_file_that_is_no_database_is_not_lost() {
    let project = planned();
    project.write("notes.txt", "my notes\n");
    let output = crate::run_with(
        &project,
        &[("THROUGHLINE_DATABASE", "notes.txt")],
        &["status"],
    );
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert!(output.stderr.contains("notes.txt"), "{}", output.stderr);
    let kept: Vec<String> = names_in(&project, ".throughline/damaged")
        .iter()
        .map(|name| project.read(&format!(".throughline/damaged/{name}/state.db")))
        .collect();
    assert_eq!(kept, ["my notes\n"]);
}

#[test]
fn a_read_only_project_can_still_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let project = planned();
    let folder = state(&project, "");
    let writable = fs::metadata(&folder).expect("a folder").permissions();
    // The superuser is not bound by permissions: then there is nothing to see here.
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).expect("permissions");
    let bound = fs::File::create(folder.join("probe")).is_err();
    let output = project.run(&["tree"]);
    fs::set_permissions(&folder, writable).expect("permissions");
    if bound {
        assert_eq!(output.code, 0, "{}", output.stderr);
    }
}

#[test]
fn the_mirror_gives_back_reasons_and_condemnations() {
    let project = planned();
    project.ok(&["invalidate", "act-1", "--reason", "the ending changed"]);
    let nodes = ["act-1", "chapter-01", "scene-0101"];
    let before = nodes.map(|node| project.json(&["show", node]));
    remove_database(&project);
    fs::remove_file(state(&project, "journal.jsonl")).expect("removed");
    assert_eq!(nodes.map(|node| project.json(&["show", node])), before);
    accept_history(&project);
    project.ok(&["check"]);
}

#[test]
fn the_mirror_gives_back_what_a_precise_cascade_left_approved() {
    let project = crate::story().with_environment("THROUGHLINE_CASCADE", "precise");
    project.write(
        Project::ACT,
        "# Act 1\n\n## Mood\nGrey.\n\n## Chapter 1\nMara wakes.\n",
    );
    project.ok(&["approve", "act-1"]);
    project.write(Project::CHAPTER, "# The first part\n");
    project.ok(&["approve", "chapter-01"]);
    project.write(
        Project::ACT,
        "# Act 1\n\n## Mood\nGolden.\n\n## Chapter 1\nMara wakes.\n",
    );
    project.ok(&["approve", "act-1"]);
    let before = statuses(&project);
    assert_eq!(before, ["act-1 approved", "act-1/chapter-01 approved"]);
    remove_database(&project);
    fs::remove_file(state(&project, "journal.jsonl")).expect("removed");
    assert_eq!(statuses(&project), before);
    accept_history(&project);
    project.ok(&["check"]);
}

/// Their texts are versions of no plan, and have to come back all the same.
#[test]
fn a_repository_with_decisions_recovers_like_any_project() {
    for (what, damage) in DAMAGES {
        let project = Project::empty(binary());
        assert!(project.shell("git init -q"));
        project.ok(&["init", "--profile", "tickets"]);
        project.ok(&["ticket", "new", "Add search"]);
        project.ok(&["comment", "001", "-m", "why?"]);
        project.ok(&["progress", "001", "active"]);
        project.ok(&["note", "add", "--pin", "ask first"]);
        let state = |project: &Project| {
            let tree = project.json(&["tree"]);
            let note = project.json(&["note", "list"]);
            (
                tree[0]["progress"].clone(),
                project.json(&["comment", "001"])[0]["text"].clone(),
                note[0]["text"].clone(),
            )
        };
        let before = state(&project);
        damage(&project);
        let told = project.ok(&["status"]).stderr;
        assert!(told.contains("repaired: "), "{what}: {told}");
        assert!(!told.contains("resuming"), "{what}: {told}");
        assert_eq!(state(&project), before, "{what}");
        project.ok(&["comment", "001", "-m", "because"]);
        project.ok(&["state", "backup", "state.tlb"]);
    }
}

/// What a process died over is not known to a rebuilt state: the files it wrote are a user's by now.
#[test]
fn a_recovery_writes_no_file_again() {
    let changes: &[(&str, Event<'_>)] = &[
        ("a lost database", &remove_database),
        ("another engine", &|project| {
            project.ok(&["state", "move", "--to", "json"]);
        }),
        ("a restored backup", &|project| {
            project.ok(&["state", "backup", "state.tlb"]);
            project.ok(&["state", "restore", "state.tlb", "--yes"]);
        }),
    ];
    for (what, change) in changes {
        let project = planned();
        project.write(Project::ACT, crate::ACT_EDITED);
        project.ok(&["tree"]);
        project.ok(&["restore", "act-1", "-1"]);
        project.write(Project::ACT, crate::ACT_EDITED);
        change(&project);
        let told = project.ok(&["status"]).stderr;
        assert!(!told.contains("resuming"), "{what}: {told}");
        assert_eq!(project.read(Project::ACT), crate::ACT_EDITED, "{what}");
    }
}
