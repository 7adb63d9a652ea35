//! The journal: every operation, one JSON line each, chained by hashes.
//!
//! A line is `{"op":…,"texts":{hash: text},"prev":"…","hash":"…"}`; `hash` is the SHA-256 of `prev`
//! and the bytes of `op`, and stands last so that the end of the file tells where the chain stands.
//! Texts are checked by their own hashes. The first line names the store.

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

/// The journal format this program reads and writes.
const JOURNAL_FORMAT: u32 = 1;

/// The hash that stands before the first operation.
pub(crate) fn chain_start(store: &StoreId) -> Digest32 {
    Digest32::of(format!("throughline-journal 1 {store}").as_bytes())
}

/// The hash of an operation in the chain.
pub(crate) fn chain(prev: Digest32, body: &str) -> Digest32 {
    let mut bytes = Vec::with_capacity(32 + body.len());
    bytes.extend_from_slice(&prev.0);
    bytes.extend_from_slice(body.as_bytes());
    Digest32::of(&bytes)
}

/// A header is a number and an id: anything longer is another file.
const MAX_HEADER_BYTES: u64 = 4096;

#[derive(Serialize, Deserialize)]
struct Header {
    #[serde(rename = "throughline-journal")]
    format: u32,
    store: StoreId,
}

#[derive(Serialize)]
struct LineOut<'a> {
    op: &'a RawValue,
    texts: &'a BTreeMap<String, &'a str>,
    prev: Digest32,
    hash: Digest32,
}

#[derive(Deserialize)]
struct LineIn<'a> {
    #[serde(borrow)]
    op: &'a RawValue,
    texts: BTreeMap<String, String>,
    prev: Digest32,
    hash: Digest32,
}

/// One operation as it stands in the journal.
#[derive(Clone, Debug)]
pub(crate) struct JournalEntry {
    pub(crate) operation: Operation,
    pub(crate) body: String,
    pub(crate) texts: Vec<(VersionHash, String)>,
    pub(crate) prev: Digest32,
    pub(crate) hash: Digest32,
}

/// Everything that could be read, and where reading had to stop.
pub(crate) struct JournalContents {
    pub(crate) store: Option<StoreId>,
    pub(crate) entries: Vec<JournalEntry>,
    /// Bytes of the file up to the last good line.
    pub(crate) good_size: u64,
    pub(crate) damage: Option<JournalDamage>,
    /// The format its header names, when a newer program wrote it.
    pub(crate) newer: Option<u32>,
}

impl JournalContents {
    /// Refuses a journal that a newer program wrote: it is not damaged, and must not be replaced.
    pub(crate) fn check_format(&self) -> Result<(), StoreFault> {
        match self.newer {
            Some(found) => Err(StoreFault::Newer {
                found: found.into(),
                known: JOURNAL_FORMAT.into(),
            }),
            None => Ok(()),
        }
    }
}

/// What is wrong with a journal, and at which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JournalDamage {
    pub(crate) line: usize,
    pub(crate) what: String,
    /// The last line is cut off: a crash while it was written, not damage.
    pub(crate) torn: bool,
}

/// The journal file.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    path: PathBuf,
}

