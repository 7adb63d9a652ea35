//! Moves of the focus: the stack, parked roots, completion on leaving, and the shared focus.

use application::move_focus::{FocusMove, FocusOutcome, move_focus};
use application::set_progress::{ProgressRequest, set_progress};
use application::show_node::show_node;
use application::tickets::finish_scenario;
use application::where_am_i::{where_am_i, where_flat, where_if_focused};
use application::{Context, Failure, FailureKind};
use domain::node::Progress;
use domain::work::evidence::ProofCheck;

use crate::world::{World, assert_refused, words};

/// `017` with `017a` (two scenarios) and `017b`, and `045` beside it.
fn tickets() -> World {
    let world = World::with_tickets();
    world.files.edit(
        "tickets/017b-gate/ticket.md",
        "---\nid: 017b\nparent: '017'\nphase: intake\n---\n# Gate\n",
    );
    world.files.edit(
        "tickets/045-other/ticket.md",
        "---\nid: '045'\nphase: intake\n---\n# Other\n",
    );
    world.files.edit(
        "tickets/017a-loc/test-definitions.md",
        "Scenario: one\n\nScenario: two\n",
    );
    world
}

fn enter(ctx: &Context<'_>, node: &str) -> Result<FocusOutcome, Failure> {
    let request = FocusMove::Enter {
        node: words(node),
        claim: false,
    };
    move_focus(ctx, &request)
}

fn exit(ctx: &Context<'_>) -> Result<FocusOutcome, Failure> {
    move_focus(ctx, &FocusMove::Exit)
}

fn complete(world: &World, node: &str) {
    let request = ProgressRequest {
        node: words(node),
        progress: Progress::Complete,
    };
    set_progress(&world.ctx(), &request).unwrap();
}

fn cursor(ctx: &Context<'_>) -> Option<String> {
    where_am_i(ctx).unwrap().cursor
}

#[test]
fn entering_a_pending_node_makes_it_active_and_leaves_others_alone() {
    let world = tickets();
    enter(&world.agent("s"), "017a").unwrap();
    let progress = |node: &str| show_node(&world.ctx(), &words(node)).unwrap().progress;
    assert_eq!(progress("017a"), Progress::Active);
    assert_eq!(progress("017b"), Progress::Pending);
}

#[test]
fn entering_gives_the_text_of_the_ticket_and_its_size_once() {
    let world = tickets();
    let ctx = world.agent("s");
    let first = enter(&ctx, "017a").unwrap();
    assert!(first.context.unwrap().contains("# Lines"));
    assert!(first.assessed.is_some());
    assert!(enter(&ctx, "017a").unwrap().assessed.is_none());
}

#[test]
fn entering_the_same_node_again_records_nothing() {
    let world = tickets();
    let ctx = world.agent("s");
    enter(&ctx, "017a").unwrap();
    assert_eq!(enter(&ctx, "017a").unwrap().operation, None);
}

#[test]
fn leaving_an_unfinished_node_goes_up_to_its_parent() {
    let world = tickets();
    let ctx = world.agent("s");
    enter(&ctx, "017a").unwrap();
    exit(&ctx).unwrap();
    assert_eq!(cursor(&ctx).as_deref(), Some("017"));
}

#[test]
fn leaving_an_unfinished_root_is_refused() {
    let world = tickets();
    let ctx = world.agent("s");
    enter(&ctx, "045").unwrap();
    assert_refused(exit(&ctx), FailureKind::Refused, "`045` is not complete");
    assert_eq!(cursor(&ctx).as_deref(), Some("045"));
}

#[test]
fn leaving_a_complete_node_goes_on_to_the_next_open_sibling() {
    let world = tickets();
    let ctx = world.agent("s");
    enter(&ctx, "017a").unwrap();
    for node in ["017a/one", "017a/two", "017a"] {
        complete(&world, node);
    }
    let outcome = exit(&ctx).unwrap();
    assert_eq!(cursor(&ctx).as_deref(), Some("017/017b"));
    assert_eq!(outcome.completed, Vec::<String>::new());
}

#[test]
fn leaving_the_last_open_child_completes_its_parent_and_the_root() {
    let world = tickets();
    let ctx = world.agent("s");
    complete(&world, "017b");
    enter(&ctx, "017a/two").unwrap();
    for scenario in ["one", "two"] {
        finish_scenario(&ctx, &words(scenario)).unwrap();
    }
    let outcome = exit(&ctx).unwrap();
    assert_eq!(outcome.completed, ["017/017a", "017"]);
    assert_eq!(outcome.place.active_root, None);
}

