//! How the story goes on, by what is recorded and what is in the files.

use application::generation::advance::{NextGenerationStep, next_step};
use application::generation::start_generation::{next_unwritten_scene, start_generation};
use application::generation::story_progress::{StoryStep, next_story_step};
use application::novel::follow_character::show_followed;
use application::novel::show_prose::show_prose;
use application::set_progress::{ProgressRequest, set_progress};
use domain::generation::{Generation, GenerationStatus};
use domain::ids::Principal;
use domain::node::Progress;
use domain::operation::{Channel, Verb};
use domain::ports::NewOperation;
use domain::record::record_changed_fact;

use crate::world::{World, words};

const PROSE: &str = "acts/act-1/chapters/chapter-01/content/scene-0101.md";
const PATH: &str = "act-1/chapter-01/scene-0101";

/// Returns a story whose only scene is written.
fn written_story() -> World {
    let world = World::with_story();
    world.files.edit(PROSE, "Elena opened the drawer.\n");
    let mut tx = world.store.begin_write().unwrap();
    let node = tx.nodes_by_alias("scene-0101").unwrap().remove(0);
    let blueprint = node.content.canonical_hash().unwrap();
    let at = world.ctx().clock.now();
    let complete = Generation {
        status: GenerationStatus::Complete,
        ..Generation::begin_writing(node.id, PATH.to_owned(), blueprint, at)
    };
    let key = Generation::record_key(node.id);
    tx.record_operation(NewOperation {
        at,
        by: Principal::System,
        channel: Channel::System,
        verb: Verb::Write,
        summary: "write".to_owned(),
        key: None,
        facts: record_changed_fact(&key, None, Some(&complete))
            .into_iter()
            .collect(),
        texts: Vec::new(),
    })
    .unwrap();
    tx.commit().unwrap();
    world
}

/// Defect: "everything in the plan is written", while the book said "not written yet".
#[test]
fn a_written_scene_whose_file_is_gone_needs_a_person_and_is_the_next_to_write() {
    let world = written_story();
    let step = || next_story_step(&world.ctx(), &[]).unwrap();
    assert_eq!(step(), StoryStep::Written { until: None });
    assert!(next_unwritten_scene(&world.ctx()).is_err());
    world.files.delete(PROSE);
    let StoryStep::NeedsPerson {
        scene,
        why,
        next_step,
    } = step()
    else {
        panic!("a person should be needed");
    };
    assert_eq!(scene, PATH);
    assert!(why.contains(PROSE), "{why}");
    let command = format!("tl story write {PATH}");
    assert!(next_step.starts_with(&command), "{next_step}");
    assert_eq!(next_unwritten_scene(&world.ctx()).unwrap(), PATH);
}

/// Defect: the first prompt had the memory as it was before the author edited its files.
#[test]
fn a_prompt_has_the_memory_as_the_author_left_it() {
    let world = World::with_story();
    let prompt = || match next_step(&world.ctx(), &words(PATH)).unwrap() {
        NextGenerationStep::Ask(question) => question.prompt,
        NextGenerationStep::Rest { .. } => panic!("a prompt was expected"),
    };
    let fact =
        |colour: &str| format!("---\nsubject: Elena\npredicate: eyes\nobject: {colour}\n---\n");
    world.files.edit("memory/facts/F0.md", &fact("green"));
    start_generation(&world.ctx(), &words(PATH), Default::default()).unwrap();
    assert!(prompt().contains("Elena eyes green"), "{}", prompt());
    world.files.edit("memory/facts/F0.md", &fact("grey"));
    assert!(prompt().contains("Elena eyes grey"), "{}", prompt());
}

/// Defect: prose by hand stayed marked as stale, whatever its author said.
#[test]
fn completing_prose_again_clears_its_stale_mark() {
    let world = World::with_story();
    world.files.edit(PROSE, "Elena opened the drawer.\n");
    let complete = || {
        let request = ProgressRequest {
            node: words(PATH),
            progress: Progress::Complete,
        };
        set_progress(&world.ctx(), &request).unwrap();
    };
    let stale = || show_prose(&world.ctx(), &words(PATH)).unwrap().stale;
    complete();
    assert_eq!(stale(), None);
    world.files.edit(
        "acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md",
        "# scene-0101\n\nElena burns the map.\n",
    );
    world.approve("scene-0101").unwrap();
    assert!(stale().is_some());
    complete();
    assert_eq!(stale(), None);
    // Said once more it records nothing.
    let head = world.head();
    complete();
    assert_eq!(world.head(), head);
}

/// Defect: a point of view that the memory does not have was passed over, and "no plan names another".
#[test]
fn a_point_of_view_without_an_entry_is_named() {
    let world = World::with_story();
    let blueprint = "acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md";
    world
        .files
        .edit(blueprint, "---\npov: Ivo Marek\n---\n# scene-0101\n");
    let followed = show_followed(&world.ctx()).unwrap();
    assert_eq!(followed.unknown.as_deref(), Some("Ivo Marek"));
    world
        .files
        .edit("memory/characters/C0.md", "---\nname: Ivo Marek\n---\n");
    let followed = show_followed(&world.ctx()).unwrap();
    assert_eq!(followed.unknown, None);
    assert_eq!(followed.name.as_deref(), Some("Ivo Marek"));
}
