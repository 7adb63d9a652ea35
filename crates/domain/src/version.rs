//! Versions of a plan's text: content hashes, backup file names, and version selectors.
//!
//! The canonical hash ignores formatting; approvals are bound to it, so that a formatter or another
//! line ending does not invalidate them.

use crate::ids::{CanonicalHash, Digest32, NodeId, OperationId, VersionHash};
use crate::node::ParentVersion;
use crate::time::Timestamp;

/// The folder beside a plan with readable copies of its earlier texts.
pub const BACKUP_FOLDER: &str = "backups";

/// Returns the canonical hash, which ignores line endings, trailing blanks, runs of empty lines and
/// empty lines at either end.
#[must_use]
pub fn canonical_hash(text: &str) -> CanonicalHash {
    CanonicalHash(Digest32::of_bytes(canonical_text(text).as_bytes()))
}

/// Returns both hashes of a text.
#[must_use]
pub fn compute_hashes(text: &str) -> (VersionHash, CanonicalHash) {
    let version = VersionHash::of_bytes(text.as_bytes());
    // A text that is canonical already needs no second SHA-256.
    let canonical = if is_canonical(text) {
        CanonicalHash(version.0)
    } else {
        canonical_hash(text)
    };
    (version, canonical)
}

/// Whether [`canonical_text`] would change nothing.
fn is_canonical(text: &str) -> bool {
    // May return false for a canonical text (one with single empty lines), never true for another:
    // a wrong yes would give two formattings of one text different hashes.
    let ends_plainly = |line: &str| line.ends_with(|c: char| !c.is_whitespace());
    match text.strip_suffix('\n') {
        None => text.is_empty(),
        Some(lines) => {
            !text.starts_with('\u{feff}')
                && !text.contains('\r')
                && lines.split('\n').all(ends_plainly)
        }
    }
}

/// Returns the text in canonical form.
#[must_use]
pub fn canonical_text(text: &str) -> String {
    // Every stored approval depends on this function: changing it would make all of them stale.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut canonical = String::with_capacity(text.len());
    let mut gap = false;
    // A lone carriage return ends a line too; `str::lines` recognises only `\n` and `\r\n`.
    for line in text
        .split('\n')
        .flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
    {
        let line = line.trim_end();
        if line.is_empty() {
            gap = !canonical.is_empty();
            continue;
        }
        if gap {
            canonical.push('\n');
            gap = false;
        }
        canonical.push_str(line);
        canonical.push('\n');
    }
    canonical
}

/// A text a node has had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub node: NodeId,
    pub hash: VersionHash,
    pub canonical: CanonicalHash,
    /// The parent version recorded by an earlier program; see [`crate::node::Content::Text`].
    pub basis: Option<ParentVersion>,
    /// The operation that observed it first.
    pub operation: OperationId,
    pub at: Timestamp,
    /// Size in bytes; `None` if only the hash is known.
    pub size: Option<u64>,
}

/// Returns the name of the `attempt`-th readable backup taken at one moment:
/// `plan-2026-02-11-14-30-05.md`, then `plan-2026-02-11-14-30-05-2.md` …
#[must_use]
pub fn backup_name(file_name: &str, at: Timestamp, attempt: usize) -> String {
    let (stem, ending) = match file_name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, format!(".{ending}")),
        _ => (file_name, String::new()),
    };
    let moment = at.format_for_file_name();
    match attempt {
        0 | 1 => format!("{stem}-{moment}{ending}"),
        more => format!("{stem}-{moment}-{more}{ending}"),
    }
}

/// How a user selects a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionSelector {
    /// `-1` is the version before the current one, `-2` the one before that.
    Back(usize),
    /// The first digits of a hash.
    HashPrefix(String),
    /// A local time as in a backup's name, or a prefix of one.
    Moment(String),
    /// The file name of a readable backup.
    BackupName(String),
    /// A time in milliseconds, as in the JSON output.
    Exact(Timestamp),
}

/// Why no version was selected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchVersion {
    #[error(
        "`{0}` is not a version: expected `-1`, the first digits of a hash, a time such as 2026-02-11-14-30-05, or the name of a backup"
    )]
    Unreadable(String),
    #[error("`{node}` has no version `{selector}`; it has {count}")]
    NotFound {
        node: String,
        selector: String,
        count: usize,
    },
    #[error("`{selector}` fits {} versions of `{node}`: {}", found.len(), found.join(", "))]
    Ambiguous {
        node: String,
        selector: String,
        found: Vec<String>,
    },
}

