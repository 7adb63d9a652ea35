//! Uncommitted line count of a session: which files count, and which session changed them.
//!
//! Pure: the changed lines come from git through a port.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::host_event::Host;
use crate::ports::ChangedLines;
use crate::profile::{Profile, locate_plan};

/// Which session changed which file since the last commit, as far as hooks saw it. A note, not
/// state: if it is lost, every change counts for every session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Authors {
    pub files: BTreeMap<String, BTreeSet<String>>,
    /// Session by commit hash, for commits made in a session's tool call.
    pub commits: BTreeMap<String, String>,
}

/// Key of the note.
pub const AUTHORS_NOTE_KEY: &str = "work/authors";

/// Maximum number of files, and of commits, that are remembered.
const MAX_REMEMBERED: usize = 400;

impl Authors {
    /// Records that a session changed files. Returns whether anything changed, so that the caller
    /// can skip writing the note.
    pub fn record_writes(&mut self, session: &str, files: &[String]) -> bool {
        let mut news = false;
        // Cleared as a whole instead of evicting the oldest: no order is stored, old entries are
        // mostly committed by now, and losing them only makes lines count for more sessions.
        if self.files.len() + files.len() > MAX_REMEMBERED {
            self.files.clear();
        }
        for file in files {
            if self.files.len() < MAX_REMEMBERED || self.files.contains_key(file) {
                news |= self
                    .files
                    .entry(file.clone())
                    .or_default()
                    .insert(session.to_owned());
            }
        }
        news
    }

    /// Records the session of a commit, unless it is known. Returns whether anything changed.
    pub fn record_commit(&mut self, session: &str, commit: &str) -> bool {
        if self.commits.contains_key(commit) {
            return false;
        }
        // The keys are hashes, so this drops an arbitrary commit, which is good enough for a hint.
        while self.commits.len() >= MAX_REMEMBERED {
            self.commits.pop_first();
        }
        self.commits.insert(commit.to_owned(), session.to_owned());
        true
    }

    /// Whether a commit was made by another session.
    #[must_use]
    pub fn is_by_another(&self, session: &str, commit: &str) -> bool {
        self.commits
            .get(commit)
            .is_some_and(|author| author != session)
    }

    /// Forgets the files of sessions that ended: what they left uncommitted is for the next session
    /// to commit. Returns whether anything changed.
    pub fn forget_writers(&mut self, has_ended: &dyn Fn(&str) -> bool) -> bool {
        let sessions: BTreeSet<String> = self.files.values().flatten().cloned().collect();
        // Asked once per session, not per file: the answer costs a read of the store.
        let ended: BTreeSet<String> = sessions.into_iter().filter(|it| has_ended(it)).collect();
        if ended.is_empty() {
            return false;
        }
        self.files.retain(|_, writers| {
            writers.retain(|writer| !ended.contains(writer));
            !writers.is_empty()
        });
        true
    }

    /// Whether a file was changed by other sessions only.
    fn is_only_by_others(&self, session: &str, file: &str) -> bool {
        self.files
            .get(file)
            .is_some_and(|authors| !authors.is_empty() && !authors.contains(session))
    }
}

/// Uncommitted changes of one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uncommitted {
    pub lines: u64,
    /// Number of files that count.
    pub files: usize,
    /// Whether there is anything to commit at all.
    pub anything: bool,
}

/// Counts a session's uncommitted lines. `counts` tells whether a file counts at all.
#[must_use]
pub fn count_uncommitted_lines(
    changed: &[ChangedLines],
    authors: &Authors,
    session: &str,
    counts: &dyn Fn(&str) -> bool,
) -> Uncommitted {
    let mut total = Uncommitted {
        anything: !changed.is_empty(),
        ..Uncommitted::default()
    };
    for file in changed {
        // A file that no session is known to have changed counts for everyone: an edit that hooks
        // did not see (an editor, a script) must not bypass the limit.
        let is_counted = !file.generated && counts(&file.path);
        if is_counted && !authors.is_only_by_others(session, &file.path) {
            total.lines = total
                .lines
                .saturating_add(file.added)
                .saturating_add(file.removed);
            total.files += 1;
        }
    }
    total
}

/// Adds the other path of every move that `paths` touches: a move is counted by both its paths.
#[must_use]
pub fn with_other_halves(known: &[ChangedLines], paths: &[String]) -> Vec<String> {
    let mut all = paths.to_vec();
    for file in known {
        let Some(from) = &file.moved_from else {
            continue;
        };
        let has = |path: &String| paths.contains(path);
        for other in [from, &file.path] {
            if (has(from) || has(&file.path)) && !all.contains(other) {
                all.push(other.clone());
            }
        }
    }
    all
}

/// Replaces the counts of `paths` in the list of all changed files by new ones.
pub fn replace_file_counts(
    known: &mut Vec<ChangedLines>,
    paths: &[String],
    counted: Vec<ChangedLines>,
) {
    // The former path of a newly found move is listed as deleted until now.
    let is_left = |path: &String| {
        counted
            .iter()
            .any(|file| file.moved_from.as_ref() == Some(path))
    };
    known.retain(|file| !paths.contains(&file.path) && !is_left(&file.path));
    known.extend(counted);
    // Sorted like git's own output, so that a merged list equals a full count.
    known.sort_by(|a, b| a.path.cmp(&b.path));
}

/// Whether a path matches one of the glob patterns; one without a slash matches the file name
/// alone.
#[must_use]
pub fn is_excluded(path: &str, patterns: &[String]) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    patterns.iter().any(|pattern| {
        let subject = if pattern.contains('/') { path } else { name };
        fast_glob::glob_match(pattern, subject)
    })
}

