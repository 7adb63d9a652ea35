//! The trail of a session: intent, tactics and actions, its file, its signals, and the intent gate.

use application::override_gate::{OverrideRequest, override_gate};
use application::sessions::archive_session::archive_session;
use application::sessions::check_drift::check_drift;
use application::sessions::compact_session::{CompactRequest, compact_session};
use application::sessions::declare_intent::{IntentRequest, PlaceOutcome, declare_intent};
use application::sessions::list_sessions::list_sessions;
use application::sessions::map_context::{MapRequest, map_context};
use application::sessions::prune_trail::prune_trail;
use application::sessions::scan_hierarchy::scan_hierarchy;
use application::sessions::self_rate::{RateRequest, self_rate};
use application::sessions::think_back::think_back;
use application::show_node::show_node;
use application::{Context, Failure, FailureKind};
use domain::host_event::Happening;
use domain::node::Progress;
use domain::policy::Governance;
use domain::profile::built_in_profile;
use domain::session::{SessionMode, SessionStatus};
use domain::trail::TrailLevel;

use crate::hooks::{Session, blocked, shell_call};
use crate::world::{World, assert_refused, words};

fn trail() -> World {
    World {
        profiles: vec![
            built_in_profile("story").unwrap(),
            built_in_profile("trail").unwrap(),
        ],
        ..World::new()
    }
}

fn declare(ctx: &Context<'_>, text: &str) -> Result<PlaceOutcome, Failure> {
    let request = IntentRequest {
        text: text.to_owned(),
        mode: SessionMode::default(),
    };
    declare_intent(ctx, &request)
}

fn map(
    ctx: &Context<'_>,
    level: TrailLevel,
    text: &str,
    status: Progress,
) -> Result<PlaceOutcome, Failure> {
    let request = MapRequest {
        level,
        text: text.to_owned(),
        status,
    };
    map_context(ctx, &request)
}

#[test]
fn a_project_without_the_profile_keeps_no_trail() {
    let world = World::new();
    assert_refused(
        declare(&world.agent("s"), "find it"),
        FailureKind::Refused,
        "keeps no trail",
    );
}

#[test]
fn a_tactic_needs_an_intent_and_an_action_needs_a_tactic() {
    let world = trail();
    let ctx = world.agent("s");
    assert_refused(
        map(&ctx, TrailLevel::Tactic, "bisect", Progress::Active),
        FailureKind::Refused,
        "no intent is declared",
    );
    declare(&ctx, "find the slow query").unwrap();
    assert_refused(
        map(&ctx, TrailLevel::Action, "git bisect", Progress::Active),
        FailureKind::Refused,
        "no tactic is active",
    );
    assert_refused(
        map(&ctx, TrailLevel::Trajectory, "another", Progress::Active),
        FailureKind::Refused,
        "declared, not mapped",
    );
    map(&ctx, TrailLevel::Tactic, "bisect", Progress::Active).unwrap();
    let place = map(&ctx, TrailLevel::Action, "git bisect", Progress::Active).unwrap();
    assert_eq!(place.content, "git bisect");
}

#[test]
fn empty_and_too_long_lines_are_refused() {
    let world = trail();
    let ctx = world.agent("s");
    assert_refused(declare(&ctx, "  "), FailureKind::Invalid, "empty");
    assert_refused(
        declare(&ctx, &"x".repeat(501)),
        FailureKind::Invalid,
        "501 characters",
    );
}

#[test]
fn declaring_the_same_intent_again_records_nothing() {
    let world = trail();
    let ctx = world.agent("s");
    let first = declare(&ctx, "find it").unwrap();
    let head = world.head();
    let second = declare(&ctx, "find it").unwrap();
    assert_eq!((second.stamp, world.head()), (first.stamp, head));
}

