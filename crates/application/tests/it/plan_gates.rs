//! Gates for changes of plans, through the events of a host: allowed, blocked, overridden, failed.

use application::FailureKind;
use application::claim_node::claim_node;
use application::explain::explain_status;
use application::next_work::list_next_work;
use application::override_gate::{OverrideRequest, override_gate};
use application::plan_documents::create::create_document;
use application::plan_node::{PlanRequest, plan_node};
use application::project_status::load_brief_status;
use application::revalidate::review_one;
use application::undo::{UndoTarget, undo_operations};
use domain::host_event::{FileEffect, Happening, ToolKind};
use domain::policy::{ApprovalPolicy, GateMode};

use crate::hooks::{Session, blocked, call_on, warned, write_call};
use crate::world::{ACT, CHAPTER, SCENE, World, assert_refused, words};

fn let_pass(world: &World, gate: &str, node: &str) {
    let request = OverrideRequest {
        gate: gate.to_owned(),
        node: words(node),
        reason: "checked by hand".to_owned(),
    };
    override_gate(&world.ctx(), &request).unwrap();
}

/// An act that is a draft, with a chapter below it.
fn draft_act() -> World {
    let world = World::new();
    world.files.edit(ACT, "# act-1\n");
    world.files.edit(CHAPTER, "# chapter-01\n");
    world.status("act-1");
    world
}

#[test]
fn a_plan_below_a_draft_is_blocked_until_the_parent_is_approved() {
    let world = draft_act();
    let session = Session::new(&world, "s");
    session.read(CHAPTER);
    let asked = session.before_write(CHAPTER, "# chapter-01, longer\n");
    assert_eq!(blocked(&asked), ["hierarchy"]);
    assert!(asked.reply.block.unwrap().contains("`act-1` is a draft"));
    world.approve("act-1").unwrap();
    let asked = session.before_write(CHAPTER, "# chapter-01, longer\n");
    assert_eq!(blocked(&asked), Vec::<&str>::new());
}

#[test]
fn a_plan_whose_parent_has_no_plan_is_blocked() {
    let world = World::new();
    let asked = Session::new(&world, "s").before_write(CHAPTER, "# chapter-01\n");
    assert_eq!(blocked(&asked), ["hierarchy"]);
    assert!(asked.reply.block.unwrap().contains("has no plan yet"));
}

#[test]
fn the_block_tells_an_agent_to_ask_where_only_people_approve() {
    let mut world = draft_act();
    world.policy.approval = ApprovalPolicy::Human;
    let session = Session::new(&world, "s");
    session.read(CHAPTER);
    let asked = session.before_write(CHAPTER, "# chapter-01, longer\n");
    let block = asked.reply.block.unwrap();
    assert!(
        block.contains("ask the person to approve `act-1`"),
        "{block}"
    );
}

#[test]
fn deleting_a_plan_below_a_draft_is_allowed() {
    let world = draft_act();
    let call = call_on(ToolKind::Delete, CHAPTER, FileEffect::Delete);
    let asked = Session::new(&world, "s").handle(Happening::ToolAboutToRun(call));
    assert_eq!(blocked(&asked), Vec::<&str>::new());
}

#[test]
fn a_gate_that_only_warns_lets_the_write_pass_with_a_message() {
    let mut world = draft_act();
    world.policy.gates.hierarchy = GateMode::Warn;
    let session = Session::new(&world, "s");
    session.read(CHAPTER);
    let asked = session.before_write(CHAPTER, "# chapter-01, longer\n");
    assert_eq!(
        (blocked(&asked), warned(&asked)),
        (Vec::new(), vec!["hierarchy"])
    );
    assert!(asked.reply.context.unwrap().contains("`act-1` is a draft"));
}

#[test]
fn a_gate_that_is_off_says_nothing() {
    let mut world = draft_act();
    world.policy.gates.hierarchy = GateMode::Off;
    let session = Session::new(&world, "s");
    session.read(CHAPTER);
    let asked = session.before_write(CHAPTER, "# chapter-01, longer\n");
    assert_eq!((blocked(&asked), warned(&asked)), (Vec::new(), Vec::new()));
}

#[test]
fn an_override_lets_one_write_pass_and_no_second_one() {
    let world = draft_act();
    let session = Session::new(&world, "s");
    session.read(CHAPTER);
    let_pass(&world, "hierarchy", "chapter-01");
    let write = || session.before_write(CHAPTER, "# chapter-01, longer\n");
    assert_eq!(blocked(&write()), Vec::<&str>::new());
    assert_eq!(blocked(&write()), ["hierarchy"]);
}

