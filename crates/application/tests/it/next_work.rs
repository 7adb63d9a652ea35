//! What is ready to work on: approved, free, and with nothing open that it needs.

use application::Context;
use application::next_work::{NextWork, list_next_work, take_next_work};
use application::set_progress::{ProgressRequest, set_progress};
use application::tickets::{NewTicket, create_ticket};
use domain::next_work::NextKind;
use domain::node::Progress;

use crate::world::{ACT, CHAPTER, World, words};

fn next(world: &World) -> NextWork {
    list_next_work(&world.ctx(), usize::MAX).unwrap()
}

fn ready(world: &World) -> Vec<String> {
    let found = next(world).ready.into_iter();
    let nodes = found.filter(|item| item.kind == NextKind::Node);
    nodes.map(|node| node.path).collect()
}

fn set(world: &World, node: &str, progress: Progress) {
    set_as(&world.ctx(), node, progress);
}

fn set_as(ctx: &Context<'_>, node: &str, progress: Progress) {
    let request = ProgressRequest {
        node: words(node),
        progress,
    };
    set_progress(ctx, &request).unwrap();
}

#[test]
fn the_deepest_approved_node_is_ready_not_those_above_it() {
    let world = World::with_story();
    assert_eq!(ready(&world), ["act-1/chapter-01/scene-0101"]);
    set(&world, "scene-0101", Progress::Complete);
    assert_eq!(ready(&world), ["act-1/chapter-01"]);
}

#[test]
fn drafts_wait_for_approval_in_a_story_and_not_among_tickets() {
    let world = World::new();
    world.files.edit(ACT, "# act-1\n");
    assert_eq!(ready(&world), Vec::<String>::new());
    assert_eq!(ready(&World::with_tickets()), ["017/017a"]);
}

#[test]
fn blocked_and_stale_nodes_are_not_ready() {
    let world = World::with_story();
    set(&world, "scene-0101", Progress::Blocked);
    assert_eq!(ready(&world), Vec::<String>::new());
    set(&world, "scene-0101", Progress::Pending);
    world.files.edit(CHAPTER, "# chapter-01, longer\n");
    world.approve("chapter-01").unwrap();
    assert_eq!(ready(&world), Vec::<String>::new(), "the scene is stale");
}

fn ticket(world: &World, id: &str, head: &str) {
    let text = format!("---\nid: '{id}'\n{head}phase: intake\n---\n# It\n");
    world
        .files
        .edit(&format!("tickets/{id}-x/ticket.md"), &text);
}

#[test]
fn a_node_waits_for_what_it_needs() {
    let world = World::with_tickets_of(World::new());
    ticket(&world, "001", "");
    ticket(&world, "002", "needs: ['001']\n");
    assert_eq!(ready(&world), ["001"]);
    set(&world, "001", Progress::Complete);
    assert_eq!(ready(&world), ["002"]);
}

#[test]
fn a_need_of_the_parent_holds_back_its_children() {
    let world = World::with_tickets_of(World::new());
    ticket(&world, "001", "");
    ticket(&world, "002", "needs: ['001']\n");
    ticket(&world, "002a", "parent: '002'\n");
    assert_eq!(ready(&world), ["001"]);
}

#[test]
fn unknown_and_circular_needs_are_reported_and_ignored() {
    let world = World::with_tickets_of(World::new());
    ticket(&world, "001", "needs: ['002']\n");
    ticket(&world, "002", "needs: ['001', '099']\n");
    let found = next(&world);
    assert_eq!(found.problems.len(), 2, "{:?}", found.problems);
    // The need that closes the circle is the one that is dropped.
    assert_eq!(ready(&world), ["002"]);
}

#[test]
fn the_action_plans_further_or_enters_the_ticket() {
    let world = World::new();
    world.files.edit(ACT, "# act-1\n");
    world.approve("act-1").unwrap();
    let action = |world: &World| next(world).ready[0].action.clone();
    assert_eq!(action(&world), "tl plan chapter chapter-01 --under act-1");
    assert!(action(&World::with_tickets()).starts_with("tl focus enter 017/017a"));
}

