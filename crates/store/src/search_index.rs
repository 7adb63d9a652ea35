//! Search index of a working copy in a SQLite file of its own, with FTS5.
//!
//! A cache beside the state: updated by the search that needs it, so that neither hooks nor other
//! commands pay for it, and made again when it is missing, damaged or of another format. Not in the
//! state's database: working copies of a shared state have different texts, and prose files are in
//! no database. Words are extracted by `domain::search`; blanks alone separate them here, so FTS5's
//! tokenizer decides nothing, and every index returns the same results.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::ports::{SearchIndex, StoreFault};
use domain::search::MatchMode;
use domain::search::documents::{
    DocumentKey, DocumentKind, IndexedDocument, ProseFolders, SearchDocument,
};
use domain::search::expansion::{ExpandedQuery, PhrasePattern};
use domain::search::memory_index::TITLE_WEIGHT;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use crate::engine::io_fault;
use crate::tables::records::prefix_end;

/// Changes with the tables and with how words are extracted.
const FORMAT: i64 = 3;

/// Bits of a row within the range of its kind.
const ROW_BITS: u32 = 40;

/// How long a writer waits for another process that updates the index.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(5);

// `document` gives the FTS5 table its rowids, as it has no keys of its own, in a range for each kind: a
// query for some kinds is then one for some ranges. `term` is the
// vocabulary: FTS5's own (`fts5vocab`) counts the occurrences of every word it passes.
const SCHEMA: &str = "
    CREATE TABLE position (one INTEGER PRIMARY KEY CHECK (one = 1), text TEXT) STRICT;
    CREATE TABLE document (
        id         INTEGER PRIMARY KEY,
        kind       TEXT NOT NULL,
        key        TEXT NOT NULL,
        mark       TEXT NOT NULL,
        prose_path TEXT,
        prose_folder TEXT
    ) STRICT;
    CREATE INDEX document_prose ON document (prose_folder, kind) WHERE prose_folder IS NOT NULL;
    CREATE UNIQUE INDEX document_key ON document (kind, key);
    CREATE TABLE term (word TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE VIRTUAL TABLE search USING fts5 (
        title, body, content = '', contentless_delete = 1, tokenize = 'ascii', prefix = '2 3'
    );
";

/// The search index in a file; opened when it is first used.
#[derive(Debug)]
pub struct SearchFile {
    path: PathBuf,
    connection: OnceCell<Connection>,
}

impl SearchFile {
    /// Returns the index at `path`, without opening it.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            connection: OnceCell::new(),
        }
    }

    fn connection(&self) -> Result<&Connection, StoreFault> {
        if let Some(connection) = self.connection.get() {
            return Ok(connection);
        }
        let opened = match open_index(&self.path) {
            Ok(Some(connection)) => connection,
            // Another format, or not a database.
            Ok(None) => self.open_again()?,
            Err(error) if is_damage(&error) => self.open_again()?,
            Err(error) => return Err(self.to_fault(&error)),
        };
        Ok(self.connection.get_or_init(|| opened))
    }

    /// Removes the file and makes a new one.
    fn open_again(&self) -> Result<Connection, StoreFault> {
        remove_search_file(&self.path)?;
        match open_index(&self.path) {
            Ok(Some(connection)) => Ok(connection),
            Ok(None) => Err(StoreFault::Damaged {
                what: "the search index cannot be created".to_owned(),
            }),
            Err(error) => Err(self.to_fault(&error)),
        }
    }

    /// Runs `act`; damage removes the file, so that the next search makes it again.
    fn with_connection<T>(
        &self,
        act: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreFault> {
        act(self.connection()?).map_err(|error| {
            if is_damage(&error) {
                let _ = remove_search_file(&self.path);
            }
            self.to_fault(&error)
        })
    }

    /// Returns an I/O error and never damage: the edge would repair the state, which is intact.
    fn to_fault(&self, error: &rusqlite::Error) -> StoreFault {
        let source = std::io::Error::other(error.to_string());
        io_fault("cannot use the search index", &self.path, source)
    }
}

