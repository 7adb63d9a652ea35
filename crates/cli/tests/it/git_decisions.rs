//! Decisions as files: clones that share approvals, rejections, progress and comments through git.

use std::path::{Path, PathBuf};

use testkit::{Answer, Project};

use crate::{as_session, binary, finished};

/// A clone of a shared repository, as one person uses it.
pub(crate) struct Copy {
    pub(crate) project: Project,
}

impl Copy {
    /// Runs git and returns what it said.
    #[expect(clippy::disallowed_methods, reason = "a test needs a repository")]
    pub(crate) fn try_git(&self, arguments: &[&str]) -> (i32, String) {
        let mut command = std::process::Command::new("git");
        command
            .args(["-c", "user.name=a", "-c", "user.email=a@b.c"])
            .args([
                "-c",
                "commit.gpgsign=false",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(["-c", "pull.rebase=false", "-c", "merge.conflictStyle=merge"])
            .args(arguments)
            .current_dir(self.project.root())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_EDITOR", "true");
        let output = finished(&mut command);
        (output.code, format!("{}{}", output.stdout, output.stderr))
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let (code, said) = self.try_git(arguments);
        assert_eq!(code, 0, "git {arguments:?}: {said}");
        said
    }

    pub(crate) fn commit_all(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    pub(crate) fn push(&self) {
        self.git(&["push", "-q", "origin", "HEAD:main"]);
    }

    pub(crate) fn pull(&self) {
        self.git(&["pull", "-q", "--no-edit", "origin", "main"]);
    }

    fn statuses(&self) -> Vec<(String, String)> {
        ["act-1", "act-1/chapter-01", "act-1/chapter-02"]
            .into_iter()
            .map(|node| (node.to_owned(), self.project.status(node)))
            .collect()
    }

    fn status_of_tree(&self) -> String {
        self.git(&["status", "--porcelain"])
    }
}

pub(crate) fn bare_repository(folder: &Path) -> PathBuf {
    folder.join("origin.git")
}

/// A story in a repository with a remote, act 1 approved and pushed.
pub(crate) fn shared_story() -> (tempfile::TempDir, Copy) {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = Copy {
        project: Project::empty(binary()),
    };
    let origin = bare_repository(folder.path());
    copy.git(&["init", "-q", "--bare", &origin.to_string_lossy()]);
    copy.git(&["init", "-q"]);
    copy.git(&["checkout", "-q", "-b", "main"]);
    copy.git(&["remote", "add", "origin", &origin.to_string_lossy()]);
    copy.project.ok(&["init", "--profile", "story"]);
    for (file, text) in [
        (
            "acts/act-1/strategic-plan.md",
            "# Act one\n\nThe ship leaves.\n",
        ),
        (
            "acts/act-1/chapters/chapter-01/plan.md",
            "# Chapter one\n\nMara boards.\n",
        ),
        (
            "acts/act-1/chapters/chapter-02/plan.md",
            "# Chapter two\n\nThe storm.\n",
        ),
    ] {
        copy.project.write(file, text);
    }
    // Everyday git must work whatever is ignored; these are ours and not for git.
    copy.project.write(
        ".git/info/exclude",
        "/.throughline/state/\n/.throughline/cache/\n",
    );
    copy.project.ok(&["approve", "act-1"]);
    copy.commit_all("plans");
    copy.push();
    (folder, copy)
}

/// Another person's clone, adopted.
pub(crate) fn adopted_clone(folder: &Path) -> Copy {
    let copy = unadopted_clone(folder);
    copy.project.ok(&["state", "adopt", "--yes"]);
    copy
}

pub(crate) fn unadopted_clone(folder: &Path) -> Copy {
    let copy = Copy {
        project: Project::empty(binary()),
    };
    let origin = bare_repository(folder);
    copy.git(&["init", "-q"]);
    copy.git(&["checkout", "-q", "-b", "main"]);
    copy.git(&["remote", "add", "origin", &origin.to_string_lossy()]);
    copy.git(&["pull", "-q", "origin", "main"]);
    copy.project.write(
        ".git/info/exclude",
        "/.throughline/state/\n/.throughline/cache/\n",
    );
    if copy.project.run(&["status"]).code != 0 {
        copy.project.ok(&["state", "rebuild"]);
    }
    copy
}

#[test]
fn a_colleagues_approval_arrives_with_the_merge_and_is_never_lost() {
    let (folder, ann) = shared_story();
    let bob = adopted_clone(folder.path());
    assert_eq!(bob.project.status("act-1"), "approved");
    bob.project.ok(&["approve", "act-1/chapter-01"]);
    bob.commit_all("bob approves");
    bob.push();
    ann.project.ok(&["approve", "act-1/chapter-02"]);
    ann.commit_all("ann approves");
    ann.pull();
    let told = ann.project.ok(&["status"]);
    assert!(
        told.stderr
            .contains("received through git: approval of act-1/chapter-01"),
        "{}",
        told.stderr
    );
    for (node, status) in ann.statuses() {
        assert_eq!(status, "approved", "{node}");
    }
    ann.project.ok(&["check"]);
    ann.project.ok(&["state", "repair"]);
    assert_eq!(ann.status_of_tree(), "");
    ann.push();
    bob.pull();
    assert_eq!(bob.statuses(), ann.statuses());
    let carl = adopted_clone(folder.path());
    assert_eq!(carl.statuses(), ann.statuses());
    for copy in [&ann, &bob, &carl] {
        assert_eq!(copy.status_of_tree(), "");
    }
}

#[test]
fn a_clone_counts_the_decisions_of_others_after_adoption() {
    let (folder, _ann) = shared_story();
    let bob = unadopted_clone(folder.path());
    let told = bob.project.ok(&["status"]);
    assert_eq!(bob.project.status("act-1"), "draft");
    assert!(told.stderr.contains("tl state adopt"), "{}", told.stderr);
    let session = bob.project.session("bob's");
    let is_told = |answer: &Answer| {
        answer
            .context()
            .is_some_and(|text| text.contains("not adopted") && text.contains("`tl state adopt`"))
    };
    let start = session.start("startup").context().unwrap_or_default();
    let second = start.lines().nth(1).unwrap_or_default();
    assert!(
        second.contains("not adopted") && second.contains("`tl state adopt`"),
        "before anything rests on approvals: {start}"
    );
    assert_eq!(start.matches("not adopted").count(), 1, "{start}");
    assert!(
        !start.contains("draft"),
        "others may have approved: {start}"
    );
    let told = as_session(&bob.project, "bob's", &["status"]).stderr;
    assert!(
        told.contains("ask the person to run `tl state adopt`"),
        "an agent cannot: {told}"
    );
    assert!(is_told(&session.prompt("go on")));
    assert!(is_told(&session.prompt("go on")), "at every prompt");
    let (refused, _) = session.write("acts/act-1/chapters/chapter-03/plan.md", "# Chapter 3\n");
    assert!(refused.block().is_some(), "{refused:?}");
    // Also a plan that has no parent, and one written by a command.
    let (refused, _) = session.write("acts/act-2/strategic-plan.md", "# Act 2\n");
    let reason = refused.block().expect("no plan is written");
    assert!(reason.contains("`tl state adopt`"), "{reason}");
    let line = "echo x > acts/act-3/strategic-plan.md";
    let refused = session.before("Bash", &serde_json::json!({ "command": line }));
    assert!(refused.block().is_some(), "{refused:?}");
    let (passed, _) = session.write("src/main.rs", "fn main() {}\n");
    assert_eq!(passed.block(), None, "other files are not its business");
    bob.project.ok(&["state", "adopt", "--yes"]);
    assert_eq!(bob.project.status("act-1"), "approved");
    let (passed, _) = session.write("acts/act-2/strategic-plan.md", "# Act 2\n");
    assert_eq!(passed.block(), None);
    assert!(!is_told(&session.prompt("go on")));
}

#[test]
fn an_undone_approval_stays_undone_after_a_merge() {
    let (folder, ann) = shared_story();
    let bob = adopted_clone(folder.path());
    ann.project.ok(&["undo"]);
    assert_eq!(ann.project.status("act-1"), "draft");
    ann.commit_all("ann takes it back");
    ann.push();
    bob.project
        .ok(&["comment", "act-1", "-m", "Шторм слишком рано"]);
    bob.commit_all("bob comments");
    bob.pull();
    assert_eq!(bob.project.status("act-1"), "draft");
    bob.push();
    ann.pull();
    assert_eq!(ann.project.status("act-1"), "draft");
    let comments = ann.project.json(&["comment", "act-1"]);
    assert_eq!(comments[0]["text"], "Шторм слишком рано");
}

#[test]
fn decisions_go_and_come_with_their_branch() {
    let (_folder, ann) = shared_story();
    ann.git(&["checkout", "-q", "-b", "side"]);
    ann.project.ok(&["approve", "act-1/chapter-01"]);
    ann.project.ok(&["progress", "act-1/chapter-01", "active"]);
    ann.project
        .ok(&["invalidate", "act-1/chapter-02", "--reason", "too long"]);
    ann.commit_all("decisions");
    ann.git(&["checkout", "-q", "main"]);
    assert_eq!(ann.project.status("act-1/chapter-01"), "draft");
    assert_eq!(ann.project.status("act-1/chapter-02"), "draft");
    assert_eq!(
        ann.project.json(&["show", "act-1/chapter-01"])["progress"],
        "pending"
    );
    assert_eq!(ann.status_of_tree(), "");
    ann.git(&["checkout", "-q", "side"]);
    assert_eq!(ann.project.status("act-1/chapter-01"), "approved");
    assert_eq!(ann.project.status("act-1/chapter-02"), "invalid");
    assert_eq!(
        ann.project.json(&["show", "act-1/chapter-01"])["progress"],
        "active"
    );
    ann.project.ok(&["check"]);
}

#[test]
fn requested_changes_reach_every_clone_and_the_next_text_answers_them() {
    let (folder, ann) = shared_story();
    let bob = adopted_clone(folder.path());
    let words = "Шторм слишком рано";
    ann.project.ok(&["request-changes", "act-1", "-m", words]);
    assert_eq!(ann.project.status("act-1"), "draft");
    ann.commit_all("ann sends it back");
    ann.push();
    bob.pull();
    assert_eq!(bob.project.status("act-1"), "draft");
    let shown = bob.project.json(&["show", "act-1"]);
    assert_eq!(shown["changes_requested"]["text"], words);
    bob.project
        .write(Project::ACT, "# Act 1\n\nThe storm, later.\n");
    let shown = bob.project.json(&["show", "act-1"]);
    assert_eq!(shown["changes_requested"], serde_json::Value::Null);
    // The approval of the former text was only suspended; the undo lets it hold again.
    ann.project.ok(&["undo"]);
    assert_eq!(ann.project.status("act-1"), "approved");
    ann.project.ok(&["check"]);
}

#[test]
fn opposite_decisions_are_both_kept_and_the_stricter_holds() {
    let (folder, ann) = shared_story();
    let bob = adopted_clone(folder.path());
    bob.project
        .ok(&["invalidate", "act-1/chapter-01", "--reason", "weak"]);
    bob.commit_all("bob rejects");
    bob.push();
    ann.project.ok(&["approve", "act-1/chapter-01"]);
    ann.commit_all("ann approves");
    ann.pull();
    assert_eq!(ann.project.status("act-1/chapter-01"), "invalid");
    let told = ann.project.ok(&["status"]).stdout;
    assert!(
        told.contains("approved the same text; decide again"),
        "{told}"
    );
    let listed = ann.project.json(&["decisions", "act-1/chapter-01"]);
    let in_force = listed.as_array().expect("a list").iter();
    assert_eq!(in_force.filter(|one| one["in_force"] == true).count(), 2);
    ann.project.ok(&["approve", "act-1/chapter-01", "--force"]);
    assert_eq!(ann.project.status("act-1/chapter-01"), "approved");
}

#[test]
fn a_lost_file_is_reported_and_written_again() {
    let (_folder, ann) = shared_story();
    ann.project.ok(&["approve", "act-1/chapter-01"]);
    ann.project.ok(&["status"]);
    ann.git(&["clean", "-fdq", ".throughline/decisions"]);
    let told = ann.project.ok(&["status"]);
    assert!(
        told.stderr.contains("tl decisions restore")
            && told.stderr.contains("file missing or damaged: approval of"),
        "{}",
        told.stderr
    );
    assert!(!told.stderr.contains("with the branch"), "{}", told.stderr);
    assert_eq!(ann.project.status("act-1/chapter-01"), "draft");
    // Also by a check: an agent could delete a person's rejection.
    let check = ann.project.run(&["check"]);
    assert_eq!(check.code, 3, "{}", check.stdout);
    assert!(check.stdout.contains("decision-gone"), "{}", check.stdout);
    ann.project.ok(&["decisions", "restore"]);
    assert_eq!(ann.project.status("act-1/chapter-01"), "approved");
    ann.project.ok(&["check"]);
}

#[test]
fn the_state_can_be_deleted_without_losing_a_decision() {
    let (_folder, ann) = shared_story();
    ann.project.ok(&["approve", "act-1/chapter-01"]);
    let before = ann.statuses();
    for name in ["state.db", "state.db-wal", "state.db-shm", "journal.jsonl"] {
        let _ = std::fs::remove_file(ann.project.root().join(".throughline").join(name));
    }
    for folder in ["state", "mirror"] {
        let _ = std::fs::remove_dir_all(ann.project.root().join(".throughline").join(folder));
    }
    if ann.project.run(&["status"]).code != 0 {
        ann.project.ok(&["state", "rebuild"]);
    }
    assert_eq!(ann.statuses(), before);
}

#[test]
fn a_changed_or_foreign_file_does_not_count() {
    let (_folder, ann) = shared_story();
    ann.project.ok(&["status"]);
    let listed = ann.project.json(&["decisions", "act-1"]);
    let file = listed[0]["file"].as_str().expect("a path").to_owned();
    let forged = ann.project.read(&file).replace("act-1", "act-1/chapter-01");
    let name = "00".repeat(20);
    ann.project
        .write(&format!(".throughline/decisions/00/{name}.json"), forged);
    let told = ann.project.ok(&["status"]);
    assert!(told.stderr.contains("does not count"), "{}", told.stderr);
    assert_eq!(ann.project.status("act-1/chapter-01"), "draft");
    assert_eq!(ann.project.status("act-1"), "approved");
}

#[test]
fn superseded_files_are_pruned_unless_a_branch_needs_them() {
    let (_folder, ann) = shared_story();
    ann.git(&["branch", "old"]);
    ann.project.ok(&["undo"]);
    ann.project.ok(&["approve", "act-1"]);
    ann.commit_all("again");
    ann.push();
    let kept = ann.project.json(&["decisions", "prune"]);
    assert_eq!(kept["removed"].as_array().map(Vec::len), Some(1), "{kept}");
    assert_eq!(kept["kept"], 1);
    ann.git(&["branch", "-D", "old"]);
    ann.commit_all("pruned");
    ann.push();
    let pruned = ann.project.json(&["decisions", "prune"]);
    assert_eq!(pruned["kept"], 0, "{pruned}");
    assert_eq!(ann.project.status("act-1"), "approved");
    ann.project.ok(&["check"]);
}

#[test]
fn a_forge_merges_any_two_branches_without_a_conflict_in_our_files() {
    let (_folder, ann) = shared_story();
    for (branch, node) in [("one", "act-1/chapter-01"), ("two", "act-1/chapter-02")] {
        ann.git(&["checkout", "-q", "-b", branch, "main"]);
        ann.project
            .ok(&["invalidate", "act-1", "--reason", "once more"]);
        ann.project.ok(&["approve", "act-1", "--force"]);
        ann.project.ok(&["approve", node]);
        ann.project.ok(&["comment", node, "-m", branch]);
        ann.project.ok(&["decisions", "prune"]);
        ann.commit_all(branch);
    }
    let (code, said) = ann.try_git(&["merge-tree", "--write-tree", "one", "two"]);
    assert_eq!(code, 0, "{said}");
    ann.git(&["merge", "-q", "--no-edit", "one"]);
    for (node, status) in ann.statuses() {
        assert_eq!(status, "approved", "{node}");
    }
}

#[test]
fn a_moved_plan_is_approved_in_clones_that_never_saw_the_old_place() {
    let (folder, ann) = shared_story();
    ann.project.ok(&["approve", "act-1/chapter-02"]);
    ann.commit_all("approve");
    ann.git(&[
        "mv",
        "acts/act-1/chapters/chapter-02",
        "acts/act-1/chapters/chapter-05",
    ]);
    ann.commit_all("move");
    ann.push();
    assert_eq!(ann.project.status("act-1/chapter-05"), "approved");
    let bob = adopted_clone(folder.path());
    assert_eq!(bob.project.status("act-1/chapter-05"), "approved");
    assert_eq!(ann.status_of_tree(), "");
}

#[test]
fn a_plan_and_its_approval_go_and_come_with_their_branch() {
    let (_folder, ann) = shared_story();
    ann.git(&["checkout", "-q", "-b", "side"]);
    let file = "acts/act-1/chapters/chapter-03/plan.md";
    ann.project.write(file, "# Chapter three\n\nСтоим.\n");
    ann.project.ok(&["approve", "act-1/chapter-03"]);
    ann.project
        .ok(&["comment", "act-1/chapter-03", "-m", "good"]);
    ann.commit_all("three");
    ann.git(&["checkout", "-q", "main"]);
    let told = ann.project.ok(&["tree"]);
    assert!(!told.stdout.contains("chapter-03"), "{}", told.stdout);
    assert!(
        !told.stderr.contains("tl decisions restore"),
        "{}",
        told.stderr
    );
    ann.git(&["checkout", "-q", "side"]);
    assert_eq!(ann.project.status("act-1/chapter-03"), "approved");
    assert_eq!(
        ann.project.json(&["comment", "act-1/chapter-03"])[0]["text"],
        "good"
    );
    ann.project.ok(&["check"]);
}

#[test]
fn a_pinned_note_travels_with_git_and_so_does_its_removal() {
    let (folder, ann) = shared_story();
    let bob = adopted_clone(folder.path());
    let pinned = |copy: &Copy| -> Vec<(String, String)> {
        copy.project.ok(&["status"]);
        let notes = copy.project.json(&["note", "list"]);
        let notes = notes.as_array().expect("a list").clone();
        let text =
            |note: &serde_json::Value, key: &str| note[key].as_str().unwrap_or_default().to_owned();
        notes
            .iter()
            .filter(|note| note["pinned"] == true)
            .map(|note| (text(note, "stamp"), text(note, "text")))
            .collect()
    };
    ann.project
        .ok(&["note", "add", "--pin", "No new dependency"]);
    ann.project
        .ok(&["note", "add", "a thought of this machine"]);
    bob.project.ok(&["note", "add", "--pin", "Tests first"]);
    for copy in [&ann, &bob] {
        copy.commit_all("notes");
    }
    ann.push();
    bob.pull();
    bob.push();
    ann.pull();
    // Both were pinned in the same minute of two clones; each clone has both, and no other note.
    for copy in [&ann, &bob] {
        let mut texts: Vec<String> = pinned(copy).into_iter().map(|(_, text)| text).collect();
        texts.sort();
        assert_eq!(texts, ["No new dependency", "Tests first"]);
        assert_eq!(copy.status_of_tree(), "");
    }
    let notes = bob.project.json(&["note", "list"]).to_string();
    assert!(!notes.contains("a thought of this machine"), "{notes}");

    let (stamp, _) = pinned(&bob)
        .into_iter()
        .find(|(_, text)| text == "No new dependency")
        .expect("the note of ann");
    bob.project.ok(&["note", "remove", &stamp]);
    bob.commit_all("removed");
    bob.push();
    ann.pull();
    let left: Vec<String> = pinned(&ann).into_iter().map(|(_, text)| text).collect();
    assert_eq!(left, ["Tests first"]);
}

#[test]
fn an_override_is_a_decision_that_lets_nothing_pass_elsewhere() {
    let (folder, ann) = shared_story();
    let bob = adopted_clone(folder.path());
    let words = [
        "gate",
        "override",
        "shrink",
        "act-1",
        "--reason",
        "an outline",
    ];
    let done = ann.project.run_as_person("ann", "", &words);
    assert_eq!(done.code, 0, "{}", done.stdout);
    ann.commit_all("override");
    ann.push();
    bob.pull();
    let listed = bob.project.ok(&["decisions", "act-1"]).stdout;
    assert!(
        listed.contains("overridden by human:ann: shrink: an outline"),
        "{listed}"
    );
    assert_eq!(bob.project.status("act-1"), "approved");
    // Bob's agent is still blocked.
    let session = bob.project.session("s");
    let _ = session.start("startup");
    bob.project.write(
        "acts/act-1/strategic-plan.md",
        format!("# Act one\n\n{}", "The ship leaves.\n".repeat(60)),
    );
    let _ = session.read("acts/act-1/strategic-plan.md");
    let (reply, _) = session.write("acts/act-1/strategic-plan.md", "# Act one\n");
    assert!(
        reply.block().is_some_and(|why| why.contains("shrink")),
        "{reply:?}"
    );
}

#[test]
fn an_undone_override_stays_undone_after_a_merge() {
    let (folder, ann) = shared_story();
    let words = ["gate", "override", "shrink", "act-1", "--reason", "short"];
    assert_eq!(ann.project.run_as_person("ann", "", &words).code, 0);
    ann.commit_all("override");
    ann.push();
    let bob = adopted_clone(folder.path());
    let in_force = |copy: &Copy| {
        let listed = copy.project.json(&["decisions", "act-1"]);
        let list = listed.as_array().cloned().unwrap_or_default();
        let holds =
            |one: &&serde_json::Value| one["decision"] == "overridden" && one["in_force"] == true;
        list.iter().filter(holds).count()
    };
    assert_eq!((in_force(&ann), in_force(&bob)), (1, 1));
    let log = ann.project.json(&["log"]);
    let operation = log
        .as_array()
        .and_then(|log| log.iter().find(|one| one["verb"] == "override"))
        .map(|one| one["operation"].to_string())
        .expect("the override");
    ann.project.ok(&["undo", &operation]);
    ann.commit_all("taken back");
    ann.push();
    bob.project.ok(&["comment", "act-1", "-m", "fine"]);
    bob.commit_all("bob comments");
    bob.pull();
    bob.push();
    ann.pull();
    assert_eq!((in_force(&ann), in_force(&bob)), (0, 0));
}

#[test]
fn a_comment_that_was_taken_back_is_gone_in_every_clone() {
    let (folder, ann) = shared_story();
    let bob = adopted_clone(folder.path());
    let comments = |copy: &Copy| -> usize {
        let list = copy.project.json(&["comment", "act-1"]);
        list.as_array().expect("a list").len()
    };
    let said = ann
        .project
        .json(&["comment", "act-1", "-m", "The storm comes too early"]);
    ann.commit_all("comment");
    ann.push();
    bob.pull();
    assert_eq!(comments(&bob), 1);
    ann.project.ok(&["undo", &said["operation"].to_string()]);
    ann.commit_all("no comment");
    ann.push();
    bob.pull();
    assert_eq!((comments(&ann), comments(&bob)), (0, 0));
}

/// The folder is committed and shared, so no text that a person wrote may carry a secret into it.
#[test]
fn decision_files_hold_no_secrets() {
    let (_folder, ann) = shared_story();
    let secret = format!("ghp_{}", "a1b2c3d4e5f6".repeat(3));
    let said = format!("the token is {secret}");
    ann.project.ok(&["comment", "act-1", "-m", &said]);
    ann.project
        .ok(&["invalidate", "act-1/chapter-02", "--reason", &said]);
    ann.project.ok(&["note", "add", "--pin", &said]);
    let mut files = 0;
    let mut folders = vec![ann.project.root().join(".throughline/decisions")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                files += 1;
                let text = std::fs::read_to_string(entry.path()).unwrap();
                assert!(!text.contains(&secret), "{text}");
            }
        }
    }
    assert!(files >= 3, "{files} decision files");
}

/// No command looked at the folder between the decision and `git clean`.
#[test]
fn a_decision_that_git_clean_removes_at_once_can_be_restored() {
    let (_folder, ann) = shared_story();
    ann.project.ok(&["status"]);
    for entry in std::fs::read_dir(ann.project.root().join(".git/throughline")).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().contains("decisions-look") {
            std::fs::remove_file(path).unwrap();
        }
    }
    ann.project.ok(&["approve", "act-1/chapter-01"]);
    ann.git(&["clean", "-fdq", ".throughline/decisions"]);
    let told = ann.project.ok(&["status"]);
    assert!(told.stderr.contains("tl decisions restore"), "{told:?}");
    ann.project.ok(&["decisions", "restore"]);
    assert_eq!(ann.project.status("act-1/chapter-01"), "approved");
}

