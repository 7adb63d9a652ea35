//! The story every store must be able to tell: written once, told to each engine.

use domain::approval::{Approval, Condemnation, ObjectionKind};
use domain::cascade::StatusChangeGroup;
use domain::fact::Fact;
use domain::ids::{Digest32, NodeId, OperationId, Principal, VersionHash};
use domain::node::{Content, Node, NodeName, NodeStatus, Progress, Status};
use domain::operation::{Channel, Verb};
use domain::ports::{FileStamp, NewOperation, Store};
use domain::record::RecordKey;
use domain::time::Timestamp;
use domain::version::canonical_hash;

use crate::{node, timestamp};

/// Tells the story to a store that is empty. `reopen` closes and reopens it.
///
/// # Panics
/// When the store does not keep its contract.
pub fn tell_store_story(reopen: &dyn Fn() -> Box<dyn Store>) {
    let act = node(1, None, "act-1", "# Act\n");
    let chapter = node(2, Some(&act), "chapter-01", "# Chapter\n");
    {
        let store = reopen();
        let mut tx = store.begin_write().expect("the write lock");
        assert_eq!(tx.next_operation_id().expect("a number"), OperationId(1));
        assert_eq!(tx.next_node_id().expect("a number"), NodeId(1));
        let facts = vec![added(&act), added(&chapter)];
        tx.record_operation(operation(
            Verb::Observe,
            "two plans",
            facts,
            &["# Act\n", "# Chapter\n"],
        ))
        .expect("recorded");
        assert_eq!(
            tx.load_node(NodeId(2)).expect("readable").as_ref(),
            Some(&chapter),
            "a transaction sees its own changes"
        );
        tx.commit().expect("committed");
    }
    {
        let store = reopen();
        let mut tx = store.begin_write().expect("the write lock");
        tx.record_operation(operation(
            Verb::Progress,
            "never",
            vec![progress(2, Progress::Pending, Progress::Active)],
            &[],
        ))
        .expect("recorded");
        drop(tx);
        let state = store.begin_read().expect("readable");
        assert_eq!(
            state.load_node(NodeId(2)).expect("readable").as_ref(),
            Some(&chapter),
            "without commit nothing happened"
        );
        assert_eq!(state.last_operation_id().expect("readable"), OperationId(1));
    }
    approve_and_cascade(reopen, &act, &chapter);
    read_everything(reopen);
    refuse_misfits(reopen);
    keep_records(reopen);
    find_records(reopen);
    rename_and_return(reopen);
    keep_objections(reopen);
}

/// Every kind of objection is read as it was recorded, after a new start too, and can be taken back.
fn keep_objections(reopen: &dyn Fn() -> Box<dyn Store>) {
    let act = |store: &dyn Store| {
        let state = store.begin_read().expect("readable");
        let found = state.load_node(NodeId(1)).expect("readable");
        found.expect("the act")
    };
    let kinds = [
        ObjectionKind::ChangesRequested,
        ObjectionKind::RevalidationRequired,
        ObjectionKind::Rejected,
    ];
    for kind in kinds.into_iter().map(Some).chain([None]) {
        let store = reopen();
        let before = act(&*store);
        let after = kind.map(|kind| Condemnation {
            canonical: before.content.canonical_hash(),
            reason: "больше ветра".to_owned(),
            by: Principal::Human("Ада".to_owned()),
            at: timestamp(20),
            kind,
        });
        let fact = Fact::CondemnationChanged {
            node: before.id,
            before: before.condemnation,
            after: after.clone(),
        };
        let mut tx = store.begin_write().expect("the write lock");
        tx.record_operation(operation(
            Verb::RequestChanges,
            "objection",
            vec![fact],
            &[],
        ))
        .expect("recorded");
        tx.commit().expect("committed");
        drop(store);
        let store = reopen();
        assert_eq!(act(&*store).condemnation, after);
        assert!(
            store
                .verify_integrity()
                .expect("a look at everything")
                .is_empty()
        );
    }
}

