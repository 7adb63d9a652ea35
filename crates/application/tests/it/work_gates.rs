//! Gates for the work on tickets, through the events of a host and a repository.

use application::claim_node::claim_node;
use application::handle_host_event::EventOutcome;
use application::list_tickets::{TicketFilter, list_tickets};
use application::move_focus::{FocusMove, move_focus};
use application::next_work::list_next_work;
use application::override_gate::{OverrideRequest, override_gate};
use application::project_status::{load_brief_status, load_project_status};
use application::show_node::show_node;
use application::show_tree::show_tree;
use application::tickets::{list_scenarios, set_phase, set_work_level};
use application::where_am_i::where_am_i;
use domain::host_event::{Happening, Host, Reply, StartSource};
use domain::node::Progress;
use domain::policy::GateMode;
use domain::ports::HeadMoveKind;
use domain::work::work_level::WorkLevel;
use testkit::FakeGit;

use crate::hooks::{Session, blocked, shell_call, warned};
use crate::world::{World, words};

/// Enters a ticket as the session `s`, which thereby gets its context.
fn enter(world: &World, git: &FakeGit, node: &str) {
    let ctx = world.agent("s").with_git_and_session(git, "s".to_owned());
    let request = FocusMove::Enter {
        node: words(node),
        claim: false,
    };
    move_focus(&ctx, &request).unwrap();
}

fn let_pass(world: &World, gate: &str) {
    let request = OverrideRequest {
        gate: gate.to_owned(),
        node: words("017a"),
        reason: "checked by hand".to_owned(),
    };
    override_gate(&world.ctx(), &request).unwrap();
}

fn edit(session: &Session<'_>) -> Vec<String> {
    let asked = session.before_write("src/a.rs", "fn a() {}\n");
    asked
        .blocked
        .iter()
        .map(|fired| fired.gate.to_owned())
        .collect()
}

const NONE: [&str; 0] = [];

#[test]
fn edits_are_blocked_above_the_line_limit_and_allowed_after_a_commit() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    let session = Session::with_git(&world, "s", &git);
    git.change_lines("src/a.rs", 400);
    assert_eq!(edit(&session), NONE);
    git.change_lines("src/a.rs", 401);
    session.ran("touch x");
    assert_eq!(edit(&session), ["loc"]);
    git.commit("feat: all of it");
    assert_eq!(edit(&session), NONE);
}

#[test]
fn plans_settings_of_hosts_and_generated_files_do_not_count() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    let session = Session::with_git(&world, "s", &git);
    for path in [
        "tickets/017-quality/ticket.md",
        "tickets/017-quality/notes.md",
        ".claude/settings.json",
        "Cargo.lock",
    ] {
        git.change_lines(path, 5_000);
    }
    assert_eq!(edit(&session), NONE);
    let loc = where_am_i(&world.agent("s").with_git_and_session(&git, "s".to_owned()));
    assert_eq!(loc.unwrap().loc_since_commit, Some(0));
}

#[test]
fn an_exempt_file_may_be_edited_above_the_limit() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    let session = Session::with_git(&world, "s", &git);
    git.change_lines("src/a.rs", 900);
    let asked = session.before_write("tickets/017-quality/notes.md", "notes\n");
    assert_eq!(blocked(&asked), NONE);
    assert_eq!(edit(&session), ["loc"]);
}

#[test]
fn lines_of_another_session_do_not_count_for_this_one() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    let one = Session::with_git(&world, "one", &git);
    let two = Session::with_git(&world, "two", &git);
    // The hook saw which session wrote the file.
    one.write("src/big.rs", "fn big() {}\n");
    git.change_lines("src/big.rs", 900);
    two.ran("touch x");
    assert_eq!(edit(&two), NONE);
    one.ran("touch x");
    assert_eq!(edit(&one), ["loc"]);
}

#[test]
fn during_a_merge_no_lines_are_counted() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    let session = Session::with_git(&world, "s", &git);
    git.change_lines("src/a.rs", 900);
    git.set_operation(Some("merge"));
    assert_eq!(edit(&session), NONE);
    git.set_operation(None);
    assert_eq!(edit(&session), ["loc"]);
}

