//! One event, one decision: what an event costs in transactions, and that the gate shown as
//! open is the one the next event meets.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use application::claim_node::claim_node;
use application::explain_change::explain_change;
use application::move_focus::{FocusMove, move_focus};
use application::override_gate::{OverrideRequest, override_gate};
use application::sessions::declare_intent::{IntentRequest, declare_intent};
use application::show_node::show_node;
use application::tickets::set_phase;
use application::where_am_i::where_am_i;
use domain::host_event::{FileEffect, Happening, Host, StartSource, ToolKind};
use domain::ids::StoreId;
use domain::policy::{ApprovalPolicy, GateMode, Governance};
use domain::ports::{Snapshot, Store, StoreFault, StoreFinding, Transaction};
use domain::profile::built_in_profile;
use domain::session::SessionMode;
use proptest::prelude::*;
use store::MemoryStore;
use testkit::FakeGit;

use crate::hooks::{Session, blocked, call_on, shell_call, write_call};
use crate::world::{ACT, CHAPTER, SCENE, World, words};

/// A store that counts its snapshots and transactions.
struct CountingStore {
    inner: MemoryStore,
    reads: Arc<AtomicUsize>,
    writes: Arc<AtomicUsize>,
}

impl Store for CountingStore {
    fn begin_read(&self) -> Result<Box<dyn Snapshot + '_>, StoreFault> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.inner.begin_read()
    }

    fn begin_write(&self) -> Result<Box<dyn Transaction + '_>, StoreFault> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.inner.begin_write()
    }

    fn verify_integrity(&self) -> Result<Vec<StoreFinding>, StoreFault> {
        self.inner.verify_integrity()
    }

    fn finish_mirror(&self) {}

    fn sync_mirror(&self) -> Result<usize, StoreFault> {
        self.inner.sync_mirror()
    }
}

const TICKET: &str = "tickets/017a-loc/ticket.md";
const PROSE: &str = "acts/act-1/chapters/chapter-01/content/scene-0101.md";

/// A project with plans, tickets and a trail, and the numbers of its snapshots and transactions.
fn counted_world() -> (World, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let (reads, writes) = (Arc::default(), Arc::default());
    let store = CountingStore {
        inner: MemoryStore::new(StoreId("test".to_owned())),
        reads: Arc::clone(&reads),
        writes: Arc::clone(&writes),
    };
    let world = World {
        profiles: ["story", "tickets", "trail"]
            .map(|name| built_in_profile(name).unwrap())
            .into(),
        ..World::on(Box::new(store))
    };
    world.files.edit(ACT, "# act-1\n");
    world
        .files
        .edit(TICKET, "---\nid: 017a\nphase: intake\n---\n# Lines\n");
    world.approve("act-1").unwrap();
    (world, reads, writes)
}

fn enter(world: &World, git: &FakeGit, session: &str) {
    let ctx = world
        .agent(session)
        .with_git_and_session(git, session.to_owned());
    let request = FocusMove::Enter {
        node: words("017a"),
        claim: false,
    };
    move_focus(&ctx, &request).unwrap();
}

fn declare(world: &World, git: &FakeGit, session: &str) {
    let ctx = world
        .agent(session)
        .with_git_and_session(git, session.to_owned());
    let request = IntentRequest {
        text: "find words".to_owned(),
        mode: SessionMode::default(),
    };
    declare_intent(&ctx, &request).unwrap();
}

