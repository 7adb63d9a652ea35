//! A journal line that is too long for memory: verified while it is read, its facts parsed from the
//! file one at a time.
//!
//! The first scan of 50,000 plans is one operation of 30 megabytes. Kept as text while its facts
//! build the replayed state, it made up a fifth of the memory of `tl check`.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;

use domain::fact::Fact;
use domain::ids::{Digest32, VersionHash};
use domain::operation::OperationHead;
use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use sha2::{Digest as _, Sha256};

use crate::journal_verification::verify_texts;

/// What every line begins with.
const LINE_START: &[u8] = b"{\"op\":";
/// Number of bytes read at once.
const CHUNK_BYTES: usize = 1 << 16;

/// The operation of a long line, in its file.
pub(crate) struct LongOperation {
    file: File,
    start: u64,
    end: u64,
}

/// A long line without its operation.
pub(crate) struct LongLine {
    pub(crate) operation: LongOperation,
    pub(crate) text_sizes: Vec<(VersionHash, u64)>,
    pub(crate) prev: Digest32,
    pub(crate) hash: Digest32,
    /// The hash that the operation has after `prev`.
    pub(crate) found_hash: Digest32,
}

/// Why a line was not read.
pub(crate) enum LineFault {
    Io(io::Error),
    /// It is not a line of a journal.
    Invalid(String),
}

impl From<serde_json::Error> for LineFault {
    fn from(error: serde_json::Error) -> Self {
        match error.io_error_kind() {
            Some(kind) => Self::Io(io::Error::new(kind, error.to_string())),
            None => Self::Invalid(error.to_string()),
        }
    }
}

impl From<io::Error> for LineFault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The rest of a line after its operation.
#[derive(Deserialize)]
struct LineRest {
    #[serde(rename = "texts", deserialize_with = "verify_texts")]
    text_sizes: Vec<(VersionHash, u64)>,
    prev: Digest32,
    hash: Digest32,
}

/// Reads the line between two offsets of a journal; its texts are verified, its hashes are returned.
pub(crate) fn read_long_line(
    file: &File,
    (start, end): (u64, u64),
    prev: Digest32,
) -> Result<LongLine, LineFault> {
    let mut begin = [0; LINE_START.len()];
    file.read_exact_at(&mut begin, start)?;
    if begin != LINE_START {
        return Err(LineFault::Invalid(
            "it does not begin with its operation".to_owned(),
        ));
    }
    let operation = LongOperation {
        file: file.try_clone()?,
        start: start + LINE_START.len() as u64,
        end,
    };
    let (operation, found_hash) = operation.hash_to_its_end(prev)?;
    let mut comma = [0];
    file.read_exact_at(&mut comma, operation.end)?;
    if comma != *b"," {
        return Err(LineFault::Invalid("its texts are missing".to_owned()));
    }
    let rest = FilePart {
        file,
        at: operation.end + 1,
        end,
    };
    let rest = (&b"{"[..]).chain(BufReader::with_capacity(CHUNK_BYTES, rest));
    let rest: LineRest = serde_json::from_reader(rest)?;
    Ok(LongLine {
        operation,
        text_sizes: rest.text_sizes,
        prev: rest.prev,
        hash: rest.hash,
        found_hash,
    })
}

impl LongOperation {
    /// Finds the end of the operation, and its hash after `prev`.
    fn hash_to_its_end(mut self, prev: Digest32) -> Result<(Self, Digest32), LineFault> {
        let (mut hasher, mut scan) = (Sha256::new().chain_update(prev.0), ObjectScan::default());
        let mut buffer = vec![0; CHUNK_BYTES];
        let mut part = self.open_part();
        loop {
            let read = part.read(&mut buffer)?;
            if read == 0 {
                return Err(LineFault::Invalid("its operation has no end".to_owned()));
            }
            let bytes = &buffer[..read];
            match scan.find_end(bytes) {
                None => hasher.update(bytes),
                Some(length) => {
                    hasher.update(&bytes[..length]);
                    let after = (read - length) as u64;
                    self.end = part.at - after;
                    return Ok((self, Digest32(hasher.finalize().into())));
                }
            }
        }
    }

    /// Parses everything but the facts, which are counted.
    pub(crate) fn read_head(&self) -> Result<OperationHead, serde_json::Error> {
        serde_json::from_reader(BufReader::with_capacity(CHUNK_BYTES, self.open_part()))
    }

    /// Parses the facts one at a time, until `each` returns `false`.
    pub(crate) fn visit_facts(
        &self,
        each: &mut dyn FnMut(Fact) -> bool,
    ) -> Result<(), serde_json::Error> {
        let source = BufReader::with_capacity(CHUNK_BYTES, self.open_part());
        let mut parser = serde_json::Deserializer::from_reader(source);
        OperationSeed(each).deserialize(&mut parser)?;
        parser.end()
    }

    fn open_part(&self) -> FilePart<'_> {
        FilePart {
            file: &self.file,
            at: self.start,
            end: self.end,
        }
    }
}

/// A part of a file, read without moving the file's position.
struct FilePart<'f> {
    file: &'f File,
    at: u64,
    end: u64,
}

impl Read for FilePart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let wanted = left.min(buffer.len());
        let read = self.file.read_at(&mut buffer[..wanted], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Scan for the end of a JSON object; whether it is one is found out when it is parsed.
#[derive(Default)]
struct ObjectScan {
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
}

impl ObjectScan {
    /// Returns the number of bytes up to the end of the object, if it is in these bytes.
    fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
        for (index, byte) in bytes.iter().enumerate() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_in_string => self.is_escaped = true,
                b'"' => self.is_in_string = !self.is_in_string,
                _ if self.is_in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(index + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// Passes on the facts of an operation.
struct OperationSeed<'v>(&'v mut dyn FnMut(Fact) -> bool);

impl<'d> DeserializeSeed<'d> for OperationSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'d>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'d> Visitor<'d> for OperationSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an operation")
    }

    fn visit_map<A: MapAccess<'d>>(self, mut map: A) -> Result<(), A::Error> {
        let mut is_visited = false;
        while let Some(key) = map.next_key::<String>()? {
            if key != "facts" {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            if is_visited {
                return Err(A::Error::duplicate_field("facts"));
            }
            is_visited = true;
            map.next_value_seed(FactsSeed(&mut *self.0))?;
        }
        match is_visited {
            true => Ok(()),
            false => Err(A::Error::missing_field("facts")),
        }
    }
}

struct FactsSeed<'v>(&'v mut dyn FnMut(Fact) -> bool);

impl<'d> DeserializeSeed<'d> for FactsSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'d>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'d> Visitor<'d> for FactsSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of facts")
    }

    fn visit_seq<A: SeqAccess<'d>>(self, mut list: A) -> Result<(), A::Error> {
        let mut goes_on = true;
        while goes_on && let Some(fact) = list.next_element()? {
            goes_on = (self.0)(fact);
        }
        // The parser is at the end of a list only after its last element.
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}