#[test]
fn a_parent_without_its_evidence_is_not_completed_by_leaving() {
    let world = tickets();
    let ctx = world.agent("s");
    let asks = ProofCheck::File {
        path: "report.md".to_owned(),
    };
    application::evidence::add_evidence(&world.ctx(), &words("017"), asks).unwrap();
    for child in ["017a/one", "017a/two", "017a", "017b"] {
        complete(&world, child);
    }
    enter(&ctx, "017b").unwrap();
    let outcome = exit(&ctx).unwrap();
    assert_eq!(outcome.completed, Vec::<String>::new());
    assert!(outcome.unproved.unwrap().contains("`017` is not done"));
    assert_eq!(cursor(&ctx).as_deref(), Some("017"));
}

#[test]
fn leaving_without_a_focus_is_refused() {
    let world = tickets();
    assert_refused(
        exit(&world.agent("s")),
        FailureKind::Refused,
        "nothing to leave",
    );
    assert_refused(
        move_focus(&world.agent("s"), &FocusMove::Park),
        FailureKind::Refused,
        "nothing to leave",
    );
}

#[test]
fn a_parked_root_is_resumed_at_its_cursor() {
    let world = tickets();
    let ctx = world.agent("s");
    enter(&ctx, "017a/two").unwrap();
    let parked = move_focus(&ctx, &FocusMove::Park).unwrap();
    assert_eq!(parked.place.cursor, None);
    assert!(parked.place.roots.contains_key("017"));
    let switch = FocusMove::Switch { root: words("017") };
    move_focus(&ctx, &switch).unwrap();
    assert_eq!(cursor(&ctx).as_deref(), Some("017/017a/two"));
}

#[test]
fn switching_to_a_node_below_a_root_is_refused() {
    let world = tickets();
    let switch = FocusMove::Switch {
        root: words("017a"),
    };
    assert_refused(
        move_focus(&world.agent("s"), &switch),
        FailureKind::Refused,
        "`017a` is not a root",
    );
}

#[test]
fn going_back_needs_an_earlier_visit() {
    let world = tickets();
    let ctx = world.agent("s");
    enter(&ctx, "017a").unwrap();
    enter(&ctx, "017b").unwrap();
    let back = |node: &str| move_focus(&ctx, &FocusMove::Back { node: words(node) });
    assert_refused(back("045"), FailureKind::Refused, "was not visited before");
    back("017a").unwrap();
    assert_eq!(cursor(&ctx).as_deref(), Some("017/017a"));
    // An ancestor of the cursor counts as visited.
    back("017").unwrap();
    assert_eq!(cursor(&ctx).as_deref(), Some("017"));
}

#[test]
fn two_sessions_have_their_own_focus() {
    let world = tickets();
    enter(&world.agent("one"), "017a").unwrap();
    enter(&world.agent("two"), "045").unwrap();
    assert_eq!(cursor(&world.agent("one")).as_deref(), Some("017/017a"));
    assert_eq!(cursor(&world.agent("two")).as_deref(), Some("045"));
}

#[test]
fn a_new_session_begins_where_the_person_at_the_terminal_is() {
    let world = tickets();
    enter(&world.ctx(), "017a").unwrap();
    assert_eq!(cursor(&world.agent("new")).as_deref(), Some("017/017a"));
    // An agent's own move is not shared.
    enter(&world.agent("new"), "045").unwrap();
    assert_eq!(cursor(&world.agent("newer")).as_deref(), Some("017/017a"));
}

#[test]
fn a_deleted_node_under_the_cursor_is_left_for_the_root() {
    let world = tickets();
    let ctx = world.agent("s");
    enter(&ctx, "017a/two").unwrap();
    world
        .files
        .edit("tickets/017a-loc/test-definitions.md", "Scenario: one\n");
    exit(&ctx).unwrap();
    assert_eq!(cursor(&ctx).as_deref(), Some("017/017a"));
}

#[test]
fn the_status_line_shows_path_cycle_and_progress() {
    let world = tickets();
    let ctx = world.agent("s");
    enter(&ctx, "017a/two").unwrap();
    let line = where_am_i(&ctx).unwrap().line;
    assert_eq!(line, "017 › 017a › two [red] 0/2");
}

#[test]
fn the_flat_view_counts_the_scenarios_of_the_ticket() {
    let world = tickets();
    let ctx = world.agent("s");
    enter(&ctx, "017a").unwrap();
    finish_scenario(&ctx, &[]).unwrap();
    let flat = where_flat(&ctx).unwrap();
    assert_eq!(
        (flat.tdd.scenarios_completed, flat.tdd.scenarios_total),
        (1, 2)
    );
    assert_eq!(flat.last_known_phase.as_deref(), Some("intake"));
}

#[test]
fn without_a_focus_no_position_is_built() {
    let world = tickets();
    assert!(where_if_focused(&world.agent("s")).unwrap().is_none());
}
