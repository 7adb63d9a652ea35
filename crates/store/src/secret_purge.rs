//! Secret purge: finds secrets stored before masking existed, and rewrites the history without
//! them.
//!
//! New operations are masked when they are recorded. A purge changes hashes of the past, so it is
//! recorded as an operation that names the superseded head.

use std::path::Path;

use domain::fact::Fact;
use domain::ids::{Digest32, OperationId, Principal};
use domain::operation::{Channel, Verb};
use domain::ports::{NewOperation, Store, StoreFault};
use domain::record::RecordKey;
use domain::secrets::{SecretCount, mask_recorded, mask_text};
use domain::settings::Storage;
use domain::text::count_with_noun;
use domain::time::Timestamp;
use serde_json::json;

use crate::engine::{ChainedOperation, EngineSettings, io_fault};
use crate::journal::{Journal, chain_start_hash};
use crate::json::{JsonStore, acquire_write_lock};
use crate::layout::Layout;
use crate::recovery::{acquire_rebuild_lock, database_file_paths};
use crate::search_index::remove_search_file;
use crate::secret_files::{clean_file, count_secrets, list_own_files, mask_history};
use crate::sqlite::SqliteStore;
use crate::store_dump::{StoreDump, dump_journal, dump_store};

/// Kind of the record that documents a purge.
const PURGE_RECORD: &str = "secret-purge";

/// A stored operation or file that holds secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretPlace {
    /// `operation 12 (comment)`, or a file.
    pub place: String,
    pub secrets: SecretCount,
}

/// Outcome of a purge.
#[derive(Clone, Debug)]
pub struct PurgeOutcome {
    pub secrets: SecretCount,
    /// Number of rewritten operations.
    pub operations: usize,
    /// Rewritten files.
    pub files: Vec<String>,
    /// Removed files, which could not be rewritten.
    pub removed: Vec<String>,
    /// The superseded head and its hash.
    pub superseded: (OperationId, Digest32),
    /// The operation that records the purge.
    pub operation: OperationId,
}

/// Scans the history and our own files for secrets.
///
/// # Errors
/// [`StoreFault`] when the history cannot be read.
pub fn scan_secrets(layout: &Layout, storage: Storage) -> Result<Vec<SecretPlace>, StoreFault> {
    let cargo = dump_store(layout, storage)?;
    let mut places = find_in_history(&cargo);
    for (path, kind) in list_own_files(layout, &cargo.recorded) {
        push_if_found(
            &mut places,
            layout.relative_display(&path),
            count_secrets(&path, kind, layout),
        );
    }
    // Deleted rows stay in free pages until these are reused. Only scanned when nothing else was
    // found: otherwise every hit would be reported twice.
    let raw = database_file_paths(&layout.database)
        .into_iter()
        .chain([layout.journal.clone()]);
    if places.is_empty() && matches!(storage, Storage::Sqlite | Storage::Remote) {
        for path in raw.filter(|path| path.exists()) {
            push_if_found(
                &mut places,
                layout.relative_display(&path),
                count_raw_secrets(&path),
            );
        }
    }
    Ok(places)
}

/// Returns the operations that hold secrets.
fn find_in_history(cargo: &StoreDump) -> Vec<SecretPlace> {
    let mut history: Vec<_> = cargo
        .recorded
        .iter()
        .map(|one| (one.operation.clone(), one.texts.clone()))
        .collect();
    let counts = mask_recorded(&mut history);
    let mut places = Vec::new();
    for (one, secrets) in cargo.recorded.iter().zip(counts) {
        push_if_found(
            &mut places,
            format!(
                "operation {} ({})",
                one.operation.id,
                one.operation.verb.as_str()
            ),
            secrets,
        );
    }
    places
}

fn push_if_found(places: &mut Vec<SecretPlace>, place: String, secrets: SecretCount) {
    if !secrets.is_empty() {
        places.push(SecretPlace { place, secrets });
    }
}

