//! Reviews come to an end, and no MUST is dropped on the way.

use domain::ids::Principal;
use domain::policy::{ReviewPolicy, ReviewerPolicy};
use domain::review::{
    CheckSeverity, CheckVerdict, ItemStatus, IterationOutcome, LoopState, ResolutionKind, Review,
    ReviewActor, ReviewRefused, render_review_file,
};
use proptest::prelude::*;
use testkit::timestamp;

fn agent(session: &str) -> Principal {
    Principal::Agent {
        host: "codex".to_owned(),
        session: session.to_owned(),
    }
}

fn person() -> Principal {
    Principal::Human("Ада".to_owned())
}

fn said(by: &Principal) -> ReviewActor<'_> {
    ReviewActor {
        by,
        at: timestamp(1),
    }
}

fn fail() -> CheckVerdict {
    CheckVerdict::Fail {
        finding: "wrong".to_owned(),
    }
}

/// A review with one check of each severity.
fn three(policy: &ReviewPolicy) -> Review {
    let mut review = Review::start_review("doc/plan-design", Vec::new(), policy);
    for severity in CheckSeverity::ALL {
        review
            .add_check("*", "is it right?", severity, said(&agent("r")), policy)
            .unwrap();
    }
    review
}

fn judge_all(review: &mut Review, verdict: &CheckVerdict, policy: &ReviewPolicy) {
    let waiting: Vec<String> = review
        .unjudged_items()
        .iter()
        .map(|item| item.id.clone())
        .collect();
    for id in waiting {
        review
            .record_verdict(&id, verdict.clone(), None, 0, said(&agent("r")), policy)
            .unwrap();
    }
}

/// Invariant 6: which severities stop the work in which iteration.
#[test]
fn severities_block_by_iteration() {
    for iteration in 1..20 {
        let blocking: Vec<CheckSeverity> = CheckSeverity::ALL
            .into_iter()
            .filter(|it| it.blocks_in(iteration))
            .collect();
        let expected: &[CheckSeverity] = match iteration {
            1 | 2 => &[
                CheckSeverity::Must,
                CheckSeverity::Should,
                CheckSeverity::Could,
            ],
            3 | 4 => &[CheckSeverity::Must, CheckSeverity::Should],
            _ => &[CheckSeverity::Must],
        };
        assert_eq!(blocking, expected, "iteration {iteration}");
    }
}

#[test]
fn a_stubborn_reviewer_is_heard_and_the_loop_ends() {
    let policy = ReviewPolicy::default();
    let mut review = three(&policy);
    let mut way = Vec::new();
    loop {
        judge_all(&mut review, &fail(), &policy);
        let concluded = review
            .conclude_iteration(said(&agent("o")), &policy)
            .unwrap();
        way.push(match &concluded {
            IterationOutcome::Retry { blocking, .. } => blocking.join(" "),
            IterationOutcome::NeedsPerson { escalated } => {
                format!("person: {}", escalated.join(" "))
            }
            IterationOutcome::Complete { .. } => "complete".to_owned(),
        });
        if !matches!(concluded, IterationOutcome::Retry { .. }) {
            break;
        }
    }
    assert_eq!(
        way,
        [
            "qa-001 qa-002 qa-003",
            "qa-001 qa-002 qa-003",
            "qa-001 qa-002",
            "qa-001 qa-002",
            "person: qa-001"
        ]
    );
    assert_eq!(review.state, LoopState::Retry);
    // A person sends it back: one more iteration, and it comes back to them.
    review
        .record_verdict("qa-001", fail(), None, 0, said(&person()), &policy)
        .unwrap();
    assert!(matches!(
        review.conclude_iteration(said(&agent("o")), &policy),
        Ok(IterationOutcome::Retry { iteration: 6, .. })
    ));
    judge_all(&mut review, &fail(), &policy);
    assert!(matches!(
        review.conclude_iteration(said(&agent("o")), &policy),
        Ok(IterationOutcome::NeedsPerson { .. })
    ));
    assert_eq!(
        review.accept_finding("qa-001", "known", said(&agent("o"))),
        Err(ReviewRefused::NotAPerson { by: agent("o") })
    );
    assert_eq!(
        review.accept_finding("qa-001", " ", said(&person())),
        Err(ReviewRefused::NoReason)
    );
    review
        .accept_finding("qa-001", "ships next week", said(&person()))
        .unwrap();
    let Ok(IterationOutcome::Complete { accepted }) =
        review.conclude_iteration(said(&agent("o")), &policy)
    else {
        panic!("{review:?}")
    };
    assert_eq!(accepted, ["qa-001", "qa-002", "qa-003"]);
    assert_eq!(review.state, LoopState::Complete);
    assert!(review.items.iter().all(|item| {
        item.resolution
            .as_ref()
            .is_some_and(|it| !it.reason.is_empty())
    }));
    assert_eq!(
        review
            .find_item("qa-001")
            .unwrap()
            .resolution
            .as_ref()
            .unwrap()
            .by,
        person()
    );
}

