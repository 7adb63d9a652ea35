//! A replica and its server, without HTTP between them: the same story, and what happens when answers get lost.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::authorization::Scope;
use domain::fact::Fact;
use domain::ids::{Digest32, OperationId, Principal};
use domain::operation::{Channel, Verb};
use domain::ports::{NewOperation, Store, StoreFault};
use domain::record::RecordKey;
use domain::settings::{OfflinePolicy, ServerAddress, Settings, Storage};
use domain::sync_protocol::{PullHeader, PushHeader, PushOutcome};
use domain::time::Timestamp;
use serde_json::json;
use store::{
    EngineSettings, FetchOutcome, KnownStores, Layout, ServerFault, TeamServer, open_replica_with,
};
use testkit::{tell_store_story, timestamp};

use crate::Place;

/// A server that believes everything: who may do what is tested elsewhere.
struct Server {
    store: Mutex<Box<dyn Store>>,
    /// Number of responses to drop after the operation was recorded.
    loses: AtomicUsize,
    is_silent: AtomicBool,
    tampers: AtomicBool,
    sent: AtomicUsize,
    asked: AtomicUsize,
    notes: Mutex<Vec<String>>,
}

impl Server {
    fn on(store: Box<dyn Store>) -> Arc<Self> {
        Arc::new(Self {
            store: Mutex::new(store),
            loses: AtomicUsize::new(0),
            is_silent: AtomicBool::new(false),
            tampers: AtomicBool::new(false),
            sent: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
            notes: Mutex::default(),
        })
    }

    fn heard(&self) -> Result<(), ServerFault> {
        match self.is_silent.load(SeqCst) {
            true => Err(ServerFault::Silent {
                why: "nobody is there".to_owned(),
                may_have_arrived: false,
            }),
            false => Ok(()),
        }
    }

    fn summaries(&self) -> Vec<String> {
        summaries(&**self.store.lock().unwrap())
    }
}

/// What a replica holds of it.
struct Link(Arc<Server>);

impl TeamServer for Link {
    fn display_name(&self) -> &str {
        "next door"
    }

    fn client_identity(&self) -> Digest32 {
        Digest32::of_bytes(b"next door")
    }

    fn seal_key(&self) -> Digest32 {
        Digest32::of_bytes(b"a secret")
    }

    fn fetch_operations(
        &self,
        after: OperationId,
        hash: Option<Digest32>,
        _wait: Duration,
    ) -> Result<FetchOutcome, ServerFault> {
        self.0.heard()?;
        self.0.asked.fetch_add(1, SeqCst);
        let store = self.0.store.lock().unwrap();
        let state = store.begin_read().unwrap();
        if hash.is_some_and(|hash| state.chain_hash(after).unwrap() != Some(hash)) {
            return Ok(FetchOutcome::Diverged);
        }
        let head = state.last_operation_id().unwrap();
        let greeting = PullHeader {
            store: state.store_id().unwrap(),
            head,
            head_hash: state.chain_hash(head).unwrap().unwrap(),
            now: timestamp(1_000),
            principal: Principal::Human("Анна".to_owned()),
            scope: Scope::Approve,
            notes: Vec::new(),
        };
        // A page is never long here, so that there are several.
        let mut lines = state.journal_lines(after, 1).unwrap();
        if self.0.tampers.load(SeqCst) {
            lines
                .iter_mut()
                .for_each(|line| *line = line.replace("one", "two"));
        }
        Ok(FetchOutcome::Page { greeting, lines })
    }

