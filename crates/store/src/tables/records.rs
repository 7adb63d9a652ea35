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
        // `key >=` uses the index; the comparison of the prefix ends the match. LIKE would treat
        // `_` and `%` in keys as wildcards.
        let sql = "SELECT kind, key, body, sum FROM record \
                   WHERE kind = ?1 AND key >= ?2 AND substr(key, 1, length(?2)) = ?2 ORDER BY key";
        self.query_rows(sql, params![kind, prefix], read_record)
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

fn read_record(row: &Row<'_>) -> Result<(String, Json), BadRow> {
    let (kind, key, body): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
    if record_checksum(&kind, &key, &body) != row.get::<i64>(3)? {
        return Err(BadRow::new(format!(
            "checksum mismatch in the record {kind}/{key}"
        )));
    }
    Ok((key, serde_json::from_str(&body)?))
}