/// A renamed node is found by its new name; a removed one that returns under its id has everything
/// that was attached to it.
fn rename_and_return(reopen: &dyn Fn() -> Box<dyn Store>) {
    let store = reopen();
    let node = {
        let state = store.begin_read().expect("readable");
        state
            .load_node(NodeId(2))
            .expect("readable")
            .expect("the chapter")
    };
    let attached = |store: &dyn Store| {
        let state = store.begin_read().expect("readable");
        let versions = state.load_versions(NodeId(2)).expect("readable");
        let backups = state.load_backups(NodeId(2)).expect("readable");
        assert!(!versions.is_empty() && !backups.is_empty());
        (versions.len(), backups)
    };
    let before = attached(&*store);
    let name = NodeName {
        alias: "chapter-09".to_owned(),
        order: 9,
        path: Some("chapter-09/plan.md".to_owned()),
    };
    let mut renamed = node.clone();
    renamed.set_name(name.clone());
    let steps = [
        Fact::NodeRenamed {
            node: node.id,
            before: node.name(),
            after: name.clone(),
        },
        Fact::NodeRemoved {
            node: Box::new(renamed.clone()),
        },
        added(&renamed),
        Fact::NodeRenamed {
            node: node.id,
            before: name,
            after: node.name(),
        },
    ];
    for (number, step) in steps.into_iter().enumerate() {
        let mut tx = store.begin_write().expect("the write lock");
        tx.record_operation(operation(Verb::Observe, "presence", vec![step], &[]))
            .expect("recorded");
        tx.commit().expect("committed");
        let state = store.begin_read().expect("readable");
        let found = state.nodes_by_alias("chapter-09").expect("readable");
        assert_eq!(found.len(), [1, 0, 1, 0][number], "step {number}");
    }
    assert_eq!(attached(&*store), before);
    let store = reopen();
    let state = store.begin_read().expect("readable");
    assert_eq!(state.load_node(NodeId(2)).expect("readable"), Some(node));
}

fn approve_and_cascade(reopen: &dyn Fn() -> Box<dyn Store>, act: &Node, chapter: &Node) {
    let store = reopen();
    let mut tx = store.begin_write().expect("the write lock");
    let approval = Approval::from_record(
        act.content.version_hash().expect("text"),
        act.content.canonical_hash().expect("text"),
        None,
        Principal::Human("Ада".to_owned()),
        timestamp(5),
        vec!["предупреждение".to_owned()],
    )
    .with_relied_sections(Some(Digest32::of_bytes(b"sections")));
    let group = StatusChangeGroup {
        before: NodeStatus::without_cause(Status::Draft),
        after: NodeStatus::without_cause(Status::Approved),
        nodes: vec![NodeId(1)],
    };
    let facts = vec![
        Fact::ApprovalChanged {
            node: NodeId(1),
            before: None,
            after: Some(approval.clone()),
        },
        Fact::StandingsChanged {
            groups: vec![group],
        },
    ];
    tx.record_operation(operation(Verb::Approve, "approve act-1", facts, &[]))
        .expect("recorded");
    let new_text = "# Chapter, again\n";
    let content = Content::Text {
        version: VersionHash::of_bytes(new_text.as_bytes()),
        canonical: canonical_hash(new_text),
        // As in facts of earlier programs: what is recorded is kept.
        basis: act.content.as_parent_version(),
    };
    let facts = vec![
        Fact::ContentChanged {
            node: NodeId(2),
            before: chapter.content.clone(),
            after: content.clone(),
        },
        Fact::BackupWritten {
            node: NodeId(2),
            version: chapter.content.version_hash().expect("text"),
            path: "backups/plan.md".to_owned(),
            reason: "regeneration".to_owned(),
        },
    ];
    tx.record_operation(operation(Verb::Observe, "changed", facts, &[new_text]))
        .expect("recorded");
    let stamp = FileStamp {
        size: 1,
        modified_ns: -2,
        changed_ns: 3,
        inode: u64::MAX,
    };
    tx.save_file_stamps(&[(NodeId(2), stamp, content.version_hash().expect("text"))])
        .expect("kept");
    tx.commit().expect("committed");
    keep_notes(&*store);
    let state = store.begin_read().expect("readable");
    let found = state
        .load_node(NodeId(1))
        .expect("readable")
        .expect("there");
    assert_eq!(found.approval, Some(approval));
    assert_eq!(found.status(), Status::Approved);
    // Stamps are a cache of one machine: an engine may forget them, never garble them.
    if let Some(kept) = state.file_stamp(NodeId(2)).expect("readable") {
        assert_eq!(kept, (stamp, content.version_hash().expect("text")));
    }
}

