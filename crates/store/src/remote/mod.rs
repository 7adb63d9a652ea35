//! A team server elsewhere, worked with through a replica here.
//!
//! The replica is an ordinary SQLite store with its journal and mirror: the same identity, the same chain of operations. Every
//! read and write first takes over what is new on the server, in one request. A commit is a compare-and-swap on the server's
//! last operation; only what the server has kept is kept here. An operation is known by its hash, so that it can be sent
//! twice and kept once. Notes and stamps are of this working copy and never leave it, but for the shared ones.

mod catch_up;
mod contact;
mod http;
mod pending;
mod server;

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use domain::exchange::{Greeting, LineHead, Receipt, Sending, SharedNote};
use domain::ids::{OperationId, Principal, StoreId};
use domain::ports::{
    Clock, Recovery, Snapshot, Store, StoreFault, StoreFinding, StoreFindingKind, Transaction,
};
use domain::settings::OfflinePolicy;
use domain::text::count;
use serde::Deserialize;

use self::contact::Contact;
use self::http::HttpServer;
use self::pending::Queue;
pub use self::server::{Fetched, TeamServer, Trouble};
use crate::clock::SystemClock;
use crate::durable::{Durability, replace};
use crate::engine::{EngineSettings, io_fault};
use crate::known_stores::KnownStores;
use crate::layout::Layout;
use crate::quarantine::{Manifest, QuarantineReason, quarantine_files};
use crate::recovery::{database_files, rebuild_lock};
use crate::sqlite::SqliteStore;
use crate::tables::verify::finding;
use crate::tables::write::{Keeper, TableTransaction};

/// How often the same operations are sent before it is said that nobody answers.
const SENT_AT_MOST: u32 = 3;

/// The longest a server is asked to wait for news.
const LONGEST_WAIT: Duration = Duration::from_secs(25);

/// What was taken over so short a time ago is what there is. Whoever is wrong about that is overtaken at worst.
const FRESH: Duration = Duration::from_millis(100);

/// How long a server that did not answer is left alone by the same process.
const LEFT_ALONE: Duration = Duration::from_secs(2);

/// A project on a team server, open.
pub(crate) struct RemoteStore {
    replica: SqliteStore,
    server: Box<dyn TeamServer>,
    contact: Contact,
    /// What waits to be sent, and whether anything may.
    queue: Queue,
    offline: OfflinePolicy,
    /// Since when the server is silent, as far as this process knows, and why.
    silent: RefCell<Option<(Instant, String)>>,
    /// When everything there was had been taken over.
    followed: Cell<Option<Instant>>,
    warnings: RefCell<Vec<String>>,
    told_silence: Cell<bool>,
}

impl RemoteStore {
    /// Opens the replica of a project; makes it when there is none.
    pub(crate) fn open(
        layout: &Layout,
        settings: &EngineSettings,
        known: Option<&KnownStores>,
    ) -> Result<Self, StoreFault> {
        let address = layout
            .server
            .as_ref()
            .ok_or_else(|| StoreFault::TurnedDown {
                at: "of this project".to_owned(),
                why: "its address is not known".to_owned(),
                next_steps: vec!["tl join URL --token-file FILE".to_owned()],
            })?;
        Self::around(
            layout,
            settings,
            known,
            Box::new(HttpServer::at(address, settings.patience)),
        )
    }

    /// The same with a server that is reached in some way.
    pub(crate) fn around(
        layout: &Layout,
        settings: &EngineSettings,
        known: Option<&KnownStores>,
        server: Box<dyn TeamServer>,
    ) -> Result<Self, StoreFault> {
        // A replica is the server's word: its head is compared there, and at every contact with it.
        let settings = &EngineSettings {
            heads: None,
            ..settings.clone()
        };
        let replica = match SqliteStore::open(layout, settings) {
            Err(StoreFault::Missing) => {
                make_replica(layout, known, &*server)?;
                SqliteStore::open(layout, settings)?
            }
            other => other?,
        };
        replica.name_working_copy(layout.working_copy()?);
        let queue = Queue::beside(&layout.database, settings.patience, server.seal());
        let contact = Contact::beside(&layout.database, settings.patience, server.identity());
        Ok(Self {
            replica,
            server,
            contact,
            queue,
            offline: layout.offline,
            silent: RefCell::default(),
            followed: Cell::default(),
            warnings: RefCell::default(),
            told_silence: Cell::default(),
        })
    }