/// Removes a search index with its write-ahead log; the next search makes it again.
///
/// # Errors
/// When a file cannot be removed.
pub fn remove_search_file(path: &Path) -> Result<(), StoreFault> {
    for ending in ["", "-wal", "-shm", "-journal"] {
        let mut file = path.as_os_str().to_owned();
        file.push(ending);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(io_fault("cannot remove", Path::new(&file), error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(
        error.sqlite_error_code(),
        Some(DatabaseCorrupt | NotADatabase)
    )
}

/// Opens the file, creating it if necessary; `None` if it has another format.
fn open_index(path: &Path) -> rusqlite::Result<Option<Connection>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(MAX_LOCK_WAIT)?;
    // A cache need not survive a power cut: it is made again.
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;")?;
    let format = |connection: &Connection| -> rusqlite::Result<i64> {
        connection.query_row("PRAGMA user_version", [], |row| row.get(0))
    };
    if format(&connection)? == 0 {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        // Another process may have created the tables meanwhile.
        if format(&connection)? == 0 {
            connection.execute_batch(SCHEMA)?;
            connection.pragma_update(None, "user_version", FORMAT)?;
        }
        connection.execute_batch("COMMIT")?;
    }
    Ok((format(&connection)? == FORMAT).then_some(connection))
}

impl SearchIndex for SearchFile {
    fn load_position(&self) -> Result<Option<String>, StoreFault> {
        self.with_connection(|connection| {
            let found = connection
                .query_row("SELECT text FROM position", [], |row| row.get(0))
                .optional()?;
            Ok(found.flatten())
        })
    }

    fn list_documents(&self, kinds: &[DocumentKind]) -> Result<Vec<IndexedDocument>, StoreFault> {
        self.with_connection(|connection| {
            let mut found = Vec::new();
            for kind in kinds {
                let mut statement = connection.prepare_cached(
                    "SELECT key, mark, prose_path FROM document WHERE kind = ?1 ORDER BY key",
                )?;
                let rows = statement.query_map([kind.as_str()], |row| read_document(*kind, row))?;
                for row in rows {
                    found.push(row?);
                }
            }
            Ok(found)
        })
    }

    fn list_prose_folders(&self, after: &str, most: usize) -> Result<ProseFolders, StoreFault> {
        self.with_connection(|connection| {
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let mut folders = connection.prepare_cached(
                "SELECT DISTINCT prose_folder FROM document WHERE prose_folder > ?1 \
                 ORDER BY prose_folder LIMIT ?2",
            )?;
            let folders = folders.query_map(params![after, most], |row| row.get(0))?;
            let mut folders: ProseFolders = folders
                .map(|folder| Ok((folder?, BTreeMap::new())))
                .collect::<rusqlite::Result<_>>()?;
            let Some(last) = folders.keys().next_back().cloned() else {
                return Ok(folders);
            };
            let mut prose = connection.prepare_cached(
                "SELECT prose_folder, key, mark FROM document \
                 WHERE kind = 'prose' AND prose_folder > ?1 AND prose_folder <= ?2",
            )?;
            let mut prose = prose.query([after, last.as_str()])?;
            while let Some(row) = prose.next()? {
                let folder: String = row.get(0)?;
                let marks = folders.entry(folder).or_default();
                marks.insert(row.get(1)?, row.get(2)?);
            }
            Ok(folders)
        })
    }

    fn plans_of_prose_folder(&self, folder: &str) -> Result<Vec<IndexedDocument>, StoreFault> {
        self.with_connection(|connection| {
            let mut plans = connection.prepare_cached(
                "SELECT key, mark, prose_path FROM document \
                 WHERE kind = 'plan' AND prose_folder = ?1 ORDER BY key",
            )?;
            let plans = plans.query_map([folder], |row| read_document(DocumentKind::Plan, row))?;
            plans.collect()
        })
    }

    fn update_documents(
        &self,
        changed: &[SearchDocument],
        removed: &[DocumentKey],
        position: Option<&str>,
    ) -> Result<(), StoreFault> {
        self.with_connection(|connection| {
            let transaction = Update::begin(connection)?;
            for id in removed {
                remove_document(connection, id)?;
            }
            let mut terms = BTreeSet::new();
            for document in changed {
                remove_document(connection, &document.id)?;
                insert_document(connection, document, &mut terms)?;
            }
            for term in &terms {
                connection
                    .prepare_cached("INSERT OR IGNORE INTO term (word) VALUES (?1)")?
                    .execute([term])?;
            }
            connection
                .prepare_cached("INSERT OR REPLACE INTO position (one, text) VALUES (1, ?1)")?
                .execute([position])?;
            transaction.commit()
        })
    }

    fn terms_with_prefix(&self, prefix: &str) -> Result<Vec<String>, StoreFault> {
        self.with_connection(|connection| {
            // Without an end the range is open: every word starts with an empty prefix.
            let end = prefix_end(prefix).unwrap_or_else(|| char::MAX.to_string());
            let mut statement = connection.prepare_cached(
                "SELECT word FROM term WHERE word >= ?1 AND word < ?2 ORDER BY word",
            )?;
            statement
                .query_map([prefix, &end], |row| row.get(0))?
                .collect()
        })
    }

    fn has_matches(&self, pattern: &PhrasePattern) -> Result<bool, StoreFault> {
        self.with_connection(|connection| {
            let found: Option<i64> = connection
                .prepare_cached("SELECT rowid FROM search WHERE search MATCH ?1 LIMIT 1")?
                .query_row([render_pattern(pattern)], |row| row.get(0))
                .optional()?;
            Ok(found.is_some())
        })
    }

    fn rank_documents(
        &self,
        query: &ExpandedQuery,
        matching: MatchMode,
        kinds: &[DocumentKind],
        most: usize,
    ) -> Result<Vec<DocumentKey>, StoreFault> {
        self.with_connection(|connection| {
            let operators = match (matching, query.groups.len()) {
                (MatchMode::AllElseAny, 2..) => vec![" AND ", " OR "],
                _ => vec![" OR "],
            };
            for operator in operators {
                let found = rank_matches(connection, query, operator, kinds, most)?;
                if !found.is_empty() {
                    return Ok(found);
                }
            }
            Ok(Vec::new())
        })
    }
}

/// A write transaction; rolls back unless it is committed.
struct Update<'c> {
    connection: &'c Connection,
    is_done: bool,
}

impl<'c> Update<'c> {
    fn begin(connection: &'c Connection) -> rusqlite::Result<Self> {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        Ok(Self {
            connection,
            is_done: false,
        })
    }

    fn commit(mut self) -> rusqlite::Result<()> {
        self.connection.execute_batch("COMMIT")?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for Update<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}

