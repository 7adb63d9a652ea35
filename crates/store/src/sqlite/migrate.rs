//! Schema migrations: numbered, forward only, in one transaction, with a backup before.

use std::path::Path;

use domain::ports::StoreFault;
use rusqlite::Connection;

use super::connection::{APPLICATION_ID, to_fault};
use crate::engine::io_fault;
use crate::layout::Layout;

/// The migrations, in order. A released one is never edited. Number 2 exists for PostgreSQL only;
/// the next one here is 3.
pub(super) const MIGRATIONS: [(i64, &str); 1] = [(
    1,
    include_str!("../../migrations/sqlite/0001_foundation.sql"),
)];

/// The schema version this program writes.
pub(super) const CURRENT_FORMAT: i64 = MIGRATIONS[MIGRATIONS.len() - 1].0;

/// What kind of database a file is, by its header.
pub(super) enum DatabaseKind {
    Ours {
        format: i64,
    },
    /// A valid database without content: truncated, or never initialised.
    Empty,
    AnotherProgram,
}

/// Classifies a database by `application_id` and `user_version`, before any table is read.
pub(super) fn detect_database_kind(
    connection: &Connection,
    path: &Path,
) -> Result<DatabaseKind, StoreFault> {
    let pragma = |name: &str| -> Result<i64, StoreFault> {
        connection
            .query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
            .map_err(|error| to_fault(path, error))
    };
    match (pragma("application_id")?, pragma("user_version")?) {
        (APPLICATION_ID, format) if format > 0 => Ok(DatabaseKind::Ours { format }),
        (0 | APPLICATION_ID, 0) => Ok(DatabaseKind::Empty),
        _ => Ok(DatabaseKind::AnotherProgram),
    }
}

/// Applies all migrations after `from` in one transaction. No transaction may be open.
pub(super) fn apply_migrations(
    connection: &Connection,
    path: &Path,
    from: i64,
) -> Result<(), StoreFault> {
    let mut script = String::from("BEGIN IMMEDIATE;\n");
    for (_, step) in MIGRATIONS.iter().filter(|(number, _)| *number > from) {
        script.push_str(step);
    }
    // In the same transaction as the tables: a crash leaves either the old or the new format.
    script.push_str(&format!(
        "PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {CURRENT_FORMAT};\nCOMMIT;\n"
    ));
    connection.execute_batch(&script).map_err(|error| {
        // The first failing statement left the transaction open.
        let _ = connection.execute_batch("ROLLBACK");
        to_fault(path, error)
    })
}

/// Migrates an older database, after saving a copy of it.
pub(super) fn upgrade_with_backup(
    connection: &Connection,
    layout: &Layout,
    from: i64,
) -> Result<(), StoreFault> {
    let copy = layout
        .home
        .join(format!("state-before-format-{CURRENT_FORMAT}.db"));
    // A copy of an earlier, interrupted attempt stays: it is the unmigrated state.
    if !copy.exists() {
        // VACUUM INTO makes a consistent copy that includes the write-ahead log; copying the file
        // would not.
        let copy_text = copy.to_string_lossy().into_owned();
        connection
            .execute("VACUUM INTO ?1", [copy_text])
            .map_err(|error| to_fault(&layout.database, error))?;
        std::fs::File::open(&copy)
            .and_then(|file| file.sync_all())
            .map_err(|error| io_fault("cannot keep a copy at", &copy, error))?;
    }
    apply_migrations(connection, &layout.database, from)
}

/// A row of `sqlite_schema`: type, name, table, statement.
type SchemaRow = (String, String, String, Option<String>);

/// Compares the schema with the one the migrations create; returns the first difference.
///
/// `PRAGMA integrity_check` cannot find this: one flipped bit in a column's name is a valid schema
/// in which our queries fail.
pub(super) fn find_schema_damage(
    connection: &Connection,
    path: &Path,
    format: i64,
) -> Result<Option<String>, StoreFault> {
    // The schema of a newer program is unknown here.
    if format > CURRENT_FORMAT {
        return Ok(None);
    }
    let found = match read_schema_rows(connection) {
        Ok(found) => found,
        Err(error) => return Ok(Some(format!("cannot read the schema: {error}"))),
    };
    let model = Connection::open_in_memory().and_then(|model| {
        for (_, step) in MIGRATIONS.iter().filter(|(number, _)| *number <= format) {
            model.execute_batch(step)?;
        }
        read_schema_rows(&model)
    });
    let expected = model.map_err(|error| to_fault(path, error))?;
    let differs = |(one, other): &(&SchemaRow, &SchemaRow)| one != other;
    let odd = found
        .iter()
        .zip(&expected)
        .find(differs)
        .map(|(found, _)| found.1.clone());
    Ok(match odd {
        Some(name) => Some(format!(
            "the schema of `{name}` differs from the one this program creates"
        )),
        None if found.len() != expected.len() => Some(format!(
            "the schema has {} entries, expected {}",
            found.len(),
            expected.len()
        )),
        None => None,
    })
}

fn read_schema_rows(connection: &Connection) -> rusqlite::Result<Vec<SchemaRow>> {
    let mut statement = connection
        .prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")?;
    let rows = statement.query_map([], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    })?;
    rows.collect()
}
