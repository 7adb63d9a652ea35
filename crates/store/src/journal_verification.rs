//! Verification of a journal, line by line, in little memory.
//!
//! The first scan of a large project is one line with every text in it, a hundred megabytes at
//! 50,000 plans. A line of that size is verified while it is read (`long_journal_line.rs`), and its
//! texts are hashed and dropped one by one.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use domain::ids::{Digest32, VersionHash};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::journal::{
    Journal, JournalContents, JournalDamage, MAX_HEADER_BYTES, chain_start_hash, hash_operation,
    newer_format_version, parse_journal_header,
};
use crate::long_journal_line::{LineFault, LongOperation, read_long_line};
use crate::replayed_history::UnparsedOperation;

/// Up to which size a line is read as a whole, which is faster to parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineBuffer(u64);

impl LineBuffer {
    /// For a process that ends with the check: ten thousand plans, but not fifty thousand.
    pub(crate) const LARGE: Self = Self(16 * 1024 * 1024);
    /// For a server, which keeps the memory it once needed.
    pub(crate) const SMALL: Self = Self(1024 * 1024);
}

/// A line whose hash and texts are right; its operation is not parsed yet.
#[derive(Deserialize)]
pub(crate) struct VerifiedLine {
    #[serde(deserialize_with = "keep_operation")]
    op: LineOperation,
    /// Hashes and sizes of the texts that came with it.
    #[serde(rename = "texts", deserialize_with = "verify_texts")]
    pub(crate) text_sizes: Vec<(VersionHash, u64)>,
    pub(crate) prev: Digest32,
    pub(crate) hash: Digest32,
}

/// The operation of a line, not parsed yet.
enum LineOperation {
    Text(Box<RawValue>),
    Long(LongOperation),
}

fn keep_operation<'d, D: Deserializer<'d>>(value: D) -> Result<LineOperation, D::Error> {
    Box::deserialize(value).map(LineOperation::Text)
}

impl VerifiedLine {
    /// Parses the operation without its facts.
    pub(crate) fn parse_operation(&self) -> Result<UnparsedOperation<'_>, serde_json::Error> {
        match &self.op {
            LineOperation::Text(body) => UnparsedOperation::parse(body.get()),
            LineOperation::Long(operation) => UnparsedOperation::read_head_of(operation),
        }
    }

    /// Checks the place in the chain; `found` is the hash that the operation has there.
    fn check_hashes(self, prev: Digest32, found: Digest32) -> Result<Self, String> {
        if self.prev != prev {
            return Err("broken hash chain: this line does not follow the one before".to_owned());
        }
        if found != self.hash {
            return Err("hash mismatch: the operation was changed".to_owned());
        }
        Ok(self)
    }
}

/// Parses and verifies a line that is in memory.
fn verify_short_line(text: &str, prev: Digest32) -> Result<VerifiedLine, String> {
    let line: VerifiedLine = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let found = match &line.op {
        LineOperation::Text(body) => hash_operation(prev, body.get()),
        LineOperation::Long(_) => return Err("it was not read".to_owned()),
    };
    line.check_hashes(prev, found)
}

/// Verifies a line between two offsets while it is read.
fn verify_long_line(
    file: &File,
    place: (u64, u64),
    prev: Digest32,
) -> io::Result<Result<VerifiedLine, String>> {
    let line = match read_long_line(file, place, prev) {
        Ok(line) => line,
        Err(LineFault::Io(error)) => return Err(error),
        Err(LineFault::Invalid(what)) => return Ok(Err(what)),
    };
    let found = line.found_hash;
    let line = VerifiedLine {
        op: LineOperation::Long(line.operation),
        text_sizes: line.text_sizes,
        prev: line.prev,
        hash: line.hash,
    };
    Ok(line.check_hashes(prev, found))
}

/// Compares texts with their hashes, one at a time; returns their sizes.
pub(crate) fn verify_texts<'d, D: Deserializer<'d>>(
    texts: D,
) -> Result<Vec<(VersionHash, u64)>, D::Error> {
    struct TextVisitor;
    impl<'d> Visitor<'d> for TextVisitor {
        type Value = Vec<(VersionHash, u64)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("texts by their hashes")
        }

        fn visit_map<A: MapAccess<'d>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut sizes = Vec::new();
            while let Some((hash, text)) = map.next_entry::<String, String>()? {
                let found = VersionHash::of_bytes(text.as_bytes());
                if found.to_string() != hash {
                    return Err(A::Error::custom(format!("hash mismatch of text {hash}")));
                }
                sizes.push((found, text.len() as u64));
            }
            Ok(sizes)
        }
    }
    texts.deserialize_map(TextVisitor)
}

