//! Where this program is, and how a person or a hook calls it.
//!
//! Next steps say `tl`. That is this program only where PATH leads to it: not after `cargo run`, and not
//! in the caches of `npx` and `uvx`, which also remove it again.

use std::path::{Path, PathBuf};

use domain::shell_line::quote_word;

use crate::settings;

/// Returns the file that `tl` on PATH is.
pub(crate) fn find_on_path(name: &str) -> Option<PathBuf> {
    let path = settings::environment_variable("PATH")?;
    std::env::split_paths(&path)
        // A relative entry depends on the directory; the hooks run in another one.
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| is_executable(file))
}

/// Whether a file is executable.
pub(crate) fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Whether two paths lead to the same file.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    one.canonicalize()
        .ok()
        .zip(other.canonicalize().ok())
        .is_some_and(|(one, other)| one == other)
}

/// A cache that programs are run from once, and that is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProgramCache {
    pub(crate) tool: &'static str,
    pub(crate) install: &'static str,
}

/// Returns the cache that a program lies in, if it does.
pub(crate) fn find_program_cache(program: &Path) -> Option<ProgramCache> {
    let npm = |tool| ProgramCache {
        tool,
        install: "npm install --global throughline",
    };
    let uv = ProgramCache {
        tool: "uvx",
        install: "uv tool install throughline-cli",
    };
    let mut names = program.iter().filter_map(|name| name.to_str());
    names.find_map(|name| match name {
        "_npx" => Some(npm("npx")),
        "dlx" => Some(npm("pnpm dlx")),
        _ if name.starts_with("bunx-") => Some(npm("bunx")),
        // What `uv tool install` makes is in `uv/tools`.
        _ if name.starts_with("archive-v") || name.starts_with("environments-v") => Some(uv),
        _ => None,
    })
}

/// Describes how to call this program, where `tl` on PATH is not this one.
pub(crate) fn describe_call() -> Option<String> {
    let own = std::env::current_exe().ok()?;
    describe_call_of(&own, find_on_path("tl").as_deref())
}

fn describe_call_of(own: &Path, known: Option<&Path>) -> Option<String> {
    // Also where PATH leads there: `npx` puts its cache on the PATH of what it starts.
    if let Some(cache) = find_program_cache(own) {
        return Some(format!(
            "`tl` runs from the cache of {}; to have it on your PATH: {}",
            cache.tool, cache.install
        ));
    }
    let what = match known {
        Some(known) if is_same_file(known, own) => return None,
        Some(known) => format!("`tl` on your PATH is another program, {}", known.display()),
        None => "`tl` is not on your PATH".to_owned(),
    };
    let own = quote_word(&own.display().to_string());
    Some(format!(
        "{what}; to call this one so in your shell: alias tl={own}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_told_from_installations() {
        for (path, tool) in [
            (
                "/home/a/.npm/_npx/1f/node_modules/@throughline/linux-x64/bin/tl",
                Some("npx"),
            ),
            ("/home/a/.cache/uv/archive-v0/xYz/bin/tl", Some("uvx")),
            ("/home/a/.local/share/uv/tools/throughline-cli/bin/tl", None),
            ("/usr/lib/node_modules/throughline/bin/tl", None),
            ("/home/a/.cargo/bin/tl", None),
        ] {
            let found = find_program_cache(Path::new(path));
            assert_eq!(found.map(|cache| cache.tool), tool, "{path}");
        }
    }

    #[test]
    fn a_program_that_is_not_on_path_says_how_it_is_called() {
        let shell = Path::new("/bin/sh");
        let call = |own: &str| describe_call_of(Path::new(own), Some(shell));
        assert_eq!(call("/bin/sh"), None);
        let other = call("/opt/my tools/tl").expect("a note");
        assert!(other.ends_with("alias tl='/opt/my tools/tl'"), "{other}");
        let cached = call("/home/a/.npm/_npx/1f/bin/tl").expect("a note");
        assert!(
            cached.ends_with("npm install --global throughline"),
            "{cached}"
        );
    }
}