#[test]
fn another_intent_archives_the_session_before_it() {
    let world = trail();
    let ctx = world.agent("s");
    let first = declare(&ctx, "find it").unwrap();
    declare(&ctx, "fix it").unwrap();
    let sessions = list_sessions(&ctx).unwrap();
    let old = sessions
        .iter()
        .find(|session| session.stamp == first.stamp)
        .unwrap();
    assert_eq!(old.status, SessionStatus::Archived);
    assert_eq!(sessions.len(), 2);
}

#[test]
fn a_complete_action_moves_the_cursor_to_its_tactic() {
    let world = trail();
    let ctx = world.agent("s");
    declare(&ctx, "find it").unwrap();
    let tactic = map(&ctx, TrailLevel::Tactic, "bisect", Progress::Active).unwrap();
    map(&ctx, TrailLevel::Action, "run", Progress::Active).unwrap();
    let place = map(&ctx, TrailLevel::Action, "run", Progress::Complete).unwrap();
    assert_eq!(place.cursor, tactic.cursor);
}

#[test]
fn a_line_mapped_twice_is_one_node() {
    let world = trail();
    let ctx = world.agent("s");
    declare(&ctx, "find it").unwrap();
    for _ in 0..2 {
        map(&ctx, TrailLevel::Tactic, "bisect", Progress::Active).unwrap();
    }
    let scan = scan_hierarchy(&ctx).unwrap();
    assert_eq!(scan.hierarchy.preorder_nodes().len(), 2);
}

#[test]
fn the_session_file_shows_the_trail_and_its_log() {
    let world = trail();
    let ctx = world.agent("s");
    let place = declare(&ctx, "find the slow query").unwrap();
    map(&ctx, TrailLevel::Tactic, "bisect", Progress::Active).unwrap();
    let text = world.files.text(&place.session_file).unwrap();
    assert!(
        text.contains("find the slow query") && text.contains("bisect"),
        "{text}"
    );
}

#[test]
fn finished_branches_are_pruned_to_a_summary_and_the_current_one_stays() {
    let world = trail();
    let ctx = world.agent("s");
    declare(&ctx, "find it").unwrap();
    map(&ctx, TrailLevel::Tactic, "guess", Progress::Active).unwrap();
    map(&ctx, TrailLevel::Tactic, "guess", Progress::Complete).unwrap();
    map(&ctx, TrailLevel::Tactic, "bisect", Progress::Active).unwrap();
    let pruned = prune_trail(&ctx).unwrap();
    assert_eq!((pruned.branches, pruned.nodes), (1, 1));
    assert!(pruned.summaries[0].contains("guess"));
    let scan = scan_hierarchy(&ctx).unwrap();
    assert!(scan.tree.contains("bisect"), "{}", scan.tree);
    // A second time there is nothing to prune, and nothing is recorded.
    let head = world.head();
    prune_trail(&ctx).unwrap();
    assert_eq!(world.head(), head);
}

#[test]
fn compacting_keeps_the_report_for_the_next_session() {
    let world = trail();
    let ctx = world.agent("s");
    declare(&ctx, "find it").unwrap();
    let request = CompactRequest {
        report: Some("the index was missing".to_owned()),
        ..CompactRequest::default()
    };
    let outcome = compact_session(&ctx, &request).unwrap();
    assert_eq!(outcome.compaction_count, 1);
    let report = outcome.next_compaction_report;
    assert!(report.contains("the index was missing"), "{report}");
    let archive = world.files.text(&outcome.archive).unwrap();
    assert!(archive.contains("find it"), "{archive}");
}

#[test]
fn after_archiving_a_session_the_next_step_opens_another_on_its_trajectory() {
    let world = trail();
    let ctx = world.agent("s");
    let first = declare(&ctx, "find it").unwrap();
    archive_session(&ctx, None).unwrap();
    let place = map(&ctx, TrailLevel::Tactic, "bisect", Progress::Active).unwrap();
    assert_eq!(place.trajectory, first.trajectory);
    assert_ne!(place.stamp, first.stamp);
}

