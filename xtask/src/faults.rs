//! The fault lane: every command that changes something is killed and failed at every system call of its write phase.
//!
//! `cargo xtask faults` runs the real program under `strace` in projects of its own (`lab.rs`), injects one fault per run
//! (`trace.rs`), and lets fresh processes judge what is left (`judge.rs`): no command stays broken, nothing acknowledged is
//! lost, no half state, no false answer, and the repeated command ends where an undisturbed one does.

mod concurrent;
mod coverage;
mod judge;
mod lab;
mod options;
mod planted;
mod scenarios;
mod snapshot;
mod sweep;
mod trace;

use std::path::{Path, PathBuf};

use self::lab::Lab;
use self::options::Options;
use crate::workspace::{cargo, run, target_directory};
use crate::{Outcome, say};

/// Runs the lane as the options say.
pub(crate) fn faults(words: &[&str]) -> Outcome {
    let options = Options::parse(words)?;
    if !has_strace() {
        say("skipped: the fault lane needs strace");
        return Ok(());
    }
    let tl = match &options.tl {
        Some(path) => path
            .canonicalize()
            .map_err(|error| format!("no program at {}: {error}", path.display()))?,
        None => built()?,
    };
    let folder = scratch_folder()?;
    if options.concurrent {
        return concurrent::run(&tl, folder.path(), options.seed);
    }
    let mut chosen = scenarios::all();
    if let Some(name) = &options.scenario {
        chosen.retain(|scenario| scenario.name == name);
        if chosen.is_empty() {
            let names: Vec<&str> = scenarios::all()
                .iter()
                .map(|scenario| scenario.name)
                .collect();
            return Err(format!(
                "no scenario `{name}`; there are {}",
                names.join(", ")
            ));
        }
    } else {
        coverage::check(&Lab::create(&tl, folder.path().join("coverage"))?, &chosen)?;
        planted::check(&Lab::create(&tl, folder.path().join("planted"))?)?;
    }
    let is_whole = options.scenario.is_none() && options.sample.is_none();
    let swept = sweep::run(&tl, folder.path(), chosen, &options);
    let together = if is_whole {
        concurrent::run(&tl, folder.path(), options.seed)
    } else {
        Ok(())
    };
    match (swept, together) {
        (Err(one), Err(other)) => Err(format!("{one}\n{other}")),
        (swept, together) => swept.and(together),
    }
}

fn has_strace() -> bool {
    crate::workspace::command("strace")
        .arg("-V")
        .output()
        .is_ok_and(|output| output.status.success())
}

fn built() -> Result<PathBuf, String> {
    run(cargo().args(["build", "--quiet", "--package", "throughline"]))?;
    Ok(target_directory()?.join("debug/tl"))
}

/// In memory where the machine has that: a kill does not depend on the disk, and thousands of syncs would.
fn scratch_folder() -> Result<tempfile::TempDir, String> {
    let memory = Path::new("/dev/shm");
    let in_memory = tempfile::Builder::new()
        .prefix("tl-faults-")
        .tempdir_in(memory);
    in_memory
        .or_else(|_| tempfile::Builder::new().prefix("tl-faults-").tempdir())
        .map_err(|error| format!("no directory for the lane: {error}"))
}
