//! Leases on ticks and scenes: in the coordination of a repository, and in the store without one.

use application::model_lease::{
    end_lease, lease_scene, lease_tick, refuse_leased_scene, refuse_leased_tick, renew_lease,
};
use application::{Context, FailureKind};
use domain::calling_session::ProcessIdentity;
use domain::model_lease::LEASE_MINUTES;
use domain::ports::ProcessTable;

use crate::fake_coordination::{DatabaseState, FakeCoordination, FakeRepository};
use crate::world::{World, assert_refused, words};

/// A machine as one of its processes sees it.
struct Machine {
    boot: &'static str,
    own: u32,
    running: &'static [u32],
}

const FIRST: Machine = Machine {
    boot: "one",
    own: 1,
    running: &[1, 2],
};
const SECOND: Machine = Machine { own: 2, ..FIRST };
const AFTER_THE_FIRST: Machine = Machine {
    running: &[2],
    ..SECOND
};
const AFTER_A_RESTART: Machine = Machine {
    boot: "two",
    own: 1,
    running: &[1],
};

impl ProcessTable for Machine {
    fn own_identity(&self) -> Option<ProcessIdentity> {
        Some(ProcessIdentity {
            boot: self.boot.to_owned(),
            pid: self.own,
            started: 7,
        })
    }

    fn is_running(&self, other: &ProcessIdentity) -> bool {
        other.boot == self.boot && self.running.contains(&other.pid)
    }
}

fn on<'w>(world: &'w World, machine: &'w Machine) -> Context<'w> {
    world.ctx().with_processes(machine)
}

#[test]
fn a_lease_without_a_repository_excludes_other_processes_until_it_ends() {
    let world = World::with_story();
    let taken = lease_tick(&on(&world, &FIRST), None).unwrap();
    assert_eq!(taken.tick(), Some(1));
    let second = on(&world, &SECOND);
    assert_refused(
        lease_tick(&second, None),
        FailureKind::Refused,
        "tick 1 is being planned by",
    );
    assert_refused(
        refuse_leased_tick(&second),
        FailureKind::Refused,
        "process 1",
    );
    // Another tick and a scene are other work.
    lease_tick(&second, Some(9)).unwrap();
    lease_scene(&second, &words("scene-0101")).unwrap();
    end_lease(&on(&world, &FIRST), &taken).unwrap();
    refuse_leased_tick(&second).unwrap();
    lease_tick(&second, None).unwrap();
}

#[test]
fn the_lease_of_a_process_that_is_gone_is_free() {
    for machine in [&AFTER_THE_FIRST, &AFTER_A_RESTART] {
        let world = World::with_story();
        lease_scene(&on(&world, &FIRST), &words("scene-0101")).unwrap();
        lease_scene(&on(&world, machine), &words("scene-0101")).unwrap();
    }
}

#[test]
fn a_holder_that_cannot_be_checked_keeps_its_lease_for_its_time_and_loses_it_to_the_next() {
    let world = World::with_story();
    let first = world.ctx();
    let taken = lease_tick(&first, None).unwrap();
    // The clock of the tests goes on by a second with each look.
    let wait = LEASE_MINUTES * 60 - 60;
    world.clock.advance_seconds(wait);
    assert_refused(lease_tick(&first, None), FailureKind::Refused, "tick 1");
    let taken = renew_lease(&first, &taken).unwrap();
    world.clock.advance_seconds(wait);
    assert_refused(lease_tick(&first, None), FailureKind::Refused, "tick 1");
    world.clock.advance_seconds(60);
    let next = lease_tick(&first, None).unwrap();
    assert_refused(renew_lease(&first, &taken), FailureKind::Refused, "tick 1");
    // What is lost is not ended for its new holder.
    end_lease(&first, &taken).unwrap();
    renew_lease(&first, &next).unwrap();
    assert_refused(lease_tick(&first, None), FailureKind::Refused, "tick 1");
}

#[test]
fn worktrees_share_leases_and_name_the_place_of_the_holder() {
    let repository = FakeRepository::default();
    let (here, there) = (World::with_story(), World::with_story());
    let coordination = |folder| FakeCoordination {
        repository: &repository,
        folder,
    };
    let (place_here, place_there) = (coordination("/here"), coordination("/there"));
    let first = on(&here, &FIRST).with_coordination(&place_here);
    let second = on(&there, &SECOND).with_coordination(&place_there);
    let taken = lease_scene(&first, &words("scene-0101")).unwrap();
    let told = "process 1, /here, branch branch-of-here";
    assert_refused(
        lease_scene(&second, &words("scene-0101")),
        FailureKind::Refused,
        told,
    );
    assert_refused(
        refuse_leased_scene(&second, &words("scene-0101")),
        FailureKind::Refused,
        told,
    );
    end_lease(&first, &taken).unwrap();
    lease_scene(&second, &words("scene-0101")).unwrap();
}

#[test]
fn a_repository_that_cannot_be_written_leaves_the_leases_to_the_store() {
    let repository = FakeRepository::default();
    repository.state.set(DatabaseState::ReadOnly);
    let world = World::with_story();
    let coordination = FakeCoordination {
        repository: &repository,
        folder: "/here",
    };
    let first = on(&world, &FIRST).with_coordination(&coordination);
    let second = on(&world, &SECOND).with_coordination(&coordination);
    lease_tick(&first, None).unwrap();
    assert_refused(lease_tick(&second, None), FailureKind::Refused, "tick 1");
}
