//! Duplicate ids: plan files with one id at one place, as a merge of two branches or a copied folder
//! leaves them.
//!
//! All of them are nodes. The first by path has the id itself, the others are labelled `002~2`,
//! `002~3` …, so that every clone labels them alike, whichever it noticed first. Which of them
//! keeps the id is for a person to decide; `tl renumber` changes the other.

use std::collections::HashSet;

/// The mark of a node that is labelled because its id is taken.
pub const DUPLICATE_MARK: &str = "duplicate";

/// Returns the label of the file at `position` (0 is the first) among those with one id.
#[must_use]
pub fn label_alias(alias: &str, position: usize) -> String {
    match position {
        0 => alias.to_owned(),
        // `~` is in no id, so that a label never equals the id of another node.
        more => format!("{alias}~{}", more + 1),
    }
}

/// Splits a label: `002~2` is the second file with the id `002`. `None` for an id.
#[must_use]
pub fn split_label(alias: &str) -> Option<(&str, usize)> {
    let (id, position) = alias.rsplit_once('~')?;
    let position: usize = position.parse().ok()?;
    // Only as `label_alias` writes it: `002~1` and `002~02` are names that a user gave.
    (position >= 2 && !id.is_empty() && label_alias(id, position - 1) == alias)
        .then_some((id, position))
}

/// Whether the alias is the label of a duplicate.
#[must_use]
pub fn is_duplicate(alias: &str) -> bool {
    split_label(alias).is_some()
}

/// Returns the id in an alias or label.
#[must_use]
pub fn id_of_alias(alias: &str) -> &str {
    split_label(alias).map_or(alias, |(id, _)| id)
}

/// Returns the command that gives a duplicate another id.
#[must_use]
pub fn renumber_command(path: &str) -> String {
    format!("tl renumber {path}")
}

/// Describes a duplicate for people.
#[must_use]
pub fn describe_duplicate(label: &str, path: &str, other: &str) -> String {
    let id = id_of_alias(label);
    format!("duplicate id `{id}`: `{path}` is shown as `{label}`, because `{other}` has the id too")
}

/// A file among those with one id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedIdFile<'a> {
    pub path: &'a str,
    /// Whether it belongs to a recorded node.
    pub is_recorded: bool,
}

/// Labels the files that share an id, by path. `missing` are the labels of recorded nodes with this
/// id whose files are gone but which stay in the tree.
#[must_use]
pub fn label_files(id: &str, files: &[SharedIdFile<'_>], missing: &HashSet<&str>) -> Vec<String> {
    let mut order: Vec<usize> = (0..files.len()).collect();
    // By path alone (law 8): never by which file was noticed or recorded first.
    order.sort_by_key(|index| files[*index].path);
    let mut labels = vec![String::new(); files.len()];
    let mut used: HashSet<String> = HashSet::new();
    for index in order {
        let is_free = |label: &String| {
            // A new file may have the id of a missing one: it can be that plan in a renamed folder.
            let may_share = label == id && !files[index].is_recorded;
            !used.contains(label) && (may_share || !missing.contains(label.as_str()))
        };
        let label = (0..)
            .map(|position| label_alias(id, position))
            .find(is_free)
            .unwrap_or_default();
        used.insert(label.clone());
        labels[index] = label;
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files<'a>(paths: &[(&'a str, bool)]) -> Vec<SharedIdFile<'a>> {
        paths
            .iter()
            .map(|(path, is_recorded)| SharedIdFile {
                path,
                is_recorded: *is_recorded,
            })
            .collect()
    }

    #[test]
    fn a_label_is_split_into_id_and_position_and_an_id_is_not() {
        assert_eq!(split_label("002~2"), Some(("002", 2)));
        assert_eq!(split_label("017a~13"), Some(("017a", 13)));
        for id in ["002", "002~", "002~1", "002~02", "~2", "a~b"] {
            assert_eq!(split_label(id), None, "{id}");
        }
        assert_eq!(id_of_alias("002~2"), "002");
        assert_eq!(id_of_alias("002"), "002");
    }

    #[test]
    fn labels_follow_the_paths_whichever_file_was_recorded_first() {
        let none = HashSet::new();
        for recorded in [false, true] {
            let found = files(&[("tickets/002-b", recorded), ("tickets/002-a", !recorded)]);
            assert_eq!(label_files("002", &found, &none), ["002~2", "002"]);
        }
    }

    #[test]
    fn the_label_of_a_missing_plan_is_not_given_to_another_recorded_one() {
        let missing = HashSet::from(["002"]);
        let found = files(&[("tickets/002-b", true), ("tickets/002-c", false)]);
        assert_eq!(label_files("002", &found, &missing), ["002~2", "002"]);
        let all = label_files("002", &files(&[("tickets/002-b", true)]), &missing);
        assert_eq!(all, ["002~2"]);
    }
}
