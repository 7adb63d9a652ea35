//! What is proved, and what a person lets pass all the same.

use application::evidence::add_evidence;
use application::handle_host_event::{EventContext, handle_host_event};
use application::move_focus::{FocusMove, move_focus};
use application::override_gate::{OverrideRequest, override_gate};
use application::set_progress::{ProgressRequest, set_progress};
use application::show_node::show_node;
use application::tickets::set_phase;
use application::{Failure, FailureKind};
use domain::host_event::{Happening, Host, HostEvent, ToolCall, ToolKind};
use domain::ids::Principal;
use domain::node::Progress;
use domain::ports::NoRepository;
use domain::work::evidence::ProofCheck;

use crate::world::{World, words};

fn to(world: &World, progress: Progress) -> Result<(), Failure> {
    set_progress(
        &world.ctx(),
        &ProgressRequest {
            node: words("017a"),
            progress,
        },
    )
    .map(drop)
}

fn let_pass(world: &World) {
    let request = OverrideRequest {
        gate: "done".to_owned(),
        node: words("017a"),
        reason: "proved by hand".to_owned(),
    };
    override_gate(&world.ctx(), &request).unwrap();
}

#[track_caller]
fn refused<T: std::fmt::Debug>(outcome: Result<T, Failure>) {
    let failure = outcome.unwrap_err();
    assert!(
        failure.kind == FailureKind::Refused && failure.message.contains("not done"),
        "{failure:?}"
    );
}

#[test]
fn an_override_lets_a_node_pass_once() {
    let world = World::with_tickets();
    let asks = ProofCheck::File {
        path: "report.md".to_owned(),
    };
    add_evidence(&world.ctx(), &words("017a"), asks).unwrap();
    refused(to(&world, Progress::Complete));
    let_pass(&world);
    to(&world, Progress::Complete).unwrap();
    to(&world, Progress::Active).unwrap();
    refused(to(&world, Progress::Complete));

    let phase = |name: &str| set_phase(&world.ctx(), &words("017a"), name, None);
    phase("implement").unwrap();
    refused(phase("done"));
    let_pass(&world);
    assert_eq!(phase("done").unwrap().progress, Progress::Complete);
    assert_eq!(phase("implement").unwrap().progress, Progress::Active);
    refused(phase("done"));
}

#[test]
fn a_file_that_says_done_is_believed_when_it_is_proved() {
    let world = World::with_tickets();
    add_evidence(
        &world.ctx(),
        &words("017a"),
        ProofCheck::File {
            path: "report.md".to_owned(),
        },
    )
    .unwrap();
    let progress = || show_node(&world.ctx(), &words("017a")).unwrap().progress;
    assert_eq!(progress(), Progress::Pending);
    let file = "tickets/017a-loc/ticket.md";
    let edit = |from: &str, to: &str| {
        world
            .files
            .edit(file, &world.files.text(file).unwrap().replace(from, to))
    };
    edit("phase: intake", "phase: done");
    assert_eq!(progress(), Progress::Pending);
    edit("phase: done", "phase: implement");
    world.files.edit("report.md", "all is well");
    application::evidence::run_evidence(&world.ctx(), &words("017a"), std::time::Duration::ZERO)
        .unwrap();
    edit("phase: implement", "phase: done");
    assert_eq!(progress(), Progress::Complete);
    // A half-written file has no meaning.
    edit("phase: done", "phase: [done");
    assert_eq!(progress(), Progress::Complete);
}

#[test]
fn two_tickets_change_places_in_one_look() {
    let world = World::with_tickets();
    let path = |node: &str| show_node(&world.ctx(), &words(node)).unwrap().path;
    application::project_status::load_project_status(&world.ctx()).unwrap();
    assert_eq!(path("017a"), "017/017a");
    world.files.edit(
        "tickets/017-quality/ticket.md",
        "---\nid: '017'\nparent: 017a\n---\n# Quality\n",
    );
    world.files.edit(
        "tickets/017a-loc/ticket.md",
        "---\nid: 017a\n---\n# Lines\n",
    );
    application::project_status::load_project_status(&world.ctx()).unwrap();
    assert_eq!(
        (path("017a"), path("017")),
        ("017a".to_owned(), "017a/017".to_owned())
    );
}

/// A person speaks of a ticket by any of its names; the gate hears it.
#[test]
fn an_override_counts_for_a_ticket_below_another() {
    let world = World::with_tickets();
    let enter = FocusMove::Enter {
        node: words("017a"),
        claim: false,
    };
    move_focus(&world.ctx(), &enter).unwrap();
    let blocked = || {
        let call = ToolCall {
            id: None,
            name: "Write".to_owned(),
            kind: ToolKind::Write,
            touches: Vec::new(),
            command: None,
            says: None,
        };
        let event = HostEvent {
            // It takes no context before a tool, so the gate blocks.
            host: Host::Gemini,
            name: "PreToolUse".to_owned(),
            session: "s".to_owned(),
            turn: None,
            agent: None,
            directory: None,
            happening: Happening::ToolAboutToRun(call),
        };
        let person = Principal::Human("Ада".to_owned());
        let files = ["src/a.rs".to_owned()];
        let surroundings = EventContext {
            person: &person,
            plans: &[],
            files: &files,
            faults: None,
            missed: &[],
            host_process: None,
            may_have_news: false,
        };
        let handled = handle_host_event(
            &world
                .ctx()
                .with_git_and_session(&NoRepository, "s".to_owned()),
            &event,
            &surroundings,
        );
        handled
            .unwrap()
            .blocked
            .iter()
            .map(|fired| fired.gate)
            .collect::<Vec<_>>()
    };
    let request = OverrideRequest {
        gate: "context".to_owned(),
        node: words("017a"),
        reason: "I know it".to_owned(),
    };
    override_gate(&world.ctx(), &request).unwrap();
    assert_eq!(blocked(), Vec::<&str>::new());
}
