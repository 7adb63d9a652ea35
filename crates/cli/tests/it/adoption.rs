//! A team adopts Throughline in an existing repository that has no tickets: the first hour, with
//! README and docs only. Every command that is named works, and each step gives something.

use serde_json::json;
use testkit::Project;

use crate::{as_session, empty, text, texts};

/// A repository with code and a branch for a task, three files of it uncommitted.
fn existing_repository() -> Project {
    let project = empty();
    assert!(project.shell("git init -q -b main ."));
    project.write("README.md", "# Shop\n");
    project.write("shop/cart.py", "def total(): ...\n");
    assert!(project.shell("git add -A && git commit -q -m 'feat: shop'"));
    project.write("pyproject.toml", "[project]\nname = \"shop\"\n");
    let made = project.ok(&["init"]).stdout;
    assert!(
        made.contains("chosen because of pyproject.toml") && made.contains("Next:  tl ticket new"),
        "{made}"
    );
    assert!(project.shell("git add -A && git commit -q -m 'chore: throughline'"));
    assert!(project.shell("git switch -q -c feature/discount-codes"));
    for name in ["codes", "checkout", "mail"] {
        project.write(&format!("shop/{name}.py"), "x = 1\n");
    }
    project
}

#[test]
fn the_first_hour_in_a_repository_without_tickets() {
    let project = existing_repository();
    let status = project.ok(&["status"]).stdout;
    assert!(
        status.contains("No tickets yet. Start with:  tl ticket new"),
        "{status}"
    );
    let next = project.ok(&["next"]).stderr;
    assert!(next.contains("next: tl ticket new"), "{next}");

    let session = project.session("s");
    let start = session.start("startup").context().unwrap_or_default();
    assert!(
        start.contains("3 files changed on `feature/discount-codes`, and there is no ticket. Next: tl ticket new"),
        "{start}"
    );
    // A question is answered, not turned into work.
    assert_eq!(session.prompt("What does the cart do?").context(), None);
    let offer = session.prompt("Add discount codes to the checkout. Use the cart that is there.");
    let offer = offer.context().unwrap_or_default();
    assert!(
        offer.contains("To make one, “Add discount codes to the checkout”: tl ticket new"),
        "{offer}"
    );
    // Offered once; the next prompt is about the same work.
    assert_eq!(
        session
            .prompt("Add the tests for the codes as well.")
            .context(),
        None
    );
    let taken = session.prompt("ticket").context().unwrap_or_default();
    assert!(
        taken.contains("001 “Add discount codes to the checkout” is made (typed by"),
        "{taken}"
    );
    let place = as_session(&project, "s", &["where"]).stdout;
    assert!(place.starts_with("001 [intake]"), "{place}");
    let (before, _) = session.write("shop/codes.py", "x = 2\n");
    assert_eq!(before.block(), None);
    let list = project.ok(&["ticket", "list"]).stdout;
    assert!(
        list.contains("001  Add discount codes to the checkout  [intake · s is at it]"),
        "{list}"
    );
    let next = as_session(&project, "s", &["next"]).stdout;
    assert!(next.contains("# this session is at it"), "{next}");
}

#[test]
fn an_agent_takes_the_offered_ticket_by_the_command_it_was_told() {
    let project = existing_repository();
    let session = project.session("s");
    let _ = session.start("startup");
    let _ = session.prompt("please fix the wrong total in shop/cart.py");
    let made = as_session(&project, "s", &["ticket", "new"]).stdout;
    assert!(
        made.contains("001  Fix the wrong total in shop/cart.py"),
        "{made}"
    );
    // Taken is taken: there is nothing to make a second time.
    let again = project
        .command(&["ticket", "new"])
        .env("THROUGHLINE_SESSION", "s")
        .output()
        .unwrap();
    assert!(!again.status.success());
}

#[test]
fn tickets_come_from_the_branch_and_from_issue_files() {
    let project = existing_repository();
    let made = project.ok(&["ticket", "from-branch"]);
    assert!(
        made.stdout.contains("001  Discount codes [intake]"),
        "{}",
        made.stdout
    );
    assert!(
        made.stderr.contains("next: tl focus enter 001"),
        "{}",
        made.stderr
    );
    let file = project.read("tickets/001-discount-codes/ticket.md");
    assert!(file.contains("branch: 'feature/discount-codes'"), "{file}");
    // The same branch describes the same ticket.
    let again = project.ok(&["ticket", "from-branch"]);
    assert!(
        again.stderr.contains("there is an open ticket"),
        "{}",
        again.stderr
    );

    project.write(
        "issue.json",
        json!({"title": "Wrong total", "body": "It is off by one.", "labels": [{"name": "shop"}], "url": "https://example.org/7"})
            .to_string(),
    );
    project.ok(&[
        "ticket",
        "new",
        "--from",
        "issue.json",
        "--priority",
        "urgent",
    ]);
    let file = project.read("tickets/002-wrong-total/ticket.md");
    assert!(
        file.contains("labels: ['shop']") && file.contains("It is off by one."),
        "{file}"
    );
    let listed = project.json(&["ticket", "list"]);
    let ids: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| text(one, "id"))
        .collect();
    assert_eq!(ids, ["002", "001"], "the urgent one first");
    assert_eq!(texts(&listed[0]["links"]), ["https://example.org/7"]);
    let refused = project.refused(&["ticket", "new", "X", "--priority", "soon"]);
    assert!(
        refused.stderr.contains("expected one of urgent, high"),
        "{}",
        refused.stderr
    );

    assert!(project.shell("git switch -q main"));
    let refused = project.refused(&["ticket", "from-branch"]);
    assert!(
        refused.stderr.contains("describes no task"),
        "{}",
        refused.stderr
    );
}

#[test]
fn archived_tickets_leave_the_tree_and_return_with_their_history() {
    let project = existing_repository();
    project.ok(&["ticket", "new", "Search"]);
    project.ok(&["ticket", "new", "Sync"]);
    let refused = project.refused(&["ticket", "archive", "001"]);
    assert!(
        refused.stderr.contains("is not finished"),
        "{}",
        refused.stderr
    );
    project.ok(&["comment", "001", "-m", "as agreed"]);
    project.ok(&["progress", "001", "complete"]);
    project.ok(&["ticket", "archive", "--done"]);
    let folder = "tickets/archive/001-search";
    assert!(
        project
            .read(&format!("{folder}/ticket.md"))
            .contains("# Search")
    );
    assert!(!project.root().join("tickets/001-search").exists());
    project.ok(&["check"]);
    assert!(!project.ok(&["tree"]).stdout.contains("Search"));
    let refused = project.refused(&["show", "001"]);
    assert!(
        refused
            .stderr
            .contains("`001` is archived in tickets/archive/001-search"),
        "{}",
        refused.stderr
    );
    // Its id is not given again.
    let made = project.ok(&["ticket", "new", "Third"]).stdout;
    assert!(made.contains("003  Third"), "{made}");
    assert!(project.shell(&format!("mv {folder} tickets/001-search")));
    let shown = project.json(&["show", "001"]);
    assert_eq!(text(&shown, "progress"), "complete", "{shown}");
}