    fn send_operations(
        &self,
        sending: &PushHeader,
        lines: &[String],
    ) -> Result<PushOutcome, ServerFault> {
        self.0.heard()?;
        self.0.sent.fetch_add(1, SeqCst);
        self.0
            .notes
            .lock()
            .unwrap()
            .extend(sending.notes.iter().map(|note| note.key.clone()));
        let store = self.0.store.lock().unwrap();
        let mut tx = store.begin_write().unwrap();
        let (head, next) = (tx.last_operation_id().unwrap(), sending.after.next_id());
        let is_kept = lines.first().is_some_and(|line| {
            let hash = tx.chain_hash(next).unwrap();
            hash.is_some_and(|hash| line.contains(&hash.to_string()))
        });
        let receipt = if is_kept {
            PushOutcome::Kept { head }
        } else if head != sending.after {
            PushOutcome::Conflict { head }
        } else {
            lines
                .iter()
                .for_each(|line| tx.record_journal_line(line).unwrap());
            tx.commit().unwrap();
            PushOutcome::Kept { head: next }
        };
        match self.0.loses.load(SeqCst) {
            0 => Ok(receipt),
            left => {
                self.0.loses.store(left - 1, SeqCst);
                Err(ServerFault::Silent {
                    why: "it broke".to_owned(),
                    may_have_arrived: true,
                })
            }
        }
    }
}

/// A machine with a replica.
struct Machine {
    directory: tempfile::TempDir,
    server: Arc<Server>,
}

impl Machine {
    fn of(server: &Arc<Server>) -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            server: server.clone(),
        }
    }

    fn open(&self) -> Box<dyn Store> {
        self.opened(OfflinePolicy::Refuse)
    }

    /// The same where what is done during a silence waits.
    fn queueing(&self) -> Box<dyn Store> {
        self.opened(OfflinePolicy::Queue)
    }

    fn conflicts(&self) -> Vec<String> {
        let Ok(found) =
            std::fs::read_dir(self.directory.path().join(".throughline/remote/conflicts"))
        else {
            return Vec::new();
        };
        let texts = found.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
        texts.collect()
    }

    fn opened(&self, offline: OfflinePolicy) -> Box<dyn Store> {
        let mut settings = Settings::default();
        settings.server.offline = offline;
        settings.server.address = Some(ServerAddress::new("http://127.0.0.1:1", "token").unwrap());
        let layout = Layout::new(self.directory.path(), &settings);
        let known = KnownStores::in_state_directory(&self.directory.path().join("user"));
        open_replica_with(
            &layout,
            &EngineSettings::default(),
            &known,
            Box::new(Link(self.server.clone())),
        )
        .unwrap()
    }
}

fn summaries(store: &dyn Store) -> Vec<String> {
    let state = store.begin_read().unwrap();
    let mut found = state.operation_heads(None, 1_000).unwrap();
    found.reverse();
    found.into_iter().map(|head| head.summary).collect()
}

fn new(verb: Verb, summary: &str, facts: Vec<Fact>) -> NewOperation {
    NewOperation {
        at: timestamp(1_000),
        by: Principal::System,
        channel: Channel::System,
        verb,
        summary: summary.to_owned(),
        key: None,
        facts,
        texts: Vec::new(),
    }
}

fn record(store: &dyn Store, summary: &str) -> Result<(), StoreFault> {
    record_facts(store, Verb::Comment, summary, Vec::new())
}

fn record_facts(
    store: &dyn Store,
    verb: Verb,
    summary: &str,
    facts: Vec<Fact>,
) -> Result<(), StoreFault> {
    let mut tx = store.begin_write()?;
    tx.record_operation(new(verb, summary, facts))?;
    tx.commit()
}

fn set(key: &str, before: Option<&str>, after: &str) -> Vec<Fact> {
    let record = RecordKey {
        kind: "anchor".to_owned(),
        key: key.to_owned(),
    };
    vec![Fact::RecordChanged {
        record,
        before: before.map(|text| json!(text)),
        after: Some(json!(after)),
    }]
}

#[test]
fn the_same_story_on_every_engine_behind_it() {
    for storage in [Storage::Sqlite, Storage::Json] {
        let place = Place::new(storage);
        let server = Server::on(place.open());
        let machine = Machine::of(&server);
        tell_store_story(&|| machine.open());
        // Another machine finds all of it, and the server has it too.
        let other = Machine::of(&server);
        let (first, second) = (machine.open(), other.open());
        assert_eq!(summaries(&*first), summaries(&*second));
        assert_eq!(summaries(&*first), server.summaries());
        assert_eq!(
            first.begin_read().unwrap().all_nodes().unwrap(),
            second.begin_read().unwrap().all_nodes().unwrap()
        );
        assert!(second.verify_integrity().unwrap().is_empty());
    }
}

