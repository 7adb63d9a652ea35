//! Changes of shape of tickets and scenarios: the same use cases as `tl ticket`, with preview and undo.

use std::collections::BTreeMap;

use application::Failure;
use application::FailureKind;
use application::shape::{ChangeShapeRequest, ShapeChange, ShapeOutcome, change_shape};
use application::show_node::show_node;
use application::split_ticket::split_ticket;
use application::tickets::{NewTicket, create_ticket, list_scenarios};
use application::undo::{UndoTarget, undo_operations};

use crate::world::{World, assert_refused, words};

const PARENT: &str = "tickets/017-quality/ticket.md";
const SCENARIOS: &str = "tickets/017a-loc/test-definitions.md";

fn run(world: &World, change: &ShapeChange, dry_run: bool) -> Result<ShapeOutcome, Failure> {
    let change = change.clone();
    change_shape(&world.ctx(), &ChangeShapeRequest { change, dry_run })
}

/// Every text but copies of earlier ones, without the time at which it was made.
fn all_texts(world: &World) -> BTreeMap<String, String> {
    let paths = world.files.paths().into_iter();
    let texts = paths
        .filter(|path| !path.contains("/backups/"))
        .filter_map(|path| Some((path.clone(), world.files.text(&path)?)));
    texts
        .map(|(path, text)| (path, without_time(&text)))
        .collect()
}

fn without_time(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines.filter(|line| !line.starts_with("created:")).collect()
}

/// Previews, makes and takes back a change: the preview changes nothing and names what the change does,
/// and a plain undo restores every file.
fn make_change(world: &World, change: &ShapeChange) -> ShapeOutcome {
    show_node(&world.ctx(), &words("017a")).unwrap();
    let (head, before) = (world.head(), all_texts(world));
    let preview = run(world, change, true).unwrap();
    assert!(preview.dry_run && preview.operation.is_none());
    assert_eq!((world.head(), all_texts(world)), (head, before.clone()));
    let done = run(world, change, false).unwrap();
    assert_eq!(world.head().0, head.0 + 1, "one operation");
    assert_eq!(done.operation, Some(world.head()));
    let summary = |one: &ShapeOutcome| {
        (
            one.summary.clone(),
            one.node.clone(),
            one.created_files.clone(),
            one.changed_files.clone(),
        )
    };
    assert_eq!(summary(&preview), summary(&done));
    undo_operations(&world.ctx(), UndoTarget::Newest).unwrap();
    assert_eq!(all_texts(world), before);
    run(world, change, false).unwrap()
}

fn add(level: &str, under: Option<&str>, title: &str) -> ShapeChange {
    ShapeChange::Add {
        level: level.to_owned(),
        under: under.map(str::to_owned),
        name: None,
        title: Some(title.to_owned()),
    }
}

#[test]
fn an_added_ticket_is_the_one_that_the_command_for_tickets_makes() {
    let world = World::with_tickets();
    let done = make_change(&world, &add("ticket", Some("017"), "Speed"));
    assert_eq!(done.node.as_deref(), Some("017/017b"));
    let text = world.files.text(&done.file.unwrap()).unwrap();
    let other = World::with_tickets();
    let request = NewTicket {
        parent: Some(words("017")),
        ..NewTicket::with_title("Speed")
    };
    let made = create_ticket(&other.ctx(), &request).unwrap();
    let own = other.files.text(&made.file_path).unwrap();
    assert_eq!(without_time(&own), without_time(&text));
    assert_refused(
        run(&world, &add("ticket", None, " "), false),
        FailureKind::Invalid,
        "needs a title",
    );
}

#[test]
fn a_ticket_is_split_into_the_tickets_that_its_own_command_makes() {
    let world = World::with_tickets();
    let titles = ["Index".to_owned(), "Ranks".to_owned()];
    let split = ShapeChange::SplitInto {
        node: words("017"),
        titles: titles.to_vec(),
    };
    let done = make_change(&world, &split);
    assert_eq!(done.summary, "split 017: 017/017b, 017/017c are new");
    assert_eq!(done.changed_files, [PARENT]);
    let other = World::with_tickets();
    split_ticket(&other.ctx(), &words("017"), &titles).unwrap();
    assert_eq!(all_texts(&world), all_texts(&other));
}

#[test]
fn the_end_of_a_tickets_text_becomes_a_child_ticket() {
    let world = World::with_tickets();
    let head = "---\nid: '017'\nphase: implement\n---\n# Quality\n\nAll of it.\n\n";
    world
        .files
        .edit(PARENT, &format!("{head}## Speed\n\nFast.\n\n- 3 ms\n"));
    let split = |title: Option<&str>| ShapeChange::Split {
        node: words("017"),
        at: "Speed".to_owned(),
        title: title.map(str::to_owned),
        children_from: None,
    };
    let done = make_change(&world, &split(None));
    assert_eq!(done.node.as_deref(), Some("017/017b"));
    let (parent, child) = (PARENT, done.file.unwrap());
    let text = world.files.text(&child).unwrap();
    assert!(
        text.ends_with("---\n\n# Speed\n\nFast.\n\n- 3 ms\n"),
        "{text}"
    );
    let text = world.files.text(parent).unwrap();
    assert!(text.contains("\nchildren: ['017b']\n"), "{text}");
    assert!(text.ends_with("# Quality\n\nAll of it.\n\n"), "{text}");
    assert_refused(
        run(&world, &split(None), false),
        FailureKind::Invalid,
        "no heading or line `Speed`",
    );
    // With a title of its own it keeps its heading.
    undo_operations(&world.ctx(), UndoTarget::Newest).unwrap();
    let done = run(&world, &split(Some("Latency")), false).unwrap();
    let text = world.files.text(&done.file.unwrap()).unwrap();
    assert!(
        text.ends_with("# Latency\n\n## Speed\n\nFast.\n\n- 3 ms\n"),
        "{text}"
    );
}

#[test]
fn a_scenario_is_added_to_the_file_beside_its_ticket() {
    let world = World::with_tickets();
    let scenario = add("scenario", Some("017a"), "A line is counted");
    let done = make_change(&world, &scenario);
    assert_eq!(done.node.as_deref(), Some("017/017a/a-line-is-counted"));
    assert_eq!(done.created_files, [SCENARIOS]);
    assert_eq!(
        world.files.text(SCENARIOS).as_deref(),
        Some("## Scenario: A line is counted\n")
    );
    let kept = "# Lines\n\nScenario: one\n  Given a  \n";
    world.files.edit(SCENARIOS, kept);
    let done = make_change(&world, &scenario);
    assert_eq!(done.changed_files, [SCENARIOS]);
    assert_eq!(
        world.files.text(SCENARIOS).unwrap(),
        format!("{}\n\nScenario: A line is counted\n", kept.trim_end())
    );
    let listed = list_scenarios(&world.ctx(), &words("017a")).unwrap();
    assert_eq!(listed.total, 2);
    assert_refused(
        run(&world, &add("scenario", None, "Another"), false),
        FailureKind::Invalid,
        "which parent should the scenario have?",
    );
}

#[test]
fn a_plan_that_is_no_ticket_is_split_at_a_heading() {
    let world = World::with_story();
    let split = ShapeChange::SplitInto {
        node: words("chapter-01"),
        titles: vec!["Part".to_owned()],
    };
    assert_refused(
        run(&world, &split, false),
        FailureKind::Invalid,
        "is split at a heading or a line",
    );
}