#[test]
fn priority_orders_and_dropped_and_later_work_is_left_out() {
    let world = World::with_tickets_of(World::new());
    ticket(&world, "001", "");
    ticket(&world, "002", "priority: low\n");
    ticket(&world, "003", "priority: P1\n");
    ticket(&world, "004", "status: cancelled\n");
    ticket(&world, "005", "status: deferred\n");
    ticket(&world, "006", "due: 2026-01-02\n");
    ticket(&world, "007", "status: wontfix\n");
    ticket(&world, "007a", "parent: '007'\n");
    ticket(&world, "008", "needs: ['004']\n");
    ticket(&world, "009", "needs: ['005']\n");
    assert_eq!(ready(&world), ["003", "006", "001", "008", "002"]);
    let found = next(&world).ready;
    assert_eq!(found[0].reason, "priority high");
    assert!(
        found[1].reason.starts_with("overdue since 2026-01-02"),
        "{}",
        found[1].reason
    );
    assert_eq!(found[2].reason, "ready: nothing it needs is open");
}

#[test]
fn a_parent_is_ready_when_its_open_children_are_dropped() {
    let world = World::with_tickets_of(World::new());
    ticket(&world, "001", "");
    ticket(&world, "001a", "parent: '001'\n");
    assert_eq!(ready(&world), ["001/001a"]);
    ticket(&world, "001a", "parent: '001'\nstatus: cancelled\n");
    assert_eq!(ready(&world), ["001"]);
}

#[test]
fn stale_plans_and_waiting_decisions_are_in_the_list() {
    let world = World::with_story();
    world.files.edit(CHAPTER, "# chapter-01, longer\n");
    let kinds = |world: &World| -> Vec<(String, NextKind)> {
        let found = next(world).ready.into_iter();
        found.map(|item| (item.path, item.kind)).collect()
    };
    assert_eq!(
        kinds(&world),
        [("act-1/chapter-01".to_owned(), NextKind::Decision)]
    );
    world.approve("chapter-01").unwrap();
    assert_eq!(
        kinds(&world),
        [("act-1/chapter-01/scene-0101".to_owned(), NextKind::Stale)]
    );
}

#[test]
fn sessions_that_take_the_next_get_different_nodes() {
    let world = World::with_tickets_of(World::new());
    ticket(&world, "001", "");
    ticket(&world, "002", "priority: high\n");
    let take = |session: &str| {
        let taken = take_next_work(&world.agent(session)).map(|taken| taken.item.path);
        taken.map_err(|failure| failure.message)
    };
    assert_eq!(take("one"), Ok("002".to_owned()));
    assert_eq!(take("two"), Ok("001".to_owned()));
    assert_eq!(take("one"), Ok("002".to_owned()), "it has that one already");
    assert!(take("three").unwrap_err().contains("nothing is ready"));
    set_as(&world.agent("one"), "002", Progress::Complete);
    assert!(take("one").unwrap_err().contains("nothing is ready"));
}

/// The stored list of a large project is brought up to date with each change; it has to be the one
/// that the whole tree gives.
#[test]
fn the_stored_list_agrees_with_the_tree_after_every_change() {
    let world = World::with_tickets_of(World::new());
    for number in 1..=230 {
        ticket(&world, &format!("{number:03}"), "");
    }
    let first = |limit: usize| -> Vec<String> {
        let found = list_next_work(&world.ctx(), limit)
            .unwrap()
            .ready
            .into_iter();
        found.map(|item| item.path).take(12).collect()
    };
    let mut seed = 11u64;
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    for step in 0..60 {
        let id = format!("{:03}", draw(40) + 1);
        match draw(7) {
            0 => ticket(&world, &id, "priority: high\n"),
            1 => ticket(&world, &id, "status: cancelled\n"),
            2 => ticket(&world, &id, "needs: ['003']\n"),
            3 => ticket(&world, &id, "due: 2026-12-01\n"),
            4 => set(&world, &id, Progress::Active),
            5 => ticket(&world, &format!("{id}a"), &format!("parent: '{id}'\n")),
            _ => {
                create_ticket(&world.ctx(), &NewTicket::with_title("One more")).unwrap();
            }
        }
        // The limited list is that of the summary, the whole one of the tree.
        assert_eq!(first(12), first(usize::MAX), "step {step} at {id}");
    }
}
