//! Refused undos name the plan that is in the way, and the undos they offer are possible.

use application::Failure;
use application::FailureKind;
use application::shape::{ShapeChange, change_shape};
use application::undo::{UndoTarget, preview_undo, undo_operations};
use domain::ids::OperationId;
use domain::policy::ApprovalPolicy;

use crate::shape::change;
use crate::world::{World, words};

fn add(world: &World, level: &str, under: &str) {
    let add = ShapeChange::Add {
        level: level.to_owned(),
        under: Some(under.to_owned()),
        name: None,
        title: None,
    };
    change(world, add).unwrap();
}

fn remove(world: &World, node: &str) {
    let node = words(node);
    change(world, ShapeChange::Remove { node }).unwrap();
}

/// Returns the refusal of an undo, which its preview agrees with.
fn refuse_undo(world: &World, target: UndoTarget) -> Failure {
    let previewed = preview_undo(&world.ctx(), target).unwrap_err();
    let refused = undo_operations(&world.ctx(), target).unwrap_err();
    assert_eq!(refused.kind, FailureKind::Conflict, "{refused:?}");
    assert_eq!(previewed.message, refused.message);
    assert_eq!(previewed.next_steps, refused.next_steps);
    assert!(!refused.message.contains('#'), "{refused:?}");
    refused
}

/// Runs the undos that a refusal offers, each on the state as it is then.
fn run_offered(world: &World, refused: &Failure) -> usize {
    let steps = refused.next_steps.iter();
    let offered = steps.filter_map(|step| step.strip_prefix("tl undo "));
    let mut count = 0;
    for step in offered {
        let words: Vec<&str> = step.split_whitespace().collect();
        let target = match words.as_slice() {
            ["--to", id, ..] => UndoTarget::BackTo(OperationId(id.parse().unwrap())),
            [id, ..] => UndoTarget::Operation(OperationId(id.parse().unwrap())),
            [] => panic!("{step}"),
        };
        undo_operations(&world.ctx(), target).unwrap();
        count += 1;
        undo_operations(&world.ctx(), UndoTarget::Operation(world.head())).unwrap();
    }
    count
}

#[test]
fn a_new_plan_with_a_later_one_below_it_is_not_removed_by_an_undo() {
    let world = World::with_story();
    add(&world, "chapter", "act-1");
    let added = world.head();
    let scene = "acts/act-1/chapters/chapter-02/scenes/scene-0201-blueprint.md";
    world.files.edit(scene, "# Scene\n");
    for is_there in [true, false] {
        if !is_there {
            world.files.delete(scene);
        }
        let refused = refuse_undo(&world, UndoTarget::Operation(added));
        assert!(
            refused
                .message
                .contains("`act-1/chapter-02/scene-0201` is below `act-1/chapter-02`"),
            "{refused:?}"
        );
        assert_eq!(
            refused.next_steps,
            [
                "tl log".to_owned(),
                "tl remove act-1/chapter-02/scene-0201".to_owned(),
                format!("tl undo {added}   # when it is removed"),
            ]
        );
    }
    remove(&world, "act-1/chapter-02/scene-0201");
    undo_operations(&world.ctx(), UndoTarget::Operation(added)).unwrap();
    assert_eq!(
        world.files.text("acts/act-1/chapters/chapter-02/plan.md"),
        None
    );
}

#[test]
fn after_an_undo_out_of_order_the_undo_of_it_is_offered() {
    let world = World::with_story();
    add(&world, "chapter", "act-1");
    let added = world.head();
    add(&world, "scene", "act-1/chapter-02");
    remove(&world, "act-1/chapter-02/scene-0201");
    undo_operations(&world.ctx(), UndoTarget::Operation(added)).unwrap();
    let undone = world.head();
    let refused = refuse_undo(&world, UndoTarget::Newest);
    assert!(
        refused
            .message
            .contains(&format!("operation {undone} removed `chapter-02`")),
        "{refused:?}"
    );
    let first = refused.next_steps.get(1).cloned().unwrap_or_default();
    assert!(
        first.starts_with(&format!("tl undo {undone} ")),
        "{refused:?}"
    );
    assert_eq!(run_offered(&world, &refused), 2);
}

#[test]
fn an_undo_that_is_refused_too_is_not_offered() {
    let mut world = World::with_story();
    let agent = world.agent("one");
    let request = application::shape::ChangeShapeRequest {
        change: ShapeChange::Add {
            level: "chapter".to_owned(),
            under: Some("act-1".to_owned()),
            name: None,
            title: None,
        },
        dry_run: false,
    };
    change_shape(&agent, &request).unwrap();
    world
        .files
        .edit("acts/act-1/chapters/chapter-02/plan.md", "# Edited\n");
    world.approve("act-1/chapter-02").unwrap();
    world.policy.approval = ApprovalPolicy::Human;
    let refused = undo_operations(&world.agent("one"), UndoTarget::Newest).unwrap_err();
    assert_eq!(refused.next_steps, ["tl log"], "{refused:?}");
}
