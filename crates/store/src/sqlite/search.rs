//! Full-text search over records: an FTS5 index of the words that `domain::search` extracts.
//!
//! Words are extracted there and not by an FTS5 tokenizer, so that every engine finds the same.

use domain::ports::StoreFault;
use domain::record::RecordKey;
use domain::search::{MatchMode, SEARCHED_KINDS, SearchQuery, searchable_text, split_words};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use crate::tables::view::TableView;

/// Updates the search index for a record; `after` is `None` if it was deleted.
pub(super) fn index_record(
    connection: &Connection,
    record: &RecordKey,
    after: Option<&Value>,
) -> rusqlite::Result<()> {
    let RecordKey { kind, key } = record;
    let known: Option<i64> = connection
        .prepare_cached("SELECT id FROM searched WHERE kind = ?1 AND key = ?2")?
        .query_row([kind, key], |row| row.get(0))
        .optional()?;
    if let Some(id) = known {
        connection
            .prepare_cached("DELETE FROM search WHERE rowid = ?1")?
            .execute([id])?;
        connection
            .prepare_cached("DELETE FROM searched WHERE id = ?1")?
            .execute([id])?;
    }
    if let Some(after) = after {
        connection
            // This row provides the rowid for the FTS5 table, which has no unique keys of its own.
            .prepare_cached("INSERT INTO searched (kind, key) VALUES (?1, ?2)")?
            .execute([kind, key])?;
        let id = connection.last_insert_rowid();
        connection
            .prepare_cached("INSERT INTO search (rowid, kind, words) VALUES (?1, ?2, ?3)")?
            .execute((
                id,
                kind,
                split_words(&searchable_text(kind, after)).join(" "),
            ))?;
    }
    Ok(())
}

/// Returns the best `most` matches among records of these kinds, best first.
pub(super) fn search_records(
    view: &TableView<'_>,
    kinds: &[&str],
    query: &SearchQuery,
    matching: MatchMode,
    most: usize,
) -> Result<Vec<RecordKey>, StoreFault> {
    let kinds: Vec<&str> = kinds
        .iter()
        .copied()
        .filter(|kind| SEARCHED_KINDS.contains(kind))
        .collect();
    if kinds.is_empty() || query.is_empty() || most == 0 {
        return Ok(Vec::new());
    }
    // `*` matches prefixes of the last word, as `strpos` does in PostgreSQL.
    let with = |operator: &str| {
        let phrases: Vec<String> = query
            .phrases
            .iter()
            .map(|phrase| format!("\"{}\" *", phrase.join(" ")))
            .collect();
        // With all kinds wanted, the filter would only cost time.
        let kind = match kinds.len() == SEARCHED_KINDS.len() {
            true => String::new(),
            false => format!(" AND kind : ({})", kinds.join(" OR ")),
        };
        format!("words : ({}){kind}", phrases.join(operator))
    };
    let all = |text: &str| {
        // More rows than requested, because the inner query cuts off equal scores in any order; the
        // outer query orders them by key, so that every machine returns the same.
        let sql = "SELECT s.kind, s.key, f.score FROM (SELECT rowid AS id, bm25(search, 0.0, 1.0) AS score FROM search \
                   WHERE search MATCH ?1 ORDER BY score LIMIT ?2) AS f JOIN searched AS s ON s.id = f.id \
                   ORDER BY f.score, s.kind, s.key";
        let room = i64::try_from(most)
            .unwrap_or(i64::MAX)
            .saturating_mul(2)
            .saturating_add(32);
        view.query_rows(sql, params![text, room], |row| {
            Ok(RecordKey {
                kind: row.get(0)?,
                key: row.get(1)?,
            })
        })
    };
    let mut found = match matching {
        MatchMode::AllElseAny => all(&with(" AND "))?,
        MatchMode::Any => all(&with(" OR "))?,
    };
    if found.is_empty() && matching == MatchMode::AllElseAny && query.phrases.len() > 1 {
        found = all(&with(" OR "))?;
    }
    found.truncate(most);
    Ok(found)
}
