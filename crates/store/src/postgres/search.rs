//! Full-text search: records matched by the database, ranked here with BM25.
//!
//! PostgreSQL's `tsvector` and `ts_rank` are not used: they tokenise and rank differently, and
//! every engine has to return the same results.

use domain::ports::StoreFault;
use domain::record::RecordKey;
use domain::search::{
    Corpus, MatchMode, SEARCHED_KINDS, SearchQuery, rank_in_corpus, searchable_text, split_words,
};
use rusqlite::ToSql;
use serde_json::Value;

use crate::tables::sql::{SqlConnection, params};
use crate::tables::view::TableView;

/// Updates the search index for a record; `after` is `None` if it was deleted.
pub(super) fn index_record(
    sql: &dyn SqlConnection,
    record: &RecordKey,
    after: Option<&Value>,
) -> Result<(), StoreFault> {
    let RecordKey { kind, key } = record;
    sql.execute_statement(
        "DELETE FROM searched WHERE kind = ?1 AND key = ?2",
        params![kind, key],
    )?;
    let Some(after) = after else { return Ok(()) };
    let words = split_words(&searchable_text(kind, after));
    let length = i64::try_from(words.len()).unwrap_or(i64::MAX);
    // A blank before every word, so that `strpos` with " word" matches only at the start of a word.
    let text: String = words.iter().map(|word| format!(" {word}")).collect();
    let insert = "INSERT INTO searched (kind, key, words, length) VALUES (?1, ?2, ?3, ?4)";
    sql.execute_statement(insert, params![kind, key, text, length])
        .map(drop)
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
    // A query without phrases would make an empty WHERE clause below.
    if kinds.is_empty() || query.is_empty() || most == 0 {
        return Ok(Vec::new());
    }
    let sql = "SELECT count(*), coalesce(sum(length), 0)::BIGINT FROM searched";
    let counted = view.query_rows(sql, params![], |row| {
        Ok((row.get::<i64>(0)?, row.get::<i64>(1)?))
    })?;
    let (texts, all_words) = counted.first().copied().unwrap_or_default();
    let phrases: Vec<String> = query
        .phrases
        .iter()
        .map(|phrase| format!(" {}", phrase.join(" ")))
        .collect();
    // Records of all kinds are fetched: BM25 weighs a word by how rare it is in the whole corpus.
    let any: Vec<String> = (1..=phrases.len())
        .map(|place| format!("strpos(words, ?{place}) > 0"))
        .collect();
    let sql = format!(
        "SELECT kind, key, words FROM searched WHERE {} ORDER BY kind, key",
        any.join(" OR ")
    );
    let values: Vec<&dyn ToSql> = phrases.iter().map(|phrase| phrase as &dyn ToSql).collect();
    let found = view.query_rows(&sql, &values, |row| {
        let words: Vec<String> = row
            .get::<String>(2)?
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        Ok((
            RecordKey {
                kind: row.get(0)?,
                key: row.get(1)?,
            },
            words,
        ))
    })?;
    let (records, words): (Vec<RecordKey>, Vec<Vec<String>>) = found.into_iter().unzip();
    let corpus = Corpus {
        texts: texts as f64,
        words: all_words as f64,
    };
    let wanted = |index: usize| kinds.contains(&records[index].kind.as_str());
    let best = rank_in_corpus(corpus, &words, query, matching, &wanted);
    Ok(best
        .into_iter()
        .take(most)
        .map(|index| records[index].clone())
        .collect())
}
