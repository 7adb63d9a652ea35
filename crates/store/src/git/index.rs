//! Parser for git's index file: the tracked files and the stat data git recorded for them.
//!
//! Versions 2 and 3, the ones git writes by default. Version 4, a split index (`link`) and a sparse
//! index (`sdir`) are not parsed; the result is `None`, and callers fall back to a git process.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// One index entry: a tracked file.
pub(super) struct IndexEntry<'i> {
    /// Relative to the top of the working tree.
    pub(super) name: &'i [u8],
    /// The entry's stat data, as in the file: ten big-endian 32-bit numbers.
    seen: &'i [u8],
    /// Flagged `assume-unchanged` or `skip-worktree`.
    pub(super) left_alone: bool,
}

/// The fields of `stat` that the index records, truncated to 32 bits as git does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexStat {
    pub(super) changed: (u32, u32),
    pub(super) modified: (u32, u32),
    pub(super) inode: u32,
    pub(super) mode: u32,
    pub(super) size: u32,
}

impl IndexEntry<'_> {
    /// Returns the stat data of the last time git compared the file.
    pub(super) fn recorded_stat(&self) -> IndexStat {
        // The slice always has forty bytes (see the parser below), so the default is never used.
        // Device, user and group (16, 28, 32) are skipped: git ignores the device by default, and
        // the owner changes no content.
        let number = |at: usize| {
            let bytes = self
                .seen
                .get(at..at + 4)
                .and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u32::from_be_bytes)
        };
        IndexStat {
            changed: (number(0), number(4)),
            modified: (number(8), number(12)),
            inode: number(20),
            mode: number(24),
            size: number(36),
        }
    }
}

/// Returns the number of entries in an index file's header; `None` if it has none.
pub(super) fn read_entry_count(index: &Path) -> Option<u32> {
    let mut header = [0; 12];
    File::open(index).ok()?.read_exact(&mut header).ok()?;
    let [magic @ .., _, _, _, _, a, b, c, d] = header;
    (magic == *b"DIRC").then(|| u32::from_be_bytes([a, b, c, d]))
}

/// Parses the entries, in index order; `hash` is the length of an object id in bytes. `None` for a
/// format that is not supported.
pub(super) fn parse_index_entries(index: &[u8], hash: usize) -> Option<Vec<IndexEntry<'_>>> {
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    if index.get(..4)? != b"DIRC" || !matches!(number(4)?, 2 | 3) {
        return None;
    }
    let count = number(8)?;
    // The count is capped by the file's size (an entry has at least 62 bytes): a damaged header
    // must not make us allocate gigabytes.
    let mut found = Vec::with_capacity(usize::try_from(count).ok()?.min(index.len() / 62));
    let mut at = 12;
    for _ in 0..count {
        let flags_at = at + 40 + hash;
        let flags = u16::from_be_bytes(index.get(flags_at..flags_at + 2)?.try_into().ok()?);
        // Bit 14 announces a second flag word (version 3 only).
        let more = if flags & 0x4000 == 0 {
            0
        } else {
            u16::from_be_bytes(index.get(flags_at + 2..flags_at + 4)?.try_into().ok()?)
        };
        let start = flags_at + if flags & 0x4000 == 0 { 2 } else { 4 };
        // Twelve bits hold the length of the name; a longer name has all of them set and ends at
        // NUL.
        let length = match usize::from(flags & 0x0fff) {
            0x0fff => index.get(start..)?.iter().position(|byte| *byte == 0)?,
            known => known,
        };
        found.push(IndexEntry {
            name: index.get(start..start + length)?,
            seen: index.get(at..at + 40)?,
            // `assume-unchanged` and `skip-worktree`: git does not compare these files either.
            left_alone: flags & 0x8000 != 0 || more & 0x4000 != 0,
        });
        // Entries are padded with one to eight NUL bytes to a multiple of eight.
        at += (start + length - at) / 8 * 8 + 8;
    }
    // Then come extensions, each with a four-byte name and a length. `link` means that entries are
    // in a shared index file, `sdir` that directories stand for files: the list would be
    // incomplete.
    while at + 8 + hash <= index.len() {
        if matches!(index.get(at..at + 4)?, b"link" | b"sdir") {
            return None;
        }
        at += 8 + usize::try_from(number(at + 4)?).ok()?;
    }
    Some(found)
}
