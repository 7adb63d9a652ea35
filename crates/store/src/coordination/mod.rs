//! Coordination of a repository: one small SQLite database in the common git directory.
//!
//! All worktrees of the repository use it, each besides its own state. It is opened on first use,
//! created by the first write, and never by a read. A decision about claims is made inside its
//! write transaction (`change_claims`), which any two processes run one after the other; the
//! operation in the history of a worktree follows after, and is only a log of it.

mod database;
mod sessions;
mod worktree;

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use domain::ports::{
    ClaimChange, Coordination, HeldClaim, LiveSession, NodeKey, SessionActivity, StoreFault,
    Worktree,
};
use domain::time::Timestamp;
use domain::work::claim::Claim;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use self::worktree::{CoordinationPlace, WorktreeName};
use crate::network_file_system::network_file_system_at;
use crate::sqlite::connection::{checkpoint_long_log, to_fault};

/// How long a reservation is kept. By then the id is in a branch, or was given up.
const RESERVATION_MS: i64 = 90 * 24 * 60 * 60 * 1000;

/// Coordination between the worktrees of the repository around a project.
#[derive(Debug)]
pub struct RepositoryCoordination {
    root: PathBuf,
    place: OnceCell<Option<CoordinationPlace>>,
    connection: RefCell<Option<Connection>>,
}

/// A query, in a transaction of its own.
type Query<'q, T> = &'q mut dyn FnMut(&Connection) -> rusqlite::Result<T>;

