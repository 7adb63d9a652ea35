//! Files of ours that can hold secrets: session files, logs, the mirror, readable backups, quarantined state.
//!
//! A person's own files are not among them: plans, memory files, settings, templates.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use domain::fact::Fact;
use domain::ids::OperationId;
use domain::operation::Operation;
use domain::secrets::{SecretCount, mask_recorded, mask_text};

use crate::backup_file::{read_backup, write_backup};
use crate::durable::{Durability, replace};
use crate::engine::{EngineSettings, Recorded};
use crate::journal::{self, chain_start};
use crate::layout::Layout;
use crate::sqlite::SqliteStore;
use crate::transfer::Cargo;

/// A larger file is not text that anybody wrote.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// How a file of ours is read and rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OwnFile {
    Text,
    /// A quarantined journal.
    Journal,
    /// A quarantined database. Its texts are compressed; it cannot be rewritten if it is damaged, so it is removed.
    Database,
    /// A file that `tl backup` wrote.
    Backup,
}

/// Returns every file of ours, as far as it is known where they are.
pub(crate) fn own_files(layout: &Layout, operations: &[Recorded]) -> Vec<(PathBuf, OwnFile)> {
    let mut found = Vec::new();
    for folder in ["sessions", "logs"] {
        walk(&layout.home.join(folder), &mut |path| {
            found.push((path, OwnFile::Text))
        });
    }
    walk(&layout.mirror, &mut |path| {
        found.push((path, OwnFile::Text))
    });
    walk(&layout.damaged, &mut |path| {
        let name = file_name(&path);
        let kind = match () {
            () if name.starts_with("journal.jsonl") => OwnFile::Journal,
            () if name.contains(".db.") && !name.contains("-shm") => OwnFile::Database,
            () if name.contains(".tlbackup") => OwnFile::Backup,
            () => OwnFile::Text,
        };
        found.push((path, kind));
    });
    // What a replica keeps of operations that did not fit.
    walk(&layout.home.join("remote").join("conflicts"), &mut |path| {
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
            files_in(&folder)
                .into_iter()
                .filter(|path| is_ours(&file_name(path)))
                .map(|path| (path, OwnFile::Text)),
        );
    }
    for document in files_in(&layout.home.join("plans")) {
        let reviews = files_in(&document)
            .into_iter()
            .filter(|path| file_name(path).starts_with("qr-"));
        found.extend(reviews.map(|path| (path, OwnFile::Text)));
    }
    for folder in [&layout.root, &layout.home] {
        let backups = files_in(folder)
            .into_iter()
            .filter(|path| file_name(path).ends_with(".tlbackup"));
        found.extend(backups.map(|path| (path, OwnFile::Backup)));
    }
    for fact in operations.iter().flat_map(|one| &one.operation.facts) {
        if let Fact::BackupWritten { path, .. } = fact {
            found.push((layout.root.join(path), OwnFile::Text));
        }
    }
    found.push((layout.log.clone(), OwnFile::Text));
    found.retain(|(path, _)| {
        path.symlink_metadata()
            .is_ok_and(|file| file.is_file() && file.len() <= MAX_FILE_BYTES)
    });
    found.sort();
    found.dedup_by(|one, other| one.0 == other.0);
    found
}

/// Counts the secrets in a file. One that cannot be read has none that could be found.
pub(crate) fn secrets_in(path: &Path, kind: OwnFile, layout: &Layout) -> SecretCount {
    let mut found = SecretCount::default();
    match kind {
        OwnFile::Text | OwnFile::Journal => {
            let _ = mask_text(&read_lossy(path), &mut found);
        }
        OwnFile::Backup => match read_backup(path) {
            Ok(cargo) => found = mask_history(&cargo).1,
            Err(_) => drop(mask_text(&read_lossy(path), &mut found)),
        },
        OwnFile::Database => {
            if let Some(cargo) = quarantined_history(path, layout) {
                found = mask_history(&cargo).1;
            }
            // In the bytes of a page a key runs into what stands beside it: they tell that there is one, not how many.
            if found.is_empty() {
                let _ = mask_text(&read_lossy(path), &mut found);
            }
        }
    }
    found
}

