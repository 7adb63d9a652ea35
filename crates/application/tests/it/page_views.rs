//! What pages read and change: parts of outlines and questions, cached statistics, edited texts, priorities.

use application::FailureKind;
use application::make_outline::{MAX_PART_ENTRIES, outline_part};
use application::plan_batch::{
    BatchPart, BatchPurpose, PlanSelection, WaitingPlans, build_batch_part, build_batch_question,
};
use application::plan_stats::{StatsRequest, WordCounts, cached_stats, plan_stats};
use application::set_priority::set_priority;
use application::tree_cache::{CachedTree, record_file_changes};
use application::write_plan::{WriteRequest, write_plan};

use crate::world::{ACT, CHAPTER, World, assert_refused, words};

/// Returns the tree as a server caches it, after a scan of the files.
fn known(world: &World) -> CachedTree {
    record_file_changes(&world.ctx()).unwrap();
    CachedTree::read(&world.ctx()).unwrap()
}

#[test]
fn a_large_outline_is_folded_below_the_levels_that_fit() {
    let world = World::with_story();
    for scene in 1..=99 {
        for chapter in 1..=3 {
            let folder = format!("acts/act-1/chapters/chapter-{chapter:02}");
            world
                .files
                .edit(&format!("{folder}/plan.md"), "# A chapter\n\nIt begins.\n");
            let file = format!("{folder}/scenes/scene-{chapter:02}{scene:02}-blueprint.md");
            world.files.edit(&file, "# A scene\n");
        }
    }
    let known = known(&world);
    let whole = outline_part(&world.ctx(), &known, "", 0).unwrap();
    let paths: Vec<&str> = whole
        .outline
        .entries
        .iter()
        .map(|entry| entry.path.as_str())
        .collect();
    assert_eq!(
        paths,
        [
            "act-1",
            "act-1/chapter-01",
            "act-1/chapter-02",
            "act-1/chapter-03"
        ]
    );
    assert_eq!(whole.folded, [0, 99, 99, 99]);
    assert_eq!(
        whole.outline.entries[2].synopsis.as_deref(),
        Some("It begins.")
    );
    let chapter = outline_part(&world.ctx(), &known, "act-1/chapter-02", 0).unwrap();
    assert_eq!(chapter.total, 100);
    assert!(chapter.total < MAX_PART_ENTRIES);
    assert_eq!(chapter.outline.entries[1].depth, 1);
    assert!(outline_part(&world.ctx(), &known, "act-9", 0).is_err());
}

#[test]
fn cached_statistics_are_those_of_a_full_read() {
    let world = World::with_story();
    let mut counts = WordCounts::default();
    for text in [
        "---\ntarget: 900\n---\n# Act\n\none two\n",
        "# Act\n\none two three\n",
    ] {
        world.files.edit(ACT, text);
        let request = StatsRequest {
            node: Vec::new(),
            days: 3,
        };
        let full = plan_stats(&world.ctx(), &request).unwrap();
        let cached = cached_stats(&world.ctx(), &known(&world), 3, &mut counts).unwrap();
        assert_eq!(
            serde_json::to_value(&cached).unwrap(),
            serde_json::to_value(&full).unwrap()
        );
    }
    // Another history has other operations under the same numbers.
    let other = World::with_tickets();
    let full = cached_stats(&other.ctx(), &known(&other), 3, &mut WordCounts::default()).unwrap();
    let cached = cached_stats(&other.ctx(), &known(&other), 3, &mut counts).unwrap();
    assert_eq!(
        serde_json::to_value(&cached).unwrap(),
        serde_json::to_value(&full).unwrap()
    );
}

#[test]
fn a_part_of_a_question_tells_the_size_of_the_whole() {
    let world = World::with_story();
    for chapter in 2..=6 {
        let file = format!("acts/act-1/chapters/chapter-{chapter:02}/plan.md");
        world.files.edit(&file, "# A chapter\n");
    }
    let selection = PlanSelection::Below {
        node: Vec::new(),
        waiting: WaitingPlans::All,
        except: Vec::new(),
    };
    let ctx = world.ctx();
    let whole = build_batch_question(&ctx, &selection, BatchPurpose::Approve).unwrap();
    let part = BatchPart {
        without: &["act-1/chapter-03"],
        most: 2,
    };
    let known = known(&world);
    let (first, total) =
        build_batch_part(&ctx, &known, &selection, BatchPurpose::Approve, part).unwrap();
    assert_eq!(total, whole.questions.len() - 1);
    let paths: Vec<&str> = first
        .questions
        .iter()
        .map(|one| one.path.as_str())
        .collect();
    assert_eq!(paths, ["act-1/chapter-02", "act-1/chapter-04"]);
}

#[test]
fn a_mask_is_never_written_into_a_file() {
    let world = World::with_story();
    let secret = "# Chapter\n\npassword=hunter2secret\n\nwords\n";
    world.files.edit(CHAPTER, secret);
    let shown = world.shown("chapter-01");
    let read = application::read_plan::read_plan(&world.ctx(), &words("chapter-01"), None);
    let read = read.unwrap().text.unwrap();
    assert!(!read.contains("hunter2secret"), "{read}");
    let write = |text: String, expected| {
        let request = WriteRequest {
            node: "act-1/chapter-01".to_owned(),
            level: None,
            text,
            section: None,
            expected: Some(expected),
        };
        write_plan(&world.ctx(), &request)
    };
    write(read.replace("words", "other words"), shown).unwrap();
    let written = world.files.text(CHAPTER).unwrap();
    assert_eq!(written, secret.replace("words", "other words"));
    let foreign = format!("{read}\n[masked github token]\n");
    let refused = write(foreign, world.shown("chapter-01"));
    assert_refused(refused, FailureKind::Refused, "has a mask");
    assert_eq!(world.files.text(CHAPTER).unwrap(), written);
}

#[test]
fn a_priority_is_one_key_of_the_file() {
    let world = World::with_tickets();
    let file = "tickets/017a-loc/ticket.md";
    let ticket = set_priority(&world.ctx(), &words("017a"), "P0").unwrap();
    assert!(ticket.operation.is_some());
    let text = world.files.text(file).unwrap();
    assert!(text.contains("priority: urgent\n"), "{text}");
    assert!(text.ends_with("---\n# Lines\n"), "{text}");
    let again = set_priority(&world.ctx(), &words("017a"), "urgent").unwrap();
    assert_eq!(again.operation, None, "nothing changed");
    assert!(set_priority(&world.ctx(), &words("017a"), "soon").is_err());
}
