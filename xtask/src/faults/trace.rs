//! Fault injection with `strace`: the system calls of a command's write phase, and runs that are killed or failed at one of them.
//!
//! A call is named by its name and how often its thread made it before, because that is what `strace` can inject at. Two
//! things were measured with strace 6.1: an injected signal is silently ignored under `--seccomp-bpf`, so kills run
//! without it; injected errors work with it, at half the cost.

use std::collections::BTreeMap;

use super::lab::{self, Lab, Run};

/// One system call of the write phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// The how-manieth of this name in its thread, from 1.
    pub(crate) nth: usize,
    /// Whether it changes a file.
    pub(crate) mutates: bool,
    /// Whether a full or failing disk can make it fail.
    pub(crate) can_fail: bool,
}

/// What is done to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `SIGKILL` on entering the call: the call does not happen.
    Kill,
    /// The call fails with this error. A full disk stays full: with `ENOSPC` later calls of a name that needs room fail too.
    Error(String),
}

/// A fault at one call of the write phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) fault: Fault,
    pub(crate) call: Call,
}

impl Point {
    /// Returns the arguments that reproduce it.
    pub(crate) fn arguments(&self) -> String {
        let Call { name, nth, .. } = &self.call;
        match &self.fault {
            Fault::Kill => format!("--kill {name}#{nth}"),
            Fault::Error(errno) => format!("--error {errno}:{name}#{nth}"),
        }
    }
}

/// Returns the words that run a command under `strace`, its log in the lab's scratch file `trace`.
fn strace(lab: &Lab, options: &[&str]) -> Vec<String> {
    let log = lab.scratch("trace").display().to_string();
    ["strace", "-f", "-qq", "-o", &log]
        .iter()
        .chain(options)
        .map(|word| (*word).to_owned())
        .collect()
}

fn read_log(lab: &Lab) -> String {
    String::from_utf8_lossy(&std::fs::read(lab.scratch("trace")).unwrap_or_default()).into_owned()
}

/// Runs a command and returns the system calls of its write phase.
pub(crate) fn record(lab: &Lab, call: &lab::Call<'_>) -> Result<Vec<Call>, String> {
    lab.run_wrapped(&strace(lab, &["-y", "-s", "8"]), call)?;
    Ok(write_phase(&read_log(lab)))
}

/// Runs a command with a fault; says whether the fault was met.
pub(crate) fn inject(
    lab: &Lab,
    call: &lab::Call<'_>,
    point: &Point,
) -> Result<(Run, bool), String> {
    let Call { name, nth, .. } = &point.call;
    let trace = format!("trace={name}");
    let (expression, mut options) = match &point.fault {
        Fault::Kill => (format!("inject={name}:signal=KILL:when={nth}"), vec![]),
        Fault::Error(errno) => {
            let lasting = if errno == "ENOSPC" && needs_room(name) {
                "+"
            } else {
                ""
            };
            (
                format!("inject={name}:error={errno}:when={nth}{lasting}"),
                vec!["-y", "--seccomp-bpf"],
            )
        }
    };
    options.extend(["-e", &trace, "-e", &expression]);
    let run = lab.run_wrapped(&strace(lab, &options), call)?;
    let fired = match point.fault {
        Fault::Kill => run.code.is_none(),
        // In a server another thread may make its N-th call of the name first: one that wakes a thread does not fail on a full disk.
        Fault::Error(_) => {
            let log = read_log(lab);
            let mut injected = log
                .lines()
                .filter(|line| line.contains("(INJECTED)"))
                .peekable();
            injected.peek().is_some()
                && injected.all(|line| is_named(line) || line.contains("/live/"))
        }
    };
    Ok((run, fired))
}

/// Says whether every call of a name needs room on the disk. A plain write goes to the terminal too, and most opens only read.
fn needs_room(name: &str) -> bool {
    matches!(
        name,
        "pwrite64" | "pwritev" | "fallocate" | "mkdir" | "mkdirat"
    )
}

/// Says whether a line of the log is a call with a path, not with a descriptor alone.
fn is_named(line: &str) -> bool {
    [
        "open", "mkdir", "rename", "unlink", "rmdir", "link", "symlink",
    ]
    .iter()
    .any(|stem| {
        line.split('(')
            .next()
            .is_some_and(|start| start.contains(stem))
    })
}

