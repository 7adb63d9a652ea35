//! The work on tickets in any order, by two sessions: the engines agree, nobody disturbs the other, and what is undone
//! is undone.

use application::approve::{ApproveRequest, approve_node};
use application::claim_node::{ReleaseRequest, claim_node, release_node};
use application::evidence::{add_evidence, run_evidence};
use application::move_focus::{FocusMove, move_focus};
use application::set_progress::{ProgressRequest, set_progress};
use application::tickets::{finish_scenario, set_phase, set_work_level};
use application::undo::{UndoTarget, undo_operations};
use application::where_am_i::where_am_i;
use application::{Context, Failure};
use domain::approval::Force;
use domain::ids::Principal;
use domain::node::{Node, Progress};
use domain::operation::Channel;
use domain::settings::Storage;
use domain::work::evidence::ProofCheck;
use domain::work::work_level::WorkLevel;
use proptest::prelude::*;
use serde_json::Value;

use crate::life::engine;
use crate::world::{World, words};

#[derive(Clone, Debug)]
enum Deed {
    Enter(usize, bool),
    Exit,
    Back(usize),
    Park,
    Switch(usize),
    Claim(usize),
    Release(usize),
    Level(usize),
    Evidence(usize),
    Prove(usize),
    Phase(usize, usize),
    Progress(usize, usize),
    Scenario,
    Approve(usize),
    /// An edit sets the parent in a ticket's file.
    Parent(usize, usize),
    Edit(usize, u8),
    Undo,
}

const TICKETS: [&str; 5] = ["017", "017a", "017b", "045", "046"];
const PHASES: [&str; 3] = ["intake", "implement", "done"];

fn deed() -> impl Strategy<Value = Deed> {
    let ticket = 0..TICKETS.len();
    prop_oneof![
        4 => (ticket.clone(), any::<bool>()).prop_map(|(ticket, claim)| Deed::Enter(ticket, claim)),
        4 => Just(Deed::Exit),
        2 => ticket.clone().prop_map(Deed::Back),
        1 => Just(Deed::Park),
        2 => ticket.clone().prop_map(Deed::Switch),
        2 => ticket.clone().prop_map(Deed::Claim),
        1 => ticket.clone().prop_map(Deed::Release),
        1 => ticket.clone().prop_map(Deed::Level),
        1 => ticket.clone().prop_map(Deed::Evidence),
        1 => ticket.clone().prop_map(Deed::Prove),
        2 => (ticket.clone(), 0..PHASES.len()).prop_map(|(ticket, phase)| Deed::Phase(ticket, phase)),
        2 => (ticket.clone(), 0..4_usize).prop_map(|(ticket, progress)| Deed::Progress(ticket, progress)),
        2 => Just(Deed::Scenario),
        2 => ticket.clone().prop_map(Deed::Approve),
        3 => (ticket.clone(), 0..=TICKETS.len()).prop_map(|(ticket, parent)| Deed::Parent(ticket, parent)),
        2 => (ticket, 0..3_u8).prop_map(|(ticket, text)| Deed::Edit(ticket, text)),
        2 => Just(Deed::Undo),
    ]
}

fn file(ticket: usize) -> String {
    format!("tickets/{}-x/ticket.md", TICKETS[ticket])
}

fn fill(world: &World) {
    for (ticket, parent) in [
        (0, None),
        (1, Some("017")),
        (2, Some("017")),
        (3, None),
        (4, Some("045")),
    ] {
        let parent = parent
            .map(|parent| format!("parent: '{parent}'\n"))
            .unwrap_or_default();
        let text = format!(
            "---\nid: '{}'\n{parent}phase: intake\n---\n# It\n",
            TICKETS[ticket]
        );
        world.files.edit(&file(ticket), &text);
    }
    world.files.edit(
        "tickets/017a-x/test-definitions.md",
        "Scenario: one\n\nScenario: two\n",
    );
}

fn ctx_of<'w>(world: &'w World, session: &str) -> Context<'w> {
    let actor = Principal::Agent {
        host: "test".to_owned(),
        session: session.to_owned(),
    };
    Context::new(
        &*world.store,
        &world.files,
        &world.clock,
        &world.profiles,
        &world.policy,
        actor,
        Channel::Hook,
    )
}

