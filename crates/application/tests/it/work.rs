//! What is proved, and what a person lets pass all the same.

use application::evidence::add_evidence;
use application::override_gate::{OverrideRequest, override_gate};
use application::set_progress::{ProgressRequest, set_progress};
use application::show_node::show_node;
use application::tickets::set_phase;
use application::{Failure, FailureKind};
use domain::node::Progress;
use domain::work::evidence::Asks;

use crate::world::{World, words};

fn to(world: &World, progress: Progress) -> Result<(), Failure> {
    set_progress(&world.ctx(), &ProgressRequest { node: words("017a"), progress }).map(drop)
}

fn let_pass(world: &World) {
    let request = OverrideRequest { gate: "done".to_owned(), node: words("017a"), reason: "proved by hand".to_owned() };
    override_gate(&world.ctx(), &request).unwrap();
}

#[track_caller]
fn refused<T: std::fmt::Debug>(outcome: Result<T, Failure>) {
    let failure = outcome.unwrap_err();
    assert!(failure.kind == FailureKind::Refused && failure.message.contains("not proved"), "{failure:?}");
}

#[test]
fn an_override_lets_a_node_pass_once() {
    let world = World::with_tickets();
    let asks = Asks::File { path: "report.md".to_owned() };
    add_evidence(&world.ctx(), &words("017a"), asks).unwrap();
    refused(to(&world, Progress::Complete));
    let_pass(&world);
    to(&world, Progress::Complete).unwrap();
    to(&world, Progress::Active).unwrap();
    refused(to(&world, Progress::Complete));

    let phase = |name: &str| set_phase(&world.ctx(), &words("017a"), name);
    refused(phase("done"));
    let_pass(&world);
    assert_eq!(phase("done").unwrap().progress, Progress::Complete);
    assert_eq!(phase("implement").unwrap().progress, Progress::Active);
    refused(phase("done"));
}

#[test]
fn a_file_that_says_done_is_believed_when_it_is_proved() {
    let world = World::with_tickets();
    add_evidence(&world.ctx(), &words("017a"), Asks::File { path: "report.md".to_owned() }).unwrap();
    let progress = || show_node(&world.ctx(), &words("017a")).unwrap().progress;
    assert_eq!(progress(), Progress::Pending);
    let file = "tickets/017a-loc/ticket.md";
    let edit = |from: &str, to: &str| world.files.edit(file, &world.files.text(file).unwrap().replace(from, to));
    edit("phase: intake", "phase: done");
    assert_eq!(progress(), Progress::Pending);
    edit("phase: done", "phase: implement");
    world.files.edit("report.md", "all is well");
    application::evidence::run_evidence(&world.ctx(), &words("017a"), std::time::Duration::ZERO).unwrap();
    edit("phase: implement", "phase: done");
    assert_eq!(progress(), Progress::Complete);
    // A file somebody is in the middle of says nothing.
    edit("phase: done", "phase: [done");
    assert_eq!(progress(), Progress::Complete);
}
