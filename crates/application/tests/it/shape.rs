//! Changes of shape: plans, files and everything attached move together, and undo brings it all back.

use std::collections::BTreeMap;

use application::check_state::check_state;
use application::comment::{add_comment, list_comments};
use application::list_versions::list_versions;
use application::place_file::place_file;
use application::project_status::load_project_status;
use application::set_progress::{ProgressRequest, set_progress};
use application::shape::{
    BrokenNeedView, ChangeShapeRequest, MoveTarget, ShapeChange, ShapeOutcome, change_shape,
};
use application::show_node::show_node;
use application::undo::{UndoTarget, preview_undo, undo_operations};
use application::{Failure, FailureKind, Notice};
use domain::node::{Progress, Status};
use domain::policy::CascadePolicy;

use crate::world::{World, assert_refused, words};

pub(crate) fn change(world: &World, change: ShapeChange) -> Result<ShapeOutcome, Failure> {
    let dry_run = false;
    change_shape(&world.ctx(), &ChangeShapeRequest { change, dry_run })
}

pub(crate) fn insert(world: &World, place: &str) -> Result<ShapeOutcome, Failure> {
    let insert = ShapeChange::Insert {
        place: words(place),
        under: None,
        after: false,
        title: Some("The storm".to_owned()),
    };
    change(world, insert)
}

pub(crate) fn chapter_file(number: usize) -> String {
    format!("acts/act-1/chapters/chapter-{number:02}/plan.md")
}

fn scene_file(chapter: usize) -> String {
    format!("acts/act-1/chapters/chapter-{chapter:02}/scenes/scene-{chapter:02}01-blueprint.md")
}

/// An act with seven approved chapters of one scene each, whose texts have their numbers and name each
/// other, as people write them.
pub(crate) fn novel() -> World {
    let world = World::new();
    let list: String = (1..=7)
        .map(|number| format!("- Глава {number}: событие {number}\n"))
        .collect();
    world.files.edit(
        "acts/act-1/strategic-plan.md",
        &format!("# Акт 1\n\n## Главы\n\n{list}"),
    );
    world.approve("act-1").unwrap();
    for number in 1..=7 {
        let text = format!(
            "# Глава {number}: событие {number}\n\n[scene](scenes/scene-{number:02}01-blueprint.md), see act-1/chapter-07.\n"
        );
        world.files.edit(&chapter_file(number), &text);
        world.approve(&format!("chapter {number}")).unwrap();
        world.files.edit(
            &scene_file(number),
            &format!("---\nneeds: [chapter-01]\n---\n# Scene {number:02}01\n\nСтарый маяк.\n"),
        );
        world.approve(&format!("scene {number:02}01")).unwrap();
        world.files.edit(
            &format!("acts/act-1/chapters/chapter-{number:02}/content/scene-{number:02}01.md"),
            &format!("Prose {number}, of Chapter {number}.\n"),
        );
    }
    world
}

fn all_texts(world: &World) -> BTreeMap<String, String> {
    let paths = world.files.paths().into_iter();
    paths
        .filter(|path| !path.contains("/backups/"))
        .filter_map(|path| Some((path.clone(), world.files.text(&path)?)))
        .collect()
}

fn count_status(world: &World, status: Status) -> usize {
    let state = world.store.begin_read().unwrap();
    let nodes = state.all_nodes().unwrap();
    nodes.iter().filter(|node| node.status() == status).count()
}

fn assert_nothing_left(world: &World) {
    let head = world.head();
    let checked = check_state(&world.ctx()).unwrap();
    assert!(checked.findings.is_empty(), "{:?}", checked.findings);
    world.status("act-1");
    assert_eq!(world.head(), head, "the next scan finds nothing to record");
}