impl VersionSelector {
    /// Parses `-1`, a hash prefix of at least four digits, a time, or the name of a backup.
    ///
    /// # Errors
    /// [`NoSuchVersion::Unreadable`] when the text is none of them.
    pub fn parse(text: &str) -> Result<Self, NoSuchVersion> {
        if let Some(back) = text
            .strip_prefix('-')
            .and_then(|digits| digits.parse().ok())
        {
            return Ok(Self::Back(back));
        }
        if let Ok(at) = serde_json::from_value(serde_json::Value::String(text.to_owned())) {
            return Ok(Self::Exact(at));
        }
        let moment: String = text
            .chars()
            .map(|c| {
                if matches!(c, ' ' | 'T' | ':' | '_') {
                    '-'
                } else {
                    c
                }
            })
            .collect::<String>()
            .trim_end_matches('Z')
            .to_owned();
        // Ten characters are a whole date. Digits without a dash are a hash prefix, so `20260211`
        // is not ambiguous.
        let digits_and_dashes = moment.chars().all(|c| c.is_ascii_digit() || c == '-');
        if digits_and_dashes && moment.contains('-') && moment.len() >= 10 {
            return Ok(Self::Moment(moment));
        }
        if text.len() >= 4 && text.chars().all(|c| c.is_ascii_hexdigit()) {
            return Ok(Self::HashPrefix(text.to_ascii_lowercase()));
        }
        if backup_moment(text).is_some() {
            return Ok(Self::BackupName(text.to_owned()));
        }
        Err(NoSuchVersion::Unreadable(text.to_owned()))
    }
}

/// A version with its readable backups, as listed by `tl versions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionEntry {
    pub version: Version,
    pub backups: Vec<String>,
    /// Whether this is the file's current text.
    pub current: bool,
}

/// Selects one of `entries`, which are sorted from newest to oldest.
///
/// # Errors
/// [`NoSuchVersion`] when none or several match.
pub fn pick_version<'a>(
    node: &str,
    entries: &'a [VersionEntry],
    text: &str,
) -> Result<&'a VersionEntry, NoSuchVersion> {
    let selector = VersionSelector::parse(text)?;
    let not_found = || NoSuchVersion::NotFound {
        node: node.to_owned(),
        selector: text.to_owned(),
        count: entries.len(),
    };
    let fitting = select_entries(entries, &selector);
    match fitting.as_slice() {
        [] => Err(not_found()),
        [one] => Ok(one),
        several => Err(NoSuchVersion::Ambiguous {
            node: node.to_owned(),
            selector: text.to_owned(),
            found: several.iter().map(|entry| describe_entry(entry)).collect(),
        }),
    }
}

/// Returns the entries that a selector fits.
fn select_entries<'a>(
    entries: &'a [VersionEntry],
    selector: &VersionSelector,
) -> Vec<&'a VersionEntry> {
    let fits = |entry: &VersionEntry| match selector {
        VersionSelector::Back(0) => entry.current,
        // Counted below.
        VersionSelector::Back(_) => !entry.current,
        VersionSelector::HashPrefix(prefix) => {
            entry.version.hash.to_string().starts_with(prefix.as_str())
        }
        VersionSelector::Exact(at) => entry.version.at == *at,
        VersionSelector::Moment(moment) => {
            let at = entry.version.at.format_for_file_name();
            at.starts_with(moment.as_str())
                || entry.has_backup(|path| {
                    backup_moment(path).is_some_and(|at| at.starts_with(moment.as_str()))
                })
        }
        VersionSelector::BackupName(name) => {
            entry.has_backup(|path| path == name || path.ends_with(&format!("/{name}")))
        }
    };
    // The text that replaced a backed-up one is recorded in the second in which the backup is
    // written, so the time in a backup's name always fits two versions; the backup is meant.
    if let VersionSelector::Moment(moment) = selector {
        let is_named = |path: &str| backup_moment(path).is_some_and(|at| at == *moment);
        let named: Vec<&VersionEntry> = entries
            .iter()
            .filter(|entry| entry.has_backup(is_named))
            .collect();
        if !named.is_empty() {
            return named;
        }
    }
    let mut fitting: Vec<&VersionEntry> = entries.iter().filter(|entry| fits(entry)).collect();
    if let VersionSelector::Back(back @ 1..) = selector {
        // Counted without the current one: a restored text is current and old at the same time.
        return fitting.into_iter().skip(back - 1).take(1).collect();
    }
    // Nobody restores the current text or asks how it differs from itself.
    if fitting.len() > 1 && !matches!(selector, VersionSelector::HashPrefix(_)) {
        fitting.retain(|entry| !entry.current);
    }
    fitting
}

/// Describes one of several fitting versions, so that the reader can choose: its hash, its time,
/// the name of its latest backup.
fn describe_entry(entry: &VersionEntry) -> String {
    let hash = entry.version.hash.short_hex();
    let at = entry.version.at.format_for_file_name();
    match entry.backups.first().and_then(|path| backup_moment(path)) {
        Some(backup) => format!("{hash} of {at} (backup {backup})"),
        None => format!("{hash} of {at}"),
    }
}

impl VersionEntry {
    fn has_backup(&self, fits: impl Fn(&str) -> bool) -> bool {
        self.backups.iter().any(|path| fits(path))
    }
}

