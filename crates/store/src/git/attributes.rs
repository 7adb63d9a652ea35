//! Files that the committed attributes mark as generated: `linguist-generated`, or `-diff`.
//!
//! `git check-attr` looks attributes up and runs no filter, driver or `textconv` program. They are
//! read from HEAD (`--source`), not from the working tree: a `.gitattributes` that an agent writes
//! next to its edits must not lift the `loc` gate before it is committed, where a review sees it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;

use domain::ports::{ChangedLines, GitHead, StoreFault};
use rustix::fs::{Mode, OFlags};

use super::command::has_own_attributes;
use super::named_files::read_nul_records;
use super::repository_paths::RepositoryPaths;
use super::{head, index, process};

const CHECK_ARGUMENTS: &[&str] = &[
    "check-attr",
    "--source=HEAD",
    "-z",
    "diff",
    "linguist-generated",
    "--",
];
/// Words without which a `.gitattributes` file cannot mark a file; `binary` is git's macro for
/// `-diff -merge -text`.
const MARKING_WORDS: &[&[u8]] = &[b"diff", b"binary", b"linguist-generated"];
/// Files looked up per process; keeps the command line below the system's limit.
const FILES_PER_PROCESS: usize = 400;
/// Maximum number of files that are looked up; the others count.
const MAX_CHECKED_FILES: usize = 2_000;
/// A larger `.gitattributes` is not searched, but taken as one that marks files.
const MAX_ATTRIBUTES_BYTES: u64 = 256 * 1024;

/// Sets [`ChangedLines::generated`] where the attributes say so.
pub(super) fn mark_generated_files(
    place: &RepositoryPaths,
    lines: &mut [ChangedLines],
) -> Result<(), StoreFault> {
    let counted: Vec<String> = lines
        .iter()
        .filter(|file| file.added + file.removed > 0)
        .map(|file| file.path.clone())
        .take(MAX_CHECKED_FILES)
        .collect();
    if counted.is_empty() {
        return Ok(());
    }
    let generated = find_generated_files(place, &counted)?;
    for file in lines {
        file.generated = generated.contains(&file.path);
    }
    Ok(())
}

/// Returns those of `paths` that are marked.
fn find_generated_files(
    place: &RepositoryPaths,
    paths: &[String],
) -> Result<BTreeSet<String>, StoreFault> {
    let mut found = BTreeSet::new();
    // Most repositories mark nothing, and then no process is started.
    if !may_mark_files(place)? {
        return Ok(found);
    }
    for some in paths.chunks(FILES_PER_PROCESS) {
        let names = some.iter().map(String::as_str);
        let arguments: Vec<&str> = CHECK_ARGUMENTS.iter().copied().chain(names).collect();
        let ended = process::run_git(place, &arguments, read_nul_records)?;
        // Git before 2.40 has no `--source`. Counting too much is the safe side.
        if ended.code != 0 {
            return Ok(BTreeSet::new());
        }
        for record in ended.said.chunks_exact(3) {
            if let [path, attribute, value] = record
                && is_mark(attribute, value)
            {
                found.insert(path.clone());
            }
        }
    }
    Ok(found)
}

/// Whether an attribute's value excludes the file.
fn is_mark(attribute: &str, value: &str) -> bool {
    match attribute {
        "diff" => value == "unset",
        "linguist-generated" => matches!(value, "set" | "true"),
        _ => false,
    }
}

/// Whether any attributes file could mark files.
fn may_mark_files(place: &RepositoryPaths) -> Result<bool, StoreFault> {
    let GitHead::At(commit) = head::resolve_head(place)? else {
        return Ok(false);
    };
    if has_own_attributes(place) {
        return Ok(true);
    }
    let Ok(bytes) = std::fs::read(place.own.join("index")) else {
        return Ok(false);
    };
    let Some(entries) = index::parse_index_entries(&bytes, commit.len() / 2) else {
        return Ok(true);
    };
    let is_attributes = |name: &[u8]| {
        name.strip_suffix(b".gitattributes")
            .is_some_and(|folder| folder.is_empty() || folder.ends_with(b"/"))
    };
    Ok(entries
        .iter()
        .filter(|entry| is_attributes(entry.name))
        .any(|entry| names_a_mark(place, entry.name)))
}

/// Whether an attributes file in the working tree contains a marking word. Only a filter before the
/// lookup in HEAD: a word that was removed here makes files count, never the other way round.
fn names_a_mark(place: &RepositoryPaths, name: &[u8]) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let path = place.top.join(std::ffi::OsStr::from_bytes(name));
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(&path, flags, Mode::empty()) else {
        return true;
    };
    let mut bytes = Vec::new();
    let read = File::from(file)
        .take(MAX_ATTRIBUTES_BYTES)
        .read_to_end(&mut bytes);
    let is_cut = u64::try_from(bytes.len()).is_ok_and(|length| length >= MAX_ATTRIBUTES_BYTES);
    let has_word = |word: &&[u8]| bytes.windows(word.len()).any(|window| window == *word);
    read.is_err() || is_cut || MARKING_WORDS.iter().any(has_word)
}
