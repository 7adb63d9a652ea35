//! Coordination of a repository: small files in the common git directory.
//!
//! All worktrees of the repository use them, each besides its own state. They are created by the
//! first write, never by a read. A decision about claims or leases is made under a lock, which any
//! two processes hold one after the other; the operation in the history of a worktree follows after,
//! and is only a log of it. Hooks only read claims and append to a file of their session, so they
//! take no lock.

mod claims;
mod leases;
mod reserved_ids;
mod sessions;
mod worktree;

use std::cell::OnceCell;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use domain::model_lease::{HeldLease, LeaseChange, ModelWork};
use domain::ports::{
    ClaimChange, Coordination, HeldClaim, LiveSession, SessionActivity, StoreFault,
};
use domain::time::Timestamp;

use self::claims::ClaimTable;
use self::worktree::CoordinationPlace;
use crate::engine::io_fault;
use crate::file_lock::acquire_file_lock;
use crate::git::DiskGit;
use crate::private_files::create_unlinked_directory;
use crate::sqlite::connection::lock_timeout;

/// Coordination between the worktrees of the repository around a project.
#[derive(Debug)]
pub struct RepositoryCoordination<'g> {
    git: &'g DiskGit,
    place: OnceCell<Option<CoordinationPlace>>,
}

/// Builds the fault of a place that cannot be used. One that stays so is reported as read-only:
/// then the worktree works on alone. A failed read or write says nothing about the next one.
fn unreachable_fault(action: &str, path: &Path, error: std::io::Error) -> StoreFault {
    use std::io::ErrorKind as Kind;
    match error.kind() {
        // A file where a folder of ours belongs already exists.
        Kind::AlreadyExists
        | Kind::NotADirectory
        | Kind::PermissionDenied
        | Kind::ReadOnlyFilesystem
        | Kind::Unsupported => StoreFault::ReadOnly {
            path: path.to_owned(),
        },
        _ => io_fault(action, path, error),
    }
}

/// Deletes a file that was last changed before a moment.
fn delete_if_older(path: &Path, before: Timestamp) {
    let changed = std::fs::metadata(path)
        .ok()
        .map(|found| found.mtime().saturating_mul(1_000));
    if changed.is_some_and(|changed| changed < before.as_millis()) {
        // Another process may have been quicker.
        let _ = std::fs::remove_file(path);
    }
}

impl<'g> RepositoryCoordination<'g> {
    /// Returns the coordination of a project. Does not touch the disk.
    #[must_use]
    pub fn open(git: &'g DiskGit) -> Self {
        Self {
            git,
            place: OnceCell::new(),
        }
    }

    /// Returns the place; `None` outside a repository.
    fn place(&self) -> Option<&CoordinationPlace> {
        self.place
            .get_or_init(|| {
                // A broken repository counts as none here: git's own commands report it.
                let paths = self.git.find_repository().ok().flatten()?;
                Some(CoordinationPlace::from_paths(&paths))
            })
            .as_ref()
    }

    fn require_place(&self) -> Result<&CoordinationPlace, StoreFault> {
        self.place().ok_or(StoreFault::Missing)
    }

    /// Waits for the lock under which claims and ids change.
    fn acquire_lock(&self) -> Result<File, StoreFault> {
        let folder = self.require_place()?.folder_of_ours();
        create_unlinked_directory(&folder)
            .map_err(|error| unreachable_fault("cannot create", &folder, error))?;
        let path = folder.join("coordination.lock");
        acquire_file_lock(&path, lock_timeout())
            .map_err(|error| unreachable_fault("cannot lock", &path, error))?
            .ok_or(StoreFault::Locked { holder: None })
    }
}

/// Returns the claims of the project in existing worktrees.
fn list_held(place: &CoordinationPlace, table: &ClaimTable) -> Result<Vec<HeldClaim>, StoreFault> {
    let mut held = Vec::new();
    for row in &table.claims {
        if row.project != place.project {
            continue;
        }
        let Some(worktree) = place.describe_worktree(&row.worktree, &row.folder) else {
            continue;
        };
        held.push(HeldClaim {
            node: row.node_key(),
            heard: sessions::find_last_activity(place, &row.worktree, &row.claim.session)?,
            claim: row.claim.clone(),
            worktree,
        });
    }
    Ok(held)
}

impl Coordination for RepositoryCoordination<'_> {
    fn is_shared(&self) -> bool {
        self.place().is_some()
    }

    fn list_claims(&self) -> Result<Vec<HeldClaim>, StoreFault> {
        let place = self.require_place()?;
        list_held(place, &ClaimTable::read_from(&place.claims_file())?)
    }

    fn change_claims(
        &self,
        decide: &mut dyn FnMut(&[HeldClaim], u64) -> ClaimChange,
    ) -> Result<(), StoreFault> {
        let place = self.require_place()?;
        let _held_until_here = self.acquire_lock()?;
        let path = place.claims_file();
        let mut table = ClaimTable::read_from(&path)?;
        let held = list_held(place, &table)?;
        match decide(&held, table.last_token.saturating_add(1)) {
            ClaimChange::Keep => return Ok(()),
            ClaimChange::Remove(node) => table.remove_claim(&place.project, &node),
            ClaimChange::Put(node, claim) => table.put_claim(place, &node, &claim),
            ClaimChange::Rename { from, to, claim } => {
                table.remove_claim(&place.project, &from);
                table.put_claim(place, &to, &claim);
            }
        }
        // Claims of removed worktrees end with the next change.
        table.claims.retain(|row| {
            place
                .describe_worktree(&row.worktree, &row.folder)
                .is_some()
        });
        table.write_to(&path)
    }

    fn change_lease(
        &self,
        work: &ModelWork,
        decide: &mut dyn FnMut(Option<&HeldLease>) -> LeaseChange,
    ) -> Result<(), StoreFault> {
        let place = self.require_place()?;
        let _held_until_here = self.acquire_lock()?;
        leases::change_lease(place, work, decide)
    }

    fn list_sessions(&self, since: Timestamp) -> Result<Vec<LiveSession>, StoreFault> {
        sessions::list_sessions(self.require_place()?, since)
    }

    fn record_activity(&self, activity: &SessionActivity<'_>) -> Result<(), StoreFault> {
        sessions::record_activity(self.require_place()?, activity)
    }

    fn end_session(&self, session: &str) -> Result<(), StoreFault> {
        sessions::delete_session(self.require_place()?, session)
    }

    fn reserve_id(
        &self,
        scope: &str,
        candidate: &str,
        request: &str,
        now: Timestamp,
    ) -> Result<bool, StoreFault> {
        let place = self.require_place()?;
        let _held_until_here = self.acquire_lock()?;
        reserved_ids::reserve_id(place, scope, candidate, request, now)
    }
}
