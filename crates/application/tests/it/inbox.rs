//! The inbox: groups by cause with their counts.

use application::inbox::{InboxView, LevelCount, load_inbox};
use application::request_changes::{ChangesRequest, request_changes};
use application::tree_cache::{CachedTree, record_file_changes};

use crate::world::{ACT, World, words};

fn cached(world: &World) -> CachedTree {
    record_file_changes(&world.ctx()).unwrap();
    CachedTree::read(&world.ctx()).unwrap()
}

fn inbox(world: &World) -> InboxView {
    load_inbox(&world.ctx(), &cached(world), &[]).unwrap()
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
