//! Which operations of replicas a server accepts and refuses, regardless of the claimed author.

use application::Context;
use application::accept_operations::accept_operations;
use domain::approval::Approval;
use domain::authorization::{AuthenticatedPrincipal, CredentialKind, Scope};
use domain::cascade::StatusChangeGroup;
use domain::fact::Fact;
use domain::ids::{NodeId, OperationId, StoreId, VersionHash};
use domain::node::{Content, Node, NodeStatus, Progress, Status};
use domain::operation::{Channel, Verb};
use domain::policy::Policy;
use domain::ports::{Clock, NewOperation, Store};
use domain::profile::built_in_profile;
use domain::record::RecordKey;
use domain::sync_protocol::{MAX_CLOCK_SKEW_MS, PushHeader, PushOutcome, SharedNote};
use domain::time::Timestamp;
use domain::version::canonical_hash;
use serde_json::json;
use store::MemoryStore;
use testkit::{FakeClock, FakeFiles, node};

/// A server with an act and a chapter, and a working copy elsewhere with the same history.
struct World {
    server: MemoryStore,
    client: MemoryStore,
    clock: FakeClock,
    act: Node,
}

fn operation(verb: Verb, by: &str, facts: Vec<Fact>) -> NewOperation {
    let texts = vec!["# Act\n".to_owned(), "# Chapter\n".to_owned()];
    let (at, summary) = (Timestamp::from_millis(0), "something".to_owned());
    NewOperation {
        at,
        by: by.into(),
        channel: Channel::Cli,
        verb,
        summary,
        key: None,
        facts,
        texts,
    }
}

fn added(node: &Node) -> Fact {
    Fact::NodeAdded {
        node: Box::new(node.clone()),
    }
}

impl World {
    fn new() -> Self {
        let id = || StoreId("11111111-2222-3333-4444-555555555555".to_owned());
        let act = node(1, None, "act-1", "# Act\n");
        let chapter = node(2, Some(&act), "chapter-01", "# Chapter\n");
        let world = Self {
            server: MemoryStore::new(id()),
            client: MemoryStore::new(id()),
            clock: FakeClock::default(),
            act: act.clone(),
        };
        for store in [&world.server, &world.client] {
            let mut tx = store.begin_write().unwrap();
            tx.record_operation(operation(
                Verb::Observe,
                "system",
                vec![added(&act), added(&chapter)],
            ))
            .unwrap();
            tx.commit().unwrap();
        }
        world
    }

    /// Decides something elsewhere, and returns it as it is sent.
    fn decided(&self, mut new: NewOperation) -> (PushHeader, Vec<String>) {
        if new.at == Timestamp::from_millis(0) {
            new.at = self.clock.now();
        }
        let mut tx = self.client.begin_write().unwrap();
        let after = tx.last_operation_id().unwrap();
        let hash = tx.chain_hash(after).unwrap().unwrap();
        tx.record_operation(new).unwrap();
        let lines = tx.journal_lines(after, usize::MAX).unwrap();
        (
            PushHeader {
                after,
                hash,
                notes: Vec::new(),
            },
            lines,
        )
    }

    fn sent(
        &self,
        admitted: &AuthenticatedPrincipal,
        sending: &PushHeader,
        lines: &[String],
    ) -> Result<PushOutcome, String> {
        let (files, policy) = (FakeFiles::default(), Policy::default());
        let profiles = [built_in_profile("story").unwrap()];
        let actor = admitted.principal.clone();
        let ctx = Context::new(
            &self.server,
            &files,
            &self.clock,
            &profiles,
            &policy,
            actor,
            Channel::Web,
        );
        accept_operations(&ctx, admitted, sending, lines).map_err(|failure| {
            assert!(
                failure.interruption().is_none(),
                "nothing is wrong with the state here: {failure}"
            );
            failure.message
        })
    }

    fn tried(
        &self,
        admitted: &AuthenticatedPrincipal,
        new: NewOperation,
    ) -> Result<PushOutcome, String> {
        let (sending, lines) = self.decided(new);
        self.sent(admitted, &sending, &lines)
    }

    fn head(&self) -> OperationId {
        self.server
            .begin_read()
            .unwrap()
            .last_operation_id()
            .unwrap()
    }
}

fn admitted(principal: &str, scope: Scope) -> AuthenticatedPrincipal {
    AuthenticatedPrincipal {
        principal: principal.into(),
        scope,
        credential: CredentialKind::Token(7),
    }
}

fn person() -> AuthenticatedPrincipal {
    admitted("human:Анна", Scope::Approve)
}

fn agent() -> AuthenticatedPrincipal {
    admitted("agent:ci/1", Scope::Agent)
}

fn progress() -> Fact {
    Fact::ProgressChanged {
        node: NodeId(2),
        before: Progress::Pending,
        after: Progress::Active,
    }
}

fn approval(node: &Node, by: &str) -> Fact {
    let (version, canonical) = (
        node.content.version_hash().unwrap(),
        node.content.canonical_hash().unwrap(),
    );
    let at = Timestamp::from_millis(1);
    let after = Approval::from_record(version, canonical, None, by.into(), at, Vec::new());
    Fact::ApprovalChanged {
        node: node.id,
        before: None,
        after: Some(after),
    }
}