#[test]
fn without_a_repository_the_line_gate_passes() {
    let world = World::with_tickets();
    assert_eq!(edit(&Session::new(&world, "s")), NONE);
}

#[test]
fn below_the_limit_lines_are_not_counted_again_before_every_edit() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    let session = Session::with_git(&world, "s", &git);
    git.change_lines("src/a.rs", 10);
    edit(&session);
    let counted = git.line_counts();
    for _ in 0..5 {
        edit(&session);
    }
    assert_eq!(git.line_counts(), counted);
}

#[test]
fn the_agent_is_warned_once_when_an_edit_crosses_the_limit() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    let session = Session::with_git(&world, "s", &git);
    assert_eq!(edit(&session), NONE);
    git.change_lines("src/a.rs", 450);
    let told = session.write("src/a.rs", "fn a() {}\n").reply.context;
    assert!(told.unwrap().contains("450 uncommitted changed lines"));
}

/// Enters a ticket at the terminal: no agent's session has read it.
fn enter_as_person(world: &World, node: &str) {
    let request = FocusMove::Enter {
        node: words(node),
        claim: false,
    };
    move_focus(&world.ctx(), &request).unwrap();
}

#[test]
fn lines_written_by_commands_alone_are_told_once_when_they_cross_the_limit() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    let session = Session::with_git(&world, "s", &git);
    let told = |outcome: EventOutcome| outcome.reply.context.unwrap_or_default();
    let is_told = |text: &str| text.contains("the limit is 400: commit before");
    git.change_lines("src/a.rs", 400);
    assert!(!is_told(&told(session.ran("python generate.py"))));
    git.change_lines("src/a.rs", 500);
    let text = told(session.ran("python generate.py"));
    assert!(text.contains("500 uncommitted changed lines"), "{text}");
    git.change_lines("src/a.rs", 600);
    assert!(!is_told(&told(session.ran("python generate.py"))));
    git.commit("feat: generated");
    git.change_lines("src/a.rs", 0);
    session.ran("git commit -m x");
    git.change_lines("src/a.rs", 500);
    assert!(is_told(&told(session.ran("python generate.py"))));
}

#[test]
fn in_a_large_repository_lines_of_commands_are_counted_at_the_next_prompt() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    git.grow_large();
    let session = Session::with_git(&world, "s", &git);
    let told = |outcome: EventOutcome| outcome.reply.context.unwrap_or_default();
    let is_told = |text: &str| text.contains("500 uncommitted changed lines");
    git.change_lines("src/a.rs", 500);
    let counts = git.line_counts();
    assert!(!is_told(&told(session.ran("python generate.py"))));
    assert_eq!(git.line_counts(), counts);
    assert!(is_told(&told(session.prompt("go on"))));
    assert!(!is_told(&told(session.prompt("go on, please"))));
}

#[test]
fn the_first_edit_at_a_ticket_passes_with_its_context_where_the_host_takes_it() {
    for host in Host::ALL {
        let (world, git) = (World::with_tickets(), FakeGit::with_commit());
        enter_as_person(&world, "017a");
        let mut session = Session::with_git(&world, "s", &git);
        session.host = host;
        let asked = session.before_write("src/a.rs", "fn a() {}\n");
        let given = match host.accepts_context_before_tools() {
            true => {
                assert_eq!((blocked(&asked), warned(&asked)), (vec![], vec!["context"]));
                asked.reply.context
            }
            false => {
                assert_eq!(blocked(&asked), ["context"], "{host:?}");
                asked.reply.block
            }
        };
        let given = given.unwrap();
        for part in ["# Lines", "is in the phase intake", "# Intake"] {
            assert!(given.contains(part), "{host:?}: no `{part}` in {given}");
        }
        let again = session.before_write("src/a.rs", "fn a() {}\n");
        assert_eq!(again.reply, Reply::default(), "{host:?}");
    }
}

#[test]
fn a_call_that_is_blocked_still_hands_the_context_over() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    enter_as_person(&world, "017a");
    git.change_lines("src/a.rs", 900);
    let session = Session::with_git(&world, "s", &git);
    let asked = session.before_write("src/a.rs", "fn a() {}\n");
    assert_eq!(blocked(&asked), ["loc"]);
    assert!(asked.reply.context.unwrap().contains("# Lines"));
    let again = session.before_write("src/a.rs", "fn a() {}\n");
    assert_eq!(again.reply.context, None);
}

