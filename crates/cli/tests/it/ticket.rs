//! `tl ticket`

use serde_json::json;

use crate::{assert_refused, statuses, text, tickets};

#[test]
fn tickets_nest_by_their_front_matter() {
    let project = tickets();
    assert_eq!(
        statuses(&project),
        [
            "017 draft",
            "017/017a draft",
            "017/017a/loc-tracking draft",
            "017/017a/threshold-gate draft",
            "017/017a/commit-clears draft",
            "017/017b draft",
            "045 draft",
        ]
    );
    // Moved by an edit of its front matter, with everything below it.
    let file = "tickets/017a-loc/ticket.md";
    project.write(
        file,
        project.read(file).replace("parent: '017'", "parent: '045'"),
    );
    assert_eq!(project.status("045/017a/threshold-gate"), "draft");
    project.ok(&["check"]);
    project.write(file, project.read(file).replace("parent: '045'\n", ""));
    assert!(
        statuses(&project).contains(&"017a/threshold-gate draft".to_owned()),
        "{:?}",
        statuses(&project)
    );
    project.ok(&["check"]);
}

#[test]
fn a_broken_chain_is_told_and_the_rest_goes_on() {
    let project = tickets();
    let file = "tickets/017b-phases/ticket.md";
    project.write(
        file,
        project.read(file).replace("parent: 017", "parent: 099"),
    );
    let shown = project.ok(&["tree"]);
    assert!(
        shown
            .stderr
            .contains("names the parent `099`, which does not exist"),
        "{}",
        shown.stderr
    );
    assert!(statuses(&project).contains(&"017b draft".to_owned()));
    // A circle is no chain.
    project.write(
        file,
        project.read(file).replace("parent: 099", "parent: 017a"),
    );
    let other = "tickets/017a-loc/ticket.md";
    project.write(
        other,
        project.read(other).replace("parent: '017'", "parent: 017b"),
    );
    let shown = project.ok(&["tree"]);
    assert!(shown.stderr.contains("creates a cycle"), "{}", shown.stderr);
    let found = project.run(&["check"]);
    assert!(
        found.code == 3 && found.stdout.contains("2 problems found"),
        "{found:?}"
    );
}

#[test]
fn a_broken_front_matter_is_a_warning_with_its_line() {
    let project = tickets();
    project.write(
        "tickets/050-broken/ticket.md",
        "---\nid: '050'\nphase: [intake\n---\n\n# Broken\n",
    );
    assert!(statuses(&project).contains(&"050 draft".to_owned()));
    let found = project.run(&["check"]);
    assert!(
        found.stdout.contains("tickets/050-broken/ticket.md") && found.stdout.contains("line "),
        "{}",
        found.stdout
    );
    project.ok(&["focus", "enter", "017a"]);
}

#[test]
fn the_state_of_the_work_makes_nothing_stale() {
    let project = tickets();
    for id in ["017", "017a"] {
        project.ok(&["approve", id]);
    }
    project.ok(&["ticket", "phase", "017", "decomposition"]);
    assert_eq!(project.status("017a"), "approved");
    let file = "tickets/017-quality/ticket.md";
    project.write(
        file,
        project.read(file).replace("Something.", "Something else."),
    );
    assert_eq!(project.status("017a"), "requires-revalidation");
}

#[test]
fn a_phase_changes_one_key_and_no_other_byte() {
    let project = tickets();
    let file = "tickets/017b-phases/ticket.md";
    let before = "---\r\nid: '017b'   # kept\r\nphase:   intake # was this\r\nparent: 017\r\nodd:\r\n  - 1\r\n---\r\n\r\n# Phase gates  \r\n\tphase: intake\r\n";
    project.write(file, before);
    let view = project.json(&["ticket", "phase", "017b", "define-behavior"]);
    assert_eq!(
        (text(&view, "phase"), text(&view, "path")),
        ("define-behavior", "017/017b")
    );
    assert_eq!(
        project.read(file),
        before.replacen("phase:   intake # was this", "phase: define-behavior", 1)
    );
    assert_refused(
        &project,
        &["ticket", "phase", "017b", "implment"],
        "invalid",
        &["did you mean `implement`?"],
    );
}

