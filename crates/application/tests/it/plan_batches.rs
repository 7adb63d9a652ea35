//! Decisions about several plans: one question, one answer, one operation.

use application::answer_question::{Answer, AskedQuestion};
use application::decide_plans::{PlansDecided, answer_batch_question, approve_unread};
use application::invalidate::{InvalidateRequest, invalidate_node};
use application::plan_batch::{
    BatchPurpose, BatchQuestion, PlanSelection, WaitingPlans, build_batch_question, select_plans,
};
use application::sessions::declare_intent::{IntentRequest, declare_intent};
use application::undo::{UndoTarget, undo_operations};
use application::{Failure, FailureKind};
use domain::approval::Force;
use domain::approval_question::{NoDecision, QuestionChannel};
use domain::node::Status;
use domain::policy::{ApprovalPolicy, CascadePolicy};
use domain::profile::built_in_profile;
use domain::session::SessionMode;

use crate::world::{ACT, CHAPTER, World, assert_refused, words};

const SECOND: &str = "acts/act-1/chapters/chapter-02/plan.md";
const FIRST_SCENE: &str = "acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md";
const SCENE: &str = "acts/act-1/chapters/chapter-02/scenes/scene-0201-blueprint.md";

/// An act with two chapters and a scene that nobody approved, where only people approve.
fn drafts() -> World {
    let mut world = World::new();
    world.policy.approval = ApprovalPolicy::Human;
    world.files.edit(ACT, "# act-1\n\nThe lighthouse.\n");
    world.files.edit(CHAPTER, "# chapter-01\n\nThe storm.\n");
    world.files.edit(SECOND, "# chapter-02\n\nThe thief.\n");
    world.files.edit(SCENE, "# scene-0201\n\nThe door.\n");
    world
}

fn below(node: &str, waiting: WaitingPlans) -> PlanSelection {
    PlanSelection::Below {
        node: words(node),
        waiting,
        except: Vec::new(),
    }
}

fn ask(world: &World, selection: &PlanSelection) -> BatchQuestion {
    build_batch_question(&world.ctx(), selection, BatchPurpose::Approve).unwrap()
}

#[test]
fn the_trail_of_a_session_is_not_asked_about() {
    let mut world = drafts();
    world.profiles.push(built_in_profile("trail").unwrap());
    let request = IntentRequest {
        text: "Write the storm".to_owned(),
        mode: SessionMode::default(),
    };
    declare_intent(&world.agent("s1"), &request).unwrap();
    let everything = PlanSelection::Below {
        node: Vec::new(),
        waiting: WaitingPlans::All,
        except: Vec::new(),
    };
    let question = ask(&world, &everything);
    assert_eq!(
        paths(&question),
        [
            "act-1",
            "act-1/chapter-01",
            "act-1/chapter-02",
            "act-1/chapter-02/scene-0201"
        ]
    );
    assert!(question.left_out.is_empty(), "{:?}", question.left_out);
}

fn approve(world: &World, asked: &[AskedQuestion]) -> Result<PlansDecided, Failure> {
    let answer = Answer::Approve { force: Force::No };
    answer_batch_question(&world.ctx(), asked, &answer)
}

fn statuses(world: &World) -> Vec<Status> {
    let plans = ["act-1", "chapter-01", "chapter-02", "scene-0201"];
    plans.map(|plan| world.status(plan)).to_vec()
}

fn paths(question: &BatchQuestion) -> Vec<&str> {
    let questions = question.questions.iter();
    questions.map(|one| one.path.as_str()).collect()
}

#[test]
fn one_answer_approves_a_subtree_in_one_operation_and_one_undo_reverts_it() {
    let world = drafts();
    let question = ask(&world, &below("act-1", WaitingPlans::All));
    assert_eq!(
        paths(&question),
        [
            "act-1",
            "act-1/chapter-01",
            "act-1/chapter-02",
            "act-1/chapter-02/scene-0201"
        ]
    );
    let shown = question.render_for(QuestionChannel::Form);
    assert!(shown.is_whole());
    for text in ["The lighthouse.", "The storm.", "The thief.", "The door."] {
        assert!(shown.text.contains(text), "{}", shown.text);
    }
    let head = world.head();
    let done = approve(&world, &question.asked_questions()).unwrap();
    assert_eq!(world.head().0, head.0 + 1, "one operation");
    assert_eq!(done.message, "4 plans are approved");
    assert_eq!(done.operation, Some(world.head()));
    assert_eq!(statuses(&world), [Status::Approved; 4]);
    let again = ask(&world, &below("act-1", WaitingPlans::All));
    assert!(again.questions.is_empty() && again.left_out.is_empty());
    undo_operations(&world.ctx(), UndoTarget::Newest).unwrap();
    assert_eq!(statuses(&world), [Status::Draft; 4]);
}

