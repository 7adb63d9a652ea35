//! What follows a plan through a change of shape by its path: evidence, reviews, costs, backups, and the
//! other files in its folder.

use std::time::Duration;

use application::evidence::{add_evidence, run_evidence, show_evidence};
use application::list_versions::list_versions;
use application::plan_stats::{StatsRequest, plan_stats};
use application::restore_version::restore_version;
use application::reviews::add::{CheckRequest, add_check};
use application::reviews::status::show_review;
use application::shape::{LeftFileView, MoveTarget, ShapeChange, ShapeOutcome};
use application::show_node::show_node;
use application::tick::spending::record_spending;
use application::undo::{UndoTarget, undo_operations};
use application::{Failure, FailureKind};
use domain::review::CheckSeverity;
use domain::tick::ModelSpending;
use domain::work::evidence::{ProofCheck, ProofStatus};
use testkit::FakeCommands;

use crate::shape::{change, chapter_file, insert, novel};
use crate::world::{World, assert_refused, words};

fn chapter_folder(number: usize) -> String {
    format!("acts/act-1/chapters/chapter-{number:02}")
}

fn move_before(world: &World, node: &str, other: &str) -> ShapeOutcome {
    let moved = ShapeChange::Move {
        node: words(node),
        target: MoveTarget::Before(other.to_owned()),
    };
    change(world, moved).unwrap()
}

