//! Opens the database file, configures it for short-lived processes, and waits for locks with
//! jitter.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use domain::ports::StoreFault;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

/// SQLite application id of our files: `tln1` in ASCII.
pub(super) const APPLICATION_ID: i64 = 0x746c_6e31;

/// Number of pages in the write-ahead log from which a writer checkpoints it.
///
/// Every new process has to read the whole log first, so it is kept short. SQLite's automatic
/// checkpoint does not help: it does not truncate the log, and a new process cannot know which
/// pages were already copied.
const MAX_LOG_PAGES: u64 = 48;
const PAGE_BYTES: u64 = 4096;

/// Whether the file is created or has to exist.
pub(crate) enum OpenMode {
    Create,
    Existing,
}

/// Opens the database.
pub(crate) fn open_database_file(
    path: &Path,
    purpose: &OpenMode,
    patience: Duration,
) -> Result<Connection, StoreFault> {
    // NO_MUTEX: every thread has its own connection. NOFOLLOW: a link in a copied project could
    // lead to another database.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = match purpose {
        OpenMode::Create => {
            Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_CREATE)
        }
        OpenMode::Existing => {
            check_file_safety(path)?;
            Connection::open_with_flags(path, flags)
        }
    }
    .map_err(|error| to_fault(path, error))?;
    configure_connection(&mut connection, patience).map_err(|error| to_fault(path, error))?;
    Ok(connection)
}

/// Opens a database that cannot be written, on a read-only or full disk.
///
/// Refused if the write-ahead log has content: `immutable` ignores the log, and recent operations
/// would be missing.
pub(crate) fn open_immutable(path: &Path) -> Result<Connection, StoreFault> {
    if fs::metadata(log_path(path)).is_ok_and(|metadata| metadata.len() > 0) {
        return Err(StoreFault::ReadOnly {
            path: path.to_owned(),
        });
    }
    let uri = format!("file:{}?immutable=1", escape_uri(&path.to_string_lossy()));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(uri, flags).map_err(|error| to_fault(path, error))
}

fn escape_uri(path: &str) -> String {
    // `%` first, or the escapes of the others would be escaped again.
    path.replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23")
}

/// Refuses files that are unsafe to open: not regular, writable by everyone, or of another user.
fn check_file_safety(path: &Path) -> Result<(), StoreFault> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(StoreFault::Missing);
        }
        Err(error) => return Err(crate::engine::io_fault("cannot stat", path, error)),
    };
    // SQLite takes an empty file for a new database and deletes its write-ahead log.
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
        return refuse("it is writable by every user of this machine (chmod o-w)");
    }
    // Root may open any user's database.
    let me = rustix::process::geteuid();
    if metadata.uid() != me.as_raw() && !me.is_root() {
        return refuse("it belongs to another user");
    }
    Ok(())
}

/// Checkpoints and truncates the write-ahead log once it is long.
pub(crate) fn checkpoint_long_log(connection: &Connection, path: &Path) {
    if fs::metadata(log_path(path)).is_ok_and(|log| log.len() > MAX_LOG_PAGES * PAGE_BYTES) {
        // A reader blocks the truncation; then the next writer tries again.
        let _ = without_blocking(|| {
            // The passive one syncs without the write lock; for the other only the truncation is
            // left, during which writers wait.
            connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        });
    }
}

/// Calls `act` with non-blocking lock attempts.
pub(super) fn without_blocking<T>(act: impl FnOnce() -> T) -> T {
    // The previous value is restored, so that such calls may nest.
    let before = IN_A_HURRY.replace(true);
    let outcome = act();
    IN_A_HURRY.set(before);
    outcome
}

/// Whether lock attempts of this thread do not block.
pub(super) fn is_in_a_hurry() -> bool {
    IN_A_HURRY.get()
}

/// Calls `act`; its waiting for locks counts from `since`.
pub(super) fn waiting_since<T>(since: Instant, act: impl FnOnce() -> T) -> T {
    QUEUED_SINCE.set(Some(since));
    let outcome = act();
    QUEUED_SINCE.set(None);
    outcome
}

/// Returns the path of the write-ahead log.
pub(super) fn log_path(path: &Path) -> std::ffi::OsString {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log
}

