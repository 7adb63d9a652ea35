//! Running a command that proves something: the program itself, no shell, in the project, and an end to it.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use domain::ports::{Commands, Ran, StoreFault};
use rustix::process::{Pid, Signal, kill_process_group};

/// So much of what a command wrote is kept, from its end.
const MOST_KEPT: usize = 4 * 1024;

/// Runs programs in a project's directory.
#[derive(Debug)]
pub struct DiskCommands {
    root: PathBuf,
}

impl DiskCommands {
    /// Takes the project's directory.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }
}

impl Commands for DiskCommands {
    #[expect(
        clippy::disallowed_methods,
        reason = "a person or an agent declared this very command and asked for it"
    )]
    fn run(&self, command: &[String], most: Duration) -> Result<Option<Ran>, StoreFault> {
        let fault = |source: std::io::Error| StoreFault::Io {
            action: format!("cannot run `{}`", command.join(" ")),
            source: source.into(),
        };
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| fault(std::io::ErrorKind::InvalidInput.into()))?;
        // Both ways into one pipe, so that what is kept stands in the order it was written.
        let (reader, writer) = std::io::pipe().map_err(fault)?;
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(fault)?)
            .stderr(writer)
            .process_group(0)
            .spawn()
            .map_err(fault)?;
        let listener = std::thread::spawn(move || tail(reader));
        let deadline = Instant::now() + most;
        let ended = loop {
            match child.try_wait().map_err(fault)? {
                Some(status) => break Some(status),
                None if Instant::now() >= deadline => break None,
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        // What it left behind would keep the pipe open for ever.
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        if ended.is_none() {
            let _ = child.wait();
        }
        let mut output = listener.join().unwrap_or_default();
        if ended.is_none() {
            output.push_str(&format!("\n(ended after {} s)", most.as_secs()));
        }
        Ok(Some(Ran {
            exit_code: ended.and_then(|status| status.code()),
            output,
        }))
    }
}

/// Reads to the end and keeps the last part.
fn tail(mut reader: impl Read) -> String {
    let mut kept: Vec<u8> = Vec::new();
    let mut block = [0; 8 * 1024];
    while let Ok(count @ 1..) = reader.read(&mut block) {
        kept.extend_from_slice(&block[..count]);
        if kept.len() > 4 * MOST_KEPT {
            kept.drain(..kept.len() - MOST_KEPT);
        }
    }
    let surplus = kept.len().saturating_sub(MOST_KEPT);
    String::from_utf8_lossy(&kept[surplus..]).into_owned()
}