/// Reads the calls of the first process and its threads, from the first that changes a file to the end.
fn write_phase(log: &str) -> Vec<Call> {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut threads: Vec<String> = Vec::new();
    let mut phase: Vec<Call> = Vec::new();
    for line in log.lines() {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        if threads.is_empty() {
            threads.push(thread.to_owned());
        }
        let rest = rest.trim_start();
        if let Some(new) = new_thread(rest) {
            threads.push(new);
        }
        let Some((name, arguments)) = rest.split_once('(') else {
            continue;
        };
        if !threads.iter().any(|known| known == thread)
            || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            continue;
        }
        let nth = counts
            .entry((thread.to_owned(), name.to_owned()))
            .or_default();
        *nth += 1;
        // A process that ends is not interrupted by what has no effect any more, and a start is no write.
        if name == "execve" {
            continue;
        }
        let (mutates, can_fail) = (mutates(name, arguments), can_fail(name, arguments));
        let call = Call {
            name: name.to_owned(),
            nth: *nth,
            mutates,
            can_fail,
        };
        // Two threads can make the same call; which comes first is not ours to say.
        let known = phase
            .iter()
            .any(|known| known.name == call.name && known.nth == call.nth);
        if (mutates || !phase.is_empty()) && !known {
            phase.push(call);
        }
    }
    phase
}

/// Returns the new thread's number where a line says that one was made.
fn new_thread(line: &str) -> Option<String> {
    let is_clone = (line.starts_with("clone")
        || line.contains("clone3 resumed")
        || line.contains("clone resumed"))
        && !line.contains("SIGCHLD");
    let number = line.rsplit_once("= ").map(|(_, number)| number.trim())?;
    (is_clone && number.chars().all(|c| c.is_ascii_digit())).then(|| number.to_owned())
}

/// Says whether a call's descriptor is a file of the project or the user: not the output, a pipe or an event.
fn is_on_file(arguments: &str) -> bool {
    arguments
        .split(',')
        .next()
        .is_some_and(|descriptor| descriptor.contains("/live/"))
}

fn opens_for_writing(arguments: &str) -> bool {
    let outside = ["\"/dev/", "\"/proc/", "\"/sys/"];
    let writes = ["O_CREAT", "O_TRUNC", "O_WRONLY", "O_RDWR"]
        .iter()
        .any(|flag| arguments.contains(flag));
    // The lab itself may be below /dev/shm.
    writes
        && (arguments.contains("\"/dev/shm/")
            || !outside.iter().any(|prefix| arguments.contains(prefix)))
}

fn mutates(name: &str, arguments: &str) -> bool {
    match name {
        "open" | "openat" | "openat2" | "creat" => opens_for_writing(arguments),
        "write" | "writev" | "pwrite64" | "pwritev" | "fsync" | "fdatasync" | "sync_file_range"
        | "ftruncate" | "fallocate" | "sendfile" | "fchmod" => is_on_file(arguments),
        "truncate" | "copy_file_range" | "chmod" | "fchmodat" | "utimensat" => true,
        _ => ["rename", "unlink", "mkdir", "rmdir", "link", "symlink"]
            .iter()
            .any(|stem| name.starts_with(stem)),
    }
}

/// Changing a mode or a time needs no room and does not fail on a sick disk alone.
fn can_fail(name: &str, arguments: &str) -> bool {
    match name {
        "open" | "openat" | "openat2" | "creat" => {
            opens_for_writing(arguments) && arguments.contains("O_CREAT")
        }
        "fchmod" | "chmod" | "fchmodat" | "utimensat" => false,
        _ => mutates(name, arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::write_phase;

    #[test]
    fn the_write_phase_begins_with_the_first_change_and_counts_per_thread() {
        let log = "\
7 execve(\"/tl\", ...) = 0
7 openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY) = 3
7 write(2</x/stderr>, \"hi\", 2) = 2
7 openat(AT_FDCWD, \"/x/live/state.db\", O_RDWR|O_CREAT, 0600) = 3
7 read(3, \"\", 10) = 0
7 clone3({flags=CLONE_VM|CLONE_THREAD}, 88) = 8
8 write(5</x/live/journal>, \"x\", 1 <unfinished ...>
7 pwrite64(3</x/live/state.db>, \"y\", 1, 0) = 1
8 <... write resumed>) = 1
7 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD) = 9
9 unlink(\"/other\") = 0
7 write(1</x/stdout>, \"done\", 4) = 4
7 exit_group(0) = ?
";
        let calls: Vec<String> = write_phase(log)
            .iter()
            .map(|call| {
                format!(
                    "{}#{}{}",
                    call.name,
                    call.nth,
                    if call.mutates { "!" } else { "" }
                )
            })
            .collect();
        let expected = [
            "openat#2!",
            "read#1",
            "clone3#1",
            "write#1!",
            "pwrite64#1!",
            "clone#1",
            "write#2",
            "exit_group#1",
        ];
        assert_eq!(calls, expected);
    }
}
