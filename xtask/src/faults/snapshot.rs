//! Canonical snapshot of a project: tree, history and files, without what differs between two equal runs.
//!
//! The journal is taken as it is on disk, facts included, because it replays to the whole state (`tl check` verifies that). Times
//! become one word; ids and hashes become labels in the order in which they are met, so that equal ones stay equal.
//! Caches, logs, locks, the mirror and quarantined files are left out: `tl check` judges the mirror, and the others are no state.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::lab::Lab;

/// The state of a project in comparable form, section by section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    sections: BTreeMap<String, String>,
}

/// What lies in `.throughline` and is state that people own; the rest is the store's.
const OWNED: [&str; 5] = ["config.toml", "sessions", "plans", "profiles", "archive"];

/// Words that two equal runs do not share.
static VOLATILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let time = [
        r"20\d\d-\d\d-\d\dT\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?",
        r"20\d\d-\d\d-\d\d-\d\d-\d\d-\d\d(?:-\d+)?",
        r"20\d\d-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?)?",
        r"\b\d\d:\d\d(?::\d\d)?\b",
        r"\b1[789]\d{8}(?:\d{3})?(?:\d{3})?(?:\d{3})?\b",
        r"\b\d+ ms\b",
        // Stamps of a trail are minutes; two of one minute are told apart by a number.
        r"(?:\b|_)\d{11}(?:-\d+)?\b",
    ]
    .join("|");
    let name = [
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        // A decision is in the folder of its first two digits.
        r"\bdecisions/[0-9a-f]{2}/[0-9a-f]{40}\b",
        r"\b[0-9a-f]{128}\b",
        r"\b[0-9a-f]{64}\b",
        r"\b[0-9a-f]{40}\b",
        r"\b[0-9a-f]{16}\b",
        r"\b[0-9a-f]{12}\b",
        r"\b[0-9a-f]{8}\b",
        r"\btl_[A-Za-z0-9_-]{20,}",
    ]
    .join("|");
    Regex::new(&format!("(?P<time>{time})|(?P<name>{name})")).ok()
});

impl Snapshot {
    /// Takes the snapshot; `views` are named outputs of commands, `journal` is the journal's text.
    pub(crate) fn take(lab: &Lab, views: &[(&str, &str)], journal: &str) -> Self {
        let mut labels = Labels::default();
        let mut sections = BTreeMap::new();
        for (number, line) in journal.lines().enumerate() {
            sections.insert(
                format!("operation {number:04}"),
                labels.normalise_operation(line),
            );
        }
        for (name, view) in views {
            sections.insert((*name).to_owned(), labels.normalise(view));
        }
        let mut files = Vec::new();
        collect(&lab.work(), &lab.work(), "", &mut files);
        collect(&lab.home(), &lab.home(), "~/", &mut files);
        let mut named: Vec<(String, String)> = files
            .into_iter()
            .map(|(path, bytes)| {
                let text = match String::from_utf8(bytes) {
                    Ok(text) => labels.normalise(&text),
                    Err(_) => "(binary)".to_owned(),
                };
                (times_only(&path), text)
            })
            .collect();
        named.sort();
        for (path, text) in named {
            let mut key = format!("text of {path}");
            while sections.contains_key(&key) {
                key.push('+');
            }
            sections.insert(key, text);
        }
        Self { sections }
    }

    /// Describes the first sections in which two snapshots differ.
    pub(crate) fn difference(&self, other: &Self) -> String {
        let names: std::collections::BTreeSet<&String> =
            self.sections.keys().chain(other.sections.keys()).collect();
        let differing = names.into_iter().filter_map(|name| {
            match (self.sections.get(name), other.sections.get(name)) {
                (Some(one), Some(two)) if one == two => None,
                (Some(one), Some(two)) => Some(format!("{name}: {}", first_difference(one, two))),
                (Some(one), None) => Some(format!("{name} is there: {}", excerpt(one, 0))),
                (None, _) => Some(format!("{name} is missing")),
            }
        });
        let all: Vec<String> = differing.collect();
        let more = if all.len() > 3 {
            format!(" and {} more", all.len() - 3)
        } else {
            String::new()
        };
        format!(
            "{}{more}",
            all.iter().take(3).cloned().collect::<Vec<_>>().join("; ")
        )
    }
}

/// Labels for ids and hashes: of a text its content, of all else the order in which they are met.
#[derive(Debug, Default)]
struct Labels {
    known: BTreeMap<String, String>,
    met: usize,
}