#[test]
fn ratings_are_averaged_and_bounded() {
    let world = trail();
    let ctx = world.agent("s");
    declare(&ctx, "find it").unwrap();
    let rate = |score| self_rate(&ctx, &RateRequest { score, note: None });
    rate(4).unwrap();
    let outcome = rate(8).unwrap();
    assert_eq!((outcome.ratings, outcome.average), (2, 6.0));
    assert_eq!(rate(11).unwrap_err().kind, FailureKind::Invalid);
}

#[test]
fn looking_back_shows_the_turning_points_of_this_session() {
    let world = trail();
    let ctx = world.agent("s");
    declare(&ctx, "find it").unwrap();
    map(&ctx, TrailLevel::Tactic, "bisect", Progress::Active).unwrap();
    let back = think_back(&ctx).unwrap();
    assert!(back.log.iter().any(|line| line.contains("bisect")));
    assert!(back.tree.contains("find it"));
}

#[test]
fn failed_calls_in_a_row_are_signalled_once() {
    let world = trail();
    declare(&world.agent("s"), "find it").unwrap();
    let session = Session::new(&world, "s");
    let fail = || {
        session.handle(Happening::ToolFinished {
            call: shell_call("ls missing"),
            failed: true,
        })
    };
    let told: Vec<bool> = (0..4).map(|_| fail().reply.context.is_some()).collect();
    assert_eq!(told, [false, false, true, false]);
    let drift = check_drift(&world.agent("s")).unwrap();
    assert_eq!(drift.consecutive_failures, 4);
}

#[test]
fn permissive_governance_counts_signals_and_tells_none() {
    let mut world = trail();
    world.policy.governance = Governance::Permissive;
    declare(&world.agent("s"), "find it").unwrap();
    let session = Session::new(&world, "s");
    for _ in 0..4 {
        let told = session.handle(Happening::ToolFinished {
            call: shell_call("ls missing"),
            failed: true,
        });
        assert_eq!(told.reply.context, None);
    }
    assert!(!check_drift(&world.agent("s")).unwrap().signals.is_empty());
}

#[test]
fn strict_governance_blocks_writes_until_an_intent_is_declared() {
    let mut world = trail();
    world.policy.governance = Governance::Strict;
    let session = Session::new(&world, "s");
    let write = || session.before_write("src/a.rs", "fn a() {}\n");
    assert_eq!(blocked(&write()), ["intent"]);
    // Reading commands and our own folder are free.
    let look = session.handle(Happening::ToolAboutToRun(shell_call("ls src")));
    assert_eq!(blocked(&look), Vec::<&str>::new());
    let guide = session.before_write(".throughline/phases/TDD.md", "guide\n");
    assert_eq!(blocked(&guide), Vec::<&str>::new());
    declare(&world.agent("s"), "find it").unwrap();
    assert_eq!(blocked(&write()), Vec::<&str>::new());
}

#[test]
fn assisted_governance_does_not_block_without_an_intent() {
    let world = trail();
    let asked = Session::new(&world, "s").before_write("src/a.rs", "fn a() {}\n");
    assert_eq!(blocked(&asked), Vec::<&str>::new());
}

#[test]
fn the_file_of_another_session_is_not_overwritten_unread() {
    let world = trail();
    let place = declare(&world.agent("one"), "find it").unwrap();
    let two = Session::new(&world, "two");
    let write = || two.before_write(&format!("/project/{}", place.session_file), "mine\n");
    assert_eq!(blocked(&write()), ["read-before-write"]);
    two.read(&format!("/project/{}", place.session_file));
    assert_eq!(blocked(&write()), Vec::<&str>::new());
}

fn let_pass(world: &World, gate: &str, subject: &str) {
    let request = OverrideRequest {
        gate: gate.to_owned(),
        node: vec![subject.to_owned()],
        reason: "checked by hand".to_owned(),
    };
    override_gate(&world.ctx(), &request).unwrap();
}