#[test]
fn a_batch_counts_the_plans_that_are_approved_with_their_parents() {
    let world = drafts();
    let question = ask(&world, &below("act-1", WaitingPlans::All));
    approve(&world, &question.asked_questions()).unwrap();
    world.files.edit(ACT, "# act-1\n\nAnother lighthouse.\n");
    let question = ask(&world, &below("act-1", WaitingPlans::All));
    assert_eq!(question.questions.len(), 4);
    let done = approve(&world, &question.asked_questions()).unwrap();
    assert_eq!(
        (done.plans.len(), &*done.message),
        (4, "4 plans are approved")
    );
    assert!(done.changed_entities.is_empty(), "{done:?}");
    assert_eq!(statuses(&world), [Status::Approved; 4]);
}

/// In a batch a parent is read once for all its children.
#[test]
fn a_batch_records_the_approvals_that_its_plans_get_one_by_one() {
    let plans = [
        (
            "act-1",
            ACT,
            "# Act\n\n## Characters\n- Ann\n\n## Chapter 1\nThe storm.\n\n## Chapter 2\nThe thief.\n",
        ),
        (
            "act-1/chapter-01",
            CHAPTER,
            "# One\n\n## Characters\n- Bob\n\n## Timeline\nDays 2–4\n",
        ),
        // The same text as its sibling: its children's warnings name this one.
        (
            "act-1/chapter-02",
            SECOND,
            "# One\n\n## Characters\n- Bob\n\n## Timeline\nDays 2–4\n",
        ),
        (
            "act-1/chapter-01/scene-0101",
            FIRST_SCENE,
            "# A\n\n## Characters\n- Cid\n\n## Timeline\nDay 9\n",
        ),
        (
            "act-1/chapter-02/scene-0201",
            SCENE,
            "# B\n\n## Characters\n- Cid\n- Bob\n",
        ),
    ];
    let make = || {
        let mut world = World::new();
        world.policy.cascade = CascadePolicy::Precise;
        for (_, file, text) in plans {
            world.files.edit(file, text);
        }
        world
    };
    let approvals = |world: &World| -> Vec<_> {
        let state = world.store.begin_read().unwrap();
        let mut nodes = state.all_nodes().unwrap();
        nodes.sort_by(|one, other| one.path.cmp(&other.path));
        let approvals = nodes.into_iter().filter_map(|node| node.approval);
        approvals
            .map(|it| (it.version, it.parent, it.warnings, it.relied_sections))
            .collect()
    };
    let (batch, single) = (make(), make());
    let asked = ask(&batch, &below("act-1", WaitingPlans::All));
    approve(&batch, &asked.asked_questions()).unwrap();
    for (plan, ..) in plans {
        single.approve(plan).unwrap();
    }
    let together = approvals(&batch);
    assert_eq!(together.len(), plans.len());
    assert_eq!(together, approvals(&single));
    let warned = together.iter().filter(|it| !it.2.is_empty()).count();
    assert_eq!(warned, 4, "{together:?}");
    let named = format!("{together:?}");
    assert!(named.contains("parent `chapter-02`"), "{named}");
}

#[test]
fn one_text_that_changed_since_leaves_all_undecided_and_is_named() {
    let world = drafts();
    let asked = ask(&world, &below("act-1", WaitingPlans::All)).asked_questions();
    world
        .files
        .edit(SECOND, "# chapter-02\n\nNobody read this.\n");
    let late = approve(&world, &asked);
    assert_refused(
        late,
        FailureKind::Conflict,
        "nothing was approved: `act-1/chapter-02`",
    );
    assert_eq!(statuses(&world), [Status::Draft; 4]);
    // The parent's text is a part of the question about its child.
    world.files.edit(SECOND, "# chapter-02\n\nThe thief.\n");
    world.files.edit(ACT, "# act-1\n\nAnother lighthouse.\n");
    let children: Vec<AskedQuestion> = asked.iter().skip(1).cloned().collect();
    world.approve("act-1").unwrap();
    let late = approve(&world, &children);
    assert_refused(late, FailureKind::Conflict, "the parent of");
    assert_eq!(world.status("chapter-01"), Status::Draft);
}

#[test]
fn an_answer_without_the_parents_version_does_not_count() {
    let world = drafts();
    let mut asked = ask(&world, &below("act-1", WaitingPlans::All)).asked_questions();
    asked[1].parent_version = None;
    let result = approve(&world, &asked);
    assert_refused(result, FailureKind::Conflict, "which text of the parent");
    assert_eq!(statuses(&world), [Status::Draft; 4]);
}

