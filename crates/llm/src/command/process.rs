//! Runs a program to its end, or kills its whole process group when cancelled.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};

use crate::cancel::{CancelToken, Cancelled};
use crate::error::{ErrorClass, LlmResult};

/// How to start a program.
pub(super) struct ProcessSpec<'a> {
    pub(super) program: &'a str,
    pub(super) arguments: Vec<String>,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) directory: &'a Path,
    pub(super) input: String,
}

/// Exit code and output of a program.
#[derive(Debug, Default)]
pub(super) struct ProcessOutput {
    /// `None` if it was killed by a signal.
    pub(super) code: Option<i32>,
    pub(super) output: String,
    pub(super) errors: String,
}

/// Maximum size of the output that is kept. The rest is read and discarded, so that the program
/// does not block on a full pipe.
const MAX_OUTPUT_BYTES: usize = 32 << 20;
/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// How long to wait for output after the program exited: its children may keep the pipe open.
const PIPE_DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs a program to its end. When cancelled, kills its whole process group before it returns.
pub(super) fn run_process(
    start: &ProcessSpec<'_>,
    cancel: &CancelToken,
    alive: &(dyn Fn() + Sync),
) -> LlmResult<ProcessOutput> {
    if cancel.is_cancelled() {
        return Err(Cancelled.into());
    }
    // Run under a token that is never cancelled: `supervise_process` handles the caller's, so that
    // the group gets SIGTERM first. Otherwise the future would just be dropped.
    CancelToken::new().run_future(supervise_process(start, cancel, alive))?
}

async fn supervise_process(
    start: &ProcessSpec<'_>,
    cancel: &CancelToken,
    alive: &(dyn Fn() + Sync),
) -> LlmResult<ProcessOutput> {
    let mut child = spawn_process(start)?;
    // Created before anything can fail, so that its `Drop` kills the group on every way out.
    let group = Group::of(&child);
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut said, mut complained) = (Vec::new(), Vec::new());
    let status = {
        // All three concurrently: with one pipe full and not read, both sides would block.
        let talk = async {
            tokio::join!(
                write_process_input(input, &start.input),
                read_process_output(output, &mut said, alive),
                read_process_output(errors, &mut complained, alive)
            )
        };
        tokio::pin!(talk);
        let ended = async {
            tokio::select! {
                status = child.wait() => {
                    // Output may still be in the pipes when the program has exited.
                    let _ = tokio::time::timeout(PIPE_DRAIN_TIMEOUT, &mut talk).await;
                    status
                }
                // A program may close its streams and go on working.
                _ = &mut talk => child.wait().await,
            }
        };
        tokio::select! {
            status = ended => Some(status),
            () = cancel.until_cancelled() => None,
        }
    };
    let Some(status) = status else {
        group.end(&mut child).await;
        return Err(Cancelled.into());
    };
    let status = status.map_err(|error| {
        ErrorClass::Setup.error(format!("cannot wait for `{}`: {error}", start.program))
    })?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(ProcessOutput {
        code: status.code(),
        output: text(said),
        errors: text(complained),
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "a command as a model is started here, by a person's setting, without a shell"
)]
fn new_command(program: &str) -> Command {
    // From `std::process::Command`, so that the lint on starting programs also covers this place.
    Command::from(std::process::Command::new(program))
}

fn spawn_process(start: &ProcessSpec<'_>) -> LlmResult<Child> {
    let mut command = new_command(start.program);
    command
        .args(&start.arguments)
        // Nothing is inherited; the allowlist is the whole environment.
        .env_clear()
        .envs(&start.environment)
        .current_dir(start.directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    // Agents start shells and servers of their own, which have to end with the call.
    command.process_group(0);
    command.spawn().map_err(|error| {
        let program = start.program;
        let (what, step) = match error.kind() {
            ErrorKind::NotFound => (
                format!("the program `{program}` was not found"),
                format!("install `{program}`, or give its full path as `command.program` of the provider"),
            ),
            _ => (
                format!("cannot start the program `{program}`: {error}"),
                "check its permissions and the length of its arguments; `{system_file}` is shorter than `{system}`"
                    .to_owned(),
            ),
        };
        ErrorClass::Setup.error(what).with_first_step(step)
    })
}

async fn write_process_input(input: Option<ChildStdin>, text: &str) {
    if let Some(mut input) = input {
        // Errors are ignored: a program may close its stdin without reading the prompt.
        let _ = input.write_all(text.as_bytes()).await;
        let _ = input.shutdown().await;
    }
}

async fn read_process_output(
    pipe: Option<impl AsyncRead + Unpin>,
    bytes: &mut Vec<u8>,
    alive: &(dyn Fn() + Sync),
) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; 16 << 10];
    while let Ok(read @ 1..) = pipe.read(&mut buffer).await {
        alive();
        let room = MAX_OUTPUT_BYTES.saturating_sub(bytes.len());
        bytes.extend(buffer.iter().take(read.min(room)));
    }
}

/// The program's process group, killed when this value is dropped.
struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl Group {
    fn of(child: &Child) -> Self {
        let number = child.id().and_then(|number| i32::try_from(number).ok());
        Self {
            leader: number.and_then(rustix::process::Pid::from_raw),
        }
    }

    fn send_signal(&self, signal: rustix::process::Signal) {
        if let Some(leader) = self.leader {
            // Fails if the group is already gone, which is the goal.
            let _ = rustix::process::kill_process_group(leader, signal);
        }
    }

    /// Sends SIGTERM to the group, and SIGKILL after the grace period.
    async fn end(&self, child: &mut Child) {
        self.send_signal(rustix::process::Signal::TERM);
        let _ = tokio::time::timeout(GRACE, child.wait()).await;
        self.send_signal(rustix::process::Signal::KILL);
        let _ = child.wait().await;
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        self.send_signal(rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
impl Group {
    fn of(_: &Child) -> Self {
        Self {}
    }

    async fn end(&self, child: &mut Child) {
        let _ = tokio::time::timeout(GRACE, child.kill()).await;
    }
}
