//! Token store and audit log, for both engines.
//!
//! Not part of the state: no operation creates them, and a rebuild leaves them alone.

use domain::authorization::Scope;
use domain::ids::Principal;
use domain::ports::{StoreFault, TokenEntry, TokenStore};
use domain::time::Timestamp;
use domain::token::{AuditEntry, NewToken, Token};

use super::rows::{BadRow, decode_digest_column};
use super::sql::{Row, SqlConnection, params};

/// Runs short transactions on the access tables, apart from those that change the state.
pub(crate) trait AccessTransactions {
    /// Runs `work` in a read transaction.
    fn run_read_transaction(
        &self,
        work: &mut dyn FnMut(&dyn SqlConnection) -> Result<(), StoreFault>,
    ) -> Result<(), StoreFault>;

    /// Runs `work` in a write transaction; rolled back if it fails.
    fn run_write_transaction(
        &self,
        work: &mut dyn FnMut(&dyn SqlConnection) -> Result<(), StoreFault>,
    ) -> Result<(), StoreFault>;
}

/// The token store and audit log in an engine's tables.
pub(crate) struct AccessTables<'d>(pub(crate) &'d dyn AccessTransactions);

/// All tokens and audit entries, for copying them into a replacement database.
#[derive(Default)]
pub(crate) struct AccessContents {
    tokens: Vec<Token>,
    audited: Vec<AuditEntry>,
}

const SELECT_TOKEN: &str = "SELECT id, name, principal, scope, hash, cookie, created_at, created_by, expires_at, revoked_at, \
                     last_used_at FROM access_token";
const SELECT_AUDITED: &str = "SELECT at, principal, token, action, outcome, detail, came_from, trace, times FROM audit ORDER BY id DESC LIMIT ?1";

fn read_time(row: &Row<'_>, column: usize) -> Result<Option<Timestamp>, BadRow> {
    Ok(row.get::<Option<i64>>(column)?.map(Timestamp::from_millis))
}

fn read_principal(row: &Row<'_>, column: usize) -> Result<Principal, BadRow> {
    Ok(Principal::from(row.get::<String>(column)?.as_str()))
}

fn read_token(row: &Row<'_>) -> Result<Token, BadRow> {
    let scope: String = row.get(3)?;
    Ok(Token {
        id: row.get::<i64>(0)?.cast_unsigned(),
        name: row.get(1)?,
        principal: read_principal(row, 2)?,
        // An unknown scope is an error: guessing one could grant too much.
        scope: Scope::from_word(&scope)
            .ok_or_else(|| BadRow::new(format!("a token has the unknown scope `{scope}`")))?,
        hash: decode_digest_column(row.get_ref(4)?)?,
        cookie: decode_digest_column(row.get_ref(5)?)?,
        created_at: Timestamp::from_millis(row.get(6)?),
        created_by: read_principal(row, 7)?,
        expires_at: read_time(row, 8)?,
        revoked_at: read_time(row, 9)?,
        last_used_at: read_time(row, 10)?,
    })
}

fn read_audited(row: &Row<'_>) -> Result<AuditEntry, BadRow> {
    Ok(AuditEntry {
        at: Timestamp::from_millis(row.get(0)?),
        principal: row
            .get::<Option<String>>(1)?
            .map(|name| Principal::from(name.as_str())),
        token: row.get::<Option<i64>>(2)?.map(i64::cast_unsigned),
        action: row.get(3)?,
        outcome: row.get(4)?,
        detail: row.get(5)?,
        from: row.get(6)?,
        trace: row.get(7)?,
        times: row.get::<i64>(8)?.cast_unsigned(),
    })
}

fn query_all_rows<T>(
    sql: &dyn SqlConnection,
    query: &str,
    values: super::sql::SqlParams<'_>,
    read: fn(&Row<'_>) -> Result<T, BadRow>,
) -> Result<Vec<T>, StoreFault> {
    let mut all = Vec::new();
    sql.query_rows(query, values, &mut |row| {
        all.push(read(row)?);
        Ok(())
    })?;
    Ok(all)
}

/// Inserts an audit entry, with secrets in its detail masked.
fn insert_audit_entry(sql: &dyn SqlConnection, line: &AuditEntry) -> Result<(), StoreFault> {
    let insert = "INSERT INTO audit (at, principal, token, action, outcome, detail, came_from, trace, times) \
                  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let values = params![
        line.at.as_millis(),
        line.principal.as_ref().map(ToString::to_string),
        line.token.map(u64::cast_signed),
        line.action,
        line.outcome,
        domain::secrets::mask_secrets(&line.detail).into_owned(),
        line.from,
        line.trace,
        line.times.cast_signed(),
    ];
    sql.execute_statement(insert, values).map(drop)
}

impl AccessTables<'_> {
    fn read_in_transaction<T: Default>(
        &self,
        mut work: impl FnMut(&dyn SqlConnection) -> Result<T, StoreFault>,
    ) -> Result<T, StoreFault> {
        // A trait object cannot return a generic value, so the result leaves through this variable.
        let mut outcome = T::default();
        self.0.run_read_transaction(&mut |sql| {
            outcome = work(sql)?;
            Ok(())
        })?;
        Ok(outcome)
    }

    /// Returns all tokens and audit entries.
    pub(crate) fn export_contents(&self) -> Result<AccessContents, StoreFault> {
        Ok(AccessContents {
            tokens: self.list_tokens()?,
            audited: self.read_audit_log(usize::MAX)?,
        })
    }

    /// Fills an empty token store and audit log.
    pub(crate) fn import_contents(&self, contents: &AccessContents) -> Result<(), StoreFault> {
        self.0
            .run_write_transaction(&mut |sql| insert_access_contents(sql, contents))
    }
}