#[test]
fn a_person_overrides_the_intent_gate_for_a_file_once() {
    let mut world = trail();
    world.policy.governance = Governance::Strict;
    let session = Session::new(&world, "s");
    let write = |file: &str| session.before_write(file, "fn a() {}\n");
    let_pass(&world, "intent", "src/a.rs");
    assert_eq!(blocked(&write("src/b.rs")), ["intent"]);
    assert_eq!(blocked(&write("src/a.rs")), Vec::<&str>::new());
    assert_eq!(blocked(&write("src/a.rs")), ["intent"], "once");
    let_pass(&world, "intent", "command");
    let run = || session.handle(Happening::ToolAboutToRun(shell_call("make")));
    assert_eq!(blocked(&run()), Vec::<&str>::new());
    assert_eq!(blocked(&run()), ["intent"], "once");
}

#[test]
fn a_person_overrides_reading_a_session_file_once() {
    let world = trail();
    let place = declare(&world.agent("one"), "find it").unwrap();
    let two = Session::new(&world, "two");
    let write = || two.before_write(&format!("/project/{}", place.session_file), "mine\n");
    assert_eq!(blocked(&write()), ["read-before-write"]);
    let_pass(&world, "read-before-write", &place.trajectory);
    assert_eq!(blocked(&write()), Vec::<&str>::new());
    assert_eq!(blocked(&write()), ["read-before-write"], "once");
}

#[test]
fn a_tactic_that_is_left_is_closed_and_opens_again_when_it_is_set_again() {
    let world = trail();
    let ctx = world.agent("s");
    declare(&ctx, "find it").unwrap();
    map(&ctx, TrailLevel::Tactic, "bisect", Progress::Active).unwrap();
    map(&ctx, TrailLevel::Action, "first half", Progress::Active).unwrap();
    map(&ctx, TrailLevel::Action, "second half", Progress::Active).unwrap();
    map(&ctx, TrailLevel::Tactic, "read the log", Progress::Active).unwrap();
    let states = |world: &World| -> Vec<(String, Progress)> {
        let nodes = world.store.begin_read().unwrap().all_nodes().unwrap();
        let trail = nodes.into_iter().filter(|node| node.profile == "trail");
        trail
            .map(|node| (node.description.title.unwrap_or_default(), node.progress))
            .collect()
    };
    let state_of = |text: &str| {
        let found = states(&world).into_iter().find(|(title, _)| title == text);
        found.map(|(_, progress)| progress)
    };
    assert_eq!(state_of("first half"), Some(Progress::Complete));
    assert_eq!(state_of("second half"), Some(Progress::Complete));
    assert_eq!(state_of("bisect"), Some(Progress::Complete));
    assert_eq!(state_of("read the log"), Some(Progress::Active));
    map(&ctx, TrailLevel::Tactic, "bisect", Progress::Active).unwrap();
    assert_eq!(state_of("bisect"), Some(Progress::Active));
}

#[test]
fn the_stamp_of_a_pruned_node_is_not_given_again() {
    let world = trail();
    let ctx = world.agent("s");
    declare(&ctx, "find it").unwrap();
    map(&ctx, TrailLevel::Tactic, "bisect", Progress::Active).unwrap();
    map(&ctx, TrailLevel::Action, "one", Progress::Active).unwrap();
    let first = map(&ctx, TrailLevel::Action, "one", Progress::Active).unwrap();
    map(&ctx, TrailLevel::Action, "one", Progress::Complete).unwrap();
    prune_trail(&ctx).unwrap();
    let second = map(&ctx, TrailLevel::Action, "two", Progress::Active).unwrap();
    assert_ne!(first.cursor, second.cursor);
}