#[test]
fn an_answer_that_got_lost_is_asked_for_again_and_nothing_is_kept_twice() {
    let place = Place::new(Storage::Sqlite);
    let server = Server::on(place.open());
    let (here, there) = (Machine::of(&server), Machine::of(&server));
    let store = here.open();
    for lost in [1, 2] {
        server.loses.store(lost, SeqCst);
        record(&*store, &format!("lost {lost}")).unwrap();
    }
    // Nobody ever tells what became of it: so it is not said to be done, but found later all the same, once.
    server.loses.store(usize::MAX, SeqCst);
    let Err(StoreFault::Silent { why, .. }) = record(&*store, "never told") else {
        panic!("told")
    };
    assert!(why.contains("while operation 3 was sent"), "{why}");
    server.loses.store(0, SeqCst);
    let expected = ["lost 1", "lost 2", "never told"];
    assert_eq!(summaries(&*here.open()), expected);
    record(&*there.open(), "after").unwrap();
    for store in [here.open(), there.open()] {
        assert_eq!(
            summaries(&*store),
            ["lost 1", "lost 2", "never told", "after"]
        );
        assert!(store.verify_integrity().unwrap().is_empty());
    }
    assert_eq!(server.summaries().len(), 4);
}

#[test]
fn who_comes_second_is_told_and_can_try_again() {
    let place = Place::new(Storage::Sqlite);
    let server = Server::on(place.open());
    let machines = (Machine::of(&server), Machine::of(&server));
    let (here, there) = (machines.0.open(), machines.1.open());
    // Both begin on the same state.
    let mut slow = here.begin_write().unwrap();
    record(&*there, "fast").unwrap();
    slow.record_operation(new(Verb::Comment, "slow", Vec::new()))
        .unwrap();
    assert!(matches!(slow.commit(), Err(StoreFault::Conflict)));
    assert_eq!(summaries(&*here), ["fast"], "nothing of it is left here");
    record(&*here, "slow").unwrap();
    assert_eq!(server.summaries(), ["fast", "slow"]);
}

#[test]
fn without_the_server_one_sees_what_was_known_and_notes_are_kept() {
    let place = Place::new(Storage::Sqlite);
    let server = Server::on(place.open());
    let machine = Machine::of(&server);
    record(&*machine.open(), "one").unwrap();
    server.is_silent.store(true, SeqCst);
    let store = machine.open();
    assert_eq!(
        store.remote_principal(),
        Some(Principal::Human("Анна".to_owned())),
        "remembered"
    );
    assert_eq!(summaries(&*store), ["one"]);
    let warned = store.take_warnings();
    assert!(
        warned.len() == 1 && warned[0].contains("next door does not answer"),
        "{warned:?}"
    );
    assert!(store.take_warnings().is_empty(), "said once");
    assert!(matches!(
        record(&*store, "two"),
        Err(StoreFault::Silent { .. })
    ));
    let sent = server.sent.load(SeqCst);
    let mut tx = store.begin_write().unwrap();
    tx.save_note("session/a", Some("read"), timestamp(3))
        .unwrap();
    tx.commit().unwrap();
    assert_eq!(
        store
            .begin_read()
            .unwrap()
            .load_note("session/a")
            .unwrap()
            .as_deref(),
        Some("read")
    );
    server.is_silent.store(false, SeqCst);
    let again = machine.open();
    record(&*again, "two").unwrap();
    let mut tx = again.begin_write().unwrap();
    tx.save_note("session/a", Some("read again"), timestamp(4))
        .unwrap();
    tx.commit().unwrap();
    assert_eq!(
        server.sent.load(SeqCst),
        sent + 1,
        "notes of this machine stay here"
    );
    let mut tx = again.begin_write().unwrap();
    tx.save_note("heard/a", Some("5000"), timestamp(5)).unwrap();
    tx.commit().unwrap();
    assert_eq!(
        *server.notes.lock().unwrap(),
        ["heard/a"],
        "but for those that all should know"
    );
    assert_eq!(server.summaries(), ["one", "two"]);
}

