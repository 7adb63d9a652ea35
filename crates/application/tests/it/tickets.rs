//! Tickets and scenarios: ids, phases, splits, sizes, and what the files say afterwards.

use application::set_progress::{ProgressRequest, set_progress};
use application::show_node::show_node;
use application::split_ticket::split_ticket;
use application::tickets::{
    NewTicket, TicketView, create_ticket, finish_scenario, list_scenarios, set_phase,
    set_work_level,
};
use application::undo::{UndoTarget, undo_operations};
use application::{Failure, FailureKind};
use domain::node::Progress;
use domain::work::work_level::WorkLevel;

use crate::world::{World, assert_refused, words};

fn new_ticket(
    world: &World,
    id: Option<&str>,
    parent: Option<&str>,
) -> Result<TicketView, Failure> {
    let request = NewTicket {
        title: "Count lines".to_owned(),
        id: id.map(str::to_owned),
        parent: parent.map(words),
        kind: "task".to_owned(),
        ..NewTicket::with_title("")
    };
    create_ticket(&world.ctx(), &request)
}

#[test]
fn ids_continue_the_numbers_and_the_letters_of_the_parent() {
    let world = World::with_tickets();
    assert_eq!(new_ticket(&world, None, None).unwrap().id, "018");
    assert_eq!(new_ticket(&world, None, Some("017")).unwrap().id, "017b");
    assert_eq!(new_ticket(&world, None, Some("017a")).unwrap().id, "017a1");
}

#[test]
fn a_taken_or_malformed_id_is_refused() {
    let world = World::with_tickets();
    assert_refused(
        new_ticket(&world, Some("017"), None),
        FailureKind::Conflict,
        "a ticket `017` exists already",
    );
    assert_refused(
        new_ticket(&world, Some("../x"), None),
        FailureKind::Invalid,
        "is not a ticket id",
    );
}

#[test]
fn a_folder_without_its_file_keeps_its_id_taken() {
    let world = World::with_tickets();
    world.files.edit("tickets/030-idea/notes.md", "later");
    assert_eq!(new_ticket(&world, None, None).unwrap().id, "031");
}

#[test]
fn a_new_ticket_begins_in_the_first_phase_below_its_parent() {
    let world = World::with_tickets();
    let made = new_ticket(&world, None, Some("017")).unwrap();
    assert_eq!(
        (made.path.as_str(), made.phase.as_deref()),
        ("017/017b", Some("intake"))
    );
    let text = world.files.text(&made.file_path).unwrap();
    assert!(text.contains("parent: '017'"), "{text}");
}

#[test]
fn undoing_a_new_ticket_removes_its_file() {
    let world = World::with_tickets();
    let made = new_ticket(&world, None, None).unwrap();
    undo_operations(&world.ctx(), UndoTarget::Operation(world.head())).unwrap();
    assert_eq!(world.files.text(&made.file_path), None);
}

#[test]
fn a_split_writes_the_parts_and_lists_them_in_the_parent() {
    let world = World::with_tickets();
    let titles = [
        "First part".to_owned(),
        String::new(),
        "Second part".to_owned(),
    ];
    let outcome = split_ticket(&world.ctx(), &words("017"), &titles).unwrap();
    let ids: Vec<&str> = outcome
        .children
        .iter()
        .map(|child| child.id.as_str())
        .collect();
    assert_eq!(ids, ["017b", "017c"]);
    let parent = world.files.text("tickets/017-quality/ticket.md").unwrap();
    assert!(parent.contains("children: ['017b', '017c']"), "{parent}");
    assert_refused(
        split_ticket(&world.ctx(), &words("017"), &[" ".to_owned()]),
        FailureKind::Invalid,
        "needs the titles",
    );
}

#[test]
fn an_unknown_phase_is_refused_with_the_nearest_one() {
    let world = World::with_tickets();
    assert_refused(
        set_phase(&world.ctx(), &words("017a"), "implment", None),
        FailureKind::Invalid,
        "did you mean `implement`",
    );
}