#[test]
fn the_report_of_an_agent_is_in_the_briefings_that_follow() {
    let world = trail();
    let ctx = world.agent("s");
    declare(&ctx, "find it").unwrap();
    let request = CompactRequest {
        report: Some("the index was missing\nlook at the cache next".to_owned()),
        keep_open: true,
        ..CompactRequest::default()
    };
    let outcome = compact_session(&ctx, &request).unwrap();
    assert!(!outcome.archive.contains("archive"), "the session goes on");
    let brief =
        |name: &str| application::brief::compose_briefing(&world.agent(name), None).unwrap();
    assert!(
        brief("s").contains("│ look at the cache next"),
        "{}",
        brief("s")
    );
    // Also for the session that goes on with the work, after this one has ended.
    compact_session(&ctx, &CompactRequest::default()).unwrap();
    assert!(
        brief("t").contains("│ look at the cache next"),
        "{}",
        brief("t")
    );
}

#[test]
fn in_a_project_with_tickets_the_ticket_is_the_intent() {
    let world = World {
        profiles: vec![
            built_in_profile("tickets").unwrap(),
            built_in_profile("trail").unwrap(),
        ],
        policy: domain::policy::Policy {
            governance: Governance::Strict,
            ..domain::policy::Policy::default()
        },
        ..World::with_tickets()
    };
    let session = Session::new(&world, "s");
    assert_eq!(
        blocked(&session.before_write("src/a.rs", "x\n")),
        ["intent"]
    );
    let enter = application::move_focus::FocusMove::Enter {
        node: vec!["017a".to_owned()],
        claim: false,
    };
    application::move_focus::move_focus(&world.agent("s"), &enter).unwrap();
    assert!(!blocked(&session.before_write("src/a.rs", "x\n")).contains(&"intent"));
    let told = session
        .write("src/a.rs", "x\n")
        .reply
        .context
        .unwrap_or_default();
    assert!(!told.contains("no intent is declared"), "{told}");
}

#[test]
fn at_a_ticket_the_trail_begins_without_an_intent() {
    let profiles = ["tickets", "trail"].map(|name| built_in_profile(name).unwrap());
    let world = World {
        profiles: profiles.to_vec(),
        ..World::with_tickets()
    };
    let refused = map(
        &world.agent("s"),
        TrailLevel::Tactic,
        "Read the gate",
        Progress::Active,
    );
    assert!(
        refused
            .unwrap_err()
            .message
            .contains("no intent is declared")
    );
    let enter = application::move_focus::FocusMove::Enter {
        node: vec!["017a".to_owned()],
        claim: false,
    };
    application::move_focus::move_focus(&world.agent("s"), &enter).unwrap();
    let place = map(
        &world.agent("s"),
        TrailLevel::Tactic,
        "Read the gate",
        Progress::Active,
    );
    let tree = place.unwrap().tree;
    let title = show_node(&world.ctx(), &words("017a"))
        .unwrap()
        .title
        .unwrap();
    assert!(
        tree.contains(&title) && tree.contains("Read the gate"),
        "{tree}"
    );
}

#[test]
fn signals_about_calls_come_without_a_trail_too() {
    let world = World::with_tickets();
    let session = Session::new(&world, "s");
    let fail = |command: &str| {
        let outcome = session.handle(Happening::ToolFinished {
            call: shell_call(command),
            failed: true,
        });
        outcome.reply.context.unwrap_or_default()
    };
    let told: Vec<String> = (0..6).map(|_| fail("cargo test")).collect();
    assert!(
        told[2].contains("3 tool calls in a row failed. Next: step back"),
        "{told:?}"
    );
    assert!(
        told.iter()
            .any(|text| text.contains("`cargo test` failed 5 times in a row")),
        "{told:?}"
    );
    assert!(told.iter().all(|text| !text.contains("trail")), "{told:?}");
}

