//! Cached scan of everything: compares only what may have changed since the last clean scan.
//!
//! The result of a scan depends on the files' stat data, on the recorded nodes and on the profiles.
//! While the stat data is the same, only nodes touched by operations since then have to be compared
//! again. A wrong hit would hide a change, so every doubt leads to a full scan.

use std::collections::BTreeSet;

use domain::ids::{Digest32, NodeId, OperationId};
use domain::ports::{CheckedPaths, ScanCacheCheck};

use super::{ScanResult, Scanner};
use crate::failure::Failure;

/// Maximum number of touched nodes compared one by one; with more, everything is scanned.
const MAX_TOUCHED_NODES: usize = 16;
/// Number of operations that are always replayed; more are allowed the more files there are,
/// because each costs a fraction of checking a file.
const BASE_OPERATION_LIMIT: usize = 32;
/// Files per additional operation that may be replayed.
const FILES_PER_OPERATION: usize = 8;

impl Scanner<'_, '_> {
    /// Scans everything, at the lowest cost that finds every change among `extent`. Returns whether
    /// all files were compared.
    pub(super) fn scan_changed(&mut self, extent: CheckedPaths) -> Result<bool, Failure> {
        let next_node = self.next_node;
        if let Some(is_whole) = self.check_cache(extent)? {
            return Ok(is_whole);
        }
        // Starts over: the partial comparison above may have left sightings that the full scan
        // finds again.
        self.next_node = next_node;
        self.is_uncertain = false;
        self.survey = ScanResult::default();
        self.met.clear();
        self.passed_by.clear();
        self.stamps.clear();
        self.still_missing.clear();
        self.item_files.clear();
        let noticed = self.ctx.notice_count();
        self.files.start_scan_recording();
        self.scan_everything()?;
        let sure = self.survey.is_unchanged() && !self.is_uncertain;
        // A scan with notices is not cached either: a misplaced file has to be reported by every
        // command until it is fixed.
        if sure && self.ctx.notice_count() == noticed {
            self.files
                .save_scan_cache(&self.cache_key(self.state.last_operation_id()?)?);
        }
        Ok(true)
    }

    /// Returns whether all files were compared, if the cached scan is still valid and no node touched
    /// since differs from its file; `None` otherwise.
    fn check_cache(&mut self, extent: CheckedPaths) -> Result<Option<bool>, Failure> {
        let Some(ScanCacheCheck {
            mark,
            known,
            is_whole,
            changed,
        }) = self.files.check_scan_cache(extent, MAX_TOUCHED_NODES)
        else {
            return Ok(None);
        };
        let Some(kept) = mark
            .split_once(' ')
            .and_then(|(head, _)| head.parse().ok().map(OperationId))
        else {
            return Ok(None);
        };
        let head = self.state.last_operation_id()?;
        // A smaller head means a restored backup: the subtraction fails and the cache is ignored.
        let since = head
            .0
            .checked_sub(kept.0)
            .and_then(|since| usize::try_from(since).ok());
        let most = BASE_OPERATION_LIMIT + known / FILES_PER_OPERATION;
        let Some(since) = since.filter(|since| *since <= most) else {
            return Ok(None);
        };
        // The number alone would match another history with as many operations.
        if self.cache_key(kept)? != mark {
            return Ok(None);
        }
        let mut touched: BTreeSet<NodeId> = BTreeSet::new();
        if since > 0 {
            let operations = self.state.load_operations(None, since)?;
            touched.extend(
                operations
                    .iter()
                    .flat_map(domain::operation::Operation::touched_nodes),
            );
        }
        if touched.len() > MAX_TOUCHED_NODES {
            return Ok(None);
        }
        for id in touched {
            match self.state.load_node(id)? {
                // Its file may still exist; it would then be a new node.
                None => return Ok(None),
                Some(node) if node.profile == domain::trail::PROFILE => {}
                Some(_) => self.scan_lineage(id, false)?,
            }
        }
        let holds =
            self.survey.is_unchanged() && changed.iter().all(|path| self.looked_at.contains(path));
        // Moves the cache forward, so that the next scan does not replay the same operations. Only
        // after many, because each update writes a file.
        if holds && changed.is_empty() && since > BASE_OPERATION_LIMIT {
            self.files.save_scan_cache(&self.cache_key(head)?);
        }
        Ok(holds.then_some(is_whole))
    }

    /// Returns the cache key: everything but the files that a scan at `head` depends on.
    fn cache_key(&self, head: OperationId) -> Result<String, Failure> {
        // The operation's time distinguishes histories that branched after a restored backup.
        let at = self
            .state
            .operation_head(head)?
            .map(|operation| operation.at.to_string())
            .unwrap_or_default();
        let levels: Vec<_> = self
            .ctx
            .profiles
            .iter()
            .map(|profile| (&profile.name, &profile.levels))
            .collect();
        let depends = format!(
            "{} {at} {} {levels:?}",
            self.state.store_id()?,
            self.ctx.policy.max_plan_bytes
        );
        Ok(format!("{head} {}", Digest32::of_bytes(depends.as_bytes())))
    }
}
