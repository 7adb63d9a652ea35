//! Format-preserving edits of `.throughline/config.toml`: comments and order stay as they are.

use std::path::Path;

use application::{Failure, FailureKind};
use domain::settings::Storage;
use store::SharedProject;
use toml_edit::{DocumentMut, value};

/// Sets string keys of the project's settings.
pub(crate) fn write_keys(root: &Path, keys: &[(&str, &str)]) -> Result<(), Failure> {
    let path = root.join(".throughline/config.toml");
    let cannot = |what: String| {
        Failure::new(
            FailureKind::Unavailable,
            format!("cannot write {}: {what}", path.display()),
        )
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(cannot(error.to_string())),
    };
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| cannot(error.to_string()))?;
    for (key, text) in keys {
        if document.get(key).and_then(|item| item.as_str()) != Some(text) {
            document[key] = value(*text);
        }
    }
    let changed = document.to_string();
    if changed == text {
        return Ok(());
    }
    match store::write_atomically(&path, changed.as_bytes()) {
        // The file is in place although syncing its directory failed. Reporting an error now would
        // be wrong: the state was moved already, and the file says so.
        Err(_) if std::fs::read_to_string(&path).is_ok_and(|found| found == changed) => Ok(()),
        written => written.map_err(|error| cannot(error.to_string())),
    }
}

/// Records the storage engine in the project's settings, so that the next command finds the state
/// without environment variables.
pub(crate) fn write_storage(
    root: &Path,
    storage: Storage,
    shared: Option<&SharedProject>,
) -> Result<(), Failure> {
    let word = match storage {
        Storage::Sqlite => "sqlite",
        Storage::Json => "json",
        Storage::Postgres | Storage::Remote => "postgres",
    };
    // The URL is not written: it may contain a password, and the file is committed.
    let mut keys = vec![("storage", word)];
    if let Some(shared) = shared.filter(|_| storage == Storage::Postgres) {
        keys.push(("database_project", &shared.project));
        keys.extend(shared.id.as_deref().map(|id| ("project_id", id)));
    }
    write_keys(root, &keys)
}
