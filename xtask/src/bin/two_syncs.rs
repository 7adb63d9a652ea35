//! The floor of a write that must not be lost: start, make two small writes durable, end.
//!
//! The first is the size of a journal line, appended; the second that of the pages SQLite adds to its
//! write-ahead log for one operation. Takes the directory to write in.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const LINE: usize = 1_024;
const PAGES: usize = 24 * 1_024;
/// SQLite's log is emptied now and then; so is ours.
const LONGEST_LOG: u64 = 1_024 * 1_024;

fn main() -> io::Result<()> {
    let directory = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| ".".into()));
    append(&directory.join("line"), LINE)?.sync_data()?;
    let log = append(&directory.join("pages"), PAGES)?;
    log.sync_all()?;
    if log.metadata()?.len() > LONGEST_LOG {
        log.set_len(0)?;
    }
    Ok(())
}

fn append(path: &Path, bytes: usize) -> io::Result<std::fs::File> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(&vec![b'x'; bytes])?;
    Ok(file)
}
