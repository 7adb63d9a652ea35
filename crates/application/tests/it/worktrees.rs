//! Use cases of sessions in two worktrees: each has a store of its own, both share the
//! coordination.

use application::claim_node::{ReleaseRequest, claim_node, list_claims, release_node};
use application::next_work::list_next_work;
use application::project_status::load_project_status;
use application::tickets::{NewTicket, create_ticket};
use application::undo::{UndoTarget, undo_operations};
use application::{Context, FailureKind, Notice};
use domain::ids::OperationId;

use crate::fake_coordination::{DatabaseState, FakeCoordination, FakeRepository};
use crate::world::{World, assert_refused, words};

/// Two worktrees of one repository: each with its project and its view of the coordination.
struct Worktrees<'r> {
    here: (World, FakeCoordination<'r>),
    there: (World, FakeCoordination<'r>),
}

impl<'r> Worktrees<'r> {
    fn of(repository: &'r FakeRepository) -> Self {
        let worktree = |folder| {
            (
                World::with_tickets(),
                FakeCoordination { repository, folder },
            )
        };
        Self {
            here: worktree("/here"),
            there: worktree("/there"),
        }
    }

    fn here(&self, session: &str) -> Context<'_> {
        self.here.0.agent(session).with_coordination(&self.here.1)
    }

    fn there(&self, session: &str) -> Context<'_> {
        self.there.0.agent(session).with_coordination(&self.there.1)
    }
}

fn release(node: &str, token: Option<u64>) -> ReleaseRequest {
    ReleaseRequest {
        node: words(node),
        token,
    }
}

#[test]
fn a_claim_excludes_sessions_of_other_worktrees_and_names_its_place() {
    let repository = FakeRepository::default();
    let worktrees = Worktrees::of(&repository);
    claim_node(&worktrees.here("one"), &words("017a")).unwrap();
    for node in ["017a", "017"] {
        assert_refused(
            claim_node(&worktrees.there("two"), &words(node)),
            FailureKind::Refused,
            "`017/017a` is claimed by one (/here, branch branch-of-here)",
        );
    }
    let ready = |ctx: &Context<'_>| list_next_work(ctx, usize::MAX).unwrap().ready.len();
    assert_eq!(
        (
            ready(&worktrees.there("two")),
            ready(&worktrees.here("one"))
        ),
        (0, 1)
    );
    assert_eq!(list_claims(&worktrees.there("two")).unwrap().len(), 1);
}

#[test]
fn what_another_worktree_released_is_free_here_whatever_the_local_record_says() {
    let repository = FakeRepository::default();
    let worktrees = Worktrees::of(&repository);
    let first = claim_node(&worktrees.here("one"), &words("017a")).unwrap();
    // The same session name in another worktree is another holder; a person may release anything.
    assert_refused(
        release_node(&worktrees.there("one"), &release("017a", Some(first.token))),
        FailureKind::Refused,
        "not by this session",
    );
    let person = worktrees
        .there
        .0
        .ctx()
        .with_coordination(&worktrees.there.1);
    release_node(&person, &release("017a", Some(first.token))).unwrap();
    assert!(list_claims(&worktrees.here("two")).unwrap().is_empty());
    let second = claim_node(&worktrees.here("two"), &words("017a")).unwrap();
    assert!(second.token > first.token);
    assert_refused(
        release_node(&worktrees.here("two"), &release("017a", Some(first.token))),
        FailureKind::Refused,
        "has expired",
    );
}

#[test]
fn subagents_with_one_session_id_in_two_worktrees_do_not_share_a_claim() {
    let repository = FakeRepository::default();
    let worktrees = Worktrees::of(&repository);
    claim_node(&worktrees.here("parent"), &words("017a")).unwrap();
    assert_refused(
        claim_node(&worktrees.there("parent"), &words("017a")),
        FailureKind::Refused,
        "parent (/here",
    );
    claim_node(&worktrees.here("parent"), &words("017a")).unwrap();
}