/// A line as it was read: its length, and what is in it.
struct ReadLine {
    length: u64,
    /// Whether it ends with a line feed. Only a crash during an append leaves one without.
    is_complete: bool,
    outcome: Result<VerifiedLine, String>,
}

impl Journal {
    /// Reads and verifies the whole journal and passes on one line at a time; `each` parses its
    /// operation. The returned contents have no entries.
    pub(crate) fn verify_lines(
        &self,
        line_buffer: LineBuffer,
        each: &mut dyn FnMut(VerifiedLine) -> Result<(), String>,
    ) -> io::Result<JournalContents> {
        let mut reader = BufReader::with_capacity(1 << 16, File::open(self.path())?);
        let mut contents = JournalContents::default();
        let mut buffer = Vec::new();
        if !read_header(&mut reader, &mut buffer, &mut contents)? {
            return Ok(contents);
        }
        let Some(mut prev) = contents.store.as_ref().map(chain_start_hash) else {
            return Ok(contents);
        };
        for number in 2.. {
            let start = contents.good_size;
            let Some(line) = read_line(&mut reader, (&mut buffer, line_buffer), start, prev)?
            else {
                break;
            };
            let outcome = match line.is_complete {
                false => Err("the last line is truncated".to_owned()),
                true => line.outcome.and_then(|line| {
                    prev = line.hash;
                    each(line)
                }),
            };
            if let Err(what) = outcome {
                contents.damage = Some(JournalDamage {
                    line: number,
                    what,
                    torn: !line.is_complete,
                });
                break;
            }
            contents.good_size += line.length;
        }
        Ok(contents)
    }
}

/// Reads the header; `false` if nothing after it can be read.
fn read_header(
    reader: &mut dyn BufRead,
    buffer: &mut Vec<u8>,
    contents: &mut JournalContents,
) -> io::Result<bool> {
    let length = (&mut *reader)
        .take(MAX_HEADER_BYTES)
        .read_until(b'\n', buffer)? as u64;
    if length == 0 {
        return Ok(false);
    }
    let is_complete = buffer.last() == Some(&b'\n');
    let outcome = match std::str::from_utf8(buffer) {
        _ if !is_complete && length == MAX_HEADER_BYTES => Err(format!(
            "no journal header: line 1 is longer than {MAX_HEADER_BYTES} bytes"
        )),
        _ if !is_complete => Err("the last line is truncated".to_owned()),
        Err(_) => Err("not UTF-8".to_owned()),
        Ok(text) => {
            contents.newer = newer_format_version(text);
            parse_journal_header(text)
        }
    };
    match outcome {
        Ok(store) => {
            contents.store = Some(store);
            contents.good_size = length;
            Ok(true)
        }
        Err(what) => {
            contents.damage = Some(JournalDamage {
                line: 1,
                what,
                torn: !is_complete && length < MAX_HEADER_BYTES,
            });
            Ok(false)
        }
    }
}

