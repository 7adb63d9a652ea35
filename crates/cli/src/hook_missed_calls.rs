//! Notes about tool calls that a hook could not record: one small file per session, beside the state.
//!
//! Appended without the write lock of the state, which is what the hook did not get. The next event of
//! the session records the calls and removes the file.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use application::handle_host_event::UnrecordedCall;
use domain::ids::Digest32;
use domain::ports::Clock;
use domain::session_state::{MissedCall, RETENTION_MS};
use store::{DiskFiles, SystemClock};

/// The folder of the notes, relative to the project.
const FOLDER: &str = ".throughline/missed-calls";
/// Size at which nothing is added to a session's file any more.
const MAX_NOTE_BYTES: u64 = 64 * 1024;

/// The notes of one session in one project.
#[derive(Clone, Debug)]
pub(crate) struct MissedCallNotes {
    root: PathBuf,
    path: PathBuf,
}

impl MissedCallNotes {
    /// Returns the notes of a session.
    pub(crate) fn of_session(root: &Path, session: &str) -> Self {
        // A session's name comes from outside: its digest is a safe file name.
        let name = Digest32::of_bytes(session.as_bytes()).to_string();
        Self {
            root: root.to_owned(),
            path: root.join(FOLDER).join(name),
        }
    }

    /// Reads the calls, with the size of the file for [`Self::remove_recorded`].
    pub(crate) fn read_calls(&self) -> (Vec<MissedCall>, u64) {
        // Usually there is no file, which costs one failed `open`.
        let text = store::private_files::read_own_file(&self.path).unwrap_or_default();
        let calls = text
            .lines()
            // A torn or foreign line is skipped: its call was reported as a fault anyway.
            .filter_map(|line| serde_json::from_str(line).ok());
        (calls.collect(), text.len() as u64)
    }

    /// Appends a call. Errors are ignored: the fault itself is recorded and told either way.
    pub(crate) fn append_call(&self, call: UnrecordedCall) {
        let files = DiskFiles::open(&self.root).ok();
        let Some(missed) = files.and_then(|files| call.into_missed_call(&files)) else {
            return;
        };
        let Ok(mut line) = serde_json::to_vec(&missed) else {
            return;
        };
        line.push(b'\n');
        let size = fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        // A session whose calls cannot be recorded for hours must not fill the disk.
        if size + line.len() as u64 > MAX_NOTE_BYTES {
            return;
        }
        let _ = store::private_files::create_private_directory(&self.root.join(FOLDER));
        // Here, where a file is added: events that miss nothing pay nothing for it.
        remove_old_files(&self.root.join(FOLDER));
        // One write per line, so that concurrent hooks do not interleave.
        let _ = store::private_files::private_open_options()
            .create(true)
            .append(true)
            .open(&self.path)
            .and_then(|mut file| file.write_all(&line));
    }

    /// Removes the file after its calls were recorded, unless another hook has added one since.
    pub(crate) fn remove_recorded(&self, read_bytes: u64) {
        if fs::metadata(&self.path).is_ok_and(|metadata| metadata.len() == read_bytes) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes the files of sessions that never came back from a folder with a file per session.
pub(crate) fn remove_old_files(folder: &Path) {
    let limit = SystemClock.now().as_millis().saturating_sub(RETENTION_MS);
    let limit = UNIX_EPOCH + Duration::from_millis(limit.unsigned_abs());
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let Ok(entry) = entry else { continue };
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        if modified.is_ok_and(|modified| modified < limit) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
