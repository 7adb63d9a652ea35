//! Flushing the offline queue: rebases queued operations onto the server's history and sends them.
//!
//! Operations recorded offline get new ids at the end of the server's history if their facts apply;
//! conflicting ones are saved as readable files, and the others are sent. The queue is written in its rebased
//! form before it is sent, so that an operation that arrived without a response is recognised by
//! its hash.

use domain::authorization::Scope;
use domain::ids::OperationId;
use domain::ports::StoreFault;
use domain::settings::OfflinePolicy;
use domain::sync_protocol::{PullHeader, PushHeader, PushOutcome};
use domain::text::count_with_noun;
use domain::tree::FactMismatch;

use super::offline_queue::{ChainPosition, PendingOperations, may_queue};
use super::rebase::{LostNodes, Misfit, added_nodes, rebase_operations};
use super::server::{FetchOutcome, ServerFault};
use super::{Duration, RemoteStore};
use crate::engine::ChainedOperation;
use crate::memory::MemoryState;
use crate::sqlite::SqliteStore;
use crate::tables::write::{TableTransaction, TransactionOwner};

/// Maximum attempts while other clients keep committing.
const MAX_FLUSH_ATTEMPTS: usize = 20;

/// Operations whose date is off by more than this would be refused; they get the present date.
const MAX_UNCHANGED_AGE_MILLIS: i64 = 3 * 60 * 1_000;

/// Outcome of one round of sending.
enum SendRound {
    /// Everything was sent, or there was a conflict: compare again.
    Again,
    Silent,
    /// The server refused the operation at this index.
    Refused {
        index: usize,
        why: String,
    },
}

