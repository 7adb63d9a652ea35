//! The inbox: groups by cause with their counts, and the sessions that wait.

use application::inbox::{InboxView, LevelCount, load_inbox};
use application::open_waits::{end_open_wait, poll_open_wait};
use application::poll_decision::WaitRequest;
use application::request_changes::{ChangesRequest, request_changes};
use application::show_sessions::show_sessions;
use application::tree_cache::{CachedTree, record_file_changes};
use domain::session_activity::ActivityState;

use crate::world::{ACT, World, words};

fn cached(world: &World) -> CachedTree {
    record_file_changes(&world.ctx()).unwrap();
    CachedTree::read(&world.ctx()).unwrap()
}

fn inbox(world: &World) -> InboxView {
    load_inbox(&world.ctx(), &cached(world), &[]).unwrap()
}

/// The plans of the queue, those that a session waits for with its name.
fn queue(world: &World) -> Vec<String> {
    let view = inbox(world);
    let items = view.queue_items();
    items
        .map(|item| match item.stopped.first() {
            Some(one) => format!("{} < {}", item.plan.path, one.session),
            None => item.plan.path.clone(),
        })
        .collect()
}

/// The sessions that wait, each with the plan to decide about.
fn waiting_sessions(world: &World) -> Vec<(String, String)> {
    let cards = show_sessions(&world.ctx(), &cached(world), &[]).unwrap();
    cards
        .into_iter()
        .filter(|card| card.state == ActivityState::Waiting)
        .map(|card| (card.session, card.waits_for.expect("a plan").path))
        .collect()
}

#[test]
fn a_session_that_waits_is_shown_until_its_wait_ends() {
    let world = World::new();
    for act in 1..=3 {
        let file = format!("acts/act-{act}/strategic-plan.md");
        world.files.edit(&file, "# Act\n");
    }
    world
        .files
        .edit("acts/act-3/chapters/chapter-01/plan.md", "# One\n");
    assert_eq!(queue(&world), ["act-1", "act-2", "act-3"]);
    let wait = |node: &str| WaitRequest {
        node: words(node),
        ..WaitRequest::default()
    };
    // The plan to decide first is the one above.
    poll_open_wait(&world.agent("s1"), &wait("act-3/chapter-01")).unwrap();
    assert_eq!(queue(&world), ["act-3 < s1", "act-1", "act-2"]);
    let waits = [("s1".to_owned(), "act-3".to_owned())];
    assert_eq!(waiting_sessions(&world), waits);
    end_open_wait(&world.agent("s1"), &wait("act-3/chapter-01"));
    assert_eq!(queue(&world), ["act-1", "act-2", "act-3"]);
    assert_eq!(waiting_sessions(&world), []);

    poll_open_wait(&world.agent("s2"), &wait("act-2")).unwrap();
    assert_eq!(queue(&world), ["act-2 < s2", "act-1", "act-3"]);
    world.approve("act-2").unwrap();
    assert!(
        poll_open_wait(&world.agent("s2"), &wait("act-2"))
            .unwrap()
            .done
    );
    assert_eq!(waiting_sessions(&world), []);

    poll_open_wait(&world.agent("s3"), &wait("act-1")).unwrap();
    world.clock.advance_seconds(90);
    assert_eq!(waiting_sessions(&world), [], "its process was killed");
}

#[test]
fn a_group_counts_what_a_decision_about_it_settles() {
    let world = World::with_story();
    let chapters = "acts/act-1/chapters";
    let add = |file: String, node: &str| {
        world.files.edit(&file, "# Plan\n");
        world.approve(node).unwrap();
    };
    add(format!("{chapters}/chapter-02/plan.md"), "chapter-02");
    for scene in 1..=2 {
        let file = format!("{chapters}/chapter-02/scenes/scene-020{scene}-blueprint.md");
        add(file, &format!("scene-020{scene}"));
    }
    world.files.edit(ACT, "# act-1\n\nAnother end.\n");
    world.approve("act-1").unwrap();
    let counts = |world: &World| -> Vec<(String, usize)> {
        let groups = inbox(world).groups;
        let touched = groups.into_iter().flat_map(|group| group.touched);
        let pair = |LevelCount { level, count }| (level, count);
        touched.map(pair).collect()
    };
    let level = |level: &str, count| (level.to_owned(), count);
    assert_eq!(counts(&world), [level("chapter", 2), level("scene", 3)]);
    let request = ChangesRequest {
        node: words("chapter-02"),
        text: "Shorter.".to_owned(),
        shown: Some(world.shown("chapter-02")),
    };
    request_changes(&world.ctx(), &request).unwrap();
    // The agent writes the chapter again; its scenes are decided after that.
    assert_eq!(counts(&world), [level("chapter", 1), level("scene", 1)]);
}