/// Does a deed; whether it was allowed is part of what engines must agree on.
fn act(world: &World, session: &str, deed: &Deed) -> Result<(), String> {
    let ctx = ctx_of(world, session);
    let named = |ticket: &usize| words(TICKETS[*ticket]);
    let focus = |request: FocusMove| move_focus(&ctx, &request).map(drop);
    let done: Result<(), Failure> = match deed {
        Deed::Enter(ticket, claim) => focus(FocusMove::Enter {
            node: named(ticket),
            claim: *claim,
        }),
        Deed::Exit => focus(FocusMove::Exit),
        Deed::Back(ticket) => focus(FocusMove::Back {
            node: named(ticket),
        }),
        Deed::Park => focus(FocusMove::Park),
        Deed::Switch(ticket) => focus(FocusMove::Switch {
            root: named(ticket),
        }),
        Deed::Claim(ticket) => claim_node(&ctx, &named(ticket)).map(drop),
        Deed::Release(ticket) => release_node(
            &ctx,
            &ReleaseRequest {
                node: named(ticket),
                token: None,
            },
        )
        .map(drop),
        Deed::Level(ticket) => {
            set_work_level(&ctx, &named(ticket), Some(WorkLevel::Task), None).map(drop)
        }
        Deed::Evidence(ticket) => add_evidence(
            &ctx,
            &named(ticket),
            ProofCheck::File {
                path: file(*ticket),
            },
        )
        .map(drop),
        Deed::Prove(ticket) => {
            run_evidence(&ctx, &named(ticket), std::time::Duration::ZERO).map(drop)
        }
        Deed::Phase(ticket, phase) => {
            set_phase(&ctx, &named(ticket), PHASES[*phase], None).map(drop)
        }
        Deed::Progress(ticket, progress) => {
            let progress = Progress::ALL[*progress];
            set_progress(
                &ctx,
                &ProgressRequest {
                    node: named(ticket),
                    progress,
                },
            )
            .map(drop)
        }
        Deed::Scenario => finish_scenario(&ctx, &[]).map(drop),
        Deed::Approve(ticket) => approve_node(
            &ctx,
            &ApproveRequest {
                node: named(ticket),
                force: Force::No,
                shown: None,
            },
        )
        .map(drop),
        Deed::Parent(ticket, parent) => {
            let parent = TICKETS
                .get(*parent)
                .map_or("null".to_owned(), |parent| format!("'{parent}'"));
            let text = world.files.text(&file(*ticket)).unwrap();
            world.files.edit(
                &file(*ticket),
                &domain::front_matter::set_key(&text, "parent", &parent),
            );
            Ok(())
        }
        Deed::Edit(ticket, text) => {
            let there = world.files.text(&file(*ticket)).unwrap();
            let head = there.split("# It").next().unwrap().to_owned();
            world
                .files
                .edit(&file(*ticket), &format!("{head}# It\n\nText {text}.\n"));
            Ok(())
        }
        Deed::Undo => undo_operations(&ctx, UndoTarget::Newest).map(drop),
    };
    done.map_err(|failure| {
        assert!(failure.interruption().is_none(), "{failure}");
        failure.message
    })
}

type State = (Vec<Node>, Vec<(String, Value)>);

/// Says that two states are the same, or which part of them is not.
fn same(one: &State, other: &State) -> Result<(), TestCaseError> {
    one.0.iter().zip(&other.0).try_for_each(|(one, other)| {
        prop_assert_eq!(one, other);
        Ok(())
    })?;
    prop_assert_eq!(one.0.len(), other.0.len());
    prop_assert_eq!(&one.1, &other.1);
    Ok(())
}

/// Everything that is recorded: nodes without the time of their last change, and records.
fn state(world: &World) -> State {
    let state = world.store.begin_read().unwrap();
    let mut nodes = state.all_nodes().unwrap();
    nodes.sort_by_key(|node| node.id);
    nodes
        .iter_mut()
        .for_each(|node| node.updated_at = testkit::timestamp(0));
    let kinds = ["focus", "claim", "evidence", "tdd", "work-level"];
    let records = kinds.iter().flat_map(|kind| {
        let found = state.records_by_prefix(kind, "").unwrap();
        found
            .into_iter()
            .map(move |(key, body)| (format!("{kind}/{key}"), body))
            .collect::<Vec<_>>()
    });
    (nodes, records.collect())
}