/// Counts the secrets in the raw bytes of a file.
fn count_raw_secrets(path: &Path) -> SecretCount {
    let mut found = SecretCount::default();
    let bytes = std::fs::read(path).unwrap_or_default();
    let _ = mask_text(&String::from_utf8_lossy(&bytes), &mut found);
    found
}

/// Rewrites the history and our own files without secrets, and records the purge as an operation.
///
/// # Errors
/// [`StoreFault`] when something cannot be read or written. The history is replaced atomically; the
/// message says if that happened, and the next purge cleans the remaining files under the same
/// operation.
pub fn purge_secrets(
    layout: &Layout,
    storage: Storage,
    by: Principal,
    now: Timestamp,
) -> Result<Option<PurgeOutcome>, StoreFault> {
    let _lock = acquire_rebuild_lock(layout)?;
    let places = scan_secrets(layout, storage)?;
    if places.is_empty() {
        return Ok(None);
    }
    let mut secrets = SecretCount::default();
    places
        .iter()
        .for_each(|place| secrets.merge_count(&place.secrets));
    // Resumed under its own operation: a kill between history and files must not record two purges.
    let (purged, cargo) = match find_interrupted_purge(dump_store(layout, storage)?) {
        Some(found) => found,
        None => replace_history(layout, storage, &secrets, by, now)?,
    };
    let mut purged = PurgeOutcome { secrets, ..purged };
    let rewritten = format!(
        "the history is purged (operation {}), but `tl state secret purge` has to be repeated",
        purged.operation
    );
    if matches!(storage, Storage::Sqlite | Storage::Remote) {
        // The rewritten rows left their old bytes in free pages and in the WAL.
        let erased = SqliteStore::open(layout, &EngineSettings::default())
            .and_then(|store| store.erase_deleted_rows());
        erased.map_err(|fault| StoreFault::Io {
            action: rewritten.clone(),
            source: fault.into(),
        })?;
    }
    // Words of the purged texts; the next search makes it again.
    remove_search_file(&layout.search_index)?;
    for (path, kind) in list_own_files(layout, &cargo.recorded) {
        // Files without secrets keep their time stamps.
        if count_secrets(&path, kind, layout).is_empty() {
            continue;
        }
        let gone = clean_file(&path, kind)
            .map_err(|error| io_fault(&format!("{rewritten}: cannot rewrite"), &path, error))?;
        let list = if gone {
            &mut purged.removed
        } else {
            &mut purged.files
        };
        list.push(layout.relative_display(&path));
    }
    Ok(Some(purged))
}

/// Replaces the history by the masked one, with the operation that records the purge, atomically.
fn replace_history(
    layout: &Layout,
    storage: Storage,
    secrets: &SecretCount,
    by: Principal,
    now: Timestamp,
) -> Result<(PurgeOutcome, StoreDump), StoreFault> {
    let settings = EngineSettings::default();
    if storage == Storage::Json {
        let store = JsonStore::open(layout, &settings)?;
        // Loaded under the lock: an operation committed in between would be dropped.
        let _held = acquire_write_lock(layout, settings.patience)?;
        let journal = Journal::new(&layout.journal);
        let (purged, cargo) = build_purged_history(dump_journal(&journal)?, secrets, by, now)?;
        let lines = cargo
            .recorded
            .iter()
            .map(ChainedOperation::to_journal_line)
            .collect::<Result<Vec<_>, _>>()?;
        let written = journal.write_new_journal(&cargo.store, &lines);
        written.map_err(|error| io_fault("cannot write", journal.path(), error))?;
        // Best effort: the mirror is an export, and its files are cleaned one by one afterwards.
        let _ = store.sync_mirror();
        return Ok((purged, cargo));
    }
    let store = SqliteStore::open(layout, &settings)?;
    let (row, recorded) = store.lock_and_load()?;
    let masked = build_purged_history(
        StoreDump {
            store: row.store.clone(),
            recorded,
        },
        secrets,
        by,
        now,
    );
    // The write lock of the database is held until it is released explicitly.
    let (purged, cargo) = masked.inspect_err(|_| store.release_write_lock())?;
    store.replace_history(row, &cargo.recorded)?;
    Ok((purged, cargo))
}

