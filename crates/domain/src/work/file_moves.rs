//! Rename detection among uncommitted files: pairs deleted files with new ones of like content.
//!
//! Git detects renames only between tracked files. A plain `mv` leaves a deleted file and an
//! untracked one, and would count twice. Pure: files are given as the hashes of their lines.

use std::collections::BTreeMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// The hashes of a file's lines, in order.
pub type LineHashes = Vec<u64>;

/// A file that was moved, and how many of its lines changed with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMove<P> {
    pub from: P,
    pub to: P,
    pub added: u64,
    pub removed: u64,
}

/// Share of common lines, in percent, from which a new file is the moved one; git's default too.
const MIN_SIMILARITY_PERCENT: usize = 50;
/// Above this many lines a file is paired only with equal content: the diff of long unlike files
/// takes quadratic time.
const MAX_COMPARED_LINES: usize = 5_000;
/// Maximum number of pairs that are compared line by line; git has such a limit as well
/// (`diff.renameLimit`).
const MAX_COMPARED_PAIRS: usize = 2_500;

/// Pairs every deleted file with at most one new one: equal content first, then the most similar.
///
/// The result depends on the contents and paths only, not on the order in which files were found.
#[must_use]
pub fn pair_moved_files<P: Ord + Clone + AsRef<[u8]>>(
    deleted: &BTreeMap<P, LineHashes>,
    new: &BTreeMap<P, LineHashes>,
) -> Vec<FileMove<P>> {
    // An empty file has no content by which it could be recognised.
    let mut gone: Vec<(&P, &LineHashes)> = deleted
        .iter()
        .filter(|(_, lines)| !lines.is_empty())
        .collect();
    let mut come: Vec<(&P, &LineHashes)> =
        new.iter().filter(|(_, lines)| !lines.is_empty()).collect();
    let mut moves = pair_equal_files(&mut gone, &mut come);
    if gone.len().saturating_mul(come.len()) <= MAX_COMPARED_PAIRS {
        moves.extend(pair_similar_files(&gone, &come));
    }
    moves
}

/// Pairs files of equal content and removes them from both lists.
fn pair_equal_files<'f, P: Ord + Clone + AsRef<[u8]>>(
    gone: &mut Vec<(&'f P, &'f LineHashes)>,
    come: &mut Vec<(&'f P, &'f LineHashes)>,
) -> Vec<FileMove<P>> {
    let mut by_content: BTreeMap<&LineHashes, Vec<&P>> = BTreeMap::new();
    for (path, lines) in gone.iter() {
        by_content.entry(lines).or_default().push(path);
    }
    let mut moves = Vec::new();
    // Two rounds: a file that kept its name is the likelier origin among equal ones.
    for same_name in [true, false] {
        come.retain(|(to, lines)| {
            let Some(origins) = by_content.get_mut(lines) else {
                return true;
            };
            let origin = origins
                .iter()
                .position(|from| !same_name || file_name(from.as_ref()) == file_name(to.as_ref()));
            let Some(at) = origin else { return true };
            moves.push(FileMove {
                from: origins.remove(at).clone(),
                to: (*to).clone(),
                added: 0,
                removed: 0,
            });
            false
        });
    }
    // Each deleted file is the origin of one new file only; a copy counts as added.
    gone.retain(|(path, _)| !moves.iter().any(|one| one.from == **path));
    moves
}

/// Pairs the remaining files by their common lines, the most similar ones first.
fn pair_similar_files<P: Ord + Clone>(
    gone: &[(&P, &LineHashes)],
    come: &[(&P, &LineHashes)],
) -> Vec<FileMove<P>> {
    let mut candidates: Vec<(usize, &P, &P, FileMove<P>)> = Vec::new();
    for (from, older) in gone {
        for (to, newer) in come {
            let longest = older.len().max(newer.len());
            // The cheap count is an upper bound: what it rejects the diff would reject as well.
            if longest > MAX_COMPARED_LINES || is_dissimilar(count_common(older, newer), longest) {
                continue;
            }
            let (added, removed) = count_changed_lines(older, newer);
            let common = newer.len() - added;
            // Counted again in order: a file with the same lines shuffled is not the same file.
            if is_dissimilar(common, longest) {
                continue;
            }
            let found = FileMove {
                from: (*from).clone(),
                to: (*to).clone(),
                added: to_count(added),
                removed: to_count(removed),
            };
            candidates.push((common * 1_000 / longest, from, to, found));
        }
    }
    candidates.sort_by(|one, other| {
        let by_similarity = other.0.cmp(&one.0);
        // Paths break ties, so that the count of changed lines does not depend on directory order.
        by_similarity.then_with(|| (one.1, one.2).cmp(&(other.1, other.2)))
    });
    let mut moves: Vec<FileMove<P>> = Vec::new();
    for (_, _, _, found) in candidates {
        if !moves
            .iter()
            .any(|one| one.from == found.from || one.to == found.to)
        {
            moves.push(found);
        }
    }
    moves
}