#[test]
fn only_the_person_who_was_asked_answers() {
    let world = drafts();
    let asked = ask(&world, &below("act-1", WaitingPlans::All)).asked_questions();
    let answer = Answer::Approve { force: Force::No };
    let by_agent = answer_batch_question(&world.agent("s"), &asked, &answer);
    assert_refused(by_agent, FailureKind::Refused, "was asked about");
    // A question that an agent asks itself is answered by the rule of approval.
    let selection = below("act-1", WaitingPlans::All);
    let ctx = world.agent("s");
    let own = build_batch_question(&ctx, &selection, BatchPurpose::Approve).unwrap();
    let by_agent = answer_batch_question(&ctx, &own.asked_questions(), &answer);
    assert_refused(by_agent, FailureKind::Refused, "only a person may approve");
    assert_eq!(statuses(&world), [Status::Draft; 4]);
}

#[test]
fn named_plans_need_an_approved_parent_or_one_among_them() {
    let world = drafts();
    let named = |names: &str| PlanSelection::Named(words(names));
    let alone = build_batch_question(
        &world.ctx(),
        &named("chapter-01 chapter-02"),
        BatchPurpose::Approve,
    );
    assert_refused(alone, FailureKind::Refused, "parent `act-1` is `draft`");
    let question = ask(&world, &named("chapter 2 act-1 act-1 scene-0201"));
    assert_eq!(
        paths(&question),
        ["act-1", "act-1/chapter-02", "act-1/chapter-02/scene-0201"]
    );
    approve(&world, &question.asked_questions()).unwrap();
    let again = ask(&world, &named("act-1 chapter-01"));
    assert_eq!(again.already_approved, ["act-1"]);
    assert_eq!(paths(&again), ["act-1/chapter-01"]);
}

#[test]
fn what_was_rejected_is_left_out_with_everything_below_it() {
    let world = drafts();
    let reject = InvalidateRequest {
        node: words("chapter-02"),
        reason: "wrong book".to_owned(),
        shown: None,
    };
    invalidate_node(&world.ctx(), &reject).unwrap();
    let question = ask(&world, &below("act-1", WaitingPlans::All));
    assert_eq!(paths(&question), ["act-1", "act-1/chapter-01"]);
    let left_out = question.left_out.iter();
    let left_out: Vec<(&str, &str)> = left_out
        .map(|one| (one.path.as_str(), one.reason.as_str()))
        .collect();
    assert_eq!(
        left_out,
        [
            ("act-1/chapter-02", "it was rejected"),
            (
                "act-1/chapter-02/scene-0201",
                "its parent `act-1/chapter-02` is `invalid`"
            )
        ]
    );
}

#[test]
fn stale_plans_alone_show_the_change_of_their_parent_once() {
    let world = drafts();
    let all = ask(&world, &below("act-1", WaitingPlans::All));
    approve(&world, &all.asked_questions()).unwrap();
    world.files.edit(ACT, "# act-1\n\nAnother ending.\n");
    world.approve("act-1").unwrap();
    world
        .files
        .edit("acts/act-1/chapters/chapter-03/plan.md", "# chapter-03\n");
    let question = ask(&world, &below("act-1", WaitingPlans::Stale));
    let shown = question.render_for(QuestionChannel::Form).text;
    assert_eq!(shown.matches("+Another ending.").count(), 1, "{shown}");
    assert!(!paths(&question).contains(&"act-1/chapter-03"));
    let drafts = ask(&world, &below("act-1", WaitingPlans::Drafts));
    assert_eq!(paths(&drafts), ["act-1/chapter-03"]);
    approve(&world, &question.asked_questions()).unwrap();
    assert_eq!(statuses(&world), [Status::Approved; 4]);
}

#[test]
fn changes_of_several_plans_are_requested_in_one_operation() {
    let world = drafts();
    let selection = PlanSelection::Named(words("chapter-01 scene-0201"));
    let question =
        build_batch_question(&world.ctx(), &selection, BatchPurpose::RequestChanges).unwrap();
    let head = world.head();
    let answer = Answer::RequestChanges {
        text: "Name the thief".to_owned(),
    };
    let asked = question.asked_questions();
    let done = answer_batch_question(&world.ctx(), &asked, &answer).unwrap();
    assert_eq!(world.head().0, head.0 + 1);
    assert_eq!(done.message, "changes of 2 plans are requested");
    let again = ask(&world, &below("act-1", WaitingPlans::All));
    let requested = again
        .questions
        .iter()
        .filter(|one| one.change_request().is_some());
    assert_eq!(requested.count(), 2);
    let answer = Answer::Reject {
        reason: "no".to_owned(),
    };
    let rejected = answer_batch_question(&world.ctx(), &asked, &answer);
    assert_refused(rejected, FailureKind::Invalid, "cannot be rejected at once");
}