#[test]
fn an_inserted_chapter_keeps_every_approval_and_everything_attached() {
    let world = novel();
    let progress = ProgressRequest {
        node: words("chapter 4"),
        progress: Progress::Active,
    };
    set_progress(&world.ctx(), &progress).unwrap();
    add_comment(&world.ctx(), &words("chapter 4"), "keep the storm").unwrap();
    let head = world.head();

    let done = insert(&world, "chapter 4").unwrap();
    assert_eq!(world.head().0, head.0 + 1, "one operation");
    assert_eq!(done.node.as_deref(), Some("act-1/chapter-04"));
    assert_eq!(
        count_status(&world, Status::Approved),
        15,
        "{:?}",
        done.changed_entities
    );
    assert_eq!(
        world.files.text(&chapter_file(4)).unwrap().lines().next(),
        Some("# Глава 4: The storm")
    );
    assert_eq!(
        world.files.text(&chapter_file(5)).as_deref(),
        Some(
            "# Глава 5: событие 4\n\n[scene](scenes/scene-0501-blueprint.md), see act-1/chapter-08.\n"
        )
    );
    assert!(
        world
            .files
            .text("acts/act-1/strategic-plan.md")
            .unwrap()
            .contains("- Глава 3: событие 3\n- Глава 5: событие 4\n")
    );
    assert_eq!(
        world
            .files
            .text("acts/act-1/chapters/chapter-05/content/scene-0501.md")
            .as_deref(),
        Some("Prose 4, of Chapter 4.\n"),
        "prose is moved and not rewritten"
    );
    let moved = show_node(&world.ctx(), &words("chapter 5")).unwrap();
    assert_eq!(moved.progress, Progress::Active);
    let comments = list_comments(&world.ctx(), &words("chapter 5")).unwrap();
    assert!(comments[0].open, "a rewritten number is no answer");
    let versions = list_versions(&world.ctx(), &words("chapter 5")).unwrap();
    assert_eq!(versions.versions.len(), 2);
    assert_nothing_left(&world);
}

#[test]
fn undo_of_an_insertion_restores_every_file_and_status() {
    let world = novel();
    let (files, tree) = (all_texts(&world), world.tree());
    insert(&world, "chapter 2").unwrap();
    let preview = preview_undo(&world.ctx(), UndoTarget::Newest).unwrap();
    assert!(preview.changed_nodes > 5, "{preview:?}");
    undo_operations(&world.ctx(), UndoTarget::Newest).unwrap();
    assert_eq!(all_texts(&world), files);
    assert_eq!(world.tree(), tree);
    assert_nothing_left(&world);
}

#[test]
fn a_preview_lists_files_and_statuses_and_changes_nothing() {
    let world = novel();
    world.status("act-1");
    let (files, head) = (all_texts(&world), world.head());
    let request = ChangeShapeRequest {
        change: ShapeChange::Remove {
            node: words("chapter 7"),
        },
        dry_run: true,
    };
    let shown = change_shape(&world.ctx(), &request).unwrap();
    assert_eq!(
        shown.removed,
        ["act-1/chapter-07", "act-1/chapter-07/scene-0701"]
    );
    assert_eq!(shown.removed_files.len(), 3);
    assert_eq!(shown.operation, None);
    assert_eq!((all_texts(&world), world.head()), (files, head));
}

#[test]
fn a_scene_moved_to_another_act_is_stale_and_keeps_its_history() {
    let world = novel();
    world
        .files
        .edit("acts/act-2/strategic-plan.md", "# Акт 2\n");
    world.approve("act-2").unwrap();
    world
        .files
        .edit("acts/act-2/chapters/chapter-01/plan.md", "# Глава 1\n");
    world.approve("act-2/chapter-01").unwrap();
    let before = show_node(&world.ctx(), &words("scene 0301")).unwrap();
    let moved = ShapeChange::Move {
        node: words("act-1/chapter-03/scene-0301"),
        target: MoveTarget::Under(Some("act-2/chapter-01".to_owned())),
    };
    let done = change(&world, moved).unwrap();
    assert_eq!(done.node.as_deref(), Some("act-2/chapter-01/scene-0101"));
    let now = show_node(&world.ctx(), &words("act-2/chapter-01/scene-0101")).unwrap();
    assert_eq!(now.created_at, before.created_at);
    assert_eq!(now.status, Status::RequiresRevalidation);
    let text = world
        .files
        .text("acts/act-2/chapters/chapter-01/scenes/scene-0101-blueprint.md")
        .unwrap();
    // `chapter-01` alone would mean another chapter from there.
    assert!(text.contains("needs: [act-1/chapter-01]"), "{text}");
    // The act that was written by hand made the needs of the other scenes ambiguous before.
    let checked = check_state(&world.ctx()).unwrap();
    let mut findings = checked.findings.iter();
    assert!(
        findings.all(|one| one.kind == "needs"
            && one
                .node
                .as_deref()
                .is_some_and(|node| node.starts_with("act-1/"))),
        "{:?}",
        checked.findings
    );
}