/// Reads the line that begins at `start` and follows `prev`; `None` at the end of the file.
fn read_line(
    reader: &mut BufReader<File>,
    (buffer, LineBuffer(max_bytes)): (&mut Vec<u8>, LineBuffer),
    start: u64,
    prev: Digest32,
) -> io::Result<Option<ReadLine>> {
    buffer.clear();
    let length = reader.by_ref().take(max_bytes).read_until(b'\n', buffer)? as u64;
    if length == 0 {
        return Ok(None);
    }
    let is_complete = buffer.last() == Some(&b'\n');
    if is_complete || length < max_bytes {
        let outcome = match std::str::from_utf8(buffer) {
            Err(_) => Err("not UTF-8".to_owned()),
            Ok(text) => verify_short_line(text, prev),
        };
        return Ok(Some(ReadLine {
            length,
            is_complete,
            outcome,
        }));
    }
    // Too long for memory: its end is found without keeping it, and it is verified while it is
    // read again.
    *buffer = Vec::new();
    let length = length + reader.skip_until(b'\n')? as u64;
    reader.seek(SeekFrom::Start(start + length - 1))?;
    let mut last = [0];
    reader.read_exact(&mut last)?;
    let outcome = verify_long_line(reader.get_ref(), (start, start + length), prev)?;
    Ok(Some(ReadLine {
        length,
        is_complete: last == *b"\n",
        outcome,
    }))
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "a test makes and damages a journal of its own"
)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use domain::ids::StoreId;

    use super::*;
    use crate::journal::{render_journal_header, render_journal_line};

    /// A journal with a line of `texts` megabytes and a short one after it.
    fn make_journal(folder: &std::path::Path, texts: usize) -> Journal {
        let store = StoreId("s".to_owned());
        let mut prev = chain_start_hash(&store);
        let mut bytes = render_journal_header(&store).unwrap();
        for (id, count) in [(1, texts), (2, 1)] {
            let body = &render_operation(id);
            let texts: Vec<String> = (0..count)
                .map(|number| format!("{number}\n").repeat(1 << 19))
                .collect();
            let texts: Vec<(VersionHash, &str)> = texts
                .iter()
                .map(|text| (VersionHash::of_bytes(text.as_bytes()), text.as_str()))
                .collect();
            let hash = hash_operation(prev, body);
            bytes += &render_journal_line(body, &texts, prev, hash).unwrap();
            prev = hash;
        }
        let path = folder.join("journal.jsonl");
        fs::write(&path, bytes).unwrap();
        Journal::new(&path)
    }

    fn render_operation(id: u64) -> String {
        format!(
            "{{\"id\":{id},\"at\":\"2026-11-18T00:00:00Z\",\"by\":\"system\",\"channel\":\"cli\",\
             \"verb\":\"observe\",\"summary\":\"braces in a string: }} ]] \\\" }}\",\"facts\":[]}}"
        )
    }

    /// Returns the ids of the verified lines, with the number of their texts, and the damage.
    fn verify_all(journal: &Journal) -> (Vec<(u64, usize)>, Option<JournalDamage>) {
        verify_with(LineBuffer::SMALL, journal)
    }

    fn verify_with(
        line_buffer: LineBuffer,
        journal: &Journal,
    ) -> (Vec<(u64, usize)>, Option<JournalDamage>) {
        let mut lines = Vec::new();
        let contents = journal
            .verify_lines(line_buffer, &mut |line| {
                let operation = line.parse_operation().unwrap();
                lines.push((operation.operation_id().0, line.text_sizes.len()));
                Ok(())
            })
            .unwrap();
        let size = fs::metadata(journal.path()).unwrap().len();
        assert_eq!(contents.damage.is_none(), contents.good_size == size);
        (lines, contents.damage)
    }

    #[test]
    fn a_line_longer_than_the_buffer_is_verified_like_a_short_one() {
        let folder = tempfile::tempdir().unwrap();
        for (texts, line_buffer) in [(3, LineBuffer::LARGE), (3, LineBuffer::SMALL)] {
            let journal = make_journal(folder.path(), texts);
            let (lines, damage) = verify_with(line_buffer, &journal);
            assert_eq!(damage, None);
            assert_eq!(lines, [(1, texts), (2, 1)]);
        }
    }

    #[test]
    fn a_changed_text_in_a_long_line_is_damage_of_that_line() {
        let folder = tempfile::tempdir().unwrap();
        let journal = make_journal(folder.path(), 3);
        let text = fs::read_to_string(journal.path()).unwrap();
        fs::write(journal.path(), text.replacen("2\\n2", "2\\n1", 1)).unwrap();
        let (lines, damage) = verify_all(&journal);
        let damage = damage.unwrap();
        assert!(lines.is_empty());
        assert_eq!((damage.line, damage.torn), (2, false));
        assert!(damage.what.contains("hash mismatch of text"), "{damage:?}");
    }

    #[test]
    fn a_long_line_without_its_end_is_torn() {
        let folder = tempfile::tempdir().unwrap();
        let journal = make_journal(folder.path(), 3);
        let file = fs::OpenOptions::new()
            .write(true)
            .open(journal.path())
            .unwrap();
        file.set_len(LineBuffer::SMALL.0 + 4096).unwrap();
        let (lines, damage) = verify_all(&journal);
        assert!(lines.is_empty());
        assert!(damage.is_some_and(|damage| damage.torn && damage.line == 2));
        // What a crash leaves after complete lines.
        let mut file = fs::OpenOptions::new()
            .append(true)
            .open(journal.path())
            .unwrap();
        file.write_all(b"\n").unwrap();
        let (_, damage) = verify_all(&journal);
        assert!(damage.is_some_and(|damage| !damage.torn));
    }
}