#[test]
fn an_unused_override_is_undone_and_a_used_one_is_not() {
    let world = draft_act();
    let session = Session::new(&world, "s");
    session.read(CHAPTER);
    let write = || session.before_write(CHAPTER, "# chapter-01, longer\n");
    let undo = |operation| undo_operations(&world.ctx(), UndoTarget::Operation(operation));
    let_pass(&world, "hierarchy", "chapter-01");
    let given = world.head();
    let undone = undo(given).unwrap().operation;
    assert_eq!(blocked(&write()), ["hierarchy"]);
    // An agent may undo; it must not give itself the permission again.
    assert_refused(
        undo(undone),
        FailureKind::Refused,
        "does not override the hierarchy gate for `act-1/chapter-01` again",
    );
    assert_eq!(blocked(&write()), ["hierarchy"]);

    let_pass(&world, "hierarchy", "chapter-01");
    let given = world.head();
    assert_eq!(blocked(&write()), Vec::<&str>::new());
    assert_refused(
        undo(given),
        FailureKind::Refused,
        "the override of the hierarchy gate for `act-1/chapter-01` was used up",
    );
}

#[test]
fn an_override_of_one_gate_does_not_lift_another() {
    let world = draft_act();
    let session = Session::new(&world, "s");
    let_pass(&world, "hierarchy", "chapter-01");
    let asked = session.before_write(CHAPTER, "# chapter-01, longer\n");
    assert_eq!(blocked(&asked), ["read-before-write"]);
    // It was not used up by the refused write.
    session.read(CHAPTER);
    let asked = session.before_write(CHAPTER, "# chapter-01, longer\n");
    assert_eq!(blocked(&asked), Vec::<&str>::new());
}

#[test]
fn only_a_person_overrides_with_a_reason_and_only_known_gates() {
    let world = draft_act();
    let request = |gate: &str, reason: &str| OverrideRequest {
        gate: gate.to_owned(),
        node: words("chapter-01"),
        reason: reason.to_owned(),
    };
    assert_refused(
        override_gate(&world.agent("s"), &request("shrink", "because")),
        FailureKind::Refused,
        "by a person",
    );
    assert_refused(
        override_gate(&world.ctx(), &request("shrink", "  ")),
        FailureKind::Invalid,
        "needs a reason",
    );
    assert_refused(
        override_gate(&world.ctx(), &request("shrnk", "because")),
        FailureKind::Invalid,
        "did you mean `shrink`",
    );
    assert_refused(
        override_gate(&world.ctx(), &request("frozen", "because")),
        FailureKind::Refused,
        "cannot be changed",
    );
}

#[test]
fn overwriting_an_unread_plan_is_blocked_and_reading_it_allows_the_write() {
    let world = World::with_story();
    let session = Session::new(&world, "s");
    let asked = session.before_write(SCENE, "# scene-0101, rewritten\n");
    assert_eq!(blocked(&asked), ["read-before-write"]);
    session.read(SCENE);
    let asked = session.before_write(SCENE, "# scene-0101, rewritten\n");
    assert_eq!(blocked(&asked), Vec::<&str>::new());
}

#[test]
fn a_plan_that_changed_since_it_was_read_is_not_overwritten() {
    let world = World::with_story();
    let session = Session::new(&world, "s");
    session.read(SCENE);
    world.files.edit(SCENE, "# scene-0101, by another writer\n");
    let asked = session.before_write(SCENE, "# scene-0101, rewritten\n");
    assert_eq!(blocked(&asked), ["read-before-write"]);
    assert!(asked.reply.block.unwrap().contains("it changed since"));
}

#[test]
fn a_session_knows_what_it_wrote_itself_and_others_do_not() {
    let world = World::with_story();
    let session = Session::new(&world, "s");
    session.read(SCENE);
    session.write(SCENE, "# scene-0101, second\n");
    session.write(SCENE, "# scene-0101, third\n");
    let other = Session::new(&world, "other");
    let asked = other.before_write(SCENE, "# scene-0101, fourth\n");
    assert_eq!(blocked(&asked), ["read-before-write"]);
}

#[test]
fn an_edit_of_a_passage_needs_no_reading() {
    let world = World::with_story();
    let effect = FileEffect::Edit {
        removed: 5,
        added: 9,
    };
    let call = call_on(ToolKind::Edit, SCENE, effect);
    let asked = Session::new(&world, "s").handle(Happening::ToolAboutToRun(call));
    assert_eq!(blocked(&asked), Vec::<&str>::new());
}

