//! After a silence: what waited is sent, on top of what others did meanwhile.
//!
//! What was recorded here while the server did not answer is recorded again at the end of its history, under other numbers,
//! as far as it fits; what does not is put aside where a person can read it. The waiting operations are written down as they
//! are sent before they are, so that one that got there although nobody said so is known by its hash.

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

/// How often it is tried while others go on.
const TRIED: usize = 20;

/// Older ones would be refused for their date; they are dated anew.
const STILL_GOOD_MILLIS: i64 = 3 * 60 * 1_000;

/// What became of a round of sending.
enum Round {
    /// All were sent, or others were faster: look again.
    Again,
    Silent,
}

impl RemoteStore {
    /// Keeps operations here until the server answers again, if they may wait.
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
                "{why}; `{}` is decided with the others, not kept for later",
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
        // A process that died had written down more than it kept.
        pending
            .waiting
            .retain(|one| one.operation.id <= here.operation);
        if pending.end() != here {
            let what = "what waits to be sent does not fit the replica".to_owned();
            return Err(self.turned_down(what));
        }
        let before = pending.waiting.len();
        for line in &transaction.lines {
            let end = pending.end();
            pending
                .waiting
                .push(Recorded::read(line, end.operation.next(), end.hash)?);
        }
        self.queue.write(&pending)?;
        if let Err(fault) = Keeper::commit(&self.replica, transaction) {
            pending.waiting.truncate(before);
            self.queue.write(&pending)?;
            return Err(fault);
        }
        let waiting = count(pending.waiting.len(), "operation", "operations");
        self.warn(format!(
            "the server {} does not answer: {waiting} wait here to be sent",
            self.server.shown()
        ));
        Ok(())
    }

    /// Sends what waits; says whether the server was there to the end.
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
                    "this token may only look, and operations wait to be sent".to_owned(),
                ));
            }
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

    /// Records what waits at the end of the server's history, and puts aside what does not fit there.
    fn recorded_again(
        &self,
        base: Place,
        news: &[Recorded],
        rest: Vec<Recorded>,
        greeting: &Greeting,
    ) -> Result<Vec<Recorded>, StoreFault> {
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
                "`{summary}`, done while the server was silent, cannot be kept ({why}): see {place}"
            ));
        }
        Ok(())
    }

    /// Sends one after the other, so that it is known which one is refused.
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
                    for one in pending.waiting.drain(index..) {
                        let first = one.operation.id;
                        misfits.push((one, reason));
                        reason = format!("operation {first}, which it may rest on, was refused");
                    }
                    self.put_aside(&misfits, greeting)?;
                    self.queue.write(&pending)?;
                    return Ok(Round::Again);
                }
            }
        }
        Ok(Round::Again)
    }

    /// Makes the replica what the server is; nothing waits any more.
    fn caught_up(&self, base: Place, news: &[Recorded]) -> Result<(), StoreFault> {
        let end = news.last().map_or(base, Place::of);
        if self.replica.standing()? != (end.operation, end.hash) {
            let mut entries = self.entries_until(base.operation)?;
            entries.extend(news.iter().cloned());
            self.replica.rewrite(&entries)?;
        }
        self.queue.clear()
    }

    fn entries_until(&self, last: OperationId) -> Result<Vec<Recorded>, StoreFault> {
        let (_, mut entries) = SqliteStore::entries(&self.replica)?;
        entries.retain(|one| one.operation.id <= last);
        Ok(entries)
    }

    /// Asks for the server's whole history after a place; nothing when it does not answer.
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
