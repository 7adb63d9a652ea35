//! Opening the database file with the settings one-shot processes need.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use domain::ports::StoreFault;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

/// `tln1`: marks the file as ours.
pub(super) const APPLICATION_ID: i64 = 0x746c_6e31;

/// Pages in the write-ahead log before a writer moves them into the database.
///
/// Every process that finds the log has to read all of it first, so it is kept short. SQLite's own
/// checkpoint is no help: it does not empty the log, and a process that starts anew cannot know
/// which pages were moved already.
const LOG_PAGES: u64 = 48;
const PAGE: u64 = 4096;

/// What the file must be before it is touched.
pub(super) enum Purpose {
    Create,
    Existing,
}

/// Opens the database.
pub(super) fn open(
    path: &Path,
    purpose: &Purpose,
    patience: Duration,
) -> Result<Connection, StoreFault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = match purpose {
        Purpose::Create => Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_CREATE),
        Purpose::Existing => {
            check_file(path)?;
            Connection::open_with_flags(path, flags)
        }
    }
    .map_err(|error| fault(path, error))?;
    configure(&mut connection, patience).map_err(|error| fault(path, error))?;
    Ok(connection)
}

/// Opens a database that cannot be written, on a read-only or full disk.
///
/// Only when nothing waits in the write-ahead log: what is there would not be seen.
pub(super) fn open_immutable(path: &Path) -> Result<Connection, StoreFault> {
    if fs::metadata(log_of(path)).is_ok_and(|metadata| metadata.len() > 0) {
        return Err(StoreFault::ReadOnly {
            path: path.to_owned(),
        });
    }
    let uri = format!("file:{}?immutable=1", escape_uri(&path.to_string_lossy()));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(uri, flags).map_err(|error| fault(path, error))
}

fn escape_uri(path: &str) -> String {
    path.replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23")
}

/// Refuses what only looks like a database of this user.
fn check_file(path: &Path) -> Result<(), StoreFault> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(StoreFault::Missing);
        }
        Err(error) => return Err(crate::engine::io_fault("cannot look at", path, error)),
    };
    // SQLite takes a file of no bytes for a new database and throws its log away.
    if metadata.file_type().is_file() && metadata.len() == 0 {
        return Err(StoreFault::Damaged {
            what: "the database is empty".to_owned(),
        });
    }
    let refuse = |why: &str| {
        Err(StoreFault::Io {
            action: format!("`{}` is not used: {why}", path.display()),
            source: "refused for safety".into(),
        })
    };
    if !metadata.file_type().is_file() {
        return refuse("it is not a regular file");
    }
    if metadata.mode() & 0o002 != 0 {
        return refuse("everyone on this machine may write it (chmod o-w)");
    }
    let me = rustix::process::geteuid();
    if metadata.uid() != me.as_raw() && !me.is_root() {
        return refuse("it belongs to another user");
    }
    Ok(())
}

/// Moves the write-ahead log into the database once it is long, and empties it.
pub(super) fn keep_log_short(connection: &Connection, path: &Path) {
    if fs::metadata(log_of(path)).is_ok_and(|log| log.len() > LOG_PAGES * PAGE) {
        // Someone who is reading keeps it as it is; then the next writer tries again.
        let _ = without_patience(|| {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        });
    }
}

/// Does something without waiting for anyone.
pub(super) fn without_patience<T>(act: impl FnOnce() -> T) -> T {
    let before = IN_A_HURRY.replace(true);
    let outcome = act();
    IN_A_HURRY.set(before);
    outcome
}

fn log_of(path: &Path) -> std::ffi::OsString {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log
}

/// Runs a statement without values or rows, prepared once.
pub(super) fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

fn configure(connection: &mut Connection, patience: Duration) -> rusqlite::Result<()> {
    set_patience(patience);
    // A server asks more than the sixteen different questions that are kept otherwise.
    connection.set_prepared_statement_cache_capacity(64);
    connection.busy_handler(Some(wait_a_little))?;
    // The last process to close would move the whole log into the database: five syncs for nothing.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // Without it SQLite may prepare a statement anew for every value that is bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // NORMAL: a commit does not wait for the disk. Every operation is in the journal by then, synced; a database that
    // comes back from a power cut without it takes it over from there.
    connection.execute_batch(
        "PRAGMA cell_size_check=ON; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0;",
    )
}

