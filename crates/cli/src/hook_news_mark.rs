//! Mark of how far a session was told what others did: size, time and inode of the journal then, in one
//! small file per session beside the state.
//!
//! Every operation appends to the journal, so most calls of an agent, which read and concern no plan,
//! cost one `stat` and one short read, not an open state. A state without a journal of its own (a shared
//! database, a team server) has no mark: there the next call that opens the state tells.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use domain::host_event::{Happening, HostEvent};
use domain::ids::Digest32;
use domain::settings::Storage;

use crate::hook_missed_calls::remove_old_files;
use crate::wiring::Project;

/// The folder of the marks, relative to the project. Every `.gitignore` that earlier versions wrote
/// has this prefix: a branch from before must not get an untracked folder.
const FOLDER: &str = ".throughline/.tl-news-marks";

/// The mark of one session, and the journal as it is at this event.
#[derive(Clone, Debug)]
pub(crate) struct NewsMark {
    folder: PathBuf,
    path: PathBuf,
    known: Option<String>,
    now: String,
}

impl NewsMark {
    /// Looks at the journal before an event is handled; `None` if the event tells no news, or there is
    /// no journal that shows them.
    pub(crate) fn of_event(project: &Project, event: &HostEvent) -> Option<Self> {
        let tells_news = matches!(
            event.happening,
            Happening::ToolFinished { .. }
                | Happening::PromptSubmitted { .. }
                | Happening::SessionStarted { .. }
        );
        // A subagent is told nothing that the main agent would then not be told.
        let is_told = tells_news && event.agent.is_none() && !event.session.is_empty();
        let is_local = !matches!(
            project.settings.storage,
            Storage::Postgres | Storage::Remote
        );
        if !is_told || !is_local {
            return None;
        }
        let now = describe_journal(&project.layout.journal)?;
        let folder = project.root.join(FOLDER);
        // A session's name comes from outside: its digest is a safe file name.
        let path = folder.join(Digest32::of_bytes(event.session.as_bytes()).to_string());
        Some(Self {
            known: store::private_files::read_own_file(&path).ok(),
            folder,
            path,
            now,
        })
    }

    /// Whether something was recorded since the session was last told what is new.
    pub(crate) fn is_outdated(&self) -> bool {
        self.known.as_ref() != Some(&self.now)
    }

    /// Stores that the session was told everything up to when the journal was looked at. Errors are
    /// ignored: the next call opens the state once more.
    pub(crate) fn save(&self) {
        if !self.is_outdated() {
            return;
        }
        if self.known.is_none() {
            let _ = store::private_files::create_private_directory(&self.folder);
            // Here, where a file is added: other events pay nothing for it.
            remove_old_files(&self.folder);
        }
        // A torn mark differs from every journal, so it needs neither a sync nor a rename.
        let _ = store::private_files::private_open_options()
            .create(true)
            .write(true)
            .truncate(true)
            .open(&self.path)
            .and_then(|mut file| file.write_all(self.now.as_bytes()));
    }
}

/// Returns what differs after every change of the journal.
fn describe_journal(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    Some(format!(
        "{} {}.{} {}",
        found.size(),
        found.mtime(),
        found.mtime_nsec(),
        found.ino()
    ))
}
