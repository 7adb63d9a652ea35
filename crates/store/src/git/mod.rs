//! Read-only access to the project's git repository: HEAD, its moves, uncommitted lines, commits.
//!
//! HEAD, refs, reflog and index are parsed here without git: every hook event needs HEAD, and a few
//! small files answer in microseconds where a process takes milliseconds. A `git` process is
//! started only for what needs git itself, such as line counts. Nothing here writes to the
//! repository.

mod changes;
mod command;
mod counted;
mod head;
mod history;
mod index;
mod named;
mod naming;
mod place;
mod process;
mod reflog;
mod uncommitted;

use std::path::{Path, PathBuf};

use domain::ports::{ChangedLines, Git, Head, HeadMove, NamedCommit, StoreFault};

pub use changes::GitChanges;
use counted::TakenUp;
use place::Place;

/// The repository of one project, located again on every call: it may appear or vanish while a
/// server runs.
#[derive(Debug)]
pub struct DiskGit {
    root: PathBuf,
}

impl DiskGit {
    /// Opens the repository around the project directory `root`. Does not touch the disk; a missing
    /// repository shows in the first query.
    #[must_use]
    pub fn open(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }
}

impl Git for DiskGit {
    fn head(&self) -> Result<Head, StoreFault> {
        Place::find(&self.root)?.map_or(Ok(Head::NoRepository), |place| head::head(&place))
    }

    fn under_way(&self) -> Option<&'static str> {
        head::under_way(&Place::find(&self.root).ok()??)
    }

    fn moves_since(&self, since: &str) -> Result<Option<Vec<HeadMove>>, StoreFault> {
        let Some(place) = Place::find(&self.root)? else {
            return Ok(None);
        };
        let Head::At(now) = head::head(&place)? else {
            return Ok(None);
        };
        if now == since {
            return Ok(Some(Vec::new()));
        }
        // The reflog first: it names amends, resets and rebases, which the commit graph cannot tell
        // apart, and it costs no process. `core.logAllRefUpdates=false` leaves only the graph.
        match reflog::moves(&place, since, &now)? {
            Some(told) => Ok(told),
            None => history::moves(&place, since),
        }
    }

    fn uncommitted(&self, paths: &[String]) -> Result<Vec<ChangedLines>, StoreFault> {
        let Some(place) = Place::find(&self.root)? else {
            return Ok(Vec::new());
        };
        if !paths.is_empty() {
            // Stat before counting: a file written in between then has another stamp than the
            // cached one and is counted again. The other order would cache a stale count as valid.
            let before = counted::looks_of(&place, paths)?;
            let found = match named::uncommitted(&place, paths)? {
                Some(found) => found,
                None => uncommitted::uncommitted(&place, paths)?.lines,
            };
            counted::correct(&place, paths, &before, &found);
            return Ok(found);
        }
        let unlike = match counted::take_up(&place)? {
            TakenUp::Stands(lines) => return Ok(lines),
            TakenUp::Not { unlike } => unlike,
        };
        let found = uncommitted::uncommitted(&place, paths)?;
        counted::remember(&place, &found, &unlike)?;
        Ok(found.lines)
    }

    fn commits_naming(&self, word: &str) -> Result<Vec<NamedCommit>, StoreFault> {
        Place::find(&self.root)?
            .map_or(Ok(Vec::new()), |place| naming::commits_naming(&place, word))
    }
}

/// Builds the fault for a failed `action` on the repository.
fn fault(
    action: impl Into<String>,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> StoreFault {
    StoreFault::Io {
        action: action.into(),
        source: source.into(),
    }
}

/// Whether `text` is a full SHA-1 or SHA-256 in lower-case hex.
fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64)
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether `hash` is git's null object id (all zeros), which stands for "no commit".
fn is_none(hash: &str) -> bool {
    hash.bytes().all(|byte| byte == b'0')
}
