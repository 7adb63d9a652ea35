//! Questions of approvals and their answers: what is shown, what an answer is bound to, and who
//! learns of it.

use application::answer_question::{Answer, AnswerOutcome, AskedQuestion, answer_question};
use application::approval_question::{ApprovalQuestion, build_question, build_question_about};
use application::approve::{ApproveRequest, approve_node};
use application::brief::compose_briefing;
use application::invalidate::{InvalidateRequest, invalidate_node, preview_rejection};
use application::poll_decision::{
    DecisionKind, WaitCondition, WaitRequest, WaitView, poll_decision,
};
use application::project_status::load_project_status;
use application::request_changes::{ChangesRequest, request_changes};
use application::require_revalidation::{RevalidationRequest, require_revalidation};
use application::revalidate::{KeepRequest, keep_one};
use application::undo::{UndoTarget, preview_undo, undo_operations};
use application::{Failure, FailureKind};
use domain::approval::Force;
use domain::approval_question::{NoDecision, QuestionChannel};
use domain::expected_version::ExpectedVersions;
use domain::ids::OperationId;
use domain::node::Status;
use domain::policy::{ApprovalPolicy, ConsistencyPolicy};

use crate::hooks::Session;
use crate::world::{ACT, CHAPTER, World, assert_refused, words};

/// A story where only people approve.
fn story_of_people() -> World {
    let mut world = World::with_story();
    world.policy.approval = ApprovalPolicy::Human;
    world
}

fn ask(world: &World, node: &str) -> ApprovalQuestion {
    build_question(&world.ctx(), &words(node)).unwrap().unwrap()
}

fn request(world: &World, node: &str, text: &str) -> Result<(), Failure> {
    let request = ChangesRequest {
        node: words(node),
        text: text.to_owned(),
        shown: None,
    };
    request_changes(&world.ctx(), &request).map(drop)
}

fn poll(world: &World, until: WaitCondition, since: Option<OperationId>) -> WaitView {
    let request = WaitRequest {
        node: words("act-1"),
        until,
        status: None,
        since,
    };
    poll_decision(&world.ctx(), &request).unwrap()
}

fn attention(world: &World) -> Vec<String> {
    let status = load_project_status(&world.ctx()).unwrap();
    status.attention.into_iter().map(|one| one.path).collect()
}

#[test]
fn a_text_saved_twice_is_compared_with_the_approved_one() {
    let world = story_of_people();
    world
        .files
        .edit(ACT, "# act-1\n\nNOBODY SURVIVES\nThe gate is closed.\n");
    assert_eq!(world.status("act-1"), Status::Draft);
    world
        .files
        .edit(ACT, "# act-1\n\nNOBODY SURVIVES\nThe gate is shut.\n");
    let question = ask(&world, "act-1");
    assert!(question.text.is_none());
    let shown = question.render_for(QuestionChannel::Form);
    assert!(shown.text.contains("+NOBODY SURVIVES"), "{}", shown.text);
    assert!(shown.text.contains("+The gate is shut."), "{}", shown.text);
    assert!(shown.is_whole());
}

#[test]
fn a_text_that_no_person_approved_is_shown_whole() {
    let mut world = World::new();
    world.files.edit(ACT, "# act-1\n\nRead by nobody.\n");
    let by_agent = ApproveRequest {
        node: words("act-1"),
        force: Force::No,
        shown: None,
    };
    approve_node(&world.agent("s"), &by_agent).unwrap();
    world.policy.approval = ApprovalPolicy::Human;
    world.files.edit(ACT, "# act-1\n\nRead by nobody. More.\n");
    let question = ask(&world, "act-1");
    assert_eq!(
        question.text.as_deref(),
        Some("# act-1\n\nRead by nobody. More.\n")
    );
    assert!(question.base.is_none());
}

