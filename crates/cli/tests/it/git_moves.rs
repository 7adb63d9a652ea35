//! Decisions follow their plans: through a change of shape, and through a move by `git mv` that only a
//! scan has seen, into every clone, whenever it is made.

use serde_json::Value;

use crate::git_decisions::{Copy, adopted_clone, shared_story};

const CHAPTERS: &str = "acts/act-1/chapters";

fn move_chapter(copy: &Copy, from: &str, to: &str) {
    let (from, to) = (format!("{CHAPTERS}/{from}"), format!("{CHAPTERS}/{to}"));
    copy.git(&["mv", &from, &to]);
}

/// What was decided about a plan: status, progress, comments.
fn decided(copy: &Copy, node: &str) -> (String, Value, Vec<String>) {
    let shown = copy.project.json(&["show", node]);
    let comments = copy.project.json(&["comment", node]);
    let texts = comments.as_array().into_iter().flatten();
    (
        copy.project.status(node),
        shown["progress"].clone(),
        texts.map(|one| one["text"].to_string()).collect(),
    )
}

fn newest_summary(copy: &Copy) -> String {
    let log = copy.project.json(&["log"]);
    log[0]["summary"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_request_for_changes_is_kept_by_a_change_of_shape() {
    let (folder, ann) = shared_story();
    let second = format!("{CHAPTERS}/chapter-02/plan.md");
    ann.project.write(&second, "# Chapter 2\n\nThe storm.\n");
    ann.project.ok(&["approve", "act-1/chapter-02"]);
    ann.project
        .ok(&["request-changes", "act-1/chapter-02", "-m", "slower"]);
    ann.project.ok(&["insert", "act-1/chapter-02"]);
    assert_eq!(ann.project.status("act-1/chapter-03"), "draft");
    let newest = newest_summary(&ann);
    assert!(
        newest.contains("insert"),
        "the scan records nothing: {newest}"
    );
    ann.commit_all("insert");
    ann.push();
    let bob = adopted_clone(folder.path());
    assert_eq!(bob.project.status("act-1/chapter-03"), "draft");
}

#[test]
fn every_clone_sees_the_same_decisions_after_a_move_by_hand() {
    let (folder, ann) = shared_story();
    ann.project
        .ok(&["invalidate", "act-1/chapter-01", "--reason", "bad"]);
    ann.project.ok(&["approve", "act-1/chapter-02"]);
    ann.project
        .ok(&["request-changes", "act-1/chapter-02", "-m", "slower"]);
    ann.project
        .ok(&["comment", "act-1/chapter-02", "-m", "why?"]);
    ann.project.ok(&["progress", "act-1/chapter-02", "active"]);
    ann.commit_all("decide");
    ann.push();
    let bob = adopted_clone(folder.path());
    move_chapter(&ann, "chapter-01", "chapter-11");
    move_chapter(&ann, "chapter-02", "chapter-12");
    ann.project.ok(&["tree"]);
    ann.commit_all("move");
    ann.push();
    bob.pull();
    let carl = adopted_clone(folder.path());
    assert_eq!(ann.project.status("act-1/chapter-11"), "invalid");
    for node in ["act-1/chapter-11", "act-1/chapter-12"] {
        let expected = decided(&ann, node);
        assert_eq!(decided(&bob, node), expected, "{node}");
        assert_eq!(decided(&carl, node), expected, "{node}");
        for copy in [&ann, &bob, &carl] {
            let listed = copy.project.json(&["decisions", node]);
            assert!(!listed.as_array().unwrap().is_empty(), "{node}");
        }
    }
    let former = ann.project.run(&["decisions", "act-1/chapter-02"]);
    assert!(
        former.stderr.contains("tl decisions act-1/chapter-12"),
        "{}",
        former.stderr
    );
    // What was moved by hand is carried on by a change of shape.
    carl.project.ok(&["renumber", "act-1/chapter-12", "02"]);
    carl.commit_all("renumber");
    carl.push();
    bob.pull();
    assert_eq!(
        decided(&bob, "act-1/chapter-02"),
        decided(&carl, "act-1/chapter-02")
    );
    assert_eq!(decided(&carl, "act-1/chapter-02").2.len(), 1);
}

#[test]
fn a_decision_after_a_move_by_hand_tells_later_clones_of_it() {
    let (folder, ann) = shared_story();
    ann.project
        .ok(&["comment", "act-1/chapter-01", "-m", "why?"]);
    ann.project.ok(&["progress", "act-1/chapter-01", "active"]);
    ann.commit_all("decide");
    move_chapter(&ann, "chapter-01", "chapter-11");
    ann.project.ok(&["tree"]);
    ann.project.write(
        &format!("{CHAPTERS}/chapter-11/plan.md"),
        "# Another\n\nNobody boards.\n",
    );
    ann.project.ok(&["approve", "act-1/chapter-11"]);
    ann.commit_all("move and approve");
    ann.push();
    let expected = decided(&ann, "act-1/chapter-11");
    assert_eq!(expected.0, "approved");
    assert_eq!(expected.2.len(), 1);
    let bob = adopted_clone(folder.path());
    assert_eq!(decided(&bob, "act-1/chapter-11"), expected);
    assert_eq!(decided(&ann, "act-1/chapter-11"), expected);
}

#[test]
fn a_move_by_hand_can_be_told_without_another_decision() {
    let (folder, ann) = shared_story();
    ann.project
        .ok(&["comment", "act-1/chapter-01", "-m", "why?"]);
    ann.commit_all("decide");
    move_chapter(&ann, "chapter-01", "chapter-11");
    ann.project.ok(&["tree"]);
    ann.project.write(
        &format!("{CHAPTERS}/chapter-11/plan.md"),
        "# Another\n\nNobody boards.\n",
    );
    ann.project
        .ok(&["move", "--was", "chapter-01", "act-1/chapter-11"]);
    ann.commit_all("move");
    ann.push();
    let bob = adopted_clone(folder.path());
    assert_eq!(decided(&bob, "act-1/chapter-11").2.len(), 1);
    assert_eq!(
        decided(&bob, "act-1/chapter-11"),
        decided(&ann, "act-1/chapter-11")
    );
}

#[test]
fn a_new_plan_at_the_former_place_gets_the_decisions_about_that_place() {
    let (folder, ann) = shared_story();
    ann.project
        .ok(&["comment", "act-1/chapter-01", "-m", "why?"]);
    ann.commit_all("decide");
    move_chapter(&ann, "chapter-01", "chapter-11");
    ann.project.ok(&["tree"]);
    ann.project.write(
        &format!("{CHAPTERS}/chapter-01/plan.md"),
        "# New\n\nAnother one.\n",
    );
    ann.project.ok(&["tree"]);
    ann.commit_all("move");
    ann.push();
    let bob = adopted_clone(folder.path());
    for node in ["act-1/chapter-01", "act-1/chapter-11"] {
        assert_eq!(decided(&bob, node), decided(&ann, node), "{node}");
    }
}

#[test]
fn a_moved_act_takes_the_decisions_about_its_chapters_along() {
    let (folder, ann) = shared_story();
    ann.project.ok(&["progress", "act-1/chapter-01", "active"]);
    ann.commit_all("decide");
    ann.git(&["mv", "acts/act-1", "acts/act-6"]);
    ann.project.ok(&["tree"]);
    ann.commit_all("move");
    ann.push();
    let bob = adopted_clone(folder.path());
    assert_eq!(bob.project.status("act-6"), "approved");
    let expected = decided(&ann, "act-6/chapter-01");
    assert_eq!(expected.1, "active");
    assert_eq!(decided(&bob, "act-6/chapter-01"), expected);
}
