//! Token store and audit log, for both engines.
//!
//! Not part of the state: no operation creates them, and a rebuild leaves them alone.

use domain::access::Scope;
use domain::ids::Principal;
use domain::ports::{AccessBook, StoreFault, TokenEntry};
use domain::time::Timestamp;
use domain::token::{Audited, NewToken, Token};

use super::rows::{BadRow, digest};
use super::sql::{Row, Sql, params};

/// Runs short transactions on the access tables, apart from those that change the state.
pub(crate) trait Desk {
    /// Runs `work` in a read transaction.
    fn look(
        &self,
        work: &mut dyn FnMut(&dyn Sql) -> Result<(), StoreFault>,
    ) -> Result<(), StoreFault>;

    /// Runs `work` in a write transaction; rolled back if it fails.
    fn write_down(
        &self,
        work: &mut dyn FnMut(&dyn Sql) -> Result<(), StoreFault>,
    ) -> Result<(), StoreFault>;
}

/// The token store and audit log in an engine's tables.
pub(crate) struct Book<'d>(pub(crate) &'d dyn Desk);

/// All tokens and audit entries, for copying them into a replacement database.
#[derive(Default)]
pub(crate) struct BookContents {
    tokens: Vec<Token>,
    audited: Vec<Audited>,
}

const TOKEN: &str = "SELECT id, name, principal, scope, hash, cookie, created_at, created_by, expires_at, revoked_at, \
                     last_used_at FROM access_token";
const AUDITED: &str = "SELECT at, principal, token, action, outcome, detail, came_from, trace, times FROM audit ORDER BY id DESC LIMIT ?1";

fn time(row: &Row<'_>, column: usize) -> Result<Option<Timestamp>, BadRow> {
    Ok(row.get::<Option<i64>>(column)?.map(Timestamp::from_millis))
}

fn principal(row: &Row<'_>, column: usize) -> Result<Principal, BadRow> {
    Ok(Principal::from(row.get::<String>(column)?.as_str()))
}

fn token(row: &Row<'_>) -> Result<Token, BadRow> {
    let scope: String = row.get(3)?;
    Ok(Token {
        id: row.get::<i64>(0)?.cast_unsigned(),
        name: row.get(1)?,
        principal: principal(row, 2)?,
        // An unknown scope is an error: guessing one could grant too much.
        scope: Scope::from_word(&scope)
            .ok_or_else(|| BadRow::new(format!("a token has the unknown scope `{scope}`")))?,
        hash: digest(row.get_ref(4)?)?,
        cookie: digest(row.get_ref(5)?)?,
        created_at: Timestamp::from_millis(row.get(6)?),
        created_by: principal(row, 7)?,
        expires_at: time(row, 8)?,
        revoked_at: time(row, 9)?,
        last_used_at: time(row, 10)?,
    })
}

