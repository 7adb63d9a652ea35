//! The state of a fresh clone with many plans, built by hooks in slices.

use application::FailureKind;
use application::handle_host_event::EventOutcome;
use application::project_status::load_project_status;
use domain::host_event::Happening;

use crate::hooks::{Session, shell_call, write_call};
use crate::world::World;

const PLANS: usize = 1200;

fn context(outcome: EventOutcome) -> String {
    outcome.reply.context.unwrap_or_default()
}

/// A project with many plans of which none is recorded, and hooks that have time for one slice.
fn fresh_clone() -> World {
    let mut world = World::new();
    world.policy.hook_deadline_ms = 0;
    for act in 1..=10 {
        let folder = format!("acts/act-{act}");
        world
            .files
            .edit(&format!("{folder}/strategic-plan.md"), "# Act\n");
        for chapter in 1..=99 {
            let folder = format!("{folder}/chapters/chapter-{chapter:02}");
            world
                .files
                .edit(&format!("{folder}/plan.md"), "# Chapter\n");
            for scene in (1..=10).filter(|_| chapter <= 2) {
                let scene = format!("{folder}/scenes/scene-{chapter:02}{scene:02}-blueprint.md");
                world.files.edit(&scene, "# Scene\n");
            }
        }
    }
    world
}

fn count_nodes(world: &World) -> usize {
    let state = world.store.begin_read().unwrap();
    state.all_nodes().unwrap().len()
}

#[test]
fn the_first_start_gives_a_partial_briefing_and_later_events_go_on() {
    let world = fresh_clone();
    let session = Session::new(&world, "s1");
    let briefing = context(session.start());
    assert!(briefing.starts_with("Throughline briefing:"), "{briefing}");
    assert!(briefing.contains("500 plans so far"), "{briefing}");
    assert!(briefing.contains("tl status"), "{briefing}");
    assert!(briefing.lines().count() > 2, "and the rules: {briefing}");
    let told = context(session.prompt("go on"));
    assert!(told.contains("1000 plans so far"), "{told}");
    assert_eq!(count_nodes(&world), 1000);
    // The last slice, and with it the briefing that was not given at the start.
    let told = context(session.prompt("go on"));
    assert!(told.contains("Throughline briefing:"), "{told}");
    assert!(!told.contains("so far"), "{told}");
    assert_eq!(count_nodes(&world), PLANS);
    assert_eq!(context(session.prompt("go on")), "");
}

#[test]
fn a_command_completes_the_build() {
    let world = fresh_clone();
    let session = Session::new(&world, "s1");
    session.start();
    load_project_status(&world.ctx()).unwrap();
    assert_eq!(count_nodes(&world), PLANS);
    let briefing = context(session.start());
    assert!(!briefing.contains("so far"), "{briefing}");
}

#[test]
fn a_new_state_that_is_complete_is_not_looked_through_by_every_hook() {
    let world = fresh_clone();
    load_project_status(&world.ctx()).unwrap();
    let session = Session::new(&world, "s1");
    let path = "acts/act-1/chapters/chapter-01/plan.md";
    let before = world.files.looks();
    session.handle(Happening::ToolAboutToRun(write_call(path, "# New\n")));
    let looks = world.files.looks() - before;
    assert!(looks < 20, "{looks} of {PLANS} files");
}

#[test]
fn no_step_is_judged_on_a_state_that_is_being_built() {
    let world = fresh_clone();
    let session = Session::new(&world, "s1");
    session.start();
    let path = "acts/act-1/chapters/chapter-01/plan.md";
    let asked = session.try_handle(Happening::ToolAboutToRun(write_call(path, "# New\n")));
    let failure = asked.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unavailable);
    assert!(failure.message.contains("being built"), "{failure}");
    // A shell command goes on with the build, and is the last one to find something left.
    let call = shell_call("make");
    let failed = false;
    session
        .try_handle(Happening::ToolFinished { call, failed })
        .unwrap();
    assert_eq!(count_nodes(&world), PLANS);
    let typed = session.prompt("/approve-plan act 10");
    assert!(context(typed).contains("is approved"));
}

#[test]
fn a_typed_command_is_refused_while_the_state_is_being_built() {
    let world = fresh_clone();
    let session = Session::new(&world, "s1");
    session.start();
    let typed = session.prompt("/approve-plan act 10");
    assert!(typed.reply.block.unwrap().contains("being built"));
}

#[test]
fn tickets_get_their_parents_across_slices() {
    let mut world = World::with_tickets_of(World::new());
    world.policy.hook_deadline_ms = 0;
    for number in 1..=400 {
        let root = format!("tickets/{number:03}-root/ticket.md");
        let child = format!("tickets/{number:03}a-child/ticket.md");
        let text = format!("---\nid: '{number:03}'\nphase: intake\n---\n# Root\n");
        world.files.edit(&root, &text);
        let text =
            format!("---\nid: {number:03}a\nparent: '{number:03}'\nphase: intake\n---\n# Child\n");
        world.files.edit(&child, &text);
    }
    let session = Session::new(&world, "s1");
    session.start();
    assert_eq!(count_nodes(&world), 500);
    session.prompt("go on");
    assert_eq!(count_nodes(&world), 800);
    let state = world.store.begin_read().unwrap();
    let nodes = state.all_nodes().unwrap();
    let orphans = nodes
        .iter()
        .filter(|node| node.alias.ends_with('a') && node.parent.is_none());
    assert_eq!(orphans.count(), 0);
}
