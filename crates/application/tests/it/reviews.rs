//! What only a person decides in a review, and what stays when something goes wrong on the way.

use application::FailureKind;
use application::plan_documents::create::create_document;
use application::plan_documents::edit::{DocumentEdit, edit_document};
use application::reviews::accept::accept_finding;
use application::reviews::add::{CheckRequest, add_check};
use application::reviews::conclude::conclude_iteration;
use application::reviews::judge::{VerdictRequest, record_verdict};
use application::reviews::status::{list_escalated, show_review};
use domain::review::{CheckSeverity, CheckVerdict, IterationOutcome, LoopState, ResolutionKind};

use crate::world::World;

fn fail(world: &World, item: &str) {
    let verdict = CheckVerdict::Fail {
        finding: "no".to_owned(),
    };
    let request = VerdictRequest {
        of: Some("prose".to_owned()),
        item: item.to_owned(),
        verdict,
        version: None,
        cost: 0,
    };
    record_verdict(&world.ctx(), &request).unwrap();
}

#[test]
fn a_person_accepts_or_sends_back_what_was_escalated() {
    let mut world = World::new();
    world.policy.review.cap = 1;
    let request = CheckRequest {
        of: Some("prose".to_owned()),
        scope: String::new(),
        check: "POV".to_owned(),
        severity: CheckSeverity::Must,
        authors: Vec::new(),
    };
    add_check(&world.ctx(), &request).unwrap();
    fail(&world, "qa-001");
    let concluded = |world: &World| {
        conclude_iteration(&world.ctx(), Some("prose"), None)
            .unwrap()
            .concluded
    };
    assert_eq!(
        concluded(&world),
        IterationOutcome::NeedsPerson {
            escalated: vec!["qa-001".to_owned()]
        }
    );
    assert_eq!(list_escalated(&world.ctx()).unwrap().len(), 1);
    // The world acts as a person: a FAIL on what waits for them sends it back.
    fail(&world, "qa-001");
    assert_eq!(
        concluded(&world),
        IterationOutcome::Retry {
            iteration: 2,
            blocking: vec!["qa-001".to_owned()]
        }
    );
    fail(&world, "qa-001");
    assert!(matches!(
        concluded(&world),
        IterationOutcome::NeedsPerson { .. }
    ));
    let shown = show_review(&world.ctx(), Some("prose")).unwrap();
    let version = shown.items[0].version;
    let late = accept_finding(
        &world.ctx(),
        Some("prose"),
        "qa-001",
        "known",
        Some(version - 1),
    )
    .unwrap_err();
    assert_eq!(
        late.kind,
        FailureKind::Conflict,
        "judged since it was shown: {late}"
    );
    let late =
        conclude_iteration(&world.ctx(), Some("prose"), Some(shown.iteration - 1)).unwrap_err();
    assert_eq!(
        late.kind,
        FailureKind::Conflict,
        "concluded since it was shown: {late}"
    );
    let outcome = accept_finding(
        &world.ctx(),
        Some("prose"),
        "qa-001",
        "the reader will know",
        Some(version),
    )
    .unwrap();
    let resolution = outcome.item.resolution.unwrap();
    assert_eq!(
        (resolution.kind, resolution.by.to_string().as_str()),
        (ResolutionKind::Accepted, "human:Ада")
    );
    assert_eq!(
        concluded(&world),
        IterationOutcome::Complete {
            accepted: vec!["qa-001".to_owned()]
        }
    );
    assert_eq!(
        show_review(&world.ctx(), Some("prose")).unwrap().state,
        LoopState::Complete
    );
}

#[test]
fn a_plan_that_would_not_be_read_again_is_not_written() {
    let mut world = World::new();
    create_document(&world.ctx(), "Add search").unwrap();
    let path = ".throughline/plans/add-search/plan.json";
    let before = world.files.text(path).unwrap();
    world.policy.max_plan_bytes = before.len() as u64 + 10;
    let change = domain::plan_document::PlanChange::AddDecision {
        decision: "d".repeat(50),
        reasoning: "r".to_owned(),
    };
    let failure =
        edit_document(&world.ctx(), None, &DocumentEdit::One(Box::new(change))).unwrap_err();
    assert!(
        failure.message.contains("more than policy.max_plan_bytes"),
        "{failure}"
    );
    assert_eq!(world.files.text(path).unwrap(), before);
    let state = world.store.begin_read().unwrap();
    assert_eq!(
        state.load_operations(None, 10).unwrap().len(),
        1,
        "nothing but the document's making is recorded"
    );
}
