//! Done and the phases on the way to it, with fake ports.

use application::set_progress::{ProgressRequest, set_progress};
use application::show_node::show_node;
use application::tickets::{finish_scenario, set_phase, set_work_level};
use application::undo::{UndoTarget, undo_operations};
use application::{FailureKind, Notice};
use domain::node::Progress;
use domain::policy::{ApprovalPolicy, GateMode};
use domain::work::work_level::WorkLevel;
use testkit::FakeGit;

use crate::world::{World, assert_refused, words};

const SCENARIOS: &str = "tickets/017-quality/test-definitions.md";

/// `017`, a feature with one scenario, back at its first phase, without a child.
fn feature() -> World {
    let world = World::with_tickets_of(World::new());
    world.files.edit(
        "tickets/017-quality/ticket.md",
        "---\nid: '017'\nphase: intake\n---\n# Quality\n",
    );
    world.files.edit(SCENARIOS, "Scenario: one\n");
    set_work_level(&world.ctx(), &words("017"), Some(WorkLevel::Feature), None).unwrap();
    world
}

fn progress(world: &World, node: &str) -> Progress {
    show_node(&world.ctx(), &words(node)).unwrap().progress
}

#[test]
fn a_feature_goes_through_its_phases_and_a_person_skips_one_with_a_reason() {
    let world = feature();
    let agent = world.agent("s");
    let skipped = "define-behavior, scenario-gate, decomposition come before implement";
    for reason in [None, Some("I am in a hurry")] {
        let refused = set_phase(&agent, &words("017"), "implement", reason);
        assert_refused(refused, FailureKind::Refused, skipped);
    }
    let person = world.ctx();
    assert_refused(
        set_phase(&person, &words("017"), "implement", Some("  ")),
        FailureKind::Refused,
        skipped,
    );
    set_phase(&person, &words("017"), "implement", Some("it is tiny")).unwrap();
    for phase in [
        "intake",
        "define-behavior",
        "scenario-gate",
        "decomposition",
    ] {
        set_phase(&agent, &words("017"), phase, None).unwrap();
    }
}

#[test]
fn a_phase_written_into_the_file_counts_and_is_reported() {
    let world = feature();
    progress(&world, "017");
    let file = "tickets/017-quality/ticket.md";
    let text = world.files.text(file).unwrap();
    world.files.edit(file, &text.replace("intake", "implement"));
    let ctx = world.ctx();
    show_node(&ctx, &words("017")).unwrap();
    let notices = ctx.take_notices();
    assert!(
        notices
            .iter()
            .any(|notice| matches!(notice, Notice::PhaseSkipped { node, .. } if node == "017")),
        "{notices:?}"
    );
}

#[test]
fn where_the_policy_asks_the_scenario_gate_is_left_with_a_persons_approval() {
    let mut world = feature();
    world.policy.gates.scenario_approval = GateMode::Block;
    world.policy.approval = ApprovalPolicy::Human;
    let phase = |world: &World, phase: &str| {
        set_phase(&world.agent("s"), &words("017"), phase, None).map(drop)
    };
    phase(&world, "define-behavior").unwrap();
    phase(&world, "scenario-gate").unwrap();
    assert_refused(
        phase(&world, "decomposition"),
        FailureKind::Refused,
        "not approved: `017`, `017/one`",
    );
    world.approve("017").unwrap();
    assert_refused(
        phase(&world, "decomposition"),
        FailureKind::Refused,
        "not approved: `017/one`",
    );
    world.approve("017/one").unwrap();
    phase(&world, "decomposition").unwrap();
}

#[test]
fn a_feature_is_not_completed_past_its_phases_by_any_way() {
    let world = feature();
    finish_scenario(&world.ctx(), &words("017/one")).unwrap();
    let request = ProgressRequest {
        node: words("017"),
        progress: Progress::Complete,
    };
    let skipped = "define-behavior, scenario-gate, decomposition";
    for refused in [
        set_progress(&world.ctx(), &request).map(drop),
        set_phase(&world.ctx(), &words("017"), "done", None).map(drop),
    ] {
        assert_refused(refused, FailureKind::Refused, skipped);
    }
    let file = "tickets/017-quality/ticket.md";
    let text = world.files.text(file).unwrap();
    world
        .files
        .edit(file, &text.replace("phase:", "status: done\nphase:"));
    assert_ne!(progress(&world, "017"), Progress::Complete);
    // A person skips them with a reason.
    set_phase(&world.ctx(), &words("017"), "done", Some("it was tiny")).unwrap();
    assert_eq!(progress(&world, "017"), Progress::Complete);
}