/// A session at a ticket with two scenarios, of which the first is current.
fn at_ticket_with_scenarios() -> World {
    let profiles = ["tickets", "trail"].map(|name| built_in_profile(name).unwrap());
    let world = World {
        profiles: profiles.to_vec(),
        ..World::with_tickets()
    };
    world.files.edit(
        "tickets/017a-loc/test-definitions.md",
        "Scenario: Lines are counted\n  Given a file\n\nScenario: Lines are limited\n  Given a limit\n",
    );
    enter(&world, "s", "017a");
    world
}

fn enter(world: &World, session: &str, node: &str) {
    let enter = application::move_focus::FocusMove::Enter {
        node: vec![node.to_owned()],
        claim: false,
    };
    application::move_focus::move_focus(&world.agent(session), &enter).unwrap();
}

#[test]
fn at_a_ticket_the_trail_is_the_ticket_with_its_scenarios() {
    let world = at_ticket_with_scenarios();
    let scan = scan_hierarchy(&world.agent("s")).unwrap();
    assert_eq!(
        scan.tree,
        "● 017/017a — Lines (active)\n\
         ├── ○ 017/017a/lines-are-counted — Lines are counted (pending)  ◀ you are here\n\
         └── ○ 017/017a/lines-are-limited — Lines are limited (pending)"
    );
    let root = scan.hierarchy.root.unwrap();
    assert_eq!(root.level, TrailLevel::Trajectory);
    assert_eq!(root.children[0].level, TrailLevel::Action);
    assert!(scan.own && scan.session.is_none());
    let back = think_back(&world.agent("s")).unwrap();
    assert_eq!(
        back.next_action.as_deref(),
        Some("go on with “Lines are counted” (scenario)")
    );
}

#[test]
fn a_trail_begun_at_a_ticket_keeps_its_scenarios_as_actions() {
    let world = at_ticket_with_scenarios();
    let ctx = world.agent("s");
    map(&ctx, TrailLevel::Tactic, "Read the gate", Progress::Active).unwrap();
    let at_tactic = scan_hierarchy(&ctx).unwrap();
    let lines: Vec<&str> = at_tactic.tree.lines().collect();
    assert!(lines[0].contains("Lines (active)"), "{lines:?}");
    assert!(lines[1].contains("Read the gate (active)  ◀ you are here"));
    assert!(lines[2].contains("Lines are counted (pending)"));
    map(
        &ctx,
        TrailLevel::Tactic,
        "Read the gate",
        Progress::Complete,
    )
    .unwrap();
    let at_root = scan_hierarchy(&ctx).unwrap();
    assert_eq!(
        at_root.hierarchy.cursor.as_deref(),
        Some("017/017a/lines-are-counted"),
        "{}",
        at_root.tree
    );
    let next = think_back(&ctx).unwrap().next_action;
    assert_eq!(
        next.as_deref(),
        Some("go on with “Lines are counted” (scenario)")
    );
}

#[test]
fn children_of_a_ticket_are_its_tactics() {
    let world = at_ticket_with_scenarios();
    enter(&world, "t", "017");
    let scan = scan_hierarchy(&world.agent("t")).unwrap();
    let root = scan.hierarchy.root.unwrap();
    assert_eq!(
        (root.content.as_str(), root.level),
        ("Quality", TrailLevel::Trajectory)
    );
    assert_eq!(root.children[0].level, TrailLevel::Tactic);
    assert_eq!(root.children[0].id, "017/017a");
}

#[test]
fn at_a_ticket_the_trail_of_other_work_is_not_shown() {
    let world = at_ticket_with_scenarios();
    declare(&world.agent("other"), "Build the auth system").unwrap();
    let scan = scan_hierarchy(&world.agent("s")).unwrap();
    assert!(!scan.tree.contains("auth"), "{}", scan.tree);
    let own = scan_hierarchy(&world.agent("other")).unwrap();
    assert!(own.tree.contains("Build the auth system") && !own.tree.contains("Lines"));
}
