//! Sandbox of one worker: a project and a user directory of its own, saved and restored as directory trees.
//!
//! Every project lives at the same path, `live`, because the program remembers where a project is. It is saved by copying it
//! away and restored by copying it back. The directory is in memory where the machine has `/dev/shm`: a kill and an injected
//! error do not depend on the disk, and thousands of syncs would.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use crate::workspace::command;

/// A command that takes longer hangs: the longest wait of the program itself is ten seconds.
const MAX_SECONDS_PER_COMMAND: u64 = 40;

/// A server whose answer did not come by then will not give one.
const MAX_SECONDS_FOR_ANSWERS: u64 = 5;

/// The environment of every command, besides the paths.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("TZ", "UTC"),
    ("NO_COLOR", "1"),
    ("USER", "mara"),
    ("LANG", "C.UTF-8"),
    ("THROUGHLINE_SESSION", "s1"),
];

/// Where one worker makes, breaks and judges projects.
#[derive(Debug)]
pub(crate) struct Lab {
    tl: PathBuf,
    root: PathBuf,
}

/// A command line with its input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'c> {
    /// `tl` in the first place is the program under test.
    pub(crate) words: &'c [String],
    pub(crate) input: &'c str,
    /// Whether only a person may call it: `script` gives it a terminal. Its words must need no quotes.
    pub(crate) at_terminal: bool,
}

/// An input that the scenario's setup wrote to `../input`.
pub(crate) const FROM_FILE: &str = "(from file)";

/// What a command printed and how it ended.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// None when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) timed_out: bool,
}

impl Run {
    /// Says whether the program crashed instead of reporting an error.
    pub(crate) fn panicked(&self) -> bool {
        self.code == Some(101) || self.stderr.contains("panicked at")
    }

    /// Returns the end of the command in words.
    pub(crate) fn ending(&self) -> String {
        match (self.timed_out, self.code) {
            (true, _) => format!("no end after {MAX_SECONDS_PER_COMMAND} s"),
            (_, Some(code)) => format!("exit {code}"),
            (_, None) => "killed".to_owned(),
        }
    }

    /// Returns the first line of the error, or of the output.
    pub(crate) fn first_line(&self) -> String {
        let error = self.stderr.lines().find(|line| line.starts_with("error:"));
        let line = error
            .or_else(|| self.stderr.lines().next())
            .or_else(|| self.stdout.lines().next());
        line.unwrap_or_default().to_owned()
    }
}

impl Lab {
    /// Makes an empty sandbox below `root` for the program at `tl`.
    pub(crate) fn create(tl: &Path, root: PathBuf) -> Result<Self, String> {
        let lab = Self {
            tl: tl.to_owned(),
            root,
        };
        let bin = lab.root.join("bin");
        std::fs::create_dir_all(&bin)
            .map_err(|error| format!("cannot make {}: {error}", bin.display()))?;
        std::os::unix::fs::symlink(tl, bin.join("tl"))
            .map_err(|error| format!("cannot link the program: {error}"))?;
        Ok(lab)
    }

    /// Returns the project's directory.
    pub(crate) fn work(&self) -> PathBuf {
        self.root.join("live/work")
    }