#[test]
fn the_last_phase_completes_a_ticket_whose_file_said_so_before() {
    let world = World::with_tickets();
    let file = "tickets/017-quality/ticket.md";
    progress(&world, "017");
    let text = world.files.text(file).unwrap();
    world.files.edit(file, &text.replace("implement", "done"));
    assert_ne!(progress(&world, "017"), Progress::Complete);
    let request = ProgressRequest {
        node: words("017a"),
        progress: Progress::Complete,
    };
    set_progress(&world.ctx(), &request).unwrap();
    set_phase(&world.ctx(), &words("017"), "done", None).unwrap();
    assert_eq!(progress(&world, "017"), Progress::Complete);
}

#[test]
fn a_complete_ticket_is_open_again_with_a_new_scenario() {
    let world = feature();
    set_phase(&world.ctx(), &words("017"), "implement", Some("defined")).unwrap();
    finish_scenario(&world.ctx(), &words("017/one")).unwrap();
    let request = ProgressRequest {
        node: words("017"),
        progress: Progress::Complete,
    };
    set_progress(&world.ctx(), &request).unwrap();
    world
        .files
        .edit(SCENARIOS, "Scenario: one\n\nScenario: two\n");
    let ctx = world.ctx();
    assert_eq!(
        show_node(&ctx, &words("017")).unwrap().progress,
        Progress::Active
    );
    let notices = ctx.take_notices();
    let reopened = Notice::Reopened {
        node: "017".to_owned(),
        by: "two".to_owned(),
    };
    assert!(notices.contains(&reopened), "{notices:?}");
}

#[test]
fn a_finished_ticket_that_git_brought_is_believed_with_its_scenarios() {
    let file = "tickets/017-quality/ticket.md";
    let done = "---\nid: '017'\nphase: done\n---\n# Quality\n";
    for (came_with_git, expected) in [(true, Progress::Complete), (false, Progress::Active)] {
        let (world, git) = (World::with_tickets_of(World::new()), FakeGit::with_commit());
        world.files.edit(file, done);
        world.files.edit(SCENARIOS, "Scenario: one\n");
        if came_with_git {
            let files = [file.to_owned(), SCENARIOS.to_owned()];
            git.set_index(&files, &files);
        }
        let ctx = world.ctx().with_git_and_session(&git, "s".to_owned());
        assert_eq!(show_node(&ctx, &words("017")).unwrap().progress, expected);
        let scenario = show_node(&ctx, &words("017/one")).unwrap().progress;
        assert_eq!(scenario == Progress::Complete, came_with_git);
    }
}

#[test]
fn dropped_children_and_needs_do_not_keep_a_ticket_open() {
    let world = World::with_tickets();
    let complete = |world: &World| {
        let request = ProgressRequest {
            node: words("017"),
            progress: Progress::Complete,
        };
        set_progress(&world.ctx(), &request)
    };
    world.files.edit(
        "tickets/017-quality/ticket.md",
        "---\nid: '017'\nphase: implement\nneeds: ['018']\n---\n# Quality\n",
    );
    let needed = "---\nid: '018'\nphase: intake\n---\n# Colours\n";
    world.files.edit("tickets/018-colours/ticket.md", needed);
    assert_refused(complete(&world), FailureKind::Refused, "`017/017a` is");
    world.files.edit(
        "tickets/017a-loc/ticket.md",
        "---\nid: 017a\nparent: '017'\nphase: intake\nstatus: cancelled\n---\n# Lines\n",
    );
    // Nothing looked at the child's file since: it is judged as it is now.
    assert_refused(complete(&world), FailureKind::Refused, "it needs `018`");
    let dropped = needed.replace("phase: intake", "phase: intake\nstatus: wontfix");
    world.files.edit("tickets/018-colours/ticket.md", &dropped);
    complete(&world).unwrap();

    world.files.edit(
        "tickets/017b-idea/ticket.md",
        "---\nid: 017b\nparent: '017'\nphase: intake\nstatus: cancelled\n---\n# Idea\n",
    );
    assert_eq!(progress(&world, "017"), Progress::Complete);
}

