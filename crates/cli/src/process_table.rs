//! Process table of this machine, read from `/proc`; empty where there is none.

use std::io::Read as _;

use domain::calling_session::ProcessIdentity;
use domain::ports::ProcessTable;

/// The running processes, by `/proc`.
pub(crate) struct ProcFolder;

impl ProcessTable for ProcFolder {
    fn own_identity(&self) -> Option<ProcessIdentity> {
        identify_process(std::process::id())
    }

    fn is_running(&self, process: &ProcessIdentity) -> bool {
        identify_process(process.pid).as_ref() == Some(process)
    }
}

/// Returns the identity of a running process.
fn identify_process(pid: u32) -> Option<ProcessIdentity> {
    let (_, started) = read_parent_and_start(pid)?;
    Some(ProcessIdentity {
        boot: read_boot_id()?,
        pid,
        started,
    })
}

/// Reads the id of this start of the machine.
pub(crate) fn read_boot_id() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(boot.trim().to_owned())
}

/// Reads parent (field 4) and start time (field 22) from `/proc/PID/stat`.
pub(crate) fn read_parent_and_start(pid: u32) -> Option<(u32, u64)> {
    // One read into a buffer on the stack: `read_to_string` asks for the size, which is 0 here, and
    // then reads in six small steps, for each ancestor and before every command.
    let mut buffer = [0; 1024];
    let read = std::fs::File::open(format!("/proc/{pid}/stat"))
        .and_then(|mut file| file.read(&mut buffer))
        .ok()?;
    // The name in parentheses may contain anything, also spaces, parentheses and invalid UTF-8.
    let stat = buffer.get(..read)?;
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(stat.get(end + 1..)?)
        .ok()?
        .split_ascii_whitespace();
    Some((fields.nth(1)?.parse().ok()?, fields.nth(17)?.parse().ok()?))
}