    /// Returns the user's directory.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("live/home")
    }

    /// Returns a scratch file outside the project.
    pub(crate) fn scratch(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Empties the project and the user's directory.
    pub(crate) fn reset(&self) -> Result<(), String> {
        let live = self.root.join("live");
        remove(&live)?;
        for folder in [self.work(), self.home()] {
            std::fs::create_dir_all(&folder)
                .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        }
        Ok(())
    }

    /// Keeps the project as it is now under a name.
    pub(crate) fn save(&self, name: &str) -> Result<(), String> {
        let kept = self.root.join("kept").join(name);
        remove(&kept)?;
        copy(&self.root.join("live"), &kept)
    }

    /// Says whether a project is kept under a name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.root.join("kept").join(name).is_dir()
    }

    /// Brings a kept project back.
    pub(crate) fn load(&self, name: &str) -> Result<(), String> {
        let live = self.root.join("live");
        remove(&live)?;
        copy(&self.root.join("kept").join(name), &live)
    }

    /// Returns a digest of every byte of the live project and the user's directory.
    pub(crate) fn digest(&self) -> String {
        let mut digest = Sha256::new();
        let live = self.root.join("live");
        for path in crate::workspace::files_below(&live, "") {
            digest.update(path.as_os_str().as_encoded_bytes());
            digest.update(std::fs::read(&path).unwrap_or_default());
        }
        digest
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// Runs a call without a fault.
    pub(crate) fn run_plain(&self, call: &Call<'_>) -> Result<Run, String> {
        self.run_wrapped(&[], call)
    }

    /// Runs a call as the last words of another command line, at a terminal if it needs one.
    pub(crate) fn run_wrapped(&self, wrapper: &[String], call: &Call<'_>) -> Result<Run, String> {
        let tl = self.tl.display().to_string();
        let own = call
            .words
            .iter()
            .enumerate()
            .map(|(place, word)| match (place, word.as_str()) {
                (0, "tl") => tl.clone(),
                (_, word) => word.to_owned(),
            });
        let mut words: Vec<String> = wrapper.iter().cloned().chain(own).collect();
        if call.at_terminal {
            words = ["script", "-qec", &words.join(" "), "/dev/null"]
                .map(str::to_owned)
                .to_vec();
        }
        let (program, arguments) = words.split_first().ok_or("an empty command line")?;
        let mut prepared = command(program);
        prepared.args(arguments);
        let input = match call.input {
            FROM_FILE => std::fs::read_to_string(self.root.join("live/input"))
                .map_err(|error| format!("no input: {error}"))?,
            text => text.to_owned(),
        };
        self.run(prepared, &input)
    }

    /// Gives a command the project as its directory and the lab's environment.
    fn equip(&self, prepared: &mut Command) {
        prepared
            .current_dir(self.work())
            .env_clear()
            .envs(ENVIRONMENT)
            .env("HOME", self.home());
        prepared.env(
            "PATH",
            format!(
                "{}:/usr/local/bin:/usr/bin:/bin",
                self.root.join("bin").display()
            ),
        );
        prepared.env("THROUGHLINE_HOME", self.home().join("throughline"));
    }

    /// Returns a command of the program that can run beside others.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut prepared = command(&self.tl);
        prepared
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        self.equip(&mut prepared);
        prepared
    }

    /// Runs `tl` with these arguments.
    pub(crate) fn tl(&self, arguments: &[&str]) -> Result<Run, String> {
        let mut program = command(&self.tl);
        program.args(arguments);
        self.run(program, "")
    }

    /// Runs a shell script in which any failure is the end.
    pub(crate) fn script(&self, text: &str) -> Result<(), String> {
        let mut shell = command("/bin/sh");
        shell.args(["-e", "-c", text]);
        let run = self.run(shell, "")?;
        match run.code {
            Some(0) => Ok(()),
            _ => Err(format!(
                "the preparation failed ({}): {}{}",
                run.ending(),
                run.stdout,
                run.stderr
            )),
        }
    }

    /// Runs a prepared command in the project. An `input` of JSON-RPC lines is a dialogue: its end comes after the answers.
    pub(crate) fn run(&self, mut prepared: Command, input: &str) -> Result<Run, String> {
        let (out, err) = (self.root.join("stdout"), self.root.join("stderr"));
        let file = |path: &Path| {
            File::create(path).map_err(|error| format!("cannot make {}: {error}", path.display()))
        };
        self.equip(&mut prepared);
        prepared
            .stdin(Stdio::piped())
            .stdout(file(&out)?)
            .stderr(file(&err)?)
            .process_group(0);
        let mut child = prepared
            .spawn()
            .map_err(|error| format!("cannot start {prepared:?}: {error}"))?;
        let timed_out = feed_and_wait(&mut child, input, &out)?;
        let status = child
            .wait()
            .map_err(|error| format!("cannot wait: {error}"))?;
        let text = |path: &Path| {
            std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        let read = |path: &Path| {
            text(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        // A shell and strace report a killed child as 128 + signal.
        let code = status
            .code()
            .filter(|code| *code != 137 && status.signal().is_none());
        Ok(Run {
            code,
            stdout: read(&out)?,
            stderr: read(&err)?,
            timed_out,
        })
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = remove(&self.root);
    }
}

/// What a person types who agrees.
pub(crate) const TYPED_YES: &str = "y\n";

/// Writes the input, closes it in time, and waits; says whether the command had to be killed.
fn feed_and_wait(child: &mut Child, input: &str, out: &Path) -> Result<bool, String> {
    let started = Instant::now();
    let deadline = started + Duration::from_secs(MAX_SECONDS_PER_COMMAND);
    let mut stdin = child.stdin.take();
    if let Some(pipe) = &mut stdin {
        // The command may be killed before it reads: that is no failure of ours.
        let _ = pipe.write_all(input.as_bytes()).and_then(|()| pipe.flush());
    }
    let answers = input
        .lines()
        .filter(|line| line.contains("\"jsonrpc\"") && line.contains("\"id\""))
        .count();
    let lines = || {
        std::fs::read(out)
            .map(|bytes| bytes.iter().filter(|byte| **byte == b'\n').count())
            .unwrap_or(0)
    };
    loop {
        let is_answered =
            || lines() >= answers || started.elapsed().as_secs() >= MAX_SECONDS_FOR_ANSWERS;
        // The end of what is typed would be the end of the terminal.
        let is_typed = input == TYPED_YES;
        if stdin.is_some() && !is_typed && (answers == 0 || is_answered()) {
            drop(stdin.take());
        }
        if child
            .try_wait()
            .map_err(|error| format!("cannot wait: {error}"))?
            .is_some()
        {
            return Ok(false);
        }
        if Instant::now() > deadline {
            // The whole group: strace does not end its tracee when it is killed.
            let _ = command("/bin/kill")
                .args(["-9", "--", &format!("-{}", child.id())])
                .status();
            return Ok(true);
        }
        std::thread::sleep(Duration::from_micros(700));
    }
}

/// Removes a directory, if it is there.
fn remove(path: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Copies a directory with the modification times, which the program compares.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent)
            .map_err(|error| format!("cannot make {}: {error}", parent.display()))?;
    }
    crate::workspace::run(command("cp").arg("-a").arg(from).arg(to))
}