#[test]
fn a_look_right_after_another_asks_once() {
    let place = Place::new(Storage::Sqlite);
    let server = Server::on(place.open());
    let machine = Machine::of(&server);
    let store = machine.open();
    drop(store.begin_read().unwrap());
    let asked = server.asked.load(SeqCst);
    drop((store.begin_read().unwrap(), store.remote_principal()));
    assert_eq!(server.asked.load(SeqCst), asked);
}

#[test]
fn time_is_the_servers() {
    let place = Place::new(Storage::Sqlite);
    let server = Server::on(place.open());
    let machine = Machine::of(&server);
    let store = machine.open();
    let now = store
        .begin_read()
        .unwrap()
        .store_time()
        .unwrap()
        .expect("a shared clock");
    let off = now.as_millis() - timestamp(1_000).as_millis();
    assert!((0..60_000).contains(&off), "{now}");
    assert!(Timestamp::from_millis(0) < now);
}

#[test]
fn a_history_that_is_not_the_servers_is_refused_with_the_way_out() {
    let place = Place::new(Storage::Sqlite);
    let server = Server::on(place.open());
    let machine = Machine::of(&server);
    record(&*machine.open(), "one").unwrap();
    record(&*machine.open(), "two").unwrap();
    // The server was put back to a state in which something else happened.
    let backup = Place::new(Storage::Sqlite);
    *server.store.lock().unwrap() = backup.open();
    record(&**server.store.lock().unwrap(), "another one").unwrap();
    let store = machine.open();
    let Err(StoreFault::TurnedDown {
        why, next_steps, ..
    }) = store.begin_read().map(drop)
    else {
        panic!("read")
    };
    assert!(why.contains("diverged at operation 2"), "{why}");
    assert!(
        next_steps[0].starts_with("tl team join next door"),
        "{next_steps:?}"
    );
    assert!(
        store
            .verify_integrity()
            .unwrap()
            .iter()
            .any(|found| found.message.contains("diverged at operation 2"))
    );
}

#[test]
fn a_line_that_was_changed_on_its_way_is_not_taken_over() {
    let place = Place::new(Storage::Sqlite);
    let server = Server::on(place.open());
    let (first, second) = (Machine::of(&server), Machine::of(&server));
    record(&*first.open(), "one").unwrap();
    server.tampers.store(true, SeqCst);
    let store = second.open();
    let Err(fault) = store.begin_read().map(drop) else {
        panic!("taken over")
    };
    assert!(
        matches!(&fault, StoreFault::DoesNotFit { what } if what.contains("hash")),
        "{fault}"
    );
    server.tampers.store(false, SeqCst);
    assert_eq!(summaries(&*store), ["one"]);
}

#[test]
fn what_was_done_during_a_silence_is_sent_after_it_once() {
    let place = Place::new(Storage::Sqlite);
    let server = Server::on(place.open());
    let (here, there) = (Machine::of(&server), Machine::of(&server));
    record(&*here.queueing(), "before").unwrap();
    server.is_silent.store(true, SeqCst);
    for words in ["one", "two"] {
        let store = here.queueing();
        record(&*store, words).unwrap();
        assert!(
            store
                .take_warnings()
                .iter()
                .any(|told| told.contains("queued here, to be sent later"))
        );
    }
    assert_eq!(
        summaries(&*here.queueing()),
        ["before", "one", "two"],
        "seen here at once"
    );
    let Err(StoreFault::Silent { why, .. }) =
        record_facts(&*here.queueing(), Verb::Approve, "approve", Vec::new())
    else {
        panic!("a decision waits")
    };
    assert!(why.contains("is never queued"), "{why}");
    assert!(record_facts(&*here.queueing(), Verb::Claim, "claim", Vec::new()).is_err());
    assert_eq!(server.summaries(), ["before"]);
    server.is_silent.store(false, SeqCst);
    // The first answer gets lost on top of it.
    server.loses.store(1, SeqCst);
    drop(here.queueing().begin_read().unwrap());
    drop(here.queueing().begin_read().unwrap());
    for store in [here.open(), there.open()] {
        assert_eq!(summaries(&*store), ["before", "one", "two"]);
        assert!(store.verify_integrity().unwrap().is_empty());
    }
    assert_eq!(server.summaries(), ["before", "one", "two"]);
    assert_eq!(here.conflicts(), Vec::<String>::new());
}

