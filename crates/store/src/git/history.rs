//! The commit graph: commits since a base, and moves of HEAD where there is no reflog.
//!
//! The graph shows the result, not the commands: an amended commit looks like a commit, and after a
//! reset nothing is known of the moves.

use std::collections::HashMap;

use domain::ports::{CommitHistory, GitHead, HeadMove, HeadMoveKind, HistoryCommit, StoreFault};

use super::repository_paths::RepositoryPaths;
use super::{head, is_null_hash, is_object_hash, process};

/// Limit of the walk; more commits than that between two hooks are not the work of one session.
const MAX_COUNT_OPTION: &str = "--max-count=1000";

/// Returns the commits between `since` and HEAD; `None` if `since` is not a first-parent ancestor
/// of HEAD.
pub(super) fn read_head_moves(
    place: &RepositoryPaths,
    since: &str,
) -> Result<Option<Vec<HeadMove>>, StoreFault> {
    let from_start = is_null_hash(since);
    if !from_start && !is_object_hash(since) {
        return Ok(None);
    }
    let range = if from_start {
        "HEAD".to_owned()
    } else {
        format!("{since}..HEAD")
    };
    // First parents only: commits that a merge brings in were made on another branch.
    let ended = process::run_git(
        place,
        &[
            "log",
            "--first-parent",
            "--reverse",
            "--no-color",
            "--no-show-signature",
            "--encoding=UTF-8",
            "-z",
            "--format=%H%n%P%n%s",
            MAX_COUNT_OPTION,
            &range,
            "--",
        ],
        process::read_to_text,
    )?;
    if ended.code != 0 {
        // Usually `since` was garbage-collected.
        return Ok(None);
    }
    let moves: Option<Vec<HeadMove>> = ended
        .said
        .split_terminator('\0')
        .map(parse_commit)
        .collect();
    // `A..HEAD` also lists commits when A is on another branch; then the first one has another
    // parent, and these commits are not moves from A.
    let starts_there = |moves: &Vec<HeadMove>| {
        moves.first().is_some_and(|first| {
            first
                .from
                .as_deref()
                .map_or(from_start, |from| from == since)
        })
    };
    Ok(moves.filter(starts_there))
}

/// Parses one record: hash, parents and subject, one line each.
fn parse_commit(record: &str) -> Option<HeadMove> {
    let mut lines = record.splitn(3, '\n');
    let (to, parents, subject) = (lines.next()?, lines.next()?, lines.next()?);
    let mut parents = parents.split(' ').filter(|parent| !parent.is_empty());
    let from = parents.next().map(str::to_owned);
    let kind = if parents.next().is_some() {
        HeadMoveKind::Merge
    } else {
        HeadMoveKind::Commit
    };
    Some(HeadMove {
        from,
        to: to.to_owned(),
        kind,
        subject: subject.to_owned(),
    })
}

/// Returns the commits that HEAD has and `base` does not, and the other way round; `None` if git
/// does not know the base any more.
pub(super) fn read_commits_since(
    place: &RepositoryPaths,
    base: Option<&str>,
) -> Result<Option<CommitHistory>, StoreFault> {
    let GitHead::At(now) = head::resolve_head(place)? else {
        return Ok(Some(CommitHistory::default()));
    };
    let base = base.filter(|base| !is_null_hash(base));
    if base == Some(now.as_str()) {
        return Ok(Some(CommitHistory::default()));
    }
    if base.is_some_and(|base| !is_object_hash(base)) {
        return Ok(None);
    }
    let range = base.map_or_else(|| now.clone(), |base| format!("{now}...{base}"));
    let ended = process::run_git(
        place,
        &[
            "log",
            "--topo-order",
            "--reverse",
            "--left-right",
            // Lists the base itself too, for its time.
            "--boundary",
            "--no-color",
            "--no-show-signature",
            "--encoding=UTF-8",
            "-z",
            // The changed files of each commit follow its record.
            "--raw",
            "--no-renames",
            "--no-abbrev",
            "--format=%m%H%n%P%n%T%n%at %ct%n%ae%n%ce%n%s%n%b",
            MAX_COUNT_OPTION,
            &range,
            "--",
        ],
        process::read_to_text,
    )?;
    if ended.code != 0 {
        // Usually the base was garbage-collected.
        return Ok(None);
    }
    if ended.said.is_empty() {
        return Ok(Some(CommitHistory::default()));
    }
    let own = read_own_address(place)?;
    let mut history = CommitHistory::default();
    let records = group_records(&ended.said);
    // The boundary is in the log, so the parent of every commit in the range is known.
    let trees: HashMap<&str, &str> = records
        .iter()
        .filter_map(|(record, _)| parse_tree(record))
        .collect();
    for (record, files) in records {
        let Some(LoggedCommit {
            side,
            is_merge,
            mut commit,
        }) = parse_logged_commit(record, &trees, own.as_deref())
        else {
            continue;
        };
        // Another file mode is no change of content.
        commit.is_empty |= !files.is_empty() && files.iter().all(|file| !file.has_new_content);
        commit.changed_files = files
            .into_iter()
            .filter(|file| file.has_new_content)
            .map(|file| file.path.to_owned())
            .collect();
        if base == Some(commit.hash.as_str()) {
            history.base_committed_at = Some(commit.committed_at);
        }
        match side {
            // Without a base git marks every commit as of the right side.
            '<' | '>' if is_merge => {}
            '<' => history.commits.push(commit),
            '>' if base.is_none() => history.commits.push(commit),
            '>' => history.left.push(commit),
            _ => {}
        }
    }
    Ok(Some(history))
}

