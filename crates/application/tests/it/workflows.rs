//! Workflows, reviews and plan documents: steps in order, gates by review, frozen plans.

use application::plan_documents::create::create_document;
use application::plan_documents::edit::{DocumentEdit, edit_document};
use application::plan_documents::freeze_plan::freeze_plan;
use application::plan_documents::revise::revise_document;
use application::plan_documents::show::show_document;
use application::plan_documents::validate::validate_plan;
use application::reviews::add::{CheckRequest, add_check};
use application::reviews::conclude::conclude_iteration;
use application::reviews::judge::{VerdictRequest, record_verdict};
use application::reviews::status::show_review;
use application::undo::{UndoTarget, undo_operations};
use application::workflows::RunSelector;
use application::workflows::abort::abort_run;
use application::workflows::advance::{AdvanceOutcome, advance_run};
use application::workflows::list_workflows;
use application::workflows::next::show_next_step;
use application::workflows::start::start_run;
use application::{Context, Failure, FailureKind};
use domain::plan_document::PlanChange;
use domain::policy::{ApprovalPolicy, ReviewerPolicy};
use domain::review::{CheckSeverity, CheckVerdict, IterationOutcome};
use domain::workflow::{FlowMove, FlowState};

use crate::world::{World, assert_refused};

const WORKFLOW: &str = r#"
name = "prose"

[[role]]
name = "author"
may = []

[[role]]
name = "reviewer"
may = ["review add", "review verdict", "review status"]

[[step]]
name = "write"
role = "author"
prompt = "Write {subject}."

[[step]]
name = "look"
role = "reviewer"
kind = "review"
phase = "prose"
prompt = "Look at {subject}."

[[step]]
name = "gate"
role = "author"
kind = "gate"
phase = "prose"
on_fail = "write"
prompt = "Decide."
"#;

/// A world with a workflow of three steps: work, review, gate.
fn with_workflow() -> World {
    let world = World::new();
    world
        .files
        .edit(".throughline/workflows/prose.toml", WORKFLOW);
    world
}

fn scene() -> RunSelector {
    RunSelector {
        subject: Some("scene".to_owned()),
        workflow: None,
    }
}

fn advance(ctx: &Context<'_>, how: FlowMove) -> Result<AdvanceOutcome, Failure> {
    advance_run(ctx, &scene(), how)
}

fn check(ctx: &Context<'_>, severity: CheckSeverity) -> Result<String, Failure> {
    let request = CheckRequest {
        of: Some("scene/prose".to_owned()),
        scope: String::new(),
        check: "one point of view".to_owned(),
        severity,
        authors: Vec::new(),
    };
    add_check(ctx, &request).map(|outcome| outcome.item.id)
}

fn judge(ctx: &Context<'_>, item: &str, verdict: CheckVerdict) -> Result<(), Failure> {
    let request = VerdictRequest {
        of: Some("scene/prose".to_owned()),
        item: item.to_owned(),
        verdict,
        version: None,
        cost: 0,
    };
    record_verdict(ctx, &request).map(drop)
}

fn failed() -> CheckVerdict {
    CheckVerdict::Fail {
        finding: "two of them".to_owned(),
    }
}

/// A run at its gate, with one check in the review.
fn at_gate(world: &World, verdict: CheckVerdict) {
    start_run(&world.ctx(), "prose", Some("scene")).unwrap();
    advance(&world.ctx(), FlowMove::Done).unwrap();
    let item = check(&world.ctx(), CheckSeverity::Must).unwrap();
    judge(&world.ctx(), &item, verdict).unwrap();
    advance(&world.ctx(), FlowMove::Done).unwrap();
}

#[test]
fn a_workflow_file_with_a_problem_is_listed_with_it() {
    let world = with_workflow();
    world
        .files
        .edit(".throughline/workflows/broken.toml", "name = \"broken\"\n");
    let found = list_workflows(&world.ctx());
    let problem = |name: &str| {
        found
            .iter()
            .find(|line| line.name == name)
            .and_then(|line| line.problem.clone())
    };
    assert!(problem("broken").unwrap().contains("step"));
    assert_eq!(problem("prose"), None);
}

