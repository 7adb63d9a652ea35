//! Files that cannot be read now: nothing is recorded about them, and nothing is decided.

use application::check_state::check_state;
use application::revalidate::{KeepRequest, keep_one};
use application::{Failure, FailureKind, Notice};
use domain::approval::Force;

use crate::world::{ACT, CHAPTER, SCENE, World, words};

const NEW_CHAPTER: &str = "acts/act-1/chapters/chapter-02/plan.md";

fn operations(world: &World) -> usize {
    world
        .store
        .begin_read()
        .unwrap()
        .load_operations(None, usize::MAX)
        .unwrap()
        .len()
}

/// Looks at every file, as most commands do; returns the files that could not be read.
fn look(world: &World) -> Vec<String> {
    let ctx = world.ctx();
    application::project_status::load_project_status(&ctx).unwrap();
    let path = |noticed: Notice| match noticed {
        Notice::Unavailable { path, .. } => Some(path),
        _ => None,
    };
    ctx.take_notices().into_iter().filter_map(path).collect()
}

#[test]
fn a_transient_error_is_told_and_recorded_neither_when_it_comes_nor_when_it_goes() {
    type Break = fn(&testkit::FakeFiles, &str);
    let ways: [Break; 2] = [
        |files, path| files.fail_reads_of(path),
        |files, path| files.fail_looks_at(path),
    ];
    for break_it in ways {
        for path in [ACT, CHAPTER, SCENE] {
            let world = World::with_story();
            look(&world);
            let before = operations(&world);
            // Saved again with the same text: it has to be read.
            world.files.edit(path, &world.files.text(path).unwrap());
            break_it(&world.files, path);
            assert_eq!(look(&world), [path]);
            assert_eq!(
                (world.statuses().as_str(), operations(&world)),
                ("aaa", before),
                "{path}"
            );
            world.files.recover();
            assert_eq!(look(&world), Vec::<String>::new());
            assert_eq!(
                (world.statuses().as_str(), operations(&world)),
                ("aaa", before),
                "{path}"
            );
        }
    }
}

#[test]
fn a_change_behind_a_transient_error_is_recorded_when_it_can_be_read() {
    let world = World::with_story();
    world.files.edit(ACT, "# act-1, another\n");
    world.files.fail_reads_of(ACT);
    look(&world);
    assert_eq!(world.statuses(), "aaa");
    world.files.recover();
    look(&world);
    assert_eq!(world.statuses(), "drr");
}

#[test]
fn a_new_file_that_cannot_be_read_is_no_node_yet() {
    let world = World::with_story();
    world.files.edit(NEW_CHAPTER, "# Chapter 2\n");
    world.files.fail_reads_of(NEW_CHAPTER);
    let tree = world.tree();
    assert_eq!(look(&world), [NEW_CHAPTER]);
    assert_eq!(world.tree(), tree);
    world.files.recover();
    look(&world);
    assert_ne!(world.tree(), tree);
}

#[test]
fn nothing_is_decided_about_a_text_that_cannot_be_read() {
    let world = World::with_story();
    world.files.edit(CHAPTER, "# chapter-01, another\n");
    look(&world);
    world.files.edit(CHAPTER, "# chapter-01, a third\n");
    world.files.fail_reads_of(CHAPTER);
    let refused = |outcome: Result<(), Failure>| {
        let failure = outcome.unwrap_err();
        assert!(
            failure.kind == FailureKind::Unavailable && failure.message.contains(CHAPTER),
            "{failure:?}"
        );
    };
    refused(world.approve("chapter-01"));
    world.files.recover();
    world.approve("chapter-01").unwrap();
    world.files.edit(ACT, "# act-1, another\n");
    world.approve("act-1").unwrap();
    assert_eq!(&world.statuses()[..2], "ar");
    world.files.edit(CHAPTER, "# chapter-01, a fourth\n");
    world.files.fail_looks_at(CHAPTER);
    let request = KeepRequest {
        node: words("chapter-01"),
        force: Force::No,
        shown: None,
    };
    refused(keep_one(&world.ctx(), &request).map(drop));
}

#[test]
fn a_check_reports_files_that_cannot_be_read() {
    let world = World::with_story();
    look(&world);
    world.files.fail_reads_of(SCENE);
    let outcome = check_state(&world.ctx()).unwrap();
    let found: Vec<&str> = outcome
        .findings
        .iter()
        .map(|finding| finding.kind.as_str())
        .collect();
    assert_eq!(
        (outcome.ok, found.as_slice()),
        (false, ["file-unavailable"].as_slice())
    );
    assert!(
        outcome.findings[0].message.contains(SCENE),
        "{:?}",
        outcome.findings[0]
    );
}

#[test]
fn of_many_unavailable_files_the_first_are_told_and_the_rest_is_counted() {
    let world = World::with_story();
    for number in 10..60 {
        let path = format!("acts/act-1/chapters/chapter-{number}/plan.md");
        world.files.edit(&path, "# Chapter\n");
        world.files.fail_reads_of(&path);
    }
    let ctx = world.ctx();
    application::project_status::load_project_status(&ctx).unwrap();
    let told = ctx.take_short_notices();
    assert_eq!(told.len(), 11, "{told:?}");
    assert_eq!(told.last(), Some(&Notice::MoreFiles { left: 40 }));
}
