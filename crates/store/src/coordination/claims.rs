//! Claims of all worktrees of a repository, in one small file that is replaced as a whole.
//!
//! A reader takes no lock: it sees the file before or after a change. Nothing in it is worth a
//! repair, because claims are leases: a damaged file is moved aside and a new one begun.

use std::fs;
use std::path::{Path, PathBuf};

use domain::ports::{NodeKey, StoreFault};
use domain::work::claim::Claim;
use serde::{Deserialize, Serialize};

use super::unreachable_fault;
use super::worktree::{CoordinationPlace, WorktreeName};
use crate::durable::{Durability, replace_file};
use crate::private_files::read_own_file;

/// The format this program writes.
const FORMAT: i64 = 1;

/// The claims of a repository and the last fencing token.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ClaimTable {
    format: i64,
    /// Kept apart from the claims, which are deleted: a token is never given twice.
    pub(super) last_token: u64,
    pub(super) claims: Vec<ClaimRow>,
}

/// A claim as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ClaimRow {
    pub(super) project: String,
    pub(super) profile: String,
    pub(super) path: String,
    pub(super) worktree: WorktreeName,
    pub(super) folder: String,
    pub(super) claim: Claim,
}

/// The format of a file that may have been written by a newer version.
#[derive(Deserialize)]
struct FormatOnly {
    format: i64,
}

impl ClaimRow {
    pub(super) fn node_key(&self) -> NodeKey {
        NodeKey {
            profile: self.profile.clone(),
            path: self.path.clone(),
        }
    }

    fn is_about(&self, project: &str, node: &NodeKey) -> bool {
        self.project == project && self.profile == node.profile && self.path == node.path
    }
}

impl ClaimTable {
    fn empty_table() -> Self {
        Self {
            format: FORMAT,
            last_token: 0,
            claims: Vec::new(),
        }
    }

    /// Reads the claims; an empty table if there are none yet or the file is damaged.
    pub(super) fn read_from(path: &Path) -> Result<Self, StoreFault> {
        let text = match read_own_file(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::empty_table());
            }
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => String::new(),
            Err(error) => return Err(unreachable_fault("cannot read", path, error)),
        };
        match serde_json::from_str::<FormatOnly>(&text) {
            // Not ignored: two versions of this program that see different claims hand out one
            // node twice.
            Ok(FormatOnly { format }) if format > FORMAT => Err(StoreFault::Newer {
                found: format,
                known: FORMAT,
            }),
            // As good as empty: failing here would block every command because of leases.
            _ => Ok(serde_json::from_str(&text).unwrap_or_else(|_| Self::empty_table())),
        }
    }

    /// Replaces the file; a damaged one is moved aside. The caller holds the lock.
    pub(super) fn write_to(&self, path: &Path) -> Result<(), StoreFault> {
        let fault = |error| unreachable_fault("cannot write", path, error);
        let is_damaged =
            fs::read(path).is_ok_and(|bytes| serde_json::from_slice::<ClaimTable>(&bytes).is_err());
        if is_damaged {
            fs::rename(path, damaged_name(path)).map_err(fault)?;
        }
        let text = serde_json::to_vec(self).unwrap_or_default();
        replace_file(path, &text, Durability::Synced).map_err(fault)
    }

    pub(super) fn remove_claim(&mut self, project: &str, node: &NodeKey) {
        self.claims.retain(|row| !row.is_about(project, node));
    }

    /// Replaces the claim of the same node.
    pub(super) fn put_claim(&mut self, place: &CoordinationPlace, node: &NodeKey, claim: &Claim) {
        self.remove_claim(&place.project, node);
        self.last_token = self.last_token.max(claim.token);
        self.claims.push(ClaimRow {
            project: place.project.clone(),
            profile: node.profile.clone(),
            path: node.path.clone(),
            worktree: place.worktree.clone(),
            folder: place.folder.clone(),
            claim: claim.clone(),
        });
        let key = |row: &ClaimRow| (row.project.clone(), row.profile.clone(), row.path.clone());
        self.claims.sort_by_key(key);
    }
}

fn damaged_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".damaged-{}", std::process::id()));
    name.into()
}
