//! The journal: an append-only log with one JSON line per operation, linked into a hash chain.
//!
//! A line is `{"op":…,"texts":{hash: text},"prev":"…","hash":"…"}`; `hash` is the SHA-256 of `prev`
//! and the bytes of `op`, and comes last so that the file's tail shows the head of the chain. Texts
//! are verified by their own hashes. The first line is a header with the format and the store id.
//!
//! The chain has no key: it detects damage and careless edits, not a forger who rewrites the whole
//! file. That is what `known_heads` is for.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use domain::ids::{Digest32, StoreId, VersionHash};
use domain::operation::Operation;
use domain::ports::StoreFault;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::engine::ChainedOperation;

/// The journal format this program reads and writes.
const JOURNAL_FORMAT: u32 = 1;

/// Returns the hash that the first operation is chained to.
pub(crate) fn chain_start_hash(store: &StoreId) -> Digest32 {
    // Derived from the store id, so that operations of one store do not verify in another.
    Digest32::of_bytes(format!("throughline-journal 1 {store}").as_bytes())
}

/// Returns the chain hash of an operation that follows `prev`.
pub(crate) fn hash_operation(prev: Digest32, body: &str) -> Digest32 {
    Digest32::of_parts(&[&prev.0, body.as_bytes()])
}

/// Maximum header length: it holds a number and an id, so anything longer is another kind of file.
pub(crate) const MAX_HEADER_BYTES: u64 = 4096;

#[derive(Serialize, Deserialize)]
struct JournalHeader {
    #[serde(rename = "throughline-journal")]
    format: u32,
    store: StoreId,
}

#[derive(Deserialize)]
struct ParsedLine<'a> {
    #[serde(borrow)]
    op: &'a RawValue,
    texts: BTreeMap<String, String>,
    prev: Digest32,
    hash: Digest32,
}

/// The readable entries of a journal, and where reading stopped.
#[derive(Default)]
pub(crate) struct JournalContents {
    pub(crate) store: Option<StoreId>,
    pub(crate) entries: Vec<ChainedOperation>,
    /// Bytes of the file up to the last valid line.
    pub(crate) good_size: u64,
    pub(crate) damage: Option<JournalDamage>,
    /// The header's format version, when a newer program wrote it.
    pub(crate) newer: Option<u32>,
}

impl JournalContents {
    /// Refuses a journal of a newer format: it is not damaged and must not be replaced.
    pub(crate) fn check_format_version(&self) -> Result<(), StoreFault> {
        match self.newer {
            Some(found) => Err(StoreFault::Newer {
                found: found.into(),
                known: JOURNAL_FORMAT.into(),
            }),
            None => Ok(()),
        }
    }
}

/// Damage of a journal, with its line number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JournalDamage {
    pub(crate) line: usize,
    pub(crate) what: String,
    /// The last line is truncated: a crash during an append, not corruption.
    pub(crate) torn: bool,
}

/// The journal file.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    path: PathBuf,
}

