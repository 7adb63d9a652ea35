//! One run of one process: its CPU time, its wall time, its peak memory.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4;

/// What one run took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// User and system time of the child.
    pub(crate) cpu: Duration,
    /// From before it was started until it was gone.
    pub(crate) wall: Duration,
    /// Peak resident memory. Never less than this program's own at the start of the child: the kernel
    /// counts what the child was before it became another program.
    pub(crate) peak_bytes: u64,
}

impl Sample {
    /// Returns what two runs took, one after the other.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            cpu: self.cpu + other.cpu,
            wall: self.wall + other.wall,
            peak_bytes: self.peak_bytes.max(other.peak_bytes),
        }
    }
}

/// Runs a command whose output nobody reads, with a file as its input.
pub(crate) fn sample_with(command: &mut Command, input: &Path) -> Result<Sample, String> {
    let file = std::fs::File::open(input)
        .map_err(|error| format!("cannot read {}: {error}", input.display()))?;
    measured(command.stdin(file))
}

/// Runs a command whose output nobody reads.
pub(crate) fn sample(command: &mut Command) -> Result<Sample, String> {
    measured(command.stdin(Stdio::null()))
}

fn measured(command: &mut Command) -> Result<Sample, String> {
    let shown = format!("{command:?}");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // Cargo sets it for its own; people do not, and it makes the loader look for every library in more places.
    command.env_remove("LD_LIBRARY_PATH");
    let start = Instant::now();
    let mut child = command
        .spawn()
        .map_err(|error| format!("cannot start {shown}: {error}"))?;
    let used = child
        .wait4()
        .map_err(|error| format!("cannot wait for {shown}: {error}"))?;
    let wall = start.elapsed();
    if !used.status.success() {
        return Err(format!("{shown} ended with {}", used.status));
    }
    Ok(Sample {
        cpu: used.rusage.utime + used.rusage.stime,
        wall,
        peak_bytes: used.rusage.maxrss,
    })
}

/// Returns the value below which `share` (0–100) percent of the values lie.
pub(crate) fn percentile(values: impl Iterator<Item = Duration>, share: usize) -> Duration {
    let mut values: Vec<Duration> = values.collect();
    values.sort();
    let last = values.len().saturating_sub(1);
    values.get(last * share / 100).copied().unwrap_or_default()
}
