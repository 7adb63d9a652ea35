//! Decisions that are on another branch, in a stash or gone: never lost, never invented.

use crate::as_session;
use crate::git_decisions::{Copy, adopted_clone, shared_story};

const CHAPTER_2: &str = "acts/act-1/chapters/chapter-02/plan.md";

fn decision_files(copy: &Copy) -> Vec<std::path::PathBuf> {
    let folders = copy.project.root().join(".throughline/decisions");
    let list = |folder: &std::path::Path| -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries
            .map(|entry| entry.expect("an entry").path())
            .collect()
    };
    list(&folders)
        .iter()
        .flat_map(|folder| list(folder))
        .collect()
}

#[test]
fn what_another_branch_decides_follows_a_renumbered_plan() {
    let (folder, ann) = shared_story();
    ann.project.ok(&["approve", "act-1/chapter-02"]);
    ann.commit_all("both");
    ann.push();
    let bob = adopted_clone(folder.path());
    let carl = adopted_clone(folder.path());
    ann.project.ok(&["renumber", "act-1/chapter-02", "5"]);
    ann.commit_all("renumbered");
    ann.push();
    let reason = ["--reason", "the storm comes too early", "--yes"];
    let reject = ["invalidate", "act-1/chapter-02"].into_iter().chain(reason);
    bob.project.ok(&reject.collect::<Vec<_>>());
    bob.commit_all("rejected");
    bob.pull();
    bob.push();
    // Said where the plan is no more, and supersedes nothing.
    carl.project
        .ok(&["comment", "act-1/chapter-02", "-m", "who steers?"]);
    carl.commit_all("commented");
    carl.pull();
    carl.push();
    bob.pull();
    ann.pull();
    let dora = adopted_clone(folder.path());
    for copy in [&ann, &bob, &carl, &dora] {
        assert_eq!(copy.project.status("act-1/chapter-05"), "invalid");
        let said = copy.project.ok(&["comment", "act-1/chapter-05"]).stdout;
        assert!(said.contains("who steers?"), "{said}");
        copy.project.ok(&["check"]);
    }
}

#[test]
fn a_first_decision_does_not_count_on_a_branch_without_it() {
    let (_folder, ann) = shared_story();
    ann.git(&["rm", "-rq", ".throughline/decisions"]);
    ann.git(&["commit", "-qm", "without decisions"]);
    ann.project.ok(&["status"]);
    ann.git(&["switch", "-qc", "approved"]);
    ann.project.ok(&["approve", "act-1"]);
    ann.commit_all("approved");
    ann.git(&["switch", "-q", "main"]);
    assert_eq!(ann.project.status("act-1"), "draft");
    ann.git(&["switch", "-q", "approved"]);
    assert_eq!(ann.project.status("act-1"), "approved");
}

#[test]
fn the_state_is_ignored_on_branches_without_the_project() {
    let ann = Copy {
        project: testkit::Project::empty(crate::binary()),
    };
    ann.git(&["init", "-q"]);
    ann.project.write("a", "1");
    ann.commit_all("before");
    ann.git(&["branch", "old"]);
    ann.project.ok(&["init", "--profile", "story"]);
    ann.project.write("acts/act-1/strategic-plan.md", "# Act\n");
    ann.project.ok(&["approve", "act-1"]);
    ann.commit_all("plans");
    ann.git(&["switch", "-q", "old"]);
    assert_eq!(ann.git(&["status", "--porcelain"]), "");
    ann.project.ok(&["status"]);
    ann.project.write("a", "2");
    ann.git(&["stash", "-qu"]);
    ann.git(&["switch", "-q", "-"]);
    assert_eq!(ann.project.status("act-1"), "approved");
    ann.git(&["switch", "-q", "old"]);
    ann.git(&["stash", "pop", "-q"]);
    ann.commit_all("work");
    assert_eq!(ann.git(&["ls-files"]), "a\n");
}

#[test]
fn an_aborted_merge_and_a_stash_lose_no_decision() {
    let (_folder, ann) = shared_story();
    ann.git(&["switch", "-qc", "side"]);
    ann.project.ok(&["comment", "act-1", "-m", "slower"]);
    ann.commit_all("side");
    ann.git(&["switch", "-q", "main"]);
    ann.commit_all("main");
    ann.project.ok(&["status"]);
    ann.git(&["merge", "-q", "--no-commit", "--no-ff", "side"]);
    ann.project.ok(&["status"]);
    ann.git(&["merge", "--abort"]);
    ann.project.ok(&["check"]);
    let restored = ann.project.ok(&["decisions", "restore"]).stdout;
    assert!(restored.contains("wrote 0 files"), "{restored}");
    ann.git(&["merge", "-q", "--no-edit", "side"]);
    ann.project.ok(&["status"]);
    ann.project.ok(&["comment", "act-1", "-m", "faster"]);
    ann.git(&["stash", "-qu"]);
    ann.project.ok(&["status"]);
    ann.project.ok(&["check"]);
    ann.project.ok(&["decisions", "restore"]);
    ann.git(&["stash", "pop", "-q"]);
    let said = ann.project.ok(&["comment", "act-1"]).stdout;
    assert!(said.contains("slower") && said.contains("faster"), "{said}");
}

