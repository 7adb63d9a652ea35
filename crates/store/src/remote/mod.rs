//! Remote store: a local replica of a team server's history, with compare-and-swap commits.
//!
//! The replica is an ordinary SQLite store with journal and mirror: the same store id, the same
//! hash chain. Every read and write first pulls new operations from the server, in one request. A
//! commit is a compare-and-swap on the server's head; only what the server has stored is stored
//! here. An operation is identified by its hash, which makes sending idempotent. Notes and stamps
//! belong to this working copy and are not sent, except for the shared ones.

mod conflicts;
mod flush_queue;
pub(crate) mod http;
mod offline_queue;
mod rebase;
mod server;
mod server_status;

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use domain::ids::{OperationId, Principal, StoreId};
use domain::ports::{
    Clock, OfflineConflicts, OperationReader, Recovery, Snapshot, Store, StoreFault, StoreFinding,
    StoreFindingKind, Transaction,
};
use domain::settings::OfflinePolicy;
use domain::sync_protocol::{JournalLineHead, PullHeader, PushHeader, PushOutcome, SharedNote};
use domain::text::count_with_noun;
use serde::Deserialize;

use self::http::HttpServer;
use self::offline_queue::OfflineQueue;
pub use self::server::{FetchOutcome, ServerFault, TeamServer};
use self::server_status::ServerStatus;
use crate::clock::SystemClock;
use crate::durable::{Durability, replace_file};
use crate::engine::{EngineSettings, io_fault};
use crate::known_stores::KnownStores;
use crate::layout::Layout;
use crate::quarantine::{QuarantineManifest, QuarantineReason, quarantine_files};
use crate::recovery::{acquire_rebuild_lock, database_file_paths};
use crate::sqlite::SqliteStore;
use crate::tables::verify::store_finding;
use crate::tables::write::{TableTransaction, TransactionOwner};

/// Maximum attempts to send the same operations before the server counts as unreachable.
const MAX_SEND_ATTEMPTS: u32 = 3;

/// Maximum duration of one long poll, below the 30 seconds after which servers close idle
/// connections.
const MAX_LONG_POLL: Duration = Duration::from_secs(25);

/// How long a pull counts as fresh. A stale one leads to a write conflict at worst, which is
/// retried.
const REPLICA_FRESH_FOR: Duration = Duration::from_millis(100);

/// How long one process waits before it retries an unreachable server.
const RETRY_BACKOFF: Duration = Duration::from_secs(2);

/// An open project on a team server.
pub(crate) struct RemoteStore {
    replica: SqliteStore,
    server: Box<dyn TeamServer>,
    contact: ServerStatus,
    /// Operations recorded offline, waiting to be sent.
    queue: OfflineQueue,
    offline: OfflinePolicy,
    /// Since when this process has found the server unreachable, and why.
    silent: RefCell<Option<(Instant, String)>>,
    /// Time of the last complete pull.
    followed: Cell<Option<Instant>>,
    warnings: RefCell<Vec<String>>,
    told_silence: Cell<bool>,
}

