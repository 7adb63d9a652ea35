//! Host selection on the command line: by name, `all`, or `auto` detection.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use application::Failure;
use domain::host_event::Host;
use domain::suggest::nearest_words;
use hosts::{HostSpec, SPECS};
use serde::Serialize;

use crate::program_path::{find_on_path, is_executable};
use crate::settings;

/// A detected host with the evidence for it.
#[derive(Debug, Serialize)]
pub(super) struct FoundHost {
    pub(super) host: Host,
    pub(super) because: Vec<String>,
}

/// Parsed value of `--host`.
#[derive(Debug)]
pub(super) enum HostChoice {
    Named(Vec<Host>),
    /// All hosts that are detected.
    Auto,
}

/// Parses `--host`. `with_auto` allows `auto`.
pub(super) fn parse_host_choice(words: &[String], with_auto: bool) -> Result<HostChoice, Failure> {
    let mut hosts = Vec::new();
    for word in words {
        match (word.trim(), Host::from_word(word.trim())) {
            ("all", _) => hosts.extend(Host::ALL),
            ("auto", _) if with_auto && words.len() == 1 => return Ok(HostChoice::Auto),
            (_, Some(host)) => hosts.push(host),
            (other, None) => return Err(unknown_host(other, with_auto)),
        }
    }
    // In a fixed order, each once: the plan for Copilot depends on the one for Claude Code.
    Ok(HostChoice::Named(
        Host::ALL
            .into_iter()
            .filter(|host| hosts.contains(host))
            .collect(),
    ))
}

/// Returns the hosts' names, separated by commas.
pub(super) fn list_host_names() -> String {
    Host::ALL.map(Host::as_str).join(", ")
}

/// Returns the help text of an argument that is a host.
pub(super) fn host_argument_help() -> String {
    let names = list_host_names();
    let (others, last) = names.rsplit_once(", ").unwrap_or(("", &names));
    format!("The host: {others} or {last}")
}

fn unknown_host(word: &str, with_auto: bool) -> Failure {
    let alias = SPECS
        .iter()
        .find(|spec| spec.aliases.contains(&word.to_lowercase().as_str()))
        .map(|spec| spec.host.as_str());
    let near = alias.or_else(|| {
        nearest_words(word, Host::ALL.map(Host::as_str), 1)
            .first()
            .copied()
    });
    let hint = near
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default();
    let more = if with_auto {
        "auto (alone) or all"
    } else {
        "all"
    };
    let failure = Failure::invalid(format!(
        "no host `{word}`: expected {}, {more}{hint}",
        list_host_names()
    ));
    match near {
        Some(near) => failure.with_step(format!(
            "tl {} {near}",
            if with_auto {
                "init --host"
            } else {
                "host uninstall"
            }
        )),
        None => failure,
    }
}

/// Detects hosts by their files in the project and their programs on PATH.
pub(super) fn detect_hosts(root: &Path) -> Vec<FoundHost> {
    // A directory is weak evidence, because repositories keep settings for hosts that are not
    // installed here; so the evidence is shown with each host.
    let find = |spec: &HostSpec| {
        let files = spec
            .project_files
            .iter()
            .filter(|file| root.join(file).exists())
            .map(|file| (*file).to_owned());
        let programs = spec
            .programs
            .iter()
            .filter(|name| find_on_path(name).is_some())
            .map(|name| format!("{name} on PATH"));
        FoundHost {
            host: spec.host,
            because: files.chain(programs).collect(),
        }
    };
    SPECS
        .into_iter()
        .map(find)
        .filter(|found| !found.because.is_empty())
        .collect()
}

/// Searches PATH for a program outside of the project. `node_modules/.bin` is often on PATH, and a
/// repository must not choose what we run.
pub(super) fn find_on_path_outside(root: &Path, name: &str) -> Option<PathBuf> {
    let path = settings::environment_variable("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| is_executable(file) && !is_inside(root, file))
}

/// Returns PATH without relative folders and those inside the project, for programs that start others.
pub(super) fn path_outside(root: &Path) -> OsString {
    let path = settings::environment_variable("PATH").unwrap_or_default();
    let kept = std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute() && !is_inside(root, &folder.join("tl")));
    std::env::join_paths(kept).unwrap_or_default()
}

/// Whether a file is in a directory, by its name or after its links are followed.
pub(super) fn is_inside(root: &Path, file: &Path) -> bool {
    let Ok(real_root) = root.canonicalize() else {
        // Unknown: the answer that runs nothing.
        return true;
    };
    let folder = file.parent().and_then(|folder| folder.canonicalize().ok());
    [Some(file.to_owned()), folder, file.canonicalize().ok()]
        .into_iter()
        .flatten()
        .any(|path| path.starts_with(&real_root) || path.starts_with(root))
}

/// Returns a note if the agent's commands would not find `tl` on PATH.
pub(super) fn missing_on_path_note() -> Option<String> {
    find_on_path("tl").is_none().then(|| {
        "`tl` is not on your PATH, and the agent's commands call it by that name".to_owned()
    })
}
