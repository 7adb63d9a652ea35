//! Flushing the offline queue: rebases queued operations onto the server's history and sends them.
//!
//! Operations recorded offline get new ids at the end of the server's history, as long as their
//! facts apply; conflicting ones are saved as readable files. The queue is written in its rebased
//! form before it is sent, so that an operation that arrived without a response is recognised by
//! its hash.

use domain::access::Scope;
use domain::exchange::{Greeting, Receipt, Sending};
use domain::ids::OperationId;
use domain::ports::StoreFault;
use domain::settings::OfflinePolicy;
use domain::text::count;
use domain::tree::Misfit;

use super::pending::{Pending, Place, may_wait, record_again};
use super::server::{Fetched, Trouble};
use super::{Duration, RemoteStore};
use crate::engine::Recorded;
use crate::memory::MemoryState;
use crate::sqlite::SqliteStore;
use crate::tables::write::{Keeper, TableTransaction};

/// Maximum attempts while other clients keep committing.
const TRIED: usize = 20;

/// Operations whose date is off by more than this would be refused; they get the present date.
const STILL_GOOD_MILLIS: i64 = 3 * 60 * 1_000;

/// Outcome of one round of sending.
enum Round {
    /// Everything was sent, or there was a conflict: compare again.
    Again,
    Silent,
}

impl RemoteStore {
    /// Queues operations until the server is reachable, if they may be queued.
    pub(super) fn let_wait(
        &self,
        transaction: &mut TableTransaction<'_>,
        silence: StoreFault,
    ) -> Result<(), StoreFault> {
        if self.offline == OfflinePolicy::Refuse {
            return Err(silence);
        }
        if let Some(refused) = transaction
            .operations
            .iter()
            .find(|operation| !may_wait(operation))
        {
            let StoreFault::Silent {
                at,
                why,
                may_be_kept,
            } = silence
            else {
                return Err(silence);
            };
            let why = format!(
                "{why}; `{}` needs the server and is never queued",
                refused.verb.word()
            );
            return Err(StoreFault::Silent {
                at,
                why,
                may_be_kept,
            });
        }
        let _held = self.queue.hold()?;
        let here = Place {
            operation: transaction.found.head,
            hash: transaction.found.head_hash,
        };
        let mut pending = self.queue.read()?.unwrap_or(Pending {
            base: here,
            after: here,
            waiting: Vec::new(),
        });
        // A killed process may have queued operations that it did not commit to the replica.
        pending
            .waiting
            .retain(|one| one.operation.id <= here.operation);
        if pending.end() != here {
            let what = "the offline queue does not match the replica".to_owned();
            return Err(self.turned_down(what));
        }
        let before = pending.waiting.len();
        for line in &transaction.lines {
            let end = pending.end();
            pending
                .waiting
                .push(Recorded::read(line, end.operation.next(), end.hash)?);
        }
        // Queue before replica: an operation that is only in the replica would never be sent.
        self.queue.write(&pending)?;
        if let Err(fault) = Keeper::commit(&self.replica, transaction) {
            pending.waiting.truncate(before);
            self.queue.write(&pending)?;
            return Err(fault);
        }
        let waiting = count(pending.waiting.len(), "operation", "operations");
        self.warn(format!(
            "the server {} does not answer: {waiting} queued here, to be sent later",
            self.server.shown()
        ));
        Ok(())
    }

    /// Flushes the queue; returns whether the server was reachable to the end.
    pub(super) fn send_waiting(&self) -> Result<bool, StoreFault> {
        let _held = self.queue.hold()?;
        for _ in 0..TRIED {
            let Some(mut pending) = self.queue.read()? else {
                return Ok(true);
            };
            let Some((greeting, news)) = self.everything_after(pending.base)? else {
                return Ok(false);
            };
            if !greeting.scope.covers(Scope::Agent) {
                return Err(self.turned_down(
                    "this token is read-only, but operations are queued to be sent".to_owned(),
                ));
            }
            // The server's operations after `after` are compared with the queue by hash: what
            // matches has arrived in an earlier, interrupted flush.
            let known = pending
                .after
                .operation
                .0
                .saturating_sub(pending.base.operation.0);
            let there = news
                .iter()
                .skip(usize::try_from(known).unwrap_or(usize::MAX));
            let kept = pending
                .waiting
                .iter()
                .zip(there)
                .take_while(|(own, there)| own.hash == there.hash)
                .count();
            if kept == pending.waiting.len() {
                self.caught_up(pending.base, &news)?;
                return Ok(true);
            }
            let end = news.last().map_or(pending.base, Place::of);
            let rest = pending.waiting.split_off(kept);
            let follow_on = pending.end() == end;
            // Unchanged operations keep their hashes, so nothing is rebased without need.
            let still_good = rest.iter().all(|one| {
                let off = greeting
                    .now
                    .as_millis()
                    .saturating_sub(one.operation.at.as_millis());
                off.saturating_abs() < STILL_GOOD_MILLIS
            });
            let again = match follow_on && still_good {
                true => rest,
                false => self.recorded_again(pending.base, &news, rest, &greeting)?,
            };
            let pending = Pending {
                base: pending.base,
                after: end,
                waiting: again,
            };
            self.queue.write(&pending)?;
            if let Round::Silent = self.send_round(pending, &greeting)? {
                return Ok(false);
            }
        }
        Err(StoreFault::Overtaken)
    }