impl RemoteStore {
    /// Opens the replica of a project, creating it on first use.
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
                next_steps: vec!["tl team join URL --token-file FILE".to_owned()],
            })?;
        Self::with_server(
            layout,
            settings,
            known,
            Box::new(HttpServer::new(address, settings.patience)),
        )
    }

    /// Opens the replica of a given server, whatever its transport.
    pub(crate) fn with_server(
        layout: &Layout,
        settings: &EngineSettings,
        known: Option<&KnownStores>,
        server: Box<dyn TeamServer>,
    ) -> Result<Self, StoreFault> {
        // No rollback detection for a replica: its head is compared with the server's on every
        // contact.
        let settings = &EngineSettings {
            heads: None,
            ..settings.clone()
        };
        let replica = match SqliteStore::open(layout, settings) {
            Err(StoreFault::Missing) => {
                create_replica(layout, known, &*server)?;
                SqliteStore::open(layout, settings)?
            }
            other => other?,
        };
        // Notes of several machines meet on the server; the name tells their working copies apart.
        replica.set_working_copy(layout.load_working_copy_name()?);
        let queue =
            OfflineQueue::beside_database(&layout.database, settings.patience, server.seal_key());
        let contact = ServerStatus::load_beside(
            &layout.database,
            settings.patience,
            server.client_identity(),
        );
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

    /// Returns the store's id.
    pub(crate) fn id(&self) -> Result<StoreId, StoreFault> {
        self.replica.read_store_id()
    }

    /// Pulls new operations from the server. When it is unreachable, the replica is used as it is.
    fn pull_changes(&self, wait: Duration) -> Result<(), StoreFault> {
        self.try_pull_changes(wait)?;
        let silent = self.silent.borrow().as_ref().map(|(_, why)| why.clone());
        match silent {
            // A replica that was never complete is unusable offline: a scan would record every plan
            // that is missing in it as new.
            Some(why) if !self.contact.is_complete() => Err(self.unreachable_fault(why)),
            _ => Ok(()),
        }
    }

    /// Pulls new operations; an unreachable server is noted, not an error.
    fn try_pull_changes(&self, wait: Duration) -> Result<(), StoreFault> {
        let is_fresh = self
            .followed
            .get()
            .is_some_and(|since| since.elapsed() < REPLICA_FRESH_FOR);
        if (wait.is_zero() && is_fresh) || self.is_backing_off() {
            return Ok(());
        }
        if !self.queue.is_empty() {
            match self.flush_queue() {
                Ok(true) => {}
                // Another process is sending the queue. Pulling now would put the server's
                // operations on top of queued ones.
                Ok(false) | Err(StoreFault::Locked { .. }) => return Ok(()),
                Err(fault) => return Err(fault),
            }
        }
        // Pages until the head is reached; only the first request may be a long poll.
        let mut wait = wait;
        loop {
            let (head, hash) = self.replica.head_position()?;
            let (greeting, lines) = match self.server.fetch_operations(head, Some(hash), wait) {
                Ok(FetchOutcome::Page { greeting, lines }) => (greeting, lines),
                Ok(FetchOutcome::Diverged) => return Err(self.divergence_fault(head)),
                Err(ServerFault::Silent { why, .. }) => {
                    self.note_unreachable(&why);
                    return Ok(());
                }
                // A refusal (token revoked, wrong project) is an error: working offline on it would
                // never end.
                Err(trouble) => return Err(self.store_fault(trouble)),
            };
            self.accept_greeting(&greeting)?;
            if !lines.is_empty() {
                self.apply_lines(&lines)?;
            }
            self.apply_notes(&greeting.notes)?;
            if self.replica.head_position()?.0 >= greeting.head {
                self.followed.set(Some(Instant::now()));
                self.contact.mark_complete();
                return Ok(());
            }
            if lines.is_empty() {
                return Err(self.divergence_fault(head));
            }
            wait = Duration::ZERO;
        }
    }

    /// Whether the server was unreachable a moment ago. Without this back-off every call of a
    /// command would wait for the connection timeout.
    fn is_backing_off(&self) -> bool {
        if let Some((since, _)) = &*self.silent.borrow() {
            return since.elapsed() < RETRY_BACKOFF;
        }
        match self.contact.is_backing_off() {
            true => {
                self.note_unreachable("it did not respond a moment ago");
                true
            }
            false => false,
        }
    }

    /// Notes that the server is unreachable, with one warning per process.
    fn note_unreachable(&self, why: &str) {
        *self.silent.borrow_mut() = Some((Instant::now(), why.to_owned()));
        self.contact.mark_unreachable();
        if !self.told_silence.replace(true) {
            let known_at = self
                .contact
                .last_response_at()
                .map(|last| format!(" of {last}"))
                .unwrap_or_default();
            let shown = self.server.display_name();
            self.warn(format!(
                "the server {shown} does not answer ({why}); using the local replica{known_at}"
            ));
            let waiting = self
                .queue
                .read_pending()
                .ok()
                .flatten()
                .map_or(0, |pending| pending.waiting.len());
            if waiting > 0 {
                self.warn(format!(
                    "{} queued here, to be sent later",
                    count_with_noun(waiting, "operation", "operations")
                ));
            }
        }
    }

    fn warn(&self, text: String) {
        self.warnings.borrow_mut().push(text);
    }

    /// Accepts a response's greeting: checks the store id, adopts the server's clock, caches our
    /// principal.
    fn accept_greeting(&self, greeting: &PullHeader) -> Result<(), StoreFault> {
        let own = self.replica.read_store_id()?;
        // Another project at the same URL: its operations must never be mixed into this replica.
        if greeting.store != own {
            return Err(self.rejection_fault(format!(
                "it has another project (store {}, not {own})",
                greeting.store
            )));
        }
        *self.silent.borrow_mut() = None;
        // Claims expire by the server's clock; laptops' clocks differ by minutes.
        self.replica.set_shared_clock(greeting.now);
        self.contact.record_greeting(greeting);
        Ok(())
    }

    /// Applies the server's operations to the replica, in one transaction.
    fn apply_lines(&self, lines: &[String]) -> Result<(), StoreFault> {
        #[derive(Deserialize)]
        struct Numbered {
            id: OperationId,
        }
        let mut transaction = self.replica.begin_write_transaction()?;
        for line in lines {
            let read: JournalLineHead<Numbered> = serde_json::from_str(line).map_err(|error| {
                self.rejection_fault(format!("its response cannot be parsed: {error}"))
            })?;
            // Another process of this machine may have pulled it meanwhile.
            if read.op.id <= transaction.last_operation_id()? {
                match transaction.chain_hash(read.op.id)? {
                    Some(own) if own == read.hash => continue,
                    _ => return Err(self.divergence_fault(read.op.id)),
                }
            }
            transaction.record_journal_line(line)?;
        }
        if transaction.lines.is_empty() {
            Ok(())
        } else {
            TransactionOwner::commit_transaction(&self.replica, &mut transaction)
        }
    }

    /// Stores shared notes that differ from the local ones.
    fn apply_notes(&self, notes: &[SharedNote]) -> Result<(), StoreFault> {
        // Compared first: taking the write lock on every pull would serialise all readers.
        let news: Vec<&SharedNote> = {
            let state = self.replica.begin_read()?;
            notes
                .iter()
                .filter(|note| {
                    state.load_note(&note.key).ok().flatten().as_ref() != Some(&note.body)
                })
                .collect()
        };
        if news.is_empty() {
            return Ok(());
        }
        let mut transaction = self.replica.begin_write_transaction()?;
        for note in news {
            transaction.save_note(&note.key, Some(&note.body), note.at)?;
        }
        TransactionOwner::commit_transaction(&self.replica, &mut transaction)
    }

    /// Sends operations, retrying while the outcome is unknown.
    fn send_with_retry(
        &self,
        sending: &PushHeader,
        lines: &[String],
    ) -> Result<PushOutcome, StoreFault> {
        let mut may_have_arrived = false;
        let mut last = String::new();
        for attempt in 0..MAX_SEND_ATTEMPTS {
            if attempt > 0 {
                // Exponential back-off: 60 ms, 120 ms.
                std::thread::sleep(Duration::from_millis(30 << attempt));
            }
            match self.server.send_operations(sending, lines) {
                Ok(receipt) => return Ok(receipt),
                Err(ServerFault::Silent {
                    why,
                    may_have_arrived: maybe,
                }) => {
                    may_have_arrived |= maybe;
                    last = why;
                }
                Err(trouble) => return Err(self.store_fault(trouble)),
            }
            // Never connected, so nothing was stored and an immediate retry is pointless. Otherwise
            // the retry finds out: the server recognises the operation by its hash.
            if !may_have_arrived {
                break;
            }
        }
        self.note_unreachable(&last);
        let at = self.server.display_name().to_owned();
        let why = match may_have_arrived {
            true => {
                format!(
                    "{last}, while operation {} was sent; `tl log` shows whether it was stored",
                    sending.after.next_id()
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

    /// Returns the fault for an unreachable server.
    fn unreachable_fault(&self, why: String) -> StoreFault {
        StoreFault::Silent {
            at: self.server.display_name().to_owned(),
            why,
            may_be_kept: false,
        }
    }

    /// Returns the fault for a server that cannot be used with this replica.
    fn rejection_fault(&self, why: String) -> StoreFault {
        let at = self.server.display_name().to_owned();
        let next_steps = vec![format!(
            "tl team join {at}   # takes the server's history; the local replica is quarantined"
        )];
        StoreFault::TurnedDown {
            at,
            why,
            next_steps,
        }
    }

    /// Returns the fault for histories that diverged.
    fn divergence_fault(&self, at: OperationId) -> StoreFault {
        self.rejection_fault(format!(
            "its history and the local one diverged at operation {at}; was it restored from a backup?"
        ))
    }

    /// Converts a server's fault.
    fn store_fault(&self, trouble: ServerFault) -> StoreFault {
        match trouble {
            ServerFault::Silent { why, .. } => self.unreachable_fault(why),
            ServerFault::Refused { why, next_steps } => StoreFault::TurnedDown {
                at: self.server.display_name().to_owned(),
                why,
                next_steps,
            },
        }
    }
}

/// Creates an empty replica with the server's store id.
fn create_replica(
    layout: &Layout,
    known: Option<&KnownStores>,
    server: &dyn TeamServer,
) -> Result<(), StoreFault> {
    let at = || server.display_name().to_owned();
    // Asks for operations after an id that no history reaches: the greeting alone is wanted. Half
    // of the maximum is the largest id that fits into a signed SQL column.
    let greeting = match server.fetch_operations(OperationId(u64::MAX >> 1), None, Duration::ZERO) {
        Ok(FetchOutcome::Page { greeting, .. }) => greeting,
        Ok(FetchOutcome::Diverged) => {
            let why = "its response is invalid".to_owned();
            return Err(StoreFault::TurnedDown {
                at: at(),
                why,
                next_steps: Vec::new(),
            });
        }
        Err(ServerFault::Silent { why, .. }) => {
            return Err(StoreFault::Silent {
                at: at(),
                why,
                may_be_kept: false,
            });
        }
        Err(ServerFault::Refused { why, next_steps }) => {
            return Err(StoreFault::TurnedDown {
                at: at(),
                why,
                next_steps,
            });
        }
    };
    let folder = layout.database.parent().unwrap_or(&layout.home);
    crate::private_files::create_private_directory(folder)
        .map_err(|error| io_fault("cannot create", folder, error))?;
    // The request above was made without the lock: a slow server must not block recovery.
    let _lock = acquire_rebuild_lock(layout)?;
    if layout.database.exists() {
        return Ok(());
    }
    if let Some(known) = known {
        let remembered = known.remember_store(&greeting.store, &layout.root);
        remembered.map_err(|error| io_fault("cannot write in", known.folder(), error))?;
    }
    // The cached status belongs to the previous replica, which may have been complete.
    ServerStatus::forget_status(&layout.database);
    // A replica is private to this machine and must not be committed.
    let ignore = folder.join(".gitignore");
    replace_file(&ignore, b"*\n", Durability::Atomic)
        .map_err(|error| io_fault("cannot write", &ignore, error))?;
    let size = crate::journal::Journal::new(&layout.journal)
        .write_new_journal(&greeting.store, &[])
        .map_err(|error| io_fault("cannot write", &layout.journal, error))?;
    SqliteStore::build_database(layout, &greeting.store, &[], size)
}

/// Quarantines a replica, so that it is created again, and returns where it is now.
///
/// # Errors
/// [`StoreFault`] when its files cannot be moved.
pub fn quarantine_replica(layout: &Layout) -> Result<Vec<String>, StoreFault> {
    let _lock = acquire_rebuild_lock(layout)?;
    // Queued operations go with it: they are chained to this replica's history.
    let beside = [
        layout.journal.clone(),
        layout.database.with_file_name("pending.jsonl"),
    ];
    let files = database_file_paths(&layout.database)
        .into_iter()
        .chain(beside);
    let why = "the replica of a team server was rebuilt";
    let manifest = QuarantineManifest::new(SystemClock.now(), QuarantineReason::Replica, why, None);
    Ok(quarantine_files(layout, &manifest, files)?
        .into_iter()
        .collect())
}

impl TransactionOwner for RemoteStore {
    fn commit_transaction(&self, transaction: &mut TableTransaction<'_>) -> Result<(), StoreFault> {
        let sending = PushHeader {
            after: transaction.found.head,
            hash: transaction.found.head_hash,
            notes: std::mem::take(&mut transaction.shared_notes),
        };
        if transaction.lines.is_empty() {
            TransactionOwner::commit_transaction(&self.replica, transaction)?;
            // Best effort: a heartbeat that is lost costs a session its claims, and only after the
            // lease.
            if !sending.notes.is_empty() && self.silent.borrow().is_none() {
                let _ = self.server.send_operations(&sending, &[]);
            }
            return Ok(());
        }
        let silent = self.silent.borrow().as_ref().map(|(_, why)| why.clone());
        if let Some(why) = silent {
            return self.queue_offline(transaction, self.unreachable_fault(why));
        }
        // Order is kept: a later operation may depend on a queued one.
        if !self.queue.is_empty() {
            return self.queue_offline(
                transaction,
                self.unreachable_fault(
                    "earlier operations are queued and have to be sent first".to_owned(),
                ),
            );
        }
        let receipt = match self.send_with_retry(&sending, &transaction.lines) {
            // Queued whether it arrived or not: if it did, the server recognises it by its hash.
            Err(fault @ StoreFault::Silent { .. }) => {
                return self.queue_offline(transaction, fault);
            }
            other => other?,
        };
        match receipt {
            PushOutcome::Kept { .. } => {
                // Stored on the server, so this is a success. The next pull brings what is missing
                // here.
                if let Err(fault) = TransactionOwner::commit_transaction(&self.replica, transaction)
                {
                    self.warn(format!(
                        "stored on the server, but not yet in the local replica: {fault}"
                    ));
                }
                Ok(())
            }
            PushOutcome::Conflict { .. } => {
                // The use case is retried at once and has to see the operation that was faster.
                self.followed.set(None);
                Err(StoreFault::Conflict)
            }
            PushOutcome::Diverged { after } => Err(self.divergence_fault(after)),
        }
    }

    fn roll_back(&self) {
        TransactionOwner::roll_back(&self.replica);
    }

    fn add_warnings(&self, warnings: Vec<String>) {
        self.warnings.borrow_mut().extend(warnings);
    }
}

impl Store for RemoteStore {
    fn is_shared(&self) -> bool {
        true
    }

    fn begin_read(&self) -> Result<Box<dyn Snapshot + '_>, StoreFault> {
        self.pull_changes(Duration::ZERO)?;
        self.replica.begin_read()
    }

    fn begin_read_cached(&self) -> Result<Box<dyn Snapshot + '_>, StoreFault> {
        match self.contact.is_complete() {
            true => self.replica.begin_read(),
            false => self.begin_read(),
        }
    }

    fn begin_write(&self) -> Result<Box<dyn Transaction + '_>, StoreFault> {
        self.pull_changes(Duration::ZERO)?;
        Ok(Box::new(
            self.replica.begin_write_transaction()?.owned_by(self),
        ))
    }

    fn wait_for_change(
        &self,
        known: OperationId,
        most: Duration,
    ) -> Result<OperationId, StoreFault> {
        let begun = Instant::now();
        loop {
            let left = most.saturating_sub(begun.elapsed());
            let here = self.replica.head_position()?.0;
            self.pull_changes(if here == known {
                left.min(MAX_LONG_POLL)
            } else {
                Duration::ZERO
            })?;
            let head = self.replica.head_position()?.0;
            let left = most.saturating_sub(begun.elapsed());
            if head != known || left.is_zero() {
                return Ok(head);
            }
            // Throttles the loop when the server is unreachable or does not support long polling.
            std::thread::sleep(left.min(RETRY_BACKOFF / 20));
        }
    }

    fn verify_integrity(&self) -> Result<Vec<StoreFinding>, StoreFault> {
        let followed = self.pull_changes(Duration::ZERO);
        let mut findings = self.replica.verify_integrity()?;
        match followed {
            Ok(()) => {}
            Err(StoreFault::TurnedDown { why, .. }) => {
                findings.push(store_finding(StoreFindingKind::JournalDamaged, why))
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

    fn offline_conflicts(&self) -> Option<&dyn OfflineConflicts> {
        Some(self)
    }

    fn remote_principal(&self) -> Option<Principal> {
        if self.contact.principal().is_none() {
            // Every response names our principal.
            let _ = self.pull_changes(Duration::ZERO);
        }
        self.contact.principal()
    }
}

/// Opens a replica with any server, for tests of misbehaving servers.
///
/// # Errors
/// [`StoreFault`].
pub fn open_replica_with(
    layout: &Layout,
    settings: &EngineSettings,
    known: &KnownStores,
    server: Box<dyn TeamServer>,
) -> Result<Box<dyn Store>, StoreFault> {
    Ok(Box::new(RemoteStore::with_server(
        layout,
        settings,
        Some(known),
        server,
    )?))
}
