//! Claims: leases that exclude other sessions, expire, and are fenced by their token.

use application::claim_node::{ReleaseRequest, claim_node, list_claims, release_node};
use application::move_focus::{FocusMove, move_focus};
use application::next_work::list_next_work;
use application::set_priority::set_priority;
use application::set_progress::{ProgressRequest, set_progress};
use application::tickets::{set_phase, set_work_level};
use application::{Context, Failure, FailureKind};
use domain::node::Progress;
use domain::work::work_level::WorkLevel;

use crate::world::{World, assert_refused, words};

fn claim(ctx: &Context<'_>, node: &str) -> Result<u64, Failure> {
    claim_node(ctx, &words(node)).map(|claim| claim.token)
}

fn release(ctx: &Context<'_>, node: &str, token: Option<u64>) -> Result<(), Failure> {
    let request = ReleaseRequest {
        node: words(node),
        token,
    };
    release_node(ctx, &request).map(drop)
}

#[test]
fn a_claimed_node_is_refused_to_another_session_and_named_with_its_holder() {
    let world = World::with_tickets();
    claim(&world.agent("one"), "017a").unwrap();
    assert_refused(
        claim(&world.agent("two"), "017a"),
        FailureKind::Refused,
        "one",
    );
}

#[test]
fn a_claim_protects_progress_phase_size_and_priority() {
    let world = World::with_tickets();
    claim(&world.agent("one"), "017").unwrap();
    let change = |session: &str| {
        let (ctx, node) = (world.agent(session), words("017a"));
        let request = ProgressRequest {
            node: node.clone(),
            progress: Progress::Active,
        };
        [
            set_progress(&ctx, &request).map(drop),
            set_phase(&ctx, &node, "implement", None).map(drop),
            set_work_level(&ctx, &node, Some(WorkLevel::Patch), None).map(drop),
            set_priority(&ctx, &node, "high").map(drop),
        ]
    };
    for refused in change("two") {
        assert_refused(
            refused,
            FailureKind::Refused,
            "`017` is claimed by another session",
        );
    }
    assert!(change("one").iter().all(Result::is_ok));
}

#[test]
fn a_claim_covers_what_is_below_and_conflicts_with_what_is_above() {
    let world = World::with_tickets();
    claim(&world.agent("one"), "017").unwrap();
    assert_refused(
        claim(&world.agent("two"), "017a"),
        FailureKind::Refused,
        "one",
    );
    release(&world.agent("one"), "017", None).unwrap();
    claim(&world.agent("one"), "017a").unwrap();
    assert_refused(
        claim(&world.agent("two"), "017"),
        FailureKind::Refused,
        "017/017a",
    );
}

#[test]
fn renewing_a_claim_keeps_its_token_and_extends_the_lease() {
    let world = World::with_tickets();
    let ctx = world.agent("one");
    let first = claim_node(&ctx, &words("017a")).unwrap();
    world.clock.advance_seconds(600);
    let second = claim_node(&ctx, &words("017a")).unwrap();
    assert_eq!(second.token, first.token);
    assert!(second.until > first.until);
}

#[test]
fn an_expired_claim_is_free_and_the_next_holder_has_a_higher_token() {
    let world = World::with_tickets();
    let first = claim(&world.agent("one"), "017a").unwrap();
    world.clock.advance_seconds(31 * 60);
    assert!(list_claims(&world.ctx()).unwrap().is_empty());
    let second = claim(&world.agent("two"), "017a").unwrap();
    assert!(second > first, "{second} is not above {first}");
}

#[test]
fn activity_of_the_session_extends_its_lease() {
    let world = World::with_tickets();
    let one = world.agent("one");
    claim(&one, "017a").unwrap();
    world.clock.advance_seconds(20 * 60);
    // Any move of the session is a heartbeat.
    let enter = FocusMove::Enter {
        node: words("017a"),
        claim: false,
    };
    move_focus(&one, &enter).unwrap();
    world.clock.advance_seconds(20 * 60);
    assert_refused(
        claim(&world.agent("two"), "017a"),
        FailureKind::Refused,
        "one",
    );
    world.clock.advance_seconds(20 * 60);
    claim(&world.agent("two"), "017a").unwrap();
}

#[test]
fn a_late_release_with_an_old_token_does_not_end_the_newer_claim() {
    let world = World::with_tickets();
    let one = world.agent("one");
    let old = claim(&one, "017a").unwrap();
    release(&one, "017a", Some(old)).unwrap();
    let new = claim(&one, "017a").unwrap();
    assert_refused(
        release(&one, "017a", Some(old)),
        FailureKind::Refused,
        &new.to_string(),
    );
    assert_eq!(list_claims(&one).unwrap().len(), 1);
}

#[test]
fn another_agent_cannot_release_a_claim_and_a_person_can() {
    let world = World::with_tickets();
    claim(&world.agent("one"), "017a").unwrap();
    assert_refused(
        release(&world.agent("two"), "017a", None),
        FailureKind::Refused,
        "one",
    );
    release(&world.ctx(), "017a", None).unwrap();
    claim(&world.agent("two"), "017a").unwrap();
}

#[test]
fn releasing_what_is_not_claimed_is_refused() {
    let world = World::with_tickets();
    assert_refused(
        release(&world.agent("one"), "017a", None),
        FailureKind::Refused,
        "017/017a",
    );
}

#[test]
fn claimed_work_is_not_offered_to_other_sessions() {
    let world = World::with_tickets();
    let ready = |ctx: &Context<'_>| -> Vec<String> {
        let found = list_next_work(ctx, usize::MAX).unwrap().ready;
        found.into_iter().map(|node| node.path).collect()
    };
    assert_eq!(ready(&world.agent("two")), ["017/017a"]);
    claim(&world.agent("one"), "017").unwrap();
    assert_eq!(ready(&world.agent("two")), Vec::<String>::new());
    assert_eq!(ready(&world.agent("one")), ["017/017a"]);
}

#[test]
fn entering_a_node_that_another_session_claimed_is_refused() {
    let world = World::with_tickets();
    claim(&world.agent("one"), "017").unwrap();
    let enter = FocusMove::Enter {
        node: words("017a"),
        claim: false,
    };
    assert_refused(
        move_focus(&world.agent("two"), &enter),
        FailureKind::Refused,
        "`017/017a` is claimed by one",
    );
}

#[test]
fn entering_with_a_claim_claims_the_node_in_the_same_step() {
    let world = World::with_tickets();
    let enter = FocusMove::Enter {
        node: words("017a"),
        claim: true,
    };
    move_focus(&world.agent("one"), &enter).unwrap();
    let claims = list_claims(&world.ctx()).unwrap();
    assert_eq!(
        (claims[0].node.as_str(), claims[0].session.as_str()),
        ("017/017a", "one")
    );
}
