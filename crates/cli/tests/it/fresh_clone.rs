//! Fresh clones and worktrees: the first command builds the state from the files, silently.

#![expect(
    clippy::disallowed_methods,
    reason = "a test makes working trees of its own"
)]

use std::fs;
use std::path::{Path, PathBuf};

use testkit::{Output, Project};

use crate::{empty, finished, git_output, statuses};

/// A git repository with an approved story, everything committed.
fn repository() -> Project {
    let project = empty();
    assert!(project.shell("git init -q -b main ."));
    project.ok(&["init"]);
    project.plan_story();
    assert!(project.shell("git add -A && git commit -q -m start"));
    project
}

/// Runs a command in another directory, as the same user.
fn run_in(project: &Project, directory: &Path, arguments: &[&str]) -> Output {
    let mut command = project.command(arguments);
    command.current_dir(directory);
    finished(&mut command)
}

fn known_stores(project: &Project) -> Vec<String> {
    let folder = project.user_directory().join("stores");
    let mut texts: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| fs::read_to_string(entry.expect("an entry").path()).expect("text"))
        .collect();
    texts.sort();
    texts
}

fn place_beside(project: &Project, name: &str) -> PathBuf {
    project.root().with_file_name(name)
}

#[test]
fn the_first_command_in_a_clone_says_only_its_answer() {
    let project = repository();
    let clone = place_beside(&project, "clone");
    assert!(project.shell(&format!("git clone -q . {}", clone.display())));
    assert!(!clone.join(".throughline/mirror").exists());
    let output = run_in(&project, &clone, &["tree"]);
    assert_eq!(output.code, 0);
    // Of the decisions that came along, and of nothing else.
    assert!(
        output.stderr.lines().count() == 1 && output.stderr.contains("tl state adopt"),
        "{}",
        output.stderr
    );
    assert!(output.stdout.contains("scene-0101"), "{}", output.stdout);
    // Everything is there, and in order.
    let check = run_in(&project, &clone, &["check"]);
    assert_eq!(check.code, 0, "{}", check.stdout);
    assert_eq!(
        git_output(
            &project,
            &format!("-C {} status --porcelain", clone.display())
        ),
        ""
    );
    // Nobody has given a word for this clone yet.
    let of_clone = known_stores(&project)
        .into_iter()
        .find(|text| text.starts_with(&format!("{}\n", clone.display())))
        .expect("a known store");
    assert!(of_clone.contains("adopted: no"), "{of_clone}");
    let adopted = run_in(&project, &clone, &["state", "adopt", "--yes"]);
    assert_eq!(adopted.code, 0, "{}", adopted.stderr);
    assert!(
        known_stores(&project)
            .iter()
            .all(|text| !text.contains("adopted: no"))
    );
}

#[test]
fn a_worktree_of_an_adopted_repository_is_adopted_and_silent_each_time() {
    let project = repository();
    let tree = place_beside(&project, "tree");
    for round in ["the first", "the same place again"] {
        assert!(project.shell(&format!("git worktree add -q --detach {}", tree.display())));
        let output = run_in(&project, &tree, &["status"]);
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{round}");
        assert!(
            known_stores(&project)
                .iter()
                .all(|text| !text.contains("adopted: no")),
            "{round}"
        );
        assert!(project.shell(&format!("git worktree remove --force {}", tree.display())));
    }
}

#[test]
fn a_directory_that_only_names_a_repository_is_not_its_worktree() {
    let project = repository();
    let fake = place_beside(&project, "fake");
    crate::copy_directory(&project.root(), &fake, &|name| {
        name == ".git" || crate::is_ignored_by_git(name)
    });
    fs::remove_dir_all(fake.join(".throughline/mirror")).expect("removed");
    let git = project.root().join(".git");
    fs::write(fake.join(".git"), format!("gitdir: {}\n", git.display())).expect("written");
    let output = run_in(&project, &fake, &["status"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert!(
        known_stores(&project)
            .iter()
            .any(|text| text.contains("adopted: no"))
    );
}

#[test]
fn a_hook_may_be_first_and_says_nothing() {
    let project = repository();
    let tree = place_beside(&project, "tree");
    assert!(project.shell(&format!("git worktree add -q --detach {}", tree.display())));
    let payload = serde_json::json!({
        "session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": tree,
    });
    let answer = project.hook(&payload);
    assert_eq!(answer.code, 0, "{answer:?}");
    let output = run_in(&project, &tree, &["status"]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
}

#[test]
fn a_lost_state_is_rebuilt_from_the_files_and_reported() {
    let project = repository();
    let home = project.root().join(".throughline");
    for name in ["state.db", "state.db-wal", "state.db-shm", "journal.jsonl"] {
        let _ = fs::remove_file(home.join(name));
    }
    fs::remove_dir_all(home.join("mirror")).expect("removed");
    let output = project.ok(&["tree"]);
    assert!(
        output.stderr.contains("repaired: ")
            && output.stderr.contains("rebuilt from the plan files"),
        "{}",
        output.stderr
    );
    assert_eq!(
        statuses(&project),
        [
            "act-1 approved",
            "act-1/chapter-01 approved",
            "act-1/chapter-01/scene-0101 approved"
        ]
    );
    assert!(!project.ok(&["tree"]).stderr.contains("repaired"));
    project.ok(&["check"]);
}

#[test]
fn a_mirror_folder_that_came_with_a_repository_is_not_written_through() {
    let project = repository();
    let outside = place_beside(&project, "outside");
    fs::create_dir_all(&outside).expect("a directory");
    let clone = place_beside(&project, "clone");
    assert!(project.shell(&format!("git clone -q . {}", clone.display())));
    fs::create_dir_all(clone.join(".throughline/mirror")).expect("a directory");
    std::os::unix::fs::symlink(&outside, clone.join(".throughline/mirror/story")).expect("a link");
    let output = run_in(&project, &clone, &["status"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert_eq!(fs::read_dir(&outside).expect("a directory").count(), 0);
    assert!(clone.join(".throughline/mirror/story/act-1.json").is_file());
}

/// More plans than one slice: decisions and texts are complete once the build is.
#[test]
fn a_large_worktree_is_briefed_at_once_and_complete_afterwards() {
    let project = empty();
    assert!(project.shell("git init -q -b main ."));
    project.ok(&["init"]);
    for act in 1..=10 {
        project.write(&format!("acts/act-{act}/strategic-plan.md"), "# Act\n");
        for chapter in 1..=69 {
            let plan = format!("acts/act-{act}/chapters/chapter-{chapter:02}/plan.md");
            project.write(&plan, "# Chapter\n");
        }
    }
    project.ok(&["approve", "act", "10"]);
    assert!(project.shell("git add -A && git commit -q -m start"));
    let tree = place_beside(&project, "tree");
    assert!(project.shell(&format!("git worktree add -q --detach {}", tree.display())));
    let payload = serde_json::json!({
        "session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": tree,
    });
    let answer = project.hook(&payload);
    assert!(
        answer.stdout.contains("Throughline briefing:"),
        "{answer:?}"
    );
    let status = run_in(&project, &tree, &["show", "act", "10", "--json"]);
    assert!(status.stdout.contains("\"approved\""), "{}", status.stdout);
    let check = run_in(&project, &tree, &["check"]);
    assert_eq!(check.code, 0, "{}", check.stdout);
    let listed = run_in(&project, &tree, &["tree", "--json"]);
    assert_eq!(listed.stdout.matches("plan.md\"").count(), 700);
}