    /// Returns whose store it is.
    pub(crate) fn id(&self) -> Result<StoreId, StoreFault> {
        self.replica.id()
    }

    /// Takes over what is new on the server. When it does not answer, what is known here has to do.
    fn follow(&self, wait: Duration) -> Result<(), StoreFault> {
        self.follow_if_heard(wait)?;
        let silent = self.silent.borrow().as_ref().map(|(_, why)| why.clone());
        match silent {
            // What is only begun is no state to work on: everything that is not here yet would seem new.
            Some(why) if !self.contact.is_whole() => Err(self.silence(why)),
            _ => Ok(()),
        }
    }

    fn follow_if_heard(&self, wait: Duration) -> Result<(), StoreFault> {
        let is_fresh = self
            .followed
            .get()
            .is_some_and(|since| since.elapsed() < FRESH);
        if (wait.is_zero() && is_fresh) || self.leaves_alone() {
            return Ok(());
        }
        if !self.queue.is_empty() {
            match self.send_waiting() {
                Ok(true) => {}
                // Another process is at it.
                Ok(false) | Err(StoreFault::Locked { .. }) => return Ok(()),
                Err(fault) => return Err(fault),
            }
        }
        let mut wait = wait;
        loop {
            let (head, hash) = self.replica.standing()?;
            let (greeting, lines) = match self.server.fetch(head, Some(hash), wait) {
                Ok(Fetched::Page { greeting, lines }) => (greeting, lines),
                Ok(Fetched::Diverged) => return Err(self.diverged(head)),
                Err(Trouble::Silent { why, .. }) => {
                    self.hear_nothing(&why);
                    return Ok(());
                }
                Err(trouble) => return Err(self.fault(trouble)),
            };
            self.hear(&greeting)?;
            if !lines.is_empty() {
                self.take_over(&lines)?;
            }
            self.take_notes(&greeting.notes)?;
            if self.replica.standing()?.0 >= greeting.head {
                self.followed.set(Some(Instant::now()));
                self.contact.note_whole();
                return Ok(());
            }
            if lines.is_empty() {
                return Err(self.diverged(head));
            }
            wait = Duration::ZERO;
        }
    }

    /// Says whether the server did not answer a moment ago, so that not everything takes as long as finding that out.
    fn leaves_alone(&self) -> bool {
        if let Some((since, _)) = &*self.silent.borrow() {
            return since.elapsed() < LEFT_ALONE;
        }
        match self.contact.is_to_be_left_alone() {
            true => {
                self.hear_nothing("it did not answer a moment ago");
                true
            }
            false => false,
        }
    }

    fn hear_nothing(&self, why: &str) {
        *self.silent.borrow_mut() = Some((Instant::now(), why.to_owned()));
        self.contact.note_silence();
        if !self.told_silence.replace(true) {
            let known_at = self
                .contact
                .last()
                .map(|last| format!(" at {last}"))
                .unwrap_or_default();
            let shown = self.server.shown();
            self.warn(format!(
                "the server {shown} does not answer ({why}): this is what was known{known_at}"
            ));
            let waiting = self
                .queue
                .read()
                .ok()
                .flatten()
                .map_or(0, |pending| pending.waiting.len());
            if waiting > 0 {
                self.warn(format!(
                    "{} wait here to be sent",
                    count(waiting, "operation", "operations")
                ));
            }
        }
    }

