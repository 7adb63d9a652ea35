//! Checks the npm launcher with a stand-in for the program: exit codes, signals, and that none is left
//! running.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::Outcome;
use crate::dist::{copy_file, make_directory, set_mode, write_file};
use crate::workspace::{command, run};

/// The stand-in: ends with a code, by a signal of its own, or waits for one.
const PROGRAM: &str = r#"#!/bin/sh
case "$1" in
    code) exit 7 ;;
    die) kill -KILL $$ ;;
    handle) trap 'exit 5' TERM INT HUP; echo ready; while :; do sleep 0.02; done ;;
    wait)
        echo ready
        for turn in $(seq 300); do sleep 0.02; done
        echo left behind ;;
esac
"#;

/// Starts the launcher in a new folder, with the stand-in as the package of this platform.
pub(super) fn check_launcher(launcher: &Path, folder: &Path) -> Outcome {
    let script = folder.join("launcher.js");
    copy_file(launcher, &script)?;
    let platform = command("node")
        .args(["-p", "`${process.platform}-${process.arch}`"])
        .output()
        .map_err(|error| format!("cannot start node: {error}"))?;
    let platform = String::from_utf8_lossy(&platform.stdout).trim().to_owned();
    let package = folder.join(format!("node_modules/throughline-{platform}"));
    make_directory(&package.join("bin"))?;
    write_file(&package.join("bin/tl"), PROGRAM)?;
    set_mode(&package.join("bin/tl"), 0o755)?;
    let launch = |word: &str| {
        let mut launch = command("node");
        launch.arg(&script).arg(word);
        launch
    };
    expect_end("exit code", launch("code"), None, (Some(7), None))?;
    expect_end("killed program", launch("die"), None, (None, Some(9)))?;
    for (signal, number) in [("TERM", 15), ("INT", 2), ("HUP", 1)] {
        let handled = (Some(5), None);
        expect_end("handled signal", launch("handle"), Some(signal), handled)?;
        let ended = (None, Some(number));
        expect_end("signal", launch("wait"), Some(signal), ended)?;
    }
    Ok(())
}

/// Runs the launcher, sends it a signal once the program is ready, and compares exit code and signal.
fn expect_end(
    what: &str,
    mut launch: Command,
    signal: Option<&str>,
    expected: (Option<i32>, Option<i32>),
) -> Outcome {
    let mut launched = launch
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start the launcher: {error}"))?;
    let mut output = BufReader::new(launched.stdout.take().ok_or("no output of the launcher")?);
    if let Some(signal) = signal {
        send_when_ready(&launched, &mut output, signal)?;
    }
    let ended = launched
        .wait()
        .map_err(|error| format!("cannot wait for the launcher: {error}"))?;
    // The program has the other end of the pipe: this waits for one that is left over.
    let mut rest = String::new();
    output
        .read_to_string(&mut rest)
        .map_err(|error| format!("cannot read what the launcher prints: {error}"))?;
    match (ended.code(), ended.signal()) == expected && rest.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "npm launcher, {what} {}: {ended}, expected {expected:?}; {rest}",
            signal.unwrap_or_default()
        )),
    }
}

fn send_when_ready(launched: &Child, output: &mut impl BufRead, signal: &str) -> Outcome {
    let mut line = String::new();
    output
        .read_line(&mut line)
        .map_err(|error| format!("cannot read what the launcher prints: {error}"))?;
    run(command("kill").args([&format!("-{signal}"), &launched.id().to_string()]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    #[test]
    fn the_launcher_ends_as_its_program_and_takes_it_along() {
        if command("node").arg("--version").output().is_err() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        check_launcher(&root().join("packaging/npm/throughline.js"), folder.path()).unwrap();
    }
}
