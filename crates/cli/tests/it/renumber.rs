//! Two branches that create a ticket with one id, merged with the real git.

#![expect(clippy::disallowed_methods, reason = "a test needs a repository")]

use testkit::Project;

use crate::reconcile::git;
use crate::{statuses, text, tickets};

/// A merge of two branches that both have a ticket 046, made without a look at each other.
fn merged() -> Project {
    let project = tickets();
    git(&project, &["branch", "side"]);
    for (branch, slug) in [("main", "from-main"), ("side", "from-side")] {
        git(&project, &["checkout", "-q", branch]);
        project.write(
            &format!("tickets/046-{slug}/ticket.md"),
            format!("---\nid: '046'\nphase: intake\n---\n\n# {slug}\n"),
        );
        project.ok(&["status"]);
        git(&project, &["add", "tickets"]);
        git(&project, &["commit", "-q", "-m", slug]);
    }
    git(&project, &["merge", "-q", "-m", "both", "main"]);
    project
}

#[test]
fn a_merge_of_two_tickets_with_one_id_is_reported_and_renumbered() {
    let project = merged();
    let shown = project.ok(&["tree"]);
    assert!(
        shown.stderr.contains("duplicate id `046`") && shown.stderr.contains("tl renumber 046~2"),
        "{}",
        shown.stderr
    );
    assert!(
        shown.stdout.contains("046~2  duplicate"),
        "{}",
        shown.stdout
    );
    let known = statuses(&project);
    assert!(known.contains(&"046~2 draft".to_owned()), "{known:?}");
    let status = project.ok(&["status"]).stdout;
    assert!(status.contains("tl renumber 046~2"), "{status}");
    let checked = project.run(&["check"]);
    assert_eq!(checked.code, 3, "{}", checked.stdout);
    assert!(
        checked.stdout.contains("duplicate id `046`"),
        "{}",
        checked.stdout
    );
    for node in ["046", "046~2"] {
        for command in [
            vec!["claim", node],
            vec!["ticket", "phase", node, "implement"],
            vec!["ticket", "priority", node, "high"],
            vec!["ticket", "level", node, "feature"],
            vec!["ticket", "split", node, "a part"],
        ] {
            let refused = project.refused(&command);
            assert!(refused.stderr.contains("tl renumber"), "{}", refused.stderr);
        }
    }

    let done = project.json(&["renumber", "046~2"]);
    assert_eq!(text(&done, "id"), "047");
    assert!(!project.root().join("tickets/046-from-side").exists());
    assert!(
        project
            .read("tickets/047-from-side/ticket.md")
            .contains("id: '047'")
    );
    project.ok(&["check"]);
    project.ok(&["claim", "046"]);

    project.ok(&["release", "046"]);
    project.ok(&["undo", &done["operation"].to_string()]);
    assert!(project.root().join("tickets/046-from-side").exists());
    assert!(!project.root().join("tickets/047-from-side").exists());
    assert!(statuses(&project).contains(&"046~2 draft".to_owned()));
}

#[test]
fn a_new_ticket_avoids_the_ids_of_branches_and_worktrees() {
    let project = tickets();
    git(&project, &["checkout", "-q", "-b", "side"]);
    project.write(
        "tickets/050-side/ticket.md",
        "---\nid: '050'\n---\n# Side\n",
    );
    git(&project, &["add", "tickets"]);
    git(&project, &["commit", "-q", "-m", "side"]);
    git(&project, &["checkout", "-q", "main"]);
    let made = project.json(&["ticket", "new", "Another"]);
    assert_eq!(text(&made, "id"), "051");
    // Uncommitted in another worktree.
    git(&project, &["worktree", "add", "-q", "../wt-ids", "side"]);
    let other = project.root().join("../wt-ids/tickets/060-there");
    std::fs::create_dir_all(&other).unwrap();
    let made = project.json(&["ticket", "new", "One more"]);
    assert_eq!(text(&made, "id"), "061");
    // The cache ignores itself.
    let output = std::process::Command::new("git")
        .args(["status", "--porcelain", "--", ".throughline/cache"])
        .current_dir(project.root())
        .output()
        .unwrap();
    assert!(output.stdout.is_empty(), "{output:?}");
    assert!(
        project
            .root()
            .join(".throughline/cache/branch-folders.json")
            .exists()
    );
}
