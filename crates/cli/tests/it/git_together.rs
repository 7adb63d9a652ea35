//! People who share plans through git: what one decides or says, the others see as it was meant.

use serde_json::Value;
use testkit::Project;

use crate::git_decisions::{Copy, adopted_clone, bare_repository, shared_story, unadopted_clone};
use crate::{binary, text};

/// Tickets in a repository with a remote, pushed.
fn shared_tickets() -> (tempfile::TempDir, Copy) {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = Copy {
        project: Project::empty(binary()),
    };
    let origin = bare_repository(folder.path());
    copy.git(&["init", "-q", "--bare", &origin.to_string_lossy()]);
    copy.git(&["init", "-q"]);
    copy.git(&["checkout", "-q", "-b", "main"]);
    copy.git(&["remote", "add", "origin", &origin.to_string_lossy()]);
    copy.project.ok(&["init", "--profile", "tickets"]);
    copy.project.ok(&["ticket", "new", "first"]);
    copy.commit_all("tickets");
    copy.push();
    (folder, copy)
}

/// What a clone shows of a ticket: status, progress, and its comments with their states.
fn shown(copy: &Copy, node: &str) -> (String, String, Vec<String>) {
    let view = copy.project.json(&["show", node]);
    let comments = copy.project.json(&["comment", node]);
    let comments = comments.as_array().into_iter().flatten();
    let mut comments: Vec<String> = comments
        .map(|one| format!("{}: {}", text(one, "text"), text(one, "state")))
        .collect();
    comments.sort();
    (
        text(&view, "status").to_owned(),
        text(&view, "progress").to_owned(),
        comments,
    )
}

fn state_of_comment(copy: &Copy, node: &str) -> String {
    text(&copy.project.json(&["comment", node])[0], "state").to_owned()
}

#[test]
fn adopting_may_be_the_first_command_in_a_clone() {
    let (folder, ann) = shared_story();
    let bob = Copy {
        project: Project::empty(binary()),
    };
    let origin = bare_repository(folder.path());
    bob.git(&["init", "-q"]);
    bob.git(&["remote", "add", "origin", &origin.to_string_lossy()]);
    bob.git(&["pull", "-q", "origin", "main"]);
    let adopted = bob.project.ok(&["state", "adopt", "--yes"]);
    assert_eq!(adopted.stdout, "✓ adopted 3 nodes, 1 approved\n");
    bob.project.ok(&["approve", "act-1/chapter-01"]);
    bob.commit_all("one");
    bob.git(&["push", "-q", "origin", "HEAD:main"]);
    ann.pull();
    assert_eq!(ann.project.status("act-1/chapter-01"), "approved");
}

#[test]
fn a_comment_is_open_in_every_clone_until_the_text_changes_or_is_decided_on() {
    let (folder, ann) = shared_story();
    let bob = adopted_clone(folder.path());
    let file = "acts/act-1/chapters/chapter-01/plan.md";
    ann.project.write(file, "# Chapter one\n\nMara waits.\n");
    ann.project
        .ok(&["comment", "act-1/chapter-01", "-m", "keep the storm"]);
    ann.commit_all("said");
    ann.push();
    bob.pull();
    let carl = adopted_clone(folder.path());
    for copy in [&ann, &bob, &carl] {
        assert_eq!(state_of_comment(copy, "act-1/chapter-01"), "open");
    }
    // Another look at the same text is no answer.
    bob.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    bob.project.ok(&["tree"]);
    bob.git(&["checkout", "-q", "main"]);
    assert_eq!(state_of_comment(&bob, "act-1/chapter-01"), "open");
    bob.project
        .write(file, "# Chapter one\n\nMara waits for the storm.\n");
    assert_eq!(state_of_comment(&bob, "act-1/chapter-01"), "answered");
    carl.project.ok(&["approve", "act-1/chapter-01"]);
    assert_eq!(state_of_comment(&carl, "act-1/chapter-01"), "answered");
}

#[test]
fn progress_and_comments_survive_another_branch_and_the_way_back() {
    let (_folder, ann) = shared_tickets();
    ann.git(&["checkout", "-q", "-b", "feature"]);
    ann.project.ok(&["ticket", "new", "search"]);
    ann.project.ok(&["focus", "enter", "002"]);
    ann.project.ok(&["comment", "002", "-m", "small steps"]);
    ann.commit_all("search");
    let before = shown(&ann, "002");
    assert_eq!(before.1, "active");
    assert_eq!(before.2, ["small steps: open"]);
    ann.git(&["checkout", "-q", "main"]);
    ann.project.refused(&["show", "002"]);
    ann.git(&["checkout", "-q", "feature"]);
    assert_eq!(shown(&ann, "002"), before);
    // What the file newly states counts.
    ann.git(&["checkout", "-q", "main"]);
    ann.project.ok(&["tree"]);
    ann.git(&["checkout", "-q", "feature"]);
    let file = "tickets/002-search/ticket.md";
    let stated = ann.project.read(file);
    ann.project
        .write(file, stated.replace("status: ready", "status: blocked"));
    assert_eq!(shown(&ann, "002").1, "blocked");
}

