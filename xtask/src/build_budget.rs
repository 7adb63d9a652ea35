//! Build budget: CPU seconds of a cold build per crate, against the recorded total.
//!
//! `cargo xtask build-budget` builds the program into an empty directory with this program as
//! `RUSTC_WRAPPER`, which measures each compiler process. Build scripts (SQLite and zstd are
//! compiled by theirs) are what is left of cargo's own total. CPU time and not wall time, because
//! the number of cores must not matter.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use wait4::Wait4;

use crate::bench::story::write_file;
use crate::workspace::{cargo, root, target_directory};
use crate::{Outcome, say, say_error};

/// Names the file the wrapper appends to; its presence makes this program the wrapper.
const LOG: &str = "THROUGHLINE_BUILD_BUDGET_LOG";

/// Growth over the recorded total that fails the check, in percent. Two builds of the same tree
/// differ by up to 4 %.
const MAX_GROWTH_PERCENT: u64 = 10;

/// The profiles that have a budget, as cargo names them.
const PROFILES: [&str; 2] = ["dev", "release"];

/// Runs as `RUSTC_WRAPPER`: `xtask RUSTC ARGUMENT…`. `None` when it was started otherwise.
pub(crate) fn run_as_wrapper() -> Option<ExitCode> {
    let log = std::env::var_os(LOG)?;
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (rustc, rest) = arguments.split_first()?;
    let mut command = crate::workspace::command(rustc);
    let used = command
        .args(rest)
        .spawn()
        .and_then(|mut child| child.wait4());
    let Ok(used) = used else {
        return Some(ExitCode::FAILURE);
    };
    if let Some(name) = crate_name(rest) {
        let cpu = used.rusage.utime + used.rusage.stime;
        let line = format!("{name}\t{}\n", cpu.as_millis());
        // Appended in one write, so that parallel compilers do not mix their lines.
        let appended = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(log)
            .and_then(|mut file| file.write_all(line.as_bytes()));
        if let Err(error) = appended {
            say_error(&format!(
                "warning: a compiler's time is not recorded: {error}"
            ));
        }
    }
    let code = used.status.code().and_then(|code| u8::try_from(code).ok());
    Some(ExitCode::from(code.unwrap_or(1)))
}

/// Returns the crate a compiler was called for; `None` for calls that only ask for information.
fn crate_name(arguments: &[OsString]) -> Option<String> {
    let at = arguments.iter().position(|word| word == "--crate-name")?;
    let name = arguments.get(at + 1)?.to_str()?;
    (name != "___").then(|| name.to_owned())
}

/// Builds a profile from scratch, prints the CPU seconds per crate, and compares the total.
pub(crate) fn check_budget(profile: &str, record: bool) -> Outcome {
    if !PROFILES.contains(&profile) {
        return Err(format!(
            "`{profile}` has no budget; those that do: {}",
            PROFILES.join(", ")
        ));
    }
    let folder = tempfile::Builder::new()
        .prefix("build-budget-")
        .tempdir_in(target_directory()?)
        .map_err(|error| format!("cannot make a directory for the build: {error}"))?;
    say_error(&format!("building from scratch ({profile})"));
    let log = folder.path().join("units.tsv");
    let begun = std::time::Instant::now();
    let total = build(profile, folder.path(), &log)?;
    let wall = begun.elapsed();
    let units = read_units(&log)?;
    say(&render_units(&units, total, wall));
    let path = root().join("docs/build-budget.json");
    let mut recorded = read_recorded(&path)?;
    if record {
        recorded.insert(profile.to_owned(), total.as_secs());
        let text = serde_json::to_string_pretty(&recorded).unwrap_or_default();
        return write_file(&path, &format!("{text}\n"));
    }
    compare_totals(profile, total, recorded.get(profile).copied())
}

fn build(profile: &str, target: &Path, log: &Path) -> Result<Duration, String> {
    let wrapper = std::env::current_exe().map_err(|error| format!("no path to xtask: {error}"))?;
    let mut command: Command = cargo();
    command
        .args([
            "build",
            "--quiet",
            "--package",
            "throughline",
            "--profile",
            profile,
        ])
        .env("CARGO_TARGET_DIR", target)
        // Local settings for speed must not change the measurement.
        .env_remove("CARGO_PROFILE_DEV_DEBUG")
        .env("RUSTC_WRAPPER", wrapper)
        .env(LOG, log);
    let used = command
        .spawn()
        .and_then(|mut child| child.wait4())
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !used.status.success() {
        return Err("the build failed".to_owned());
    }
    Ok(used.rusage.utime + used.rusage.stime)
}

/// Reads the wrapper's log: CPU time per crate name. A build script counts to its package.
fn read_units(log: &Path) -> Result<BTreeMap<String, Duration>, String> {
    let text = std::fs::read_to_string(log)
        .map_err(|error| format!("cannot read {}: {error}", log.display()))?;
    let mut units = BTreeMap::new();
    for (name, millis) in text.lines().filter_map(|line| line.split_once('\t')) {
        let millis: u64 = millis
            .parse()
            .map_err(|_| format!("not a number: {millis}"))?;
        *units.entry(name.to_owned()).or_default() += Duration::from_millis(millis);
    }
    Ok(units)
}

fn render_units(units: &BTreeMap<String, Duration>, total: Duration, wall: Duration) -> String {
    /// Units below this are summed up: there are hundreds.
    const MIN_SHOWN: Duration = Duration::from_secs(2);
    let compiled: Duration = units.values().sum();
    let mut sorted: Vec<(&String, &Duration)> = units.iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(a.1));
    let mut text = String::from("| CPU s | crate |\n| ---: | --- |\n");
    let (shown, rest): (Vec<_>, Vec<_>) =
        sorted.into_iter().partition(|(_, cpu)| **cpu >= MIN_SHOWN);
    for (name, cpu) in &shown {
        text.push_str(&format!("| {:.1} | {name} |\n", cpu.as_secs_f64()));
    }
    let others: Duration = rest.iter().map(|(_, cpu)| **cpu).sum();
    text.push_str(&format!(
        "| {:.1} | {} smaller crates |\n",
        others.as_secs_f64(),
        rest.len()
    ));
    let scripts = total.saturating_sub(compiled);
    text.push_str(&format!(
        "| {:.1} | build scripts, C code and cargo itself |\n",
        scripts.as_secs_f64()
    ));
    text.push_str(&format!(
        "| {:.1} | total CPU, in {:.0} s of wall time |",
        total.as_secs_f64(),
        wall.as_secs_f64()
    ));
    text
}

fn read_recorded(path: &PathBuf) -> Result<BTreeMap<String, u64>, String> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|error| format!("{} is not a budget: {error}", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
    }
}

fn compare_totals(profile: &str, total: Duration, recorded: Option<u64>) -> Outcome {
    let Some(recorded) = recorded else {
        return Err(format!(
            "no budget is recorded for `{profile}`; next: cargo xtask build-budget {profile} --record"
        ));
    };
    let now = total.as_secs();
    let limit = recorded + recorded * MAX_GROWTH_PERCENT / 100;
    if now > limit {
        return Err(format!(
            "a cold {profile} build takes {now} CPU seconds, more than {MAX_GROWTH_PERCENT} % over the recorded {recorded}"
        ));
    }
    say(&format!(
        "recorded: {recorded} CPU seconds, limit {limit}: holds"
    ));
    Ok(())
}