fn approved(id: u32) -> Fact {
    let group = StatusChangeGroup {
        before: NodeStatus::without_cause(Status::Draft),
        after: NodeStatus::without_cause(Status::Approved),
        nodes: vec![NodeId(id)],
    };
    Fact::StandingsChanged {
        groups: vec![group],
    }
}

fn record(by: &str) -> Fact {
    let record = RecordKey {
        kind: "review".to_owned(),
        key: "1".to_owned(),
    };
    Fact::RecordChanged {
        record,
        before: None,
        after: Some(json!({ "decided": { "by": by } })),
    }
}

#[test]
fn what_may_be_done_is_kept_and_sent_again_it_is_kept_once() {
    let world = World::new();
    let facts = vec![approval(&world.act, "human:Анна"), approved(1)];
    let (sending, lines) = world.decided(operation(Verb::Approve, "human:Анна", facts));
    for _ in 0..3 {
        let kept = world.sent(&person(), &sending, &lines);
        assert_eq!(
            kept,
            Ok(PushOutcome::Kept {
                head: OperationId(2)
            })
        );
    }
    assert_eq!(
        world
            .server
            .begin_read()
            .unwrap()
            .load_node(NodeId(1))
            .unwrap()
            .unwrap()
            .status(),
        Status::Approved
    );
    // A second replica, which is slower.
    let conflict = world.tried(
        &agent(),
        operation(Verb::Progress, "agent:ci/2", vec![progress()]),
    );
    assert_eq!(
        conflict,
        Ok(PushOutcome::Conflict {
            head: OperationId(2)
        })
    );
    let elsewhere = PushHeader {
        hash: domain::ids::Digest32::of_bytes(b"another history"),
        ..sending
    };
    assert_eq!(
        world.sent(&person(), &elsewhere, &lines),
        Ok(PushOutcome::Diverged {
            after: OperationId(1)
        })
    );
    assert_eq!(world.head(), OperationId(2));
}

#[test]
fn nobody_goes_further_than_their_token() {
    let world = World::new();
    let act = &world.act;
    let approves = |by: &str| vec![approval(act, by), approved(1)];
    let text = "# Act, but another one\n";
    let forged = Content::Text {
        version: VersionHash::of_bytes(text.as_bytes()),
        canonical: act.content.canonical_hash().unwrap(),
        basis: None,
    };
    let forged = Fact::ContentChanged {
        node: NodeId(1),
        before: act.content.clone(),
        after: forged,
    };
    let unsent = Content::Text {
        version: VersionHash::of_bytes(b"x"),
        canonical: canonical_hash("x"),
        basis: None,
    };
    let unsent = Fact::ContentChanged {
        node: NodeId(1),
        before: act.content.clone(),
        after: unsent,
    };
    let with_text = |facts: Vec<Fact>| NewOperation {
        texts: vec![text.to_owned()],
        ..operation(Verb::Observe, "system", facts)
    };
    let dated = |off: i64| NewOperation {
        at: Timestamp::from_millis(world.clock.now().as_millis() + off),
        ..operation(Verb::Progress, "agent:ci/1", vec![progress()])
    };
    let far = node(900, None, "act-9", "# Act\n");
    let mut approved_node = node(3, None, "act-2", "# Act\n");
    approved_node.standing = NodeStatus::without_cause(Status::Approved);
    for (case, admitted, new, why) in [
        (
            "looks",
            admitted("human:b", Scope::Read),
            operation(Verb::Comment, "human:b", vec![]),
            "this token is read-only",
        ),
        (
            "another person",
            person(),
            operation(Verb::Comment, "human:bob", vec![]),
            "but the token is that of `human:Анна`",
        ),
        (
            "a person",
            agent(),
            operation(Verb::Comment, "human:Анна", vec![]),
            "but the token is that of `agent:ci/1`",
        ),
        (
            "another host",
            agent(),
            operation(Verb::Comment, "agent:cursor/1", vec![]),
            "but the token is that of",
        ),
        (
            "an agent approves",
            agent(),
            operation(Verb::Approve, "agent:ci/1", approves("agent:ci/1")),
            "only a person may decide this",
        ),
        (
            "under another verb",
            agent(),
            operation(Verb::Progress, "agent:ci/1", approves("agent:ci/1")),
            "only a person may decide this",
        ),
        (
            "as the system",
            agent(),
            operation(Verb::Observe, "system", approves("human:Анна")),
            "only a person may decide this",
        ),
        (
            "a person as the system",
            person(),
            operation(Verb::Observe, "system", approves("human:Анна")),
            "only a person may decide this",
        ),
        (
            "her agent",
            person(),
            operation(Verb::Approve, "agent:claude-code/1", approves("human:Анна")),
            "only a person may decide this",
        ),
        (
            "for another",
            person(),
            operation(Verb::Approve, "human:Анна", approves("human:bob")),
            "in the name of `human:bob`",
        ),
        (
            "in a record",
            person(),
            operation(Verb::Comment, "human:Анна", vec![record("human:bob")]),
            "in the name of `human:bob`",
        ),
        (
            "decides",
            agent(),
            operation(Verb::Review, "agent:ci/1", vec![record("human:Анна")]),
            "only a person may decide this",
        ),
        (
            "lets pass",
            agent(),
            operation(Verb::Override, "agent:ci/1", vec![]),
            "only a person may decide this",
        ),
        (
            "status",
            agent(),
            operation(Verb::Observe, "system", vec![approved(1)]),
            "leaves `act-1` as `approved`, but by the rules it is `draft`",
        ),
        (
            "a new node's status",
            agent(),
            operation(Verb::Observe, "system", vec![added(&approved_node)]),
            "by the rules it is `draft`",
        ),
        (
            "a cascade left out",
            person(),
            operation(
                Verb::Approve,
                "human:Анна",
                vec![approval(act, "human:Анна")],
            ),
            "by the rules it is `approved`",
        ),
        (
            "text",
            agent(),
            with_text(vec![forged]),
            "hash mismatch in the text of `act-1`",
        ),
        ("no text", agent(), with_text(vec![unsent]), "is missing"),
        (
            "a number",
            agent(),
            operation(Verb::Observe, "system", vec![added(&far)]),
            "the next new node is #3, not #900",
        ),
        (
            "late",
            agent(),
            dated(-MAX_CLOCK_SKEW_MS - 1_000),
            "it is dated",
        ),
        (
            "early",
            agent(),
            dated(MAX_CLOCK_SKEW_MS + 60_000),
            "it is dated",
        ),
    ] {
        let refused = world.tried(&admitted, new).expect_err(case);
        assert!(refused.contains(why), "{case}: {refused}");
        assert_eq!(world.head(), OperationId(1), "{case}");
    }
    for (case, admitted, new) in [
        ("within", agent(), dated(-MAX_CLOCK_SKEW_MS + 1_000)),
        (
            "another session of that host",
            agent(),
            operation(Verb::Claim, "agent:ci/2", vec![]),
        ),
        (
            "her agent",
            person(),
            operation(Verb::Comment, "agent:claude-code/1", vec![]),
        ),
    ] {
        let kept = World::new().tried(&admitted, new);
        assert_eq!(
            kept,
            Ok(PushOutcome::Kept {
                head: OperationId(2)
            }),
            "{case}"
        );
    }
}