#[test]
fn the_verdict_of_a_review_travels_with_git_and_so_does_its_undo() {
    let (folder, ann) = shared_story();
    let bob = adopted_clone(folder.path());
    let of = ["--of", "act-1"];
    let review = |copy: &Copy, words: &[&str]| {
        let words: Vec<&str> = ["review"].iter().chain(words).chain(&of).copied().collect();
        let output = copy.project.run(&words);
        // Exit code 3: the review goes on.
        assert!(matches!(output.code, 0 | 3), "{}", output.stderr);
        output
    };
    let share = |from: &Copy, to: &Copy| {
        from.commit_all("review");
        from.push();
        to.pull();
    };
    let verdicts = |copy: &Copy| -> Vec<(String, String)> {
        let shown = copy.project.json(&["review", "status", "--of", "act-1"]);
        let given = shown["verdicts"].as_array().cloned().unwrap_or_default();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        given
            .iter()
            .map(|one| (text(&one["outcome"]), text(&one["findings"][0])))
            .collect()
    };
    let failed = (
        "failed".to_owned(),
        "qa-001 (MUST): the ship stays".to_owned(),
    );
    let passed = ("passed".to_owned(), String::new());

    review(&ann, &["add", "--check", "it moves", "--severity", "MUST"]);
    review(
        &ann,
        &["verdict", "qa-001", "fail", "--finding", "the ship stays"],
    );
    // The judgement of one check is no decision.
    assert_eq!(verdicts(&ann), []);
    review(&ann, &["conclude"]);
    share(&ann, &bob);
    assert_eq!(verdicts(&bob), std::slice::from_ref(&failed));

    review(&ann, &["verdict", "qa-001", "pass"]);
    review(&ann, &["conclude"]);
    share(&ann, &bob);
    let first = bob.project.ok(&["status"]).stderr;
    let words = "received through git: the review of act-1 passed, concluded by";
    assert!(first.contains(words), "{first}");
    assert!(!bob.project.ok(&["status"]).stderr.contains(words));
    assert!(bob.project.ok(&["log"]).stdout.contains(words));
    assert_eq!(verdicts(&bob), std::slice::from_ref(&passed));
    assert_eq!(verdicts(&ann), std::slice::from_ref(&passed));
    assert_eq!(bob.status_of_tree(), "");

    // What the undone conclusion replaced holds again, in every clone; and the other way round.
    let undone = ann.project.json(&["undo"])["operation"].to_string();
    share(&ann, &bob);
    for copy in [&ann, &bob] {
        assert_eq!(verdicts(copy), std::slice::from_ref(&failed));
    }
    ann.project.ok(&["undo", &undone]);
    share(&ann, &bob);
    for copy in [&ann, &bob] {
        assert_eq!(verdicts(copy), std::slice::from_ref(&passed));
    }

    // A later review of another clone replaces it; without one before it, an undo withdraws.
    review(&bob, &["add", "--check", "it turns", "--severity", "MUST"]);
    review(
        &bob,
        &["verdict", "qa-001", "fail", "--finding", "the ship stays"],
    );
    review(&bob, &["conclude"]);
    share(&bob, &ann);
    assert_eq!(verdicts(&ann), [failed]);
    let listed = ann.project.ok(&["decisions"]).stdout;
    assert!(listed.contains("reviewed by"), "{listed}");
}