#[test]
fn a_command_that_names_the_plan_counts_as_reading_it() {
    let world = World::with_story();
    let session = Session::new(&world, "s");
    session.ran(&format!("cat {SCENE}"));
    let asked = session.before_write(SCENE, "# scene-0101, rewritten\n");
    assert_eq!(blocked(&asked), Vec::<&str>::new());
}

/// An approved act of more than 400 bytes.
fn long_act() -> World {
    let world = World::new();
    world
        .files
        .edit(ACT, &format!("# act-1\n\n{}", "A long text.\n".repeat(50)));
    world.status("act-1");
    world
}

#[test]
fn a_write_that_removes_most_of_a_plan_is_blocked_and_a_smaller_cut_is_not() {
    let world = long_act();
    let session = Session::new(&world, "s");
    session.read(ACT);
    let asked = session.before_write(ACT, "# act-1\n\n(unchanged)\n");
    assert_eq!(blocked(&asked), ["shrink"]);
    let asked = session.before_write(ACT, &"A long text.\n".repeat(30));
    assert_eq!(blocked(&asked), Vec::<&str>::new());
}

#[test]
fn a_short_plan_may_be_replaced_as_a_whole() {
    let world = World::new();
    world.files.edit(ACT, &"Short.\n".repeat(20));
    world.status("act-1");
    let session = Session::new(&world, "s");
    session.read(ACT);
    assert_eq!(
        blocked(&session.before_write(ACT, "# act-1\n")),
        Vec::<&str>::new()
    );
}

#[test]
fn a_plan_claimed_by_another_session_is_not_written() {
    let world = World::with_story();
    claim_node(&world.agent("holder"), &words("chapter-01")).unwrap();
    let session = Session::new(&world, "s");
    session.read(SCENE);
    let asked = session.before_write(SCENE, "# scene-0101, rewritten\n");
    assert_eq!(blocked(&asked), ["claim"]);
    let holder = Session::new(&world, "holder");
    holder.read(SCENE);
    holder.write(SCENE, "# scene-0101, rewritten\n");
}

#[test]
fn the_session_gate_asks_for_the_start_of_the_session() {
    let mut world = World::with_story();
    world.policy.gates.session = GateMode::Block;
    let session = Session::new(&world, "s");
    session.read(SCENE);
    let write = || session.before_write(SCENE, "# scene-0101, rewritten\n");
    assert_eq!(blocked(&write()), ["session"]);
    session.start();
    session.read(SCENE);
    assert_eq!(blocked(&write()), Vec::<&str>::new());
}

#[test]
fn files_of_a_frozen_document_are_not_changed() {
    let world = World::new();
    let made = create_document(&world.ctx(), "Search").unwrap();
    let session = Session::new(&world, "s");
    let write = || session.before_write(&made.file_path, "{}");
    assert_eq!(blocked(&write()), Vec::<&str>::new());
    world.freeze(&made.document);
    let asked = write();
    assert_eq!(blocked(&asked), ["frozen"]);
}

#[test]
fn several_gates_of_one_write_are_reported_together() {
    let world = draft_act();
    let asked = Session::new(&world, "s").before_write(CHAPTER, "# chapter-01, longer\n");
    assert_eq!(blocked(&asked), ["hierarchy", "read-before-write"]);
    let block = asked.reply.block.unwrap();
    assert!(
        block.contains("(hierarchy gate)") && block.contains("(read-before-write gate)"),
        "{block}"
    );
}

#[test]
fn a_plan_that_cannot_be_read_fails_the_check_instead_of_passing_it() {
    let world = World::with_story();
    let session = Session::new(&world, "s");
    session.read(SCENE);
    world.files.edit(SCENE, "# scene-0101, by another writer\n");
    world.files.fail_reads_of(SCENE);
    let call = write_call(SCENE, "# scene-0101, rewritten\n");
    assert_refused(
        session.try_handle(Happening::ToolAboutToRun(call)),
        FailureKind::Unavailable,
        "cannot be read now",
    );
}

#[test]
fn the_parents_plan_is_given_once_before_a_plan_is_written() {
    let world = World::with_story();
    let session = Session::new(&world, "s");
    session.read(SCENE);
    let write = || session.before_write(SCENE, "# scene-0101, rewritten\n");
    let given = write().reply.context.unwrap();
    assert!(given.contains("# chapter-01"), "{given}");
    assert_eq!(write().reply.context, None);
}

#[test]
fn the_agent_is_told_which_plans_its_write_made_stale() {
    let world = World::with_story();
    let session = Session::new(&world, "s");
    session.read(ACT);
    let told = session.write(ACT, "# act-1, another way\n");
    let context = told.reply.context.unwrap();
    assert!(context.contains("2 plans below"), "{context}");
}

