//! Prompts, starts and compactions: what a person typed is done, and what the agent has to know is told once.

use application::comment::add_comment;
use domain::host_event::{Happening, Host, StartSource};
use domain::node::Status;
use domain::policy::{ApprovalPolicy, GateMode};

use crate::hooks::{Session, blocked};
use crate::world::{ACT, CHAPTER, SCENE, World, words};

#[test]
fn an_approval_typed_by_a_person_counts_where_only_people_approve() {
    let mut world = World::new();
    world.policy.approval = ApprovalPolicy::Human;
    world.files.edit(ACT, "# act-1\n");
    let session = Session::new(&world, "s");
    let asked = session.prompt("/approve-plan act 1").reply.block.unwrap();
    assert!(asked.contains("# act-1"), "{asked}");
    assert_eq!(world.status("act-1"), Status::Draft);
    let told = session.prompt(typed_line(&asked));
    assert_eq!(world.status("act-1"), Status::Approved);
    assert!(told.reply.context.unwrap().contains("`act-1` is approved"));
}

/// The command that approves what the question shows.
fn typed_line(question: &str) -> &str {
    let start = question.find("type: ").expect(question) + "type: ".len();
    question[start..].lines().next().unwrap()
}

#[test]
fn a_typed_approval_of_another_text_than_the_shown_one_asks_again() {
    let mut world = World::new();
    world.policy.approval = ApprovalPolicy::Human;
    world.files.edit(ACT, "# act-1\n");
    let session = Session::new(&world, "s");
    let asked = session.prompt("/approve-plan act 1").reply.block.unwrap();
    world.files.edit(ACT, "# act-1\n\nNOBODY SURVIVES\n");
    let again = session.prompt(typed_line(&asked)).reply.block.unwrap();
    assert!(
        again.contains("changed since") && again.contains("NOBODY SURVIVES"),
        "{again}"
    );
    assert_eq!(world.status("act-1"), Status::Draft);
}

#[test]
fn a_typed_approval_shows_everything_since_the_approved_text() {
    let mut world = World::with_story();
    world.policy.approval = ApprovalPolicy::Human;
    let session = Session::new(&world, "s");
    let first = "# act-1\n\nNOBODY SURVIVES\n";
    world.files.edit(ACT, first);
    assert_eq!(world.status("act-1"), Status::Draft);
    world
        .files
        .edit(ACT, &format!("{first}The gate is shut.\n"));
    let asked = session.prompt("/approve-plan act 1").reply.block.unwrap();
    for shown in ["NOBODY SURVIVES", "The gate is shut."] {
        assert!(asked.contains(shown), "{shown}: {asked}");
    }
    // The code of one plan, or of another session's question, opens no other.
    let question =
        application::approval_question::build_question(&world.agent("t"), &words("act-1"));
    let code = question.unwrap().unwrap().question_code();
    let again = session.prompt(&format!("/approve-plan act 1 {code}"));
    assert!(again.reply.block.is_some(), "{again:?}");
    assert_eq!(world.status("act-1"), Status::Draft);
    session.prompt(typed_line(&asked));
    assert_eq!(world.status("act-1"), Status::Approved);
}

#[test]
fn a_plan_too_long_for_the_message_cannot_be_approved_by_a_typed_command() {
    let mut world = World::new();
    world.policy.approval = ApprovalPolicy::Human;
    let text: String = (0..3_000).map(|line| format!("line {line}\n")).collect();
    world.files.edit(ACT, &text);
    let session = Session::new(&world, "s");
    let asked = session.prompt("/approve-plan act 1").reply.block.unwrap();
    assert!(
        asked.contains("not shown here") && !asked.contains("type: "),
        "{asked}"
    );
    let question = application::approval_question::build_question(&world.ctx(), &words("act-1"));
    let code = question.unwrap().unwrap().question_code();
    session.prompt(&format!("/approve-plan act 1 {code}"));
    assert_eq!(world.status("act-1"), Status::Draft);
}

#[test]
fn a_person_can_send_a_plan_back_by_the_typed_command() {
    let mut world = World::new();
    world.policy.approval = ApprovalPolicy::Human;
    world.files.edit(ACT, "# act-1\n");
    let session = Session::new(&world, "s");
    let told = session.prompt("/approve-plan act 1 changes: the storm comes too early");
    let told = told.reply.context.unwrap();
    assert!(told.contains("the storm comes too early"), "{told}");
    let view = application::show_node::show_node(&world.ctx(), &words("act-1")).unwrap();
    assert_eq!(
        view.changes_requested.unwrap().text,
        "the storm comes too early"
    );
}