#[test]
fn mended_work_passes() {
    let policy = ReviewPolicy::default();
    let mut review = three(&policy);
    judge_all(&mut review, &fail(), &policy);
    assert!(matches!(
        review.conclude_iteration(said(&agent("o")), &policy),
        Ok(IterationOutcome::Retry { iteration: 2, .. })
    ));
    judge_all(&mut review, &CheckVerdict::Pass, &policy);
    assert_eq!(
        review.conclude_iteration(said(&agent("o")), &policy),
        Ok(IterationOutcome::Complete {
            accepted: Vec::new()
        })
    );
    assert!(matches!(
        review.conclude_iteration(said(&agent("o")), &policy),
        Err(ReviewRefused::Complete { .. })
    ));
    assert!(matches!(
        review.record_verdict(
            "qa-001",
            CheckVerdict::Pass,
            None,
            0,
            said(&agent("r")),
            &policy
        ),
        Err(ReviewRefused::Complete { .. })
    ));
}

#[test]
fn every_refusal_says_why() {
    let policy = ReviewPolicy {
        reviewer: ReviewerPolicy::Other,
        ..ReviewPolicy::default()
    };
    let mut review = Review::start_review("prose", vec![agent("w")], &policy);
    let by = agent("r");
    assert!(matches!(
        review.conclude_iteration(said(&by), &policy),
        Err(ReviewRefused::NoItems { .. })
    ));
    assert_eq!(
        review.add_check("*", " ", CheckSeverity::Must, said(&by), &policy),
        Err(ReviewRefused::NoCheck)
    );
    assert_eq!(
        review.add_check("*", "c", CheckSeverity::Must, said(&agent("w")), &policy),
        Err(ReviewRefused::Author { by: agent("w") })
    );
    review
        .add_check("", "c", CheckSeverity::Must, said(&by), &policy)
        .unwrap();
    assert_eq!(review.find_item("qa-001").unwrap().scope, "*");
    assert!(matches!(
        review.conclude_iteration(said(&by), &policy),
        Err(ReviewRefused::NotJudged { .. })
    ));
    let judge = |review: &mut Review, id: &str, verdict: CheckVerdict, version, by: &Principal| {
        review.record_verdict(id, verdict, version, 0, said(by), &policy)
    };
    assert!(matches!(
        judge(&mut review, "qa-009", fail(), None, &by),
        Err(ReviewRefused::NoSuchItem { .. })
    ));
    assert!(matches!(
        judge(&mut review, "qa-001", fail(), None, &agent("w")),
        Err(ReviewRefused::Author { .. })
    ));
    let empty = CheckVerdict::Fail {
        finding: " ".to_owned(),
    };
    assert_eq!(
        judge(&mut review, "qa-001", empty, None, &by),
        Err(ReviewRefused::NoFinding)
    );
    assert!(matches!(
        judge(&mut review, "qa-001", fail(), Some(7), &by),
        Err(ReviewRefused::AnotherVersion {
            is: 1,
            given: 7,
            ..
        })
    ));
    assert!(matches!(
        review.accept_finding("qa-001", "x", said(&person())),
        Err(ReviewRefused::NothingToAccept { .. })
    ));
    judge(&mut review, "qa-001", fail(), Some(1), &by).unwrap();
    judge(&mut review, "qa-001", fail(), Some(2), &by).unwrap();
    assert_eq!(
        review.find_item("qa-001").unwrap().fail_count,
        1,
        "it failed once in this iteration"
    );
    review
        .accept_finding("qa-001", "x", said(&person()))
        .unwrap();
    assert!(matches!(
        judge(&mut review, "qa-001", fail(), None, &by),
        Err(ReviewRefused::Accepted { .. })
    ));
}

