//! Reserved ids: one small file per id, written under the lock of the coordination.

use std::fs;

use domain::ids::Digest32;
use domain::ports::StoreFault;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::worktree::{CoordinationPlace, WorktreeName};
use super::{delete_if_older, unreachable_fault};
use crate::durable::{Durability, replace_file};
use crate::private_files::create_private_directory;

/// How long a reservation is kept. By then the id is in a branch, or was given up.
const RESERVATION_MS: i64 = 90 * 24 * 60 * 60 * 1000;

/// Who reserved an id, and for what.
#[derive(Debug, Serialize, Deserialize)]
struct Reservation {
    request: String,
    worktree: WorktreeName,
    at: i64,
}

/// Reserves an id; returns `false` if another request has it. The caller holds the lock.
pub(super) fn reserve_id(
    place: &CoordinationPlace,
    scope: &str,
    candidate: &str,
    request: &str,
    now: Timestamp,
) -> Result<bool, StoreFault> {
    let key = format!("{}\0{scope}\0{candidate}", place.project);
    let digest = Digest32::of_bytes(key.as_bytes()).to_string();
    let folder = place.ids_folder();
    let path = folder.join(digest.chars().take(32).collect::<String>());
    let fault = |error| unreachable_fault("cannot write", &path, error);
    let known: Option<Reservation> = fs::read(&path)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if let Some(known) = known
        && known.at >= now.as_millis().saturating_sub(RESERVATION_MS)
    {
        return Ok(known.request == request && known.worktree == place.worktree);
    }
    create_private_directory(&folder).map_err(fault)?;
    // The listing grows with the ids, so one reservation in 64 pays for all.
    if digest.starts_with("00") || digest.starts_with("01") {
        delete_expired(place, now);
    }
    let reservation = Reservation {
        request: request.to_owned(),
        worktree: place.worktree.clone(),
        at: now.as_millis(),
    };
    let text = serde_json::to_vec(&reservation).unwrap_or_default();
    replace_file(&path, &text, Durability::Synced).map_err(fault)?;
    Ok(true)
}

/// Deletes reservations that are too old to count.
fn delete_expired(place: &CoordinationPlace, now: Timestamp) {
    let before = Timestamp::from_millis(now.as_millis().saturating_sub(RESERVATION_MS));
    let entries = fs::read_dir(place.ids_folder()).into_iter().flatten();
    for entry in entries.flatten() {
        delete_if_older(&entry.path(), before);
    }
}