#[test]
fn a_stale_plan_is_asked_about_with_the_change_of_its_parent() {
    let world = story_of_people();
    world.files.edit(ACT, "# act-1\n\nAnother ending.\n");
    world.approve("act-1").unwrap();
    let shown = ask(&world, "chapter-01")
        .render_for(QuestionChannel::Form)
        .text;
    assert!(shown.contains("Changed in its parent `act-1`"), "{shown}");
    assert!(shown.contains("+Another ending."), "{shown}");
}

#[test]
fn an_answer_counts_for_its_own_question_only() {
    let world = story_of_people();
    world.files.edit(CHAPTER, "# chapter-01\n\nNew.\n");
    let question = AskedQuestion::from(&ask(&world, "chapter-01"));
    let approve = || Answer::Approve { force: Force::No };
    let by_another = answer_question(&world.agent("s"), &question, approve());
    assert_refused(by_another, FailureKind::Refused, "was asked about");
    world.files.edit(CHAPTER, "# chapter-01\n\nNewer.\n");
    for answer in [
        approve(),
        Answer::RequestChanges {
            text: "no".to_owned(),
        },
        Answer::Reject {
            reason: "no".to_owned(),
        },
    ] {
        let late = answer_question(&world.ctx(), &question, answer);
        assert_refused(late, FailureKind::Conflict, "changed since it was shown");
    }
    world.files.edit(CHAPTER, "# chapter-01\n\nNew.\n");
    world.files.edit(ACT, "# act-1, another way\n");
    world.approve("act-1").unwrap();
    let other_parent = answer_question(&world.ctx(), &question, approve());
    assert_refused(other_parent, FailureKind::Conflict, "the parent of");
    let question = AskedQuestion::from(&ask(&world, "chapter-01"));
    answer_question(&world.ctx(), &question, approve()).unwrap();
    assert_eq!(world.status("chapter-01"), Status::Approved);
}

#[test]
fn where_only_people_approve_an_approval_names_what_was_read() {
    let world = story_of_people();
    world.files.edit(ACT, "# act-1, another way\n");
    let unseen = ApproveRequest {
        node: words("act-1"),
        force: Force::Yes,
        shown: None,
    };
    let refused = approve_node(&world.ctx(), &unseen);
    assert_refused(refused, FailureKind::Refused, "which text was read");
    world.approve("act-1").unwrap();
}

#[test]
fn requested_changes_are_the_agents_turn_until_the_next_text() {
    let world = story_of_people();
    world.files.edit(ACT, "# act-1\n\nThe storm.\n");
    assert_eq!(attention(&world), ["act-1"]);
    request(&world, "act-1", "the storm comes too early").unwrap();
    assert_eq!(world.status("act-1"), Status::Draft);
    assert_eq!(attention(&world), Vec::<String>::new());
    let status = load_project_status(&world.ctx()).unwrap();
    assert_eq!(
        status.changes_requested[0].request.text,
        "the storm comes too early"
    );
    let briefing = compose_briefing(&world.agent("s"), None).unwrap();
    assert!(briefing.contains("the storm comes too early"), "{briefing}");
    world.files.edit(ACT, "# act-1\n\nThe storm, later.\n");
    assert_eq!(attention(&world), ["act-1"]);
    let status = load_project_status(&world.ctx()).unwrap();
    assert!(status.changes_requested.is_empty());
}

#[test]
fn a_request_for_changes_suspends_an_approval_and_its_undo_restores_it() {
    let world = story_of_people();
    request(&world, "act-1", "more wind").unwrap();
    assert_eq!(world.status("act-1"), Status::Draft);
    assert_eq!(world.status("chapter-01"), Status::RequiresRevalidation);
    // The approved text stays what the next one is compared with.
    world.files.edit(ACT, "# act-1\n\nMore wind.\n");
    let shown = ask(&world, "act-1").render_for(QuestionChannel::Form).text;
    assert!(
        shown.contains("+More wind.") && shown.contains(" # act-1"),
        "{shown}"
    );
    world.files.edit(ACT, "# act-1\n");
    assert_eq!(world.status("act-1"), Status::Draft);
    let state = world.store.begin_read().unwrap();
    let heads = state.operation_heads(None, 10).unwrap();
    drop(state);
    let made = heads
        .iter()
        .find(|head| head.verb == domain::operation::Verb::RequestChanges)
        .unwrap();
    undo_operations(&world.ctx(), UndoTarget::Operation(made.id)).unwrap();
    assert_eq!(world.statuses(), "aaa");
}