impl RepositoryCoordination {
    /// Returns the coordination of the project at `root`. Does not touch the disk.
    #[must_use]
    pub fn open(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            place: OnceCell::new(),
            connection: RefCell::new(None),
        }
    }

    /// Returns the place; `None` outside a repository, and where SQLite does not work.
    fn place(&self) -> Option<&CoordinationPlace> {
        self.place
            .get_or_init(|| {
                // A broken repository counts as none here: git's own commands report it.
                let place = CoordinationPlace::find_place(&self.root).ok().flatten()?;
                // Shared memory of a write-ahead log does not work between the machines of a
                // network file system.
                network_file_system_at(place.common())
                    .is_none()
                    .then_some(place)
            })
            .as_ref()
    }

    fn require_place(&self) -> Result<&CoordinationPlace, StoreFault> {
        self.place().ok_or(StoreFault::Missing)
    }

    /// Runs a query; `None` if there is no database yet.
    fn read<T>(&self, query: Query<'_, T>) -> Result<Option<T>, StoreFault> {
        let path = self.require_place()?.database();
        let mut opened = self.connection.borrow_mut();
        let answer = (|| {
            if opened.is_none() {
                *opened = database::open_existing(&path)?;
            }
            let Some(connection) = opened.as_ref() else {
                return Ok(None);
            };
            query(connection)
                .map(Some)
                .map_err(|error| to_fault(&path, error))
        })();
        match answer {
            // As good as empty: the next write replaces the file. Failing here would block every
            // command because of leases.
            Err(StoreFault::Damaged { .. }) => {
                *opened = None;
                Ok(None)
            }
            other => other,
        }
    }

    /// Runs a change in a write transaction, on a new database if the present one is damaged.
    fn write<T>(
        &self,
        change: &mut dyn FnMut(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreFault> {
        let path = self.require_place()?.database();
        match self.write_once(&path, change) {
            Err(StoreFault::Damaged { .. }) => {
                self.connection.replace(None);
                database::quarantine_damaged(&path)?;
                self.write_once(&path, change)
            }
            other => other,
        }
    }

    fn write_once<T>(
        &self,
        path: &Path,
        change: &mut dyn FnMut(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreFault> {
        let mut opened = self.connection.borrow_mut();
        let connection = match &mut *opened {
            Some(connection) => connection,
            none => none.insert(database::open_or_create(path)?),
        };
        let fault = |error| to_fault(path, error);
        // Immediate: a transaction that reads first and upgrades later would fail when another
        // process wrote in between.
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
            .map_err(fault)?;
        let value = change(&transaction).map_err(fault)?;
        transaction.commit().map_err(fault)?;
        checkpoint_long_log(connection, path);
        Ok(value)
    }

    /// Returns the claims of existing worktrees, and the keys of those of removed ones.
    fn split_claims(
        &self,
        connection: &Connection,
    ) -> rusqlite::Result<(Vec<HeldClaim>, Vec<NodeKey>)> {
        let Some(place) = self.place() else {
            return Ok((Vec::new(), Vec::new()));
        };
        let mut worktrees = KnownWorktrees::new(place);
        let mut statement = connection.prepare_cached(
            "SELECT profile, path, session, token, since, until, worktree, made, folder, \
             (SELECT max(heard) FROM session WHERE session.project = claim.project \
              AND session.session = claim.session AND session.worktree = claim.worktree) \
             FROM claim WHERE project = ?1 ORDER BY profile, path",
        )?;
        let mut rows = statement.query([&place.project])?;
        let (mut held, mut removed) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next()? {
            let node = NodeKey {
                profile: row.get(0)?,
                path: row.get(1)?,
            };
            match worktrees.find_worktree(row, 6)? {
                Some(worktree) => held.push(HeldClaim {
                    node,
                    claim: Claim {
                        session: row.get(2)?,
                        token: u64::try_from(row.get::<_, i64>(3)?).unwrap_or(0),
                        since: Timestamp::from_millis(row.get(4)?),
                        until: Timestamp::from_millis(row.get(5)?),
                        shared: true,
                    },
                    worktree,
                    heard: row.get::<_, Option<i64>>(9)?.map(Timestamp::from_millis),
                }),
                None => removed.push(node),
            }
        }
        Ok((held, removed))
    }
}

impl Coordination for RepositoryCoordination {
    fn is_shared(&self) -> bool {
        self.place().is_some()
    }

    fn list_claims(&self) -> Result<Vec<HeldClaim>, StoreFault> {
        let found = self.read(&mut |connection| self.split_claims(connection))?;
        Ok(found.map(|(held, _)| held).unwrap_or_default())
    }

    fn change_claims(
        &self,
        decide: &mut dyn FnMut(&[HeldClaim], u64) -> ClaimChange,
    ) -> Result<(), StoreFault> {
        let place = self.require_place()?;
        self.write(&mut |transaction| {
            let (held, removed) = self.split_claims(transaction)?;
            for node in &removed {
                delete_claim(transaction, place, node)?;
            }
            match decide(&held, read_last_token(transaction)?.saturating_add(1)) {
                ClaimChange::Keep => Ok(()),
                ClaimChange::Remove(node) => delete_claim(transaction, place, &node),
                ClaimChange::Put(node, claim) => put_claim(transaction, place, &node, &claim),
            }
        })
    }

    fn list_sessions(&self, since: Timestamp) -> Result<Vec<LiveSession>, StoreFault> {
        let place = self.require_place()?;
        let found =
            self.read(&mut |connection| sessions::list_sessions(connection, place, since))?;
        Ok(found.unwrap_or_default())
    }

    fn record_activity(&self, activity: &SessionActivity<'_>) -> Result<(), StoreFault> {
        let place = self.require_place()?;
        // Most events bring nothing new: they end with one indexed read and without the write lock.
        let is_known =
            self.read(&mut |connection| sessions::is_up_to_date(connection, place, activity))?;
        if is_known == Some(true) {
            return Ok(());
        }
        self.write(&mut |transaction| sessions::record_activity(transaction, place, activity))
    }

    fn end_session(&self, session: &str) -> Result<(), StoreFault> {
        let place = self.require_place()?;
        let is_known =
            self.read(&mut |connection| sessions::has_session(connection, place, session))?;
        match is_known {
            Some(true) => {
                self.write(&mut |transaction| sessions::delete_session(transaction, place, session))
            }
            Some(false) | None => Ok(()),
        }
    }

    fn reserve_id(
        &self,
        scope: &str,
        candidate: &str,
        request: &str,
        now: Timestamp,
    ) -> Result<bool, StoreFault> {
        let place = self.require_place()?;
        self.write(&mut |transaction| {
            transaction.execute(
                "DELETE FROM reserved_id WHERE at < ?1",
                [now.as_millis().saturating_sub(RESERVATION_MS)],
            )?;
            let mut statement = transaction.prepare_cached(
                "INSERT OR IGNORE INTO reserved_id (project, scope, id, request, worktree, made, at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?;
            let WorktreeName { name, made } = &place.worktree;
            let is_new = statement.execute(params![
                place.project,
                scope,
                candidate,
                request,
                name,
                made,
                now.as_millis()
            ])? == 1;
            if is_new {
                return Ok(true);
            }
            transaction
                .prepare_cached(
                    "SELECT request = ?4 AND worktree = ?5 AND made = ?6 FROM reserved_id \
                     WHERE project = ?1 AND scope = ?2 AND id = ?3",
                )?
                .query_row(
                    params![place.project, scope, candidate, request, name, made],
                    |row| row.get(0),
                )
        })
    }
}

/// Worktrees that were looked up already: many claims and sessions are in the same one.
struct KnownWorktrees<'p> {
    place: &'p CoordinationPlace,
    known: HashMap<WorktreeName, Option<Worktree>>,
}

impl<'p> KnownWorktrees<'p> {
    fn new(place: &'p CoordinationPlace) -> Self {
        Self {
            place,
            known: HashMap::new(),
        }
    }

    /// Returns the worktree named by three columns of a row; `None` if it was removed.
    fn find_worktree(&mut self, row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Worktree>> {
        let named = WorktreeName {
            name: row.get(at)?,
            made: row.get(at + 1)?,
        };
        let folder: String = row.get(at + 2)?;
        if let Some(known) = self.known.get(&named) {
            return Ok(known.clone());
        }
        let found = self.place.describe_worktree(&named, &folder);
        self.known.insert(named, found.clone());
        Ok(found)
    }
}

fn read_last_token(connection: &Connection) -> rusqlite::Result<u64> {
    let last = connection
        .query_row("SELECT last FROM token WHERE one = 1", [], |row| {
            row.get::<_, i64>(0)
        })
        .optional()?;
    Ok(last.and_then(|last| u64::try_from(last).ok()).unwrap_or(0))
}

fn delete_claim(
    transaction: &Transaction<'_>,
    place: &CoordinationPlace,
    node: &NodeKey,
) -> rusqlite::Result<()> {
    transaction.execute(
        "DELETE FROM claim WHERE project = ?1 AND profile = ?2 AND path = ?3",
        params![place.project, node.profile, node.path],
    )?;
    Ok(())
}

fn put_claim(
    transaction: &Transaction<'_>,
    place: &CoordinationPlace,
    node: &NodeKey,
    claim: &Claim,
) -> rusqlite::Result<()> {
    let token = i64::try_from(claim.token).unwrap_or(i64::MAX);
    transaction.execute(
        "INSERT OR REPLACE INTO claim \
         (project, profile, path, session, token, since, until, worktree, made, folder) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            place.project,
            node.profile,
            node.path,
            claim.session,
            token,
            claim.since.as_millis(),
            claim.until.as_millis(),
            place.worktree.name,
            place.worktree.made,
            place.folder,
        ],
    )?;
    // Kept apart from the claims, which are deleted: a token is never given twice.
    transaction.execute(
        "INSERT INTO token (one, last) VALUES (1, ?1) \
         ON CONFLICT (one) DO UPDATE SET last = max(last, excluded.last)",
        [token],
    )?;
    Ok(())
}
