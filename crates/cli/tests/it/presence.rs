//! Plans in a git repository: branches, stashes and moves, with the real git.

use testkit::Project;

use crate::reconcile::git;
use crate::{planned, statuses, text, tickets};

/// A repository with the tickets committed on `feat` and a branch `main` without them.
fn branches() -> Project {
    let project = tickets();
    git(&project, &["branch", "feat"]);
    git(&project, &["rm", "-r", "-q", "tickets"]);
    git(&project, &["commit", "-q", "-m", "no tickets here"]);
    git(&project, &["checkout", "-q", "feat"]);
    project.ok(&["approve", "017"]);
    project.ok(&["status"]);
    project
}

/// When a node was recorded first, which tells it from a new one in its place.
fn created(project: &Project, node: &str) -> String {
    text(&project.json(&["show", node]), "created_at").to_owned()
}

#[test]
fn a_checkout_takes_tickets_away_and_brings_them_back() {
    let project = branches();
    let (before, id) = (statuses(&project), created(&project, "017a"));
    project.ok(&["comment", "017", "-m", "keep it small"]);
    project.ok(&["focus", "enter", "017a"]);
    let before_focus = project.ok(&["where"]).stdout;

    git(&project, &["checkout", "-q", "main"]);
    assert_eq!(statuses(&project), Vec::<String>::new());
    let shown = project.run(&["show", "017"]);
    assert!(
        shown
            .stderr
            .contains("`017` is not on this branch (main): it was last seen on feat"),
        "{}",
        shown.stderr
    );
    assert!(shown.stderr.contains("git switch feat"), "{}", shown.stderr);
    let position = project.ok(&["where"]).stdout;
    assert!(
        position.contains("017/017a (not on this branch)") && position.contains("git switch feat"),
        "{position}"
    );
    project.ok(&["check"]);

    git(&project, &["checkout", "-q", "feat"]);
    project.ok(&["status"]);
    assert_eq!(created(&project, "017a"), id);
    assert_eq!(project.ok(&["where"]).stdout, before_focus);
    assert_eq!(statuses(&project).len(), before.len());
    assert_eq!(project.status("017"), "approved");
    let comments = project.json(&["comment", "017"]);
    assert_eq!(comments.as_array().map(Vec::len), Some(1), "{comments}");
    project.ok(&["check"]);
}

#[test]
fn a_stash_takes_new_tickets_away_and_pop_brings_them_back() {
    let project = branches();
    project.write(
        "tickets/050-new/ticket.md",
        "---\nid: '050'\nphase: intake\n---\n# New\n",
    );
    let id = created(&project, "050");
    git(&project, &["stash", "-q", "-u"]);
    let shown = project.run(&["show", "050"]);
    assert!(
        shown
            .stderr
            .contains("not in the working tree: its file was stashed or removed"),
        "{}",
        shown.stderr
    );
    assert!(
        !statuses(&project)
            .iter()
            .any(|line| line.starts_with("050"))
    );
    git(&project, &["stash", "pop", "-q"]);
    assert_eq!(created(&project, "050"), id);
}

#[test]
fn a_ticket_deleted_by_hand_is_invalid() {
    let project = branches();
    assert!(project.shell("rm tickets/045-*/ticket.md"));
    assert_eq!(project.status("045"), "invalid");
    git(&project, &["add", "-A"]);
    let shown = project.run(&["show", "045"]);
    assert!(
        shown.stderr.contains("its state is kept"),
        "{}",
        shown.stderr
    );
}

#[test]
fn a_renamed_ticket_folder_keeps_its_ticket() {
    let project = branches();
    let (id, before) = (created(&project, "017a"), statuses(&project));
    for (from, to, by_git) in [
        ("tickets/017a-loc", "tickets/017a-lines", true),
        ("tickets/017a-lines", "tickets/017a-count", false),
    ] {
        if by_git {
            git(&project, &["mv", from, to]);
        } else {
            assert!(project.shell(&format!("mv {from} {to}")));
        }
        assert_eq!(created(&project, "017a"), id);
        assert_eq!(statuses(&project), before);
        let shown = project.json(&["show", "017a"]);
        assert_eq!(text(&shown, "file_path"), format!("{to}/ticket.md"));
        project.ok(&["check"]);
    }
}

#[test]
fn a_moved_scene_keeps_its_approval_and_a_branch_switch_follows() {
    let project = planned();
    git(&project, &["init", "-q", "-b", "main"]);
    project.write(".gitignore", ".throughline/\nbackups/\n");
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "story"]);
    for node in ["act-1", "chapter-01", "scene-0101"] {
        if project.status(node) != "approved" {
            project.ok(&["approve", node]);
        }
    }
    let id = created(&project, "scene-0101");
    git(&project, &["checkout", "-q", "-b", "reorder"]);
    let to = Project::SCENE.replace("scene-0101", "scene-0104");
    git(&project, &["mv", Project::SCENE, &to]);
    git(&project, &["commit", "-q", "-m", "reorder"]);
    assert_eq!(project.status("scene-0104"), "approved");
    assert_eq!(created(&project, "scene-0104"), id);
    git(&project, &["checkout", "-q", "main"]);
    assert_eq!(project.status("scene-0101"), "approved");
    assert_eq!(created(&project, "scene-0101"), id);
    project.ok(&["check"]);
}

#[test]
fn a_rewritten_plan_is_taken_over_with_move_was() {
    let project = branches();
    let id = created(&project, "045");
    assert!(project.shell("rm -r tickets/045-*"));
    project.write(
        "tickets/060-else/ticket.md",
        "---\nid: '060'\nphase: intake\n---\n# Something else\n",
    );
    project.ok(&["status"]);
    let moved = project.ok(&["move", "--was", "045", "060"]);
    assert!(moved.stdout.contains("060 is the former 045"), "{moved:?}");
    assert_eq!(created(&project, "060"), id);
    project.ok(&["check"]);
    project.ok(&["undo"]);
    assert_ne!(created(&project, "060"), id);
    assert!(project.root().join("tickets/060-else/ticket.md").exists());
}