fn read_document(kind: DocumentKind, row: &rusqlite::Row<'_>) -> rusqlite::Result<IndexedDocument> {
    Ok(IndexedDocument {
        id: DocumentKey {
            kind,
            key: row.get(0)?,
        },
        mark: row.get(1)?,
        prose_path: row.get(2)?,
    })
}

fn remove_document(connection: &Connection, id: &DocumentKey) -> rusqlite::Result<()> {
    let known: Option<i64> = connection
        .prepare_cached("DELETE FROM document WHERE kind = ?1 AND key = ?2 RETURNING id")?
        .query_row([id.kind.as_str(), &id.key], |row| row.get(0))
        .optional()?;
    if let Some(row) = known {
        connection
            .prepare_cached("DELETE FROM search WHERE rowid = ?1")?
            .execute([row])?;
    }
    Ok(())
}

fn insert_document(
    connection: &Connection,
    document: &SearchDocument,
    terms: &mut BTreeSet<String>,
) -> rusqlite::Result<()> {
    let rows = rows_of_kind(document.id.kind);
    connection
        .prepare_cached(
            "INSERT INTO document (id, kind, key, mark, prose_path, prose_folder) \
             VALUES (1 + coalesce((SELECT id FROM document WHERE id BETWEEN ?6 AND ?7 \
             ORDER BY id DESC LIMIT 1), ?6), ?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            document.id.kind.as_str(),
            document.id.key,
            document.mark,
            document.prose_path,
            document.prose_folder(),
            rows.start(),
            rows.end()
        ])?;
    let row = connection.last_insert_rowid();
    let words = document.to_words();
    connection
        .prepare_cached("INSERT INTO search (rowid, title, body) VALUES (?1, ?2, ?3)")?
        .execute(params![row, words.title.join(" "), words.body.join(" ")])?;
    terms.extend(words.title.into_iter().chain(words.body));
    Ok(())
}

