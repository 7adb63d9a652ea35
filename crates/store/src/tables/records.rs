//! Queries of records, with checksums verified, and of notes.

use std::collections::BTreeMap;

use domain::ports::{RecordReader, StoreFault};
use domain::record::RecordKey;
use domain::search::{MatchMode, SearchQuery};
use serde_json::Value as Json;

use super::checksums::record_checksum;
use super::rows::BadRow;
use super::sql::{Row, params};
use super::view::TableView;

impl RecordReader for TableView<'_> {
    fn record_body(&self, kind: &str, key: &str) -> Result<Option<Json>, StoreFault> {
        let sql = "SELECT kind, key, body, sum FROM record WHERE kind = ?1 AND key = ?2";
        Ok(self
            .query_one_row(sql, params![kind, key], read_record)?
            .map(|(_, body)| body))
    }

    fn records_by_prefix(
        &self,
        kind: &str,
        prefix: &str,
    ) -> Result<Vec<(String, Json)>, StoreFault> {
        // A range of the index: without its end, the decisions of one node took as long as those of
        // every node after it. LIKE would treat `_` and `%` in keys as wildcards.
        match prefix_end(prefix) {
            Some(end) => self.query_rows(
                "SELECT kind, key, body, sum FROM record \
                 WHERE kind = ?1 AND key >= ?2 AND key < ?3 ORDER BY key",
                params![kind, prefix, end],
                read_record,
            ),
            None => self.query_rows(
                "SELECT kind, key, body, sum FROM record \
                 WHERE kind = ?1 AND key >= ?2 ORDER BY key",
                params![kind, prefix],
                read_record,
            ),
        }
    }

    fn record_texts(&self, kind: &str) -> Result<Vec<(String, String)>, StoreFault> {
        self.query_rows(
            "SELECT kind, key, body, sum FROM record WHERE kind = ?1 ORDER BY key",
            params![kind],
            read_record_text,
        )
    }

    fn search_records(
        &self,
        kinds: &[&str],
        query: &SearchQuery,
        matching: MatchMode,
        most: usize,
    ) -> Result<Vec<RecordKey>, StoreFault> {
        self.sql.search_records(self, kinds, query, matching, most)
    }

    fn load_note(&self, key: &str) -> Result<Option<String>, StoreFault> {
        self.query_one_row(
            "SELECT body FROM note WHERE key = ?1",
            params![self.sql.note_key(key)],
            |row| row.get(0),
        )
    }

    fn has_notes(&self, prefix: &str) -> Result<bool, StoreFault> {
        let from = self.sql.note_key(prefix);
        let found = self.query_one_row(
            "SELECT 1 FROM note WHERE key >= ?1 AND key < ?2 LIMIT 1",
            params![from, format!("{from}{}", char::MAX)],
            |row| row.get::<i64>(0),
        )?;
        Ok(found.is_some())
    }
}

impl TableView<'_> {
    /// Returns all records.
    pub(crate) fn all_records(&self) -> Result<BTreeMap<RecordKey, Json>, StoreFault> {
        let rows = self.query_rows(
            "SELECT kind, key, body, sum FROM record",
            params![],
            |row| {
                let kind: String = row.get(0)?;
                let (key, body) = read_record(row)?;
                Ok((RecordKey { kind, key }, body))
            },
        )?;
        Ok(rows.into_iter().collect())
    }
}

/// Returns the first text after all that begin with `prefix`; `None` if there is no such text.
///
/// Both databases compare keys by their bytes, which is the order of code points.
pub(crate) fn prefix_end(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        // A range of characters leaves out the surrogates, which are none.
        if let Some(next) = (last..=char::MAX).nth(1) {
            end.push(next);
            return Some(end);
        }
    }
    None
}

fn read_record(row: &Row<'_>) -> Result<(String, Json), BadRow> {
    let (key, body) = read_record_text(row)?;
    Ok((key, serde_json::from_str(&body)?))
}

/// Reads a record whose body is not parsed yet.
fn read_record_text(row: &Row<'_>) -> Result<(String, String), BadRow> {
    let (kind, key, body): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
    if record_checksum(&kind, &key, &body) != row.get::<i64>(3)? {
        return Err(BadRow::new(format!(
            "checksum mismatch in the record {kind}/{key}"
        )));
    }
    Ok((key, body))
}

#[cfg(test)]
mod tests {
    use super::prefix_end;

    #[test]
    fn the_end_of_a_prefix_is_the_next_text_of_its_length_or_shorter() {
        for (prefix, end) in [
            ("a/b/", Some("a/b0")),
            ("a\u{d7ff}", Some("a\u{e000}")),
            ("a\u{10ffff}", Some("b")),
            ("\u{10ffff}", None),
            ("", None),
        ] {
            assert_eq!(prefix_end(prefix).as_deref(), end, "{prefix:?}");
        }
    }
}
