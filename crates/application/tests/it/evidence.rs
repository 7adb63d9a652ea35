//! Evidence: what proves a node, when a result is stale, and who may run commands.

use std::time::Duration;

use application::evidence::{EvidenceView, add_evidence, run_evidence, show_evidence};
use application::set_progress::{ProgressRequest, set_progress};
use application::{Context, Failure, FailureKind, Notice};
use domain::node::Progress;
use domain::policy::GateMode;
use domain::work::evidence::{ProofCheck, ProofStatus};
use testkit::FakeCommands;

use crate::world::{World, assert_refused, words};

fn command(inputs: &[&str]) -> ProofCheck {
    ProofCheck::Command {
        run: words("cargo test"),
        inputs: inputs.iter().map(|input| (*input).to_owned()).collect(),
    }
}

fn complete(world: &World) -> Result<(), Failure> {
    let request = ProgressRequest {
        node: words("017a"),
        progress: Progress::Complete,
    };
    set_progress(&world.ctx(), &request).map(drop)
}

fn run(ctx: &Context<'_>) -> Result<EvidenceView, Failure> {
    run_evidence(ctx, &words("017a"), Duration::from_secs(1))
}

#[test]
fn a_command_proves_a_node_until_one_of_its_inputs_changes() {
    let world = World::with_tickets();
    let commands = FakeCommands::default();
    world.files.edit("src/a.rs", "fn a() {}");
    add_evidence(&world.ctx(), &words("017a"), command(&["src/*.rs"])).unwrap();
    let view = run(&world.ctx().with_commands(&commands)).unwrap();
    assert!(view.proved);
    assert_eq!(*commands.ran.borrow(), [words("cargo test")]);
    world.files.edit("docs/a.md", "not an input");
    assert!(show_evidence(&world.ctx(), &words("017a")).unwrap().proved);
    world.files.edit("src/a.rs", "fn b() {}");
    let view = show_evidence(&world.ctx(), &words("017a")).unwrap();
    assert_eq!(view.proofs[0].standing, ProofStatus::Stale);
    assert_refused(complete(&world), FailureKind::Refused, "inputs changed");
}

#[test]
fn an_input_changed_back_makes_the_proof_fresh_again() {
    let world = World::with_tickets();
    world.files.edit("src/a.rs", "fn a() {}");
    add_evidence(&world.ctx(), &words("017a"), command(&["src"])).unwrap();
    run(&world.ctx().with_commands(&FakeCommands::default())).unwrap();
    world.files.edit("src/a.rs", "fn b() {}");
    world.files.edit("src/a.rs", "fn a() {}");
    complete(&world).unwrap();
}

#[test]
fn a_failed_command_leaves_the_node_unproved_with_its_output() {
    let world = World::with_tickets();
    let commands = FakeCommands::default();
    commands.exit_code.set(101);
    add_evidence(&world.ctx(), &words("017a"), command(&["src"])).unwrap();
    let view = run(&world.ctx().with_commands(&commands)).unwrap();
    assert!(!view.proved);
    assert_eq!(view.proofs[0].standing, ProofStatus::Failed);
    let result = view.proofs[0].proof.result.as_ref().unwrap();
    assert_eq!(
        (result.exit_code, result.output.as_str()),
        (Some(101), "exit 101")
    );
}

#[test]
fn commands_are_not_run_for_callers_without_a_runner() {
    let world = World::with_tickets();
    add_evidence(&world.ctx(), &words("017a"), command(&[])).unwrap();
    assert_refused(
        run(&world.agent("s")),
        FailureKind::Refused,
        "commands cannot be run",
    );
}

#[test]
fn every_proof_has_to_hold() {
    let world = World::with_tickets();
    for path in ["one.md", "two.md"] {
        let asks = ProofCheck::File {
            path: path.to_owned(),
        };
        add_evidence(&world.ctx(), &words("017a"), asks).unwrap();
    }
    world.files.edit("one.md", "there");
    assert!(!run(&world.ctx()).unwrap().proved);
    world.files.edit("two.md", "there");
    assert!(run(&world.ctx()).unwrap().proved);
    complete(&world).unwrap();
}

#[test]
fn an_empty_file_proves_nothing() {
    let world = World::with_tickets();
    let asks = ProofCheck::File {
        path: "report.md".to_owned(),
    };
    add_evidence(&world.ctx(), &words("017a"), asks).unwrap();
    world.files.edit("report.md", "");
    assert!(!run(&world.ctx()).unwrap().proved);
}

#[test]
fn a_review_that_never_ran_proves_nothing() {
    let world = World::with_tickets();
    let asks = ProofCheck::Review {
        review: "plan/x/risks".to_owned(),
    };
    add_evidence(&world.ctx(), &words("017a"), asks).unwrap();
    assert!(!run(&world.ctx()).unwrap().proved);
}

#[test]
fn the_same_declaration_twice_is_one_proof() {
    let world = World::with_tickets();
    add_evidence(&world.ctx(), &words("017a"), command(&[])).unwrap();
    let again = add_evidence(&world.ctx(), &words("017a"), command(&[])).unwrap();
    assert_eq!((again.proofs.len(), again.operation), (1, None));
}

#[test]
fn empty_declarations_and_paths_outside_the_project_are_refused() {
    let world = World::with_tickets();
    let add = |asks| add_evidence(&world.ctx(), &words("017a"), asks);
    let nothing = ProofCheck::Command {
        run: Vec::new(),
        inputs: Vec::new(),
    };
    assert_refused(add(nothing), FailureKind::Invalid, "a command is missing");
    for path in ["/etc/passwd", "../outside"] {
        let asks = ProofCheck::File {
            path: path.to_owned(),
        };
        assert_refused(add(asks), FailureKind::Invalid, "is outside the project");
    }
    let review = ProofCheck::Review {
        review: " ".to_owned(),
    };
    assert_refused(add(review), FailureKind::Invalid, "has no name");
}

#[test]
fn a_gate_that_only_warns_lets_an_unproved_node_complete_with_a_notice() {
    let mut world = World::with_tickets();
    world.policy.gates.done = GateMode::Warn;
    add_evidence(&world.ctx(), &words("017a"), command(&[])).unwrap();
    let ctx = world.ctx();
    let request = ProgressRequest {
        node: words("017a"),
        progress: Progress::Complete,
    };
    assert_eq!(
        set_progress(&ctx, &request).unwrap().progress,
        Progress::Complete
    );
    let notices = ctx.take_notices();
    assert!(
        matches!(&notices[..], [Notice::Unproved { node, .. }] if node == "017a"),
        "{notices:?}"
    );
}

#[test]
fn a_gate_that_is_off_does_not_look_at_evidence() {
    let mut world = World::with_tickets();
    world.policy.gates.done = GateMode::Off;
    add_evidence(&world.ctx(), &words("017a"), command(&[])).unwrap();
    complete(&world).unwrap();
}

#[test]
fn running_evidence_that_was_not_declared_is_refused() {
    let world = World::with_tickets();
    let failure = run(&world.ctx()).unwrap_err();
    assert!(!failure.next_steps.is_empty(), "{failure:?}");
}