#[test]
fn opposite_verdicts_of_one_review_are_both_kept() {
    let (folder, ann) = shared_story();
    let bob = adopted_clone(folder.path());
    for (copy, word) in [(&ann, "pass"), (&bob, "fail")] {
        for words in [
            &["review", "add", "--check", "it moves", "--severity", "MUST"][..],
            &["review", "verdict", "qa-001", word, "--finding", "x"],
            &["review", "conclude"],
        ] {
            let words: Vec<&str> = words.iter().chain(&["--of", "scene"]).copied().collect();
            let output = copy.project.run(&words);
            assert!(matches!(output.code, 0 | 3), "{}", output.stderr);
        }
        copy.commit_all(word);
    }
    ann.push();
    bob.pull();
    bob.push();
    ann.pull();
    let carl = adopted_clone(folder.path());
    for copy in [&ann, &bob, &carl] {
        let shown = copy.project.json(&["review", "status", "--of", "scene"]);
        let mut outcomes: Vec<&str> = shown["verdicts"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|one| one["outcome"].as_str())
            .collect();
        outcomes.sort_unstable();
        assert_eq!(outcomes, ["failed", "passed"]);
    }
    // Who has only the verdicts sees the stricter one hold.
    let shown = carl.project.json(&["review", "status", "--of", "scene"]);
    assert_eq!(shown["state"], "RETRY");
    // An undo takes back what this clone decided, and nothing else.
    ann.project.ok(&["undo"]);
    let shown = ann.project.json(&["review", "status", "--of", "scene"]);
    assert_eq!(shown["verdicts"][0]["outcome"], "failed");
    assert_eq!(shown["verdicts"].as_array().map(Vec::len), Some(1));
}

