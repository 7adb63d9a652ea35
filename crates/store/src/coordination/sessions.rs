//! Live sessions and the files they touched: one file per session and worktree.
//!
//! Every tool call of an agent gets here, so recording is one appended line without a lock, and
//! listing reads a few small files. A line that a crash cut off is skipped; the next one begins
//! with a line break of its own.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use domain::ids::Digest32;
use domain::ports::{LiveSession, NodeKey, SessionActivity, StoreFault};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::worktree::{CoordinationPlace, WorktreeName};
use super::{delete_if_older, unreachable_fault};
use crate::durable::{Durability, replace_file};
use crate::private_files::{create_unlinked_directory, private_open_options};

/// Minimum time between two records of a session that does nothing new.
const RECORD_INTERVAL_MS: i64 = 30_000;
/// Maximum number of files remembered per session and worktree, the newest.
const MAX_TOUCHED_FILES: usize = 200;
/// How long a silent session is remembered.
const SESSION_RETENTION_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// Size from which a session's file is written as one line.
const MAX_FILE_BYTES: usize = 32 * 1024;
/// Maximum number of bytes read of a session's file: no other program writes there.
const MAX_READ_BYTES: u64 = 4 * 1024 * 1024;

/// One line of a session's file: what it did at one moment.
#[derive(Debug, Serialize, Deserialize)]
struct SessionLine {
    at: i64,
    session: String,
    project: String,
    worktree: WorktreeName,
    folder: String,
    /// Profile and path of the node it works on.
    focus: Option<(String, String)>,
    touched: Vec<String>,
}

/// A session's file, as read.
struct SessionFile {
    lines: Vec<SessionLine>,
    size: usize,
}

impl SessionFile {
    /// Reads a file; `None` if there is none.
    fn read_from(path: &Path) -> Result<Option<Self>, StoreFault> {
        let mut bytes = Vec::new();
        let read =
            fs::File::open(path).and_then(|file| file.take(MAX_READ_BYTES).read_to_end(&mut bytes));
        match read {
            Ok(size) => Ok(Some(Self {
                lines: bytes
                    .split(|byte| *byte == b'\n')
                    .filter_map(|line| serde_json::from_slice(line).ok())
                    .collect(),
                size,
            })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreachable_fault("cannot read", path, error)),
        }
    }

    /// The files the session touched, newest first.
    fn touched_files(&self) -> Vec<String> {
        let mut touched: Vec<String> = Vec::new();
        for file in self.lines.iter().rev().flat_map(|line| &line.touched) {
            if touched.len() < MAX_TOUCHED_FILES && !touched.contains(file) {
                touched.push(file.clone());
            }
        }
        touched
    }

    /// Whether an activity needs no record: the last one was lately, with the same focus, and every
    /// file is known.
    fn covers(&self, activity: &SessionActivity<'_>) -> bool {
        self.lines.last().is_some_and(|last| {
            last.at > activity.at.as_millis() - RECORD_INTERVAL_MS
                && last.focus == activity.focus.map(to_pair)
        }) && activity
            .touched
            .iter()
            .all(|file| self.lines.iter().any(|line| line.touched.contains(file)))
    }
}

fn to_pair(node: &NodeKey) -> (String, String) {
    (node.profile.clone(), node.path.clone())
}

/// Returns the file of a session. The name is a digest: sessions are named by their hosts.
fn session_file(
    place: &CoordinationPlace,
    project: &str,
    worktree: &WorktreeName,
    session: &str,
) -> PathBuf {
    let WorktreeName { name, made } = worktree;
    let key = format!("{project}\0{name}\0{made}\0{session}");
    let digest = Digest32::of_bytes(key.as_bytes()).to_string();
    let name: String = digest.chars().take(32).collect();
    place.sessions_folder().join(format!("{name}.jsonl"))
}

fn own_file(place: &CoordinationPlace, session: &str) -> PathBuf {
    session_file(place, &place.project, &place.worktree, session)
}