#[test]
fn a_phase_changes_one_key_of_the_file_and_no_approval() {
    let world = World::with_tickets();
    for ticket in ["017", "017a"] {
        world.approve(ticket).unwrap();
    }
    set_phase(&world.ctx(), &words("017a"), "implement", None).unwrap();
    let text = world.files.text("tickets/017a-loc/ticket.md").unwrap();
    assert_eq!(
        text,
        "---\nid: 017a\nparent: '017'\nphase: implement\n---\n# Lines\n"
    );
    assert!(
        show_node(&world.ctx(), &words("017a"))
            .unwrap()
            .approval
            .unwrap()
            .holds
    );
}

#[test]
fn the_last_phase_completes_the_ticket_and_an_earlier_one_reopens_it() {
    let world = World::with_tickets();
    let phase = |name: &str| {
        set_phase(&world.ctx(), &words("017a"), name, None)
            .unwrap()
            .progress
    };
    assert_eq!(phase("implement"), Progress::Pending);
    assert_eq!(phase("done"), Progress::Complete);
    assert_eq!(phase("implement"), Progress::Active);
}

#[test]
fn a_size_set_by_hand_holds_and_an_estimate_is_not_written() {
    let world = World::with_tickets();
    let file = "tickets/017a-loc/ticket.md";
    let set = |level, reason| set_work_level(&world.ctx(), &words("017a"), level, reason).unwrap();
    let estimate = set(None, None);
    assert_eq!(estimate.work_level, "task");
    assert!(!world.files.text(file).unwrap().contains("work_level"));
    let decided = set(Some(WorkLevel::Feature), Some("it will grow"));
    assert_eq!(decided.reasons, ["it will grow"]);
    assert!(
        world
            .files
            .text(file)
            .unwrap()
            .contains("work_level: feature")
    );
}

/// `017a` with three scenarios.
fn with_scenarios() -> World {
    let world = World::with_tickets();
    world.files.edit(
        "tickets/017a-loc/test-definitions.md",
        "Scenario: Counts lines\n\nScenario: Stops\n\nScenario: Goes on\n",
    );
    world
}

#[test]
fn scenarios_are_read_from_the_file_and_the_first_open_one_is_current() {
    let world = with_scenarios();
    let found = list_scenarios(&world.ctx(), &words("017a")).unwrap();
    let names: Vec<&str> = found
        .scenarios
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["counts-lines", "stops", "goes-on"]);
    assert!(found.scenarios[0].current && !found.scenarios[1].current);
}

#[test]
fn a_scenario_is_finished_by_path_and_its_title_by_the_ticket_in_focus() {
    let world = with_scenarios();
    finish_scenario(&world.ctx(), &words("017a/stops")).unwrap();
    let found = list_scenarios(&world.ctx(), &words("017a")).unwrap();
    assert_eq!((found.completed, found.total), (1, 3));
    let enter = application::move_focus::FocusMove::Enter {
        node: words("017a"),
        claim: false,
    };
    application::move_focus::move_focus(&world.ctx(), &enter).unwrap();
    finish_scenario(&world.ctx(), &words("Goes on")).unwrap();
    let found = list_scenarios(&world.ctx(), &words("017a")).unwrap();
    assert_eq!(found.completed, 2);
}

#[test]
fn a_scenario_removed_from_the_file_no_longer_counts() {
    let world = with_scenarios();
    list_scenarios(&world.ctx(), &words("017a")).unwrap();
    world
        .files
        .edit("tickets/017a-loc/test-definitions.md", "Scenario: Stops\n");
    let found = list_scenarios(&world.ctx(), &words("017a")).unwrap();
    assert_eq!(found.total, 1);
}

#[test]
fn a_ticket_is_not_finished_as_a_scenario() {
    let world = with_scenarios();
    assert_refused(
        finish_scenario(&world.ctx(), &words("017a")),
        FailureKind::Invalid,
        "is a ticket, not a scenario",
    );
    assert_refused(
        finish_scenario(&world.ctx(), &[]),
        FailureKind::NotFound,
        "works on no scenario",
    );
}

#[test]
fn setting_the_same_progress_again_records_nothing() {
    let world = World::with_tickets();
    let request = ProgressRequest {
        node: words("017a"),
        progress: Progress::Blocked,
    };
    set_progress(&world.ctx(), &request).unwrap();
    let head = world.head();
    set_progress(&world.ctx(), &request).unwrap();
    assert_eq!(world.head(), head);
}