/// Returns the time in a backup's file name, with the suffix of a second backup in that second.
#[must_use]
pub fn backup_moment(path: &str) -> Option<String> {
    let name = path.rsplit('/').next()?;
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    // The plan's own name may contain dashes and numbers, so the six parts of a time are searched.
    let parts: Vec<&str> = stem.split('-').collect();
    let start = parts.windows(6).position(|window| {
        window[0].len() == 4
            && window[1..].iter().all(|part| part.len() == 2)
            && window
                .iter()
                .all(|part| part.chars().all(|c| c.is_ascii_digit()))
    })?;
    Some(parts[start..].join("-"))
}

/// Returns the path a backup has when it was renamed with its plan, whose file is `file` now.
#[must_use]
pub fn backup_path_beside(file: &str, backup: &str) -> Option<String> {
    let moment = backup_moment(backup)?;
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let dot = if ending.is_empty() { "" } else { "." };
    let slash = if folder.is_empty() { "" } else { "/" };
    Some(format!(
        "{folder}{slash}{BACKUP_FOLDER}/{stem}-{moment}{dot}{ending}"
    ))
}

#[cfg(test)]
mod tests {
    use super::{
        NoSuchVersion, Version, VersionEntry, backup_path_beside, canonical_hash, pick_version,
    };
    use crate::ids::{NodeId, OperationId, VersionHash};
    use crate::time::Timestamp;

    const SECOND: i64 = 1_000;

    /// The moment as a backup's name has it, in the time zone of this machine.
    fn moment(seconds: i64) -> String {
        Timestamp::from_millis(seconds * SECOND).format_for_file_name()
    }

    fn day(seconds: i64) -> String {
        moment(seconds).chars().take(10).collect()
    }

    fn entry(text: &str, seconds: i64, backups: &[String], current: bool) -> VersionEntry {
        VersionEntry {
            version: Version {
                node: NodeId(1),
                hash: VersionHash::of_bytes(text.as_bytes()),
                canonical: canonical_hash(text),
                basis: None,
                operation: OperationId(1),
                at: Timestamp::from_millis(seconds * SECOND),
                size: None,
            },
            backups: backups
                .iter()
                .map(|moment| format!("acts/act-1/backups/strategic-plan-{moment}.md"))
                .collect(),
            current,
        }
    }

    /// Three versions, each seen in the second in which the one before was backed up.
    fn overwritten_twice() -> Vec<VersionEntry> {
        vec![
            entry("three", 300, &[], true),
            entry("two", 200, &[moment(300)], false),
            entry(
                "one",
                100,
                &[moment(200), format!("{}-2", moment(300))],
                false,
            ),
        ]
    }

    #[track_caller]
    fn check(entries: &[VersionEntry], selector: &str, expected: &str) {
        let picked = pick_version("act-1", entries, selector).expect("one version");
        assert_eq!(
            picked.version.hash,
            VersionHash::of_bytes(expected.as_bytes()),
            "{selector}"
        );
    }

    #[test]
    fn time_in_a_backup_name_picks_the_backed_up_version() {
        let entries = overwritten_twice();
        check(&entries, &moment(300), "two");
        check(&entries, &moment(200), "one");
        check(&entries, &format!("{}-2", moment(300)), "one");
        check(&entries, &moment(100), "one");
        let name = format!("strategic-plan-{}.md", moment(300));
        check(&entries, &name, "two");
        check(&entries, &format!("backups/{name}"), "two");
        check(&entries, &format!("acts/act-1/backups/{name}"), "two");
    }

    #[test]
    fn a_backup_of_a_renamed_plan_has_its_name() {
        let backup = "acts/act-1/chapters/chapter-03/scenes/backups/scene-0301-blueprint-2026-02-11-14-30-05-2.md";
        for (file, expected) in [
            (
                "acts/act-1/chapters/chapter-04/scenes/scene-0401-blueprint.md",
                "acts/act-1/chapters/chapter-04/scenes/backups/scene-0401-blueprint-2026-02-11-14-30-05-2.md",
            ),
            ("plan.md", "backups/plan-2026-02-11-14-30-05-2.md"),
        ] {
            assert_eq!(backup_path_beside(file, backup).as_deref(), Some(expected));
        }
        assert_eq!(backup_path_beside("plan.md", "notes.md"), None);
    }

    #[test]
    fn current_version_is_picked_only_if_nothing_else_fits() {
        let mut entries = overwritten_twice();
        entries.truncate(2);
        entries[1].backups.clear();
        // Both are of the same day.
        check(&entries, &day(300), "two");
        check(&entries, &moment(300), "three");
        check(&entries, "-0", "three");
    }

    #[test]
    fn ambiguous_time_lists_times_and_backups() {
        let entries = overwritten_twice();
        let error = pick_version("act-1", &entries, &day(300)).expect_err("two fit");
        let NoSuchVersion::Ambiguous { found, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(found.len(), 2);
        assert!(
            found[0].contains(&format!("(backup {})", moment(300))),
            "{found:?}"
        );
        assert!(pick_version("act-1", &entries, "strategic-plan-2020-01-01-00-00-00.md").is_err());
    }
}