fn render_pattern(pattern: &PhrasePattern) -> String {
    // Words have letters and digits only, so the quotation marks need no escaping.
    let prefix = if pattern.is_prefix { " *" } else { "" };
    format!("\"{}\"{prefix}", pattern.words.join(" "))
}

/// Returns the rows of the documents of a kind.
fn rows_of_kind(kind: DocumentKind) -> RangeInclusive<i64> {
    let place = DocumentKind::ALL.iter().position(|other| *other == kind);
    let start = i64::try_from(place.unwrap_or_default()).unwrap_or_default() << ROW_BITS;
    start..=start + (1 << ROW_BITS) - 1
}

/// Returns the condition that a row is a document of some kinds. FTS5 skips the rows outside of one
/// range; looking up the kind of every match took most of the time of a query for a frequent word.
fn render_kind_filter(kinds: &[DocumentKind]) -> String {
    let mut ranges: Vec<RangeInclusive<i64>> = Vec::new();
    // In the order of the rows, so that neighbours become one range.
    for kind in DocumentKind::ALL.iter().filter(|kind| kinds.contains(kind)) {
        let rows = rows_of_kind(*kind);
        match ranges.last_mut() {
            Some(last) if last.end() + 1 == *rows.start() => *last = *last.start()..=*rows.end(),
            _ => ranges.push(rows),
        }
    }
    let conditions: Vec<String> = ranges
        .iter()
        .map(|rows| format!("rowid BETWEEN {} AND {}", rows.start(), rows.end()))
        .collect();
    match kinds.len() == DocumentKind::ALL.len() {
        true => String::new(),
        false => format!(" AND ({})", conditions.join(" OR ")),
    }
}

fn rank_matches(
    connection: &Connection,
    query: &ExpandedQuery,
    operator: &str,
    kinds: &[DocumentKind],
    most: usize,
) -> rusqlite::Result<Vec<DocumentKey>> {
    let groups: Vec<String> = query
        .groups
        .iter()
        .map(|group| {
            let patterns: Vec<String> = group.iter().map(render_pattern).collect();
            format!("({})", patterns.join(" OR "))
        })
        .collect();
    let filter = render_kind_filter(kinds);
    let places: Vec<String> = DocumentKind::ALL
        .iter()
        .enumerate()
        .map(|(place, kind)| format!("WHEN '{}' THEN {place}", kind.as_str()))
        .collect();
    let kind_order = format!("CASE d.kind {} END", places.join(" "));
    // More rows than requested, because the inner query cuts off equal scores in any order; the
    // outer one orders them by key.
    let sql = format!(
        "SELECT d.kind, d.key FROM (SELECT rowid AS id, bm25(search, {TITLE_WEIGHT:.1}, 1.0) AS score \
         FROM search WHERE search MATCH ?1{filter} ORDER BY score LIMIT ?2) AS f \
         JOIN document AS d ON d.id = f.id ORDER BY f.score, {kind_order}, d.key LIMIT ?3"
    );
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let room = most.saturating_mul(2).saturating_add(32);
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params![groups.join(operator), room, most], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    let mut found = Vec::new();
    for row in rows {
        let (kind, key) = row?;
        found.extend(DocumentKind::from_word(&kind).map(|kind| DocumentKey { kind, key }));
    }
    Ok(found)
}