#[test]
fn every_event_takes_at_most_one_snapshot_and_one_transaction() {
    for host in [Host::ClaudeCode, Host::Cursor, Host::Codex, Host::OpenCode] {
        for is_on_trail in [false, true] {
            let (world, reads, writes) = counted_world();
            let git = FakeGit::with_commit();
            let mut session = Session::with_git(&world, "s", &git);
            session.host = host;
            if is_on_trail {
                declare(&world, &git, "s");
                enter(&world, &git, "s");
            }
            let before = |path: &str| Happening::ToolAboutToRun(write_call(path, "# Text\n"));
            let after = |path: &str| Happening::ToolFinished {
                call: write_call(path, "# Text\n"),
                failed: false,
            };
            let ran = |command: &str| Happening::ToolFinished {
                call: shell_call(command),
                failed: false,
            };
            let read = call_on(ToolKind::Read, ACT, FileEffect::Read);
            let events = [
                Happening::SessionStarted {
                    source: StartSource::Startup,
                },
                Happening::PromptSubmitted {
                    prompt: "go on".to_owned(),
                },
                Happening::ToolFinished {
                    call: read,
                    failed: false,
                },
                before(ACT),
                after(ACT),
                before(CHAPTER),
                before("src/a.rs"),
                after("src/a.rs"),
                before("src/a.rs"),
                ran("cargo test"),
                ran("git status"),
                Happening::Compacting,
                Happening::Compacted,
                ran("git status"),
                Happening::Stopping { again: false },
                Happening::SessionEnded,
            ];
            for changed in [false, true] {
                for (number, happening) in events.iter().enumerate() {
                    if changed {
                        // An observation that has to record a change is the event's transaction.
                        world
                            .files
                            .edit(ACT, &format!("# act-1, change {number}\n"));
                    }
                    reads.store(0, Ordering::Relaxed);
                    writes.store(0, Ordering::Relaxed);
                    session.handle(happening.clone());
                    let counted = (
                        reads.load(Ordering::Relaxed),
                        writes.load(Ordering::Relaxed),
                    );
                    // A compaction on a trail writes the session's file after its commit, and notes
                    // that it is written.
                    let notes_file = is_on_trail && matches!(happening, Happening::Compacting);
                    let most_writes = 1 + usize::from(notes_file);
                    assert!(
                        counted.0 <= 1 && counted.1 <= most_writes,
                        "{host:?} {happening:?} (changed: {changed}): {counted:?}"
                    );
                }
            }
        }
    }
}