#[test]
fn what_may_have_arrived_and_waits_all_the_same_is_kept_once() {
    let place = Place::new(Storage::Sqlite);
    let server = Server::on(place.open());
    let here = Machine::of(&server);
    record(&*here.queueing(), "before").unwrap();
    server.loses.store(usize::MAX, SeqCst);
    record(&*here.queueing(), "arrived").unwrap();
    server.loses.store(0, SeqCst);
    server.is_silent.store(true, SeqCst);
    record(&*here.queueing(), "waited").unwrap();
    server.is_silent.store(false, SeqCst);
    assert_eq!(
        summaries(&*here.queueing()),
        ["before", "arrived", "waited"]
    );
    assert_eq!(server.summaries(), ["before", "arrived", "waited"]);
    assert!(here.open().verify_integrity().unwrap().is_empty());
}

#[test]
fn what_others_did_meanwhile_comes_first_and_what_does_not_fit_is_put_aside() {
    let place = Place::new(Storage::Sqlite);
    let server = Server::on(place.open());
    let (here, there) = (Machine::of(&server), Machine::of(&server));
    record_facts(
        &*here.queueing(),
        Verb::Remember,
        "begin",
        set("цель", None, "a"),
    )
    .unwrap();
    drop(there.open().begin_read().unwrap());
    server.is_silent.store(true, SeqCst);
    record_facts(
        &*here.queueing(),
        Verb::Remember,
        "mine",
        set("mine", None, "1"),
    )
    .unwrap();
    record_facts(
        &*here.queueing(),
        Verb::Remember,
        "спорное",
        set("цель", Some("a"), "здесь"),
    )
    .unwrap();
    record_facts(
        &*here.queueing(),
        Verb::Remember,
        "independent",
        set("later", None, "2"),
    )
    .unwrap();
    record_facts(
        &*here.queueing(),
        Verb::Remember,
        "rests on it",
        set("цель", Some("здесь"), "позже"),
    )
    .unwrap();
    server.is_silent.store(false, SeqCst);
    record_facts(
        &*there.open(),
        Verb::Remember,
        "theirs",
        set("цель", Some("a"), "там"),
    )
    .unwrap();
    let store = here.queueing();
    assert_eq!(
        summaries(&*store),
        ["begin", "theirs", "mine", "independent"]
    );
    let told = store.take_warnings().join("\n");
    assert!(
        told.contains("`спорное`, recorded offline, conflicts with the server"),
        "{told}"
    );
    let state = store.begin_read().unwrap();
    assert_eq!(
        state.record_body("anchor", "цель").unwrap(),
        Some(json!("там"))
    );
    assert_eq!(
        state.record_body("anchor", "mine").unwrap(),
        Some(json!("1"))
    );
    drop(state);
    let conflicts = here.conflicts();
    assert_eq!(conflicts.len(), 2);
    assert!(
        conflicts
            .iter()
            .any(|text| text.contains("здесь") && text.contains("has changed since"))
    );
    assert_eq!(
        server.summaries(),
        ["begin", "theirs", "mine", "independent"]
    );
    assert!(
        store.verify_integrity().unwrap().is_empty(),
        "{:?}",
        store.verify_integrity()
    );
    // And on it goes.
    record(&*here.queueing(), "after").unwrap();
    assert_eq!(
        summaries(&*there.open()),
        ["begin", "theirs", "mine", "independent", "after"]
    );
}