#[test]
fn an_agent_cannot_approve_over_a_persons_request() {
    let world = World::with_story();
    request(&world, "act-1", "more wind").unwrap();
    for force in [Force::No, Force::Yes] {
        let by_agent = ApproveRequest {
            node: words("act-1"),
            force,
            shown: None,
        };
        let refused = approve_node(&world.agent("s"), &by_agent);
        assert_refused(
            refused,
            FailureKind::Refused,
            "requested changes of this text: more wind",
        );
    }
    world.approve("act-1").unwrap();
    assert_eq!(world.statuses(), "aaa");
}

#[test]
fn an_agent_takes_back_no_objection_of_a_person() {
    for policy in [ApprovalPolicy::Anyone, ApprovalPolicy::Human] {
        for objects in [
            |world: &World| {
                let reject = InvalidateRequest {
                    node: words("act-1"),
                    reason: "weak".to_owned(),
                    shown: None,
                };
                invalidate_node(&world.ctx(), &reject).map(drop)
            },
            |world: &World| request(world, "act-1", "more wind"),
        ] {
            let mut world = World::with_story();
            world.policy.approval = policy;
            let approved = world.head();
            objects(&world).unwrap();
            let made = world.head();
            let decided = world.status("act-1");
            let agent = world.agent("s");
            for target in [UndoTarget::Operation(made), UndoTarget::BackTo(approved)] {
                for refused in [
                    undo_operations(&agent, target),
                    preview_undo(&agent, target),
                ] {
                    let refused = refused.map(drop);
                    assert_refused(refused, FailureKind::Refused, "is a decision of human:Ада");
                }
            }
            let bare = undo_operations(&agent, UndoTarget::Newest).unwrap_err();
            assert!(!bare.next_steps.concat().contains("tl undo"), "{bare:?}");
            assert_eq!(world.status("act-1"), decided);
            // The person may change their mind, and an agent does not change it back.
            undo_operations(&world.ctx(), UndoTarget::Operation(made)).unwrap();
            assert_eq!(world.statuses(), "aaa");
        }
    }
}

#[test]
fn an_undo_by_an_agent_ends_no_objection_that_came_back_with_another_operation() {
    let world = World::with_story();
    request(&world, "act-1", "more wind").unwrap();
    let made = world.head();
    undo_operations(&world.ctx(), UndoTarget::Operation(made)).unwrap();
    let withdrawn = world.head();
    // The agent may object again in the person's name, but not take that back.
    undo_operations(&world.agent("s"), UndoTarget::Operation(withdrawn)).unwrap();
    assert_eq!(world.status("act-1"), Status::Draft);
    let again = world.head();
    let refused = undo_operations(&world.agent("s"), UndoTarget::Operation(again)).map(drop);
    assert_refused(refused, FailureKind::Refused, "an objection of human:Ада");
}

#[test]
fn where_only_people_decide_an_agent_undoes_its_own_operations_and_none_of_their_decisions() {
    let world = story_of_people();
    let approved = world.head();
    let agent = world.agent("s");
    let refused = undo_operations(&agent, UndoTarget::Operation(approved)).map(drop);
    assert_refused(refused, FailureKind::Refused, "is a decision of human:Ада");
    undo_operations(&world.ctx(), UndoTarget::Operation(approved)).unwrap();
    let withdrawn = world.head();
    let refused = undo_operations(&agent, UndoTarget::Operation(withdrawn)).map(drop);
    assert_refused(refused, FailureKind::Refused, "is a decision of human:Ада");
    let progress = application::set_progress::ProgressRequest {
        node: words("act-1"),
        progress: domain::node::Progress::Active,
    };
    application::set_progress::set_progress(&agent, &progress).unwrap();
    undo_operations(&agent, UndoTarget::Newest).unwrap();
}