    fn warn(&self, text: String) {
        self.warnings.borrow_mut().push(text);
    }

    fn hear(&self, greeting: &Greeting) -> Result<(), StoreFault> {
        let own = self.replica.id()?;
        if greeting.store != own {
            return Err(self.turned_down(format!(
                "it has another project (store {}, not {own})",
                greeting.store
            )));
        }
        *self.silent.borrow_mut() = None;
        self.replica.go_by(greeting.now);
        self.contact.note(greeting);
        Ok(())
    }

    /// Applies operations of the server to the replica, all or none.
    fn take_over(&self, lines: &[String]) -> Result<(), StoreFault> {
        #[derive(Deserialize)]
        struct Numbered {
            id: OperationId,
        }
        let mut transaction = self.replica.begin_writing()?;
        for line in lines {
            let read: LineHead<Numbered> = serde_json::from_str(line).map_err(|error| {
                self.turned_down(format!("what it sent cannot be read: {error}"))
            })?;
            // Another process of this machine may have taken it over meanwhile.
            if read.op.id <= transaction.head()? {
                match transaction.chain_hash(read.op.id)? {
                    Some(own) if own == read.hash => continue,
                    _ => return Err(self.diverged(read.op.id)),
                }
            }
            transaction.record_line(line)?;
        }
        if transaction.lines.is_empty() {
            Ok(())
        } else {
            Keeper::commit(&self.replica, &mut transaction)
        }
    }

    fn take_notes(&self, notes: &[SharedNote]) -> Result<(), StoreFault> {
        let news: Vec<&SharedNote> = {
            let state = self.replica.read()?;
            notes
                .iter()
                .filter(|note| state.note(&note.key).ok().flatten().as_ref() != Some(&note.body))
                .collect()
        };
        if news.is_empty() {
            return Ok(());
        }
        let mut transaction = self.replica.begin_writing()?;
        for note in news {
            transaction.keep_note(&note.key, Some(&note.body), note.at)?;
        }
        Keeper::commit(&self.replica, &mut transaction)
    }

    /// Sends operations until it is known what became of them.
    fn send(&self, sending: &Sending, lines: &[String]) -> Result<Receipt, StoreFault> {
        let mut may_have_arrived = false;
        let mut last = String::new();
        for attempt in 0..SENT_AT_MOST {
            if attempt > 0 {
                std::thread::sleep(Duration::from_millis(30 << attempt));
            }
            match self.server.send(sending, lines) {
                Ok(receipt) => return Ok(receipt),
                Err(Trouble::Silent {
                    why,
                    may_have_arrived: maybe,
                }) => {
                    may_have_arrived |= maybe;
                    last = why;
                }
                Err(trouble) => return Err(self.fault(trouble)),
            }
            // Nobody is there: to ask again at once is no use, unless something is to be found out.
            if !may_have_arrived {
                break;
            }
        }
        self.hear_nothing(&last);
        let at = self.server.shown().to_owned();
        let why = match may_have_arrived {
            true => {
                format!(
                    "{last}, while operation {} was sent; `tl log` tells whether it was kept",
                    sending.after.next()
                )
            }
            false => last,
        };
        Err(StoreFault::Silent {
            at,
            why,
            may_be_kept: may_have_arrived,
        })
    }

    fn silence(&self, why: String) -> StoreFault {
        StoreFault::Silent {
            at: self.server.shown().to_owned(),
            why,
            may_be_kept: false,
        }
    }

    fn turned_down(&self, why: String) -> StoreFault {
        let at = self.server.shown().to_owned();
        let next_steps = vec![format!(
            "tl join {at}   # takes the server's history; what is here is put aside"
        )];
        StoreFault::TurnedDown {
            at,
            why,
            next_steps,
        }
    }

    fn diverged(&self, at: OperationId) -> StoreFault {
        self.turned_down(format!(
            "its history and the one here went different ways at operation {at}; was it restored from a backup?"
        ))
    }