/// Patterns of generated files, which nobody reviews line by line.
pub const GENERATED_FILE_PATTERNS: &[&str] = &[
    // Lock files of package managers.
    "*.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "go.sum",
    // Minified and bundled code.
    "*.min.js",
    "*.min.css",
    "*.map",
    // Snapshots and generated sources.
    "*.snap",
    "*.generated.*",
    "*_pb2.py",
    "*.pb.go",
    "**/generated/**",
    // Dependencies and build output.
    "**/node_modules/**",
    "**/vendor/**",
    "**/dist/**",
    "**/build/**",
    "**/target/**",
];

/// Whether a file is a plan, lies in a ticket's folder, or belongs to this program or a host. Such
/// files are never blocked.
#[must_use]
pub fn is_exempt(profiles: &[Profile], path: &str) -> bool {
    // Settings of hosts and our own files change as a side effect of working, and plans are under
    // their own gates.
    if path.starts_with(".throughline/")
        || Host::ALL.iter().any(|host| host.has_settings_at(path))
        || locate_plan(profiles, path).is_some()
    {
        return true;
    }
    profiles
        .iter()
        .flat_map(|profile| &profile.levels)
        .any(|level| {
            level.is_flat()
                && level.file.as_ref().is_some_and(|file| {
                    let folder = file.listing_folder("");
                    path.strip_prefix(&folder)
                        .is_some_and(|rest| rest.starts_with('/'))
                })
        })
}

#[cfg(test)]
mod tests {
    use super::{
        Authors, GENERATED_FILE_PATTERNS, count_uncommitted_lines, is_excluded,
        replace_file_counts, with_other_halves,
    };
    use crate::ports::ChangedLines;

    #[test]
    fn what_tools_make_does_not_count() {
        let patterns: Vec<String> = GENERATED_FILE_PATTERNS
            .iter()
            .map(|one| (*one).to_owned())
            .collect();
        for (path, excluded) in [
            ("Cargo.lock", true),
            ("web/package-lock.json", true),
            ("src/generated/api.rs", true),
            ("dist/a.js", true),
            ("src/lock.rs", false),
            ("src/distance.rs", false),
            ("код/сцена.rs", false),
        ] {
            assert_eq!(is_excluded(path, &patterns), excluded, "{path}");
        }
    }

    #[test]
    fn two_sessions_count_their_own() {
        let line = |path: &str, added| ChangedLines {
            path: path.to_owned(),
            added,
            removed: 1,
            ..ChangedLines::default()
        };
        let changed = [
            line("a", 10),
            line("b", 100),
            line("c", 1_000),
            line("x.lock", 9),
        ];
        let mut authors = Authors::default();
        assert!(authors.record_writes("one", &["a".to_owned(), "c".to_owned()]));
        assert!(authors.record_writes("two", &["b".to_owned(), "c".to_owned()]));
        assert!(!authors.record_writes("two", &["b".to_owned()]));
        let counts = |path: &str| !path.ends_with(".lock");
        assert_eq!(
            count_uncommitted_lines(&changed, &authors, "one", &counts).lines,
            11 + 1_001
        );
        assert_eq!(
            count_uncommitted_lines(&changed, &authors, "two", &counts).lines,
            101 + 1_001
        );
        // Without knowledge of the authors everything counts.
        assert_eq!(
            count_uncommitted_lines(&changed, &Authors::default(), "one", &counts).lines,
            11 + 101 + 1_001
        );
    }
    #[test]
    fn lines_of_an_ended_session_count_for_the_next_one() {
        let changed = [ChangedLines {
            path: "a".to_owned(),
            added: 390,
            ..ChangedLines::default()
        }];
        let mut authors = Authors::default();
        authors.record_writes("one", &["a".to_owned()]);
        let count =
            |authors: &Authors| count_uncommitted_lines(&changed, authors, "two", &|_| true).lines;
        assert!(!authors.forget_writers(&|_| false));
        assert_eq!(count(&authors), 0);
        assert!(authors.forget_writers(&|session| session == "one"));
        assert_eq!(count(&authors), 390);
    }

    #[test]
    fn generated_files_count_neither_lines_nor_files() {
        let changed = [ChangedLines {
            path: "api.rs".to_owned(),
            added: 900,
            generated: true,
            ..ChangedLines::default()
        }];
        let found = count_uncommitted_lines(&changed, &Authors::default(), "s", &|_| true);
        assert_eq!((found.lines, found.files, found.anything), (0, 0, true));
    }

    #[test]
    fn recounting_one_path_of_a_move_recounts_the_other() {
        let entry = |path: &str, added, moved_from: Option<&str>| ChangedLines {
            path: path.to_owned(),
            added,
            moved_from: moved_from.map(str::to_owned),
            ..ChangedLines::default()
        };
        let known = vec![entry("new", 3, Some("old")), entry("other", 1, None)];
        let words =
            |list: &[&str]| -> Vec<String> { list.iter().map(|it| (*it).to_owned()).collect() };
        assert_eq!(
            with_other_halves(&known, &words(&["new"])),
            words(&["new", "old"])
        );
        assert_eq!(
            with_other_halves(&known, &words(&["old"])),
            words(&["old", "new"])
        );
        assert_eq!(
            with_other_halves(&known, &words(&["other"])),
            words(&["other"])
        );
        // A deleted file whose content turns up elsewhere has no entry any more.
        let mut known = vec![entry("old", 0, None)];
        replace_file_counts(
            &mut known,
            &words(&["new"]),
            vec![entry("new", 0, Some("old"))],
        );
        assert_eq!(known, [entry("new", 0, Some("old"))]);
    }
}
