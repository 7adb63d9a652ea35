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

/// Both were changed between two looks: the order in which they were written decides.
#[test]
fn a_child_written_before_its_parent_changed_is_stale() {
    let before = World::with_story();
    before.files.edit(CHAPTER, "# new chapter\n");
    before.files.edit(ACT, "# new act\n");
    assert_eq!(before.tree().lines().count(), 3);
    assert_eq!(before.status("chapter-01"), Status::RequiresRevalidation);

    let after = World::with_story();
    after.files.edit(ACT, "# new act\n");
    after.files.edit(CHAPTER, "# new chapter\n");
    assert_eq!(after.status("chapter-01"), Status::Draft);
}

/// An old text that comes back is still the one written against the old parent.
#[test]
fn a_version_remembers_what_it_was_written_against() {
    let world = World::new();
    world.files.edit(ACT, "# one\n");
    world.files.edit(CHAPTER, "# first\n");
    assert_eq!(world.status("chapter-01"), Status::Draft);
    world.files.edit(ACT, "# two\n");
    world.files.edit(CHAPTER, "# second\n");
    assert_eq!(world.status("chapter-01"), Status::Draft);
    world.files.edit(CHAPTER, "# first\n");
    assert_eq!(world.status("chapter-01"), Status::RequiresRevalidation);
    world.files.edit(ACT, "# one\n");
    assert_eq!(world.status("chapter-01"), Status::Draft);
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
