//! Versions, restore and undo: every earlier text can be brought back, and nothing else changes with it.

use application::diff_version::diff_version;
use application::history::{HistoryRequest, list_history};
use application::list_versions::list_versions;
use application::restore_version::restore_version;
use application::set_progress::{ProgressRequest, set_progress};
use application::show_node::show_node;
use application::undo::{UndoTarget, undo_operations};
use application::{Failure, FailureKind};
use domain::ids::OperationId;
use domain::node::{Progress, Status};
use domain::operation::Verb;
use domain::policy::BackupPolicy;

use crate::world::{ACT, CHAPTER, SCENE, World, assert_refused, words};

fn undo(world: &World, target: UndoTarget) -> Result<(), Failure> {
    undo_operations(&world.ctx(), target).map(drop)
}

fn restore(world: &World, text: &str) -> Result<(), Failure> {
    restore_version(&world.ctx(), &words(text), None).map(drop)
}

/// An act with three texts, the third in its file.
fn edited_act() -> World {
    let world = World::new();
    for text in ["# One\n", "# Two\n", "# Three\n"] {
        world.files.edit(ACT, text);
        world.status("act-1");
    }
    world
}

#[test]
fn versions_are_listed_newest_first_and_the_present_one_has_no_number() {
    let world = edited_act();
    let found = list_versions(&world.ctx(), &words("act-1"))
        .unwrap()
        .versions;
    let back: Vec<Option<&str>> = found
        .iter()
        .map(|version| version.back.as_deref())
        .collect();
    assert_eq!(back, [None, Some("-1"), Some("-2")]);
    assert!(found[0].current && !found[1].current);
}

#[test]
fn a_restored_version_is_written_to_the_file_and_the_replaced_text_is_kept() {
    let world = edited_act();
    let outcome = restore_version(&world.ctx(), &words("act-1 -2"), None).unwrap();
    assert_eq!(world.files.text(ACT).as_deref(), Some("# One\n"));
    let backup = outcome.backup.expect("a readable backup");
    assert_eq!(world.files.text(&backup).as_deref(), Some("# Three\n"));
}

#[test]
fn a_version_is_named_by_the_first_digits_of_its_hash() {
    let world = edited_act();
    let found = list_versions(&world.ctx(), &words("act-1"))
        .unwrap()
        .versions;
    let oldest = found.last().unwrap().version_hash.short_hex();
    restore(&world, &format!("act-1 {oldest}")).unwrap();
    assert_eq!(world.files.text(ACT).as_deref(), Some("# One\n"));
}

#[test]
fn restoring_the_present_version_is_refused() {
    let world = edited_act();
    let now = world.shown("act-1").version.to_string();
    assert_refused(
        restore(&world, &format!("act-1 {now}")),
        FailureKind::Refused,
        "is that version already",
    );
}

#[test]
fn restoring_an_unknown_version_names_the_node() {
    let world = edited_act();
    assert_refused(restore(&world, "act-1 -9"), FailureKind::NotFound, "act-1");
    assert_refused(
        restore(&world, "act-1"),
        FailureKind::Invalid,
        "expected one version",
    );
}

#[test]
fn a_restore_over_another_text_than_the_shown_one_is_a_conflict() {
    let world = edited_act();
    let shown = world.shown("act-1");
    world.files.edit(ACT, "# Four\n");
    assert_refused(
        restore_version(&world.ctx(), &words("act-1 -1"), Some(&shown)),
        FailureKind::Conflict,
        "changed since it was shown",
    );
    assert_eq!(world.files.text(ACT).as_deref(), Some("# Four\n"));
}

#[test]
fn a_restored_approved_text_is_approved_again() {
    let world = World::with_story();
    world.files.edit(SCENE, "# scene-0101, rewritten\n");
    assert_eq!(world.status("scene-0101"), Status::Draft);
    restore(&world, "scene-0101 -1").unwrap();
    assert_eq!(world.status("scene-0101"), Status::Approved);
}

#[test]
fn a_text_restored_under_a_newer_parent_is_a_draft() {
    let world = World::with_story();
    world.files.edit(CHAPTER, "# chapter-01, longer\n");
    world.files.edit(ACT, "# act-1, another way\n");
    world.approve("act-1").unwrap();
    world.approve("chapter-01").unwrap();
    // The approval of the newer text replaced that of the older one.
    restore(&world, "chapter-01 -1").unwrap();
    assert_eq!(world.status("chapter-01"), Status::Draft);
}

