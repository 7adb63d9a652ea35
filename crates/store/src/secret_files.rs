//! Secret scanning and masking of our own files: session files, logs, mirror, backups, quarantine.
//!
//! The user's files are left alone: plans, memory files, settings, templates.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use domain::fact::Fact;
use domain::ids::OperationId;
use domain::operation::Operation;
use domain::secrets::{SecretCount, mask_recorded, mask_text};

use crate::backup_file::{read_backup_file, write_backup_file};
use crate::durable::{Durability, parent_folder, replace_file};
use crate::engine::{ChainedOperation, EngineSettings};
use crate::journal::{self, chain_start_hash};
use crate::layout::Layout;
use crate::sqlite::SqliteStore;
use crate::store_dump::StoreDump;

/// Maximum size of a scanned file; a larger one is not text.
const MAX_SCANNED_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// How one of our files is read and rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OwnFile {
    Text,
    /// A quarantined journal.
    Journal,
    /// A quarantined database. Its texts are compressed and a damaged one cannot be rewritten, so
    /// it is removed.
    Database,
    /// A file written by `tl state backup`.
    Backup,
}

/// Lists our files in all the places we write to.
pub(crate) fn list_own_files(
    layout: &Layout,
    operations: &[ChainedOperation],
) -> Vec<(PathBuf, OwnFile)> {
    let mut found = Vec::new();
    for folder in ["sessions", "logs"] {
        visit_files_below(&layout.home.join(folder), &mut |path| {
            found.push((path, OwnFile::Text))
        });
    }
    visit_files_below(&layout.mirror, &mut |path| {
        found.push((path, OwnFile::Text))
    });
    visit_files_below(&layout.damaged, &mut |path| {
        let name = file_name(&path);
        // By name, not by content: a damaged file has no content to go by.
        let kind = match () {
            () if name.starts_with("journal.jsonl") => OwnFile::Journal,
            // An index of the write-ahead log: it holds no text.
            () if name.contains(".db-shm") => return,
            // `state.db`, `state.db-wal`, and names with a time after them. Taken for text, it
            // would be rewritten as UTF-8 and could not be restored any more.
            () if name.contains(".db") => OwnFile::Database,
            () if name.contains(".tlbackup") => OwnFile::Backup,
            () => OwnFile::Text,
        };
        found.push((path, kind));
    });
    // Operations of a replica that conflicted with the server.
    visit_files_below(&layout.home.join("remote").join("conflicts"), &mut |path| {
        found.push((path, OwnFile::Text))
    });
    for (folder, is_ours) in [
        (
            layout.home.clone(),
            (|name| name.starts_with("hook") || name == "notes.json") as fn(&str) -> bool,
        ),
        (layout.root.join("plans"), |name| {
            name.starts_with("plan_") && name.ends_with(".json")
        }),
        (layout.root.join("errors"), |name| {
            name.starts_with("error_")
        }),
    ] {
        found.extend(
            list_entries(&folder)
                .into_iter()
                .filter(|path| is_ours(&file_name(path)))
                .map(|path| (path, OwnFile::Text)),
        );
    }
    for document in list_entries(&layout.home.join("plans")) {
        let reviews = list_entries(&document)
            .into_iter()
            .filter(|path| file_name(path).starts_with("qr-"));
        found.extend(reviews.map(|path| (path, OwnFile::Text)));
    }
    for folder in [&layout.root, &layout.home] {
        let backups = list_entries(folder)
            .into_iter()
            .filter(|path| file_name(path).ends_with(".tlbackup"));
        found.extend(backups.map(|path| (path, OwnFile::Backup)));
    }
    for folder in [&layout.home, parent_folder(&layout.journal)] {
        // Copies from before a migration.
        let copies = list_entries(folder)
            .into_iter()
            .filter(|path| file_name(path).starts_with("state-before-format-"));
        found.extend(copies.map(|path| (path, OwnFile::Database)));
    }
    for fact in operations.iter().flat_map(|one| &one.operation.facts) {
        // Readable backups lie beside the plans; only the history knows where.
        if let Fact::BackupWritten { path, .. } = fact {
            found.push((layout.root.join(path), OwnFile::Text));
        }
    }
    found.push((layout.log.clone(), OwnFile::Text));
    // Regular files only: a link may point at a file that is not ours to rewrite.
    found.retain(|(path, _)| {
        path.symlink_metadata()
            .is_ok_and(|file| file.is_file() && file.len() <= MAX_SCANNED_FILE_BYTES)
    });
    found.sort();
    found.dedup_by(|one, other| one.0 == other.0);
    found
}

/// Counts the secrets in a file; an unreadable one counts as empty.
pub(crate) fn count_secrets(path: &Path, kind: OwnFile, layout: &Layout) -> SecretCount {
    let mut found = SecretCount::default();
    match kind {
        OwnFile::Text | OwnFile::Journal => {
            let _ = mask_text(&read_lossy_text(path), &mut found);
        }
        OwnFile::Backup => match read_backup_file(path) {
            Ok(cargo) => found = mask_history(&cargo).1,
            // A damaged or renamed backup may still show secrets in plain text.
            Err(_) => drop(mask_text(&read_lossy_text(path), &mut found)),
        },
        OwnFile::Database => {
            if let Some(cargo) = read_quarantined_history(path, layout) {
                found = mask_history(&cargo).1;
            }
            // In raw page bytes a key runs into its neighbours: a match proves that there is one,
            // not how many.
            if found.is_empty() {
                let _ = mask_text(&read_lossy_text(path), &mut found);
            }
        }
    }
    found
}