#[test]
fn of_two_tickets_with_one_id_each_keeps_its_own_decisions() {
    let (folder, ann) = shared_tickets();
    let bob = adopted_clone(folder.path());
    for (copy, title, progress) in [(&ann, "alpha", "active"), (&bob, "zebra", "blocked")] {
        copy.project.ok(&["ticket", "new", title]);
        copy.project.ok(&["approve", "002"]);
        copy.project.ok(&["progress", "002", progress]);
        let said = format!("on {title}");
        copy.project.ok(&["comment", "002", "-m", &said]);
        copy.commit_all(title);
    }
    ann.push();
    bob.pull();
    bob.git(&["push", "-q", "origin", "HEAD:main"]);
    ann.pull();
    let carl = adopted_clone(folder.path());
    let alpha = (
        "approved".to_owned(),
        "active".to_owned(),
        vec!["on alpha: open".to_owned()],
    );
    let zebra = (
        "approved".to_owned(),
        "blocked".to_owned(),
        vec!["on zebra: open".to_owned()],
    );
    for copy in [&ann, &bob, &carl] {
        assert_eq!(shown(copy, "002"), alpha);
        assert_eq!(shown(copy, "002~2"), zebra);
    }
    carl.project.ok(&["renumber", "002~2"]);
    carl.commit_all("renumber");
    carl.push();
    ann.pull();
    bob.pull();
    let dan = adopted_clone(folder.path());
    for copy in [&carl, &ann, &bob, &dan] {
        assert_eq!(shown(copy, "002"), alpha);
        let renumbered = shown(copy, "003");
        assert_eq!(renumbered.1, "blocked");
        assert_eq!(renumbered.2.len(), 1, "{renumbered:?}");
    }
}

#[test]
fn a_copied_ticket_has_none_of_the_decisions_about_the_other() {
    let (folder, ann) = shared_tickets();
    ann.project.ok(&["progress", "001", "blocked"]);
    assert!(
        ann.project
            .shell("cp -r tickets/001-first tickets/001-copy")
    );
    ann.project.ok(&["tree"]);
    ann.commit_all("copied");
    ann.push();
    let bob = adopted_clone(folder.path());
    for copy in [&ann, &bob] {
        // Labelled by path: the copy has the id itself.
        assert_eq!(shown(copy, "001").1, "pending");
        assert_eq!(shown(copy, "001~2").1, "blocked");
    }
}

#[test]
fn a_decision_file_that_was_changed_does_not_count_and_is_a_finding() {
    let (_folder, ann) = shared_story();
    ann.project.ok(&["status"]);
    let file = text(&ann.project.json(&["decisions", "act-1"])[0], "file").to_owned();
    let whole = ann.project.read(&file);
    ann.project.write(
        &file,
        whole.replace("\"node\": \"story:act-1\"", "\"node\": \"story:act-9\""),
    );
    let checked = ann.project.run(&["check"]);
    assert_eq!(checked.code, 3, "{}", checked.stdout);
    assert!(
        checked.stdout.contains("decision-damaged") && checked.stdout.contains(&file),
        "{}",
        checked.stdout
    );
    ann.git(&["commit", "-qam", "edit"]);
    let told = ann.project.ok(&["status"]);
    assert!(
        told.stderr.contains("does not count as a decision"),
        "{}",
        told.stderr
    );
    assert_eq!(ann.project.status("act-1"), "draft");
    // As long as it is damaged, every command says so.
    assert_eq!(ann.project.run(&["check"]).code, 3);
    ann.project.write(&file, whole);
    ann.git(&["commit", "-qam", "repair"]);
    assert_eq!(ann.project.status("act-1"), "approved");
    ann.project.ok(&["check"]);
}

#[test]
fn a_foreign_file_among_the_decisions_stays_a_finding() {
    let (_folder, ann) = shared_story();
    let name = "00".repeat(20);
    let file = format!(".throughline/decisions/00/{name}.json");
    ann.project.write(&file, "{}\n");
    ann.project.ok(&["status"]);
    ann.project.ok(&["status"]);
    for _ in 0..2 {
        let checked = ann.project.run(&["check"]);
        assert_eq!(checked.code, 3, "{}", checked.stdout);
        assert!(checked.stdout.contains(&file), "{}", checked.stdout);
    }
}