/// Notes are kept, replaced, forgotten; no operation tells of them.
fn keep_notes(store: &dyn Store) {
    let at = Timestamp::from_millis;
    let mut tx = store.begin_write().expect("writable");
    tx.save_note("session/a", Some("old"), at(10))
        .expect("kept");
    tx.save_note("session/a", Some("new"), at(20))
        .expect("kept");
    tx.save_note("session/b", Some("aged"), at(1))
        .expect("kept");
    tx.save_note("other", Some("aged too"), at(1))
        .expect("kept");
    tx.commit().expect("committed");
    let mut tx = store.begin_write().expect("writable");
    tx.delete_notes_before("session/", at(5))
        .expect("forgotten");
    tx.commit().expect("committed");
    let mut given_up = store.begin_write().expect("writable");
    given_up.save_note("session/a", None, at(30)).expect("kept");
    drop(given_up);
    let state = store.begin_read().expect("readable");
    assert_eq!(
        state.load_note("session/a").expect("readable").as_deref(),
        Some("new")
    );
    assert_eq!(state.load_note("session/b").expect("readable"), None);
    assert_eq!(
        state.load_note("other").expect("readable").as_deref(),
        Some("aged too")
    );
    assert_eq!(state.load_note("never").expect("readable"), None);
}

fn read_everything(reopen: &dyn Fn() -> Box<dyn Store>) {
    let store = reopen();
    let state = store.begin_read().expect("readable");
    assert_eq!(state.last_operation_id().expect("readable"), OperationId(3));
    let all = state.all_nodes().expect("readable");
    assert_eq!(
        all.iter()
            .map(|node| node.alias.as_str())
            .collect::<Vec<_>>(),
        ["act-1", "chapter-01"]
    );
    assert_eq!(state.load_subtree(NodeId(1)).expect("readable"), all);
    assert_eq!(state.load_subtree(NodeId(2)).expect("readable"), all[1..]);
    assert_eq!(state.load_children(NodeId(1)).expect("readable"), all[1..]);
    let names = state.child_names(NodeId(1)).expect("readable");
    assert_eq!(
        names
            .iter()
            .map(|name| name.alias.as_str())
            .collect::<Vec<_>>(),
        ["chapter-01"]
    );
    assert_eq!(
        state.nodes_by_alias("chapter-01").expect("readable"),
        all[1..]
    );
    assert!(
        state
            .nodes_by_alias("chapter-02")
            .expect("readable")
            .is_empty()
    );
    assert_eq!(
        state
            .children_by_alias(all[0].id, "chapter-01")
            .expect("readable"),
        all[1..]
    );
    assert!(
        state
            .children_by_alias(all[1].id, "chapter-01")
            .expect("readable")
            .is_empty()
    );
    let footings = state.load_status_inputs(NodeId(1)).expect("readable");
    assert_eq!(
        footings,
        all.iter().map(Node::status_inputs).collect::<Vec<_>>()
    );

    let versions = state.load_versions(NodeId(2)).expect("readable");
    assert_eq!(
        versions
            .iter()
            .map(|version| version.operation)
            .collect::<Vec<_>>(),
        [OperationId(3), OperationId(1)]
    );
    let older = versions[1].hash;
    assert_eq!(
        state.load_text(older).expect("readable").as_deref(),
        Some("# Chapter\n")
    );
    assert_eq!(
        state
            .load_version(NodeId(2), older)
            .expect("readable")
            .as_ref(),
        Some(&versions[1])
    );
    assert_eq!(
        state
            .load_text(VersionHash::of_bytes(b"never seen"))
            .expect("readable"),
        None
    );
    let backups = state.load_backups(NodeId(2)).expect("readable");
    assert_eq!(
        backups
            .iter()
            .map(|backup| backup.version)
            .collect::<Vec<_>>(),
        [older]
    );

    let operations = state.load_operations(None, 2).expect("readable");
    assert_eq!(
        operations
            .iter()
            .map(|operation| operation.id.0)
            .collect::<Vec<_>>(),
        [3, 2]
    );
    let earlier = state
        .load_operations(Some(OperationId(2)), 10)
        .expect("readable");
    assert_eq!(
        earlier
            .iter()
            .map(|operation| operation.id.0)
            .collect::<Vec<_>>(),
        [1]
    );
    for (node, before, most, expected) in [
        (NodeId(1), None, 9, &[2, 1][..]),
        (NodeId(2), None, 9, &[3, 1]),
        (NodeId(2), None, 1, &[3]),
        (NodeId(2), Some(OperationId(3)), 9, &[1]),
        (NodeId(99), None, 9, &[]),
    ] {
        let heads = state
            .operation_heads_of_node(node, before, most)
            .expect("readable");
        assert_eq!(
            heads.iter().map(|head| head.id.0).collect::<Vec<_>>(),
            expected,
            "of {node:?} before {before:?}"
        );
        assert!(heads.iter().all(|head| {
            state
                .load_operation(head.id)
                .expect("readable")
                .is_some_and(|whole| whole.to_head() == *head)
        }));
    }
    assert_eq!(
        state
            .load_operation(OperationId(2))
            .expect("readable")
            .map(|operation| operation.summary)
            .as_deref(),
        Some("approve act-1")
    );
    assert_eq!(state.undone_by(OperationId(2)).expect("readable"), None);
    drop(state);
    assert!(
        store
            .verify_integrity()
            .expect("a look at everything")
            .is_empty()
    );
}