/// Rewrites a file without its secrets; returns whether it was removed instead.
pub(crate) fn clean_file(path: &Path, kind: OwnFile) -> io::Result<bool> {
    match kind {
        OwnFile::Text => replace_file(path, read_masked(path).as_bytes(), Durability::Synced)?,
        OwnFile::Journal => clean_journal_file(path)?,
        OwnFile::Backup => match read_backup_file(path) {
            Ok(cargo) => {
                write_backup_file(path, &mask_history(&cargo).0).map_err(io::Error::other)?;
            }
            Err(_) => {
                fs::remove_file(path)?;
                return Ok(true);
            }
        },
        OwnFile::Database => {
            fs::remove_file(path)?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Masks a quarantined journal. Readable lines get a new hash chain, so that they can be restored;
/// the rest is masked as text.
fn clean_journal_file(path: &Path) -> io::Result<()> {
    let mut reader = io::BufReader::new(fs::File::open(path)?);
    let contents = journal::read_journal_lines(&mut reader, 0, None, u64::MAX, usize::MAX)?;
    let Some(store) = contents.store else {
        return replace_file(path, read_masked(path).as_bytes(), Durability::Synced);
    };
    let recorded = contents.entries;
    let (cargo, _) = mask_history(&StoreDump { store, recorded });
    let mut text = journal::render_journal_header(&cargo.store)?;
    for one in &cargo.recorded {
        text.push_str(&one.to_journal_line().map_err(io::Error::other)?);
    }
    let bytes = fs::read(path)?;
    // The damaged tail is kept, because nothing in quarantine is deleted; it is only masked.
    let rest = usize::try_from(contents.good_size)
        .ok()
        .and_then(|size| bytes.get(size..))
        .unwrap_or_default();
    text.push_str(&domain::secrets::mask_secrets(&String::from_utf8_lossy(
        rest,
    )));
    replace_file(path, text.as_bytes(), Durability::Synced)
}

/// Returns the history without secrets, rechained from the first changed operation, and the count
/// of masked secrets.
pub(crate) fn mask_history(cargo: &StoreDump) -> (StoreDump, SecretCount) {
    let mut history: Vec<(Operation, Vec<_>)> = cargo
        .recorded
        .iter()
        .map(|one| (one.operation.clone(), one.texts.clone()))
        .collect();
    let mut masked = SecretCount::default();
    mask_recorded(&mut history)
        .iter()
        .for_each(|count| masked.merge_count(count));
    let mut prev = chain_start_hash(&cargo.store);
    let mut recorded = Vec::with_capacity(history.len());
    for (one, (operation, texts)) in cargo.recorded.iter().zip(history) {
        // Unchanged operations keep their bytes, so hashes only differ from the first change on.
        let body = match operation == one.operation {
            true => one.body.clone(),
            false => serde_json::to_string(&operation).unwrap_or_else(|_| one.body.clone()),
        };
        let hash = journal::hash_operation(prev, &body);
        recorded.push(ChainedOperation {
            operation,
            body,
            texts,
            prev,
            hash,
        });
        prev = hash;
    }
    (
        StoreDump {
            store: cargo.store.clone(),
            recorded,
        },
        masked,
    )
}

/// Reads the history of a quarantined database, as far as possible. A copy is opened, because
/// opening writes beside the file.
fn read_quarantined_history(path: &Path, layout: &Layout) -> Option<StoreDump> {
    // Inside the project's state folder (mode 0700): the system's temporary directory is shared.
    let folder = tempfile::tempdir_in(&layout.home).ok()?;
    let copy = folder.path().join("state.db");
    fs::copy(path, &copy).ok()?;
    let elsewhere = Layout {
        database: copy,
        journal: folder.path().join("journal.jsonl"),
        ..layout.clone()
    };
    let settings = EngineSettings {
        mirror: false,
        ..EngineSettings::default()
    };
    let store = SqliteStore::open(&elsewhere, &settings)
        .ok()?
        .read_store_id()
        .ok()?;
    let operations = SqliteStore::salvage_operations(
        &elsewhere,
        &settings,
        OperationId(0),
        chain_start_hash(&store),
    );
    Some(StoreDump {
        store,
        recorded: operations,
    })
}

/// Reads a file as text, replacing invalid UTF-8; empty if it cannot be read.
fn read_lossy_text(path: &Path) -> String {
    fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

fn read_masked(path: &Path) -> String {
    domain::secrets::mask_secrets(&read_lossy_text(path)).into_owned()
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Lists the entries of a folder; none if it cannot be read.
fn list_entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Visits every file below a folder, not following links.
fn visit_files_below(folder: &Path, visit: &mut dyn FnMut(PathBuf)) {
    for path in list_entries(folder) {
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => visit_files_below(&path, visit),
            Ok(found) if found.is_file() => visit(path),
            _ => {}
        }
    }
}
