//! Hardened `git` command line: nothing in a repository can make git run a program.
//!
//! A repository brings configuration (`.git/config`, its includes, `config.worktree`) and
//! attributes (`.gitattributes`, `.git/info/attributes`) that name programs: a file system monitor,
//! hooks, content filters. Configuration on the command line overrides all of it. Attributes are
//! read from the empty tree (`--attr-source`), so that no file has a filter. Git still reads two
//! other places: `core.attributesFile` is set to an empty file; and where `.git/info/attributes`
//! exists, or git is older than 2.41 and lacks `--attr-source`, every configured filter is
//! overridden by an empty one, which git skips. An empty `textconv` program would not be skipped,
//! so there no diff is requested that may run one (`uncommitted.rs`).
//!
//! `attributes.rs` alone looks attributes up in HEAD, with `git check-attr`, which runs nothing.
//!
//! Content is therefore compared as it is on disk. A file that a filter changes (Git LFS,
//! `git-crypt`) counts with all its lines once it is touched, or as binary with none; line endings
//! that git converts are left out of the count (`DIFF_ARGUMENTS`). Counting too much is the safe
//! side: a filter cannot hide lines from the `loc` gate.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use domain::ports::StoreFault;

use super::git_fault;
use super::repository_paths::RepositoryPaths;

/// Object id of the empty tree; git knows it without an object in the repository.
const EMPTY_TREE_SHA1: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
/// How much of `.git/config` is read to find the hash function.
const MAX_SETTINGS_BYTES: u64 = 1024 * 1024;

/// Global options that override configured programs and nested repositories.
const HARDENING_OPTIONS: &[&str] = &[
    "--no-pager",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.attributesFile=/dev/null",
    // A directory of the project laid out like a bare repository is not one: its config would
    // count.
    "-c",
    "safe.bareRepository=explicit",
];

/// Git's `GIT_*` environment: no index lock, no network, no prompts, paths taken literally.
const GIT_ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    // No context lines: hunk headers then count exactly the changed lines.
    ("GIT_DIFF_OPTS", "-u0"),
    ("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1"),
    // File names may contain pathspec magic such as `*` or `:(top)`.
    ("GIT_LITERAL_PATHSPECS", "1"),
    // A partial clone would download missing objects in the middle of a hook.
    ("GIT_NO_LAZY_FETCH", "1"),
    // `git status` would refresh the index and hold its lock while the user's own git needs it.
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // The headings of the long status format are parsed, and git translates them.
    ("LC_ALL", "C"),
];

/// Variables that locate the user's own configuration (ignore rules, `safe.directory`). They are
/// kept; programs configured there are overridden as well.
const KEPT_VARIABLES: &[&str] = &[
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
];

/// How content filters are disabled.
#[derive(Clone, Copy)]
pub(super) enum Filters<'a> {
    /// Attributes come from the empty tree: no file has any.
    NoAttributes,
    /// As above, but `.git/info/attributes` still applies, so these filters are overridden too.
    NoAttributesAndEmpty(&'a [String]),
    /// All configured filters are overridden by empty ones: for git before 2.41, which lacks
    /// `--attr-source`.
    Empty(&'a [String]),
}

/// Builds the command without starting it.
///
/// # Errors
/// When PATH has no git outside the project.
#[expect(
    clippy::disallowed_methods,
    reason = "only git can compare the index and the files with HEAD"
)]
pub(super) fn git_command(
    place: &RepositoryPaths,
    filters: Filters<'_>,
    arguments: &[&str],
) -> Result<Command, StoreFault> {
    let mut command = Command::new(git_program(place)?);
    // When tl runs inside a git hook, GIT_DIR, GIT_INDEX_FILE and others are set for that command
    // and would redirect ours; GIT_EXTERNAL_DIFF, GIT_PAGER and the like name programs.
    for (name, _) in std::env::vars_os() {
        if name.as_bytes().starts_with(b"GIT_") && !KEPT_VARIABLES.iter().any(|kept| name == *kept)
        {
            command.env_remove(name);
        }
    }
    command
        .envs(GIT_ENVIRONMENT.iter().copied())
        .args(HARDENING_OPTIONS);
    if !matches!(filters, Filters::Empty(_)) {
        command.arg(format!("--attr-source={}", empty_tree(place)));
    }
    // `required=false` as well: a required filter without a program makes git fail on the file.
    if let Filters::Empty(names) | Filters::NoAttributesAndEmpty(names) = filters {
        for name in names {
            for (key, value) in [
                ("clean", ""),
                ("smudge", ""),
                ("process", ""),
                ("required", "false"),
            ] {
                command
                    .arg("-c")
                    .arg(format!("filter.{name}.{key}={value}"));
            }
        }
    }
    command.args(arguments).current_dir(&place.project);
    Ok(command)
}