#[test]
fn a_spent_budget_ends_it_and_a_person_can_go_on() {
    let policy = ReviewPolicy {
        budget: 100,
        ..ReviewPolicy::default()
    };
    let mut review = three(&policy);
    for id in ["qa-001", "qa-002", "qa-003"] {
        review
            .record_verdict(id, fail(), None, 40, said(&agent("r")), &policy)
            .unwrap();
    }
    let concluded = review
        .conclude_iteration(said(&agent("o")), &policy)
        .unwrap();
    assert_eq!(
        concluded,
        IterationOutcome::NeedsPerson {
            escalated: vec!["qa-001".to_owned()]
        }
    );
    assert!(
        review
            .find_item("qa-002")
            .unwrap()
            .resolution
            .as_ref()
            .unwrap()
            .reason
            .contains("120 of its budget of 100")
    );
    review
        .record_verdict("qa-001", fail(), None, 0, said(&person()), &policy)
        .unwrap();
    assert!(matches!(
        review.conclude_iteration(said(&agent("o")), &policy),
        Ok(IterationOutcome::Retry { .. })
    ));
}

#[test]
fn the_file_shows_what_the_review_holds() {
    let policy = ReviewPolicy::default();
    let mut review = three(&policy);
    review
        .record_verdict("qa-001", fail(), None, 0, said(&agent("r")), &policy)
        .unwrap();
    let value: serde_json::Value =
        serde_json::from_str(&render_review_file("plan-design", &review)).unwrap();
    assert_eq!(value["schema_version"], "1.0");
    assert_eq!(value["phase"], "plan-design");
    let item = &value["items"][0];
    assert_eq!(
        (
            &item["id"],
            &item["severity"],
            &item["status"],
            &item["finding"],
            &item["fail_count"]
        ),
        (
            &"qa-001".into(),
            &"MUST".into(),
            &"FAIL".into(),
            &"wrong".into(),
            &1.into()
        )
    );
    assert_eq!(value["items"][1]["status"], "TODO");
}

/// How a reviewer behaves in one iteration.
#[derive(Clone, Debug)]
struct Round {
    /// For each check in turn: does it fail?
    fails: Vec<bool>,
    /// Checks that are added before judging.
    new: Vec<CheckSeverity>,
    cost: u64,
    /// Says everything twice, and changes its mind about what passed.
    fickle: bool,
}

fn severity() -> impl Strategy<Value = CheckSeverity> {
    prop_oneof![
        Just(CheckSeverity::Must),
        Just(CheckSeverity::Should),
        Just(CheckSeverity::Could)
    ]
}

fn rounds() -> impl Strategy<Value = Vec<Round>> {
    // Three kinds of reviewers: stubborn ones fail everything, lazy ones pass everything, the rest throw dice.
    let fails = prop_oneof![
        Just(vec![true; 8]),
        Just(vec![false; 8]),
        prop::collection::vec(any::<bool>(), 8..9),
    ];
    let round = (
        fails,
        prop::collection::vec(severity(), 0..3),
        0..50_u64,
        any::<bool>(),
    )
        .prop_map(|(fails, new, cost, fickle)| Round {
            fails,
            new,
            cost,
            fickle,
        });
    prop::collection::vec(round, 1..6)
}

