//! Backup files: a zstd-compressed journal, decompressed with limits.
//!
//! A backup is untrusted input, and 94 KB of zstd can hold 3 GB of zeros. Reading streams and stops
//! at the first invalid line; the limits bound what well-formed lines can take.

use std::fs;
use std::io::{self, BufReader, Read};
use std::path::Path;

use domain::ports::StoreFault;

use crate::durable::{Durability, replace_file};
use crate::engine::io_fault;
use crate::journal;
use crate::store_dump::StoreDump;

/// Maximum line length: one operation with its texts. SQLite, which stores the same body, takes at
/// most a gigabyte; the first scan of 5,000 plans of 64 KiB is a third of this.
const MAX_BACKUP_LINE_BYTES: u64 = 1 << 30;

/// Maximum number of operations: 20,000 a day for a year and a half.
const MAX_BACKUP_OPERATIONS: usize = 10_000_000;

/// Decompressed size that is always allowed; any machine can hold it.
const MIN_BACKUP_LIMIT_BYTES: u64 = 64 << 20;

/// Maximum compression ratio. An operation has two hashes, 64 incompressible bytes in some 500;
/// prose compresses by ten at most. A decompression bomb reaches 30,000.
const MAX_BACKUP_RATIO: u64 = 200;

/// Maximum zstd window (128 MiB). Our level 3 uses 2 MiB; the file's header chooses the window, so
/// without a limit it chooses how much memory is allocated.
const MAX_BACKUP_WINDOW_LOG: u32 = 27;

/// Writes a store dump to a file. Returns the file's size.
///
/// # Errors
/// [`StoreFault`] when it cannot be written, or does not read back identically.
pub fn write_backup_file(path: &Path, cargo: &StoreDump) -> Result<u64, StoreFault> {
    let cannot = |error| io_fault("cannot write", path, error);
    let mut text = journal::render_journal_header(&cargo.store).map_err(cannot)?;
    for one in &cargo.recorded {
        text.push_str(&one.to_journal_line()?);
    }
    let packed = zstd::bulk::compress(text.as_bytes(), 3).map_err(cannot)?;
    replace_file(path, &packed, Durability::Synced).map_err(cannot)?;
    // A backup is trusted on the day everything else is lost, so it is verified now.
    if !read_backup_file(path)?.is_same_history(cargo) {
        return Err(StoreFault::Damaged {
            what: format!(
                "verification failed: `{}` does not read back identically",
                path.display()
            ),
        });
    }
    Ok(packed.len() as u64)
}

/// Reads a backup, verifying every line.
///
/// # Errors
/// [`StoreFault::Damaged`] when it is incomplete or above a limit, [`StoreFault::Newer`] when a
/// newer program wrote it.
pub fn read_backup_file(path: &Path) -> Result<StoreDump, StoreFault> {
    let cannot = |error| io_fault("cannot read", path, error);
    let damaged = |what: String| StoreFault::Damaged {
        what: format!("`{}`: {what}", path.display()),
    };
    let metadata = fs::metadata(path).map_err(cannot)?;
    // A named pipe or a device would block, or never end.
    if !metadata.is_file() {
        return Err(damaged("it is not a regular file".to_owned()));
    }
    let file = fs::File::open(path).map_err(cannot)?;
    let mut decoder = zstd::Decoder::new(file).map_err(|error| damaged(error.to_string()))?;
    decoder
        .window_log_max(MAX_BACKUP_WINDOW_LOG)
        .map_err(|error| damaged(error.to_string()))?;
    // Relative to the file's size: a sender of a large file could fill the disk directly as well.
    let max_bytes = metadata
        .len()
        .saturating_mul(MAX_BACKUP_RATIO)
        .max(MIN_BACKUP_LIMIT_BYTES);
    let mut reader = BufReader::new(LimitedReader {
        inner: decoder,
        left: max_bytes,
        max_bytes,
    });
    let contents = journal::read_journal_lines(
        &mut reader,
        0,
        None,
        MAX_BACKUP_LINE_BYTES,
        MAX_BACKUP_OPERATIONS,
    )
    .map_err(|error| damaged(error.to_string()))?;
    // Before the damage check, because a newer format also fails to parse.
    contents.check_format_version()?;
    // Unlike the journal, a torn last line is damage here: a backup was written atomically.
    if let Some(damage) = contents.damage {
        return Err(damaged(format!("line {}: {}", damage.line, damage.what)));
    }
    let store = contents
        .store
        .ok_or_else(|| damaged("it is not a backup".to_owned()))?;
    Ok(StoreDump::new(store, contents.entries))
}

/// A reader that fails above a size, where [`Read::take`] would report the end of the file.
struct LimitedReader<R> {
    inner: R,
    left: u64,
    max_bytes: u64,
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        match self.left.checked_sub(length as u64) {
            Some(left) => self.left = left,
            None => {
                let what = format!(
                    "it decompresses to more than {} bytes, which no backup of this size does",
                    self.max_bytes
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
        }
        Ok(length)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing test may panic")]
mod tests {
    use std::io::Write;

    use domain::ids::StoreId;

    use super::*;

    fn read_refusal(parts: &[&[u8]], zeros: u64) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.tlbackup");
        let mut encoder = zstd::Encoder::new(fs::File::create(&path).unwrap(), 3).unwrap();
        parts
            .iter()
            .for_each(|part| encoder.write_all(part).unwrap());
        io::copy(&mut io::repeat(0).take(zeros), &mut encoder).unwrap();
        encoder.finish().unwrap();
        match read_backup_file(&path) {
            Ok(cargo) => panic!("taken for a backup of {}", cargo.store_id()),
            Err(fault) => fault.to_string(),
        }
    }

    #[test]
    fn compressed_zeros_are_refused_at_their_first_line() {
        let refused = read_refusal(&[], 200 << 20);
        assert!(refused.contains("longer than 4096 bytes"), "{refused}");
    }

    #[test]
    fn a_header_with_compressed_zeros_behind_it_is_refused_at_the_size_limit() {
        let header = journal::render_journal_header(&StoreId(
            "00000000-0000-4000-8000-000000000000".to_owned(),
        ))
        .unwrap();
        let refused = read_refusal(&[header.as_bytes()], 200 << 20);
        assert!(
            refused.contains("decompresses to more than 67108864 bytes"),
            "{refused}"
        );
    }

    #[test]
    fn a_newer_backup_is_called_newer_not_damaged() {
        let refused = read_refusal(
            &[b"{\"throughline-journal\":2,\"store\":\"x\",\"more\":1}\n"],
            0,
        );
        assert!(refused.contains("newer version"), "{refused}");
    }

    #[test]
    fn more_operations_or_longer_lines_than_allowed_are_refused() {
        let store = StoreId("00000000-0000-4000-8000-000000000000".to_owned());
        let header = journal::render_journal_header(&store).unwrap();
        let text = format!("{header}{}\n", "x".repeat(10_000));
        let long = journal::read_journal_lines(&mut text.as_bytes(), 0, None, 5_000, usize::MAX);
        assert!(long.is_err_and(|error| {
            error
                .to_string()
                .contains("line 2 is longer than 5000 bytes")
        }));
    }
}