#[test]
fn the_guide_of_a_phase_keeps_its_lines() {
    let project = tickets();
    let made = project.json(&["ticket", "new", "Fix a typo"]);
    let output = project.ok(&["ticket", "phase", text(&made, "id"), "implement"]);
    assert!(
        output.stdout.lines().any(|line| line == "## The cycle"),
        "{}",
        output.stdout
    );
}

#[test]
fn a_ticket_is_made_and_split() {
    let project = tickets();
    let made = project.json(&["ticket", "new", "Новый  экспорт"]);
    assert_eq!((text(&made, "id"), text(&made, "phase")), ("046", "intake"));
    assert_eq!(
        text(&made, "file_path"),
        "tickets/046-новый-экспорт/ticket.md"
    );
    assert!(
        project
            .read("tickets/046-новый-экспорт/ticket.md")
            .contains("# Новый экспорт\n\n## Problem\n")
    );
    let child = project.json(&["ticket", "new", "Part", "--parent", "017"]);
    assert_eq!(text(&child, "path"), "017/017c");

    let before = project.read("tickets/045-поиск/ticket.md");
    let split = project.json(&["ticket", "split", "045", "Index", "Query: words & ranks"]);
    let ids: Vec<&str> = split["children"]
        .as_array()
        .expect("children")
        .iter()
        .map(|one| text(one, "path"))
        .collect();
    assert_eq!(ids, ["045/045a", "045/045b"]);
    let after = project.read("tickets/045-поиск/ticket.md");
    assert_eq!(
        after,
        before.replace(
            "status: ready\n",
            "status: ready\nchildren: ['045a', '045b']\n"
        )
    );
    assert!(
        project
            .root()
            .join("tickets/045b-query-words-ranks/ticket.md")
            .is_file()
    );
    assert_refused(
        &project,
        &["ticket", "new", "X", "--id", "017"],
        "conflict",
        &["`017` exists already"],
    );
    assert_refused(
        &project,
        &["ticket", "new", "X", "--id", "../x"],
        "invalid",
        &["is not a ticket id"],
    );
}

#[test]
fn the_size_is_judged_with_its_reasons_and_can_be_said() {
    let project = tickets();
    project.ok(&["ticket", "new", "Add search to the list"]);
    let view = project.json(&["ticket", "level", "046"]);
    assert_eq!(
        (&view["work_level"], &view["reasons"]),
        (&json!("feature"), &json!(["the title says \"add\""]))
    );
    let view = project.json(&[
        "ticket",
        "level",
        "046",
        "task",
        "--reason",
        "one small list",
    ]);
    assert_eq!(
        (&view["work_level"], &view["reasons"]),
        (&json!("task"), &json!(["one small list"]))
    );
    assert!(
        project
            .read("tickets/046-add-search-to-the-list/ticket.md")
            .contains("work_level: task\n")
    );
    assert_refused(
        &project,
        &["ticket", "level", "046", "huge"],
        "invalid",
        &["patch, task, feature"],
    );
}

#[test]
fn the_folder_can_be_another_one() {
    let project = crate::empty();
    project.ok(&["init", "--profile", "tickets"]);
    let config = project.read(".throughline/config.toml");
    project.write(
        ".throughline/config.toml",
        format!("tickets_folder = \"work/tickets\"\n{config}"),
    );
    project.ok(&["ticket", "new", "First"]);
    assert!(
        project
            .root()
            .join("work/tickets/001-first/ticket.md")
            .is_file()
    );
    assert_eq!(statuses(&project), ["001 draft"]);
    project.write(
        ".throughline/config.toml",
        format!("tickets_folder = \"../elsewhere\"\n{config}"),
    );
    assert_eq!(project.run(&["tree"]).code, 1);
}

#[test]
fn a_file_that_says_done_is_followed_unless_it_is_not_proved() {
    let project = tickets();
    let file = "tickets/017b-phases/ticket.md";
    project.write(
        file,
        project
            .read(file)
            .replace("status: ready", "status: in-progress"),
    );
    assert_eq!(project.json(&["show", "017b"])["progress"], json!("active"));
    project.ok(&["evidence", "add", "017b", "--", "false"]);
    project.write(
        file,
        project
            .read(file)
            .replace("status: in-progress", "status: done"),
    );
    let shown = project.ok(&["show", "017b"]);
    assert!(
        shown.stderr.contains("does not count as complete"),
        "{}",
        shown.stderr
    );
    assert_eq!(project.json(&["show", "017b"])["progress"], json!("active"));
}

