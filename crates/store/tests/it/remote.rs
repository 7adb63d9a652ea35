//! A replica and its server, without HTTP between them: the same story, and what happens when answers get lost.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::access::Scope;
use domain::exchange::{Greeting, Receipt, Sending};
use domain::ids::{Digest32, OperationId, Principal};
use domain::operation::{Channel, Verb};
use domain::ports::{NewOperation, Store, StoreFault};
use domain::settings::{ServerAddress, Settings, Storage};
use domain::time::Timestamp;
use store::{EngineSettings, Fetched, KnownStores, Layout, TeamServer, Trouble, open_replica};
use testkit::{tell_store_story, timestamp};

use crate::Place;

/// A server that believes everything: who may do what is tested elsewhere.
struct Server {
    store: Mutex<Box<dyn Store>>,
    /// So many answers to what is sent get lost, after it was kept.
    loses: AtomicUsize,
    is_silent: AtomicBool,
    tampers: AtomicBool,
    sent: AtomicUsize,
    asked: AtomicUsize,
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
        })
    }

    fn heard(&self) -> Result<(), Trouble> {
        match self.is_silent.load(SeqCst) {
            true => Err(Trouble::Silent { why: "nobody is there".to_owned(), may_have_arrived: false }),
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
    fn shown(&self) -> &str {
        "next door"
    }

    fn identity(&self) -> Digest32 {
        Digest32::of(b"next door")
    }

    fn fetch(&self, after: OperationId, hash: Option<Digest32>, _wait: Duration) -> Result<Fetched, Trouble> {
        self.0.heard()?;
        self.0.asked.fetch_add(1, SeqCst);
        let store = self.0.store.lock().unwrap();
        let state = store.read().unwrap();
        if hash.is_some_and(|hash| state.chain_hash(after).unwrap() != Some(hash)) {
            return Ok(Fetched::Diverged);
        }
        let head = state.head().unwrap();
        let greeting = Greeting {
            store: state.store_id().unwrap(),
            head,
            head_hash: state.chain_hash(head).unwrap().unwrap(),
            now: timestamp(1_000),
            principal: Principal::Human("Анна".to_owned()),
            scope: Scope::Approve,
            notes: Vec::new(),
        };
        // A page is never long here, so that there are several.
        let mut lines = state.lines(after, 1).unwrap();
        if self.0.tampers.load(SeqCst) {
            lines.iter_mut().for_each(|line| *line = line.replace("one", "two"));
        }
        Ok(Fetched::Page { greeting, lines })
    }

    fn send(&self, sending: &Sending, lines: &[String]) -> Result<Receipt, Trouble> {
        self.0.heard()?;
        self.0.sent.fetch_add(1, SeqCst);
        let store = self.0.store.lock().unwrap();
        let mut tx = store.write().unwrap();
        let (head, next) = (tx.head().unwrap(), sending.after.next());
        let is_kept = lines.first().is_some_and(|line| {
            let hash = tx.chain_hash(next).unwrap();
            hash.is_some_and(|hash| line.contains(&hash.to_string()))
        });
        let receipt = if is_kept {
            Receipt::Kept { head }
        } else if head != sending.after {
            Receipt::Overtaken { head }
        } else {
            lines.iter().for_each(|line| tx.record_line(line).unwrap());
            tx.commit().unwrap();
            Receipt::Kept { head: next }
        };
        match self.0.loses.load(SeqCst) {
            0 => Ok(receipt),
            left => {
                self.0.loses.store(left - 1, SeqCst);
                Err(Trouble::Silent { why: "it broke".to_owned(), may_have_arrived: true })
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
        Self { directory: tempfile::tempdir().unwrap(), server: server.clone() }
    }

    fn open(&self) -> Box<dyn Store> {
        let mut settings = Settings::default();
        settings.server.address = Some(ServerAddress::new("http://127.0.0.1:1", "token").unwrap());
        let layout = Layout::new(self.directory.path(), &settings);
        let known = KnownStores::in_directory(&self.directory.path().join("user"));
        open_replica(&layout, &EngineSettings::default(), &known, Box::new(Link(self.server.clone()))).unwrap()
    }
}

fn summaries(store: &dyn Store) -> Vec<String> {
    let state = store.read().unwrap();
    let mut found = state.operation_heads(None, 1_000).unwrap();
    found.reverse();
    found.into_iter().map(|head| head.summary).collect()
}

fn record(store: &dyn Store, summary: &str) -> Result<(), StoreFault> {
    let mut tx = store.write()?;
    tx.record(NewOperation {
        at: timestamp(1),
        by: Principal::System,
        channel: Channel::System,
        verb: Verb::Comment,
        summary: summary.to_owned(),
        key: None,
        facts: Vec::new(),
        texts: Vec::new(),
    })?;
    tx.commit()
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
        assert_eq!(first.read().unwrap().all_nodes().unwrap(), second.read().unwrap().all_nodes().unwrap());
        assert!(second.verify().unwrap().is_empty());
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
    let Err(StoreFault::Silent { why, .. }) = record(&*store, "never told") else { panic!("told") };
    assert!(why.contains("while operation 3 was sent"), "{why}");
    server.loses.store(0, SeqCst);
    let expected = ["lost 1", "lost 2", "never told"];
    assert_eq!(summaries(&*here.open()), expected);
    record(&*there.open(), "after").unwrap();
    for store in [here.open(), there.open()] {
        assert_eq!(summaries(&*store), ["lost 1", "lost 2", "never told", "after"]);
        assert!(store.verify().unwrap().is_empty());
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
    let mut slow = here.write().unwrap();
    record(&*there, "fast").unwrap();
    let new = NewOperation {
        at: timestamp(2),
        by: Principal::System,
        channel: Channel::System,
        verb: Verb::Comment,
        summary: "slow".to_owned(),
        key: None,
        facts: Vec::new(),
        texts: Vec::new(),
    };
    slow.record(new).unwrap();
    assert!(matches!(slow.commit(), Err(StoreFault::Overtaken)));
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
    assert_eq!(store.caller(), Some(Principal::Human("Анна".to_owned())), "remembered");
    assert_eq!(summaries(&*store), ["one"]);
    let warned = store.take_warnings();
    assert!(warned.len() == 1 && warned[0].contains("next door does not answer"), "{warned:?}");
    assert!(store.take_warnings().is_empty(), "said once");
    assert!(matches!(record(&*store, "two"), Err(StoreFault::Silent { .. })));
    let sent = server.sent.load(SeqCst);
    let mut tx = store.write().unwrap();
    tx.keep_note("session/a", Some("read"), timestamp(3)).unwrap();
    tx.commit().unwrap();
    assert_eq!(store.read().unwrap().note("session/a").unwrap().as_deref(), Some("read"));
    server.is_silent.store(false, SeqCst);
    let again = machine.open();
    record(&*again, "two").unwrap();
    let mut tx = again.write().unwrap();
    tx.keep_note("session/a", Some("read again"), timestamp(4)).unwrap();
    tx.commit().unwrap();
    assert_eq!(server.sent.load(SeqCst), sent + 1, "notes of this machine stay here");
    assert_eq!(server.summaries(), ["one", "two"]);
}

#[test]
fn a_look_right_after_another_asks_once() {
    let place = Place::new(Storage::Sqlite);
    let server = Server::on(place.open());
    let machine = Machine::of(&server);
    let store = machine.open();
    drop(store.read().unwrap());
    let asked = server.asked.load(SeqCst);
    drop((store.read().unwrap(), store.caller()));
    assert_eq!(server.asked.load(SeqCst), asked);
}

#[test]
fn time_is_the_servers() {
    let place = Place::new(Storage::Sqlite);
    let server = Server::on(place.open());
    let machine = Machine::of(&server);
    let store = machine.open();
    let now = store.read().unwrap().now().unwrap().expect("a shared clock");
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
    let Err(StoreFault::TurnedDown { why, next_steps, .. }) = store.read().map(drop) else { panic!("read") };
    assert!(why.contains("went different ways at operation 2"), "{why}");
    assert!(next_steps[0].starts_with("tl join next door"), "{next_steps:?}");
    assert!(store.verify().unwrap().iter().any(|found| found.message.contains("different ways")));
}

#[test]
fn a_line_that_was_changed_on_its_way_is_not_taken_over() {
    let place = Place::new(Storage::Sqlite);
    let server = Server::on(place.open());
    let (first, second) = (Machine::of(&server), Machine::of(&server));
    record(&*first.open(), "one").unwrap();
    server.tampers.store(true, SeqCst);
    let store = second.open();
    let Err(fault) = store.read().map(drop) else { panic!("taken over") };
    assert!(matches!(&fault, StoreFault::DoesNotFit { what } if what.contains("hash")), "{fault}");
    server.tampers.store(false, SeqCst);
    assert_eq!(summaries(&*store), ["one"]);
}