#[test]
fn what_waits_is_sent_only_if_it_was_written_here() {
    let place = Place::new(Storage::Sqlite);
    let server = Server::on(place.open());
    let here = Machine::of(&server);
    record(&*here.queueing(), "before").unwrap();
    server.is_silent.store(true, SeqCst);
    record(&*here.queueing(), "mine").unwrap();
    let file = here
        .directory
        .path()
        .join(".throughline/remote/pending.jsonl");
    let planted = std::fs::read_to_string(&file)
        .unwrap()
        .replace("\"comment\"", "\"approve\"");
    std::fs::write(&file, planted).unwrap();
    server.is_silent.store(false, SeqCst);
    let store = here.queueing();
    assert!(
        matches!(
            store.begin_read().map(drop),
            Err(StoreFault::TurnedDown { .. })
        ),
        "its replica is not the server's"
    );
    assert_eq!(server.summaries(), ["before"]);
    assert!(
        here.conflicts().iter().any(|text| text.contains("mine")),
        "quarantined, not lost"
    );
}

/// Adds a node as a working copy does: with the next free id it knows of.
fn add_node(store: &dyn Store, alias: &str) -> Result<(), StoreFault> {
    let mut tx = store.begin_write()?;
    let added = testkit::node(tx.next_node_id()?.0, None, alias, alias);
    let mut operation = new(
        Verb::Ticket,
        &format!("new {alias}"),
        vec![Fact::NodeAdded {
            node: Box::new(added),
        }],
    );
    operation.texts = vec![alias.to_owned()];
    tx.record_operation(operation)?;
    tx.commit()
}

fn comment_on(store: &dyn Store, alias: &str, words: &str) -> Result<(), StoreFault> {
    let mut tx = store.begin_write()?;
    let node = tx.nodes_by_alias(alias)?.remove(0);
    let said = domain::comment::Comment {
        node: node.id,
        operation: tx.next_operation_id()?,
        by: Principal::System,
        at: timestamp(1_000),
        text: words.to_owned(),
        decision: None,
        carried_at: None,
        place: domain::comment::CommentPlace::default(),
    };
    let facts = domain::record::record_changed_fact(&said.record_key(), None, Some(&said));
    tx.record_operation(new(Verb::Comment, words, facts.into_iter().collect()))?;
    tx.commit()
}

fn comments_on(store: &dyn Store, alias: &str) -> Vec<String> {
    let state = store.begin_read().unwrap();
    let node = state.nodes_by_alias(alias).unwrap().remove(0);
    let prefix = domain::comment::comment_key_prefix(node.id);
    domain::record::read_records::<domain::comment::Comment>(&*state, &prefix)
        .unwrap()
        .into_iter()
        .map(|(_, said)| {
            assert_eq!(said.node, node.id);
            said.text
        })
        .collect()
}

#[test]
fn a_node_added_offline_gets_another_number_if_its_own_was_taken() {
    let place = Place::new(Storage::Sqlite);
    let server = Server::on(place.open());
    let (here, there) = (Machine::of(&server), Machine::of(&server));
    add_node(&*here.queueing(), "act-1").unwrap();
    drop(there.open().begin_read().unwrap());
    server.is_silent.store(true, SeqCst);
    add_node(&*here.queueing(), "act-2").unwrap();
    comment_on(&*here.queueing(), "act-2", "on mine").unwrap();
    comment_on(&*here.queueing(), "act-1", "on ours").unwrap();
    server.is_silent.store(false, SeqCst);
    add_node(&*there.open(), "act-3").unwrap();
    comment_on(&*there.open(), "act-3", "on theirs").unwrap();
    drop(here.queueing().begin_read().unwrap());
    for store in [here.open(), there.open()] {
        assert_eq!(comments_on(&*store, "act-1"), ["on ours"]);
        assert_eq!(comments_on(&*store, "act-2"), ["on mine"]);
        assert_eq!(comments_on(&*store, "act-3"), ["on theirs"]);
        assert!(store.verify_integrity().unwrap().is_empty());
    }
    assert_eq!(here.conflicts(), Vec::<String>::new());
}

