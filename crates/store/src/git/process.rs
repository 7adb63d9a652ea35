//! Runs git: without a shell, with the hardened command line, killed at a deadline.
//!
//! The only place that starts it, so that no call misses the hardening of `command.rs`.

use std::ffi::OsStr;
use std::io::{BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use domain::ports::StoreFault;
use rustix::process::{Pid, Signal, kill_process_group};

use super::command::{
    Filters, LIST_FILTERS, LIST_MERGE_DRIVERS, filter_names, git_command, has_own_attributes,
};
use super::git_fault;
use super::repository_paths::RepositoryPaths;

/// Time limit of a git process in a hook, for which the agent waits.
pub(super) const GIT_TIMEOUT: Duration = Duration::from_secs(1);
/// How much of stderr is kept for the error message.
const MAX_STDERR_BYTES: u64 = 4 * 1024;

/// Git's exit code for an unknown option.
const UNKNOWN_OPTION_EXIT_CODE: i32 = 129;

/// The result of a git process that ended in time.
pub(super) struct GitOutput<T> {
    pub(super) code: i32,
    pub(super) said: T,
    pub(super) complaint: String,
}

impl<T> GitOutput<T> {
    /// Returns the failure as a fault, with git's stderr as the reason.
    pub(super) fn to_fault(&self, action: &str) -> StoreFault {
        let complaint = self.complaint.trim();
        if complaint.is_empty() {
            return git_fault(action, format!("git exited with code {}", self.code));
        }
        git_fault(action, complaint)
    }
}

/// Set when git turned out to be older than 2.41: `--attr-source` is not tried again, which saves
/// one process per call.
static LACKS_ATTR_SOURCE: AtomicBool = AtomicBool::new(false);

/// Runs git with attributes disabled; `None` if they cannot be disabled here, so that a diff could
/// run a `textconv` program.
pub(super) fn run_without_attributes<T: Send + 'static>(
    place: &RepositoryPaths,
    arguments: &[&str],
    read: fn(BufReader<ChildStdout>) -> T,
) -> Result<Option<GitOutput<T>>, StoreFault> {
    // Relaxed is enough: the flag only saves work, and a late thread merely tries once more.
    if has_own_attributes(place) || LACKS_ATTR_SOURCE.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let ended = run_once(
        place,
        Filters::NoAttributes,
        arguments,
        Instant::now() + GIT_TIMEOUT,
        read,
    )?;
    LACKS_ATTR_SOURCE.fetch_or(ended.code == UNKNOWN_OPTION_EXIT_CODE, Ordering::Relaxed);
    Ok((ended.code != UNKNOWN_OPTION_EXIT_CODE).then_some(ended))
}

/// Runs a merge that writes no files, with more variables. Merge drivers are programs of the
/// repository: where attributes cannot be disabled, none may be configured.
///
/// # Errors
/// When git is not found or does not end in time, or a merge driver could run.
pub(super) fn run_merge<T: Send + 'static>(
    place: &RepositoryPaths,
    arguments: &[&str],
    environment: &[(&str, &OsStr)],
    limit: Duration,
    read: fn(BufReader<ChildStdout>) -> T,
) -> Result<GitOutput<T>, StoreFault> {
    let deadline = Instant::now() + limit;
    let once = |filters: Filters<'_>| {
        let mut command = git_command(place, filters, arguments)?;
        command.envs(environment.iter().copied());
        run_command(command, arguments, deadline, read)
    };
    let has_own = has_own_attributes(place);
    if !has_own && !LACKS_ATTR_SOURCE.load(Ordering::Relaxed) {
        let ended = once(Filters::NoAttributes)?;
        if ended.code != UNKNOWN_OPTION_EXIT_CODE {
            return Ok(ended);
        }
        LACKS_ATTR_SOURCE.store(true, Ordering::Relaxed);
    }
    let drivers = run_once(
        place,
        Filters::Empty(&[]),
        LIST_MERGE_DRIVERS,
        deadline,
        read_to_text,
    )?;
    // `git config --get-regexp` ends with 1 if no key matches.
    if drivers.code != 1 {
        return Err(git_fault(
            "`git` was not started",
            "a merge driver is configured, which this git cannot switch off (2.41 can)",
        ));
    }
    let names = list_configured_filters(place, deadline)?;
    if LACKS_ATTR_SOURCE.load(Ordering::Relaxed) {
        return once(Filters::Empty(&names));
    }
    once(Filters::NoAttributesAndEmpty(&names))
}

/// Runs git in the project and reads its output while it is written. The arguments must not request
/// a diff that may run a `textconv` program: see [`run_without_attributes`].
///
/// # Errors
/// When git is not found, or does not end in time and is killed.
pub(super) fn run_git<T: Send + 'static>(
    place: &RepositoryPaths,
    arguments: &[&str],
    read: fn(BufReader<ChildStdout>) -> T,
) -> Result<GitOutput<T>, StoreFault> {
    run_git_within(place, arguments, GIT_TIMEOUT, read)
}