/// A journal file as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) size: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Journal {
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a new journal with these lines, durably.
    pub(crate) fn write_whole(&self, store: &StoreId, lines: &[String]) -> io::Result<u64> {
        let mut bytes = header(store)?.into_bytes();
        for line in lines {
            bytes.extend_from_slice(line.as_bytes());
        }
        crate::durable::replace(&self.path, &bytes, crate::durable::Durability::Synced)?;
        Ok(bytes.len() as u64)
    }

    /// Returns the store that the first line names, without a look at the rest.
    pub(crate) fn store(&self) -> Option<StoreId> {
        let mut start = [0; 256];
        let length = File::open(&self.path).ok()?.read(&mut start).ok()?;
        let line = start[..length]
            .split_inclusive(|byte| *byte == b'\n')
            .next()?;
        read_header(std::str::from_utf8(line).ok()?).ok()
    }

    /// Returns the file's size; `None` when there is no file.
    pub(crate) fn size(&self) -> io::Result<Option<u64>> {
        Ok(self.mark()?.map(|mark| mark.size))
    }

    /// Returns what tells cheaply whether the file is the one that was looked at before.
    pub(crate) fn mark(&self) -> io::Result<Option<Mark>> {
        match self.path.metadata() {
            Ok(found) => Ok(Some(Mark {
                size: found.len(),
                inode: found.ino(),
                modified: (found.mtime(), found.mtime_nsec()),
                changed: (found.ctime(), found.ctime_nsec()),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Refuses a journal whose header names a newer format.
    pub(crate) fn check_format(&self) -> Result<(), StoreFault> {
        let mut header = Vec::new();
        let read = File::open(&self.path).and_then(|file| {
            BufReader::new(file.take(MAX_HEADER_BYTES)).read_until(b'\n', &mut header)
        });
        let newer = read
            .ok()
            .and_then(|_| newer_format(std::str::from_utf8(&header).ok()?));
        match newer {
            Some(found) => Err(StoreFault::Newer {
                found: found.into(),
                known: JOURNAL_FORMAT.into(),
            }),
            None => Ok(()),
        }
    }

    /// Says whether the bytes before `size` end in `hash`: the chain stands where it should.
    ///
    /// A journal without operations ends in its header, which is compared instead.
    pub(crate) fn ends_in(&self, store: &StoreId, size: u64, hash: Digest32) -> io::Result<bool> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let expected = if hash == chain_start(store) {
            header(store)?
        } else {
            format!("\"hash\":\"{hash}\"}}\n")
        };
        let length = expected.len() as u64;
        let Some(start) = size.checked_sub(length) else {
            return Ok(false);
        };
        file.seek(SeekFrom::Start(start))?;
        let mut tail = Vec::with_capacity(expected.len());
        file.take(length).read_to_end(&mut tail)?;
        Ok(tail == expected.as_bytes())
    }

    /// Appends lines and waits until they are on disk. Returns the new size.
    pub(crate) fn append(&self, lines: &[String]) -> io::Result<u64> {
        let mut file = OpenOptions::new()
            .append(true)
            .mode(0o600)
            .open(&self.path)?;
        let mut size = file.metadata()?.len();
        // One write: a crash leaves a torn last line at worst.
        let bytes: Cow<'_, str> = match lines {
            [line] => line.into(),
            lines => lines.concat().into(),
        };
        file.write_all(bytes.as_bytes())?;
        size += bytes.len() as u64;
        file.sync_data()?;
        Ok(size)
    }

    /// Cuts the file back to a size it had.
    pub(crate) fn cut(&self, size: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(&self.path)?;
        file.set_len(size)?;
        file.sync_data()
    }

    /// Reads and checks the whole journal.
    pub(crate) fn read_all(&self) -> io::Result<JournalContents> {
        self.read_from(0, None)
    }

    /// Reads and checks the lines after `size`, which follow `prev`; `(0, None)` reads everything.
    pub(crate) fn read_from(
        &self,
        size: u64,
        prev: Option<Digest32>,
    ) -> io::Result<JournalContents> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(size))?;
        read_lines(&mut BufReader::new(file), size, prev, u64::MAX, usize::MAX)
    }
}