fn policies() -> impl Strategy<Value = ReviewPolicy> {
    (0..7_u32, 0..10_u32, 0..400_u64).prop_map(|(cap, max_iterations, budget)| ReviewPolicy {
        cap,
        max_iterations,
        budget,
        ..ReviewPolicy::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Regardless of the reviewers, stubborn or not, adding checks or not: a review makes at most `max_iterations` conclusions by itself.
    /// Then it is complete, or waits for a person and for MUST findings only. Every MUST that ever failed is passed by a
    /// later verdict, waits for a person, or was accepted by one; everything else that failed has a recorded reason.
    #[test]
    fn a_review_ends_and_drops_nothing(rounds in rounds(), first in prop::collection::vec(severity(), 1..5), policy in policies()) {
        let bound = policy.max_iterations.max(1);
        let reviewer = agent("r");
        let mut review = Review::start_review("anything", Vec::new(), &policy);
        for severity in first {
            review.add_check("*", "c", severity, said(&reviewer), &policy).unwrap();
        }
        let mut ever_failed: std::collections::BTreeSet<String> = std::collections::BTreeSet::new();
        let mut conclusions = 0;
        let ended = loop {
            let round = &rounds[conclusions as usize % rounds.len()];
            for severity in &round.new {
                review.add_check("*", "another one", *severity, said(&reviewer), &policy).unwrap();
            }
            let items: Vec<(usize, String, ItemStatus)> =
                review.items.iter().enumerate().map(|(at, item)| (at, item.id.clone(), item.status)).collect();
            for (at, id, status) in items {
                if status != ItemStatus::Todo && !round.fickle {
                    continue;
                }
                let fails = round.fails[at % round.fails.len()];
                for _ in 0..if round.fickle { 2 } else { 1 } {
                    let verdict = if fails { fail() } else { CheckVerdict::Pass };
                    let judged = review.record_verdict(&id, verdict, None, round.cost, said(&reviewer), &policy);
                    if fails && judged.is_ok() {
                        ever_failed.insert(id.clone());
                    }
                }
            }
            let iteration = review.iteration;
            let blocked = review.blocking_items().iter().all(|item| item.severity.blocks_in(iteration));
            prop_assert!(blocked);
            let concluded = review.conclude_iteration(said(&agent("o")), &policy).unwrap();
            conclusions += 1;
            prop_assert!(conclusions <= bound, "{conclusions} conclusions, at most {bound}");
            match concluded {
                IterationOutcome::Retry { iteration: next, blocking } => {
                    prop_assert_eq!(next, iteration + 1);
                    prop_assert!(!blocking.is_empty());
                }
                ended => break ended,
            }
        };
        match &ended {
            IterationOutcome::Complete { .. } => prop_assert_eq!(review.state, LoopState::Complete),
            IterationOutcome::NeedsPerson { escalated } => {
                prop_assert!(escalated.iter().all(|id| review.find_item(id).unwrap().severity == CheckSeverity::Must));
            }
            IterationOutcome::Retry { .. } => unreachable!("the loop went on"),
        }
        for id in &ever_failed {
            let item = review.find_item(id).unwrap();
            match (item.status, &item.resolution) {
                (ItemStatus::Pass, _) => {}
                (ItemStatus::Fail, Some(resolution)) => {
                    prop_assert!(!resolution.reason.is_empty());
                    if item.severity == CheckSeverity::Must {
                        // Nobody but a person accepts a MUST, and there was none here.
                        prop_assert_eq!(resolution.kind, ResolutionKind::Escalated);
                    }
                }
                // Not decided yet is not dropped: it still fails in a review that waits for a person about another check.
                (ItemStatus::Fail, None) => {
                    let waits = matches!(&ended, IterationOutcome::NeedsPerson { .. });
                    prop_assert!(waits && item.severity != CheckSeverity::Must);
                }
                (ItemStatus::Todo, _) => prop_assert!(false, "{} waits in a review that ended", item.id),
            }
        }
    }
}
