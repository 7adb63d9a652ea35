//! Saved conflicts: operations recorded offline that the server's history has no place for.
//!
//! One readable file each, sealed like the queue: a retry sends an operation under this user's token,
//! so one that came with a repository is listed but not retried.

use std::fs;
use std::path::{Path, PathBuf};

use domain::fact::Fact;
use domain::ids::{Digest32, NodeId, OperationId};
use domain::operation::Operation;
use domain::ports::{OfflineConflict, OfflineConflicts, Store, StoreFault, Transaction};
use domain::rebase::visit_fact_ids;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::RemoteStore;
use super::offline_queue::OfflineQueue;
use super::rebase::{IdReplacement, LostNodes, Misfit, NewIds, added_nodes, follow_redo_entry};
use crate::durable::{Durability, replace_file};
use crate::engine::io_fault;

/// Content of a conflict's file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedConflict {
    why: String,
    /// Nodes it names that do not exist on the server, because their operation conflicts too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lost: Vec<NodeId>,
    operation: Operation,
    texts: Vec<String>,
    /// Keyed digest of the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seal: Option<Digest32>,
}

impl OfflineQueue {
    /// Saves an operation that conflicts with the server, and returns its path.
    pub(super) fn save_conflict(
        &self,
        misfit: &Misfit,
        now: Timestamp,
    ) -> Result<PathBuf, StoreFault> {
        let one = &misfit.operation;
        // Named by the operation's hash, so that retries save it once.
        let name: String = one.hash.to_string().chars().take(12).collect();
        let path = self
            .conflicts
            .join(format!("{}-{name}.json", now.format_for_file_name()));
        crate::private_files::create_private_directory(&self.conflicts)
            .map_err(|error| io_fault("cannot write", &path, error))?;
        if let Some(known) = self
            .conflict_files()?
            .into_iter()
            .find(|path| path.to_string_lossy().contains(&name))
        {
            return Ok(known);
        }
        let conflict = SavedConflict {
            why: misfit.why.clone(),
            lost: misfit.lost.clone(),
            operation: one.operation.clone(),
            texts: one.texts.iter().map(|(_, text)| text.clone()).collect(),
            seal: None,
        };
        self.write_conflict(&path, conflict)?;
        Ok(path)
    }

    fn write_conflict(&self, path: &Path, mut conflict: SavedConflict) -> Result<(), StoreFault> {
        let cannot = |error| io_fault("cannot write", path, error);
        conflict.seal = Some(self.seal_conflict(&conflict).map_err(cannot)?);
        let text = serde_json::to_vec_pretty(&conflict)
            .map_err(std::io::Error::other)
            .map_err(cannot)?;
        replace_file(path, &text, Durability::Synced).map_err(cannot)
    }

    fn seal_conflict(&self, conflict: &SavedConflict) -> Result<Digest32, std::io::Error> {
        let plain = SavedConflict {
            seal: None,
            ..conflict.clone()
        };
        let text = serde_json::to_string(&plain).map_err(std::io::Error::other)?;
        Ok(self.compute_seal(&text))
    }

    /// Returns the files of all conflicts, oldest first.
    fn conflict_files(&self) -> Result<Vec<PathBuf>, StoreFault> {
        let entries = match fs::read_dir(&self.conflicts) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io_fault("cannot read", &self.conflicts, error)),
        };
        let mut files: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "json")
            })
            .collect();
        files.sort();
        Ok(files)
    }

    fn read_conflict(path: &Path) -> Result<SavedConflict, StoreFault> {
        let cannot = |error| io_fault("cannot read", path, error);
        let text = fs::read(path).map_err(cannot)?;
        serde_json::from_slice(&text)
            .map_err(std::io::Error::other)
            .map_err(cannot)
    }
}

/// Returns the id of a conflict: the part of its file's name that comes from its hash.
fn conflict_id(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    match stem.rsplit_once('-') {
        Some((_, id)) => id.to_owned(),
        None => stem.into_owned(),
    }
}

impl RemoteStore {
    /// Returns the file of the only conflict whose id starts with `id`.
    fn conflict_file(&self, id: &str) -> Result<PathBuf, StoreFault> {
        let mut found: Vec<PathBuf> = self
            .queue
            .conflict_files()?
            .into_iter()
            .filter(|path| conflict_id(path).starts_with(id))
            .collect();
        match found.pop() {
            Some(path) if found.is_empty() && !id.is_empty() => Ok(path),
            _ => Err(StoreFault::DoesNotFit {
                what: format!("there is no single conflict `{id}`"),
            }),
        }
    }

