//! Commits that name something in their message.

use domain::ports::{NamedCommit, StoreFault};

use super::place::Place;
use super::process;

/// More than that is no trace any more.
const MOST_COMMITS: &str = "--max-count=100";

/// Returns the commits of all branches whose message holds `word`, the newest first.
pub(super) fn commits_naming(place: &Place, word: &str) -> Result<Vec<NamedCommit>, StoreFault> {
    // An empty word is in every message.
    if word.is_empty() {
        return Ok(Vec::new());
    }
    let wanted = format!("--grep={word}");
    let arguments = [
        "log",
        "--all",
        "--fixed-strings",
        &wanted,
        "--no-color",
        "--no-show-signature",
        "--encoding=UTF-8",
        "-z",
        "--format=%H%n%s",
        MOST_COMMITS,
        "--",
    ];
    let ended = process::run(place, &arguments, process::text)?;
    if ended.code != 0 {
        // Most of all: a repository without any commit.
        return Ok(Vec::new());
    }
    let one = |record: &str| {
        let (id, subject) = record.split_once('\n')?;
        Some(NamedCommit {
            id: id.to_owned(),
            subject: subject.to_owned(),
        })
    };
    Ok(ended.said.split_terminator('\0').filter_map(one).collect())
}
