//! Audit log of changes and rejections over HTTP, written asynchronously by one thread.
//!
//! Frequent events become one entry per minute with a count, and the number of distinct entries per
//! minute is capped, so that a client cannot fill the disk by being rejected. Entries contain no
//! secrets: principal, action, source and outcome only. A full queue drops entries and counts them,
//! because a slow log must not slow down requests.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use application::Workspace;
use domain::authorization::AuthenticatedPrincipal;
use domain::ids::Principal;
use domain::time::Timestamp;
use domain::token::AuditEntry;

use crate::middleware::RequestSource;

/// Retention of entries, and their maximum number.
const RETENTION_MILLIS: i64 = 90 * 24 * 60 * 60 * 1000;
const MAX_ENTRIES: usize = 100_000;

/// Entries with the same key within this time are aggregated.
const AGGREGATION_INTERVAL: Duration = Duration::from_secs(60);
/// Time between two removals of old entries.
const PRUNE_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Maximum number of distinct keys per minute; all others are aggregated into one entry.
const MAX_KEYS_PER_WINDOW: usize = 256;
/// Maximum number of entries that wait to be written; more are lost, and counted in the metrics.
const MAX_QUEUED_ENTRIES: usize = 4_096;
/// Maximum number of entries per transaction.
const BATCH_SIZE: usize = 256;
/// Delay before a failed write is retried.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// Time limit for the last entries at shutdown.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// An entry and the time of its event. The token store's clock dates it when it is written.
#[derive(Clone)]
struct TimedEntry {
    line: AuditEntry,
    when: Instant,
}

enum WriterMessage {
    Entry(TimedEntry),
    /// A token was used, for the time of its last use.
    TokenUse(u64, Instant),
    Stop,
}

/// Key by which entries are aggregated.
#[derive(Clone, PartialEq, Eq, Hash)]
struct EntryKey {
    /// Besides the token: clients of the OAuth issuer have none.
    principal: Option<Principal>,
    token: Option<u64>,
    from: String,
    action: String,
    outcome: String,
}

impl EntryKey {
    fn from_entry(line: &AuditEntry) -> Self {
        let AuditEntry {
            principal,
            token,
            from,
            action,
            outcome,
            ..
        } = line.clone();
        Self {
            principal,
            token,
            from,
            action,
            outcome,
        }
    }
}

/// The first entry of a key, and the number of events after it.
struct AggregatedEntry {
    line: TimedEntry,
    more: u64,
}

#[derive(Default)]
struct AggregationWindow {
    kinds: HashMap<EntryKey, AggregatedEntry>,
    /// When the last use of each token was recorded.
    used: HashMap<u64, Instant>,
}

/// Handle for recording entries; the writer is a thread of its own.
pub struct AuditLog {
    out: SyncSender<WriterMessage>,
    minute: Arc<Mutex<AggregationWindow>>,
    ended: Mutex<Option<Receiver<()>>>,
    lost: Arc<AtomicU64>,
}

impl AuditLog {
    /// Starts the writer for the audit log of a project.
    pub(crate) fn start(workspace: Arc<dyn Workspace>) -> Self {
        // Bounded: an unbounded queue would grow without limit while the database is down.
        let (out, notes) = sync_channel(MAX_QUEUED_ENTRIES);
        let (end, ended) = sync_channel(1);
        let minute = Arc::new(Mutex::new(AggregationWindow::default()));
        let lost = Arc::new(AtomicU64::new(0));
        let (held, dropped) = (minute.clone(), lost.clone());
        // If the thread cannot be started, entries are lost and counted; serving goes on.
        let _ = std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || {
                Writer {
                    workspace,
                    minute: held,
                    lost: dropped,
                    waiting: Vec::new(),
                    uses: HashMap::new(),
                    pruned: None,
                }
                .run(&notes);
                let _ = end.send(());
            });
        Self {
            out,
            minute,
            ended: Mutex::new(Some(ended)),
            lost,
        }
    }

    /// Records a change.
    pub fn record(
        &self,
        who: &AuthenticatedPrincipal,
        source: &RequestSource,
        action: &str,
        outcome: &str,
        detail: &str,
    ) {
        self.send_to_writer(WriterMessage::Entry(timed_entry(
            Some(who),
            source,
            action,
            outcome,
            detail,
        )));
    }

    /// Records an event that may be frequent: the first with its key at once, others within a
    /// minute as a count.
    pub(crate) fn record_aggregated(
        &self,
        who: Option<&AuthenticatedPrincipal>,
        source: &RequestSource,
        action: &str,
        outcome: &str,
    ) {
        let TimedEntry { mut line, when } = timed_entry(who, source, action, outcome, "");
        {
            // In its own scope: the lock is not held while the entry is sent.
            let mut minute = self.lock_window();
            // A scanner with many source addresses makes many keys. Beyond the cap all of them
            // share one entry, so that the log still says that something happened, and how often.
            if minute.kinds.len() >= MAX_KEYS_PER_WINDOW
                && !minute.kinds.contains_key(&EntryKey::from_entry(&line))
            {
                let (action, from) = ("others".to_owned(), "many".to_owned());
                line = AuditEntry {
                    principal: None,
                    token: None,
                    action,
                    from,
                    trace: None,
                    ..line
                };
            }
            match minute.kinds.entry(EntryKey::from_entry(&line)) {
                Entry::Occupied(mut counted) => {
                    let counted = counted.get_mut();
                    counted.more += 1;
                    counted.line.when = when;
                    return;
                }
                Entry::Vacant(first) => {
                    first.insert(AggregatedEntry {
                        line: TimedEntry {
                            line: line.clone(),
                            when,
                        },
                        more: 0,
                    });
                }
            }
        }
        self.send_to_writer(WriterMessage::Entry(TimedEntry { line, when }));
    }

    /// Records the use of a token, at most once a minute.
    pub(crate) fn record_token_use(&self, token: u64) {
        let now = Instant::now();
        {
            let used = &mut self.lock_window().used;
            // A busy agent sends a hundred requests per second; one write per minute is enough for
            // the time of last use.
            if used
                .get(&token)
                .is_some_and(|at| now.duration_since(*at) < AGGREGATION_INTERVAL)
            {
                return;
            }
            used.insert(token, now);
        }
        self.send_to_writer(WriterMessage::TokenUse(token, now));
    }

    /// Writes the remaining entries and stops the writer, within [`FLUSH_TIMEOUT`].
    pub(crate) fn flush_and_stop(&self) {
        self.send_to_writer(WriterMessage::Stop);
        if let Some(ended) = self
            .ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
        {
            let _ = ended.recv_timeout(FLUSH_TIMEOUT);
        }
    }

    fn lock_window(&self) -> MutexGuard<'_, AggregationWindow> {
        self.minute.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send_to_writer(&self, note: WriterMessage) {
        // `try_send`: a log that cannot keep up must not block requests.
        if self.out.try_send(note).is_err() {
            self.lost.fetch_add(1, Relaxed);
        }
    }

    /// Returns the number of lost entries.
    pub(crate) fn lost_entries(&self) -> u64 {
        self.lost.load(Relaxed)
    }
}