/// Where a session stands, as far as it is its own doing.
fn place(world: &World, session: &str) -> Value {
    let body = world
        .store
        .begin_read()
        .unwrap()
        .record_body("focus", session)
        .unwrap();
    body.unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 25, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn two_sessions_live_the_same_life_on_every_engine(
        deeds in prop::collection::vec((deed(), any::<bool>()), 1..20),
    ) {
        let folders = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let worlds = [
            World::with_tickets_of(World::new()),
            World::with_tickets_of(World::on(engine(folders.0.path(), Storage::Sqlite))),
            World::with_tickets_of(World::on(engine(folders.1.path(), Storage::Json))),
        ];
        worlds.iter().for_each(fill);
        for (deed, first) in &deeds {
            let (session, other) = if *first { ("one", "two") } else { ("two", "one") };
            let before: Vec<Value> = worlds.iter().map(|world| place(world, other)).collect();
            let outcomes: Vec<Result<(), String>> = worlds.iter().map(|world| act(world, session, deed)).collect();
            prop_assert_eq!(&outcomes[0], &outcomes[1], "{:?}", deed);
            prop_assert_eq!(&outcomes[0], &outcomes[2], "{:?}", deed);
            // An undo reverts the newest decision of any session; nothing else changes another session's position.
            if !matches!(deed, Deed::Undo) {
                let after: Vec<Value> = worlds.iter().map(|world| place(world, other)).collect();
                prop_assert_eq!(before, after, "{:?}", deed);
            }
        }
        for world in &worlds {
            for session in ["one", "two"] {
                where_am_i(&ctx_of(world, session)).unwrap();
            }
            same(&state(world), &state(&worlds[0]))?;
            let damage: Vec<_> = world.store.verify_integrity().unwrap();
            prop_assert!(damage.is_empty(), "{:?}", damage);
            let found = application::check_state::check_state(&world.ctx()).unwrap().findings;
            let lies: Vec<_> = found.iter().filter(|finding| finding.kind == "status-mismatch").collect();
            prop_assert!(lies.is_empty(), "{:?}", lies);
        }
    }

    /// What a session decides about its work is taken back exactly: nodes, records and other sessions' places.
    #[test]
    fn undo_takes_back_exactly_one_decision(
        deeds in prop::collection::vec((deed(), any::<bool>()), 1..20),
        last in prop_oneof![
            (0..TICKETS.len(), any::<bool>()).prop_map(|(ticket, claim)| Deed::Enter(ticket, claim)),
            Just(Deed::Exit),
            (0..TICKETS.len()).prop_map(Deed::Claim),
            (0..TICKETS.len()).prop_map(Deed::Evidence),
            (0..TICKETS.len()).prop_map(Deed::Prove),
        ],
    ) {
        let world = World::with_tickets_of(World::new());
        fill(&world);
        for (deed, first) in &deeds {
            let _ = act(&world, if *first { "one" } else { "two" }, deed);
        }
        where_am_i(&ctx_of(&world, "one")).unwrap();
        let before = state(&world);
        let head = world.store.begin_read().unwrap().last_operation_id().unwrap();
        if act(&world, "one", &last).is_err() || world.store.begin_read().unwrap().last_operation_id().unwrap() == head {
            return Ok(());
        }
        let ctx = ctx_of(&world, "one");
        undo_operations(&ctx, UndoTarget::BackTo(head)).map_err(|failure| TestCaseError::fail(failure.message))?;
        same(&state(&world), &before)?;
    }
}

/// A ticket that names another parent is judged by that one at once.
#[test]
fn a_ticket_under_another_parent_is_judged_by_it() {
    let world = World::with_tickets_of(World::new());
    fill(&world);
    for deed in [Deed::Enter(0, false), Deed::Parent(2, 4), Deed::Level(4)] {
        act(&world, "two", &deed).unwrap();
    }
    for session in ["one", "two"] {
        where_am_i(&ctx_of(&world, session)).unwrap();
    }
    let found = application::check_state::check_state(&world.ctx())
        .unwrap()
        .findings;
    let lies: Vec<_> = found
        .iter()
        .filter(|finding| finding.kind == "status-mismatch")
        .collect();
    assert!(lies.is_empty(), "{lies:?}");
}