#[test]
fn an_unknown_workflow_and_a_missing_subject_are_refused() {
    let world = with_workflow();
    let unknown = start_run(&world.ctx(), "proze", Some("scene")).unwrap_err();
    assert_eq!(unknown.kind, FailureKind::NotFound, "{unknown:?}");
    assert_refused(
        start_run(&world.ctx(), "prose", None),
        FailureKind::Invalid,
        "needs a subject",
    );
}

#[test]
fn a_second_run_of_the_same_workflow_on_a_subject_is_refused() {
    let world = with_workflow();
    start_run(&world.ctx(), "prose", Some("scene")).unwrap();
    assert!(start_run(&world.ctx(), "prose", Some("scene")).is_err());
    abort_run(&world.ctx(), &scene()).unwrap();
    start_run(&world.ctx(), "prose", Some("scene")).unwrap();
}

#[test]
fn a_step_gives_its_prompt_for_the_subject_and_the_commands_of_its_role() {
    let world = with_workflow();
    start_run(&world.ctx(), "prose", Some("scene")).unwrap();
    let next = show_next_step(&world.ctx(), &scene()).unwrap();
    assert!(next.prompt.contains("Write scene."), "{}", next.prompt);
    advance(&world.ctx(), FlowMove::Done).unwrap();
    let next = show_next_step(&world.ctx(), &scene()).unwrap();
    assert!(next.may.iter().any(|command| command.contains("verdict")));
}

#[test]
fn a_gate_is_passed_or_failed_and_a_step_is_done() {
    let world = with_workflow();
    start_run(&world.ctx(), "prose", Some("scene")).unwrap();
    assert_eq!(
        advance(&world.ctx(), FlowMove::Pass).unwrap_err().kind,
        FailureKind::Refused
    );
    advance(&world.ctx(), FlowMove::Done).unwrap();
    let item = check(&world.ctx(), CheckSeverity::Must).unwrap();
    judge(&world.ctx(), &item, CheckVerdict::Pass).unwrap();
    advance(&world.ctx(), FlowMove::Done).unwrap();
    assert_eq!(
        advance(&world.ctx(), FlowMove::Done).unwrap_err().kind,
        FailureKind::Refused
    );
}

#[test]
fn a_gate_passes_when_every_check_passed_and_the_run_is_finished() {
    let world = with_workflow();
    at_gate(&world, CheckVerdict::Pass);
    let outcome = advance(&world.ctx(), FlowMove::Pass).unwrap();
    assert_eq!(outcome.flow.state, FlowState::Finished);
}

#[test]
fn a_gate_with_a_failed_must_does_not_pass_and_sends_the_work_back() {
    let world = with_workflow();
    at_gate(&world, failed());
    assert!(advance(&world.ctx(), FlowMove::Pass).is_err());
    let outcome = advance(&world.ctx(), FlowMove::Fail).unwrap();
    assert_eq!(outcome.flow.step, "write");
    assert!(matches!(
        outcome.review,
        Some(IterationOutcome::Retry { iteration: 2, .. })
    ));
}

#[test]
fn a_finding_that_fails_too_often_waits_for_a_person() {
    let mut world = with_workflow();
    world.policy.review.cap = 1;
    at_gate(&world, failed());
    let outcome = advance(&world.ctx(), FlowMove::Fail).unwrap();
    assert!(!outcome.success);
    assert_eq!(outcome.waits_for_person.len(), 1);
    assert_eq!(outcome.flow.step, "gate");
}

#[test]
fn an_author_does_not_judge_their_own_work_where_reviewers_must_be_others() {
    let mut world = with_workflow();
    world.policy.review.reviewer = ReviewerPolicy::Other;
    start_run(&world.agent("author"), "prose", Some("scene")).unwrap();
    advance(&world.agent("author"), FlowMove::Done).unwrap();
    let item = check(&world.agent("reviewer"), CheckSeverity::Must).unwrap();
    let own = judge(&world.agent("author"), &item, CheckVerdict::Pass);
    assert_eq!(own.unwrap_err().kind, FailureKind::Refused);
    judge(&world.agent("reviewer"), &item, CheckVerdict::Pass).unwrap();
}

