//! Search for commits by a word in their message (`git log --grep`).

use domain::ports::{NamedCommit, StoreFault};

use super::place::Place;
use super::process;

/// Limit of the search; more commits than that do not help to trace a node.
const MOST_COMMITS: &str = "--max-count=100";

/// Returns the commits of all branches whose message contains `word`, newest first.
pub(super) fn commits_naming(place: &Place, word: &str) -> Result<Vec<NamedCommit>, StoreFault> {
    // An empty pattern matches every commit.
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
        // Usually a repository without a commit, which has nothing to find.
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