/// Sets a key of the ticket `017a`, in its file.
fn with_phase(world: &World, phase: &str) -> String {
    let text = world.files.text(TICKET).unwrap();
    let line = text.lines().find(|line| line.starts_with("phase:"));
    text.replace(line.unwrap(), &format!("phase: {phase}"))
}

const TICKET: &str = "tickets/017a-loc/ticket.md";

#[test]
fn every_phase_gives_its_guide_when_it_begins_in_the_file() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    enter(&world, &git, "017a");
    let session = Session::with_git(&world, "s", &git);
    session.read(TICKET);
    let phases = [
        ("define-behavior", Some("# Define behavior")),
        // The same guide as before.
        ("scenario-gate", None),
        ("decomposition", Some("# Decomposition")),
        ("implement", Some("# Implement")),
        ("done", Some("# Done")),
    ];
    for (phase, guide) in phases {
        let told = session.write(TICKET, &with_phase(&world, phase));
        let told = told.reply.context.unwrap_or_default();
        assert!(told.contains(&format!("in the phase {phase}")), "{told}");
        match guide {
            Some(guide) => assert!(told.contains(guide), "{phase}: {told}"),
            None => assert!(
                told.ends_with("Its guide is SCENARIOS, which you have."),
                "{told}"
            ),
        }
        // Nothing to commit, and the guide is there: the next edit is free.
        assert_eq!(edit(&session), NONE, "{phase}");
    }
}

#[test]
fn a_phase_that_somebody_else_changed_is_told_at_the_next_prompt_once() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    enter(&world, &git, "017a");
    let session = Session::with_git(&world, "s", &git);
    session.prompt("go on");
    set_phase(&world.ctx(), &words("017a"), "decomposition", None).unwrap();
    let told = session.prompt("what now?").reply.context.unwrap();
    assert!(told.contains("# Decomposition"), "{told}");
    let again = session.prompt("and now?").reply.context;
    assert!(!again.unwrap_or_default().contains("decomposition"));
    // Back, before anything was done in it: nothing is waited for.
    git.change_lines("src/a.rs", 3);
    set_phase(&world.ctx(), &words("017a"), "intake", None).unwrap();
    assert_eq!(edit(&session), NONE);
}

#[test]
fn an_agent_that_sets_the_phase_reads_the_guide_in_the_answer() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    enter(&world, &git, "017a");
    let session = Session::with_git(&world, "s", &git);
    session.start();
    let ctx = world.agent("s").with_git_and_session(&git, "s".to_owned());
    let set = |phase: &str| set_phase(&ctx, &words("017a"), phase, None).unwrap().guide;
    assert!(
        set("define-behavior")
            .unwrap()
            .contains("# Define behavior")
    );
    let told = session.ran("tl ticket phase 017a define-behavior");
    assert_eq!(told.reply.context, None, "not a second time");
    assert!(set("scenario-gate").unwrap().ends_with("which you have."));
    assert_eq!(edit(&session), NONE);
    // The work of the phase before still has to be committed.
    git.change_lines("src/a.rs", 3);
    set("implement");
    let asked = session.before_write("src/a.rs", "fn a() {}\n");
    assert_eq!(blocked(&asked), ["phase"]);
    let reason = asked.reply.block.unwrap();
    assert!(
        reason.contains("Its guide is TDD, which you have."),
        "{reason}"
    );
    let by_person = set_phase(&world.ctx(), &words("017a"), "done", None).unwrap();
    assert_eq!(by_person.guide, None, "a person opens the file");
}

#[test]
fn writing_in_a_ticket_without_its_context_gives_it() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    enter_as_person(&world, "017a");
    let session = Session::with_git(&world, "s", &git);
    session.read(TICKET);
    let text = format!("{}\nMore.\n", world.files.text(TICKET).unwrap());
    let told = session.write(TICKET, &text).reply.context.unwrap();
    assert!(told.contains("# Intake"), "{told}");
    assert_eq!(edit(&session), NONE);
}