#[test]
fn an_added_chapter_does_not_make_the_needs_of_others_ambiguous() {
    let world = novel();
    world
        .files
        .edit("acts/act-2/strategic-plan.md", "# Акт 2\n");
    world.approve("act-2").unwrap();
    let add = ShapeChange::Add {
        level: "chapter".to_owned(),
        under: Some("act-2".to_owned()),
        name: None,
        title: None,
    };
    let done = change(&world, add).unwrap();
    assert_eq!(done.node.as_deref(), Some("act-2/chapter-01"));
    let text = world.files.text(&scene_file(3)).unwrap();
    assert!(text.contains("needs: [act-1/chapter-01]"), "{text}");
    assert_eq!(count_status(&world, Status::Approved), 16);
    assert_nothing_left(&world);
}

#[test]
fn siblings_are_reordered_by_the_numbers_they_have() {
    let world = novel();
    let moved = ShapeChange::Move {
        node: words("chapter 6"),
        target: MoveTarget::Before("chapter-02".to_owned()),
    };
    let done = change(&world, moved).unwrap();
    let chapters: Vec<String> = done
        .renamed
        .iter()
        .filter(|one| one.path.matches('/').count() == 1)
        .map(|one| format!("{} {}", &one.was[6..], &one.path[6..]))
        .collect();
    assert_eq!(
        chapters,
        [
            "chapter-02 chapter-03",
            "chapter-03 chapter-04",
            "chapter-04 chapter-05",
            "chapter-05 chapter-06",
            "chapter-06 chapter-02"
        ]
    );
    assert_eq!(count_status(&world, Status::Approved), 15);
    assert_nothing_left(&world);
}

#[test]
fn a_split_and_a_merge_keep_every_word() {
    let world = novel();
    let file = scene_file(2);
    world
        .files
        .edit(&file, "# Scene 0201\n\nFirst.\n\n## Дверь\n\nSecond.\n");
    add_comment(&world.ctx(), &words("scene 0201"), "whose door?").unwrap();
    let split = ShapeChange::Split {
        node: words("scene 0201"),
        at: "Дверь".to_owned(),
        title: Some("The door".to_owned()),
        children_from: None,
    };
    change(&world, split).unwrap();
    assert_eq!(
        world.files.text(&file).as_deref(),
        Some("# Scene 0201\n\nFirst.\n\n")
    );
    let second = "acts/act-1/chapters/chapter-02/scenes/scene-0202-blueprint.md";
    assert_eq!(
        world.files.text(second).as_deref(),
        Some("# Scene 0202: The door\n\n## Дверь\n\nSecond.\n")
    );
    assert_nothing_left(&world);
    let merge = ShapeChange::Merge {
        node: words("scene 0202"),
        into: words("scene 0201"),
    };
    change(&world, merge).unwrap();
    assert_eq!(
        world.files.text(&file).as_deref(),
        Some("# Scene 0201\n\nFirst.\n\n# Scene 0201: The door\n\n## Дверь\n\nSecond.\n")
    );
    assert_eq!(world.files.text(second), None);
    assert_nothing_left(&world);
}

#[test]
fn a_name_is_refused_for_what_is_wrong_with_it() {
    let world = novel();
    let rename = |name: &str| {
        change(
            &world,
            ShapeChange::Renumber {
                node: words("scene 0301"),
                id: Some(name.to_owned()),
            },
        )
    };
    let other_parent = "`scene-0402` cannot be below `chapter-03`: its name says another parent";
    assert_refused(rename("scene-0402"), FailureKind::Invalid, other_parent);
    let add = ShapeChange::Add {
        level: "chapter".to_owned(),
        under: None,
        name: Some("chapter-03".to_owned()),
        title: None,
    };
    let taken = "`act-1/chapter-03` exists already";
    assert_refused(change(&world, add), FailureKind::Conflict, taken);
}

