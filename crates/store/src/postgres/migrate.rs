//! Schema migrations of the shared database: numbered, forward only, all in one transaction.
//!
//! An advisory lock serialises the machines that open the database after an upgrade.

use domain::ports::StoreFault;

use super::connection::{PostgresConnection, ROWS_ROLE};
use crate::tables::sql::{SqlConnection, params};

/// The migrations, in order. Those about a project's tables have the same numbers and names as
/// SQLite's. A released one is never edited.
const MIGRATIONS: [(i64, &str, &str); 2] = [
    (
        1,
        "foundation",
        include_str!("../../migrations/postgres/0001_foundation.sql"),
    ),
    (
        PROJECT_ID_FORMAT,
        "project_id",
        include_str!("../../migrations/postgres/0002_project_id.sql"),
    ),
];

/// The migration that gave projects an id. SQLite has no such step and must not reuse its number.
pub(super) const PROJECT_ID_FORMAT: i64 = 2;

/// The schema version this program writes.
pub(super) const CURRENT_FORMAT: i64 = MIGRATIONS[MIGRATIONS.len() - 1].0;

/// Key of the advisory lock held while migrating (`tln1` in ASCII), so that no other program in the
/// same database uses it.
const MIGRATION_LOCK_KEY: i64 = 0x746c_6e31;

/// Applies the pending migrations; with none pending only the role's grants are renewed.
pub(super) fn apply_migrations(link: &PostgresConnection) -> Result<(), StoreFault> {
    link.run_sql_batch("BEGIN")?;
    let applied = apply_pending_migrations(link).and_then(|()| link.run_sql_batch("COMMIT"));
    if applied.is_err() {
        link.roll_back();
    }
    applied
}

/// Takes the migration lock and applies what is pending, in the current transaction.
fn apply_pending_migrations(link: &PostgresConnection) -> Result<(), StoreFault> {
    link.run_sql_batch(&format!(
        "SELECT pg_advisory_xact_lock({MIGRATION_LOCK_KEY})"
    ))?;
    // Not `CREATE SCHEMA IF NOT EXISTS`: that needs the privilege even if the schema exists, and a
    // user without it can still use one that an administrator created.
    if query_number(
        link,
        "SELECT count(*) FROM pg_namespace WHERE nspname = 'throughline'",
    )? == 0
    {
        link.run_sql_batch("CREATE SCHEMA throughline")?;
    }
    link.run_sql_batch(
        "SET LOCAL search_path = throughline; \
         CREATE TABLE IF NOT EXISTS migration (number BIGINT PRIMARY KEY, name TEXT NOT NULL, \
         applied_at TIMESTAMPTZ NOT NULL DEFAULT now())",
    )?;
    let done = query_number(
        link,
        "SELECT coalesce(max(number), 0)::BIGINT FROM migration",
    )?;
    // DDL is transactional in PostgreSQL: a failing step leaves the database as it was.
    for (step, name, sql) in MIGRATIONS.iter().filter(|(step, ..)| *step > done) {
        link.run_sql_batch(sql)?;
        link.execute_statement(
            "INSERT INTO migration (number, name) VALUES (?1, ?2)",
            params![step, name],
        )?;
    }
    // Row-level security does not apply to superusers and BYPASSRLS roles: for them a role without
    // these attributes is created, which every transaction switches to. Two machines may create it
    // at once, in different databases of one cluster, so a duplicate is not an error.
    link.run_sql_batch(&format!(
        "DO $$ BEGIN
            IF (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) THEN
                BEGIN
                    CREATE ROLE {ROWS_ROLE} NOLOGIN;
                EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
                END;
                GRANT USAGE ON SCHEMA throughline TO {ROWS_ROLE};
                GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA throughline TO {ROWS_ROLE};
                GRANT USAGE ON ALL SEQUENCES IN SCHEMA throughline TO {ROWS_ROLE};
            END IF;
        END $$"
    ))
}

fn query_number(link: &PostgresConnection, sql: &str) -> Result<i64, StoreFault> {
    let mut found = 0;
    link.query_rows(sql, params![], &mut |row| {
        found = row.get(0)?;
        Ok(())
    })?;
    Ok(found)
}