/// Records come, change and go with operations, and come back after a new start.
fn keep_records(reopen: &dyn Fn() -> Box<dyn Store>) {
    let change = |key: &str, before: Option<&str>, after: Option<&str>| Fact::RecordChanged {
        record: RecordKey {
            kind: "ряд".to_owned(),
            key: key.to_owned(),
        },
        before: before.map(Into::into),
        after: after.map(Into::into),
    };
    let record = |facts: Vec<Fact>| {
        let store = reopen();
        let mut tx = store.begin_write().expect("the write lock");
        tx.record_operation(operation(Verb::Progress, "records", facts, &[]))
            .map(drop)?;
        tx.commit()
    };
    let added = ["a/1", "a/2", "b%"].map(|key| change(key, None, Some(key)));
    record(added.to_vec()).expect("recorded");
    record(vec![
        change("a/2", Some("a/2"), Some("вторая")),
        change("b%", Some("b%"), None),
    ])
    .expect("recorded");
    assert!(
        record(vec![change("a/1", None, Some("again"))]).is_err(),
        "there is one already"
    );
    assert!(
        record(vec![change("a/1", Some("other"), None)]).is_err(),
        "it is another one"
    );
    let store = reopen();
    let state = store.begin_read().expect("readable");
    assert_eq!(
        state.record_body("ряд", "a/2").expect("readable"),
        Some("вторая".into())
    );
    assert_eq!(state.record_body("ряд", "b%").expect("readable"), None);
    assert_eq!(state.record_body("other", "a/1").expect("readable"), None);
    let found = state.records_by_prefix("ряд", "a/").expect("readable");
    assert_eq!(
        found,
        [
            ("a/1".to_owned(), "a/1".into()),
            ("a/2".to_owned(), "вторая".into())
        ]
    );
    assert_eq!(state.records_by_prefix("ряд", "%").expect("readable"), []);
    let texts = state.record_texts("ряд").expect("readable");
    let texts = texts.into_iter().map(|(key, text)| {
        let body: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        (key, body)
    });
    assert_eq!(
        texts.collect::<Vec<_>>(),
        state.records_by_prefix("ряд", "").expect("readable")
    );
    drop(state);
    assert!(
        store
            .verify_integrity()
            .expect("a look at everything")
            .is_empty()
    );
}

/// A fact that does not fit is refused, and the store is as it was.
fn refuse_misfits(reopen: &dyn Fn() -> Box<dyn Store>) {
    let store = reopen();
    let before = store
        .begin_read()
        .expect("readable")
        .all_nodes()
        .expect("readable");
    let misfits = [
        progress(2, Progress::Complete, Progress::Active),
        progress(99, Progress::Pending, Progress::Active),
        added(&before[0]),
        Fact::NodeRemoved {
            node: Box::new(before[0].clone()),
        },
    ];
    for misfit in misfits {
        let mut tx = store.begin_write().expect("the write lock");
        let recorded = tx.record_operation(operation(
            Verb::Progress,
            "misfit",
            vec![misfit.clone()],
            &[],
        ));
        assert!(recorded.is_err(), "{misfit:?} was taken");
        drop(tx);
    }
    assert_eq!(
        store
            .begin_read()
            .expect("readable")
            .all_nodes()
            .expect("readable"),
        before
    );
}