#[test]
fn a_check_judges_decisions_by_their_files() {
    let (_folder, ann) = shared_story();
    ann.project.ok(&["status"]);
    let file = decision_files(&ann).pop().expect("a decision");
    let text = std::fs::read_to_string(&file).expect("a text");
    std::fs::remove_file(&file).expect("removed");
    let gone = ann.project.run(&["check"]);
    assert_eq!(gone.code, 3, "{gone:?}");
    assert!(gone.stdout.contains("is gone"), "{gone:?}");
    ann.project.ok(&["status"]);
    let path = file.strip_prefix(ann.project.root()).expect("inside");
    ann.project.write(&path.to_string_lossy(), &text);
    ann.project.ok(&["check"]);
    ann.project.ok(&["status"]);
    // Changed in place, which git does not know yet.
    ann.project
        .write(&path.to_string_lossy(), format!("{text}x"));
    let told = ann.project.ok(&["status"]).stderr;
    assert!(told.contains("does not count as a decision"), "{told}");
    assert_eq!(ann.project.status("act-1"), "draft");
}

#[test]
fn what_was_decided_without_files_becomes_files_later() {
    let (folder, ann) = shared_story();
    ann.project.ok(&["config", "set", "git.decisions", "local"]);
    ann.project.ok(&["approve", "act-1/chapter-01"]);
    assert_eq!(decision_files(&ann).len(), 1);
    ann.project.ok(&["config", "set", "git.decisions", "files"]);
    ann.project.ok(&["status"]);
    assert_eq!(decision_files(&ann).len(), 2);
    ann.commit_all("files");
    ann.push();
    let bob = adopted_clone(folder.path());
    assert_eq!(bob.project.status("act-1/chapter-01"), "approved");
}

#[test]
fn a_look_that_finds_nothing_new_does_not_hide_a_checkout() {
    let (_folder, ann) = shared_story();
    ann.project.ok(&["status"]);
    ann.git(&["switch", "-qc", "side"]);
    ann.project.write(CHAPTER_2, "# Chapter two\n\nCalm.\n");
    ann.project.ok(&["status"]);
    ann.commit_all("side");
    ann.project.ok(&["status"]);
    ann.git(&["switch", "-q", "main"]);
    let told = ann.project.ok(&["status"]).stderr;
    assert!(told.contains("checkout of main: changed"), "{told}");
}

#[test]
fn a_plan_in_the_place_of_another_keeps_its_own_approval() {
    let (folder, ann) = shared_story();
    for node in ["act-1/chapter-01", "act-1/chapter-02"] {
        ann.project.ok(&["approve", node]);
    }
    ann.commit_all("both");
    ann.push();
    let bob = adopted_clone(folder.path());
    let chapters = "acts/act-1/chapters";
    for (was, now, message) in [("01", "08", "away"), ("02", "01", "in its place")] {
        let path = |number: &str| format!("{chapters}/chapter-{number}");
        ann.git(&["mv", &path(was), &path(now)]);
        ann.project.ok(&["status"]);
        ann.commit_all(message);
    }
    ann.push();
    bob.pull();
    let carl = adopted_clone(folder.path());
    for (copy, name) in [(&ann, "ann"), (&bob, "bob"), (&carl, "carl")] {
        for node in ["act-1/chapter-01", "act-1/chapter-08"] {
            assert_eq!(copy.project.status(node), "approved", "{node} of {name}");
        }
    }
}

#[test]
fn a_claim_and_the_history_follow_a_renumbered_ticket() {
    let ann = Copy {
        project: testkit::Project::empty(crate::binary()),
    };
    ann.git(&["init", "-q"]);
    ann.git(&["checkout", "-q", "-b", "main"]);
    ann.project.ok(&["init", "--profile", "tickets"]);
    ann.project.ok(&["ticket", "new", "First"]);
    ann.project.ok(&["ticket", "new", "Second"]);
    ann.commit_all("two tickets");
    ann.git(&["switch", "-qc", "renumbered"]);
    ann.project.ok(&["renumber", "002", "009"]);
    ann.commit_all("renumbered");
    ann.git(&["switch", "-q", "main"]);
    as_session(&ann.project, "s1", &["claim", "002"]);
    ann.git(&["merge", "-q", "renumbered"]);
    let told = ann.project.ok(&["status"]).stderr;
    assert!(told.contains("moved: 002 to 009"), "{told}");
    let held = ann.project.ok(&["claim", "--list"]).stdout;
    assert!(held.contains("009") && !held.contains("002"), "{held}");
}
