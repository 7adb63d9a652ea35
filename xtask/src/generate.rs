//! The generated files: `docs/reference`, written by the program's own hidden command, and the
//! built-in profiles as JSON, which a test of `domain` compares.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::workspace::{cargo, files_below, relative, root, run};
use crate::{Outcome, say};

const PAGES: &str = "docs/reference";

/// Writes the compiled profiles and the pages.
pub(crate) fn write() -> Outcome {
    run(cargo().args([
        "run",
        "--quiet",
        "--package",
        "throughline-domain",
        "--example",
        "compile_profiles",
    ]))?;
    write_into(&root().join(PAGES))?;
    say(&format!("{PAGES} is written"));
    Ok(())
}

/// Says whether the pages are what the program would write now.
pub(crate) fn check() -> Outcome {
    let stale = stale()?;
    if stale.is_empty() {
        say(&format!("{PAGES} is fresh"));
        return Ok(());
    }
    Err(format!(
        "{}\nrun `just gen` (or `cargo xtask generate`) and look at the difference",
        stale.join("\n")
    ))
}

/// Returns what is wrong with the pages, one line each.
pub(crate) fn stale() -> Result<Vec<String>, String> {
    let fresh = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    write_into(fresh.path())?;
    let checked_in = root().join(PAGES);
    let mut found = Vec::new();
    for page in files_below(fresh.path(), "") {
        let name = page.file_name().unwrap_or_default();
        let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        if read(&page) != read(&checked_in.join(name)) {
            found.push(format!(
                "{PAGES}/{} is not what the program says now",
                name.display()
            ));
        }
    }
    for page in files_below(&checked_in, "") {
        if !fresh
            .path()
            .join(page.file_name().unwrap_or_default())
            .exists()
        {
            found.push(format!("{} is not written by the program", relative(&page)));
        }
    }
    Ok(found)
}

fn write_into(directory: &Path) -> Outcome {
    let mut program = cargo();
    program
        .args([
            "run",
            "--quiet",
            "--package",
            "throughline",
            "--bin",
            "tl",
            "--",
            "reference",
        ])
        .arg(directory);
    program.stderr(std::process::Stdio::piped());
    let output = program
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    // Told only when it failed: the program's own word about the directory is no news here.
    Err(format!(
        "`tl reference` failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    ))
}

/// Builds what the benchmark runs.
pub(crate) fn build_dist() -> Outcome {
    build_profile("dist")
}

/// Lets benchmarks measure the program as it was built last: a dist build takes a quarter of an hour, and
/// every commit asks for another one.
pub(crate) fn use_what_is_built() {
    IS_BUILT.store(true, Ordering::Relaxed);
}

static IS_BUILT: AtomicBool = AtomicBool::new(false);

/// Builds what the benchmark runs, with another profile.
pub(crate) fn build_profile(profile: &str) -> Outcome {
    if IS_BUILT.load(Ordering::Relaxed) {
        return Ok(());
    }
    run(cargo().args([
        "build",
        "--profile",
        profile,
        "--quiet",
        "--package",
        "throughline",
        "--package",
        "xtask",
        "--bins",
    ]))
}