/// Returns the sessions heard of since `since`, in existing worktrees, the most recent first.
pub(super) fn list_sessions(
    place: &CoordinationPlace,
    since: Timestamp,
) -> Result<Vec<LiveSession>, StoreFault> {
    let mut found = Vec::new();
    for path in list_files(place)? {
        let Some(file) = SessionFile::read_from(&path)? else {
            continue;
        };
        let Some(last) = file.lines.last() else {
            continue;
        };
        if last.project != place.project || last.at < since.as_millis() {
            continue;
        }
        let Some(worktree) = place.describe_worktree(&last.worktree, &last.folder) else {
            continue;
        };
        let focus = last.focus.clone();
        found.push(LiveSession {
            session: last.session.clone(),
            worktree,
            focus: focus.map(|(profile, path)| NodeKey { profile, path }),
            touched: file.touched_files(),
            heard: Timestamp::from_millis(last.at),
        });
    }
    found.sort_by(|a, b| (b.heard, &a.session).cmp(&(a.heard, &b.session)));
    Ok(found)
}

/// Returns when a session was last heard of.
pub(super) fn find_last_activity(
    place: &CoordinationPlace,
    worktree: &WorktreeName,
    session: &str,
) -> Result<Option<Timestamp>, StoreFault> {
    let file = SessionFile::read_from(&session_file(place, &place.project, worktree, session))?;
    let last = file.as_ref().and_then(|file| file.lines.last());
    Ok(last.map(|last| Timestamp::from_millis(last.at)))
}

fn list_files(place: &CoordinationPlace) -> Result<Vec<PathBuf>, StoreFault> {
    let folder = place.sessions_folder();
    match fs::read_dir(&folder) {
        Ok(entries) => Ok(entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
            .collect()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(unreachable_fault("cannot list", &folder, error)),
    }
}

/// Records a session's activity and the files it touched, if something is new.
pub(super) fn record_activity(
    place: &CoordinationPlace,
    activity: &SessionActivity<'_>,
) -> Result<(), StoreFault> {
    let path = own_file(place, activity.session);
    let known = SessionFile::read_from(&path)?;
    if known.as_ref().is_some_and(|file| file.covers(activity)) {
        return Ok(());
    }
    let mut line = SessionLine {
        at: activity.at.as_millis(),
        session: activity.session.to_owned(),
        project: place.project.clone(),
        worktree: place.worktree.clone(),
        folder: place.folder.clone(),
        focus: activity.focus.map(to_pair),
        touched: activity.touched.to_vec(),
    };
    let fault = |error| unreachable_fault("cannot write", &path, error);
    match known {
        Some(file) if file.size > MAX_FILE_BYTES => {
            line.touched.extend(file.touched_files());
            replace_file(&path, &encode_line(&line), Durability::Atomic).map_err(fault)
        }
        Some(_) => append_line(&path, &line).map_err(fault),
        None => {
            let folder = place.sessions_folder();
            // The folder above it may have come with the repository, with its entries.
            create_unlinked_directory(&place.folder_of_ours()).map_err(fault)?;
            create_unlinked_directory(&folder).map_err(fault)?;
            delete_silent_sessions(place, activity.at);
            append_line(&path, &line).map_err(fault)
        }
    }
}

fn encode_line(line: &SessionLine) -> Vec<u8> {
    let mut bytes = vec![b'\n'];
    bytes.extend(serde_json::to_vec(line).unwrap_or_default());
    bytes.push(b'\n');
    bytes
}

fn append_line(path: &Path, line: &SessionLine) -> std::io::Result<()> {
    let mut file = private_open_options()
        .append(true)
        .create(true)
        .open(path)?;
    // One write: parallel tool calls of a session do not mix their lines.
    file.write_all(&encode_line(line))
}

/// Deletes the files of sessions that were not heard of for a long time.
fn delete_silent_sessions(place: &CoordinationPlace, now: Timestamp) {
    let before = Timestamp::from_millis(now.as_millis() - SESSION_RETENTION_MS);
    for path in list_files(place).unwrap_or_default() {
        delete_if_older(&path, before);
    }
}

/// Deletes a session of this worktree.
pub(super) fn delete_session(place: &CoordinationPlace, session: &str) -> Result<(), StoreFault> {
    let path = own_file(place, session);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(unreachable_fault("cannot delete", &path, error))
        }
        _ => Ok(()),
    }
}