#[test]
fn an_agent_that_entered_the_ticket_itself_has_its_context() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    enter(&world, &git, "017a");
    assert_eq!(edit(&Session::with_git(&world, "s", &git)), NONE);
}

#[test]
fn a_new_phase_asks_for_a_commit_first_and_gives_its_guide() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    enter(&world, &git, "017a");
    let session = Session::with_git(&world, "s", &git);
    assert_eq!(edit(&session), NONE);
    git.change_lines("src/a.rs", 3);
    set_phase(&world.ctx(), &words("017a"), "implement", None).unwrap();
    let asked = session.before_write("src/a.rs", "fn a() {}\n");
    assert_eq!(blocked(&asked), ["phase"]);
    let reason = asked.reply.block.unwrap();
    assert!(reason.contains("git commit -m") && reason.contains("# Implement"));
    let asked = session.before_write("src/a.rs", "fn a() {}\n");
    assert_eq!(blocked(&asked), ["phase"], "until the commit");
    let reason = asked.reply.block.unwrap();
    assert!(
        reason.ends_with("Its guide is TDD, which you have.\n"),
        "{reason}"
    );
    git.commit("feat: intake is over");
    assert_eq!(edit(&session), NONE);
}

#[test]
fn a_new_phase_with_nothing_to_commit_only_gives_its_guide() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    enter(&world, &git, "017a");
    let session = Session::with_git(&world, "s", &git);
    assert_eq!(edit(&session), NONE);
    set_phase(&world.ctx(), &words("017a"), "implement", None).unwrap();
    let asked = session.before_write("src/a.rs", "fn a() {}\n");
    assert_eq!(blocked(&asked), NONE);
    assert!(asked.reply.context.unwrap().contains("# Implement"));
    let again = session.before_write("src/a.rs", "fn a() {}\n");
    assert_eq!(again.reply, Reply::default());
}

#[test]
fn a_checkout_does_not_count_as_the_commit_a_phase_waits_for() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    enter(&world, &git, "017a");
    let session = Session::with_git(&world, "s", &git);
    edit(&session);
    git.change_lines("src/a.rs", 3);
    set_phase(&world.ctx(), &words("017a"), "implement", None).unwrap();
    assert_eq!(edit(&session), ["phase"]);
    git.move_head(HeadMoveKind::Other, "checkout: moving from a to b");
    assert_eq!(edit(&session), ["phase"]);
}

#[test]
fn a_task_that_touches_a_sixth_file_is_blocked_until_it_is_a_feature() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    enter(&world, &git, "017a");
    let session = Session::with_git(&world, "s", &git);
    for name in ["a", "b", "c", "d", "e"] {
        git.change_lines(&format!("src/{name}.rs"), 2);
    }
    assert_eq!(edit(&session), NONE);
    git.change_lines("src/f.rs", 2);
    // After a command that may have changed anything the files are counted again.
    session.ran("make generated");
    assert_eq!(edit(&session), ["scope"]);
    set_work_level(&world.ctx(), &words("017a"), Some(WorkLevel::Feature), None).unwrap();
    assert_eq!(edit(&session), NONE);
}

#[test]
fn an_override_lets_one_edit_pass_a_work_gate() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    enter(&world, &git, "017a");
    let session = Session::with_git(&world, "s", &git);
    git.change_lines("src/a.rs", 900);
    assert_eq!(edit(&session), ["loc"]);
    let_pass(&world, "loc");
    assert_eq!(edit(&session), NONE);
    assert_eq!(edit(&session), ["loc"]);
}

#[test]
fn a_work_gate_that_warns_says_it_once() {
    let (mut world, git) = (World::with_tickets(), FakeGit::with_commit());
    world.policy.gates.loc = GateMode::Warn;
    let session = Session::with_git(&world, "s", &git);
    git.change_lines("src/a.rs", 900);
    let first = session.before_write("src/a.rs", "fn a() {}\n");
    assert_eq!(warned(&first), ["loc"]);
    assert!(first.reply.context.is_some());
    let second = session.before_write("src/a.rs", "fn a() {}\n");
    assert_eq!(blocked(&second), NONE);
    assert_eq!(second.reply.context, None);
}