#[test]
fn a_question_that_was_closed_is_recorded_for_every_plan() {
    let world = drafts();
    let asked = ask(&world, &below("act-1", WaitingPlans::All)).asked_questions();
    let head = world.head();
    let answer = Answer::NoDecision(NoDecision::Declined);
    let done = answer_batch_question(&world.ctx(), &asked, &answer).unwrap();
    assert_eq!((done.plans.len(), world.head().0), (4, head.0 + 1));
    assert_eq!(statuses(&world), [Status::Draft; 4]);
}

#[test]
fn plans_are_selected_without_their_texts_as_the_question_selects_them() {
    let world = drafts();
    let selection = below("act-1", WaitingPlans::All);
    let asked = ask(&world, &selection).asked_questions();
    let selected = select_plans(&world.ctx(), &selection, BatchPurpose::Approve).unwrap();
    assert_eq!(selected.asked_questions(), asked);
    let decided = approve_unread(&world.ctx(), &asked, Force::No).unwrap();
    assert_eq!(decided.plans.len(), asked.len());
    let state = world.store.begin_read().unwrap();
    let last = state.operation_head(decided.operation.unwrap()).unwrap();
    let summary = last.unwrap().summary;
    assert!(summary.ends_with("whose texts were not shown"), "{summary}");
}

#[test]
fn what_is_left_out_takes_what_depends_on_it_along() {
    let world = drafts();
    let selection = PlanSelection::Below {
        node: words("act-1"),
        waiting: WaitingPlans::Drafts,
        except: vec!["chapter-02".to_owned()],
    };
    assert_eq!(
        selection.approve_command(),
        "tl approve --below act-1 --drafts --except chapter-02"
    );
    let selected = select_plans(&world.ctx(), &selection, BatchPurpose::Approve).unwrap();
    let is_below = |path: &str| path.starts_with("act-1/chapter-02");
    assert!(
        selected
            .plans
            .iter()
            .all(|plan| !is_below(&plan.asked.path))
    );
    assert_eq!(selected.plans.len(), 2);
    let left_out: Vec<&str> = selected
        .left_out
        .iter()
        .map(|plan| plan.path.as_str())
        .collect();
    assert_eq!(left_out, ["act-1/chapter-02/scene-0201"]);
}

#[test]
fn a_question_about_keeping_names_no_drafts() {
    let world = drafts();
    world.approve("act-1").unwrap();
    world.approve("chapter-01").unwrap();
    world.files.edit(ACT, "# act-1\n\nThe lighthouse burns.\n");
    let stale = below("act-1", WaitingPlans::Stale);
    let keep = || build_batch_question(&world.ctx(), &stale, BatchPurpose::Keep).unwrap();
    // Below a draft nothing can be kept, and the drafts have no approval to renew.
    let question = keep();
    assert!(question.questions.is_empty());
    let left_out: Vec<&str> = question.left_out.iter().map(|one| &*one.path).collect();
    assert_eq!(left_out, ["act-1/chapter-01"]);
    world.approve("act-1").unwrap();
    assert_eq!(paths(&keep()), ["act-1/chapter-01"]);
}

#[test]
fn a_yes_to_several_plans_overrides_what_was_shown_of_each() {
    let world = drafts();
    world.approve("act-1").unwrap();
    let request = InvalidateRequest {
        node: words("chapter-01"),
        reason: "dull".to_owned(),
        shown: None,
    };
    invalidate_node(&world.ctx(), &request).unwrap();
    let both = PlanSelection::Named(vec!["chapter-01".to_owned(), "chapter-02".to_owned()]);
    let question = ask(&world, &both);
    let shown = question.render_for(QuestionChannel::Form).text;
    assert!(shown.contains("│ dull"), "{shown}");
    let asked = question.asked_questions();
    // The second is rejected after the question: its text alone is not overridden.
    let request = InvalidateRequest {
        node: words("chapter-02"),
        reason: "too long".to_owned(),
        shown: None,
    };
    invalidate_node(&world.ctx(), &request).unwrap();
    assert_refused(approve(&world, &asked), FailureKind::Refused, "too long");
    let asked = ask(&world, &both).asked_questions();
    approve(&world, &asked).unwrap();
    assert_eq!(world.status("chapter-02"), Status::Approved);
}