impl RemoteStore {
    /// Queues operations until the server is reachable, if they may be queued.
    pub(super) fn queue_offline(
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
            .find(|operation| !may_queue(operation))
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
                refused.verb.as_str()
            );
            return Err(StoreFault::Silent {
                at,
                why,
                may_be_kept,
            });
        }
        let _held = self.queue.acquire_lock()?;
        let here = ChainPosition {
            operation: transaction.found.head,
            hash: transaction.found.head_hash,
        };
        let mut pending = self.queue.read_pending()?.unwrap_or(PendingOperations {
            base: here,
            after: here,
            waiting: Vec::new(),
        });
        // A killed process may have queued operations that it did not commit to the replica.
        pending
            .waiting
            .retain(|one| one.operation.id <= here.operation);
        if pending.end_position() != here {
            let what = "the offline queue does not match the replica".to_owned();
            return Err(self.rejection_fault(what));
        }
        let before = pending.waiting.len();
        for line in &transaction.lines {
            let end = pending.end_position();
            pending.waiting.push(ChainedOperation::parse_journal_line(
                line,
                end.operation.next_id(),
                end.hash,
            )?);
        }
        // Queue before replica: an operation that is only in the replica would never be sent.
        self.queue.write_pending(&pending)?;
        if let Err(fault) = TransactionOwner::commit_transaction(&self.replica, transaction) {
            pending.waiting.truncate(before);
            self.queue.write_pending(&pending)?;
            return Err(fault);
        }
        let waiting = count_with_noun(pending.waiting.len(), "operation", "operations");
        self.warn(format!(
            "the server {} does not answer: {waiting} queued here, to be sent later",
            self.server.display_name()
        ));
        Ok(())
    }

    /// Flushes the queue; returns whether the server was reachable to the end.
    pub(super) fn flush_queue(&self) -> Result<bool, StoreFault> {
        let _held = self.queue.acquire_lock()?;
        for _ in 0..MAX_FLUSH_ATTEMPTS {
            let Some(mut pending) = self.queue.read_pending()? else {
                return Ok(true);
            };
            let Some((greeting, news)) = self.fetch_all_after(pending.base)? else {
                return Ok(false);
            };
            if !greeting.scope.is_sufficient_for(Scope::Agent) {
                return Err(self.rejection_fault(
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
                self.finish_flush(pending.base, &news)?;
                return Ok(true);
            }
            let end = news
                .last()
                .map_or(pending.base, ChainPosition::of_operation);
            let rest = pending.waiting.split_off(kept);
            let follow_on = pending.end_position() == end;
            // Unchanged operations keep their hashes, so nothing is rebased without need.
            let still_good = rest.iter().all(|one| {
                let off = greeting
                    .now
                    .as_millis()
                    .saturating_sub(one.operation.at.as_millis());
                off.saturating_abs() < MAX_UNCHANGED_AGE_MILLIS
            });
            let again = match follow_on && still_good {
                true => rest,
                false => {
                    self.rebase_queue(pending.base, &news, rest, LostNodes::new(), &greeting)?
                }
            };
            let pending = PendingOperations {
                base: pending.base,
                after: end,
                waiting: again,
            };
            self.queue.write_pending(&pending)?;
            match self.send_in_order(&pending)? {
                SendRound::Again => {}
                SendRound::Silent => return Ok(false),
                SendRound::Refused { index, why } => {
                    if !self.remove_refused(pending, index, why)? {
                        return Ok(false);
                    }
                }
            }
        }
        Err(StoreFault::Conflict)
    }

    /// Saves an operation that the server refused, and rebases those behind it. Returns whether the
    /// server was reachable.
    fn remove_refused(
        &self,
        mut pending: PendingOperations,
        index: usize,
        why: String,
    ) -> Result<bool, StoreFault> {
        let mut rest = pending.waiting.split_off(index);
        let refused = rest.remove(0);
        let Some((greeting, news)) = self.fetch_all_after(pending.base)? else {
            // The whole queue is still in its file.
            return Ok(false);
        };
        let id = refused.operation.id;
        let lost: LostNodes = added_nodes(&refused.operation.facts)
            .into_iter()
            .map(|node| (node, id))
            .collect();
        let misfit = Misfit {
            operation: refused,
            why,
            lost: Vec::new(),
        };
        self.save_conflicts(&[misfit], &greeting)?;
        let again = self.rebase_queue(pending.base, &news, rest, lost, &greeting)?;
        let after = news
            .last()
            .map_or(pending.base, ChainPosition::of_operation);
        self.queue.write_pending(&PendingOperations {
            base: pending.base,
            after,
            waiting: again,
        })?;
        Ok(true)
    }

    /// Rebases the queue onto the server's history, and saves what conflicts.
    fn rebase_queue(
        &self,
        base: ChainPosition,
        news: &[ChainedOperation],
        rest: Vec<ChainedOperation>,
        lost: LostNodes,
        greeting: &PullHeader,
    ) -> Result<Vec<ChainedOperation>, StoreFault> {
        // In memory: the replica itself is only rewritten once the server has stored everything.
        let mut state = MemoryState::new(greeting.store.clone());
        let older = self.replica_entries_until(base.operation)?;
        for one in older.iter().chain(news) {
            state
                .apply_operation(one)
                .map_err(|FactMismatch(what)| StoreFault::DoesNotFit { what })?;
        }
        let rebased = rebase_operations(&mut state, rest, lost, greeting.now)?;
        self.save_conflicts(&rebased.misfits, greeting)?;
        Ok(rebased.again)
    }

    fn save_conflicts(&self, misfits: &[Misfit], greeting: &PullHeader) -> Result<(), StoreFault> {
        for misfit in misfits {
            self.queue.save_conflict(misfit, greeting.now)?;
            let summary = &misfit.operation.operation.summary;
            self.warn(format!(
                "`{summary}`, recorded offline, conflicts with the server ({}): see tl conflicts list",
                misfit.why
            ));
        }
        Ok(())
    }

    /// Sends the operations one by one, so that it is known which one is refused.
    fn send_in_order(&self, pending: &PendingOperations) -> Result<SendRound, StoreFault> {
        let mut place = pending.after;
        for (index, one) in pending.waiting.iter().enumerate() {
            let sending = PushHeader {
                after: place.operation,
                hash: place.hash,
                notes: Vec::new(),
            };
            match self
                .server
                .send_operations(&sending, &[one.to_journal_line()?])
            {
                Ok(PushOutcome::Kept { .. }) => place = ChainPosition::of_operation(one),
                Ok(PushOutcome::Conflict { .. }) => return Ok(SendRound::Again),
                Ok(PushOutcome::Diverged { after }) => return Err(self.divergence_fault(after)),
                Err(ServerFault::Silent { why, .. }) => {
                    self.note_unreachable(&why);
                    return Ok(SendRound::Silent);
                }
                Err(ServerFault::Refused { why, .. }) => {
                    return Ok(SendRound::Refused { index, why });
                }
            }
        }
        Ok(SendRound::Again)
    }

    /// Rewrites the replica to the server's history and empties the queue.
    fn finish_flush(
        &self,
        base: ChainPosition,
        news: &[ChainedOperation],
    ) -> Result<(), StoreFault> {
        let end = news.last().map_or(base, ChainPosition::of_operation);
        // Usually equal: a rewrite is only needed when operations were renumbered.
        if self.replica.head_position()? != (end.operation, end.hash) {
            let mut entries = self.replica_entries_until(base.operation)?;
            entries.extend(news.iter().cloned());
            self.replica.rewrite_history(&entries)?;
        }
        // After the rewrite: a kill in between finds everything sent and only rewrites again.
        self.queue.clear_pending()
    }

    /// Returns the replica's operations up to `last`.
    fn replica_entries_until(
        &self,
        last: OperationId,
    ) -> Result<Vec<ChainedOperation>, StoreFault> {
        let (_, mut entries) = SqliteStore::load_all_entries(&self.replica)?;
        entries.retain(|one| one.operation.id <= last);
        Ok(entries)
    }

    /// Fetches all of the server's operations after a position; `None` when it is unreachable.
    fn fetch_all_after(
        &self,
        base: ChainPosition,
    ) -> Result<Option<(PullHeader, Vec<ChainedOperation>)>, StoreFault> {
        let (mut end, mut news) = (base, Vec::new());
        loop {
            match self
                .server
                .fetch_operations(end.operation, Some(end.hash), Duration::ZERO)
            {
                Ok(FetchOutcome::Page { greeting, lines }) => {
                    self.accept_greeting(&greeting)?;
                    for line in &lines {
                        let one = ChainedOperation::parse_journal_line(
                            line,
                            end.operation.next_id(),
                            end.hash,
                        )?;
                        end = ChainPosition::of_operation(&one);
                        news.push(one);
                    }
                    if end.operation >= greeting.head {
                        return Ok(Some((greeting, news)));
                    }
                    // A server that claims a higher head but sends nothing would loop for ever.
                    if lines.is_empty() {
                        return Err(self.divergence_fault(end.operation));
                    }
                }
                Ok(FetchOutcome::Diverged) => return Err(self.divergence_fault(end.operation)),
                Err(ServerFault::Silent { why, .. }) => {
                    self.note_unreachable(&why);
                    return Ok(None);
                }
                Err(trouble) => return Err(self.store_fault(trouble)),
            }
        }
    }
}