#[test]
fn names_beside_numbers_and_gaps_that_are_closed() {
    let world = novel();
    let add = ShapeChange::Add {
        level: "chapter".to_owned(),
        under: None,
        name: Some("Пролог".to_owned()),
        title: None,
    };
    let done = change(&world, add).unwrap();
    assert_eq!(done.node.as_deref(), Some("act-1/пролог"));
    assert!(world.tree().find("пролог") < world.tree().find("chapter-01"));
    let remove = ShapeChange::Remove {
        node: words("chapter 3"),
    };
    change(&world, remove).unwrap();
    let close = ShapeChange::CloseGaps {
        node: words("act-1"),
    };
    change(&world, close).unwrap();
    assert_eq!(world.files.text(&chapter_file(7)), None);
    assert!(
        world
            .files
            .text(&chapter_file(6))
            .unwrap()
            .starts_with("# Глава 6: событие 7")
    );
    assert_nothing_left(&world);
}

#[test]
fn an_agents_change_of_shape_does_not_approve_rewritten_texts_for_a_person() {
    let mut world = novel();
    world.policy.approval = domain::policy::ApprovalPolicy::Human;
    let request = ChangeShapeRequest {
        change: ShapeChange::Insert {
            place: words("chapter 7"),
            under: None,
            after: false,
            title: None,
        },
        dry_run: false,
    };
    change_shape(&world.agent("one"), &request).unwrap();
    assert_eq!(world.status("act-1"), Status::Draft);
    undo_operations(&world.agent("one"), UndoTarget::Newest).unwrap();
    assert_eq!(world.status("act-1"), Status::Approved);
}

#[test]
fn a_bare_undo_takes_back_only_what_this_principal_did() {
    let world = novel();
    insert(&world, "chapter 7").unwrap();
    assert_refused(
        undo_operations(&world.agent("one"), UndoTarget::Newest),
        FailureKind::Refused,
        "there is nothing to undo by agent:claude-code/one",
    );
}

#[test]
fn an_edit_since_the_change_keeps_it_from_being_undone_by_half() {
    let world = novel();
    insert(&world, "chapter 7").unwrap();
    let edited = chapter_file(8);
    let text = world.files.text(&edited).unwrap();
    world.files.edit(&edited, &format!("{text}More.\n"));
    assert_refused(
        undo_operations(&world.ctx(), UndoTarget::Newest),
        FailureKind::Conflict,
        "cannot be undone by itself: the content of `act-1/chapter-08` has changed since",
    );
    assert!(world.files.text(&edited).unwrap().ends_with("More.\n"));
}

#[test]
fn a_misplaced_plan_is_reported_and_put_where_it_belongs() {
    let world = novel();
    world
        .files
        .edit("acts/act-1/chapters/chapter-9/plan.md", "# Глава 9\n");
    world
        .files
        .edit("acts/act-1/chapters/chapter-9/notes.md", "notes\n");
    let checked = check_state(&world.ctx()).unwrap();
    let found = &checked.findings[0];
    assert_eq!(found.kind, "misplaced");
    assert_eq!(
        found.next_steps,
        ["tl move acts/act-1/chapters/chapter-9/plan.md"]
    );
    place_file(&world.ctx(), "acts/act-1/chapters/chapter-9/plan.md", false).unwrap();
    assert!(
        world
            .files
            .text("acts/act-1/chapters/chapter-09/notes.md")
            .is_some()
    );
    assert_eq!(world.status("chapter 9"), Status::Draft);
    assert_nothing_left(&world);
}

#[test]
fn a_plan_with_a_taken_number_is_refused_with_a_free_one() {
    let world = novel();
    let file = "acts/act-1/chapters/chapter-7/plan.md";
    world.files.edit(file, "# Another\n");
    let refused = place_file(&world.ctx(), file, false).unwrap_err();
    assert!(refused.message.contains("is already there"), "{refused:?}");
    let [step] = refused.next_steps.as_slice() else {
        panic!("{refused:?}");
    };
    let (from, to) = (
        "acts/act-1/chapters/chapter-7",
        "acts/act-1/chapters/chapter-08",
    );
    assert_eq!(*step, format!("mv {from} {to}   # a free number"));
}