fn timed_entry(
    who: Option<&AuthenticatedPrincipal>,
    source: &RequestSource,
    action: &str,
    outcome: &str,
    detail: &str,
) -> TimedEntry {
    let line = AuditEntry {
        at: Timestamp::from_millis(0),
        principal: who.map(|who| who.principal.clone()),
        token: who.and_then(AuthenticatedPrincipal::token_id),
        action: action.to_owned(),
        outcome: outcome.to_owned(),
        detail: detail.to_owned(),
        from: source.from.clone(),
        trace: source.trace.clone(),
        times: 1,
    };
    TimedEntry {
        line,
        when: Instant::now(),
    }
}

/// The writer thread's state.
struct Writer {
    workspace: Arc<dyn Workspace>,
    minute: Arc<Mutex<AggregationWindow>>,
    lost: Arc<AtomicU64>,
    waiting: Vec<TimedEntry>,
    uses: HashMap<u64, Instant>,
    pruned: Option<Instant>,
}

impl Writer {
    fn run(mut self, notes: &Receiver<WriterMessage>) {
        let mut turned = Instant::now();
        let mut ended = false;
        while !ended {
            // A failed batch is retried soon; an empty queue waits for the next message or the end
            // of the minute.
            let patience = if self.waiting.is_empty() {
                AGGREGATION_INTERVAL
            } else {
                RETRY_DELAY
            };
            let mut next = notes
                .recv_timeout(patience.min(
                    (turned + AGGREGATION_INTERVAL).saturating_duration_since(Instant::now()),
                ));
            // Everything that is queued goes into one transaction: a commit per entry would cost a
            // sync each.
            loop {
                match next {
                    Ok(WriterMessage::Entry(line)) => self.waiting.push(line),
                    Ok(WriterMessage::TokenUse(token, when)) => drop(self.uses.insert(token, when)),
                    Ok(WriterMessage::Stop) | Err(RecvTimeoutError::Disconnected) => ended = true,
                    Err(RecvTimeoutError::Timeout) => break,
                }
                if ended || self.waiting.len() >= BATCH_SIZE {
                    break;
                }
                next = notes.try_recv().map_err(|_| RecvTimeoutError::Timeout);
            }
            // Also at the end: counts of the last minute would be lost otherwise.
            if ended || turned.elapsed() >= AGGREGATION_INTERVAL {
                turned = Instant::now();
                self.close_window();
            }
            match self.write_batch() {
                // The storage engine has no token store, and so no audit log.
                Ok(false) => self.clear_queue(),
                Ok(true) => {}
                // No retry at shutdown: the process must end even if the database does not come
                // back.
                Err(_) if ended => self.drop_oldest_beyond(0),
                // Retried with what has arrived by then.
                Err(_) => {
                    self.drop_oldest_beyond(MAX_QUEUED_ENTRIES);
                    std::thread::sleep(RETRY_DELAY);
                }
            }
        }
    }

