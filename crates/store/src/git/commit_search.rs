//! Search for commits by a word in their message (`git log --grep`).

use domain::ports::{NamedCommit, StoreFault};

use super::process;
use super::repository_paths::RepositoryPaths;

/// Limit of the search; more commits than that do not help to trace a node.
const MAX_COUNT_OPTION: &str = "--max-count=100";

/// Returns the commits of all branches whose message contains `word`, newest first.
pub(super) fn find_commits_naming(
    place: &RepositoryPaths,
    word: &str,
) -> Result<Vec<NamedCommit>, StoreFault> {
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
        MAX_COUNT_OPTION,
        "--",
    ];
    let ended = process::run_git(place, &arguments, process::read_to_text)?;
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
