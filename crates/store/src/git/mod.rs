//! The repository the project lies in: read by hand, one process only to count lines.
//!
//! A hook asks where HEAD is at every event: a few small files answer that in microseconds, a process in milliseconds.
//! Nothing here writes to the repository.

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

/// The repository of one project, looked for anew at every question: it may come and go while a server runs.
#[derive(Debug)]
pub struct DiskGit {
    root: PathBuf,
}

impl DiskGit {
    /// Takes the project's folder. Whether a repository is there is found out when it is asked for.
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

/// A fault of the repository: what we were about to do, and why it failed.
fn fault(
    action: impl Into<String>,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> StoreFault {
    StoreFault::Io {
        action: action.into(),
        source: source.into(),
    }
}

/// Says whether it is a full SHA-1 or SHA-256.
fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64)
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// How git writes that there was no commit.
fn is_none(hash: &str) -> bool {
    hash.bytes().all(|byte| byte == b'0')
}