#[test]
fn an_expired_claim_of_another_worktree_is_neither_listed_nor_in_the_way() {
    let repository = FakeRepository::default();
    let worktrees = Worktrees::of(&repository);
    claim_node(&worktrees.there("one"), &words("017a")).unwrap();
    worktrees.here.0.clock.advance_seconds(31 * 60);
    assert!(list_claims(&worktrees.here("two")).unwrap().is_empty());
    claim_node(&worktrees.here("two"), &words("017a")).unwrap();
}

#[test]
fn without_write_access_a_claim_holds_in_this_worktree_and_says_so() {
    let repository = FakeRepository::default();
    let worktrees = Worktrees::of(&repository);
    repository.state.set(DatabaseState::ReadOnly);
    let one = worktrees.here("one");
    claim_node(&one, &words("017a")).unwrap();
    assert!(
        one.take_notices()
            .iter()
            .any(|notice| matches!(notice, Notice::NotShared { .. }))
    );
    assert_refused(
        claim_node(&worktrees.here("two"), &words("017a")),
        FailureKind::Refused,
        "one",
    );
    // Once it can be written again, the claim made meanwhile still counts here.
    repository.state.set(DatabaseState::Usable);
    assert_refused(
        claim_node(&worktrees.here("two"), &words("017a")),
        FailureKind::Refused,
        "one",
    );
}

#[test]
fn a_locked_coordination_fails_the_claim_instead_of_giving_the_node_twice() {
    let repository = FakeRepository::default();
    let worktrees = Worktrees::of(&repository);
    claim_node(&worktrees.there("one"), &words("017a")).unwrap();
    repository.state.set(DatabaseState::Locked);
    let failure = claim_node(&worktrees.here("two"), &words("017a")).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unavailable);
    assert!(!failure.needs_runner(), "{failure:?}");
}

#[test]
fn undoing_a_claim_ends_it_everywhere_and_undoing_a_release_takes_it_again() {
    let repository = FakeRepository::default();
    let worktrees = Worktrees::of(&repository);
    let undo = |operation: Option<OperationId>| {
        let target = UndoTarget::Operation(operation.unwrap());
        undo_operations(&worktrees.here("one"), target).unwrap();
    };
    let claimed = claim_node(&worktrees.here("one"), &words("017a")).unwrap();
    undo(claimed.operation);
    assert!(list_claims(&worktrees.there("two")).unwrap().is_empty());
    claim_node(&worktrees.here("one"), &words("017a")).unwrap();
    let released = release_node(&worktrees.here("one"), &release("017a", None)).unwrap();
    undo(released.operation);
    assert_eq!(list_claims(&worktrees.there("two")).unwrap().len(), 1);
}

#[test]
fn new_tickets_of_two_worktrees_get_different_ids() {
    let repository = FakeRepository::default();
    let worktrees = Worktrees::of(&repository);
    let new = |title: &str, id: Option<&str>| NewTicket {
        title: title.to_owned(),
        id: id.map(str::to_owned),
        parent: None,
        kind: "task".to_owned(),
        ..NewTicket::with_title("")
    };
    let first = create_ticket(&worktrees.here("one"), &new("First", None)).unwrap();
    let second = create_ticket(&worktrees.there("two"), &new("Second", None)).unwrap();
    assert_eq!((first.id.as_str(), second.id.as_str()), ("018", "019"));
    assert_refused(
        create_ticket(&worktrees.there("two"), &new("Third", Some("018"))),
        FailureKind::Conflict,
        "reserved in another worktree",
    );
}

#[test]
fn status_names_the_sessions_of_other_worktrees_with_what_they_hold() {
    let repository = FakeRepository::default();
    let worktrees = Worktrees::of(&repository);
    claim_node(&worktrees.there("two"), &words("017a")).unwrap();
    let others = load_project_status(&worktrees.here("one"))
        .unwrap()
        .other_sessions;
    let lines: Vec<String> = others.iter().map(|one| one.render_line()).collect();
    assert_eq!(
        lines,
        ["two · in /there on branch-of-there · holds 017/017a"]
    );
    assert!(
        load_project_status(&worktrees.there("two"))
            .unwrap()
            .other_sessions
            .is_empty()
    );
}
