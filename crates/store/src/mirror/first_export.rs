//! The first export of a large state, in parts.
//!
//! A fresh clone or worktree with 10,000 plans spent half of its first command on mirror files. Each
//! command writes a part of them instead; until the last part the head is stale, so nothing relies on
//! the files. A mirror that has files already is synchronised at once.

use std::io;
use std::time::Duration;

use domain::ids::{NodeId, OperationId, StoreId};
use domain::ports::Snapshot;
use serde::{Deserialize, Serialize};

use super::{AliasPaths, Mirror, MirrorHead};

/// Maximum number of files of one part.
const MAX_PART_FILES: usize = 500;

/// Minimum time between two parts: a command asks for the mirror several times.
const PART_INTERVAL: Duration = Duration::from_secs(1);

/// How far a first export is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ExportProgress {
    /// The first node that is not exported …
    next: NodeId,
    /// … and the last one when the export began; later ones come with their operations.
    last: NodeId,
}

impl Mirror {
    /// Whether the first export of this state is under way.
    pub(super) fn is_export_under_way(&self, store: &StoreId, head: OperationId) -> bool {
        self.read_progress(store, head).is_some()
    }

    fn read_progress(
        &self,
        store: &StoreId,
        head: OperationId,
    ) -> Option<(OperationId, ExportProgress)> {
        let known = self.read_head_file()?;
        let is_ours = known.store == *store && known.operation <= head;
        known
            .export
            .filter(|_| is_ours)
            .map(|progress| (known.operation, progress))
    }

    /// Exports every node, or the next part of them; returns the head once all are exported.
    pub(super) fn export_nodes(
        &self,
        state: &dyn Snapshot,
        store: StoreId,
        head: OperationId,
    ) -> io::Result<Option<MirrorHead>> {
        let (operation, mut progress) = match self.read_progress(&store, head) {
            Some(_) if self.head_age().is_some_and(|age| age < PART_INTERVAL) => return Ok(None),
            Some(known) => known,
            None => match self.plan_parts(state)? {
                Some(progress) => (head, progress),
                None => {
                    self.sync_locked(state)?;
                    return Ok(self.current_head());
                }
            },
        };
        self.create_folder()?;
        let mut paths = AliasPaths::new(state);
        let mut left = MAX_PART_FILES;
        while progress.next <= progress.last && left > 0 {
            // The present node, which may be newer than the head says: its operation is exported
            // once more.
            if let Some(node) = state.load_node(progress.next).map_err(io::Error::other)? {
                self.write_present_node(&mut paths, &node)?;
                paths.remember_node(&node);
                left -= 1;
            }
            progress.next = NodeId(progress.next.0 + 1);
        }
        let is_complete = progress.next > progress.last;
        let head = MirrorHead {
            format: 1,
            store,
            operation,
            and_nodes: 0,
            partial: false,
            stale: !is_complete,
            export: (!is_complete).then_some(progress),
        };
        // Last, so that a crash repeats files instead of skipping them.
        self.write_head_file(&head)?;
        Ok(Some(head).filter(|_| is_complete))
    }

    /// Returns the begin of an export in parts; `None` if all files are to be written at once.
    fn plan_parts(&self, state: &dyn Snapshot) -> io::Result<Option<ExportProgress>> {
        if !self.list_files()?.is_empty() {
            return Ok(None);
        }
        let nodes = state.all_nodes().map_err(io::Error::other)?;
        let ids = nodes.iter().map(|node| node.id);
        Ok(ids
            .max()
            .filter(|_| nodes.len() > MAX_PART_FILES)
            .map(|last| ExportProgress {
                next: NodeId(0),
                last,
            }))
    }
}
