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
/// Files per additional node that may be compared one by one.
const FILES_PER_TOUCHED_NODE: usize = 256;
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
            known_names,
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
        if touched.len() > MAX_TOUCHED_NODES.max(known / FILES_PER_TOUCHED_NODE) {
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
        let is_explained = |path: &String| match known_names.get(path) {
            Some(known) => self.has_only_compared_entries(path, known),
            None => self.looked_at.contains(path),
        };
        let holds = self.survey.is_unchanged() && changed.iter().all(is_explained);
        // Moves the cache forward, so that the next scan does not replay the same operations. Only
        // after many, because each update writes a file.
        if holds && changed.is_empty() && since > BASE_OPERATION_LIMIT {
            self.files.save_scan_cache(&self.cache_key(head)?);
        }
        Ok(holds.then_some(is_whole))
    }

    /// Whether a folder has lost no entry, and every new one is of a plan that was just compared: of
    /// a ticket that an operation since then created.
    fn has_only_compared_entries(&self, folder: &str, known: &BTreeSet<String>) -> bool {
        let entries = self.files.list_folder(folder.trim_end_matches('/'));
        let (mut old, mut new) = (0, Vec::new());
        for entry in entries {
            match known.contains(&entry.name) {
                true => old += 1,
                false => new.push(format!("{folder}{}/", entry.name)),
            }
        }
        old == known.len()
            && new.iter().all(|entry| {
                let mut compared = self.looked_at.iter();
                compared.any(|path| path.starts_with(entry.as_str()))
            })
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