fn audited(row: &Row<'_>) -> Result<Audited, BadRow> {
    Ok(Audited {
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

fn found<T>(
    sql: &dyn Sql,
    query: &str,
    values: super::sql::Values<'_>,
    read: fn(&Row<'_>) -> Result<T, BadRow>,
) -> Result<Vec<T>, StoreFault> {
    let mut all = Vec::new();
    sql.rows(query, values, &mut |row| {
        all.push(read(row)?);
        Ok(())
    })?;
    Ok(all)
}

/// Inserts an audit entry, with secrets in its detail masked.
fn add_line(sql: &dyn Sql, line: &Audited) -> Result<(), StoreFault> {
    let insert = "INSERT INTO audit (at, principal, token, action, outcome, detail, came_from, trace, times) \
                  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let values = params![
        line.at.as_millis(),
        line.principal.as_ref().map(ToString::to_string),
        line.token.map(u64::cast_signed),
        line.action,
        line.outcome,
        domain::secrets::mask(&line.detail).into_owned(),
        line.from,
        line.trace,
        line.times.cast_signed(),
    ];
    sql.execute(insert, values).map(drop)
}

impl Book<'_> {
    fn look<T: Default>(
        &self,
        mut work: impl FnMut(&dyn Sql) -> Result<T, StoreFault>,
    ) -> Result<T, StoreFault> {
        // A trait object cannot return a generic value, so the result leaves through this variable.
        let mut outcome = T::default();
        self.0.look(&mut |sql| {
            outcome = work(sql)?;
            Ok(())
        })?;
        Ok(outcome)
    }

    /// Returns all tokens and audit entries.
    pub(crate) fn contents(&self) -> Result<BookContents, StoreFault> {
        Ok(BookContents {
            tokens: self.tokens()?,
            audited: self.audited(usize::MAX)?,
        })
    }

    /// Fills an empty token store and audit log.
    pub(crate) fn put(&self, contents: &BookContents) -> Result<(), StoreFault> {
        self.0.write_down(&mut |sql| put_book(sql, contents))
    }
}

/// Fills an empty token store and audit log, in the current transaction.
pub(crate) fn put_book(sql: &dyn Sql, contents: &BookContents) -> Result<(), StoreFault> {
    let insert = "INSERT INTO access_token (id, name, principal, scope, hash, cookie, created_at, created_by, \
                  expires_at, revoked_at, last_used_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    let millis = |time: Option<Timestamp>| time.map(Timestamp::as_millis);
    for token in &contents.tokens {
        let values = params![
            token.id.cast_signed(),
            token.name,
            token.principal.to_string(),
            token.scope.word(),
            token.hash.0.as_slice(),
            token.cookie.0.as_slice(),
            token.created_at.as_millis(),
            token.created_by.to_string(),
            millis(token.expires_at),
            millis(token.revoked_at),
            millis(token.last_used_at),
        ];
        sql.execute(insert, values)?;
    }
    // Reversed: they are listed newest first, and new ids must keep their order.
    contents
        .audited
        .iter()
        .rev()
        .try_for_each(|line| add_line(sql, line))
}

impl AccessBook for Book<'_> {
    fn now(&self) -> Result<Option<Timestamp>, StoreFault> {
        self.look(|sql| sql.time())
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
        self.0.write_down(&mut |sql| {
            let values = params![
                name,
                principal.to_string(),
                scope.word(),
                hash.0.as_slice(),
                cookie.0.as_slice(),
                at.as_millis(),
                by.to_string(),
                expires_at.map(Timestamp::as_millis),
            ];
            sql.rows(insert, values, &mut |row| {
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

    fn tokens(&self) -> Result<Vec<Token>, StoreFault> {
        self.look(|sql| found(sql, &format!("{TOKEN} ORDER BY id"), params![], token))
    }

    fn good_tokens(&self) -> Result<Vec<Token>, StoreFault> {
        self.look(|sql| {
            found(
                sql,
                &format!("{TOKEN} WHERE revoked_at IS NULL"),
                params![],
                token,
            )
        })
    }

    fn revoke_token(&self, id: u64, at: Timestamp) -> Result<Option<Token>, StoreFault> {
        let mut revoked = None;
        self.0.write_down(&mut |sql| {
            sql.execute(
                "UPDATE access_token SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL",
                params![id.cast_signed(), at.as_millis()],
            )?;
            // Read again in the same transaction: it may have been revoked before, with another
            // time.
            revoked = found(
                sql,
                &format!("{TOKEN} WHERE id = ?1"),
                params![id.cast_signed()],
                token,
            )?
            .pop();
            Ok(())
        })?;
        Ok(revoked)
    }

    fn note(&self, lines: &[Audited], uses: &[(u64, Timestamp)]) -> Result<(), StoreFault> {
        // Batches of several servers may arrive out of order; the time must not go back.
        let update = "UPDATE access_token SET last_used_at = ?2 \
                      WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)";
        self.0.write_down(&mut |sql| {
            lines.iter().try_for_each(|line| add_line(sql, line))?;
            uses.iter().try_for_each(|(id, at)| {
                sql.execute(update, params![id.cast_signed(), at.as_millis()])
                    .map(drop)
            })
        })
    }

    fn audited(&self, most: usize) -> Result<Vec<Audited>, StoreFault> {
        self.look(|sql| {
            found(
                sql,
                AUDITED,
                params![i64::try_from(most).unwrap_or(i64::MAX)],
                audited,
            )
        })
    }

    fn forget_audited(&self, before: Timestamp, most: usize) -> Result<(), StoreFault> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.0.write_down(&mut |sql| {
            sql.execute("DELETE FROM audit WHERE at < ?1", params![before.as_millis()])?;
            // Counted rather than computed from the highest id: all projects of a database share
            // one sequence, so the ids of one have gaps.
            let rest = "DELETE FROM audit \
                        WHERE id < (SELECT min(id) FROM (SELECT id FROM audit ORDER BY id DESC LIMIT ?1) AS kept)";
            sql.execute(rest, params![most]).map(drop)
        })
    }
}