#[test]
fn a_question_about_one_plan_names_what_a_rejection_makes_stale() {
    let world = World::new();
    world.files.edit(ACT, "# act-1\n");
    world.files.edit(CHAPTER, "# chapter-01\n");
    let below = ask(&world, "act-1").falls_below;
    assert_eq!(below, ["act-1/chapter-01"]);
    assert_eq!(
        below,
        preview_rejection(&world.ctx(), &words("act-1")).unwrap()
    );
}

#[test]
fn where_only_people_decide_an_agent_neither_rejects_nor_requests_changes() {
    let world = story_of_people();
    let agent = world.agent("s");
    let reject = InvalidateRequest {
        node: words("act-1"),
        reason: "weak".to_owned(),
        shown: None,
    };
    assert_refused(
        invalidate_node(&agent, &reject),
        FailureKind::Refused,
        "only a person decides",
    );
    let below = RevalidationRequest {
        node: words("act-1"),
        reason: "weak".to_owned(),
        shown: None,
    };
    assert_refused(
        require_revalidation(&agent, &below),
        FailureKind::Refused,
        "only a person decides",
    );
    let back = ChangesRequest {
        node: words("act-1"),
        text: "weak".to_owned(),
        shown: None,
    };
    assert_refused(
        request_changes(&agent, &back),
        FailureKind::Refused,
        "only a person decides",
    );
    assert_eq!(world.statuses(), "aaa");
}

#[test]
fn every_decision_ends_a_wait_with_the_persons_words() {
    let world = story_of_people();
    world.files.edit(ACT, "# act-1\n\nThe storm.\n");
    let since = Some(world.head());
    assert!(!poll(&world, WaitCondition::Approved, since).done);
    request(&world, "act-1", "later").unwrap();
    let waited = poll(&world, WaitCondition::Approved, since);
    let made = waited.decision.unwrap();
    assert_eq!(
        (waited.done, made.kind, made.text.as_deref()),
        (true, DecisionKind::ChangesRequested, Some("later"))
    );
    let reject = InvalidateRequest {
        node: words("act-1"),
        reason: "off the book".to_owned(),
        shown: None,
    };
    invalidate_node(&world.ctx(), &reject).unwrap();
    // Also one that begins after the decision.
    for since in [since, Some(world.head()), None] {
        let waited = poll(&world, WaitCondition::Approved, since);
        let made = waited.decision.unwrap();
        assert_eq!((waited.done, made.kind), (true, DecisionKind::Rejected));
        assert_eq!(made.text.as_deref(), Some("off the book"));
    }
    world.files.edit(ACT, "# act-1\n\nThe storm, later.\n");
    assert!(!poll(&world, WaitCondition::Approved, Some(world.head())).done);
    world.approve("act-1").unwrap();
    let waited = poll(&world, WaitCondition::Approved, None);
    assert_eq!(waited.decision.unwrap().kind, DecisionKind::Approved);
}

#[test]
fn a_declined_question_is_recorded_and_ends_the_wait_once() {
    let world = story_of_people();
    world.files.edit(ACT, "# act-1\n\nThe storm.\n");
    let question = AskedQuestion::from(&ask(&world, "act-1"));
    for (how, kind) in [
        (NoDecision::Declined, DecisionKind::Declined),
        (NoDecision::Cancelled, DecisionKind::Cancelled),
    ] {
        let since = Some(world.head());
        let answered = answer_question(&world.ctx(), &question, Answer::NoDecision(how)).unwrap();
        assert!(matches!(answered, AnswerOutcome::NoDecision(_)));
        let waited = poll(&world, WaitCondition::Approved, since);
        assert_eq!(
            (waited.done, waited.decision.map(|made| made.kind)),
            (true, Some(kind))
        );
        assert!(!poll(&world, WaitCondition::Approved, Some(world.head())).done);
    }
    assert_eq!(attention(&world), ["act-1"]);
}

