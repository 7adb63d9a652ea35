//! Model leases: one small file per tick or scene that a process asks the model about.
//!
//! The caller holds the lock of the coordination. A damaged file counts as no lease: it would otherwise
//! block its work for good.

use std::fs;
use std::io::ErrorKind;

use domain::ids::Digest32;
use domain::model_lease::{HeldLease, LeaseChange, ModelLease, ModelWork};
use domain::ports::StoreFault;
use serde::{Deserialize, Serialize};

use super::unreachable_fault;
use super::worktree::{CoordinationPlace, WorktreeName};
use crate::durable::{Durability, replace_file};
use crate::private_files::create_private_directory;

/// A lease as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct LeaseFile {
    /// For people who look at the folder.
    work: String,
    worktree: WorktreeName,
    folder: String,
    lease: ModelLease,
}

/// Changes the lease on a piece of work by a decision about the present one.
pub(super) fn change_lease(
    place: &CoordinationPlace,
    work: &ModelWork,
    decide: &mut dyn FnMut(Option<&HeldLease>) -> LeaseChange,
) -> Result<(), StoreFault> {
    let work = work.lease_key();
    let digest = Digest32::of_bytes(format!("{}\0{work}", place.project).as_bytes()).to_string();
    let folder = place.leases_folder();
    let path = folder.join(digest.chars().take(32).collect::<String>());
    let fault = |error| unreachable_fault("cannot write", &path, error);
    let known: Option<LeaseFile> = fs::read(&path)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let held = known.and_then(|known| {
        Some(HeldLease {
            worktree: place.describe_worktree(&known.worktree, &known.folder)?,
            lease: known.lease,
        })
    });
    match decide(held.as_ref()) {
        LeaseChange::Keep => Ok(()),
        LeaseChange::Remove => match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(fault(error)),
            _ => Ok(()),
        },
        LeaseChange::Put(lease) => {
            create_private_directory(&folder).map_err(fault)?;
            let file = LeaseFile {
                work,
                worktree: place.worktree.clone(),
                folder: place.folder.clone(),
                lease,
            };
            let text = serde_json::to_vec(&file).unwrap_or_default();
            // Not synced: no process survives the power cut that could lose it.
            replace_file(&path, &text, Durability::Atomic).map_err(fault)
        }
    }
}