/// Stat data of a journal file, to detect that it was changed or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JournalStamp {
    pub(crate) size: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Journal {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a new journal with these lines, synced.
    pub(crate) fn write_new_journal(&self, store: &StoreId, lines: &[String]) -> io::Result<u64> {
        let mut bytes = render_journal_header(store)?.into_bytes();
        for line in lines {
            bytes.extend_from_slice(line.as_bytes());
        }
        crate::durable::replace_file(&self.path, &bytes, crate::durable::Durability::Synced)?;
        Ok(bytes.len() as u64)
    }

    /// Returns the store id from the header, without reading the rest.
    pub(crate) fn read_store_id(&self) -> Option<StoreId> {
        // A header has about 90 bytes, so one read is enough.
        let mut start = [0; 256];
        let length = File::open(&self.path).ok()?.read(&mut start).ok()?;
        let line = start[..length]
            .split_inclusive(|byte| *byte == b'\n')
            .next()?;
        parse_journal_header(std::str::from_utf8(line).ok()?).ok()
    }

    /// Returns the file's size; `None` when there is no file.
    pub(crate) fn read_size(&self) -> io::Result<Option<u64>> {
        Ok(self.read_stamp()?.map(|mark| mark.size))
    }

    /// Returns the file's stat data, a cheap test for whether it is unchanged; `None` without a
    /// file.
    pub(crate) fn read_stamp(&self) -> io::Result<Option<JournalStamp>> {
        match self.path.metadata() {
            Ok(found) => Ok(Some(JournalStamp {
                size: found.len(),
                inode: found.ino(),
                modified: (found.mtime(), found.mtime_nsec()),
                changed: (found.ctime(), found.ctime_nsec()),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Refuses a journal whose header has a newer format version.
    pub(crate) fn check_format_version(&self) -> Result<(), StoreFault> {
        let mut header = Vec::new();
        let read = File::open(&self.path).and_then(|file| {
            BufReader::new(file.take(MAX_HEADER_BYTES)).read_until(b'\n', &mut header)
        });
        // An unreadable or foreign header is not "newer": recovery deals with it as damage.
        let newer = read
            .ok()
            .and_then(|_| newer_format_version(std::str::from_utf8(&header).ok()?));
        match newer {
            Some(found) => Err(StoreFault::Newer {
                found: found.into(),
                known: JOURNAL_FORMAT.into(),
            }),
            None => Ok(()),
        }
    }

    /// Whether the bytes before `size` end with `hash`, the expected head of the chain.
    ///
    /// A journal without operations ends with its header, which is compared instead.
    pub(crate) fn ends_with_hash(
        &self,
        store: &StoreId,
        size: u64,
        hash: Digest32,
    ) -> io::Result<bool> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let expected = if hash == chain_start_hash(store) {
            render_journal_header(store)?
        } else {
            format!("\"hash\":\"{hash}\"}}\n")
        };
        let length = expected.len() as u64;
        // Only the tail is read, so that opening a long history stays O(1).
        let Some(start) = size.checked_sub(length) else {
            return Ok(false);
        };
        file.seek(SeekFrom::Start(start))?;
        let mut tail = Vec::with_capacity(expected.len());
        file.take(length).read_to_end(&mut tail)?;
        Ok(tail == expected.as_bytes())
    }

    /// Appends lines and syncs them. Returns the new size.
    pub(crate) fn append_lines(&self, lines: &[String]) -> io::Result<u64> {
        let mut file = OpenOptions::new()
            .append(true)
            .mode(0o600)
            .open(&self.path)?;
        let mut size = file.metadata()?.len();
        // One write, so that a crash leaves at worst a torn last line.
        let bytes: Cow<'_, str> = match lines {
            [line] => line.into(),
            lines => lines.concat().into(),
        };
        file.write_all(bytes.as_bytes())?;
        size += bytes.len() as u64;
        // `fdatasync` also writes the new size, which is all the metadata that replaying needs.
        file.sync_data()?;
        Ok(size)
    }

    /// Truncates the file to an earlier size, synced.
    pub(crate) fn truncate_to(&self, size: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(&self.path)?;
        file.set_len(size)?;
        file.sync_data()
    }

    /// Reads and verifies the whole journal.
    pub(crate) fn read_all_entries(&self) -> io::Result<JournalContents> {
        self.read_entries_from(0, None)
    }

    /// Reads and verifies the lines after `size`, which follow `prev`; `(0, None)` reads
    /// everything.
    pub(crate) fn read_entries_from(
        &self,
        size: u64,
        prev: Option<Digest32>,
    ) -> io::Result<JournalContents> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(size))?;
        read_journal_lines(&mut BufReader::new(file), size, prev, u64::MAX, usize::MAX)
    }
}

/// Reads and verifies journal lines after `size`, which follow `prev`; `(0, None)` when they begin
/// with the header.
///
/// A line above `max_line` bytes or more than `max_entries` operations are an error, which bounds
/// the memory a hostile file can take.
pub(crate) fn read_journal_lines(
    reader: &mut dyn BufRead,
    size: u64,
    prev: Option<Digest32>,
    max_line: u64,
    max_entries: usize,
) -> io::Result<JournalContents> {
    let mut contents = JournalContents {
        good_size: size,
        ..JournalContents::default()
    };
    let mut prev = prev;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let max = if prev.is_none() {
            max_line.min(MAX_HEADER_BYTES)
        } else {
            max_line
        };
        // `take` before `read_until`: the limit applies while reading, not after a line of any
        // length is in memory.
        let length = (&mut *reader).take(max).read_until(b'\n', &mut line)? as u64;
        if length == 0 {
            break;
        }
        if length == max && line.last() != Some(&b'\n') {
            let what = format!("line {number} is longer than {max} bytes");
            // After the header this is an error, not damage: damage would be salvaged up to here
            // and the rest dropped.
            if prev.is_some() {
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            contents.damage = Some(JournalDamage {
                line: number,
                what: format!("no journal header: {what}"),
                torn: false,
            });
            break;
        }
        // Only a crash during an append leaves a line without its line feed.
        if line.last() != Some(&b'\n') {
            contents.damage = Some(JournalDamage {
                line: number,
                what: "the last line is truncated".to_owned(),
                torn: true,
            });
            break;
        }
        let outcome = match (std::str::from_utf8(&line), prev) {
            (Err(_), _) => Err("not UTF-8".to_owned()),
            (Ok(text), None) => {
                contents.newer = newer_format_version(text);
                parse_journal_header(text).map(|store| {
                    prev = Some(chain_start_hash(&store));
                    contents.store = Some(store);
                })
            }
            (Ok(text), Some(before)) => parse_journal_line(text, before).and_then(|entry| {
                // The chain alone would accept a gap in the ids, and ids are what users refer to.
                let last = contents.entries.last();
                let expected = last.map(|last| last.operation.id.next_id());
                if expected.is_some_and(|expected| expected != entry.operation.id) {
                    return Err(format!("operation {} is out of order", entry.operation.id));
                }
                if contents.entries.len() == max_entries {
                    return Err(format!("more than {max_entries} operations"));
                }
                prev = Some(entry.hash);
                contents.entries.push(entry);
                Ok(())
            }),
        };
        if let Err(what) = outcome {
            contents.damage = Some(JournalDamage {
                line: number,
                what,
                torn: false,
            });
            break;
        }
        // Counted only for verified lines: the file is truncated to this size on the next write.
        contents.good_size += length;
    }
    Ok(contents)
}

pub(crate) fn render_journal_header(store: &StoreId) -> io::Result<String> {
    let header = JournalHeader {
        format: JOURNAL_FORMAT,
        store: store.clone(),
    };
    Ok(serde_json::to_string(&header).map_err(io::Error::other)? + "\n")
}

pub(crate) fn parse_journal_header(text: &str) -> Result<StoreId, String> {
    let header: JournalHeader =
        serde_json::from_str(text).map_err(|error| format!("no journal header: {error}"))?;
    if header.format != JOURNAL_FORMAT {
        return Err(format!("unknown journal format {}", header.format));
    }
    Ok(header.store)
}

/// Returns a header's format version if it is above ours, whatever other fields it has.
pub(crate) fn newer_format_version(text: &str) -> Option<u32> {
    // Only the one field: a newer header may have lost or changed all the others.
    #[derive(Deserialize)]
    struct Format {
        #[serde(rename = "throughline-journal")]
        format: u32,
    }
    let header: Format = serde_json::from_str(text).ok()?;
    (header.format > JOURNAL_FORMAT).then_some(header.format)
}

/// Parses and verifies one line, which follows `prev`.
pub(crate) fn parse_journal_line(text: &str, prev: Digest32) -> Result<ChainedOperation, String> {
    // `op` stays raw, because the hash covers the bytes as written, not a re-serialisation.
    let line: ParsedLine<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let body = line.op.get();
    if line.prev != prev {
        return Err("broken hash chain: this line does not follow the one before".to_owned());
    }
    if hash_operation(prev, body) != line.hash {
        return Err("hash mismatch: the operation was changed".to_owned());
    }
    let operation: Operation = serde_json::from_str(body).map_err(|error| error.to_string())?;
    let mut texts = Vec::with_capacity(line.texts.len());
    for (hash, text) in line.texts {
        let found = VersionHash::of_bytes(text.as_bytes());
        if found.to_string() != hash {
            return Err(format!("hash mismatch of text {hash}"));
        }
        texts.push((found, text));
    }
    Ok(ChainedOperation {
        operation,
        body: body.to_owned(),
        texts,
        prev,
        hash: line.hash,
    })
}

/// Renders the journal line of an operation whose JSON is `body`.
pub(crate) fn render_journal_line(
    body: &str,
    texts: &[(VersionHash, &str)],
    prev: Digest32,
    hash: Digest32,
) -> io::Result<String> {
    let texts: BTreeMap<String, &str> = texts
        .iter()
        .map(|(hash, text)| (hash.to_string(), *text))
        .collect();
    // Reserved up front, an eighth more for JSON escapes: with a text of a megabyte the growing
    // buffer would be copied again and again.
    let size = body.len()
        + texts
            .values()
            .map(|text| text.len() + text.len() / 8)
            .sum::<usize>()
        + 512;
    let mut line = Vec::with_capacity(size);
    // By hand around the body: it was serialised a moment ago or came from the database with its
    // hash, and parsing megabytes of it again as a raw value would only copy them.
    line.extend_from_slice(b"{\"op\":");
    line.extend_from_slice(body.as_bytes());
    line.extend_from_slice(b",\"texts\":");
    serde_json::to_writer(&mut line, &texts).map_err(io::Error::other)?;
    write!(line, ",\"prev\":\"{prev}\",\"hash\":\"{hash}\"}}")?;
    line.push(b'\n');
    String::from_utf8(line).map_err(io::Error::other)
}
