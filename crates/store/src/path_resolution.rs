//! Symlink resolution: the file a tool would really write when given a path.
//!
//! Unlike `canonicalize`, it also resolves a file that does not exist yet, and a dangling link.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Maximum number of links followed, the kernel's own limit (`ELOOP` above 40).
const MAX_LINKS: usize = 40;

/// Resolves links, `.` and `..` in an absolute path. `None` when links form a cycle.
#[must_use]
pub fn resolve_links(path: &Path) -> Option<PathBuf> {
    let mut real = PathBuf::from("/");
    let mut rest: Vec<OsString> = reversed_components(path);
    let mut links = 0;
    // The length of `real` up to its first missing component: nothing below that is a link. Without
    // this, a path of 20,000 components took more than a second of system calls, longer than a
    // hook's deadline.
    let mut missing: Option<usize> = None;
    while let Some(part) = rest.pop() {
        // Popped after links were resolved: `link/..` is the parent of the link's target, not of
        // the link.
        if part == ".." {
            real.pop();
            // Leaving the missing component makes links possible again.
            missing = missing.filter(|length| real.as_os_str().len() >= *length);
            continue;
        }
        real.push(&part);
        if missing.is_some() {
            continue;
        }
        let target = match std::fs::read_link(&real) {
            Ok(target) => target,
            Err(error) => {
                // Any other error (not a link, no permission) says nothing about what lies below.
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                    missing = Some(real.as_os_str().len());
                }
                continue;
            }
        };
        links += 1;
        if links > MAX_LINKS {
            return None;
        }
        real.pop();
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        rest.append(&mut reversed_components(&target));
    }
    Some(real)
}

/// Returns a path's components in reverse order, so that `pop` yields the next one.
fn reversed_components(path: &Path) -> Vec<OsString> {
    path.components()
        .rev()
        .filter_map(|component| match component {
            Component::Normal(part) => Some(part.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::disallowed_methods)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::resolve_links;

    #[test]
    fn links_dots_and_missing_parts_are_seen_through() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("acts/act-1")).unwrap();
        symlink("acts/act-1", root.join("short")).unwrap();
        symlink(root.join("acts/act-1/new.md"), root.join("dangling.md")).unwrap();
        symlink("loop-b", root.join("loop-a")).unwrap();
        symlink("loop-a", root.join("loop-b")).unwrap();
        let cases = [
            ("acts/act-1/plan.md", Some("acts/act-1/plan.md")),
            ("acts/./act-1//plan.md", Some("acts/act-1/plan.md")),
            ("short/plan.md", Some("acts/act-1/plan.md")),
            (
                "short/../act-1/chapters/none/plan.md",
                Some("acts/act-1/chapters/none/plan.md"),
            ),
            ("nowhere/../acts/x", Some("acts/x")),
            ("dangling.md", Some("acts/act-1/new.md")),
            ("loop-a/x", None),
        ];
        for (path, expected) in cases {
            assert_eq!(
                resolve_links(&root.join(path)),
                expected.map(|path| root.join(path)),
                "{path}"
            );
        }
    }
}