/// Rewrites a file without its secrets; says whether it is gone instead.
pub(crate) fn clean(path: &Path, kind: OwnFile) -> io::Result<bool> {
    match kind {
        OwnFile::Text => replace(path, masked_lossy(path).as_bytes(), Durability::Synced)?,
        OwnFile::Journal => clean_journal(path)?,
        OwnFile::Backup => match read_backup(path) {
            Ok(cargo) => {
                write_backup(path, &mask_history(&cargo).0).map_err(io::Error::other)?;
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

/// The lines that can be read get a new chain, so that they can be restored; the rest is masked as text.
fn clean_journal(path: &Path) -> io::Result<()> {
    let mut reader = io::BufReader::new(fs::File::open(path)?);
    let contents = journal::read_lines(&mut reader, 0, None, u64::MAX, usize::MAX)?;
    let Some(store) = contents.store else {
        return replace(path, masked_lossy(path).as_bytes(), Durability::Synced);
    };
    let recorded = contents.entries.into_iter().map(Recorded::from).collect();
    let (cargo, _) = mask_history(&Cargo { store, recorded });
    let mut text = journal::header(&cargo.store)?;
    for one in &cargo.recorded {
        text.push_str(&one.line().map_err(io::Error::other)?);
    }
    let bytes = fs::read(path)?;
    let rest = usize::try_from(contents.good_size)
        .ok()
        .and_then(|size| bytes.get(size..))
        .unwrap_or_default();
    text.push_str(&domain::secrets::mask(&String::from_utf8_lossy(rest)));
    replace(path, text.as_bytes(), Durability::Synced)
}

/// Returns a history without secrets, chained again from the first operation that changed, and what was masked.
pub(crate) fn mask_history(cargo: &Cargo) -> (Cargo, SecretCount) {
    let mut history: Vec<(Operation, Vec<_>)> = cargo
        .recorded
        .iter()
        .map(|one| (one.operation.clone(), one.texts.clone()))
        .collect();
    let mut masked = SecretCount::default();
    mask_recorded(&mut history)
        .iter()
        .for_each(|count| masked.add_all(count));
    let mut prev = chain_start(&cargo.store);
    let mut recorded = Vec::with_capacity(history.len());
    for (one, (operation, texts)) in cargo.recorded.iter().zip(history) {
        // Untouched operations keep their bytes, and so their hashes up to the first that changed.
        let body = match operation == one.operation {
            true => one.body.clone(),
            false => serde_json::to_string(&operation).unwrap_or_else(|_| one.body.clone()),
        };
        let hash = journal::chain(prev, &body);
        recorded.push(Recorded {
            operation,
            body,
            texts,
            prev,
            hash,
        });
        prev = hash;
    }
    (
        Cargo {
            store: cargo.store.clone(),
            recorded,
        },
        masked,
    )
}

/// Returns what can be read of the history in a quarantined database. A copy is opened: opening writes beside it.
fn quarantined_history(path: &Path, layout: &Layout) -> Option<Cargo> {
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
    let store = SqliteStore::open(&elsewhere, &settings).ok()?.id().ok()?;
    let operations =
        SqliteStore::salvage(&elsewhere, &settings, OperationId(0), chain_start(&store));
    Some(Cargo {
        store,
        recorded: operations.into_iter().map(Recorded::from).collect(),
    })
}

fn read_lossy(path: &Path) -> String {
    fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

fn masked_lossy(path: &Path) -> String {
    domain::secrets::mask(&read_lossy(path)).into_owned()
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Visits every file below a folder, without following links.
fn walk(folder: &Path, visit: &mut dyn FnMut(PathBuf)) {
    for path in files_in(folder) {
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => walk(&path, visit),
            Ok(found) if found.is_file() => visit(path),
            _ => {}
        }
    }
}