/// As [`run`], with another time limit.
pub(super) fn run_git_within<T: Send + 'static>(
    place: &RepositoryPaths,
    arguments: &[&str],
    limit: Duration,
    read: fn(BufReader<ChildStdout>) -> T,
) -> Result<GitOutput<T>, StoreFault> {
    let deadline = Instant::now() + limit;
    let once = |filters| run_once(place, filters, arguments, deadline, read);
    if !has_own_attributes(place) && !LACKS_ATTR_SOURCE.load(Ordering::Relaxed) {
        let ended = once(Filters::NoAttributes)?;
        if ended.code != UNKNOWN_OPTION_EXIT_CODE {
            return Ok(ended);
        }
        LACKS_ATTR_SOURCE.store(true, Ordering::Relaxed);
    }
    // The slower way, with a second process to list the filters. Overriding filters in every call
    // was rejected for that cost.
    let names = list_configured_filters(place, deadline)?;
    if !LACKS_ATTR_SOURCE.load(Ordering::Relaxed) {
        let ended = once(Filters::NoAttributesAndEmpty(&names))?;
        if ended.code != UNKNOWN_OPTION_EXIT_CODE {
            return Ok(ended);
        }
        LACKS_ATTR_SOURCE.store(true, Ordering::Relaxed);
    }
    once(Filters::Empty(&names))
}

/// Lists the filters named in git's configuration; `git config` runs none of them.
fn list_configured_filters(
    place: &RepositoryPaths,
    deadline: Instant,
) -> Result<Vec<String>, StoreFault> {
    let listed = run_once(
        place,
        Filters::Empty(&[]),
        LIST_FILTERS,
        deadline,
        read_to_text,
    )?;
    match listed.code {
        0 => filter_names(&listed.said),
        // `git config --get-regexp` found no matching key.
        1 => Ok(Vec::new()),
        _ => Err(listed.to_fault("cannot read git's settings")),
    }
}

fn run_once<T: Send + 'static>(
    place: &RepositoryPaths,
    filters: Filters<'_>,
    arguments: &[&str],
    deadline: Instant,
    read: fn(BufReader<ChildStdout>) -> T,
) -> Result<GitOutput<T>, StoreFault> {
    run_command(
        git_command(place, filters, arguments)?,
        arguments,
        deadline,
        read,
    )
}

/// Starts a prepared command and reads its output until the deadline.
fn run_command<T: Send + 'static>(
    mut command: Command,
    arguments: &[&str],
    deadline: Instant,
    read: fn(BufReader<ChildStdout>) -> T,
) -> Result<GitOutput<T>, StoreFault> {
    let start = Instant::now();
    // A process group of its own, so that children of git are killed with it.
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = command
        .spawn()
        .map_err(|error| git_fault("cannot start `git`", error))?;
    let said = child
        .stdout
        .take()
        .map(|pipe| read_in_thread(move || read(BufReader::with_capacity(64 * 1024, pipe))));
    let complaint = child
        .stderr
        .take()
        // Bounded, because a broken repository can make git print an error for every file.
        .map(|pipe| read_in_thread(move || read_to_text(pipe.take(MAX_STDERR_BYTES))));
    // The streams first, then the exit code: git blocks on a full pipe and would never exit.
    let left = || deadline.saturating_duration_since(Instant::now());
    let ended = said
        .and_then(|said| said.recv_timeout(left()).ok())
        .and_then(|said| {
            let complaint = complaint.and_then(|complaint| complaint.recv_timeout(left()).ok())?;
            Some(GitOutput {
                code: wait_for_exit(&mut child, deadline)?,
                said,
                complaint,
            })
        });
    ended.ok_or_else(|| {
        kill_git_process(&mut child);
        // The subcommand, for the message: the first argument that is neither an option nor a
        // setting.
        let called = arguments
            .iter()
            .find(|argument| !argument.starts_with('-') && !argument.contains('='));
        let action = format!("`git {}` was stopped", called.unwrap_or(&""));
        let limit = deadline
            .saturating_duration_since(start)
            .as_secs_f64()
            .ceil();
        git_fault(action, format!("it timed out after {limit} s"))
    })
}

/// Reads a stream to its end as text, invalid UTF-8 replaced.
pub(super) fn read_to_text(mut stream: impl Read) -> String {
    let mut bytes = Vec::new();
    // A read error means that the process died, which its exit code shows.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads in a separate thread: a grandchild that keeps the pipe open cannot block past the
/// deadline.
fn read_in_thread<T: Send + 'static>(read: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(read()));
    receiver
}

/// Waits for the process to exit; `None` at the deadline.
fn wait_for_exit(child: &mut Child, deadline: Instant) -> Option<i32> {
    // Polled, because `wait` has no time limit. Both streams are closed by now, so the exit is near
    // and 100 µs lose little.
    loop {
        if let Some(status) = child.try_wait().ok()? {
            return status
                .code()
                .or_else(|| status.signal().map(|signal| 128 + signal));
        }
        if Instant::now() > deadline {
            return None;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Kills git with its process group and reaps it.
fn kill_git_process(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
