//! What is ready to work on: approved, free, and with nothing open that it needs.

use application::next_work::{NextWork, list_next_work};
use application::set_progress::{ProgressRequest, set_progress};
use domain::node::Progress;

use crate::world::{ACT, CHAPTER, World, words};

fn next(world: &World) -> NextWork {
    list_next_work(&world.ctx()).unwrap()
}

fn ready(world: &World) -> Vec<String> {
    let found = next(world).ready;
    found.into_iter().map(|node| node.path).collect()
}

fn set(world: &World, node: &str, progress: Progress) {
    let request = ProgressRequest {
        node: words(node),
        progress,
    };
    set_progress(&world.ctx(), &request).unwrap();
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