#[test]
fn a_conflict_takes_only_what_depends_on_it_and_can_be_retried() {
    let place = Place::new(Storage::Sqlite);
    let server = Server::on(place.open());
    let (here, there) = (Machine::of(&server), Machine::of(&server));
    record_facts(
        &*here.queueing(),
        Verb::Remember,
        "begin",
        set("goal", None, "a"),
    )
    .unwrap();
    drop(there.open().begin_read().unwrap());
    server.is_silent.store(true, SeqCst);
    {
        // One operation that adds a node and changes what another changes too.
        let store = here.queueing();
        let mut tx = store.begin_write().unwrap();
        let added = testkit::node(tx.next_node_id().unwrap().0, None, "act-1", "act-1");
        let mut facts = set("goal", Some("a"), "here");
        facts.push(Fact::NodeAdded {
            node: Box::new(added),
        });
        let mut operation = new(Verb::Ticket, "new act-1", facts);
        operation.texts = vec!["act-1".to_owned()];
        tx.record_operation(operation).unwrap();
        tx.commit().unwrap();
    }
    comment_on(&*here.queueing(), "act-1", "depends on it").unwrap();
    record(&*here.queueing(), "independent").unwrap();
    server.is_silent.store(false, SeqCst);
    record_facts(
        &*there.open(),
        Verb::Remember,
        "theirs",
        set("goal", Some("a"), "there"),
    )
    .unwrap();
    add_node(&*there.open(), "act-9").unwrap();
    let store = here.queueing();
    assert_eq!(
        summaries(&*store),
        ["begin", "theirs", "new act-9", "independent"]
    );
    assert_eq!(comments_on(&*store, "act-9"), Vec::<String>::new());
    let conflicts = store.offline_conflicts().expect("a replica has them");
    let found = conflicts.list_conflicts().unwrap();
    let id_of = |summary: &str| {
        let one = found.iter().find(|one| one.operation.summary == summary);
        one.expect("it conflicts").id.clone()
    };
    let (first, second) = (id_of("new act-1"), id_of("depends on it"));
    // Neither can be recorded yet: one still conflicts, the other is about its node.
    for id in [&first, &second] {
        assert!(matches!(
            conflicts.retry_conflict(id, timestamp(2_000)),
            Err(StoreFault::DoesNotFit { .. })
        ));
    }
    record_facts(
        &*here.queueing(),
        Verb::Remember,
        "back",
        set("goal", Some("there"), "a"),
    )
    .unwrap();
    conflicts.retry_conflict(&first, timestamp(2_000)).unwrap();
    conflicts.retry_conflict(&second, timestamp(2_000)).unwrap();
    assert_eq!(comments_on(&*here.open(), "act-1"), ["depends on it"]);
    assert!(conflicts.list_conflicts().unwrap().is_empty());
    assert!(here.open().verify_integrity().unwrap().is_empty());
}

#[test]
fn a_conflict_that_was_not_saved_here_is_not_sent() {
    let place = Place::new(Storage::Sqlite);
    let server = Server::on(place.open());
    let here = Machine::of(&server);
    record(&*here.open(), "before").unwrap();
    let folder = here.directory.path().join(".throughline/remote/conflicts");
    std::fs::create_dir_all(&folder).unwrap();
    let planted = json!({
        "why": "x",
        "operation": {
            "id": 2, "at": timestamp(1_000), "by": "system", "channel": "cli", "verb": "comment",
            "summary": "planted", "facts": []
        },
        "texts": []
    });
    std::fs::write(folder.join("x-0123456789ab.json"), planted.to_string()).unwrap();
    let store = here.open();
    let conflicts = store.offline_conflicts().expect("a replica has them");
    assert_eq!(conflicts.list_conflicts().unwrap().len(), 1);
    let Err(StoreFault::DoesNotFit { what }) = conflicts.retry_conflict("0123", timestamp(2_000))
    else {
        panic!("sent")
    };
    assert!(what.contains("was not saved here"), "{what}");
    conflicts.drop_conflict("0123").unwrap();
    assert!(conflicts.list_conflicts().unwrap().is_empty());
    assert_eq!(server.summaries(), ["before"]);
}
