//! `tl state adopt`: state that came with a cloned project.

use crate::{assert_refused, binary, copy_directory, is_ignored_by_git, planned, statuses};
use testkit::Project;

/// Clones a project of an earlier version, in which git tracked the mirror, for another user.
fn cloned(from: &Project) -> Project {
    let clone = Project::empty(binary());
    copy_directory(&from.root(), &clone.root(), &is_ignored_by_git);
    let home = clone.root().join(".throughline");
    std::fs::rename(home.join("mirror"), home.join("state")).expect("a mirror");
    clone
}

#[test]
fn approvals_of_others_do_not_count_until_adopted() {
    let original = planned();
    let clone = cloned(&original);
    for arguments in [
        ["status"].as_slice(),
        &["tree"],
        &["show", "act-1"],
        &["plan", "chapter", "2"],
        &["approve", "act-1"],
        &["check"],
        &["state", "repair"],
        &["log"],
        &["undo"],
    ] {
        assert_refused(
            &clone,
            arguments,
            "unavailable",
            &[
                "was not adopted by this user",
                "tl state adopt",
                "tl state rebuild",
            ],
        );
    }
    let output = clone.ok(&["state", "adopt", "--yes"]);
    assert_eq!(output.stdout, "✓ adopted 3 nodes, 3 approved\n");
    assert_eq!(clone.json(&["tree"]), original.json(&["tree"]));
    clone.ok(&["plan", "chapter", "2"]);
    clone.ok(&["check"]);
    assert_eq!(clone.json(&["log", "--limit", "1"])[0]["verb"], "adopt");
}

#[test]
fn adopting_is_a_persons_decision() {
    let clone = cloned(&planned());
    assert_refused(
        &clone,
        &["state", "adopt"],
        "refused",
        &[
            "a person's decision",
            "in a terminal",
            "tl state adopt --yes",
        ],
    );
    assert_refused(&clone, &["status"], "unavailable", &["was not adopted"]);
}

#[test]
fn a_rebuild_instead_gives_drafts() {
    let clone = cloned(&planned());
    clone.ok(&["state", "rebuild"]);
    assert_eq!(
        statuses(&clone),
        [
            "act-1 draft",
            "act-1/chapter-01 draft",
            "act-1/chapter-01/scene-0101 draft"
        ]
    );
    assert_refused(
        &clone,
        &["plan", "chapter", "2"],
        "refused",
        &["`act-1` is `draft`"],
    );
    clone.ok(&["check"]);
}

#[test]
fn a_copied_database_is_not_believed_either() {
    let original = planned();
    let clone = Project::empty(binary());
    copy_directory(&original.root(), &clone.root(), &|_| false);
    assert_refused(&clone, &["status"], "unavailable", &["was not adopted"]);
    let adopted = clone.json(&["state", "adopt", "--yes"]);
    assert_eq!(adopted["status_counts"]["approved"], 3);
    assert_eq!(clone.json(&["tree"]), original.json(&["tree"]));
    assert_eq!(
        clone.json(&["versions", "act-1"])["versions"],
        original.json(&["versions", "act-1"])["versions"]
    );
}

#[test]
fn adopted_once_is_enough() {
    let clone = cloned(&planned());
    clone.ok(&["state", "adopt", "--yes"]);
    clone.ok(&["status"]);
    clone.ok(&["state", "adopt", "--yes"]);
    assert_eq!(clone.status("act-1"), "approved");
}

#[test]
fn text_edited_after_the_approval_is_a_draft_also_here() {
    let clone = cloned(&planned());
    clone.write(Project::CHAPTER, "# Chapter 1, edited in transit\n");
    clone.ok(&["state", "adopt", "--yes"]);
    assert_eq!(
        statuses(&clone),
        [
            "act-1 approved",
            "act-1/chapter-01 draft",
            "act-1/chapter-01/scene-0101 requires-revalidation"
        ]
    );
}

#[test]
fn a_repository_cannot_say_where_the_user_keeps_trust() {
    let clone = cloned(&planned());
    // A folder in the repository that looks like a user directory changes nothing.
    copy_directory(
        &planned().user_directory(),
        &clone.root().join("home"),
        &|_| false,
    );
    assert_refused(&clone, &["status"], "unavailable", &["was not adopted"]);
}

#[test]
fn the_same_user_may_clone_and_move() {
    let original = planned();
    let target = original.root().parent().expect("a parent").join("moved");
    std::fs::rename(original.root(), &target).expect("moved");
    let mut command = original.command(&["--project", target.to_str().expect("Unicode"), "tree"]);
    command.current_dir("/");
    let output = crate::finished(&mut command);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert!(
        output.stdout.starts_with("act-1  ✓ approved"),
        "{}",
        output.stdout
    );
}

#[test]
fn init_does_not_adopt() {
    let clone = cloned(&planned());
    let output = clone.run(&["init"]);
    assert_eq!(output.code, 1, "{}", output.stdout);
    assert!(
        output.stderr.contains("tl state adopt"),
        "{}",
        output.stderr
    );
}