#[test]
fn a_typed_rejection_reaches_the_agent_in_the_persons_words() {
    let mut world = World::with_story();
    world.policy.approval = ApprovalPolicy::Human;
    let session = Session::new(&world, "s");
    let told = session.prompt("/approve-plan act 1 reject: the storm is another book");
    let told = told.reply.context.unwrap();
    assert!(told.contains("\"the storm is another book\""), "{told}");
    assert!(told.contains("2 plans below it"), "{told}");
    assert_eq!(world.status("act-1"), Status::Invalid);
}

#[test]
fn a_typed_question_names_what_a_rejection_makes_stale_and_shows_what_nobody_sees() {
    let mut world = World::new();
    world.files.edit(ACT, "# act-1\n");
    world.approve("act-1").unwrap();
    world.policy.approval = ApprovalPolicy::Human;
    world
        .files
        .edit(CHAPTER, "# chapter-01 \u{202e}eht\u{202c}\n");
    world.files.edit(SCENE, "# scene-0101\n");
    let session = Session::new(&world, "s");
    let asked = session
        .prompt("/approve-plan chapter-01")
        .reply
        .block
        .unwrap();
    assert!(asked.contains("<U+202E>eht<U+202C>"), "{asked}");
    let below = "1 plan below becomes stale: `act-1/chapter-01/scene-0101`";
    assert!(asked.contains(below), "{asked}");
}

#[test]
fn an_approval_in_the_prompt_of_a_subagent_is_ignored() {
    let world = World::new();
    world.files.edit(ACT, "# act-1\n");
    let mut session = Session::new(&world, "s");
    session.agent = Some("writer".to_owned());
    session.prompt("/approve-plan act 1");
    assert_eq!(world.status("act-1"), Status::Draft);
}

#[test]
fn a_command_quoted_in_a_sentence_approves_nothing() {
    let world = World::new();
    world.files.edit(ACT, "# act-1\n");
    Session::new(&world, "s").prompt("then type /approve-plan act-1");
    assert_eq!(world.status("act-1"), Status::Draft);
}

#[test]
fn a_refused_approval_blocks_the_prompt_with_the_reason() {
    let world = World::new();
    world.files.edit(ACT, "# act-1\n");
    world.files.edit(CHAPTER, "# chapter-01\n");
    let told = Session::new(&world, "s").prompt("/approve-plan chapter-01");
    assert!(
        told.reply
            .block
            .unwrap()
            .contains("parent `act-1` is `draft`")
    );
}

#[test]
fn planning_below_a_draft_is_blocked_and_below_an_approved_parent_gives_the_prompt() {
    let world = World::new();
    world.files.edit(ACT, "# act-1\n");
    let session = Session::new(&world, "s");
    assert_eq!(blocked(&session.prompt("/plan-chapter 1")), ["hierarchy"]);
    world.approve("act-1").unwrap();
    let told = session.prompt("/plan-chapter 1");
    assert_eq!(blocked(&told), Vec::<&str>::new());
    assert!(told.reply.context.unwrap().contains(CHAPTER));
}

#[test]
fn a_planning_prompt_passes_where_the_hierarchy_gate_only_warns() {
    let mut world = World::new();
    world.policy.gates.hierarchy = GateMode::Warn;
    world.files.edit(ACT, "# act-1\n");
    let told = Session::new(&world, "s").prompt("/plan-chapter 1");
    assert_eq!(told.reply.block, None);
    assert!(told.reply.context.unwrap().contains("`act-1`"));
}

#[test]
fn a_prompt_about_something_else_gets_no_answer() {
    let world = World::with_story();
    let told = Session::new(&world, "s").prompt("write the next scene");
    assert!(told.reply.is_empty_reply(), "{:?}", told.reply);
}

#[test]
fn a_plan_edited_between_two_prompts_is_recorded_with_the_next_one() {
    let world = World::with_story();
    world.files.edit(ACT, "# act-1, another way\n");
    Session::new(&world, "s").prompt("go on");
    let state = world.store.begin_read().unwrap();
    let nodes = state.nodes_by_alias("chapter-01").unwrap();
    assert_eq!(nodes[0].status(), Status::RequiresRevalidation);
}

#[test]
fn a_session_starts_with_the_briefing_and_is_not_told_it_again() {
    let world = World::with_story();
    world.files.edit(ACT, "# act-1, another way\n");
    let session = Session::new(&world, "s");
    let briefing = session.start().reply.context.unwrap();
    assert!(briefing.contains("act-1"), "{briefing}");
    assert_eq!(session.prompt("go on").reply.context, None);
}

#[test]
fn after_a_compaction_the_parents_plan_is_given_again() {
    let world = World::with_story();
    let session = Session::new(&world, "s");
    session.start();
    session.read(SCENE);
    let write = || session.before_write(SCENE, "# scene-0101, rewritten\n");
    assert!(write().reply.context.is_some());
    session.handle(Happening::SessionStarted {
        source: StartSource::Compact,
    });
    assert!(write().reply.context.is_some(), "the text is gone");
}