/// Fills an empty token store and audit log, in the current transaction.
pub(crate) fn insert_access_contents(
    sql: &dyn SqlConnection,
    contents: &AccessContents,
) -> Result<(), StoreFault> {
    let insert = "INSERT INTO access_token (id, name, principal, scope, hash, cookie, created_at, created_by, \
                  expires_at, revoked_at, last_used_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    let millis = |time: Option<Timestamp>| time.map(Timestamp::as_millis);
    for token in &contents.tokens {
        let values = params![
            token.id.cast_signed(),
            token.name,
            token.principal.to_string(),
            token.scope.as_str(),
            token.hash.0.as_slice(),
            token.cookie.0.as_slice(),
            token.created_at.as_millis(),
            token.created_by.to_string(),
            millis(token.expires_at),
            millis(token.revoked_at),
            millis(token.last_used_at),
        ];
        sql.execute_statement(insert, values)?;
    }
    // Reversed: they are listed newest first, and new ids must keep their order.
    contents
        .audited
        .iter()
        .rev()
        .try_for_each(|line| insert_audit_entry(sql, line))
}

impl TokenStore for AccessTables<'_> {
    fn store_time(&self) -> Result<Option<Timestamp>, StoreFault> {
        self.read_in_transaction(|sql| sql.shared_time())
    }

    fn add_token(&self, entry: &TokenEntry) -> Result<Token, StoreFault> {
        let TokenEntry {
            new:
                NewToken {
                    name,
                    principal,
                    scope,
                },
            hash,
            cookie,
            at,
            by,
            expires_at,
        } = entry;
        let insert = "INSERT INTO access_token (name, principal, scope, hash, cookie, created_at, created_by, expires_at) \
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING id";
        let mut id = 0;
        self.0.run_write_transaction(&mut |sql| {
            let values = params![
                name,
                principal.to_string(),
                scope.as_str(),
                hash.0.as_slice(),
                cookie.0.as_slice(),
                at.as_millis(),
                by.to_string(),
                expires_at.map(Timestamp::as_millis),
            ];
            sql.query_rows(insert, values, &mut |row| {
                id = row.get::<i64>(0)?.cast_unsigned();
                Ok(())
            })
        })?;
        Ok(Token {
            id,
            name: name.clone(),
            principal: principal.clone(),
            scope: *scope,
            hash: *hash,
            cookie: *cookie,
            created_at: *at,
            created_by: by.clone(),
            expires_at: *expires_at,
            revoked_at: None,
            last_used_at: None,
        })
    }

    fn list_tokens(&self) -> Result<Vec<Token>, StoreFault> {
        self.read_in_transaction(|sql| {
            query_all_rows(
                sql,
                &format!("{SELECT_TOKEN} ORDER BY id"),
                params![],
                read_token,
            )
        })
    }

    fn list_unrevoked_tokens(&self) -> Result<Vec<Token>, StoreFault> {
        self.read_in_transaction(|sql| {
            query_all_rows(
                sql,
                &format!("{SELECT_TOKEN} WHERE revoked_at IS NULL"),
                params![],
                read_token,
            )
        })
    }

    fn revoke_token(&self, id: u64, at: Timestamp) -> Result<Option<Token>, StoreFault> {
        let mut revoked = None;
        self.0.run_write_transaction(&mut |sql| {
            sql.execute_statement(
                "UPDATE access_token SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL",
                params![id.cast_signed(), at.as_millis()],
            )?;
            // Read again in the same transaction: it may have been revoked before, with another
            // time.
            revoked = query_all_rows(
                sql,
                &format!("{SELECT_TOKEN} WHERE id = ?1"),
                params![id.cast_signed()],
                read_token,
            )?
            .pop();
            Ok(())
        })?;
        Ok(revoked)
    }

    fn append_audit_log(
        &self,
        lines: &[AuditEntry],
        uses: &[(u64, Timestamp)],
    ) -> Result<(), StoreFault> {
        // Batches of several servers may arrive out of order; the time must not go back.
        let update = "UPDATE access_token SET last_used_at = ?2 \
                      WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)";
        self.0.run_write_transaction(&mut |sql| {
            lines
                .iter()
                .try_for_each(|line| insert_audit_entry(sql, line))?;
            uses.iter().try_for_each(|(id, at)| {
                sql.execute_statement(update, params![id.cast_signed(), at.as_millis()])
                    .map(drop)
            })
        })
    }

    fn read_audit_log(&self, most: usize) -> Result<Vec<AuditEntry>, StoreFault> {
        self.read_in_transaction(|sql| {
            query_all_rows(
                sql,
                SELECT_AUDITED,
                params![i64::try_from(most).unwrap_or(i64::MAX)],
                read_audited,
            )
        })
    }

    fn prune_audit_log(&self, before: Timestamp, most: usize) -> Result<(), StoreFault> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.0.run_write_transaction(&mut |sql| {
            sql.execute_statement("DELETE FROM audit WHERE at < ?1", params![before.as_millis()])?;
            // Counted rather than computed from the highest id: all projects of a database share
            // one sequence, so the ids of one have gaps.
            let rest = "DELETE FROM audit \
                        WHERE id < (SELECT min(id) FROM (SELECT id FROM audit ORDER BY id DESC LIMIT ?1) AS kept)";
            sql.execute_statement(rest, params![most]).map(drop)
        })
    }
}