#[test]
fn work_on_a_ticket_of_another_session_is_blocked() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    enter(&world, &git, "017a");
    claim_node(&world.agent("holder"), &words("017")).unwrap();
    assert_eq!(edit(&Session::with_git(&world, "s", &git)), ["claim"]);
}

#[test]
fn a_story_project_has_no_line_limit() {
    let (world, git) = (World::with_story(), FakeGit::with_commit());
    git.change_lines("src/a.rs", 9_000);
    assert_eq!(edit(&Session::with_git(&world, "s", &git)), NONE);
}

#[test]
fn a_host_that_cannot_block_an_edit_is_followed_up_once_at_its_stop() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    let mut session = Session::with_git(&world, "s", &git);
    session.host = Host::ALL
        .into_iter()
        .find(|host| host.needs_stop_follow_up())
        .expect("a host that needs it");
    git.change_lines("src/a.rs", 900);
    let stop = |again| session.handle(Happening::Stopping { again });
    assert_eq!(blocked(&stop(false)), ["loc"]);
    assert_eq!(blocked(&stop(false)), NONE, "once per turn");
    session.prompt("go on");
    assert_eq!(blocked(&stop(true)), NONE, "the second question of a stop");
    assert_eq!(blocked(&stop(false)), ["loc"]);
}

/// `017a` with two scenarios, entered by the session `s`.
fn with_scenarios() -> (World, FakeGit) {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    world.files.edit(
        "tickets/017a-loc/test-definitions.md",
        "Scenario: one\n\nScenario: two\n",
    );
    enter(&world, &git, "017a");
    // The first event notes where HEAD is.
    Session::with_git(&world, "s", &git).ran("touch x");
    (world, git)
}

fn commit(world: &World, git: &FakeGit, subject: &str) -> String {
    git.commit(subject);
    let told = Session::with_git(world, "s", git).ran("git commit -m x");
    told.reply.context.unwrap_or_default()
}

fn progress(world: &World, node: &str) -> Progress {
    show_node(&world.ctx(), &words(node)).unwrap().progress
}

#[test]
fn commits_lead_a_scenario_through_its_cycle_to_the_next_one() {
    let (world, git) = with_scenarios();
    let told = commit(&world, &git, "test: one");
    assert!(told.contains("one is red"), "{told}");
    assert!(commit(&world, &git, "feat: one").contains("one is green"));
    let told = commit(&world, &git, "refactor: one");
    assert!(told.contains("1/2 scenarios"), "{told}");
    assert_eq!(progress(&world, "017a/one"), Progress::Complete);
    let scenarios = list_scenarios(&world.ctx(), &words("017a")).unwrap();
    assert!(scenarios.scenarios[1].current);
}

#[test]
fn commits_outside_of_any_hook_are_shown_and_recorded_by_nobody() {
    let (world, git) = with_scenarios();
    for subject in ["test: one", "feat: one", "refactor: one", "test: two"] {
        git.commit(subject);
    }
    let operations = || {
        world
            .store
            .begin_read()
            .unwrap()
            .last_operation_id()
            .unwrap()
    };
    let before = operations();
    // A person looks, in another session than the one that works.
    let ctx = world.ctx().with_git_and_session(&git, "person".to_owned());
    for status in [
        load_project_status(&ctx).unwrap(),
        load_brief_status(&ctx).unwrap(),
    ] {
        let scenarios = status.levels.iter().find(|one| one.level == "scenario");
        assert_eq!(scenarios.map(|one| one.completed), Some(1));
    }
    let next = list_next_work(&ctx, 50).unwrap();
    let is_listed = |path: &str| next.ready.iter().any(|item| item.path == path);
    assert!(!is_listed("017/017a/one"), "{next:?}");
    let tree = show_tree(&ctx, &words("017a")).unwrap();
    let progress_of = |id: &str| {
        let scenarios = &tree[0].children;
        let found = scenarios.iter().find(|one| one.entity_id == id);
        found.map(|one| one.progress)
    };
    assert_eq!(progress_of("one"), Some(Progress::Complete));
    let tickets = list_tickets(&ctx, &TicketFilter::default()).unwrap();
    let ticket = tickets.iter().find(|one| one.id == "017a").unwrap();
    assert_eq!((ticket.completed_scenarios, ticket.cycle), (1, Some("red")));
    assert_eq!(operations(), before, "looking records nothing");
    // So the agent still hears it from its own hook.
    let told = Session::with_git(&world, "s", &git).ran("git commit -m x");
    let told = told.reply.context.unwrap_or_default();
    assert!(told.contains("1/2 scenarios"), "{told}");
    // Once it is recorded, nothing is derived.
    let reads = git.history_reads();
    load_project_status(&ctx).unwrap();
    assert_eq!(git.history_reads(), reads);
}