/// Returns the mail address that commits of this repository are made under, if one is configured.
fn read_own_address(place: &RepositoryPaths) -> Result<Option<String>, StoreFault> {
    let ended = process::run_git(
        place,
        &["config", "--get", "user.email"],
        process::read_to_text,
    )?;
    let address = ended.said.trim();
    Ok((ended.code == 0 && !address.is_empty()).then(|| address.to_owned()))
}

/// A file that a commit changes.
struct ChangedFile<'l> {
    path: &'l str,
    has_new_content: bool,
}

/// Splits the output of `git log --raw -z` into commits, each with its changed files.
fn group_records(log: &str) -> Vec<(&str, Vec<ChangedFile<'_>>)> {
    let mut records: Vec<(&str, Vec<ChangedFile<'_>>)> = Vec::new();
    let mut fields = log.split_terminator('\0');
    while let Some(field) = fields.next() {
        // `:OLD-MODE NEW-MODE OLD-HASH NEW-HASH LETTER`, and the path in the next field. A commit begins
        // with its mark.
        let Some(change) = field.trim_start_matches('\n').strip_prefix(':') else {
            records.push((field, Vec::new()));
            continue;
        };
        let mut words = change.split(' ').skip(2);
        let has_new_content = words.next() != words.next();
        if let (Some(path), Some((_, files))) = (fields.next(), records.last_mut()) {
            files.push(ChangedFile {
                path,
                has_new_content,
            });
        }
    }
    records
}

/// A record of `git log`.
struct LoggedCommit {
    /// `<` and `>`: the side of the range; `-`: a boundary.
    side: char,
    is_merge: bool,
    commit: HistoryCommit,
}

/// Parses the hashes of a commit and of its tree.
fn parse_tree(record: &str) -> Option<(&str, &str)> {
    let mut lines = record.splitn(4, '\n');
    let first = lines.next()?;
    let hash = first.get(first.chars().next()?.len_utf8()..)?;
    Some((hash, lines.nth(1)?))
}

/// Parses one record: mark and hash, parents, tree, times, author, committer, subject, body.
fn parse_logged_commit(
    record: &str,
    trees: &HashMap<&str, &str>,
    own: Option<&str>,
) -> Option<LoggedCommit> {
    let mut lines = record.splitn(8, '\n');
    let first = lines.next()?;
    let side = first.chars().next()?;
    let hash = first.get(side.len_utf8()..)?;
    let parents = lines.next()?;
    let tree = lines.next()?;
    let (authored_at, committed_at) = lines.next()?.split_once(' ')?;
    let (author, committer, subject) = (lines.next()?, lines.next()?, lines.next()?);
    let body = lines.next().unwrap_or_default();
    Some(LoggedCommit {
        side,
        is_merge: parents.contains(' '),
        commit: HistoryCommit {
            hash: hash.to_owned(),
            subject: subject.to_owned(),
            authored_at: authored_at.parse().ok()?,
            committed_at: committed_at.parse().ok()?,
            author: author.to_owned(),
            reverts: parse_reverted_hash(body),
            is_foreign: own.is_some_and(|own| own != committer),
            is_empty: trees.get(parents).is_some_and(|before| *before == tree),
            changed_files: Vec::new(),
        },
    })
}

/// Parses the id in git's own words of a revert: `This reverts commit HASH.`
fn parse_reverted_hash(body: &str) -> Option<String> {
    let (_, rest) = body.split_once("This reverts commit ")?;
    let hash: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
    is_object_hash(&hash).then_some(hash)
}
