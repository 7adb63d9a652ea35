//! The index, read by hand: which files git follows, and what they looked like when it last compared them.
//!
//! Forms 2 and 3, which git writes unless it is told otherwise. Of any other, or of one whose other half is elsewhere, `None`.

/// A file git follows.
pub(super) struct Entry<'i> {
    /// Relative to the top of the working tree.
    pub(super) name: &'i [u8],
    /// What `stat` said of the file.
    seen: &'i [u8],
    /// Said by the user to be left alone.
    pub(super) left_alone: bool,
}

/// What git keeps of `stat`, cut to as many bits as it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) changed: (u32, u32),
    pub(super) modified: (u32, u32),
    pub(super) inode: u32,
    pub(super) mode: u32,
    pub(super) size: u32,
}

impl Entry<'_> {
    /// Returns what `stat` said when git last compared it.
    pub(super) fn seen(&self) -> Seen {
        // The slice has forty bytes: it was cut so.
        let number = |at: usize| {
            let bytes = self
                .seen
                .get(at..at + 4)
                .and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u32::from_be_bytes)
        };
        Seen {
            changed: (number(0), number(4)),
            modified: (number(8), number(12)),
            inode: number(20),
            mode: number(24),
            size: number(36),
        }
    }
}

/// Reads the entries, in git's order; `hash` is the length of a commit's name in bytes.
pub(super) fn entries(index: &[u8], hash: usize) -> Option<Vec<Entry<'_>>> {
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    if index.get(..4)? != b"DIRC" || !matches!(number(4)?, 2 | 3) {
        return None;
    }
    let count = number(8)?;
    let mut found = Vec::with_capacity(usize::try_from(count).ok()?.min(index.len() / 62));
    let mut at = 12;
    for _ in 0..count {
        let flags_at = at + 40 + hash;
        let flags = u16::from_be_bytes(index.get(flags_at..flags_at + 2)?.try_into().ok()?);
        let more = if flags & 0x4000 == 0 {
            0
        } else {
            u16::from_be_bytes(index.get(flags_at + 2..flags_at + 4)?.try_into().ok()?)
        };
        let start = flags_at + if flags & 0x4000 == 0 { 2 } else { 4 };
        let length = match usize::from(flags & 0x0fff) {
            0x0fff => index.get(start..)?.iter().position(|byte| *byte == 0)?,
            known => known,
        };
        found.push(Entry {
            name: index.get(start..start + length)?,
            seen: index.get(at..at + 40)?,
            // Assumed unchanged, or not checked out at all.
            left_alone: flags & 0x8000 != 0 || more & 0x4000 != 0,
        });
        // An entry is filled up with one to eight zero bytes.
        at += (start + length - at) / 8 * 8 + 8;
    }
    // What follows are extensions, a name and a length each; one of them says that half of the index is elsewhere.
    while at + 8 + hash <= index.len() {
        if matches!(index.get(at..at + 4)?, b"link" | b"sdir") {
            return None;
        }
        at += 8 + usize::try_from(number(at + 4)?).ok()?;
    }
    Some(found)
}