#[test]
fn a_wait_for_a_change_returns_only_after_one() {
    let world = story_of_people();
    let since = Some(world.head());
    assert!(!poll(&world, WaitCondition::Changed, since).done);
    assert!(!poll(&world, WaitCondition::Changed, None).done);
    world.files.edit(ACT, "# act-1\n\nThe storm.\n");
    assert!(poll(&world, WaitCondition::Changed, since).done);
}

#[test]
fn requiring_revalidation_marks_what_is_below_and_leaves_the_node() {
    let world = story_of_people();
    let below = RevalidationRequest {
        node: words("act-1"),
        reason: "the war came earlier".to_owned(),
        shown: None,
    };
    let outcome = require_revalidation(&world.ctx(), &below).unwrap();
    let marked: Vec<&str> = outcome
        .invalidated_entities
        .iter()
        .map(|one| one.path.as_str())
        .collect();
    assert_eq!(marked, ["act-1/chapter-01", "act-1/chapter-01/scene-0101"]);
    assert_eq!(world.statuses(), "arr");
    let why = application::explain::explain_status(&world.ctx(), &words("scene-0101")).unwrap();
    assert!(
        why.summary.contains("the war came earlier"),
        "{}",
        why.summary
    );
    // Those already marked are left alone.
    let again = require_revalidation(&world.ctx(), &below).unwrap();
    assert!(again.invalidated_entities.is_empty());
    let keep = KeepRequest {
        node: words("chapter-01"),
        force: Force::No,
        shown: Some(world.shown("chapter-01")),
    };
    keep_one(&world.ctx(), &keep).unwrap();
    assert_eq!(world.statuses(), "aaa");
}

#[test]
fn a_rejection_shows_first_what_falls_below_it() {
    let world = story_of_people();
    let below = preview_rejection(&world.ctx(), &words("act-1")).unwrap();
    assert_eq!(below, ["act-1/chapter-01", "act-1/chapter-01/scene-0101"]);
    let reject = InvalidateRequest {
        node: words("act-1"),
        reason: "weak".to_owned(),
        shown: None,
    };
    let outcome = invalidate_node(&world.ctx(), &reject).unwrap();
    let fallen: Vec<String> = outcome
        .invalidated_entities
        .into_iter()
        .map(|one| one.path)
        .collect();
    assert_eq!(fallen, below);
}

#[test]
fn a_running_session_is_told_the_request_in_the_persons_words() {
    let world = story_of_people();
    let session = Session::new(&world, "s1");
    session.start();
    session.read(ACT);
    let words_of_person = format!("the storm comes too early{}", ", and again".repeat(40));
    request(&world, "act-1", &words_of_person).unwrap();
    let told = session.prompt("go on").reply.context.unwrap();
    assert!(told.contains(&words_of_person), "{told}");
    assert!(told.contains("then ask for approval again"), "{told}");
}

fn reject(world: &World, node: &str, reason: &str) {
    let request = InvalidateRequest {
        node: words(node),
        reason: reason.to_owned(),
        shown: None,
    };
    invalidate_node(&world.ctx(), &request).unwrap();
}

fn say_yes(world: &World, question: &ApprovalQuestion) -> Result<AnswerOutcome, Failure> {
    let answer = Answer::Approve { force: Force::No };
    answer_question(&world.ctx(), &AskedQuestion::from(question), answer)
}

/// A story where only people approve and warnings are overridden on purpose, with a chapter that has one.
fn warned_story() -> World {
    let mut world = story_of_people();
    world.policy.consistency = ConsistencyPolicy::RequireForce;
    let act = "# act-1\n\n## Characters\n\n- Anna\n";
    world.files.edit(ACT, act);
    world.approve("act-1").unwrap();
    let chapter = "# chapter-01\n\n## Characters\n\n- Zed\n";
    world.files.edit(CHAPTER, chapter);
    world
}