// The busy handler is a plain function: when to give up is kept here, for the whole process.
static GIVE_UP_AFTER_MS: AtomicU64 = AtomicU64::new(5_000);
static JITTER: AtomicU64 = AtomicU64::new(0);
thread_local! {
    static WAITING_SINCE: std::cell::Cell<Option<Instant>> = const { std::cell::Cell::new(None) };
    /// Each thread has a connection of its own: what one does without waiting is nothing to the others.
    static IN_A_HURRY: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

fn set_patience(patience: Duration) {
    GIVE_UP_AFTER_MS.store(
        u64::try_from(patience.as_millis()).unwrap_or(u64::MAX),
        Ordering::Relaxed,
    );
}

/// Sleeps between 0.3 and 2.8 ms: many waiters at the same steps would starve one another.
fn wait_a_little(attempt: i32) -> bool {
    if IN_A_HURRY.get() {
        return false;
    }
    let now = Instant::now();
    let since = WAITING_SINCE.with(|cell| {
        if attempt == 0 || cell.get().is_none() {
            cell.set(Some(now));
        }
        cell.get().unwrap_or(now)
    });
    let waited = now.duration_since(since);
    if waited >= Duration::from_millis(GIVE_UP_AFTER_MS.load(Ordering::Relaxed)) {
        return false;
    }
    let seed = JITTER.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)
        ^ u64::from(std::process::id())
        ^ u64::try_from(waited.as_nanos()).unwrap_or(0);
    let mut noise = seed ^ (seed >> 33);
    noise = noise.wrapping_mul(0xff51_afd7_ed55_8ccd);
    std::thread::sleep(Duration::from_micros(300 + (noise >> 40) % 2_500));
    true
}

/// Turns an engine's error into the fault people can act on.
pub(super) fn fault(path: &Path, error: rusqlite::Error) -> StoreFault {
    let code = error.sqlite_error_code();
    match code {
        // SQLite tried for ten seconds, by a schedule of its own, to get a lock that nobody else has to hold: the
        // release of one failed in this process, or the file system's locks do not work.
        Some(ErrorCode::FileLockingProtocolFailed) => StoreFault::Io {
            action: format!(
                "file locks on `{}` do not work (tl doctor says where it lies)",
                path.display()
            ),
            source: error.into(),
        },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            // To find out who it is takes the system ten milliseconds: not for somebody who will not wait anyway.
            StoreFault::Locked {
                holder: if IN_A_HURRY.get() { None } else { holder(path) },
            }
        }
        Some(
            ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::TypeMismatch
            | ErrorCode::ConstraintViolation,
        ) => StoreFault::Damaged {
            what: error.to_string(),
        },
        Some(ErrorCode::ReadOnly) => StoreFault::ReadOnly {
            path: path.to_owned(),
        },
        Some(ErrorCode::DiskFull) => StoreFault::Full {
            path: path.to_owned(),
        },
        Some(ErrorCode::CannotOpen) if !path.exists() => StoreFault::Missing,
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => StoreFault::ReadOnly {
            path: path.to_owned(),
        },
        // A statement of ours that the schema does not know: tables are gone.
        Some(ErrorCode::Unknown) => StoreFault::Damaged {
            what: error.to_string(),
        },
        _ => match &error {
            // Our own statements are right: if one cannot be prepared, it is the schema that is not.
            rusqlite::Error::SqlInputError { .. }
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::QueryReturnedNoRows => StoreFault::Damaged {
                what: error.to_string(),
            },
            _ => StoreFault::Io {
                action: format!("cannot use `{}`", path.display()),
                source: error.into(),
            },
        },
    }
}

/// Returns the process that holds the write lock, where the system tells.
///
/// Never by opening the file: closing it again would drop every lock this process has on it, and another process
/// would then cut it short under our feet.
fn holder(path: &Path) -> Option<u32> {
    // Byte 120 of the shared-memory file is SQLite's write lock.
    const WRITE_LOCK: &str = "120";
    let mut shm = path.as_os_str().to_owned();
    shm.push("-shm");
    let inode = fs::metadata(shm).ok()?.ino().to_string();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        // `5: POSIX  ADVISORY  WRITE 4711 fd:01:131234 120 120`
        let mut fields = line
            .split_whitespace()
            .skip_while(|field| *field != "WRITE")
            .skip(1);
        let (pid, file, start) = (fields.next()?, fields.next()?, fields.next()?);
        let held = file.rsplit(':').next() == Some(&inode) && start == WRITE_LOCK;
        held.then(|| pid.parse().ok()).flatten()
    })
}
