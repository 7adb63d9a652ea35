//! The coordination database file: created on the first write, replaced when damaged.
//!
//! Nothing in it is worth a repair: claims are leases, sessions report again, and used ids are also
//! found in the branches. A damaged file is moved aside and a new one begun.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use domain::ports::StoreFault;
use rusqlite::Connection;

use crate::engine::io_fault;
use crate::private_files::{FILE_MODE, create_private_directory};
use crate::sqlite::connection::{
    OpenMode, lock_timeout, open_database_file, open_immutable, to_fault,
};

/// SQLite application id of the coordination database: `tlc1` in ASCII.
const APPLICATION_ID: i64 = 0x746c_6331;
/// The schema version this program writes.
const FORMAT: i64 = 1;
const SCHEMA: &str = include_str!("../../migrations/coordination/0001_coordination.sql");

/// What a file is, by its header.
enum Header {
    Ours,
    /// Created, and not initialised yet.
    Empty,
}

/// Builds the fault of a place that cannot be used. One that stays so is reported as read-only:
/// then the worktree works on alone. A failed read or write says nothing about the next one.
fn unreachable_fault(action: &str, path: &Path, error: std::io::Error) -> StoreFault {
    use std::io::ErrorKind::{NotADirectory, PermissionDenied, ReadOnlyFilesystem};
    match error.kind() {
        NotADirectory | PermissionDenied | ReadOnlyFilesystem => StoreFault::ReadOnly {
            path: path.to_owned(),
        },
        _ => io_fault(action, path, error),
    }
}

/// Opens the database for reading; `None` if there is none yet. Creates nothing.
pub(super) fn open_existing(path: &Path) -> Result<Option<Connection>, StoreFault> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() && found.len() == 0 => return Ok(None),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreachable_fault("cannot stat", path, error)),
    }
    let opened = open_database_file(path, &OpenMode::Existing, lock_timeout())
        .and_then(|connection| check_header(&connection, path).map(|header| (connection, header)));
    match opened {
        Ok((connection, Header::Ours)) => Ok(Some(connection)),
        Ok((_, Header::Empty)) | Err(StoreFault::Missing) => Ok(None),
        // In a read-only repository SQLite cannot make its shared memory file.
        Err(StoreFault::ReadOnly { .. }) => {
            let connection = open_immutable(path)?;
            Ok(matches!(check_header(&connection, path)?, Header::Ours).then_some(connection))
        }
        Err(fault) => Err(fault),
    }
}

/// Opens the database for writing, creating it if necessary.
pub(super) fn open_or_create(path: &Path) -> Result<Connection, StoreFault> {
    if let Some(connection) = open_existing(path)? {
        return Ok(connection);
    }
    let folder = path.parent().unwrap_or(path);
    create_private_directory(folder)
        .map_err(|error| unreachable_fault("cannot create", folder, error))?;
    let connection = open_database_file(path, &OpenMode::Create, lock_timeout())?;
    // By path, not by descriptor: closing one would drop the locks this process has on the file.
    let _ = fs::set_permissions(path, fs::Permissions::from_mode(FILE_MODE));
    enable_write_ahead_log(&connection, path)?;
    let fault = |error| to_fault(path, error);
    // Several processes may get here at once; one of them creates the tables, the others find them.
    connection.execute_batch("BEGIN IMMEDIATE").map_err(fault)?;
    let created = match check_header(&connection, path) {
        Ok(Header::Ours) => Ok(()),
        Ok(Header::Empty) => connection
            .execute_batch(&format!(
                "{SCHEMA}\nPRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {FORMAT};"
            ))
            .map_err(fault),
        Err(other) => Err(other),
    };
    match created {
        Ok(()) => connection.execute_batch("COMMIT").map_err(fault)?,
        Err(other) => {
            let _ = connection.execute_batch("ROLLBACK");
            return Err(other);
        }
    }
    Ok(connection)
}

/// Switches a new database to a write-ahead log. SQLite does not call the busy handler for this, so
/// that processes which create the file at once have to retry here.
fn enable_write_ahead_log(connection: &Connection, path: &Path) -> Result<(), StoreFault> {
    let begun = Instant::now();
    loop {
        let switched = connection.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()));
        match switched.map_err(|error| to_fault(path, error)) {
            Err(StoreFault::Locked { .. }) if begun.elapsed() < lock_timeout() => {
                std::thread::sleep(Duration::from_micros(
                    500 + u64::from(std::process::id() % 16) * 100,
                ));
            }
            outcome => return outcome,
        }
    }
}

/// Classifies a database by `application_id` and `user_version`.
fn check_header(connection: &Connection, path: &Path) -> Result<Header, StoreFault> {
    let pragma = |name: &str| -> Result<i64, StoreFault> {
        connection
            .query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
            .map_err(|error| to_fault(path, error))
    };
    match (pragma("application_id")?, pragma("user_version")?) {
        (APPLICATION_ID, FORMAT) => Ok(Header::Ours),
        (0, 0) => Ok(Header::Empty),
        // Not ignored: two versions of this program that see different claims hand out one node
        // twice.
        (APPLICATION_ID, found) if found > FORMAT => Err(StoreFault::Newer {
            found,
            known: FORMAT,
        }),
        _ => Err(StoreFault::Damaged {
            what: format!("`{}` has an unknown header", path.display()),
        }),
    }
}

/// Moves a damaged database aside, unless another process has replaced it meanwhile.
pub(super) fn quarantine_damaged(path: &Path) -> Result<(), StoreFault> {
    let folder = path.parent().unwrap_or(path);
    let fault = |error: std::io::Error| io_fault("cannot replace", path, error);
    let guard = fs::File::open(folder).map_err(fault)?;
    // One process at a time: the second one would move the new file aside.
    rustix::fs::flock(&guard, rustix::fs::FlockOperation::LockExclusive)
        .map_err(|error| fault(error.into()))?;
    if is_intact(path) {
        return Ok(());
    }
    let aside = folder.join(format!("coordination.db.damaged-{}", std::process::id()));
    fs::rename(path, aside).map_err(fault)?;
    for suffix in ["-wal", "-shm"] {
        let mut side = path.as_os_str().to_owned();
        side.push(suffix);
        // Absent after a clean shutdown; the log of the damaged file must not be applied to the new
        // one.
        let _ = fs::remove_file(side);
    }
    Ok(())
}

fn is_intact(path: &Path) -> bool {
    let checked = open_existing(path).and_then(|connection| {
        let Some(connection) = connection else {
            return Ok(true);
        };
        connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
            .map(|answer| answer == "ok")
            .map_err(|error| to_fault(path, error))
    });
    matches!(checked, Ok(true))
}