#[test]
fn a_scene_in_the_folder_of_another_chapter_moves_alone() {
    let world = novel();
    let wrong = "acts/act-1/chapters/chapter-01/scenes/scene-0207-blueprint.md";
    world.files.edit(wrong, "# Scene 0207\n");
    let checked = check_state(&world.ctx()).unwrap();
    assert_eq!(checked.findings[0].next_steps, [format!("tl move {wrong}")]);
    place_file(&world.ctx(), wrong, false).unwrap();
    assert_eq!(world.status("scene 0207"), Status::Draft);
    assert!(world.files.text(&chapter_file(1)).is_some());
    assert_nothing_left(&world);
}

#[test]
fn plans_outside_of_the_folders_of_plans_are_named_by_the_status() {
    let world = novel();
    let misplaced = [
        "act-3/plan.md",
        "chapter-09/plan.md",
        "Acts/act-2/strategic-plan.md",
        "acts/act-4.md",
        "acts/act-1/chapter/chapter-08/plan.md",
    ];
    for path in misplaced {
        world.files.edit(path, "# A plan\n");
    }
    // A manuscript, and the notes of another project.
    world.files.edit("chapter-3.md", "Prose\n");
    world.files.edit("act/readme.md", "Notes\n");
    let ctx = world.ctx();
    load_project_status(&ctx).unwrap();
    let mut named: Vec<String> = ctx
        .take_notices()
        .into_iter()
        .filter_map(|notice| match notice {
            Notice::NotAtItsPlace { path, .. } => Some(path),
            _ => None,
        })
        .collect();
    named.sort_unstable();
    let mut expected = misplaced.to_vec();
    expected.sort_unstable();
    assert_eq!(named, expected);
}

#[test]
fn the_seeds_second_layout_is_read_and_kept() {
    let world = novel();
    let file = "acts/act-1/chapters/chapter-07/scenes/scene-0702/scene-0702-blueprint.md";
    world.files.edit(file, "# Scene 0702\n");
    world.approve("scene 0702").unwrap();
    insert(&world, "chapter 7").unwrap();
    assert!(
        world
            .files
            .text("acts/act-1/chapters/chapter-08/scenes/scene-0802/scene-0802-blueprint.md")
            .is_some()
    );
    assert_eq!(world.status("scene 0802"), Status::Approved);
    assert_nothing_left(&world);
}

#[test]
fn an_edited_line_of_a_list_touches_the_child_it_names_alone() {
    let mut world = World::new();
    world.policy.cascade = CascadePolicy::Precise;
    let act = |third: &str| {
        format!("# Акт 1\n\n## Главы\n\n- Глава 1: маяк\n- Глава 2: шторм\n- Глава 3: {third}\n")
    };
    world
        .files
        .edit("acts/act-1/strategic-plan.md", &act("берег"));
    world.approve("act-1").unwrap();
    for number in 1..=3 {
        world.files.edit(&chapter_file(number), "# План\n");
        world.approve(&format!("chapter {number}")).unwrap();
    }
    world
        .files
        .edit("acts/act-1/strategic-plan.md", &act("остров"));
    world.approve("act-1").unwrap();
    let stale: Vec<bool> = (1..=3)
        .map(|number| world.status(&format!("chapter {number}")) == Status::RequiresRevalidation)
        .collect();
    assert_eq!(stale, [false, false, true]);
}

#[test]
fn an_edited_item_or_row_with_a_bare_number_or_title_touches_its_child_alone() {
    for spell in [
        |number: usize, what: &str| format!("{number}. {what}\n"),
        |number: usize, what: &str| match number {
            1 => format!("| № | что |\n|---|---|\n| 1 | {what} |\n"),
            _ => format!("| {number} | {what} |\n"),
        },
        |number: usize, what: &str| format!("- Имя 0{number}: {what}\n"),
    ] {
        let mut world = World::new();
        world.policy.cascade = CascadePolicy::Precise;
        let act = |third: &str| {
            let lines = [spell(1, "маяк"), spell(2, "шторм"), spell(3, third)];
            format!("# Акт 1\n\n## Главы\n\n{}", lines.concat())
        };
        let file = "acts/act-1/strategic-plan.md";
        world.files.edit(file, &act("берег"));
        world.approve("act-1").unwrap();
        for number in 1..=3 {
            let text = format!("# Глава {number}. Имя 0{number}\n");
            world.files.edit(&chapter_file(number), &text);
            world.approve(&format!("chapter {number}")).unwrap();
        }
        world.files.edit(file, &act("остров"));
        world.approve("act-1").unwrap();
        let stale = (1..=3).map(|number| world.status(&format!("chapter {number}")));
        let expected = [
            Status::Approved,
            Status::Approved,
            Status::RequiresRevalidation,
        ];
        assert_eq!(stale.collect::<Vec<_>>(), expected, "{}", act("остров"));
    }
}

