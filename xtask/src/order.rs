//! The functions a hook runs, for the linker to lay side by side (`crates/cli/build.rs`).
//!
//! The program is run under valgrind's callgrind for one event of each kind, and the names it met are written to
//! `crates/cli/hook-path.txt`, without the hashes that change with every compiler.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

use crate::bench::story::write_file;
use crate::bench::{hooks, work};
use crate::workspace::{cargo, root, run, target_directory};
use crate::{Outcome, say, say_error};

/// Builds with names, runs every event, writes the list.
pub(crate) fn order() -> Outcome {
    say_error("building (dist, with symbols)");
    run(cargo()
        .args(["build", "--profile", "dist", "--package", "throughline"])
        .args(["--package", "xtask", "--bins"])
        .env("THROUGHLINE_SYMBOLS", "keep"))?;
    let release = target_directory()?.join("dist");
    let folder = tempfile::tempdir().map_err(|error| format!("no directory: {error}"))?;
    let (through, profiles) = (folder.path().join("tl"), folder.path().join("profiles"));
    let script = format!(
        "#!/bin/sh\nTHROUGHLINE_HOOK_DEADLINE_MS=60000 exec valgrind --quiet --tool=callgrind --demangle=no \
         --callgrind-out-file='{}/%p' '{}' \"$@\"\n",
        profiles.display(),
        release.join("tl").display()
    );
    write_file(&through, &script)?;
    let made = std::fs::create_dir(&profiles)
        .and_then(|()| std::fs::set_permissions(&through, PermissionsExt::from_mode(0o755)));
    made.map_err(|error| format!("cannot write: {error}"))?;
    say_error("running every hook under valgrind");
    hooks::once(&release, &through, &folder.path().join("stories"))?;
    work::twice(&release, &through, &folder.path().join("work"))?;
    let mut names: BTreeSet<String> = BTreeSet::new();
    for profile in std::fs::read_dir(&profiles).into_iter().flatten().flatten() {
        let text = std::fs::read_to_string(profile.path())
            .map_err(|error| format!("no profile: {error}"))?;
        names.extend(text.lines().filter_map(met).map(without_hash));
    }
    if names.is_empty() {
        return Err("valgrind wrote nothing: is it installed?".to_owned());
    }
    let text: String = names.iter().map(|name| format!("{name}\n")).collect();
    write_file(&root().join("crates/cli/hook-path.txt"), &text)?;
    say(&format!(
        "{} names in crates/cli/hook-path.txt; build again to use them",
        names.len()
    ));
    Ok(())
}

/// Returns the function a line of the profile names. Those of the C library have no section of their own.
fn met(line: &str) -> Option<&str> {
    let (_, name) = line
        .strip_prefix("fn=")
        .or_else(|| line.strip_prefix("cfn="))?
        .split_once(") ")?;
    let name = name.split('\'').next().unwrap_or(name);
    (name.starts_with("_ZN") || name.starts_with(|first: char| first.is_ascii_alphabetic()))
        .then_some(name)
}

/// Ends a mangled name before its hash, with a star in its place.
fn without_hash(name: &str) -> String {
    match name.rfind("17h") {
        Some(at) if name.starts_with("_ZN") => {
            name.chars().take(at).chain("17h*".chars()).collect()
        }
        _ => name.to_owned(),
    }
}
