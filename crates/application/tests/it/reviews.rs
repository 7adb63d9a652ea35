//! What only a person decides in a review, and what stays when something goes wrong on the way.

use application::FailureKind;
use application::plan_documents::create::create;
use application::plan_documents::edit::{Edit, edit};
use application::reviews::accept::accept;
use application::reviews::add::{CheckRequest, add};
use application::reviews::conclude::conclude;
use application::reviews::judge::{VerdictRequest, judge};
use application::reviews::status::{escalated, status};
use domain::review::{Concluded, LoopState, ResolutionKind, Severity, Verdict};

use crate::world::World;

fn fail(world: &World, item: &str) {
    let verdict = Verdict::Fail {
        finding: "no".to_owned(),
    };
    let request = VerdictRequest {
        of: Some("prose".to_owned()),
        item: item.to_owned(),
        verdict,
        version: None,
        cost: 0,
    };
    judge(&world.ctx(), &request).unwrap();
}

#[test]
fn a_person_accepts_or_sends_back_what_was_escalated() {
    let mut world = World::new();
    world.policy.review.cap = 1;
    let request = CheckRequest {
        of: Some("prose".to_owned()),
        scope: String::new(),
        check: "POV".to_owned(),
        severity: Severity::Must,
        authors: Vec::new(),
    };
    add(&world.ctx(), &request).unwrap();
    fail(&world, "qa-001");
    let concluded = |world: &World| {
        conclude(&world.ctx(), Some("prose"), None)
            .unwrap()
            .concluded
    };
    assert_eq!(
        concluded(&world),
        Concluded::NeedsPerson {
            escalated: vec!["qa-001".to_owned()]
        }
    );
    assert_eq!(escalated(&world.ctx()).unwrap().len(), 1);
    // The world acts as a person: a FAIL on what waits for them sends it back.
    fail(&world, "qa-001");
    assert_eq!(
        concluded(&world),
        Concluded::Retry {
            iteration: 2,
            blocking: vec!["qa-001".to_owned()]
        }
    );
    fail(&world, "qa-001");
    assert!(matches!(concluded(&world), Concluded::NeedsPerson { .. }));
    let shown = status(&world.ctx(), Some("prose")).unwrap();
    let version = shown.items[0].version;
    let late = accept(
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
    let late = conclude(&world.ctx(), Some("prose"), Some(shown.iteration - 1)).unwrap_err();
    assert_eq!(
        late.kind,
        FailureKind::Conflict,
        "concluded since it was shown: {late}"
    );
    let outcome = accept(
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
        Concluded::Complete {
            accepted: vec!["qa-001".to_owned()]
        }
    );
    assert_eq!(
        status(&world.ctx(), Some("prose")).unwrap().state,
        LoopState::Complete
    );
}

#[test]
fn a_plan_that_would_not_be_read_again_is_not_written() {
    let mut world = World::new();
    create(&world.ctx(), "Add search").unwrap();
    let path = ".throughline/plans/add-search/plan.json";
    let before = world.files.text(path).unwrap();
    world.policy.max_plan_bytes = before.len() as u64 + 10;
    let change = domain::plan_document::Change::AddDecision {
        decision: "d".repeat(50),
        reasoning: "r".to_owned(),
    };
    let failure = edit(&world.ctx(), None, &Edit::One(Box::new(change))).unwrap_err();
    assert!(
        failure.message.contains("more than policy.max_plan_bytes"),
        "{failure}"
    );
    assert_eq!(world.files.text(path).unwrap(), before);
    let state = world.store.read().unwrap();
    assert_eq!(
        state.operations(None, 10).unwrap().len(),
        1,
        "nothing but the document's making is recorded"
    );
}