#[test]
fn the_last_phase_completes_a_ticket_and_another_opens_it_again() {
    let project = tickets();
    let progress = || project.json(&["show", "017b"])["progress"].clone();
    project.ok(&["ticket", "phase", "017b", "implement"]);
    assert_eq!(
        project.json(&["ticket", "phase", "017b", "done"])["progress"],
        "complete"
    );
    assert_eq!(progress(), "complete");
    project.ok(&["ticket", "phase", "017b", "implement"]);
    assert_eq!(progress(), "pending", "its file says `status: ready`");
    // An edit of the file does the same.
    let file = "tickets/017b-phases/ticket.md";
    project.write(
        file,
        project
            .read(file)
            .replace("status: ready\n", "")
            .replace("phase: implement", "phase: done"),
    );
    assert_eq!(progress(), "complete");
    project.write(
        file,
        project
            .read(file)
            .replace("phase: done", "phase: implement"),
    );
    assert_eq!(progress(), "active");
}

#[test]
fn a_new_ticket_needs_nobody_and_names_no_file() {
    let project = crate::empty();
    project.ok(&["init", "--profile", "tickets"]);
    let made = project.json(&["ticket", "new", "Limits"]);
    assert_eq!(
        made["reasons"],
        json!(["nothing indicates that it is larger"])
    );
    assert_eq!(
        project.json(&["status"])["attention"],
        json!([]),
        "nothing waits for an approval here"
    );
}

#[test]
fn a_file_beside_a_new_ticket_is_seen_after_the_scan_was_cached() {
    let project = tickets();
    project.ok(&["next"]);
    project.ok(&["ticket", "new", "Later"]);
    // Long enough for the times of the folder to be settled, so that the scan with the new ticket is cached.
    std::thread::sleep(std::time::Duration::from_millis(60));
    project.ok(&["next"]);
    project.ok(&["next"]);
    let folder = "tickets/046-later";
    project.write(&format!("{folder}/test-definitions.md"), "Scenario: Seen\n");
    let tree = project.ok(&["tree"]).stdout;
    assert!(tree.contains("Seen"), "{tree}");
    let text = project.read(&format!("{folder}/ticket.md"));
    let path = format!("{folder}/ticket.md");
    project.write(&path, text.replace("phase: intake", "phase: implement"));
    let ticket = project.ok(&["ticket", "list"]).stdout;
    assert!(ticket.contains("Later  [implement"), "{ticket}");
    std::fs::remove_dir_all(project.root().join(folder)).unwrap();
    let tree = project.run(&["tree"]);
    assert!(
        tree.stderr.contains("not on this branch: 046"),
        "{}",
        tree.stderr
    );
}

/// The commands of shape do to tickets what their own commands do, with a preview and a plain undo.
#[test]
fn tickets_and_scenarios_are_added_and_split_by_the_commands_of_shape() {
    let project = crate::empty();
    project.ok(&["init", "--profile", "tickets"]);
    let add = ["add", "ticket", "--title", "Search"];
    let shown = project.ok(&[&add[..], &["--dry-run"]].concat()).stdout;
    assert!(shown.contains("would add 001"), "{shown}");
    assert!(!project.root().join("tickets").exists());
    project.ok(&add);
    project.ok(&["add", "ticket", "--under", "001", "--title", "Index"]);
    let split = ["split", "001", "--title", "Query", "--title", "Ranks"];
    let done = project.json(&split);
    assert_eq!(done["summary"], "split 001: 001/001b, 001/001c are new");
    let scenario = [
        "add",
        "scenario",
        "--under",
        "001a",
        "--title",
        "A word is found",
    ];
    let done = project.json(&scenario);
    assert_eq!(done["node"], "001/001a/a-word-is-found");
    project.ok(&["check"]);
    let undone = project.ok(&["undo"]).stdout;
    assert!(undone.contains("add 001/001a/a-word-is-found"), "{undone}");
    let undone = project.ok(&["undo"]).stdout;
    assert!(undone.contains("split 001"), "{undone}");
    let refused = project.run(&["split", "001"]);
    assert!(
        refused.stderr.contains("tl ticket split 001 TITLE"),
        "{refused:?}"
    );
    let at = project.ok(&["split", "001", "--at", "Out of scope"]).stdout;
    assert!(at.contains("split 001: 001/001b is new"), "{at}");
    project.ok(&["check"]);
}