    /// Records the facts of a conflict on the present state, and returns the ids its nodes got.
    fn record_again(
        &self,
        conflict: &SavedConflict,
        at: Timestamp,
    ) -> Result<(OperationId, NewIds), StoreFault> {
        let mut tx = self.begin_write()?;
        let mut ids = NewIds::default();
        let mut next = tx.next_node_id()?.0;
        for node in added_nodes(&conflict.operation.facts) {
            ids.nodes.insert(node, NodeId(next));
            next = next.saturating_add(1);
        }
        ids.operations
            .insert(conflict.operation.id, tx.next_operation_id()?);
        let operation = conflict.operation.clone();
        let mut facts = operation.facts;
        replace_ids(&mut facts, &ids);
        follow_redo_entry(&mut facts, |record| {
            tx.record_body(&record.kind, &record.key).ok().flatten()
        });
        check_parents(&*tx, &facts)?;
        let recorded = tx.record_operation(domain::ports::NewOperation {
            at: tx.store_time()?.unwrap_or(at),
            by: operation.by,
            channel: operation.channel,
            verb: operation.verb,
            summary: operation.summary,
            key: operation.key,
            facts,
            texts: conflict.texts.clone(),
        });
        // Facts are usually derived from the state they are recorded in, so the tables take one that
        // does not apply for damage. These were derived from another state.
        let id = recorded.map_err(|fault| match fault {
            StoreFault::Damaged { what } => StoreFault::DoesNotFit { what },
            fault => fault,
        })?;
        tx.commit()?;
        Ok((id, ids))
    }

    /// Gives the other conflicts the ids that the nodes of a recorded one got.
    fn follow_recorded(&self, ids: &NewIds) -> Result<(), StoreFault> {
        for path in self.queue.conflict_files()? {
            let Ok(mut conflict) = OfflineQueue::read_conflict(&path) else {
                continue;
            };
            if conflict
                .lost
                .iter()
                .any(|node| ids.nodes.contains_key(node))
            {
                replace_ids(&mut conflict.operation.facts, ids);
                conflict.lost.retain(|node| !ids.nodes.contains_key(node));
                self.queue.write_conflict(&path, conflict)?;
            }
        }
        Ok(())
    }
}

fn replace_ids(facts: &mut [Fact], ids: &NewIds) {
    let mut replacement = IdReplacement {
        ids,
        lost: &LostNodes::new(),
        found_lost: Vec::new(),
    };
    visit_fact_ids(facts, &mut replacement);
}

/// Checks that every added node has a parent: the tables take it for granted.
fn check_parents(tx: &dyn Transaction, facts: &[Fact]) -> Result<(), StoreFault> {
    let added = added_nodes(facts);
    for fact in facts {
        if let Fact::NodeAdded { node } = fact
            && let Some(parent) = node.parent
            && !added.contains(&parent)
            && tx.load_node(parent)?.is_none()
        {
            let what = format!("the parent of `{}` does not exist", node.alias);
            return Err(StoreFault::DoesNotFit { what });
        }
    }
    Ok(())
}

impl OfflineConflicts for RemoteStore {
    fn list_conflicts(&self) -> Result<Vec<OfflineConflict>, StoreFault> {
        let mut found = Vec::new();
        for path in self.queue.conflict_files()? {
            // A file that cannot be read is not a conflict of ours; it stays where it is.
            let Ok(conflict) = OfflineQueue::read_conflict(&path) else {
                continue;
            };
            found.push(OfflineConflict {
                id: conflict_id(&path),
                why: conflict.why,
                file: path.display().to_string(),
                operation: conflict.operation,
                texts: conflict.texts,
            });
        }
        Ok(found)
    }

    fn retry_conflict(&self, id: &str, at: Timestamp) -> Result<OperationId, StoreFault> {
        let path = self.conflict_file(id)?;
        let conflict = OfflineQueue::read_conflict(&path)?;
        let does_not_fit = |what: &str| StoreFault::DoesNotFit {
            what: what.to_owned(),
        };
        let seal = self
            .queue
            .seal_conflict(&conflict)
            .map_err(|error| io_fault("cannot read", &path, error))?;
        if conflict.seal != Some(seal) {
            return Err(does_not_fit(
                "this conflict was not saved here with this token, and is not sent",
            ));
        }
        if !conflict.lost.is_empty() {
            return Err(does_not_fit(
                "it is about a plan of another conflict, which has to be retried first",
            ));
        }
        let (operation, ids) = self.record_again(&conflict, at)?;
        // Recorded: from here on an error would make the caller retry what is done.
        let _ = fs::remove_file(&path);
        if let Err(fault) = self.follow_recorded(&ids) {
            self.warn(format!("the other conflicts could not be updated: {fault}"));
        }
        Ok(operation)
    }

    fn drop_conflict(&self, id: &str) -> Result<(), StoreFault> {
        let path = self.conflict_file(id)?;
        fs::remove_file(&path).map_err(|error| io_fault("cannot remove", &path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::conflict_id;
    use std::path::Path;

    #[test]
    fn the_id_of_a_conflict_is_the_end_of_its_name() {
        assert_eq!(
            conflict_id(Path::new("2026-01-02T03-04-05-0123456789ab.json")),
            "0123456789ab"
        );
    }
}
