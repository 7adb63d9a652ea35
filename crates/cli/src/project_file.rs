//! Format-preserving edits of `.throughline/config.toml`: comments and order stay as they are.

use std::path::Path;

use application::Failure;
use domain::settings::{SCHEMA_FILE, Storage, config_schema};
use serde_json::Value as Json;
use store::SharedProject;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use crate::wiring::refuse_foreign_entries;

/// Path of the settings, relative to the project.
pub(crate) const CONFIG_FILE: &str = ".throughline/config.toml";

/// Reads `config.toml`; a missing one is empty.
pub(crate) fn read_config_text(root: &Path) -> Result<String, Failure> {
    match store::private_files::read_own_file(&root.join(CONFIG_FILE)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        read => read
            .map_err(|error| Failure::unavailable(format!("cannot read {CONFIG_FILE}: {error}"))),
    }
}

/// Replaces `config.toml`, and an existing schema beside it by the one of this version.
pub(crate) fn write_config_text(root: &Path, text: &str) -> Result<(), Failure> {
    refuse_foreign_entries(root)?;
    let schema = root.join(".throughline").join(SCHEMA_FILE);
    if std::fs::read_to_string(&schema).is_ok_and(|found| found != render_schema()) {
        // Only used by editors: not worth failing for.
        let _ = store::write_atomically(&schema, render_schema().as_bytes());
    }
    let path = root.join(CONFIG_FILE);
    match store::write_atomically(&path, text.as_bytes()) {
        // The file is in place although syncing its directory failed. Reporting an error now would
        // be wrong: the state may have been moved already, and the file says so.
        Err(_) if std::fs::read_to_string(&path).is_ok_and(|found| found == text) => Ok(()),
        written => written.map_err(|error| edit_failure(&error.to_string())),
    }
}

/// Renders the JSON Schema of `config.toml`.
pub(crate) fn render_schema() -> String {
    format!("{:#}\n", config_schema())
}

/// Returns the text of `config.toml` with one setting changed.
pub(crate) fn with_setting(text: &str, name: &str, value: &Json) -> Result<String, Failure> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| edit_failure(error.message()))?;
    // Comments of a file without any key belong to its end, where a new key would precede them.
    let comments = match document.is_empty() {
        true => std::mem::take(&mut document).to_string(),
        false => String::new(),
    };
    let (tables, key) = name.rsplit_once('.').unwrap_or(("", name));
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for part in tables.split_terminator('.') {
        let item = table.entry(part).or_insert_with(|| {
            // Implicit: `[policy.gates]` needs no empty `[policy]` above it.
            let mut new = Table::new();
            new.set_implicit(true);
            Item::Table(new)
        });
        table = item
            .as_table_like_mut()
            .ok_or_else(|| edit_failure(&format!("`{part}` is not a table")))?;
    }
    let mut value = convert_value(value)?;
    match table.get_mut(key) {
        Some(Item::Value(found)) => {
            // The decoration holds the comment at the end of the line.
            *value.decor_mut() = found.decor().clone();
            *found = value;
        }
        _ => {
            table.insert(key, Item::Value(value));
        }
    }
    Ok(format!("{comments}{document}"))
}

/// Converts the value of a setting to TOML.
fn convert_value(value: &Json) -> Result<Value, Failure> {
    let unusable = || edit_failure(&format!("TOML has no value like {value}"));
    Ok(match value {
        Json::Bool(flag) => (*flag).into(),
        // TOML's integers are signed.
        Json::Number(number) => number.as_i64().ok_or_else(unusable)?.into(),
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => Array::from_iter(items.iter().filter_map(Json::as_str)).into(),
        Json::Null | Json::Object(_) => return Err(unusable()),
    })
}

fn edit_failure(problem: &str) -> Failure {
    Failure::unavailable(format!("cannot write {CONFIG_FILE}: {problem}"))
}

/// Sets string keys of the project's settings.
pub(crate) fn write_keys(root: &Path, keys: &[(&str, &str)]) -> Result<(), Failure> {
    let text = read_config_text(root)?;
    let mut changed = text.clone();
    for (key, value) in keys {
        changed = with_setting(&changed, key, &Json::from(*value))?;
    }
    match changed == text {
        true => Ok(()),
        false => write_config_text(root, &changed),
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