#[test]
fn a_broken_chain_and_facts_that_do_not_fit_are_refused_without_harm() {
    let world = World::new();
    let (sending, lines) = world.decided(operation(Verb::Progress, "agent:ci/1", vec![progress()]));
    let tampered = vec![lines[0].replace("something", "something else")];
    assert!(
        world
            .sent(&agent(), &sending, &tampered)
            .expect_err("tampered")
            .contains("hash mismatch")
    );
    let refused = world
        .sent(&agent(), &sending, &["{}\n".to_owned()])
        .expect_err("nothing");
    assert!(refused.contains("cannot be parsed"), "{refused}");
    // Made on a state in which the chapter was active already.
    let active = Fact::ProgressChanged {
        node: NodeId(2),
        before: Progress::Active,
        after: Progress::Complete,
    };
    let mut tx = world.client.begin_write().unwrap();
    tx.record_operation(operation(Verb::Progress, "system", vec![progress()]))
        .unwrap();
    tx.record_operation(NewOperation {
        at: world.clock.now(),
        ..operation(Verb::Progress, "agent:ci/1", vec![active])
    })
    .unwrap();
    let after_both = tx.journal_lines(OperationId(2), usize::MAX).unwrap();
    assert!(world.sent(&agent(), &sending, &after_both).is_err());
    assert_eq!(world.head(), OperationId(1));
    assert_eq!(
        world.sent(&agent(), &sending, &lines),
        Ok(PushOutcome::Kept {
            head: OperationId(2)
        })
    );
}

#[test]
fn a_session_is_heard_of_by_the_clock_here() {
    let world = World::new();
    let (mut sending, _) = world.decided(operation(Verb::Comment, "system", vec![]));
    let note = |key: &str, body: &str| SharedNote {
        key: key.to_owned(),
        body: body.to_owned(),
        at: Timestamp::from_millis(0),
    };
    let future = (world.clock.now().as_millis() + 3_600_000).to_string();
    sending.notes = vec![
        note("heard/s1", &future),
        note("heard/s2", "no number"),
        note("session/s1", "1"),
    ];
    assert!(world.sent(&agent(), &sending, &[]).is_ok());
    let state = world.server.begin_read().unwrap();
    let heard: i64 = state
        .load_note("heard/s1")
        .unwrap()
        .unwrap()
        .parse()
        .unwrap();
    assert!(heard <= world.clock.now().as_millis());
    assert_eq!(
        (
            state.load_note("heard/s2").unwrap(),
            state.load_note("session/s1").unwrap()
        ),
        (None, None)
    );
}