/// Runs a cached statement without parameters or rows.
pub(super) fn run_cached_statement(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

fn configure_connection(connection: &mut Connection, patience: Duration) -> rusqlite::Result<()> {
    set_lock_timeout(patience);
    // A server uses more than the default of sixteen different statements.
    connection.set_prepared_statement_cache_capacity(64);
    connection.busy_handler(Some(wait_with_jitter))?;
    // By default the last process to close checkpoints the log: five syncs at the end of every
    // hook.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // The file may come with a copied project: a crafted schema must not run functions or corrupt
    // the file through ordinary SQL.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // Query planner stability: without it SQLite may re-prepare a statement for every bound value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // NORMAL: a commit does not sync. The operation is already in the journal, synced; a database
    // that lost it in a power failure replays it from there.
    // 16 MB of page cache, allocated as used: with the default of 2 MB a command that reads ten
    // thousand plans reads each page of their tables about seven times.
    connection.execute_batch(
        "PRAGMA cell_size_check=ON; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0; \
         PRAGMA cache_size=-16384;",
    )
}

// SQLite's busy handler is a plain function without state, so its limit is per process.
static LOCK_TIMEOUT_MS: AtomicU64 = AtomicU64::new(5_000);
static JITTER: AtomicU64 = AtomicU64::new(0);
thread_local! {
    static WAITING_SINCE: std::cell::Cell<Option<Instant>> = const { std::cell::Cell::new(None) };
    /// When the wait in the queue before the write lock began.
    static QUEUED_SINCE: std::cell::Cell<Option<Instant>> = const { std::cell::Cell::new(None) };
    /// Per thread, like the connections: a non-blocking attempt must not affect other threads.
    static IN_A_HURRY: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Returns how long this process waits for a lock.
pub(crate) fn lock_timeout() -> Duration {
    Duration::from_millis(LOCK_TIMEOUT_MS.load(Ordering::Relaxed))
}

fn set_lock_timeout(patience: Duration) {
    LOCK_TIMEOUT_MS.store(
        u64::try_from(patience.as_millis()).unwrap_or(u64::MAX),
        Ordering::Relaxed,
    );
}

/// Busy handler: sleeps 0.3 to 2.8 ms with jitter, because writers that retry in lockstep starve
/// one another.
fn wait_with_jitter(attempt: i32) -> bool {
    if IN_A_HURRY.get() {
        return false;
    }
    let now = Instant::now();
    // SQLite passes only the number of the attempt, so the start of the wait is kept per thread.
    let since = WAITING_SINCE.with(|cell| {
        if attempt == 0 || cell.get().is_none() {
            cell.set(Some(QUEUED_SINCE.get().unwrap_or(now)));
        }
        cell.get().unwrap_or(now)
    });
    let waited = now.duration_since(since);
    if waited >= Duration::from_millis(LOCK_TIMEOUT_MS.load(Ordering::Relaxed)) {
        return false;
    }
    // A hash (splitmix/murmur constants) of counter, pid and time: random enough for jitter,
    // without a generator to seed in every process.
    let seed = JITTER.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)
        ^ u64::from(std::process::id())
        ^ u64::try_from(waited.as_nanos()).unwrap_or(0);
    let mut noise = seed ^ (seed >> 33);
    noise = noise.wrapping_mul(0xff51_afd7_ed55_8ccd);
    std::thread::sleep(Duration::from_micros(300 + (noise >> 40) % 2_500));
    true
}

/// Maps an SQLite error to a fault with a known remedy.
pub(crate) fn to_fault(path: &Path, error: rusqlite::Error) -> StoreFault {
    let code = error.sqlite_error_code();
    match code {
        // SQLite retried for ten seconds, on its own schedule, for a lock no process holds for
        // long: releasing one failed in this process, or the file system's locks do not work.
        Some(ErrorCode::FileLockingProtocolFailed) => StoreFault::Io {
            action: format!(
                "file locks on `{}` do not work (`tl host doctor` shows its file system)",
                path.display()
            ),
            source: error.into(),
        },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            // Reading /proc/locks takes 10 ms, during which no process on the machine gets a file
            // lock. Non-blocking attempts do not report the holder, so they skip it.
            StoreFault::Locked {
                holder: if IN_A_HURRY.get() {
                    None
                } else {
                    find_lock_holder(path)
                },
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
        // SQLite has one code for a missing file and for missing permissions.
        Some(ErrorCode::CannotOpen) if !path.exists() => StoreFault::Missing,
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => StoreFault::ReadOnly {
            path: path.to_owned(),
        },
        // A statement that does not match the schema: tables or columns are missing.
        Some(ErrorCode::Unknown) => StoreFault::Damaged {
            what: error.to_string(),
        },
        _ => match &error {
            // Our statements are tested: if one cannot be prepared, the schema is damaged.
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

/// Returns the process that holds the write lock, from `/proc/locks`; `None` where there is none.
///
/// Never opens the file: closing a descriptor drops all POSIX locks this process has on the file,
/// and another process could then truncate it under us.
pub(super) fn find_lock_holder(path: &Path) -> Option<u32> {
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