impl Labels {
    /// Normalises a line of the journal. Its texts are keyed, and so ordered, by hashes over times: a hash becomes its text.
    fn normalise_operation(&mut self, line: &str) -> String {
        let Ok(mut value) = serde_json::from_str::<serde_json::Value>(line) else {
            return self.normalise(line);
        };
        let texts = value.get_mut("texts").map(serde_json::Value::take);
        let mut contents = Vec::new();
        for (hash, text) in texts
            .as_ref()
            .and_then(serde_json::Value::as_object)
            .into_iter()
            .flatten()
        {
            let content = self.normalise(text.as_str().unwrap_or_default());
            self.known.insert(hash.clone(), format!("TEXT<{content}>"));
            contents.push(content);
        }
        contents.sort();
        remove_incidental(&mut value);
        format!(
            "{} {}",
            self.normalise(&value.to_string()),
            contents.join(" ")
        )
    }

    fn normalise(&mut self, text: &str) -> String {
        let Some(volatile) = VOLATILE.as_ref() else {
            return text.to_owned();
        };
        let replaced =
            volatile.replace_all(text, |found: &Captures<'_>| match found.name("time") {
                Some(_) => "TIME".to_owned(),
                None => {
                    let name = &found[0];
                    if let Some(label) = self.known.get(name) {
                        return label.clone();
                    }
                    self.met += 1;
                    let label = format!("NAME{}", self.met);
                    self.known.insert(name.to_owned(), label.clone());
                    label
                }
            });
        replaced.into_owned()
    }
}

/// Removes what is recorded and does not count: which readable copies were written.
fn remove_incidental(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            fields.values_mut().for_each(remove_incidental);
        }
        serde_json::Value::Array(items) => {
            items.retain(|item| item["fact"] != "backup-written");
            items.iter_mut().for_each(remove_incidental);
        }
        _ => {}
    }
}

/// Makes a text comparable on its own, for output.
pub(crate) fn normalise(text: &str) -> String {
    Labels::default().normalise(text)
}

/// A name of a file keeps its place among the others whichever label its id gets.
fn times_only(path: &str) -> String {
    VOLATILE.as_ref().map_or_else(
        || path.to_owned(),
        |volatile| volatile.replace_all(path, "*").into_owned(),
    )
}

fn collect(root: &Path, folder: &Path, prefix: &str, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path
            .strip_prefix(root)
            .unwrap_or(&path)
            .display()
            .to_string();
        if is_left_out(&name) {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(root, &path, prefix, found),
            Ok(_) => found.push((
                format!("{prefix}{name}"),
                std::fs::read(&path).unwrap_or_default(),
            )),
            Err(_) => {}
        }
    }
}

fn is_left_out(name: &str) -> bool {
    // A demo and a book are projects inside the project.
    let inside = name
        .split_once(".throughline/")
        .map(|(_, inside)| inside.split('/').next().unwrap_or_default());
    let is_store = inside.is_some_and(|first| !OWNED.contains(&first));
    let last = name.rsplit('/').next().unwrap_or_default();
    // What a killed process leaves of an atomic write has a name that git and every scan pass over. Backups are copies of texts
    // that the history holds: one more of them is no other state.
    // In the user's directory a name on the list of stores that never came to be trusts nothing, and a head that is behind is
    // advanced by the next command.
    let is_memory_of_stores = ["throughline/stores", "throughline/heads"].contains(&name);
    // A folder of ours that git ignores gets this file again with the next file in it.
    let is_ignore_file = last == ".gitignore" && inside == Some("sessions");
    is_store
        || is_ignore_file
        || is_memory_of_stores
        || name == ".git"
        || last == "backups"
        || last.starts_with(".tl-")
}

fn first_difference(one: &str, two: &str) -> String {
    let at = one
        .bytes()
        .zip(two.bytes())
        .take_while(|(one, two)| one == two)
        .count();
    format!("{} instead of {}", excerpt(one, at), excerpt(two, at))
}

/// Returns some characters around a place.
fn excerpt(text: &str, at: usize) -> String {
    let start = text
        .char_indices()
        .map(|(place, _)| place)
        .take_while(|place| *place <= at)
        .last()
        .unwrap_or(0);
    let before: Vec<char> = text
        .get(..start)
        .unwrap_or_default()
        .chars()
        .rev()
        .take(40)
        .collect();
    let after: String = text
        .get(start..)
        .unwrap_or_default()
        .chars()
        .take(100)
        .collect();
    let shown: String = before.into_iter().rev().collect::<String>() + &after;
    format!("`{}`", shown.replace('\n', "⏎"))
}

#[cfg(test)]
mod tests {
    use super::normalise;

    #[test]
    fn times_become_one_word_and_equal_names_stay_equal() {
        let hash = "a".repeat(64);
        let other = "b".repeat(64);
        let text = format!(
            "{{\"at\":\"2026-11-16T03:50:50.123Z\",\"hash\":\"{hash}\",\"was\":\"{other}\",\"is\":\"{hash}\"}}"
        );
        assert_eq!(
            normalise(&text),
            r#"{"at":"TIME","hash":"NAME1","was":"NAME2","is":"NAME1"}"#
        );
        assert_eq!(
            normalise("t_30141102026-2 at 1770820200000"),
            "tTIME at TIME"
        );
    }
}