#[test]
fn a_verdict_on_an_older_version_of_a_check_is_a_conflict() {
    let world = World::new();
    let item = check(&world.ctx(), CheckSeverity::Should).unwrap();
    judge(&world.ctx(), &item, failed()).unwrap();
    let now = show_review(&world.ctx(), Some("scene/prose"))
        .unwrap()
        .items[0]
        .version;
    let late = VerdictRequest {
        of: Some("scene/prose".to_owned()),
        item,
        verdict: CheckVerdict::Pass,
        version: Some(now - 1),
        cost: 0,
    };
    assert_eq!(
        record_verdict(&world.ctx(), &late).unwrap_err().kind,
        FailureKind::Conflict
    );
}

#[test]
fn an_iteration_is_not_concluded_before_every_check_is_judged() {
    let world = World::new();
    check(&world.ctx(), CheckSeverity::Must).unwrap();
    let outcome = conclude_iteration(&world.ctx(), Some("scene/prose"), None);
    assert!(outcome.is_err(), "{outcome:?}");
}

#[test]
fn a_failed_should_does_not_hold_the_work_back_for_ever() {
    let mut world = World::new();
    world.policy.review.cap = 1;
    let item = check(&world.ctx(), CheckSeverity::Should).unwrap();
    judge(&world.ctx(), &item, failed()).unwrap();
    let outcome = conclude_iteration(&world.ctx(), Some("scene/prose"), None).unwrap();
    assert_eq!(
        outcome.concluded,
        IterationOutcome::Complete {
            accepted: vec![item]
        }
    );
}

#[test]
fn a_frozen_document_is_changed_only_in_a_revision() {
    let world = World::new();
    let made = create_document(&world.ctx(), "Search").unwrap();
    world.freeze(&made.document);
    let change = || {
        DocumentEdit::One(Box::new(PlanChange::AddDecision {
            decision: "BM25".to_owned(),
            reasoning: "MUST be fast".to_owned(),
        }))
    };
    assert_eq!(
        edit_document(&world.ctx(), None, &change())
            .unwrap_err()
            .kind,
        FailureKind::Refused
    );
    let revision = revise_document(&world.ctx(), None).unwrap();
    edit_document(&world.ctx(), Some(&revision.document), &change()).unwrap();
    let plan = show_document(&world.ctx(), Some(&made.document)).unwrap();
    assert!(!plan.text.contains("MUST be fast"));
}

#[test]
fn freezing_an_incomplete_plan_is_refused_with_its_problems() {
    let world = World::new();
    create_document(&world.ctx(), "Search").unwrap();
    assert!(!validate_plan(&world.ctx(), None).unwrap().complete);
    let refused = freeze_plan(&world.ctx(), None).unwrap_err();
    let steps = refused.next_steps.join("\n");
    assert!(steps.contains("there is no milestone yet"), "{steps}");
}

#[test]
fn only_a_person_freezes_where_only_people_approve() {
    let mut world = World::new();
    create_document(&world.ctx(), "Search").unwrap();
    world.fill_document();
    world.policy.approval = ApprovalPolicy::Human;
    assert_eq!(
        freeze_plan(&world.agent("s"), None).unwrap_err().kind,
        FailureKind::Refused
    );
    freeze_plan(&world.ctx(), None).unwrap();
}

#[test]
fn a_freeze_cannot_be_undone() {
    let world = World::new();
    let made = create_document(&world.ctx(), "Search").unwrap();
    world.freeze(&made.document);
    assert_eq!(
        undo_operations(&world.ctx(), UndoTarget::Newest)
            .unwrap_err()
            .kind,
        FailureKind::Refused
    );
}

#[test]
fn a_document_edited_by_hand_is_not_overwritten_by_a_command() {
    let world = World::new();
    let made = create_document(&world.ctx(), "Search").unwrap();
    let text = world.files.text(&made.file_path).unwrap();
    let edited = text.replace("\"Search\"", "\"Search, by hand\"");
    assert_ne!(edited, text);
    world.files.edit(&made.file_path, &edited);
    let change = PlanChange::AddDecision {
        decision: "BM25".to_owned(),
        reasoning: "MUST be fast".to_owned(),
    };
    assert!(edit_document(&world.ctx(), None, &DocumentEdit::One(Box::new(change))).is_err());
    assert_eq!(world.files.text(&made.file_path), Some(edited));
}