    fn fault(&self, trouble: Trouble) -> StoreFault {
        match trouble {
            Trouble::Silent { why, .. } => self.silence(why),
            Trouble::Refused { why, next_steps } => StoreFault::TurnedDown {
                at: self.server.shown().to_owned(),
                why,
                next_steps,
            },
        }
    }
}

/// Makes an empty replica of what the server has.
fn make_replica(
    layout: &Layout,
    known: Option<&KnownStores>,
    server: &dyn TeamServer,
) -> Result<(), StoreFault> {
    let at = || server.shown().to_owned();
    let greeting = match server.fetch(OperationId(u64::MAX >> 1), None, Duration::ZERO) {
        Ok(Fetched::Page { greeting, .. }) => greeting,
        Ok(Fetched::Diverged) => {
            let why = "its answer makes no sense".to_owned();
            return Err(StoreFault::TurnedDown {
                at: at(),
                why,
                next_steps: Vec::new(),
            });
        }
        Err(Trouble::Silent { why, .. }) => {
            return Err(StoreFault::Silent {
                at: at(),
                why,
                may_be_kept: false,
            });
        }
        Err(Trouble::Refused { why, next_steps }) => {
            return Err(StoreFault::TurnedDown {
                at: at(),
                why,
                next_steps,
            });
        }
    };
    let folder = layout.database.parent().unwrap_or(&layout.home);
    crate::private::create_directory(folder)
        .map_err(|error| io_fault("cannot make", folder, error))?;
    let _lock = rebuild_lock(layout)?;
    if layout.database.exists() {
        return Ok(());
    }
    if let Some(known) = known {
        let remembered = known.remember(&greeting.store, &layout.root);
        remembered.map_err(|error| io_fault("cannot write in", known.folder(), error))?;
    }
    // What is remembered of another replica says nothing of this one.
    Contact::forget(&layout.database);
    // Nothing of it belongs into a repository.
    let ignore = folder.join(".gitignore");
    replace(&ignore, b"*\n", Durability::Atomic)
        .map_err(|error| io_fault("cannot write", &ignore, error))?;
    let size = crate::journal::Journal::at(&layout.journal)
        .write_whole(&greeting.store, &[])
        .map_err(|error| io_fault("cannot write", &layout.journal, error))?;
    SqliteStore::build(layout, &greeting.store, &[], size)
}

/// Puts a replica aside, so that it is made anew, and returns where it is now.
///
/// # Errors
/// [`StoreFault`] when it cannot be.
pub fn put_replica_aside(layout: &Layout) -> Result<Vec<String>, StoreFault> {
    let _lock = rebuild_lock(layout)?;
    let beside = [
        layout.journal.clone(),
        layout.database.with_file_name("pending.jsonl"),
    ];
    let files = database_files(&layout.database).into_iter().chain(beside);
    let why = "the replica of a team server was made again";
    let manifest = Manifest::new(SystemClock.now(), QuarantineReason::Replica, why, None);
    Ok(quarantine_files(layout, &manifest, files)?
        .into_iter()
        .collect())
}

impl Keeper for RemoteStore {
    fn commit(&self, transaction: &mut TableTransaction<'_>) -> Result<(), StoreFault> {
        let sending = Sending {
            after: transaction.found.head,
            hash: transaction.found.head_hash,
            notes: std::mem::take(&mut transaction.shared_notes),
        };
        if transaction.lines.is_empty() {
            Keeper::commit(&self.replica, transaction)?;
            // A session that is not heard of loses its claims at worst, and only after a while.
            if !sending.notes.is_empty() && self.silent.borrow().is_none() {
                let _ = self.server.send(&sending, &[]);
            }
            return Ok(());
        }
        let silent = self.silent.borrow().as_ref().map(|(_, why)| why.clone());
        if let Some(why) = silent {
            return self.let_wait(transaction, self.silence(why));
        }
        if !self.queue.is_empty() {
            return self.let_wait(
                transaction,
                self.silence("operations wait here to be sent first".to_owned()),
            );
        }
        let receipt = match self.send(&sending, &transaction.lines) {
            // Whether it got there or not: if it did, it is known by its hash.
            Err(fault @ StoreFault::Silent { .. }) => return self.let_wait(transaction, fault),
            other => other?,
        };
        match receipt {
            Receipt::Kept { .. } => {
                // It is kept there, whatever becomes of it here: the next look brings what is missing.
                if let Err(fault) = Keeper::commit(&self.replica, transaction) {
                    self.warn(format!("kept by the server, but not yet here: {fault}"));
                }
                Ok(())
            }
            Receipt::Overtaken { .. } => {
                self.followed.set(None);
                Err(StoreFault::Overtaken)
            }
            Receipt::Diverged { after } => Err(self.diverged(after)),
        }
    }

