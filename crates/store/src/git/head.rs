//! Where HEAD is, and what is under way.

use std::fs::File;
use std::io::{BufRead, BufReader};

use domain::ports::{Head, StoreFault};

use super::place::{Place, first_line, is_absent};
use super::{fault, is_hash, process};

/// A ref may name another; git follows as many.
const MOST_LINKS: usize = 5;
/// What HEAD says where the refs are kept in tables, which only git reads.
const IN_TABLES: &str = "refs/heads/.invalid";
/// Refs that every working tree has for itself.
const OWN: &[&str] = &["refs/bisect/", "refs/worktree/", "refs/rewritten/"];

/// What is under way, by the file that says so. A rebase stops with a cherry-pick of its own, so it comes first.
const SIGNS: &[(&str, &str)] = &[
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
];

pub(super) fn under_way(place: &Place) -> Option<&'static str> {
    SIGNS
        .iter()
        .find(|(file, _)| place.own.join(file).exists())
        .map(|(_, name)| *name)
}

pub(super) fn head(place: &Place) -> Result<Head, StoreFault> {
    let mut path = place.own.join("HEAD");
    let mut name = "HEAD".to_owned();
    for _ in 0..=MOST_LINKS {
        let line = match first_line(&path) {
            Ok(line) => line,
            Err(error) if is_absent(&error) => {
                return Ok(packed(place, &name)?.map_or(Head::Unborn, Head::At));
            }
            Err(error) => return Err(fault(format!("cannot read `{}`", path.display()), error)),
        };
        let line = line.trim();
        if is_hash(line) {
            return Ok(Head::At(line.to_owned()));
        }
        let target = line
            .strip_prefix("ref:")
            .map(str::trim)
            .filter(|target| is_ref(target));
        let Some(target) = target else {
            return Err(fault(
                format!("cannot read `{}`", path.display()),
                "it names neither a commit nor a ref",
            ));
        };
        if target == IN_TABLES {
            return from_tables(place);
        }
        let folder = if OWN.iter().any(|own| target.starts_with(own)) {
            &place.own
        } else {
            &place.common
        };
        path = folder.join(target);
        target.clone_into(&mut name);
    }
    Err(fault(
        format!("cannot find out where HEAD is in `{}`", place.own.display()),
        "its refs go in a circle",
    ))
}

/// Says whether a name may be looked up as a file: it stays below `refs/`.
fn is_ref(name: &str) -> bool {
    name.starts_with("refs/") && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// Looks a ref up among those that `git gc` put together in one file.
fn packed(place: &Place, name: &str) -> Result<Option<String>, StoreFault> {
    let path = place.common.join("packed-refs");
    let action = || format!("cannot read `{}`", path.display());
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(fault(action(), error)),
    };
    let mut file = BufReader::with_capacity(64 * 1024, file);
    let mut line = Vec::new();
    while file
        .read_until(b'\n', &mut line)
        .map_err(|error| fault(action(), error))?
        > 0
    {
        let found = std::str::from_utf8(&line)
            .ok()
            .and_then(|line| line.trim_end().split_once(' '));
        if let Some((hash, of)) = found
            && of == name
            && is_hash(hash)
        {
            return Ok(Some(hash.to_owned()));
        }
        line.clear();
    }
    Ok(None)
}

/// Asks git, which alone reads tables of refs.
fn from_tables(place: &Place) -> Result<Head, StoreFault> {
    let ended = process::run(
        place,
        &["rev-parse", "--verify", "--quiet", "HEAD"],
        process::text,
    )?;
    let hash = ended.said.trim();
    match ended.code {
        0 if is_hash(hash) => Ok(Head::At(hash.to_owned())),
        // Said for a name that leads nowhere; a real fault is 128.
        1 => Ok(Head::Unborn),
        _ => Err(ended.fault("cannot find out where HEAD is")),
    }
}
