//! The one place that starts git: without a shell, without a lock, not led astray, and never for long.

use std::io::{BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use domain::ports::StoreFault;
use rustix::process::{Pid, Signal, kill_process_group};

use super::fault;

/// How long git may take. The agent waits for us meanwhile.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);
/// How much of a complaint is kept.
const MOST_COMPLAINT: u64 = 4 * 1024;

/// What a hook that git itself runs finds in its environment: it names the repository, index and options of that run.
const NOT_OURS: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GLOB_PATHSPECS",
    "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REDIRECT_STDERR",
    "GIT_REDIRECT_STDOUT",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_TRACE",
    "GIT_WORK_TREE",
];

/// What we ask of every git: no lock on the index, no download, the repository that we found ourselves.
const OURS: &[(&str, &str)] = &[
    ("GIT_DIFF_OPTS", "-u0"),
    ("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
];

/// A git that came to its end.
pub(super) struct Ended<T> {
    pub(super) code: i32,
    pub(super) said: T,
    complaint: String,
}

impl<T> Ended<T> {
    /// Its failure, in its own words.
    pub(super) fn fault(&self, action: &str) -> StoreFault {
        let complaint = self.complaint.trim();
        if complaint.is_empty() {
            return fault(action, format!("git ended with exit code {}", self.code));
        }
        fault(action, complaint)
    }
}

/// Runs git in a folder and reads what it says while it says it.
///
/// # Errors
/// When git is not there or does not end in time: it is killed then.
pub(super) fn run<T: Send + 'static>(
    folder: &Path,
    arguments: &[&str],
    read: fn(BufReader<ChildStdout>) -> T,
) -> Result<Ended<T>, StoreFault> {
    let deadline = Instant::now() + PATIENCE;
    let mut child = git(folder, arguments).spawn().map_err(|error| fault("cannot start `git`", error))?;
    let said = child.stdout.take().map(|pipe| apart(move || read(BufReader::with_capacity(64 * 1024, pipe))));
    let complaint = child.stderr.take().map(|pipe| apart(move || text(pipe.take(MOST_COMPLAINT))));
    let left = || deadline.saturating_duration_since(Instant::now());
    let ended = said.and_then(|said| said.recv_timeout(left()).ok()).and_then(|said| {
        let complaint = complaint.and_then(|complaint| complaint.recv_timeout(left()).ok())?;
        Some(Ended { code: exit_code(&mut child, deadline)?, said, complaint })
    });
    ended.ok_or_else(|| {
        end(&mut child);
        let called = arguments.iter().find(|argument| !argument.starts_with('-') && !argument.contains('='));
        let action = format!("`git {}` was stopped", called.unwrap_or(&""));
        fault(action, format!("it did not end within {} s", PATIENCE.as_secs()))
    })
}

#[expect(clippy::disallowed_methods, reason = "only git can compare the index and the files with HEAD")]
fn git(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    for name in NOT_OURS {
        command.env_remove(name);
    }
    command
        .envs(OURS.iter().copied())
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own: what git started is killed with it.
        .process_group(0);
    command
}

/// Reads a stream to its end as text.
pub(super) fn text(mut stream: impl Read) -> String {
    let mut bytes = Vec::new();
    // A stream that breaks is a process that died, which its exit code tells.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads in a thread of its own: whoever holds the other end open cannot hold us up.
fn apart<T: Send + 'static>(read: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(read()));
    receiver
}

/// Waits for the end; both streams are closed by now, so it is near.
fn exit_code(child: &mut Child, deadline: Instant) -> Option<i32> {
    loop {
        if let Some(status) = child.try_wait().ok()? {
            return status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        }
        if Instant::now() > deadline {
            return None;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Ends git and what it started.
fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
