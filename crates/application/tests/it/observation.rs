//! The tree follows the files, regardless of who changed them and in which order.

use domain::node::Status;
use domain::policy::CascadePolicy;

use crate::world::{ACT, CHAPTER, SCENE, World};

#[test]
fn a_changed_parent_makes_everything_below_stale() {
    let world = World::with_story();
    assert_eq!(world.statuses(), "aaa");
    world.files.edit(ACT, "# another act\n");
    assert_eq!(world.statuses(), "drr");
    world.files.edit(ACT, "# act-1\n");
    assert_eq!(world.statuses(), "aaa", "early cutoff");
}

#[test]
fn formatting_changes_nothing() {
    let world = World::with_story();
    world.files.edit(ACT, "\u{feff}# act-1  \r\n\r\n\r\n");
    assert_eq!(world.statuses(), "aaa");
}

#[test]
fn a_middle_node_touches_only_what_is_below() {
    let world = World::with_story();
    world.files.edit(CHAPTER, "# another chapter\n");
    assert_eq!(world.statuses(), "adr");
}

#[test]
fn a_missing_or_unreadable_parent_shakes_its_children_until_it_is_back() {
    let world = World::with_story();
    world.files.delete(CHAPTER);
    assert_eq!(world.statuses(), "air");
    world.files.edit(CHAPTER, "binary\0");
    assert_eq!(world.statuses(), "air");
    world.files.edit(CHAPTER, "# chapter-01\n");
    assert_eq!(world.statuses(), "aaa");
}

/// Both were changed between two looks: which was written first is known to nobody else, so it
/// does not count.
#[test]
fn the_order_in_which_parent_and_child_were_written_does_not_count() {
    let child_first = World::with_story();
    child_first.files.edit(CHAPTER, "# new chapter\n");
    child_first.files.edit(ACT, "# new act\n");
    let parent_first = World::with_story();
    parent_first.files.edit(ACT, "# new act\n");
    parent_first.files.edit(CHAPTER, "# new chapter\n");
    let separately = World::with_story();
    separately.files.edit(ACT, "# new act\n");
    assert_eq!(separately.statuses(), "drr");
    separately.files.edit(CHAPTER, "# new chapter\n");
    for world in [child_first, parent_first, separately] {
        assert_eq!(world.statuses(), "drr", "the act waits for a decision");
        world.approve("act-1").unwrap();
        assert_eq!(world.statuses(), "adr", "the act is decided on");
    }
}

/// A draft follows the decisions about its parent, whatever the parent was when it was written.
#[test]
fn a_draft_is_stale_while_its_parent_was_changed_after_approval() {
    let world = World::new();
    world.files.edit(ACT, "# one\n");
    world.files.edit(CHAPTER, "# first\n");
    assert_eq!(world.status("chapter-01"), Status::Draft);
    world.files.edit(ACT, "# two\n");
    assert_eq!(
        world.status("chapter-01"),
        Status::Draft,
        "the act was never approved"
    );
    world.approve("act-1").unwrap();
    assert_eq!(world.status("chapter-01"), Status::Draft);
    world.files.edit(ACT, "# three\n");
    assert_eq!(world.status("chapter-01"), Status::RequiresRevalidation);
    world.files.edit(CHAPTER, "# second\n");
    assert_eq!(
        world.status("chapter-01"),
        Status::RequiresRevalidation,
        "an edit of the draft decides nothing about the act"
    );
    world.files.edit(ACT, "# two\n");
    assert_eq!(world.status("chapter-01"), Status::Draft, "early cutoff");
}

#[test]
fn plans_without_their_parents_plan_hang_on_a_missing_one() {
    let world = World::new();
    world.files.edit(SCENE, "# scene\n");
    assert_eq!(world.status("scene-0101"), Status::RequiresRevalidation);
    assert_eq!(
        world.tree(),
        "act-1 invalid\n  chapter-01 requires-revalidation\n    scene-0101 stale\n"
            .replace("chapter-01 requires-revalidation", "chapter-01 invalid")
    );
    world.files.edit(ACT, "# act\n");
    world.files.edit(CHAPTER, "# chapter\n");
    assert_eq!(world.statuses(), "ddd");
}

#[test]
fn the_precise_cascade_spares_what_did_not_change() {
    let mut world = World::new();
    world.policy.cascade = CascadePolicy::Precise;
    let act = |first: &str, second: &str| {
        format!("# Act\n\n## Chapter 1\n{first}\n\n## Chapter 2\n{second}\n")
    };
    world.files.edit(ACT, &act("sea", "land"));
    world.approve("act-1").unwrap();
    let second = "acts/act-1/chapters/chapter-02/plan.md";
    let third = "acts/act-1/chapters/chapter-03/plan.md";
    for (file, node) in [
        (CHAPTER, "chapter-01"),
        (second, "chapter-02"),
        (third, "chapter-03"),
    ] {
        world.files.edit(file, &format!("# {node}\n"));
        world.approve(node).unwrap();
    }
    world.files.edit(ACT, &act("sea", "fire"));
    world.approve("act-1").unwrap();
    assert_eq!(
        world.status("chapter-01"),
        Status::Approved,
        "its section did not change"
    );
    assert_eq!(
        world.status("chapter-02"),
        Status::RequiresRevalidation,
        "its section changed"
    );
    assert_eq!(
        world.status("chapter-03"),
        Status::RequiresRevalidation,
        "named nowhere: it may rely on anything"
    );
}

/// Nothing is written when nothing changed.
#[test]
fn looking_leaves_no_trace() {
    let world = World::with_story();
    let before = world
        .store
        .begin_read()
        .unwrap()
        .last_operation_id()
        .unwrap();
    for _ in 0..3 {
        world.statuses();
        application::project_status::load_project_status(&world.ctx()).unwrap();
        application::show_tree::show_tree(&world.ctx(), &[]).unwrap();
        application::check_state::check_state(&world.ctx()).unwrap();
    }
    assert_eq!(
        world
            .store
            .begin_read()
            .unwrap()
            .last_operation_id()
            .unwrap(),
        before
    );
}