#[test]
fn a_numbered_list_below_another_heading_touches_all() {
    let mut world = World::new();
    world.policy.cascade = CascadePolicy::Precise;
    let act = |first: &str| format!("# Акт 1\n\n## Главные правила\n\n1. {first}\n2. без снов\n");
    let file = "acts/act-1/strategic-plan.md";
    world.files.edit(file, &act("без магии"));
    world.approve("act-1").unwrap();
    world.files.edit(&chapter_file(2), "# Глава 2\n");
    world.approve("chapter 2").unwrap();
    world.files.edit(file, &act("с магией"));
    world.approve("act-1").unwrap();
    assert_eq!(world.status("chapter 2"), Status::RequiresRevalidation);
}

/// Defect: a line of the list that names no chapter touched none.
#[test]
fn an_edited_line_that_names_no_child_touches_all() {
    let mut world = World::new();
    world.policy.cascade = CascadePolicy::Precise;
    let act = |rule: &str| format!("# Акт 1\n\n- Глава 1: маяк\n- {rule}\n- Глава 2: шторм\n");
    world
        .files
        .edit("acts/act-1/strategic-plan.md", &act("без магии"));
    world.approve("act-1").unwrap();
    for number in 1..=2 {
        world.files.edit(&chapter_file(number), "# План\n");
        world.approve(&format!("chapter {number}")).unwrap();
    }
    world
        .files
        .edit("acts/act-1/strategic-plan.md", &act("с магией"));
    world.approve("act-1").unwrap();
    for number in 1..=2 {
        assert_eq!(
            world.status(&format!("chapter {number}")),
            Status::RequiresRevalidation
        );
    }
}

#[test]
fn a_plan_below_another_parent_is_stale_because_it_was_moved() {
    let world = novel();
    let moved = ShapeChange::Move {
        node: words("scene 0301"),
        target: MoveTarget::Under(Some("chapter-05".to_owned())),
    };
    let now = change(&world, moved).unwrap().node.unwrap();
    assert_eq!(world.status(&now), Status::RequiresRevalidation);
    let status = load_project_status(&world.ctx()).unwrap();
    let waiting = status.attention.iter().find(|node| node.path == now);
    assert_eq!(
        waiting.unwrap().reason.as_deref(),
        Some("moved here from `act-1/chapter-03`")
    );
}

#[test]
fn removing_a_plan_names_those_that_need_it_and_binds_them_to_no_other() {
    let world = novel();
    world
        .files
        .edit("acts/act-2/strategic-plan.md", "# Act 2\n");
    let other = "acts/act-2/chapters/chapter-03/plan.md";
    world.files.edit(other, "# Chapter 3\n");
    let needing = "---\nneeds: [chapter-03]\n---\n# Глава 2: событие 2\n";
    world.files.edit(&chapter_file(2), needing);
    let remove = ShapeChange::Remove {
        node: words("act-1/chapter-03"),
    };
    let preview = ChangeShapeRequest {
        change: remove.clone(),
        dry_run: true,
    };
    let preview = change_shape(&world.ctx(), &preview).unwrap();
    let done = change(&world, remove).unwrap();
    let expected = [BrokenNeedView {
        path: "act-1/chapter-02".to_owned(),
        needs: "act-1/chapter-03".to_owned(),
    }];
    assert_eq!(preview.broken_needs, expected);
    assert_eq!(done.broken_needs, expected);
    let text = world.files.text(&chapter_file(2)).unwrap();
    assert!(text.contains("needs: [act-1/chapter-03]"), "{text}");
}
