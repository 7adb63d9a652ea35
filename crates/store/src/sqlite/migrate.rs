//! Numbered migrations: forward only, one transaction, with a backup before.

use std::path::Path;

use domain::ports::StoreFault;
use rusqlite::Connection;

use super::connection::{APPLICATION_ID, fault};
use crate::engine::io_fault;
use crate::layout::Layout;

/// The steps, in order. A released one is never edited. Number 2 is PostgreSQL's alone; the next one here is 3.
pub(super) const STEPS: [(i64, &str); 1] = [(
    1,
    include_str!("../../migrations/sqlite/0001_foundation.sql"),
)];

/// The format this program writes.
pub(super) const FORMAT: i64 = STEPS[STEPS.len() - 1].0;

/// Says what a file is before any table of it is read.
pub(super) enum Condition {
    Ours {
        format: i64,
    },
    /// A valid database without anything in it: emptied, or never filled.
    Empty,
    AnotherProgram,
}

/// Looks at a database's header.
pub(super) fn condition(connection: &Connection, path: &Path) -> Result<Condition, StoreFault> {
    let pragma = |name: &str| -> Result<i64, StoreFault> {
        connection
            .query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
            .map_err(|error| fault(path, error))
    };
    match (pragma("application_id")?, pragma("user_version")?) {
        (APPLICATION_ID, format) if format > 0 => Ok(Condition::Ours { format }),
        (0 | APPLICATION_ID, 0) => Ok(Condition::Empty),
        _ => Ok(Condition::AnotherProgram),
    }
}

/// Applies every step after `from`, all or none. A transaction must not be open.
pub(super) fn apply(connection: &Connection, path: &Path, from: i64) -> Result<(), StoreFault> {
    let mut script = String::from("BEGIN IMMEDIATE;\n");
    for (_, step) in STEPS.iter().filter(|(number, _)| *number > from) {
        script.push_str(step);
    }
    script.push_str(&format!(
        "PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {FORMAT};\nCOMMIT;\n"
    ));
    connection.execute_batch(&script).map_err(|error| {
        // The first failing statement left the transaction open.
        let _ = connection.execute_batch("ROLLBACK");
        fault(path, error)
    })
}

/// Brings an older database to the present format, keeping a copy of it as it was.
pub(super) fn upgrade(
    connection: &Connection,
    layout: &Layout,
    from: i64,
) -> Result<(), StoreFault> {
    let copy = layout.home.join(format!("state-before-format-{FORMAT}.db"));
    if !copy.exists() {
        let copy_text = copy.to_string_lossy().into_owned();
        connection
            .execute("VACUUM INTO ?1", [copy_text])
            .map_err(|error| fault(&layout.database, error))?;
        std::fs::File::open(&copy)
            .and_then(|file| file.sync_all())
            .map_err(|error| io_fault("cannot keep a copy at", &copy, error))?;
    }
    apply(connection, &layout.database, from)
}

/// What SQLite keeps of a table, index or trigger: kind, name, table, statement.
type SchemaRow = (String, String, String, Option<String>);

/// Compares the schema, word for word, with the one the migrations make, and says the first difference.
///
/// SQLite's own check reads the statements but does not know what they should be: one flipped bit in the name of a column is
/// a valid schema in which our queries fail.
pub(super) fn schema_damage(
    connection: &Connection,
    path: &Path,
    format: i64,
) -> Result<Option<String>, StoreFault> {
    // What a newer program adds is not known here.
    if format > FORMAT {
        return Ok(None);
    }
    let found = match schema(connection) {
        Ok(found) => found,
        Err(error) => return Ok(Some(format!("the schema cannot be read: {error}"))),
    };
    let model = Connection::open_in_memory().and_then(|model| {
        for (_, step) in STEPS.iter().filter(|(number, _)| *number <= format) {
            model.execute_batch(step)?;
        }
        schema(&model)
    });
    let expected = model.map_err(|error| fault(path, error))?;
    let differs = |(one, other): &(&SchemaRow, &SchemaRow)| one != other;
    let odd = found
        .iter()
        .zip(&expected)
        .find(differs)
        .map(|(found, _)| found.1.clone());
    Ok(match odd {
        Some(name) => Some(format!(
            "the schema of `{name}` is not the one this program makes"
        )),
        None if found.len() != expected.len() => Some(format!(
            "the schema has {} entries, not {}",
            found.len(),
            expected.len()
        )),
        None => None,
    })
}

fn schema(connection: &Connection) -> rusqlite::Result<Vec<SchemaRow>> {
    let mut statement = connection
        .prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")?;
    let rows = statement.query_map([], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    })?;
    rows.collect()
}