#[test]
fn a_scenario_deleted_while_its_ticket_is_implemented_keeps_the_ticket_open() {
    let world = feature();
    let complete = |world: &World| {
        let request = ProgressRequest {
            node: words("017"),
            progress: Progress::Complete,
        };
        set_progress(&world.ctx(), &request)
    };
    // While the behaviour is being defined, scenarios come and go.
    world
        .files
        .edit(SCENARIOS, "Scenario: one\n\nScenario: draft\n");
    progress(&world, "017/draft");
    world
        .files
        .edit(SCENARIOS, "Scenario: one\n\nScenario: two\n");
    progress(&world, "017/two");
    set_phase(&world.ctx(), &words("017"), "implement", Some("tiny")).unwrap();
    finish_scenario(&world.ctx(), &words("017/one")).unwrap();

    world.files.edit(SCENARIOS, "Scenario: one\n");
    let ctx = world.ctx();
    show_node(&ctx, &words("017/one")).unwrap();
    let removed = Notice::ScenarioRemoved {
        ticket: "017".to_owned(),
        scenario: "two".to_owned(),
    };
    let notices = ctx.take_notices();
    assert!(notices.contains(&removed), "{notices:?}");
    let refused = complete(&world).unwrap_err();
    assert_eq!(
        refused.message,
        "`017` is not done: scenario `017/two` was deleted before it was done"
    );

    world
        .files
        .edit(SCENARIOS, "Scenario: one\n\nScenario: two\n");
    assert_refused(complete(&world), FailureKind::Refused, "`017/two` is open");
    // With another title and without steps it is another scenario, which has to be done.
    world
        .files
        .edit(SCENARIOS, "Scenario: one\n\nScenario: three\n");
    assert_refused(
        complete(&world),
        FailureKind::Refused,
        "`017/three` is open",
    );
    finish_scenario(&world.ctx(), &words("017/three")).unwrap();
    complete(&world).unwrap();
}

#[test]
fn undoing_the_completion_of_a_child_opens_its_complete_parents() {
    let world = World::with_tickets();
    for node in ["017a", "017"] {
        let request = ProgressRequest {
            node: words(node),
            progress: Progress::Complete,
        };
        set_progress(&world.ctx(), &request).unwrap();
    }
    let state = world.store.begin_read().unwrap();
    let heads = state.operation_heads(None, 10).unwrap();
    drop(state);
    let child = heads
        .iter()
        .find(|head| head.summary.starts_with("017/017a is complete"))
        .unwrap_or_else(|| panic!("{heads:?}"));
    undo_operations(&world.ctx(), UndoTarget::Operation(child.id)).unwrap();
    assert_eq!(progress(&world, "017a"), Progress::Pending);
    assert_eq!(progress(&world, "017"), Progress::Active);
}

#[test]
fn a_scenario_with_another_title_is_the_same_scenario() {
    let (world, git) = (feature(), FakeGit::with_commit());
    let ctx = || world.ctx().with_git_and_session(&git, "s".to_owned());
    let text = |title: &str| {
        format!("Scenario: {title}\nGiven 400 lines\n\nScenario: other\nThen it blocks\n")
    };
    world.files.edit(SCENARIOS, &text("one"));
    finish_scenario(&ctx(), &words("017/one")).unwrap();
    world.files.edit(SCENARIOS, &text("the first one"));
    let shown = show_node(&ctx(), &words("017/the-first-one")).unwrap();
    assert_eq!(shown.progress, Progress::Complete);
    assert!(show_node(&ctx(), &words("017/one")).is_err());
}

#[test]
fn a_scenario_that_is_gone_leaves_the_tree_and_returns_with_its_progress() {
    let (world, git) = (feature(), FakeGit::with_commit());
    let ctx = || world.ctx().with_git_and_session(&git, "s".to_owned());
    let both = "Scenario: one\n\nScenario: two\n";
    world.files.edit(SCENARIOS, both);
    finish_scenario(&ctx(), &words("017/two")).unwrap();
    world.files.edit(SCENARIOS, "Scenario: one\n");
    assert_eq!(show_node(&ctx(), &words("017")).unwrap().children.len(), 1);
    let status = application::project_status::load_project_status(&ctx()).unwrap();
    assert!(status.attention.is_empty(), "{:?}", status.attention);
    world.files.edit(SCENARIOS, both);
    let shown = show_node(&ctx(), &words("017/two")).unwrap();
    assert_eq!(shown.progress, Progress::Complete);
}