#[test]
fn a_failing_test_for_the_next_scenario_closes_a_green_one() {
    let (world, git) = with_scenarios();
    commit(&world, &git, "test: one");
    commit(&world, &git, "feat: one");
    commit(&world, &git, "test: two");
    assert_eq!(progress(&world, "017a/one"), Progress::Complete);
    let scenarios = list_scenarios(&world.ctx(), &words("017a")).unwrap();
    assert_eq!(scenarios.scenarios[1].cycle, Some("red"));
}

#[test]
fn a_commit_of_another_session_does_not_advance_this_ones_cycle() {
    let (world, git) = with_scenarios();
    let other = Session::with_git(&world, "other", &git);
    other.ran("touch x");
    git.commit("test: one");
    other.ran("git commit -m x");
    Session::with_git(&world, "s", &git).after(shell_call("ls"));
    let scenarios = list_scenarios(&world.ctx(), &words("017a")).unwrap();
    assert_eq!(scenarios.scenarios[0].cycle, None);
}

#[test]
fn a_commit_with_another_prefix_does_not_move_the_cycle() {
    let (world, git) = with_scenarios();
    assert_eq!(commit(&world, &git, "docs: one"), "");
    let scenarios = list_scenarios(&world.ctx(), &words("017a")).unwrap();
    assert_eq!(scenarios.scenarios[0].cycle, None);
}

#[test]
fn the_history_is_read_only_after_head_moved() {
    let (world, git) = with_scenarios();
    commit(&world, &git, "test: one");
    let before = git.history_reads();
    let session = Session::with_git(&world, "s", &git);
    for _ in 0..3 {
        session.ran("touch x");
        edit(&session);
        list_scenarios(
            &world.agent("s").with_git_and_session(&git, "s".to_owned()),
            &words("017a"),
        )
        .unwrap();
    }
    assert_eq!(git.history_reads(), before);
}

#[test]
fn an_amended_commit_counts_its_lines_once() {
    let (world, git) = with_scenarios();
    git.change_lines("src/a.rs", 300);
    let session = Session::with_git(&world, "s", &git);
    // Counts the lines before the commit.
    edit(&session);
    assert!(!commit(&world, &git, "test: one").contains("has taken"));
    git.change_lines("src/a.rs", 10);
    session.ran("touch x");
    edit(&session);
    git.move_head(HeadMoveKind::Amend, "test: one, better");
    let told = session
        .ran("git commit --amend")
        .reply
        .context
        .unwrap_or_default();
    assert!(
        told.contains("one is red") && !told.contains("has taken"),
        "{told}"
    );
    let state = world.store.begin_read().unwrap();
    let tdd = &state.records_by_prefix("tdd", "").unwrap()[0].1;
    assert_eq!(tdd["lines"], serde_json::json!(310));
}

const SCENARIOS: &str = "tickets/017a-loc/test-definitions.md";

/// Writes a text of scenarios as the session would: with the events before and after.
fn write_scenarios(session: &Session<'_>, count: usize) -> EventOutcome {
    let scenarios = (1..=count).map(|number| format!("Scenario: number {number}\n\n"));
    session.write(SCENARIOS, &scenarios.collect::<String>())
}