#[test]
fn planning_is_let_pass_by_the_override_that_lets_the_write_pass() {
    let world = World::new();
    world.files.edit(ACT, "# act-1\n");
    let session = Session::new(&world, "s");
    session.start();
    assert_eq!(blocked(&session.prompt("/plan-chapter 1")), ["hierarchy"]);
    assert_eq!(
        blocked(&session.before_write(CHAPTER, "# chapter-01\n")),
        ["hierarchy"]
    );
    // It is not written yet: a person names it by its path.
    let_pass(&world, "hierarchy", "act-1/chapter-01");
    let told = session.prompt("/plan-chapter 1");
    assert_eq!(blocked(&told), Vec::<&str>::new());
    let prompt = told.reply.context.unwrap();
    assert!(
        prompt.contains("# Plan chapter `act-1/chapter-01`"),
        "{prompt}"
    );
    session.write(CHAPTER, "# chapter-01\n");
    let asked = session.before_write(CHAPTER, "# chapter-01, again\n");
    assert_eq!(blocked(&asked), ["hierarchy"], "once");
}

#[test]
fn an_override_of_no_possible_plan_is_refused() {
    let world = draft_act();
    for node in ["act-1/banana", "banana", "src/a.rs"] {
        let request = OverrideRequest {
            gate: "hierarchy".to_owned(),
            node: words(node),
            reason: "checked by hand".to_owned(),
        };
        let refused = override_gate(&world.ctx(), &request);
        assert_eq!(refused.unwrap_err().kind, FailureKind::NotFound, "{node}");
    }
}

#[test]
fn planning_follows_the_mode_of_the_gate() {
    for (mode, is_warned) in [(GateMode::Warn, true), (GateMode::Off, false)] {
        let mut world = World::new();
        world.files.edit(ACT, "# act-1\n");
        world.policy.gates.hierarchy = mode;
        let session = Session::new(&world, "s");
        let told = session.prompt("/plan-chapter 1");
        assert_eq!(blocked(&told), Vec::<&str>::new());
        let prompt = told.reply.context.unwrap();
        assert!(
            prompt.contains("# Plan chapter `act-1/chapter-01`"),
            "{prompt}"
        );
        assert_eq!(prompt.contains("hierarchy gate"), is_warned, "{prompt}");
    }
}

#[test]
fn where_people_approve_the_steps_of_a_stale_parent_are_theirs_and_begin_at_the_top() {
    let mut world = World::with_story();
    world.policy.approval = ApprovalPolicy::Human;
    world.files.edit(ACT, "# act-1, another way\n");
    let session = Session::new(&world, "s");
    session.read(SCENE);
    let steps = || {
        let asked = session.before_write(SCENE, "# scene-0101, longer\n");
        assert_eq!(blocked(&asked), ["hierarchy"]);
        let block = asked.reply.block.unwrap();
        let steps = block
            .lines()
            .filter_map(|line| line.strip_prefix("  next: "));
        steps.map(str::to_owned).collect::<Vec<String>>()
    };
    let first = steps();
    assert!(
        first[0].starts_with("ask the person to approve `act-1`:"),
        "{first:?}"
    );
    assert!(
        first[1].starts_with("ask the person to revalidate `act-1/chapter-01`:"),
        "{first:?}"
    );
    world.approve("act-1").unwrap();
    // An objection to the stale parent alone is another one, and given in full.
    let then = steps();
    assert!(
        then[0].starts_with("ask the person to revalidate `act-1/chapter-01`:"),
        "{then:?}"
    );

    let agent = world.agent("s");
    let stale = review_one(&agent, &words("act-1/chapter-01")).unwrap();
    let work = list_next_work(&agent, 9).unwrap();
    let status = load_brief_status(&agent).unwrap();
    let why = explain_status(&agent, &words("act-1/chapter-01")).unwrap();
    let planned = plan_node(
        &agent,
        &PlanRequest {
            kind: "scene".to_owned(),
            id: "0102".to_owned(),
            under: None,
        },
    );
    let offered = [
        stale.choices,
        work.ready.into_iter().map(|item| item.action).collect(),
        status
            .attention
            .into_iter()
            .map(|one| one.next_step)
            .collect(),
        why.next_steps,
        planned.unwrap_err().next_steps,
    ];
    for steps in offered {
        assert!(
            steps
                .iter()
                .any(|step| step.starts_with("ask the person to revalidate `act-1/chapter-01`:"))
                && !steps.iter().any(|step| step.starts_with("tl revalidate")),
            "{steps:?}"
        );
    }
}