    /// Rebases the queue onto the server's history, and saves what conflicts.
    fn recorded_again(
        &self,
        base: Place,
        news: &[Recorded],
        rest: Vec<Recorded>,
        greeting: &Greeting,
    ) -> Result<Vec<Recorded>, StoreFault> {
        // In memory: the replica itself is only rewritten once the server has stored everything.
        let mut state = MemoryState::new(greeting.store.clone());
        let older = self.entries_until(base.operation)?;
        for one in older.iter().chain(news) {
            state
                .apply(one)
                .map_err(|Misfit(what)| StoreFault::DoesNotFit { what })?;
        }
        let rebased = record_again(&mut state, rest, greeting.now)?;
        self.put_aside(&rebased.misfits, greeting)?;
        Ok(rebased.again)
    }

    fn put_aside(
        &self,
        misfits: &[(Recorded, String)],
        greeting: &Greeting,
    ) -> Result<(), StoreFault> {
        for (one, why) in misfits {
            let path = self.queue.put_aside(one, why, greeting.now)?;
            let (summary, place) = (&one.operation.summary, path.display());
            self.warn(format!(
                "`{summary}`, recorded offline, conflicts with the server ({why}): see {place}"
            ));
        }
        Ok(())
    }

    /// Sends the operations one by one, so that it is known which one is refused.
    fn send_round(&self, mut pending: Pending, greeting: &Greeting) -> Result<Round, StoreFault> {
        let mut place = pending.after;
        for index in 0..pending.waiting.len() {
            let one = &pending.waiting[index];
            let sending = Sending {
                after: place.operation,
                hash: place.hash,
                notes: Vec::new(),
            };
            match self.server.send(&sending, &[one.line()?]) {
                Ok(Receipt::Kept { .. }) => place = Place::of(one),
                Ok(Receipt::Overtaken { .. }) => return Ok(Round::Again),
                Ok(Receipt::Diverged { after }) => return Err(self.diverged(after)),
                Err(Trouble::Silent { why, .. }) => {
                    self.hear_nothing(&why);
                    return Ok(Round::Silent);
                }
                Err(Trouble::Refused { why, .. }) => {
                    let mut reason = why;
                    let mut misfits = Vec::new();
                    // All that follow go with it: they were decided on a state that will not exist.
                    for one in pending.waiting.drain(index..) {
                        let first = one.operation.id;
                        misfits.push((one, reason));
                        reason = format!("operation {first}, on which it may depend, was refused");
                    }
                    self.put_aside(&misfits, greeting)?;
                    self.queue.write(&pending)?;
                    return Ok(Round::Again);
                }
            }
        }
        Ok(Round::Again)
    }

    /// Rewrites the replica to the server's history and empties the queue.
    fn caught_up(&self, base: Place, news: &[Recorded]) -> Result<(), StoreFault> {
        let end = news.last().map_or(base, Place::of);
        // Usually equal: a rewrite is only needed when operations were renumbered.
        if self.replica.standing()? != (end.operation, end.hash) {
            let mut entries = self.entries_until(base.operation)?;
            entries.extend(news.iter().cloned());
            self.replica.rewrite(&entries)?;
        }
        // After the rewrite: a kill in between finds everything sent and only rewrites again.
        self.queue.clear()
    }

    /// Returns the replica's operations up to `last`.
    fn entries_until(&self, last: OperationId) -> Result<Vec<Recorded>, StoreFault> {
        let (_, mut entries) = SqliteStore::entries(&self.replica)?;
        entries.retain(|one| one.operation.id <= last);
        Ok(entries)
    }

    /// Fetches all of the server's operations after a position; `None` when it is unreachable.
    fn everything_after(
        &self,
        base: Place,
    ) -> Result<Option<(Greeting, Vec<Recorded>)>, StoreFault> {
        let (mut end, mut news) = (base, Vec::new());
        loop {
            match self
                .server
                .fetch(end.operation, Some(end.hash), Duration::ZERO)
            {
                Ok(Fetched::Page { greeting, lines }) => {
                    self.hear(&greeting)?;
                    for line in &lines {
                        let one = Recorded::read(line, end.operation.next(), end.hash)?;
                        end = Place::of(&one);
                        news.push(one);
                    }
                    if end.operation >= greeting.head {
                        return Ok(Some((greeting, news)));
                    }
                    // A server that claims a higher head but sends nothing would loop for ever.
                    if lines.is_empty() {
                        return Err(self.diverged(end.operation));
                    }
                }
                Ok(Fetched::Diverged) => return Err(self.diverged(end.operation)),
                Err(Trouble::Silent { why, .. }) => {
                    self.hear_nothing(&why);
                    return Ok(None);
                }
                Err(trouble) => return Err(self.fault(trouble)),
            }
        }
    }
}