fn left(path: &str, reason: &str) -> LeftFileView {
    LeftFileView {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}

fn standings(world: &World, node: &str) -> Vec<ProofStatus> {
    let view = show_evidence(&world.ctx(), &words(node)).unwrap();
    view.proofs.iter().map(|proof| proof.standing).collect()
}

/// Defect: a proof kept the path of its file, where another chapter's file came to lie, and was stale.
#[test]
fn evidence_follows_its_files_and_stays_as_fresh_as_it_was() {
    let world = novel();
    let prose =
        |number: usize| format!("{}/content/scene-{number:02}01.md", chapter_folder(number));
    let checks = |number: usize| {
        [
            ProofCheck::File {
                path: prose(number),
            },
            ProofCheck::Command {
                run: vec!["wc".to_owned(), prose(number)],
                inputs: vec![chapter_folder(number)],
            },
            ProofCheck::Command {
                run: words("spell"),
                inputs: vec![format!("{}/content/*.md", chapter_folder(number))],
            },
        ]
    };
    let commands = FakeCommands::default();
    for check in checks(4) {
        add_evidence(&world.ctx(), &words("chapter 4"), check).unwrap();
    }
    let ctx = world.ctx().with_commands(&commands);
    run_evidence(&ctx, &words("chapter 4"), Duration::from_secs(1)).unwrap();
    // This one is stale before the change, and must be stale after it.
    add_evidence(&world.ctx(), &words("chapter 6"), checks(6)[0].clone()).unwrap();
    run_evidence(&ctx, &words("chapter 6"), Duration::from_secs(1)).unwrap();
    world.files.edit(&prose(6), "Another text.\n");

    insert(&world, "chapter 4").unwrap();
    let view = show_evidence(&world.ctx(), &words("chapter 5")).unwrap();
    let asked: Vec<ProofCheck> = view
        .proofs
        .iter()
        .map(|one| one.proof.asks.clone())
        .collect();
    assert_eq!(asked, checks(5));
    assert_eq!(standings(&world, "chapter 5"), [ProofStatus::Fresh; 3]);
    assert_eq!(standings(&world, "chapter 7"), [ProofStatus::Stale]);
    world.files.edit(&prose(5), "More.\n");
    assert_eq!(standings(&world, "chapter 5"), [ProofStatus::Stale; 3]);
}

#[test]
fn evidence_is_taken_back_with_the_change_of_shape() {
    let world = novel();
    let check = ProofCheck::File {
        path: chapter_file(4),
    };
    add_evidence(&world.ctx(), &words("chapter 4"), check.clone()).unwrap();
    run_evidence(&world.ctx(), &words("chapter 4"), Duration::from_secs(1)).unwrap();
    insert(&world, "chapter 4").unwrap();
    undo_operations(&world.ctx(), UndoTarget::Newest).unwrap();
    let view = show_evidence(&world.ctx(), &words("chapter 4")).unwrap();
    assert_eq!(view.proofs[0].proof.asks, check);
    assert_eq!(view.proofs[0].standing, ProofStatus::Fresh);
}

fn review(world: &World, of: &str) {
    let request = CheckRequest {
        of: Some(of.to_owned()),
        scope: String::new(),
        check: format!("POV of {of}"),
        severity: CheckSeverity::Must,
        authors: Vec::new(),
    };
    add_check(&world.ctx(), &request).unwrap();
}

fn reviewed(world: &World, of: &str) -> Result<(String, String), Failure> {
    let view = show_review(&world.ctx(), Some(of))?;
    Ok((view.subject, view.items[0].check.clone()))
}

fn spending(account: &str) -> ModelSpending {
    ModelSpending {
        at: domain::time::Timestamp::from_millis(0),
        account: account.to_owned(),
        purpose: "write".to_owned(),
        provider: "p".to_owned(),
        model: "m".to_owned(),
        input_tokens: Some(1),
        output_tokens: Some(1),
        cost_micros: Some(7),
        latency_ms: 1,
        error: None,
        details: serde_json::Value::Null,
    }
}

fn costs(world: &World) -> Vec<u64> {
    let request = StatsRequest {
        node: words("act-1"),
        days: 0,
    };
    let stats = plan_stats(&world.ctx(), &request).unwrap();
    stats
        .nodes
        .iter()
        .map(|node| node.counts.cost_micros)
        .collect()
}

/// Defect: reviews and costs stayed at the path, and so came to another scene.
#[test]
fn reviews_and_costs_follow_plans_that_exchange_their_places() {
    let world = novel();
    let path = |number: usize| format!("act-1/chapter-{number:02}");
    review(&world, &path(2));
    review(&world, &path(3));
    record_spending(&world.ctx(), &[spending(&path(2))]).unwrap();
    move_before(&world, "chapter 3", "chapter-02");
    let of = |number: usize| format!("POV of {}", path(number));
    assert_eq!(reviewed(&world, &path(2)).unwrap(), (path(2), of(3)));
    assert_eq!(reviewed(&world, &path(3)).unwrap(), (path(3), of(2)));
    assert_eq!(costs(&world), [0, 0, 7, 0, 0, 0, 0]);
    undo_operations(&world.ctx(), UndoTarget::Newest).unwrap();
    assert_eq!(reviewed(&world, &path(2)).unwrap(), (path(2), of(2)));
    assert_eq!(costs(&world), [0, 7, 0, 0, 0, 0, 0]);
}

#[test]
fn the_review_of_a_removed_plan_is_not_that_of_the_next_one_there() {
    let world = novel();
    review(&world, "act-1/chapter-02");
    let remove = ShapeChange::Remove {
        node: words("chapter 2"),
    };
    change(&world, remove).unwrap();
    let close = ShapeChange::CloseGaps {
        node: words("act-1"),
    };
    change(&world, close).unwrap();
    assert_refused(
        reviewed(&world, "act-1/chapter-02"),
        FailureKind::NotFound,
        "there is no review",
    );
}

/// Defects: a picture or a file of the file manager in a chapter's folder refused every insertion before
/// it, and hidden files were listed as moved and were not.
#[test]
fn files_that_cannot_be_moved_are_left_and_named_and_links_lead_there() {
    let world = novel();
    let folder = chapter_folder(4);
    world
        .files
        .edit(&format!("{folder}/map.png"), "\u{89}PNG\0");
    world.files.edit(&format!("{folder}/.DS_Store"), "Bud1\0");
    world.files.edit(&format!("{folder}/.notes"), "hidden\n");
    world.files.edit(&format!("{folder}/notes.md"), "notes\n");
    let text = world.files.text(&chapter_file(4)).unwrap();
    world
        .files
        .edit(&chapter_file(4), &format!("{text}![map](map.png)\n"));
    let done = insert(&world, "chapter 4").unwrap();
    assert_eq!(
        done.left_files,
        [
            left(&format!("{folder}/.notes"), "hidden files are not moved"),
            left(&format!("{folder}/map.png"), "binary"),
        ]
    );
    let is_listed = |file: &str| done.moved_files.iter().any(|one| one.was.ends_with(file));
    assert!(is_listed("notes.md") && !is_listed("map.png") && !is_listed(".notes"));
    assert!(world.files.text(&format!("{folder}/map.png")).is_some());
    let notes = format!("{}/notes.md", chapter_folder(5));
    assert_eq!(world.files.text(&notes).as_deref(), Some("notes\n"));
    let text = world.files.text(&chapter_file(5)).unwrap();
    assert!(text.ends_with("![map](../chapter-04/map.png)\n"), "{text}");
    undo_operations(&world.ctx(), UndoTarget::Newest).unwrap();
    let text = world.files.text(&chapter_file(4)).unwrap();
    assert!(text.ends_with("![map](map.png)\n"), "{text}");
}

#[test]
fn notes_in_the_folder_of_a_removed_plan_are_named() {
    let world = novel();
    let notes = format!("{}/notes.md", chapter_folder(3));
    world.files.edit(&notes, "notes\n");
    let remove = ShapeChange::Remove {
        node: words("chapter 3"),
    };
    let done = change(&world, remove).unwrap();
    assert_eq!(done.left_files, [left(&notes, "its plan is removed")]);
}

/// Defects: the backups of a moved plan were listed by the names they had before, and those they have
/// named no version. The file that keeps them out of git stayed behind.
#[test]
fn backups_are_listed_and_restored_by_the_names_they_have_now() {
    let world = novel();
    let first = world.files.text(&chapter_file(4)).unwrap();
    world
        .files
        .edit(&chapter_file(4), "# Глава 4\n\nНовый текст.\n");
    show_node(&world.ctx(), &words("chapter 4")).unwrap();
    insert(&world, "chapter 4").unwrap();
    let folder = format!("{}/backups", chapter_folder(5));
    let ignore = world.files.text(&format!("{folder}/.gitignore"));
    assert_eq!(ignore.as_deref(), Some("*\n"));
    assert_eq!(
        world
            .files
            .text(&format!("{}/backups/.gitignore", chapter_folder(4))),
        None
    );
    let listed = list_versions(&world.ctx(), &words("chapter 5")).unwrap();
    let backups: Vec<String> = listed
        .versions
        .iter()
        .flat_map(|one| one.backups.clone())
        .collect();
    let [backup] = backups.as_slice() else {
        panic!("{backups:?}");
    };
    assert!(backup.starts_with(&folder), "{backup}");
    assert_eq!(world.files.text(backup), Some(first.clone()));
    let name = backup.rsplit('/').next().unwrap();
    restore_version(&world.ctx(), &words(&format!("chapter 5 {name}")), None).unwrap();
    assert_eq!(world.files.text(&chapter_file(5)), Some(first));
}

/// Defect: a ticket was added below its parent, and its text did not say so: the next scan put it at the
/// top.
#[test]
fn an_added_ticket_has_the_next_id_and_names_its_parent() {
    let world = World::with_tickets();
    let add = |under: Option<&str>, name: Option<&str>| ShapeChange::Add {
        level: "ticket".to_owned(),
        under: under.map(str::to_owned),
        name: name.map(str::to_owned),
        title: Some("Speed".to_owned()),
    };
    let done = change(&world, add(Some("017"), None)).unwrap();
    assert_eq!(done.node.as_deref(), Some("017/017b"));
    let text = world.files.text(&done.file.unwrap()).unwrap();
    assert!(
        text.starts_with("---\nid: '017b'\ntype: task\nphase: intake\n"),
        "{text}"
    );
    assert!(text.contains("\nparent: '017'\n"), "{text}");
    let head = world.head();
    assert_eq!(
        show_node(&world.ctx(), &words("017b")).unwrap().path,
        "017/017b"
    );
    assert_eq!(world.head(), head, "the scan reads what was recorded");
    assert_eq!(
        change(&world, add(None, None)).unwrap().id.as_deref(),
        Some("018")
    );
    assert_refused(
        change(&world, add(None, Some("017a"))),
        FailureKind::Conflict,
        "a ticket `017a` exists already",
    );
    let insert = ShapeChange::Insert {
        place: words("017"),
        under: None,
        after: true,
        title: None,
    };
    assert_refused(
        change(&world, insert),
        FailureKind::Refused,
        "has an id and no number",
    );
}

/// Defect: a child of the plan that is split was ambiguous with one of another act.
#[test]
fn the_first_child_of_a_split_is_one_of_its_own() {
    let world = novel();
    for file in [
        "acts/act-2/strategic-plan.md",
        "acts/act-2/chapters/chapter-02/plan.md",
        "acts/act-2/chapters/chapter-02/scenes/scene-0201-blueprint.md",
    ] {
        world.files.edit(file, "# План\n");
    }
    let split = ShapeChange::Split {
        node: words("act-1/chapter-02"),
        at: "3".to_owned(),
        title: None,
        children_from: Some("scene-0201".to_owned()),
    };
    let done = change(&world, split).unwrap();
    assert!(
        done.renamed
            .iter()
            .any(|one| one.was == "act-1/chapter-02/scene-0201"),
        "{:?}",
        done.renamed
    );
}

#[test]
fn a_name_that_the_level_does_not_know_is_answered_with_those_it_knows() {
    let world = novel();
    let add = ShapeChange::Add {
        level: "chapter".to_owned(),
        under: None,
        name: Some("glossary".to_owned()),
        title: None,
    };
    let refused = change(&world, add).unwrap_err();
    assert!(
        refused.next_steps[0].contains("prologue, foreword"),
        "{refused:?}"
    );
}