/// Reads and checks the lines of a journal after `size`, which follow `prev`; `(0, None)` when they begin with its header.
///
/// A line above `max_line` bytes or more than `max_entries` operations are an error: no more than that is ever in memory.
pub(crate) fn read_lines(
    reader: &mut dyn BufRead,
    size: u64,
    prev: Option<Digest32>,
    max_line: u64,
    max_entries: usize,
) -> io::Result<JournalContents> {
    let mut contents = JournalContents {
        store: None,
        entries: Vec::new(),
        good_size: size,
        damage: None,
        newer: None,
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
        let length = (&mut *reader).take(max).read_until(b'\n', &mut line)? as u64;
        if length == 0 {
            break;
        }
        if length == max && line.last() != Some(&b'\n') {
            let what = format!("line {number} is longer than {max} bytes");
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
        // Only a crash while the last line was written leaves it without its line end.
        if line.last() != Some(&b'\n') {
            contents.damage = Some(JournalDamage {
                line: number,
                what: "the last line is cut off".to_owned(),
                torn: true,
            });
            break;
        }
        let outcome = match (std::str::from_utf8(&line), prev) {
            (Err(_), _) => Err("not UTF-8".to_owned()),
            (Ok(text), None) => {
                contents.newer = newer_format(text);
                read_header(text).map(|store| {
                    prev = Some(chain_start(&store));
                    contents.store = Some(store);
                })
            }
            (Ok(text), Some(before)) => read_line(text, before).and_then(|entry| {
                let expected = contents.entries.last().map(|last| last.operation.id.next());
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
        contents.good_size += length;
    }
    Ok(contents)
}

pub(crate) fn header(store: &StoreId) -> io::Result<String> {
    let header = Header {
        format: JOURNAL_FORMAT,
        store: store.clone(),
    };
    Ok(serde_json::to_string(&header).map_err(io::Error::other)? + "\n")
}

fn read_header(text: &str) -> Result<StoreId, String> {
    let header: Header =
        serde_json::from_str(text).map_err(|error| format!("no journal header: {error}"))?;
    if header.format != JOURNAL_FORMAT {
        return Err(format!("journal format {} is not known", header.format));
    }
    Ok(header.store)
}

/// Returns the format a header names if it is above ours, whatever else is in it.
fn newer_format(text: &str) -> Option<u32> {
    #[derive(Deserialize)]
    struct Format {
        #[serde(rename = "throughline-journal")]
        format: u32,
    }
    let header: Format = serde_json::from_str(text).ok()?;
    (header.format > JOURNAL_FORMAT).then_some(header.format)
}

/// Reads one line, which follows `prev`.
pub(crate) fn read_line(text: &str, prev: Digest32) -> Result<JournalEntry, String> {
    let line: LineIn<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let body = line.op.get();
    if line.prev != prev {
        return Err("the chain is broken: this line does not follow the one before".to_owned());
    }
    if chain(prev, body) != line.hash {
        return Err("the line's hash does not fit its operation".to_owned());
    }
    let operation: Operation = serde_json::from_str(body).map_err(|error| error.to_string())?;
    let mut texts = Vec::with_capacity(line.texts.len());
    for (hash, text) in line.texts {
        let found = VersionHash::of(text.as_bytes());
        if found.to_string() != hash {
            return Err(format!("a text does not fit its hash {hash}"));
        }
        texts.push((found, text));
    }
    Ok(JournalEntry {
        operation,
        body: body.to_owned(),
        texts,
        prev,
        hash: line.hash,
    })
}

/// Returns the line of an operation whose JSON is `body`.
pub(crate) fn line(
    body: &str,
    texts: &[(VersionHash, &str)],
    prev: Digest32,
    hash: Digest32,
) -> io::Result<String> {
    let op: &RawValue = serde_json::from_str(body).map_err(io::Error::other)?;
    let texts: BTreeMap<String, &str> = texts
        .iter()
        .map(|(hash, text)| (hash.to_string(), *text))
        .collect();
    // A text of a megabyte would be moved again and again while the line grows.
    let size = body.len()
        + texts
            .values()
            .map(|text| text.len() + text.len() / 8)
            .sum::<usize>()
        + 512;
    let mut line = Vec::with_capacity(size);
    serde_json::to_writer(
        &mut line,
        &LineOut {
            op,
            texts: &texts,
            prev,
            hash,
        },
    )
    .map_err(io::Error::other)?;
    line.push(b'\n');
    String::from_utf8(line).map_err(io::Error::other)
}
