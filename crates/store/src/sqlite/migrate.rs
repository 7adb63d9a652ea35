//! Schema migrations: numbered, forward only; and the schema they create.

use std::path::Path;

use domain::ports::StoreFault;
use rusqlite::Connection;

use super::connection::{APPLICATION_ID, to_fault};

/// One step of the schema.
#[derive(Clone, Copy)]
pub(super) struct Migration {
    pub(super) number: i64,
    pub(super) script: &'static str,
    /// The oldest format whose programs still read a state with this step, and the oldest whose
    /// programs still write it. A step that only adds what older programs need not know keeps the
    /// numbers of the step before; any other names its own.
    pub(super) min_reader: i64,
    pub(super) min_writer: i64,
}

/// The migrations, in order. A released one is never edited. Number 2 exists for PostgreSQL only;
/// the next one here is 3. None changes the columns of table `store`: there every program reads
/// whether it is too old for the rest.
pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    number: 1,
    script: include_str!("../../migrations/sqlite/0001_foundation.sql"),
    min_reader: 1,
    min_writer: 1,
}];

/// The schema version this program writes.
pub(super) const CURRENT_FORMAT: i64 = newest_format(MIGRATIONS);

/// Returns the schema version these migrations lead to.
pub(super) const fn newest_format(migrations: &[Migration]) -> i64 {
    match migrations.last() {
        Some(last) => last.number,
        None => 0,
    }
}

/// Returns the oldest formats that may read and write a state with all these migrations.
pub(super) fn required_formats(migrations: &[Migration]) -> (i64, i64) {
    migrations.iter().fold((1, 1), |(reader, writer), step| {
        (reader.max(step.min_reader), writer.max(step.min_writer))
    })
}

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
    let application = connection
        .query_row("PRAGMA application_id", [], |row| row.get(0))
        .map_err(|error| to_fault(path, error))?;
    match (application, read_format(connection, path)?) {
        (APPLICATION_ID, format) if format > 0 => Ok(DatabaseKind::Ours { format }),
        (0 | APPLICATION_ID, 0) => Ok(DatabaseKind::Empty),
        _ => Ok(DatabaseKind::AnotherProgram),
    }
}

/// Reads the schema version of the database.
pub(super) fn read_format(connection: &Connection, path: &Path) -> Result<i64, StoreFault> {
    connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(|error| to_fault(path, error))
}

/// Applies all migrations after `from`, in the current transaction.
pub(super) fn apply_migrations(
    connection: &Connection,
    path: &Path,
    migrations: &[Migration],
    from: i64,
) -> Result<(), StoreFault> {
    let mut script = String::new();
    for step in migrations.iter().filter(|step| step.number > from) {
        script.push_str(step.script);
    }
    // In the same transaction as the tables: a crash leaves either the old or the new format.
    script.push_str(&format!(
        "\nPRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {};\n",
        newest_format(migrations)
    ));
    connection
        .execute_batch(&script)
        .map_err(|error| to_fault(path, error))
}

/// Checks the pages of a database; returns the first problem.
pub(super) fn find_page_damage(connection: &Connection) -> Option<String> {
    // Limited to one problem: it is enough to know that the file is damaged.
    let check = connection.query_row("PRAGMA integrity_check(1)", [], |row| {
        row.get::<_, String>(0)
    });
    match check {
        Ok(answer) if answer == "ok" => None,
        Ok(answer) => Some(answer),
        Err(error) => Some(error.to_string()),
    }
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
    migrations: &[Migration],
    format: i64,
) -> Result<Option<String>, StoreFault> {
    // The schema of a newer program is unknown here.
    if format > newest_format(migrations) {
        return Ok(None);
    }
    let found = match read_schema_rows(connection) {
        Ok(found) => found,
        Err(error) => return Ok(Some(format!("cannot read the schema: {error}"))),
    };
    let model = Connection::open_in_memory().and_then(|model| {
        for step in migrations.iter().filter(|step| step.number <= format) {
            model.execute_batch(step.script)?;
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