    /// Drops all but the newest `limit` entries and counts them as lost.
    fn drop_oldest_beyond(&mut self, limit: usize) {
        let excess = self.waiting.len().saturating_sub(limit);
        let dropped = self.waiting.drain(..excess).count();
        self.lost
            .fetch_add(u64::try_from(dropped).unwrap_or(u64::MAX), Relaxed);
    }

    fn clear_queue(&mut self) {
        self.waiting.clear();
        self.uses.clear();
    }

    /// Queues the counts of the minute that is over.
    fn close_window(&mut self) {
        let mut minute = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, AggregatedEntry { line, more }) in
            minute.kinds.drain().filter(|(_, counted)| counted.more > 0)
        {
            self.waiting.push(TimedEntry {
                line: AuditEntry {
                    times: more,
                    ..line.line
                },
                when: line.when,
            });
        }
        minute
            .used
            .retain(|_, at| at.elapsed() < AGGREGATION_INTERVAL);
    }

    fn write_batch(&mut self) -> Result<bool, application::Failure> {
        // Pruning rides along with a write, so that an idle server causes no database traffic.
        let prune = self.pruned.is_none_or(|at| at.elapsed() >= PRUNE_INTERVAL);
        if self.waiting.is_empty() && self.uses.is_empty() {
            return Ok(true);
        }
        let (waiting, uses) = (&self.waiting, &self.uses);
        let has_store = self.workspace.with_token_store(&mut |store, now| {
            // Dated by the store's clock, because several servers write one log.
            let at = |when: Instant| {
                let ago = i64::try_from(when.elapsed().as_millis()).unwrap_or_default();
                Timestamp::from_millis(now.as_millis().saturating_sub(ago))
            };
            let lines: Vec<AuditEntry> = waiting
                .iter()
                .map(|line| AuditEntry {
                    at: at(line.when),
                    ..line.line.clone()
                })
                .collect();
            // To the minute: `tl team token list` shows no more, and a row is rewritten less often.
            let to_the_minute =
                |at: Timestamp| Timestamp::from_millis(at.as_millis() / 60_000 * 60_000);
            let uses: Vec<_> = uses
                .iter()
                .map(|(token, when)| (*token, to_the_minute(at(*when))))
                .collect();
            store.append_audit_log(&lines, &uses)?;
            if prune {
                // A failure is ignored: the next attempt in an hour removes the same entries.
                let _ = store.prune_audit_log(
                    Timestamp::from_millis(now.as_millis() - RETENTION_MILLIS),
                    MAX_ENTRIES,
                );
            }
            Ok(())
        })?;
        if prune {
            self.pruned = Some(Instant::now());
        }
        self.clear_queue();
        Ok(has_store)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use application::{Context, Failure};
    use domain::ids::Principal;
    use domain::operation::Channel;
    use domain::policy::Policy;
    use domain::profile::Profile;

    use super::*;

    /// A project whose token store cannot be written.
    struct Unwritable;

    impl Workspace for Unwritable {
        fn run(
            &self,
            _: Channel,
            _: &Principal,
            _: &mut dyn FnMut(&Context<'_>) -> Result<(), Failure>,
        ) -> Result<(), Failure> {
            Err(Failure::unavailable("the disk is full"))
        }

        fn head(&self) -> Result<u64, Failure> {
            Ok(0)
        }

        fn with_token_store(
            &self,
            _: &mut dyn FnMut(&dyn domain::ports::TokenStore, Timestamp) -> Result<(), Failure>,
        ) -> Result<bool, Failure> {
            Err(Failure::unavailable("the disk is full"))
        }

        fn profiles(&self) -> Arc<[Profile]> {
            Arc::default()
        }

        fn policy(&self) -> Arc<Policy> {
            Arc::default()
        }

        fn local_person(&self) -> Principal {
            Principal::Human("mara".to_owned())
        }
    }

    fn new_writer(waiting: usize) -> Writer {
        Writer {
            workspace: Arc::new(Unwritable),
            minute: Arc::default(),
            lost: Arc::default(),
            waiting: vec![new_entry(); waiting],
            uses: HashMap::new(),
            pruned: None,
        }
    }

    fn new_entry() -> TimedEntry {
        let source = RequestSource {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            from: "127.0.0.1".to_owned(),
            trace: None,
        };
        timed_entry(None, &source, "approve", "done", "")
    }

    #[test]
    fn entries_that_cannot_be_written_before_the_end_are_counted_as_lost() {
        let writer = new_writer(0);
        let lost = writer.lost.clone();
        let (out, notes) = sync_channel(4);
        for _ in 0..3 {
            out.send(WriterMessage::Entry(new_entry())).unwrap();
        }
        out.send(WriterMessage::Stop).unwrap();
        writer.run(&notes);
        assert_eq!(lost.load(Relaxed), 3);
    }

    #[test]
    fn entries_beyond_the_queue_limit_are_counted_as_lost() {
        let mut writer = new_writer(MAX_QUEUED_ENTRIES + 5);
        writer.drop_oldest_beyond(MAX_QUEUED_ENTRIES);
        assert_eq!(writer.waiting.len(), MAX_QUEUED_ENTRIES);
        assert_eq!(writer.lost.load(Relaxed), 5);
    }
}