/// Returns an interrupted purge: the last operation of a history that has no secrets left.
fn find_interrupted_purge(cargo: StoreDump) -> Option<(PurgeOutcome, StoreDump)> {
    let last = cargo.recorded.last()?;
    let record = last.operation.facts.iter().find_map(|fact| match fact {
        Fact::RecordChanged {
            record,
            after: Some(after),
            ..
        } if record.kind == PURGE_RECORD => Some(after),
        _ => None,
    })?;
    let superseded = &record["superseded"];
    let purged = PurgeOutcome {
        secrets: SecretCount::default(),
        operations: record["operations"]
            .as_u64()
            .and_then(|count| usize::try_from(count).ok())?,
        files: Vec::new(),
        removed: Vec::new(),
        superseded: (
            serde_json::from_value(superseded["head"].clone()).ok()?,
            serde_json::from_value(superseded["hash"].clone()).ok()?,
        ),
        operation: last.operation.id,
    };
    // Secrets in the history mean that it was changed since: that needs a purge of its own.
    find_in_history(&cargo)
        .is_empty()
        .then_some((purged, cargo))
}

/// Builds the masked history and appends the operation that records the purge.
fn build_purged_history(
    cargo: StoreDump,
    secrets: &SecretCount,
    by: Principal,
    now: Timestamp,
) -> Result<(PurgeOutcome, StoreDump), StoreFault> {
    let head = cargo.head_operation();
    let old_hash = cargo
        .recorded
        .last()
        .map_or_else(|| chain_start_hash(&cargo.store), |one| one.hash);
    let (mut masked, _) = mask_history(&cargo);
    let changed: Vec<OperationId> = cargo
        .recorded
        .iter()
        .zip(&masked.recorded)
        .filter(|(before, after)| {
            before.operation != after.operation || before.texts != after.texts
        })
        .map(|(before, _)| before.operation.id)
        .collect();
    // The purge is chained to the rewritten history, and names the hash of the old one, so that a
    // person can explain why the head of a clone or a backup differs.
    let new_hash = masked.recorded.last().map_or(old_hash, |one| one.hash);
    let id = head.next_id();
    let kinds: serde_json::Map<String, serde_json::Value> = secrets
        .by_kind()
        .into_iter()
        .map(|(kind, count)| (kind.display_name().to_owned(), json!(count)))
        .collect();
    let record = RecordKey {
        kind: PURGE_RECORD.to_owned(),
        key: id.to_string(),
    };
    let after = json!({
        "secrets": kinds,
        "operations": changed.len(),
        "first_changed": changed.first(),
        "superseded": { "head": head, "hash": old_hash },
    });
    let operation = NewOperation {
        at: now,
        by,
        channel: Channel::Cli,
        verb: Verb::Rebuild,
        summary: format!(
            "purge {secrets} from {}; the head {head} {} before it is superseded",
            count_with_noun(changed.len(), "operation", "operations"),
            old_hash.to_string().chars().take(12).collect::<String>()
        ),
        key: None,
        facts: vec![Fact::RecordChanged {
            record,
            before: None,
            after: Some(after),
        }],
        texts: Vec::new(),
    };
    masked
        .recorded
        .push(ChainedOperation::new(id, new_hash, operation)?);
    let purged = PurgeOutcome {
        secrets: SecretCount::default(),
        operations: changed.len(),
        files: Vec::new(),
        removed: Vec::new(),
        superseded: (head, old_hash),
        operation: id,
    };
    Ok((purged, masked))
}