#[test]
fn a_move_carries_comments_and_progress_to_every_clone() {
    let (folder, ann) = shared_story();
    for (node, words) in [("act-1/chapter-01", "early"), ("act-1/chapter-02", "late")] {
        ann.project.ok(&["approve", node]);
        ann.project.ok(&["progress", node, "active"]);
        ann.project.ok(&["comment", node, "-m", words]);
    }
    ann.commit_all("decided");
    let chapters = "acts/act-1/chapters";
    let (from, to) = (
        format!("{chapters}/chapter-01"),
        format!("{chapters}/chapter-05"),
    );
    ann.git(&["mv", &from, &to]);
    // Rewritten on the way: only a person can say that it is the same plan.
    let (from, to) = (
        format!("{chapters}/chapter-02"),
        format!("{chapters}/chapter-06"),
    );
    ann.git(&["mv", &from, &to]);
    ann.project.write(
        &format!("{to}/plan.md"),
        "# Another chapter\n\nAll is new.\n",
    );
    ann.project
        .ok(&["move", "--was", "act-1/chapter-02", "act-1/chapter-06"]);
    ann.commit_all("move");
    ann.push();
    let bob = adopted_clone(folder.path());
    for copy in [&ann, &bob] {
        let moved = shown(copy, "act-1/chapter-05");
        assert_eq!((moved.0.as_str(), moved.1.as_str()), ("approved", "active"));
        assert_eq!(moved.2.len(), 1, "{moved:?}");
        let rewritten = shown(copy, "act-1/chapter-06");
        assert_eq!(
            (rewritten.0.as_str(), rewritten.1.as_str()),
            ("draft", "active")
        );
        assert_eq!(rewritten.2, ["late: answered"]);
    }
}

#[test]
fn a_session_hears_the_words_that_a_pull_brings() {
    let (folder, ann) = shared_story();
    let bob = adopted_clone(folder.path());
    let session = bob.project.session("s");
    let briefed = session.start("startup").context().unwrap_or_default();
    assert!(briefed.contains("1 act"), "{briefed}");
    assert!(session.prompt("go on").is_silent());
    let say = |words: &[&str]| {
        let said = ann.project.run_as_person("ann", "", words);
        assert_eq!(said.code, 0, "{}", said.stdout);
    };
    let file = "acts/act-1/chapters/chapter-01/plan.md";
    ann.project.write(file, "# Chapter one\n\nMara runs.\n");
    say(&["comment", "act-1/chapter-01", "-m", "keep the storm"]);
    say(&[
        "request-changes",
        "act-1/chapter-02",
        "-m",
        "make it shorter",
    ]);
    ann.commit_all("said");
    ann.push();
    bob.pull();
    // Whether the event itself receives them or a command did before.
    let heard = session.prompt("go on").context().unwrap_or_default();
    for words in ["keep the storm", "make it shorter"] {
        assert!(heard.contains(words), "{heard}");
    }
    say(&["comment", "act-1/chapter-01", "-m", "and the ship"]);
    ann.project.write(file, "# Chapter one\n\nMara swims.\n");
    ann.commit_all("more");
    ann.push();
    bob.pull();
    bob.project.ok(&["status"]);
    let heard = session.prompt("go on").context().unwrap_or_default();
    assert!(heard.contains("and the ship"), "{heard}");
}

#[test]
fn under_human_others_count_once_they_are_published_or_accepted() {
    let (folder, ann) = shared_story();
    let person = |copy: &Copy, words: &[&str]| {
        let said = copy.project.run_as_person("ann", "y\n", words);
        assert_eq!(said.code, 0, "{}", said.stdout);
    };
    ann.project.configure("policy.approval", "\"human\"");
    person(&ann, &["approve", "act-1"]);
    ann.commit_all("human");
    ann.push();
    let bob = unadopted_clone(folder.path());
    person(&bob, &["state", "adopt"]);
    assert_eq!(bob.project.status("act-1"), "approved");

    // Straight from the other clone: nobody with the right to push has published it.
    bob.git(&["checkout", "-q", "-b", "side"]);
    person(&bob, &["approve", "act-1/chapter-01"]);
    bob.commit_all("one");
    let from = bob.project.root();
    ann.git(&["pull", "-q", "--no-edit", &from.to_string_lossy(), "side"]);
    assert_eq!(ann.project.status("act-1/chapter-01"), "draft");
    let listed = ann.project.json(&["decisions", "act-1/chapter-01"]);
    assert_eq!(listed[0]["trusted"], Value::Bool(false));
    bob.push();
    ann.git(&["fetch", "-q", "origin"]);
    assert_eq!(ann.project.status("act-1/chapter-01"), "approved");

    // Copied into the working tree, as a shell could: committing it does not make it count.
    person(&bob, &["approve", "act-1/chapter-02"]);
    let made = bob.project.json(&["decisions", "act-1/chapter-02"]);
    let file = text(&made[0], "file").to_owned();
    ann.project.write(&file, bob.project.read(&file));
    assert_eq!(ann.project.status("act-1/chapter-02"), "draft");
    ann.commit_all("forged");
    assert_eq!(ann.project.status("act-1/chapter-02"), "draft");
    person(&ann, &["state", "adopt"]);
    assert_eq!(ann.project.status("act-1/chapter-02"), "approved");
}