#[test]
fn without_backups_an_edit_writes_no_copy_and_the_version_is_kept() {
    let mut world = World::new();
    world.policy.backups = BackupPolicy::Off;
    for text in ["# One\n", "# Two\n"] {
        world.files.edit(ACT, text);
        world.status("act-1");
    }
    assert_eq!(world.files.paths(), [ACT]);
    restore(&world, "act-1 -1").unwrap();
    assert_eq!(world.files.text(ACT).as_deref(), Some("# One\n"));
}

#[test]
fn a_diff_is_against_the_named_version() {
    let world = edited_act();
    let found = diff_version(&world.ctx(), &words("act-1 -2")).unwrap();
    assert!(found.unified.contains("-# One") && found.unified.contains("+# Three"));
}

#[test]
fn undo_reverts_the_newest_decision_and_skips_observations() {
    let world = World::with_story();
    world.files.edit(ACT, "# act-1, another way\n");
    assert_eq!(world.status("act-1"), Status::Draft);
    undo(&world, UndoTarget::Newest).unwrap();
    let scene = show_node(&world.ctx(), &words("scene-0101")).unwrap();
    assert_eq!(scene.approval.map(|approval| approval.by), None);
    assert_eq!(
        world.files.text(ACT).as_deref(),
        Some("# act-1, another way\n"),
        "an edit is not a decision"
    );
}

#[test]
fn undo_twice_reverts_two_decisions() {
    let world = World::with_story();
    undo(&world, UndoTarget::Newest).unwrap();
    undo(&world, UndoTarget::Newest).unwrap();
    assert_eq!(world.statuses(), "add");
}

#[test]
fn an_undone_operation_cannot_be_undone_again_but_its_undo_can() {
    let world = World::with_story();
    let approval = world.head();
    undo(&world, UndoTarget::Operation(approval)).unwrap();
    assert_refused(
        undo(&world, UndoTarget::Operation(approval)),
        FailureKind::Refused,
        "was undone already",
    );
    undo(&world, UndoTarget::Operation(world.head())).unwrap();
    assert_eq!(world.statuses(), "aaa");
}

#[test]
fn an_operation_that_later_ones_build_on_is_not_undone_alone() {
    let world = World::new();
    world.files.edit(ACT, "# act-1\n");
    world.approve("act-1").unwrap();
    let first = world.head();
    world.files.edit(ACT, "# act-1, another way\n");
    world.approve("act-1").unwrap();
    assert_refused(
        undo(&world, UndoTarget::Operation(first)),
        FailureKind::Conflict,
        "cannot be undone by itself",
    );
}

#[test]
fn undo_of_new_plan_files_is_refused() {
    let world = World::new();
    world.files.edit(ACT, "# act-1\n");
    world.status("act-1");
    assert_refused(
        undo(&world, UndoTarget::Operation(world.head())),
        FailureKind::Refused,
        "observed new plan files",
    );
}

#[test]
fn undo_of_an_unknown_operation_and_of_nothing_is_refused() {
    let world = World::new();
    assert_refused(
        undo(&world, UndoTarget::Operation(OperationId(99))),
        FailureKind::NotFound,
        "no operation 99",
    );
    assert_refused(
        undo(&world, UndoTarget::Newest),
        FailureKind::Refused,
        "nothing to undo",
    );
}

#[test]
fn undo_back_to_an_operation_reverts_everything_after_it() {
    let world = World::with_story();
    let before = world.head();
    let request = ProgressRequest {
        node: words("scene-0101"),
        progress: Progress::Complete,
    };
    set_progress(&world.ctx(), &request).unwrap();
    restore(&world, "scene-0101 -1").unwrap_err();
    undo(&world, UndoTarget::Operation(world.head())).unwrap();
    set_progress(&world.ctx(), &request).unwrap();
    undo(&world, UndoTarget::BackTo(before)).unwrap();
    let view = show_node(&world.ctx(), &words("scene-0101")).unwrap();
    assert_eq!(view.progress, Progress::Pending);
}

#[test]
fn undo_of_a_restore_brings_the_replaced_text_back() {
    let world = edited_act();
    restore(&world, "act-1 -2").unwrap();
    undo(&world, UndoTarget::Newest).unwrap();
    assert_eq!(world.files.text(ACT).as_deref(), Some("# Three\n"));
}

#[test]
fn the_history_of_a_node_leaves_out_operations_on_others() {
    let world = World::with_story();
    let request = HistoryRequest {
        node: words("scene-0101"),
        most: 50,
        before: None,
    };
    let found = list_history(&world.ctx(), &request).unwrap();
    let verbs: Vec<Verb> = found.iter().map(|operation| operation.verb).collect();
    assert_eq!(verbs, [Verb::Approve, Verb::Observe]);
}