#[test]
fn an_accepted_finding_holds_in_every_clone_until_the_review_passes() {
    let (folder, ann) = shared_story();
    let bob = adopted_clone(folder.path());
    let review = |copy: &Copy, words: &[&str]| {
        let words: Vec<&str> = ["review"]
            .iter()
            .chain(words)
            .chain(&["--of", "act-1"])
            .copied()
            .collect();
        let output = copy.project.run_as_person("ann", "", &words);
        // Exit code 3: the review goes on.
        assert!(matches!(output.code, 0 | 3), "{}", output.stdout);
    };
    let verdicts = |copy: &Copy| -> Vec<(String, String)> {
        let shown = copy.project.json(&["review", "status", "--of", "act-1"]);
        let given = shown["verdicts"].as_array().cloned().unwrap_or_default();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let mut found: Vec<(String, String)> = given
            .iter()
            .map(|one| (text(&one["outcome"]), text(&one["findings"][0])))
            .collect();
        found.sort();
        found
    };
    let share = |from: &Copy, to: &Copy| {
        from.commit_all("review");
        from.push();
        to.pull();
    };
    review(&ann, &["add", "--check", "it moves", "--severity", "MUST"]);
    review(
        &ann,
        &["verdict", "qa-001", "fail", "--finding", "the ship stays"],
    );
    review(&ann, &["accept", "qa-001", "--reason", "it leaves later"]);
    share(&ann, &bob);
    let finding = "qa-001 (MUST): the ship stays; human:ann: it leaves later".to_owned();
    let accepted = ("accepted".to_owned(), finding.clone());
    for copy in [&ann, &bob] {
        assert_eq!(verdicts(copy), std::slice::from_ref(&accepted));
    }
    let listed = bob.project.ok(&["decisions"]).stdout;
    assert!(listed.contains("human:ann"), "{listed}");

    // Passing names what was accepted, so it replaces the acceptance, here and there.
    review(&ann, &["conclude"]);
    share(&ann, &bob);
    for copy in [&ann, &bob] {
        assert_eq!(verdicts(copy), [("passed".to_owned(), finding.clone())]);
    }
    // Undone, the acceptance alone holds again.
    let undone = ann.project.run_as_person("ann", "y\n", &["undo"]);
    assert_eq!(undone.code, 0, "{}", undone.stdout);
    share(&ann, &bob);
    for copy in [&ann, &bob] {
        assert_eq!(verdicts(copy), std::slice::from_ref(&accepted));
    }
    assert_eq!(bob.status_of_tree(), "");
}
