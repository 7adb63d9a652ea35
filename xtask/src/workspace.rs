//! The repository itself: where it is, what cargo says about it, which files it has.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Returns the repository's directory.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_owned)
        .unwrap_or_default()
}

/// Returns a cargo that works in the repository.
pub(crate) fn cargo() -> Command {
    let mut cargo = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    // What the cargo that runs this program says about its package: a dependency that looks at it would be rebuilt by every
    // change between the two, and with it all that depends on it.
    for (name, _) in std::env::vars_os() {
        let is_of_package = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        });
        if is_of_package {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// Returns a command; the one place of this program that makes one.
#[expect(
    clippy::disallowed_methods,
    reason = "starting programs is what this program is for"
)]
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(program)
}

/// Runs a command to its end.
///
/// # Errors
/// When it cannot be started or fails.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    let status = command
        .status()
        .map_err(|error| format!("cannot start {shown}: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{shown} ended with {status}"))
    }
}

/// Returns what `cargo metadata` says about the workspace's own packages.
///
/// # Errors
/// When cargo fails.
pub(crate) fn metadata() -> Result<Value, String> {
    let output = cargo()
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata is not JSON: {error}"))
}

/// Returns cargo's target directory.
///
/// # Errors
/// When cargo fails.
pub(crate) fn target_directory() -> Result<PathBuf, String> {
    let metadata = metadata()?;
    metadata["target_directory"]
        .as_str()
        .map(PathBuf::from)
        .ok_or_else(|| "cargo names no target directory".to_owned())
}

/// Returns the files below a directory whose names end in `ending`, sorted.
pub(crate) fn files_below(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(kind) if kind.is_file() && path.to_string_lossy().ends_with(ending) => {
                    found.push(path)
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    found.sort();
    found
}

/// Shows a path relative to the repository.
pub(crate) fn relative(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string()
}