fn added(node: &Node) -> Fact {
    Fact::NodeAdded {
        node: Box::new(node.clone()),
    }
}

fn progress(id: u32, before: Progress, after: Progress) -> Fact {
    Fact::ProgressChanged {
        node: NodeId(id),
        before,
        after,
    }
}

fn operation(verb: Verb, summary: &str, facts: Vec<Fact>, texts: &[&str]) -> NewOperation {
    NewOperation {
        at: timestamp(10),
        by: Principal::Human("Ада".to_owned()),
        channel: Channel::Cli,
        verb,
        summary: summary.to_owned(),
        key: None,
        facts,
        texts: texts.iter().map(|text| (*text).to_owned()).collect(),
    }
}

/// Records of the searched kinds are found by their words, in every language, the best first.
fn find_records(reopen: &dyn Fn() -> Box<dyn Store>) {
    use domain::search::{MatchMode, SearchQuery};
    let note = |kind: &str, key: &str, before: Option<&str>, after: Option<&str>| {
        let body = |text: Option<&str>| {
            text.map(|text| serde_json::json!({ "text": text, "shelf": "work" }))
        };
        Fact::RecordChanged {
            record: RecordKey {
                kind: kind.to_owned(),
                key: key.to_owned(),
            },
            before: body(before),
            after: body(after),
        }
    };
    let long = "jwt and tokens and many other words that make this note a long one";
    let facts = vec![
        note("mem", "1", None, Some(long)),
        note("mem", "2", None, Some("JWT!")),
        note("mem", "3", None, Some("Решили взять jose")),
        note("mem", "4", None, Some("東京タワー")),
        note("mem", "5", None, Some("京東")),
        note("anchor", "6", None, Some("jwt holds")),
        note("other", "7", None, Some("jwt")),
        note("mem", "8", None, Some("gone soon")),
        note("mem", "9", None, Some("tokens jwt, jwt tokens, jwt")),
    ];
    let store = reopen();
    let record = |facts: Vec<Fact>| {
        let mut tx = store.begin_write().expect("the write lock");
        tx.record_operation(operation(Verb::Progress, "notes", facts, &[]))
            .expect("recorded");
        tx.commit().expect("committed");
    };
    record(facts);
    record(vec![
        note("mem", "8", Some("gone soon"), None),
        note(
            "mem",
            "3",
            Some("Решили взять jose"),
            Some("Решили взять библиотеку jose"),
        ),
    ]);
    drop(store);
    let store = reopen();
    let state = store.begin_read().expect("readable");
    let keys = |kinds: &[&str], query: &str, matching: MatchMode, most: usize| -> Vec<String> {
        let found = state
            .search_records(kinds, &SearchQuery::parse_query(query), matching, most)
            .expect("searched");
        found.into_iter().map(|record| record.key).collect()
    };
    let all = |query: &str| keys(&["mem"], query, MatchMode::AllElseAny, 10);
    assert_eq!(all("jwt"), ["9", "2", "1"]);
    assert_eq!(all("JWT tok"), ["9", "1"]);
    assert_eq!(all("реши"), ["3"]);
    assert_eq!(all("библ"), ["3"]);
    assert_eq!(all("京タ"), ["4"]);
    assert_eq!(all("京東"), ["5"]);
    assert_eq!(all("gone"), Vec::<String>::new());
    assert_eq!(
        all("nothing jose"),
        ["3"],
        "when nothing has all of it, what has some"
    );
    assert_eq!(
        all("\" OR * kind:mem ("),
        Vec::<String>::new(),
        "no syntax of an engine gets through"
    );
    assert_eq!(
        keys(&["mem"], "jwt jose", MatchMode::Any, 10),
        ["3", "9", "2", "1"]
    );
    assert_eq!(
        keys(&["anchor", "mem"], "jwt", MatchMode::AllElseAny, 2),
        ["9", "2"]
    );
    assert_eq!(keys(&["anchor"], "jwt", MatchMode::AllElseAny, 10), ["6"]);
    assert_eq!(
        keys(&["other"], "jwt", MatchMode::AllElseAny, 10),
        Vec::<String>::new()
    );
    assert_eq!(all("work").len(), 6, "a shelf is found too");
}