fn is_dissimilar(common: usize, longest: usize) -> bool {
    common * 100 < longest * MIN_SIMILARITY_PERCENT
}

/// Counts the lines two files have in common, in any order. Cheap, and never below the true number.
fn count_common(older: &[u64], newer: &[u64]) -> usize {
    let mut left: BTreeMap<u64, usize> = BTreeMap::new();
    for line in older {
        *left.entry(*line).or_default() += 1;
    }
    let takes = |line: &&u64| match left.get_mut(*line) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    };
    newer.iter().filter(takes).count()
}

/// Returns the numbers of added and of removed lines.
fn count_changed_lines(older: &[u64], newer: &[u64]) -> (usize, usize) {
    let same: usize = capture_diff_slices(Algorithm::Myers, older, newer)
        .iter()
        .map(|op| match op {
            DiffOp::Equal { len, .. } => *len,
            DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => 0,
        })
        .sum();
    (newer.len() - same, older.len() - same)
}

fn to_count(lines: usize) -> u64 {
    u64::try_from(lines).unwrap_or(u64::MAX)
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::{FileMove, LineHashes, pair_moved_files};

    type Files = BTreeMap<String, LineHashes>;

    fn files(list: &[(&str, &[u64])]) -> Files {
        list.iter()
            .map(|(path, lines)| ((*path).to_owned(), lines.to_vec()))
            .collect()
    }

    fn moves(deleted: &Files, new: &Files) -> Vec<String> {
        let show = |one: FileMove<String>| {
            format!("{} {} +{} -{}", one.from, one.to, one.added, one.removed)
        };
        pair_moved_files(deleted, new)
            .into_iter()
            .map(show)
            .collect()
    }

    #[test]
    fn a_moved_file_counts_what_changed_in_it() {
        let old = files(&[("a/x.rs", &[1, 2, 3, 4])]);
        assert_eq!(
            moves(&old, &files(&[("b/x.rs", &[1, 2, 3, 4])])),
            ["a/x.rs b/x.rs +0 -0"]
        );
        assert_eq!(
            moves(&old, &files(&[("y.rs", &[1, 2, 9, 4, 5])])),
            ["a/x.rs y.rs +2 -1"]
        );
        assert!(moves(&old, &files(&[("y.rs", &[1, 7, 8, 9])])).is_empty());
        assert!(
            moves(&old, &files(&[("y.rs", &[4, 3, 2, 1])])).is_empty(),
            "shuffled"
        );
        assert!(moves(&files(&[("a", &[])]), &files(&[("b", &[])])).is_empty());
    }

    #[test]
    fn among_equal_files_the_one_with_the_same_name_was_moved() {
        let old = files(&[("a/mod.rs", &[1, 2]), ("a/x.rs", &[1, 2])]);
        let new = files(&[("b/x.rs", &[1, 2])]);
        assert_eq!(moves(&old, &new), ["a/x.rs b/x.rs +0 -0"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        /// No file is in two pairs, and a pair never counts more than its files apart.
        #[test]
        fn every_file_is_paired_at_most_once(
            old in prop::collection::btree_map("[a-d]{1,2}", prop::collection::vec(0..6_u64, 0..8), 0..5),
            new in prop::collection::btree_map("[e-h]{1,2}", prop::collection::vec(0..6_u64, 0..8), 0..5),
        ) {
            let found = pair_moved_files(&old, &new);
            for (index, one) in found.iter().enumerate() {
                prop_assert!(!found[..index].iter().any(|other| other.from == one.from || other.to == one.to));
                let (older, newer) = (&old[&one.from], &new[&one.to]);
                let (added, removed) = (usize::try_from(one.added).unwrap(), usize::try_from(one.removed).unwrap());
                prop_assert!((newer.len() - added) * 2 >= older.len().max(newer.len()));
                prop_assert_eq!(newer.len() - added, older.len() - removed);
            }
            // Equal content never stays unpaired on both sides.
            for (path, lines) in old.iter().filter(|(_, lines)| !lines.is_empty()) {
                let is_left = !found.iter().any(|one| one.from == *path);
                let has_twin = new.iter().any(|(to, other)| {
                    other == lines && !found.iter().any(|one| one.to == *to)
                });
                prop_assert!(!(is_left && has_twin));
            }
        }
    }
}
