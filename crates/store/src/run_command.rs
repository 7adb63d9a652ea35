//! Runs evidence commands: the program itself without a shell, in the project, with a timeout.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use domain::ports::{CommandOutput, CommandRunner, StoreFault};
use rustix::process::{Pid, Signal, kill_process_group};

/// Maximum output that is kept, from its end.
const MAX_OUTPUT_BYTES: usize = 4 * 1024;

/// Runs programs in a project's directory.
#[derive(Debug)]
pub struct ProcessRunner {
    root: PathBuf,
}

impl ProcessRunner {
    /// Returns a runner for the project's directory.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }
}

impl CommandRunner for ProcessRunner {
    #[expect(
        clippy::disallowed_methods,
        reason = "a person or an agent declared this command and requested it"
    )]
    fn run_command(
        &self,
        command: &[String],
        most: Duration,
    ) -> Result<Option<CommandOutput>, StoreFault> {
        let fault = |source: std::io::Error| StoreFault::Io {
            action: format!("cannot run `{}`", command.join(" ")),
            source: source.into(),
        };
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| fault(std::io::ErrorKind::InvalidInput.into()))?;
        // One pipe for stdout and stderr, so that the output keeps its order.
        let (reader, writer) = std::io::pipe().map_err(fault)?;
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(&self.root)
            // A command that asks for input fails at once instead of waiting for the timeout.
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(fault)?)
            .stderr(writer)
            // A group of its own, so that its children can be killed with it.
            .process_group(0)
            .spawn()
            .map_err(fault)?;
        // Read concurrently: a full pipe (64 KiB) would block the command for ever.
        let listener = std::thread::spawn(move || read_tail(reader));
        let deadline = Instant::now() + most;
        let ended = loop {
            match child.try_wait().map_err(fault)? {
                Some(status) => break Some(status),
                None if Instant::now() >= deadline => break None,
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        // Also after a normal end: a background child keeps the pipe open, and the reader below
        // would never see its end.
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        // Reaps the killed process; otherwise it stays a zombie as long as a server runs.
        if ended.is_none() {
            let _ = child.wait();
        }
        let mut output = listener.join().unwrap_or_default();
        if ended.is_none() {
            output.push_str(&format!("\n(killed after {} s)", most.as_secs()));
        }
        Ok(Some(CommandOutput {
            exit_code: ended.and_then(|status| status.code()),
            output,
        }))
    }
}

/// Reads to the end of the stream and returns its tail.
fn read_tail(mut reader: impl Read) -> String {
    let mut kept: Vec<u8> = Vec::new();
    let mut block = [0; 8 * 1024];
    while let Ok(count @ 1..) = reader.read(&mut block) {
        kept.extend_from_slice(&block[..count]);
        // Trimmed in large steps, so that few bytes are moved more than once.
        if kept.len() > 4 * MAX_OUTPUT_BYTES {
            kept.drain(..kept.len() - MAX_OUTPUT_BYTES);
        }
    }
    let surplus = kept.len().saturating_sub(MAX_OUTPUT_BYTES);
    // Lossy: the cut may be inside a character.
    String::from_utf8_lossy(&kept[surplus..]).into_owned()
}