#[test]
fn after_clear_a_session_has_read_nothing() {
    let world = World::with_story();
    let session = Session::new(&world, "s");
    session.read(SCENE);
    session.handle(Happening::SessionStarted {
        source: StartSource::Clear,
    });
    let asked = session.before_write(SCENE, "# scene-0101, rewritten\n");
    assert_eq!(blocked(&asked), ["read-before-write"]);
}

#[test]
fn an_ended_session_is_forgotten() {
    let world = World::with_story();
    let session = Session::new(&world, "s");
    session.read(SCENE);
    session.handle(Happening::SessionEnded);
    let asked = session.before_write(SCENE, "# scene-0101, rewritten\n");
    assert_eq!(blocked(&asked), ["read-before-write"]);
}

#[test]
fn a_host_without_a_start_after_compaction_gets_the_briefing_with_the_next_prompt() {
    let world = World::with_story();
    let mut session = Session::new(&world, "s");
    session.host = Host::Copilot;
    session.start();
    session.handle(Happening::Compacted);
    let told = session.prompt("go on").reply.context;
    assert!(told.unwrap().contains("Throughline"));
}

#[test]
fn a_host_that_takes_no_context_with_a_prompt_gets_it_with_the_next_tool() {
    let world = World::with_story();
    let mut session = Session::new(&world, "s");
    session.host = Host::Cursor;
    session.start();
    session.handle(Happening::Compacted);
    world.files.edit(ACT, "# act-1, another way\n");
    assert_eq!(session.prompt("go on").reply.context, None);
    let told = session.ran("ls").reply.context.unwrap();
    assert!(
        told.contains("Throughline briefing") && told.contains("changed: act-1"),
        "{told}"
    );
    assert_eq!(session.ran("ls").reply.context, None);
}

#[test]
fn an_open_comment_of_a_person_is_part_of_the_briefing() {
    let world = World::with_story();
    add_comment(&world.ctx(), &words("scene-0101"), "too long").unwrap();
    let briefing = Session::new(&world, "s").start().reply.context.unwrap();
    assert!(briefing.contains("too long"), "{briefing}");
}

/// A world with the tickets 001 “The threshold gate” and 002 “Loose end”.
fn world_with_two_tickets() -> World {
    let world = World::with_tickets_of(World::new());
    for (id, title) in [("001", "The threshold gate"), ("002", "Loose end")] {
        world.files.edit(
            &format!("tickets/{id}-x/ticket.md"),
            &format!("---\nid: '{id}'\n---\n# {title}\n"),
        );
    }
    world
}

#[test]
fn a_prompt_that_names_tickets_is_answered_with_them_and_never_with_a_new_one() {
    let world = world_with_two_tickets();
    let first = "001 “The threshold gate”, and this session is not there. Next, if it is meant: tl focus enter 001";
    let second = "002 “Loose end”, and";
    let both = "001 “The threshold gate” and 002 “Loose end”, and this session is not at one of them. \
                Next, the one to begin with: tl focus enter 001 or tl focus enter 002";
    for (number, (prompt, expected)) in [
        ("fix 001 please", first),
        ("start on #001", first),
        ("start on #1", first),
        ("arbeite an 001", first),
        ("travaillons sur 001", first),
        ("sigamos con 001", first),
        ("weiter mit The threshold gate", first),
        ("work on ticket 2", second),
        ("возьмись за тикет 2", second),
        ("go on with 001 and 002", both),
        ("fix the threshold gate, then the loose end", both),
    ]
    .into_iter()
    .enumerate()
    {
        let session = Session::new(&world, &format!("s{number}"));
        let told = session.prompt(prompt).reply.context.unwrap_or_default();
        assert!(
            told.contains(&format!("the prompt names {expected}")),
            "{prompt}: {told}"
        );
        assert!(!told.contains("no ticket covers"), "{prompt}: {told}");
    }
}

#[test]
fn an_id_without_a_ticket_is_reported_and_not_made_a_new_ticket() {
    let world = world_with_two_tickets();
    for (number, prompt) in [
        "let's work on 099",
        "please implement ticket 99 today",
        "/ticket 9",
    ]
    .into_iter()
    .enumerate()
    {
        let session = Session::new(&world, &format!("s{number}"));
        let told = session.prompt(prompt).reply.context.unwrap_or_default();
        assert!(
            told.contains("and there is no such ticket. The open ones: tl ticket list"),
            "{prompt}: {told}"
        );
        assert!(!told.contains("no ticket covers"), "{prompt}: {told}");
    }
    // A number that is none of a ticket, and a node of another kind, say nothing.
    for prompt in [
        "raise the limit to 400 lines",
        "Support utf8 in names of files",
    ] {
        let session = Session::new(&world, prompt);
        let told = session.prompt(prompt).reply.context.unwrap_or_default();
        assert!(
            told.contains("no ticket covers this prompt"),
            "{prompt}: {told}"
        );
    }
}