#[test]
fn written_scenarios_count_at_the_next_edit_and_are_the_sessions_own() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    enter(&world, &git, "017a");
    let session = Session::with_git(&world, "s", &git);
    session.start();
    assert_eq!(edit(&session), NONE);
    assert_eq!(write_scenarios(&session, 6).reply.context, None);
    assert_eq!(edit(&session), ["scope"]);
    let told = session.ran("touch x").reply.context.unwrap_or_default();
    assert!(!told.contains("changed by others"), "{told}");
    // Fewer of them: the removed ones are gone by its own hand.
    assert_eq!(write_scenarios(&session, 2).reply.context, None);
    assert_eq!(edit(&session), NONE);
    let told = session.prompt("go on").reply.context.unwrap_or_default();
    assert!(!told.contains("number"), "{told}");
}

#[test]
fn an_edit_meets_the_ticket_as_it_is_in_its_files() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    enter(&world, &git, "017a");
    let session = Session::with_git(&world, "s", &git);
    session.start();
    assert_eq!(edit(&session), NONE);
    // In an editor, between two calls of the agent.
    let scenarios = (1..=6).map(|number| format!("Scenario: number {number}\n\n"));
    world.files.edit(SCENARIOS, &scenarios.collect::<String>());
    assert_eq!(edit(&session), ["scope"]);
}

/// The briefing of a session that is resumed.
fn resume(world: &World, git: &FakeGit, name: &str) -> String {
    let session = Session::with_git(world, name, git);
    let resumed = session.handle(Happening::SessionStarted {
        source: StartSource::Resume,
    });
    resumed.reply.context.unwrap_or_default()
}

#[test]
fn a_briefing_names_every_gate_that_blocks_the_next_edit() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    enter(&world, &git, "017a");
    let session = Session::with_git(&world, "s", &git);
    edit(&session);
    let told = resume(&world, &git, "s");
    assert!(!told.contains("Blocked now"), "{told}");
    git.change_lines("src/a.rs", 401);
    let ctx = world.agent("s").with_git_and_session(&git, "s".to_owned());
    set_phase(&ctx, &words("017a"), "implement", None).unwrap();
    let told = resume(&world, &git, "s");
    for line in [
        "Blocked now: `017a` is entering the implement phase (it was in intake). Clears it: a commit",
        "Blocked now: 401 changed lines are not committed; the limit is 400. Clears it: a commit",
    ] {
        assert!(told.contains(line), "{told}");
    }
    git.commit("feat: all of it");
    let told = resume(&world, &git, "s");
    assert!(!told.contains("Blocked now"), "{told}");
}

#[test]
fn what_is_expected_next_fits_the_phase_and_the_size() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    enter(&world, &git, "017a");
    let told = resume(&world, &git, "s");
    assert!(
        told.contains("then tl ticket phase 017a implement"),
        "a task has no phases of features: {told}"
    );
    world.files.edit(SCENARIOS, "Scenario: one\n");
    let told = resume(&world, &git, "s");
    assert!(
        !told.contains("test: one"),
        "nothing is built in its intake: {told}"
    );
    let ctx = world.agent("s").with_git_and_session(&git, "s".to_owned());
    set_work_level(&ctx, &words("017a"), Some(WorkLevel::Feature), Some("new")).unwrap();
    let told = resume(&world, &git, "s");
    assert!(
        told.contains("then tl ticket phase 017a define-behavior"),
        "{told}"
    );
    set_phase(&world.ctx(), &words("017a"), "implement", Some("agreed")).unwrap();
    let told = resume(&world, &git, "s");
    assert!(
        told.contains("Expected next: a commit like `test: one (RED)`"),
        "{told}"
    );
}

#[test]
fn a_new_session_hears_where_the_last_one_left_its_ticket() {
    let (world, git) = with_scenarios();
    set_phase(&world.ctx(), &words("017a"), "implement", Some("agreed")).unwrap();
    commit(&world, &git, "test: one");
    let session = Session::with_git(&world, "s", &git);
    git.change_lines("src/a.rs", 12);
    session.handle(Happening::SessionEnded);
    world.clock.advance_seconds(24 * 60 * 60);
    let told = resume(&world, &git, "next day");
    let expected =
        "No ticket is in focus. In progress: 017 › 017a › one [green] 0/2 · 12/400 loc “Lines”";
    assert!(told.contains(expected), "{told}");
    assert!(told.contains("Next: tl focus enter 017/017a"), "{told}");
}