    fn roll_back(&self) {
        Keeper::roll_back(&self.replica);
    }

    fn warn(&self, warnings: Vec<String>) {
        self.warnings.borrow_mut().extend(warnings);
    }
}

impl Store for RemoteStore {
    fn read(&self) -> Result<Box<dyn Snapshot + '_>, StoreFault> {
        self.follow(Duration::ZERO)?;
        self.replica.read()
    }

    fn read_known(&self) -> Result<Box<dyn Snapshot + '_>, StoreFault> {
        match self.contact.is_whole() {
            true => self.replica.read(),
            false => self.read(),
        }
    }

    fn write(&self) -> Result<Box<dyn Transaction + '_>, StoreFault> {
        self.follow(Duration::ZERO)?;
        Ok(Box::new(self.replica.begin_writing()?.kept_by(self)))
    }

    fn await_change(&self, known: OperationId, most: Duration) -> Result<OperationId, StoreFault> {
        let begun = Instant::now();
        loop {
            let left = most.saturating_sub(begun.elapsed());
            let here = self.replica.standing()?.0;
            self.follow(if here == known {
                left.min(LONGEST_WAIT)
            } else {
                Duration::ZERO
            })?;
            let head = self.replica.standing()?.0;
            let left = most.saturating_sub(begun.elapsed());
            if head != known || left.is_zero() {
                return Ok(head);
            }
            // Whoever is silent, or does not wait as it was asked to, is not asked all the time.
            std::thread::sleep(left.min(LEFT_ALONE / 20));
        }
    }

    fn verify(&self) -> Result<Vec<StoreFinding>, StoreFault> {
        let followed = self.follow(Duration::ZERO);
        let mut findings = self.replica.verify()?;
        match followed {
            Ok(()) => {}
            Err(StoreFault::TurnedDown { why, .. }) => {
                findings.push(finding(StoreFindingKind::JournalDamaged, why))
            }
            Err(fault) => return Err(fault),
        }
        Ok(findings)
    }

    fn finish_mirror(&self) {
        self.replica.finish_mirror();
    }

    fn sync_mirror(&self) -> Result<usize, StoreFault> {
        self.replica.sync_mirror()
    }

    fn take_recoveries(&self) -> Vec<Recovery> {
        self.replica.take_recoveries()
    }

    fn take_warnings(&self) -> Vec<String> {
        self.warnings.take()
    }

    fn caller(&self) -> Option<Principal> {
        if self.contact.caller().is_none() {
            // Who we are is said with every answer.
            let _ = self.follow(Duration::ZERO);
        }
        self.contact.caller()
    }
}

/// Opens a replica around any server, for tests of what a server may do.
///
/// # Errors
/// [`StoreFault`].
pub fn open_replica(
    layout: &Layout,
    settings: &EngineSettings,
    known: &KnownStores,
    server: Box<dyn TeamServer>,
) -> Result<Box<dyn Store>, StoreFault> {
    Ok(Box::new(RemoteStore::around(
        layout,
        settings,
        Some(known),
        server,
    )?))
}
