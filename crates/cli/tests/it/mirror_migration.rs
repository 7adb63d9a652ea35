//! Projects of earlier versions, in which git tracked the mirror in `.throughline/state`.

use std::fs;

use testkit::Project;

use crate::{empty, git_output, statuses};

/// The `.gitignore` of earlier versions, shortened.
const FORMER_IGNORES: &str = "\
# Kept by Throughline for this machine; the mirror in state/ and config.toml belong into git.
/state.db
/state.db-*
/journal.jsonl
/lock
/looks.bin
/rebuild.lock
/logs/
/hooks.jsonl
/hook-faults
/acknowledged
/counted.bin
.tl-*
/mine/
";

/// A planned story as an earlier version left it, without git.
fn former_project() -> Project {
    let project = empty();
    project.ok(&["init"]);
    project.plan_story();
    let home = project.root().join(".throughline");
    fs::rename(home.join("mirror"), home.join("state")).expect("a mirror");
    fs::remove_file(home.join("state/.gitignore")).expect("a file");
    project.write(".throughline/.gitignore", FORMER_IGNORES);
    project
}

/// The same in git, with the mirror committed.
fn tracked_project() -> Project {
    let project = former_project();
    assert!(project.shell("git init -q -b main . && git add -A && git commit -q -m start"));
    assert!(git_output(&project, "ls-files").contains(".throughline/state/head.json"));
    project
}

#[test]
fn a_mirror_outside_of_git_is_moved_and_said_once() {
    let project = former_project();
    let before = statuses_quietly(&project);
    let home = project.root().join(".throughline");
    assert!(!home.join("state").exists());
    assert!(home.join("mirror/story/act-1.json").is_file());
    let output = project.ok(&["status"]);
    assert_eq!(output.stderr, "", "said once");
    assert_eq!(statuses(&project), before);
    let ignores = project.read(".throughline/.gitignore");
    assert!(
        ignores.contains("\n/*\n") && ignores.ends_with("/mine/\n"),
        "{ignores}"
    );
}

/// The statuses by a first command, whose message about the move is checked.
fn statuses_quietly(project: &Project) -> Vec<String> {
    let output = project.ok(&["tree"]);
    assert!(
        output.stderr.contains(".throughline/mirror"),
        "{}",
        output.stderr
    );
    assert!(output.stderr.lines().count() <= 4, "{}", output.stderr);
    statuses(project)
}

#[test]
fn a_tracked_mirror_stays_in_the_tree_until_the_user_takes_it_out() {
    let project = tracked_project();
    let output = project.ok(&["status"]);
    let lines: Vec<&str> = output.stderr.lines().collect();
    assert!(lines.len() <= 4, "{}", output.stderr);
    let next = lines
        .iter()
        .find_map(|line| line.trim().strip_prefix("next: "))
        .expect("what to commit");
    let undo = lines
        .iter()
        .find_map(|line| line.trim().strip_prefix("undo: "))
        .expect("the way back");
    assert_eq!(
        git_output(&project, "status --porcelain"),
        " M .throughline/.gitignore\n?? .throughline/decisions/\n",
        "no tracked file of the mirror is touched"
    );
    // The named commands do what they say.
    assert!(project.shell(next), "{next}");
    assert_eq!(git_output(&project, "status --porcelain"), "");
    assert!(!git_output(&project, "ls-files").contains(".throughline/state"));
    assert_eq!(project.ok(&["tree"]).stderr, "");
    assert_eq!(statuses(&project)[0], "act-1 approved");
    assert!(
        undo.starts_with("git checkout -- .throughline/.gitignore"),
        "{undo}"
    );
    project.ok(&["config", "set", "mirror.directory", ".throughline/state"]);
    project.ok(&["status"]);
    assert!(
        project
            .root()
            .join(".throughline/state/story/act-1.json")
            .is_file()
    );
}

#[test]
fn branches_from_before_and_after_the_migration_can_be_checked_out() {
    let project = tracked_project();
    assert!(project.shell("git branch old"));
    let output = project.ok(&["status"]);
    let next = output
        .stderr
        .lines()
        .find_map(|line| line.trim().strip_prefix("next: "))
        .expect("what to commit");
    assert!(project.shell(next), "{next}");
    let session = project.session("s");
    for branch in ["old", "main", "old", "main"] {
        assert!(
            project.shell(&format!("git checkout -q {branch}")),
            "{branch}"
        );
        let _ = session.prompt("go on");
        project.ok(&["status"]);
        assert_eq!(git_output(&project, "status --porcelain"), "", "{branch}");
        // A branch from before has no decisions; they come with the merge.
        let status = if branch == "old" { "draft" } else { "approved" };
        assert_eq!(statuses(&project)[0], format!("act-1 {status}"), "{branch}");
    }
}

#[test]
fn a_hook_migrates_silently_and_leaves_the_words_to_the_next_command() {
    let project = tracked_project();
    let session = project.session("s");
    let answer = session.start("startup");
    assert!(!answer.context().unwrap_or_default().contains("mirror"));
    project.write("notes.txt", "x\n");
    let _ = session.after(
        "Write",
        &serde_json::json!({ "file_path": Project::ACT, "content": "x" }),
    );
    assert_eq!(git_output(&project, "status --porcelain"), "?? notes.txt\n");
    let output = project.ok(&["status"]);
    assert!(output.stderr.contains("next: git rm"), "{}", output.stderr);
}

#[test]
fn during_a_rebase_nothing_tracked_changes() {
    let project = tracked_project();
    assert!(project.shell(
        "git checkout -q -b side && echo a > a.txt && git add -A && git commit -q -m a && \
         git checkout -q main && echo b > a.txt && git add -A && git commit -q -m b"
    ));
    assert!(
        !project.shell("git rebase -q side 2>/dev/null"),
        "a conflict of the user's own"
    );
    let output = project.ok(&["status"]);
    assert!(!output.stderr.contains("next: git"), "{}", output.stderr);
    assert!(!git_output(&project, "status --porcelain").contains(".throughline"));
    assert!(project.shell("git rebase --abort"));
    assert!(project.ok(&["status"]).stderr.contains("next: git"));
}