/// One thing that may have happened before an edit.
#[derive(Clone, Debug)]
enum Move {
    Enter,
    Phase(&'static str),
    Lines(u64),
    Commit,
    Edit,
    Command,
    ClaimByAnother,
    Override(&'static str),
    Declare,
    Merge(bool),
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        Just(Move::Enter),
        prop::sample::select(vec!["intake", "implement", "done"]).prop_map(Move::Phase),
        prop::sample::select(vec![0, 10, 400, 401, 900]).prop_map(Move::Lines),
        Just(Move::Commit),
        Just(Move::Edit),
        Just(Move::Command),
        Just(Move::ClaimByAnother),
        prop::sample::select(vec!["loc", "phase", "context", "scope", "claim"])
            .prop_map(Move::Override),
        Just(Move::Declare),
        any::<bool>().prop_map(Move::Merge),
    ]
}

fn make_move(world: &World, git: &FakeGit, session: &Session<'_>, step: &Move) {
    match step {
        Move::Enter => enter_if_free(world, git),
        // A phase whose evidence is missing, and a taken node, are refused: that is a state too.
        Move::Phase(phase) => {
            let _ = set_phase(&world.ctx(), &words("017a"), phase, None);
        }
        Move::Lines(lines) => git.change_lines("src/a.rs", *lines),
        Move::Commit => git.commit("feat: all of it"),
        Move::Edit => {
            session.before_write("src/a.rs", "fn a() {}\n");
            session.after(write_call("src/a.rs", "fn a() {}\n"));
        }
        Move::Command => {
            session.ran("touch x");
        }
        Move::ClaimByAnother => {
            let other = world
                .agent("other")
                .with_git_and_session(git, "other".to_owned());
            let _ = claim_node(&other, &words("017a"));
        }
        Move::Override(gate) => {
            let request = OverrideRequest {
                gate: (*gate).to_owned(),
                node: words("017a"),
                reason: "checked by hand".to_owned(),
            };
            override_gate(&world.ctx(), &request).unwrap();
        }
        Move::Declare => declare(world, git, "s"),
        Move::Merge(is_begun) => git.set_operation(is_begun.then_some("merge")),
    }
}

fn enter_if_free(world: &World, git: &FakeGit) {
    let ctx = world.ctx().with_git_and_session(git, "terminal".to_owned());
    let request = FocusMove::Enter {
        node: words("017a"),
        claim: false,
    };
    let _ = move_focus(&ctx, &request);
}

fn modes() -> impl Strategy<Value = GateMode> {
    // Mostly as by default: a gate that is off says nothing about the others.
    prop_oneof![
        3 => Just(GateMode::Block),
        1 => Just(GateMode::Warn),
        1 => Just(GateMode::Off),
    ]
}

#[test]
fn a_name_of_nothing_is_refused_with_the_form_of_a_file() {
    let world = World::with_story();
    let asked = |name: &str| explain_change(&world.agent("s"), &words(name));
    let refused = asked("LICENSE").unwrap_err();
    let step = "tl gate explain --for ./LICENSE   # a file with this name";
    assert!(
        refused.next_steps.iter().any(|one| one == step),
        "{refused:?}"
    );
    assert!(asked("./LICENSE").unwrap().blocks.is_empty());
}

/// One thing that may have happened before a plan is written.
#[derive(Clone, Debug)]
enum PlanMove {
    Approve(&'static str),
    EditElsewhere(&'static str),
    Read(&'static str),
    Write(&'static str),
    Claim(&'static str),
    Override(&'static str),
    Start,
}

fn plan_moves() -> impl Strategy<Value = PlanMove> {
    let file = || prop::sample::select(vec![ACT, CHAPTER]);
    let node = || prop::sample::select(vec!["act-1", "act-1/chapter-01"]);
    prop_oneof![
        node().prop_map(PlanMove::Approve),
        file().prop_map(PlanMove::EditElsewhere),
        file().prop_map(PlanMove::Read),
        file().prop_map(PlanMove::Write),
        node().prop_map(PlanMove::Claim),
        prop::sample::select(vec!["hierarchy", "read-before-write", "claim", "session"])
            .prop_map(PlanMove::Override),
        Just(PlanMove::Start),
    ]
}

/// Files of every kind: plans, a text, a ticket, decisions, the state, settings, the project's own.
fn written_files() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        ACT,
        CHAPTER,
        PROSE,
        TICKET,
        "tickets/017a-loc/test-definitions.md",
        ".throughline/decisions/ab/x.json",
        ".throughline/allowed_signers",
        ".throughline/state.db",
        ".throughline/journal.jsonl",
        ".throughline/profiles/story.toml",
        ".throughline/config.toml",
        ".throughline/sessions/26-01/010101000.md",
        ".throughline/plans/search/plan.json",
        ".claude/settings.json",
        "src/a.rs",
        "notes.txt",
        "acts/notes.md",
        "/elsewhere/x.md",
    ])
}

fn make_plan_move(world: &World, session: &Session<'_>, number: usize, step: &PlanMove) {
    let text = format!("# Text {number}\n");
    match step {
        // What is refused is a state too.
        PlanMove::Approve(node) if show_node(&world.ctx(), &words(node)).is_ok() => {
            drop(world.approve(node));
        }
        // Nothing that anybody could be shown.
        PlanMove::Approve(_) => {}
        PlanMove::EditElsewhere(file) => world.files.edit(file, &text),
        PlanMove::Read(file) => drop(session.read(file)),
        PlanMove::Write(file) => {
            if session.before_write(file, &text).blocked.is_empty() {
                world.files.edit(file, &text);
                session.after(write_call(file, &text));
            }
        }
        PlanMove::Claim(node) => {
            let git = FakeGit::with_commit();
            let other = world
                .agent("other")
                .with_git_and_session(&git, "other".to_owned());
            let _ = claim_node(&other, &words(node));
        }
        PlanMove::Override(gate) => {
            let request = OverrideRequest {
                gate: (*gate).to_owned(),
                node: words("act-1/chapter-01"),
                reason: "checked by hand".to_owned(),
            };
            let _ = override_gate(&world.ctx(), &request);
        }
        PlanMove::Start => drop(session.start()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_explained_of_a_plan_is_what_its_write_meets(
        steps in prop::collection::vec(plan_moves(), 0..10),
        modes in prop::collection::vec(modes(), 4),
        file in written_files(),
        is_human in any::<bool>(),
    ) {
        let mut world = World::new();
        if is_human {
            world.policy.approval = ApprovalPolicy::Human;
        }
        world.files.edit(ACT, "# act-1\n");
        let gates = &mut world.policy.gates;
        for (mode, gate) in modes.into_iter().zip([
            &mut gates.hierarchy,
            &mut gates.read_before_write,
            &mut gates.claim,
            &mut gates.session,
        ]) {
            *gate = mode;
        }
        let session = Session::new(&world, "s");
        for (number, step) in steps.iter().enumerate() {
            make_plan_move(&world, &session, number, step);
        }
        let ctx = world.agent("s");
        let explained = explain_change(&ctx, &words(file)).unwrap();
        let shown: Vec<&str> = explained.blocks.iter().map(|one| one.gate).collect();
        let asked = session.ask_to_write(file, "# Another text\n");
        prop_assert_eq!(shown, blocked(&asked));
    }

    #[test]
    fn what_is_explained_of_a_node_is_what_writes_of_its_files_meet(
        steps in prop::collection::vec(plan_moves(), 0..10),
        mode in modes(),
    ) {
        let mut world = World::with_story();
        world.policy.gates.hierarchy = mode;
        let session = Session::new(&world, "s");
        for (number, step) in steps.iter().enumerate() {
            make_plan_move(&world, &session, number, step);
        }
        let explained = explain_change(&world.agent("s"), &words("scene-0101")).unwrap();
        let output = explained.output.unwrap();
        prop_assert_eq!((explained.file_path.as_str(), output.file_path.as_str()), (SCENE, PROSE));
        for (file, blocks) in [(SCENE, explained.blocks), (PROSE, output.blocks)] {
            let shown: Vec<&str> = blocks.iter().map(|one| one.gate).collect();
            let asked = session.ask_to_write(file, "# Another text\n");
            prop_assert_eq!(shown, blocked(&asked), "{}", file);
        }
    }

    #[test]
    fn what_is_explained_of_a_file_is_what_its_write_meets_during_work(
        steps in prop::collection::vec(moves(), 0..8),
        modes in prop::collection::vec(modes(), 4),
        file in written_files(),
    ) {
        let git = FakeGit::with_commit();
        let mut world = World::with_tickets();
        world.profiles.push(built_in_profile("trail").unwrap());
        let gates = &mut world.policy.gates;
        for (mode, gate) in modes.into_iter().zip([
            &mut gates.loc,
            &mut gates.phase,
            &mut gates.context,
            &mut gates.decisions,
        ]) {
            *gate = mode;
        }
        let session = Session::with_git(&world, "s", &git);
        for step in &steps {
            make_move(&world, &git, &session, step);
        }
        let ctx = world.agent("s").with_git_and_session(&git, "s".to_owned());
        let explained = explain_change(&ctx, &words(file)).unwrap();
        let shown: Vec<&str> = explained.blocks.iter().map(|one| one.gate).collect();
        let asked = session.ask_to_write(file, "# Another text\n");
        prop_assert_eq!(shown, blocked(&asked), "{}", file);
    }

    #[test]
    fn the_open_gate_shown_is_the_one_the_next_edit_meets(
        steps in prop::collection::vec(moves(), 0..8),
        modes in prop::collection::vec(modes(), 5),
        is_strict in any::<bool>(),
    ) {
        let git = FakeGit::with_commit();
        let mut world = World::with_tickets();
        world.profiles.push(built_in_profile("trail").unwrap());
        let gates = &mut world.policy.gates;
        for (mode, gate) in modes.into_iter().zip([
            &mut gates.loc,
            &mut gates.phase,
            &mut gates.context,
            &mut gates.scope,
            &mut gates.claim,
        ]) {
            *gate = mode;
        }
        if is_strict {
            world.policy.governance = Governance::Strict;
        }
        let session = Session::with_git(&world, "s", &git);
        for step in &steps {
            make_move(&world, &git, &session, step);
        }
        let ctx = world.agent("s").with_git_and_session(&git, "s".to_owned());
        // Asked twice: to look changes nothing.
        let shown = where_am_i(&ctx).unwrap().gate.map(|gate| gate.r#type);
        let again = where_am_i(&ctx).unwrap().gate.map(|gate| gate.r#type);
        prop_assert_eq!(shown, again);
        let asked = session.before_write("src/a.rs", "fn a() {}\n");
        let met = asked.blocked.first().map(|fired| fired.gate);
        prop_assert_eq!(shown, met, "{:?}", asked.blocked);
    }
}