/// Whether `.git/info/attributes` may give files attributes in spite of `--attr-source`.
pub(super) fn has_own_attributes(place: &RepositoryPaths) -> bool {
    // An unreadable file counts as present: the slower path with overridden filters is always safe.
    match place.common.join("info/attributes").metadata() {
        Ok(found) => !found.is_file() || found.len() > 0,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

/// Arguments that list the keys of every configured filter, the input of `filter_names`.
pub(super) const LIST_FILTERS: &[&str] = &[
    "config",
    "--null",
    "--name-only",
    "--get-regexp",
    r"^filter\.",
];

/// Arguments that list the keys of every configured merge driver.
pub(super) const LIST_MERGE_DRIVERS: &[&str] = &[
    "config",
    "--null",
    "--name-only",
    "--get-regexp",
    r"^merge\..*\.driver$",
];

/// Parses the filter names from their keys: `filter.NAME.clean`.
///
/// # Errors
/// When a name contains `=`: `-c` would end the key there, and the filter would not be overridden.
pub(super) fn filter_names(keys: &str) -> Result<Vec<String>, StoreFault> {
    let named = |key: &str| Some(key.strip_prefix("filter.")?.rsplit_once('.')?.0.to_owned());
    let mut names: Vec<String> = keys.split_terminator('\0').filter_map(named).collect();
    names.sort();
    names.dedup();
    match names.iter().find(|name| name.contains('=')) {
        Some(name) => {
            let why = format!(
                "the filter `{name}` in git's settings cannot be switched off: its name contains `=`"
            );
            Err(git_fault("`git` was not started", why))
        }
        None => Ok(names),
    }
}

/// Returns the empty tree's id in the repository's hash function.
///
/// Only `.git/config` itself is searched: git follows no include for `extensions.objectFormat`. A
/// wrong guess is safe: the id names no tree, git refuses, and nothing runs.
pub(super) fn empty_tree(place: &RepositoryPaths) -> &'static str {
    let mut settings = String::new();
    let read = File::open(place.common.join("config"));
    let _ = read.and_then(|file| file.take(MAX_SETTINGS_BYTES).read_to_string(&mut settings));
    let is_sha256 = settings.lines().map(str::trim_start).any(|line| {
        let line = line.to_ascii_lowercase();
        !line.starts_with(['#', ';']) && line.contains("objectformat") && line.contains("sha256")
    });
    if is_sha256 {
        EMPTY_TREE_SHA256
    } else {
        EMPTY_TREE_SHA1
    }
}

/// Returns the first git in PATH that is not inside the project or its repository.
fn git_program(place: &RepositoryPaths) -> Result<&'static Path, StoreFault> {
    // Searched once per process: it costs several system calls for every entry of PATH.
    static INSTALLED: OnceLock<Vec<InstalledGit>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| installed_gits(std::env::var_os("PATH").as_deref()));
    let found = installed
        .iter()
        .find(|git| !git.is_inside(&place.top) && !git.is_inside(&place.common));
    found
        .map(|git| git.path.as_path())
        .ok_or_else(|| git_fault("cannot start `git`", "no `git` in PATH outside the project"))
}

/// A git program found in PATH.
#[derive(Debug)]
struct InstalledGit {
    /// As found in PATH, links not resolved: multi-call programs act by the name they are called
    /// by.
    path: PathBuf,
    /// The PATH directory and the program, with links resolved.
    real: [PathBuf; 2],
}

impl InstalledGit {
    fn is_inside(&self, folder: &Path) -> bool {
        self.real.iter().any(|real| real.starts_with(folder))
    }
}

/// Searches PATH for git. Relative entries are skipped: they depend on the working directory, which
/// may be the project's own.
fn installed_gits(path: Option<&OsStr>) -> Vec<InstalledGit> {
    let entries = path.map(std::env::split_paths).into_iter().flatten();
    let found = entries
        .filter(|folder| folder.is_absolute())
        .filter_map(|folder| {
            let path = folder.join("git");
            let about = path.metadata().ok()?;
            let is_program = about.is_file() && about.permissions().mode() & 0o111 != 0;
            is_program.then_some(())?;
            Some(InstalledGit {
                real: [folder.canonicalize().ok()?, path.canonicalize().ok()?],
                path,
            })
        });
    found.collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes files of its own")]
mod tests {
    use super::*;

    #[test]
    fn relative_path_entries_and_files_that_are_no_programs_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str, mode: u32| {
            let bin = folder.path().join(name);
            std::fs::create_dir_all(&bin).unwrap();
            std::fs::write(bin.join("git"), "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(mode))
                .unwrap();
            bin
        };
        let (plain, program) = (place("plain", 0o644), place("program", 0o755));
        let path = std::env::join_paths([
            Path::new("."),
            Path::new("bin"),
            Path::new(""),
            &plain,
            &program,
        ])
        .unwrap();
        let found = installed_gits(Some(&path));
        assert_eq!(
            found.iter().map(|git| git.path.clone()).collect::<Vec<_>>(),
            [program.join("git")]
        );
        assert!(installed_gits(None).is_empty());
    }

    #[test]
    fn a_program_that_is_a_link_into_the_project_is_inside_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (project, bin) = (root.join("project"), root.join("bin"));
        for made in [&project, &bin] {
            std::fs::create_dir(made).unwrap();
        }
        std::fs::write(project.join("tool"), "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(project.join("tool"), std::fs::Permissions::from_mode(0o755))
            .unwrap();
        std::os::unix::fs::symlink(project.join("tool"), bin.join("git")).unwrap();
        std::os::unix::fs::symlink(&bin, project.join("bin")).unwrap();
        let path = std::env::join_paths([&bin, &project.join("bin")]).unwrap();
        let found = installed_gits(Some(&path));
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|git| git.is_inside(&project)), "{found:?}");
    }

    #[test]
    fn names_of_filters_are_read_from_their_keys() {
        let keys = "filter.lfs.clean\0filter.lfs.process\0filter.a.b.smudge\0filter.clean\0";
        assert_eq!(filter_names(keys).unwrap(), ["a.b", "lfs"]);
        assert!(filter_names("filter.a=b.clean\0").is_err());
    }
}