#[test]
fn a_yes_overrides_the_rejection_that_its_question_showed() {
    let world = story_of_people();
    let before = ask_edited(&world);
    reject(&world, "act-1", "nobody survives");
    let question = ask(&world, "act-1");
    assert_ne!(question.question_code(), before.question_code());
    for channel in [
        QuestionChannel::Form,
        QuestionChannel::TypedCommand,
        QuestionChannel::Unlimited,
    ] {
        let shown = question.render_for(channel).text;
        assert!(shown.contains("was rejected by human:"), "{shown}");
        assert!(shown.contains("│ nobody survives"), "{shown}");
        assert!(shown.contains("overrides that rejection"), "{shown}");
    }
    say_yes(&world, &question).unwrap();
    assert_eq!(world.status("act-1"), Status::Approved);
}

/// Edits the act and asks about it.
fn ask_edited(world: &World) -> ApprovalQuestion {
    world.files.edit(ACT, "# act-1\n\nThe storm.\n");
    ask(world, "act-1")
}

#[test]
fn a_yes_overrides_the_warnings_of_its_question_and_no_later_rejection() {
    let world = warned_story();
    let question = ask(&world, "chapter-01");
    assert_eq!(question.required_force, Force::Warnings);
    let shown = question.render_for(QuestionChannel::Form).text;
    assert!(shown.contains("accepts these warnings"), "{shown}");
    // Another person rejects the text while the person reads.
    reject(&world, "chapter-01", "dull");
    let late = say_yes(&world, &question);
    assert_refused(late, FailureKind::Refused, "dull");
    world
        .files
        .edit(CHAPTER, "# chapter-01\n\n## Characters\n\n- Ivo\n");
    say_yes(&world, &ask(&world, "chapter-01")).unwrap();
    assert_eq!(world.status("chapter-01"), Status::Approved);
}

#[test]
fn an_approval_without_a_question_has_to_force_warnings_and_its_step_names_the_path() {
    let mut world = warned_story();
    world.policy.approval = ApprovalPolicy::Anyone;
    let refused = world.approve("act-1/chapter-01").unwrap_err();
    assert!(refused.message.contains("Zed"), "{refused:?}");
    assert_eq!(refused.next_steps, ["tl approve act-1/chapter-01 --force"]);
    reject(&world, "act-1/chapter-01", "dull");
    let refused = world.approve("act-1/chapter-01").unwrap_err();
    assert!(
        refused
            .next_steps
            .contains(&"tl approve act-1/chapter-01 --force".to_owned()),
        "{refused:?}"
    );
}

#[test]
fn nobody_is_asked_about_a_text_that_the_caller_does_not_know() {
    let world = story_of_people();
    world.files.edit(CHAPTER, "# chapter-01\n\nNew.\n");
    let known = ask(&world, "chapter-01").expected_versions();
    let about = |known: &ExpectedVersions| {
        build_question_about(&world.ctx(), &words("chapter-01"), Some(known))
    };
    assert!(about(&known).unwrap().is_some());
    let false_parent = ExpectedVersions {
        parent: Some("deadbeef".parse().unwrap()),
        ..known.clone()
    };
    assert_refused(about(&false_parent), FailureKind::Conflict, "the parent of");
    world.files.edit(CHAPTER, "# chapter-01\n\nNewer.\n");
    assert_refused(about(&known), FailureKind::Conflict, "changed since");
    // Also where it is approved in the meantime.
    world.approve("chapter-01").unwrap();
    assert_refused(about(&known), FailureKind::Conflict, "changed since");
}

#[test]
fn an_approved_plan_is_approved_again_without_a_version() {
    let world = story_of_people();
    let request = ApproveRequest {
        node: words("act-1"),
        force: Force::No,
        shown: None,
    };
    let again = approve_node(&world.ctx(), &request).unwrap();
    assert!(again.message.contains("approved already"), "{again:?}");
    assert_eq!(again.operation, None);
}
