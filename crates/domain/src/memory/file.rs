//! File format of memory entries: YAML front matter with the fields, the text below.
//!
//! People edit these files, so parsing reports problems instead of repairing them.

use serde_json::Value;

use super::entry::{Entry, EntryKind, NoEntry};
use crate::front_matter;

/// Directory of the files.
pub const FOLDER: &str = "memory";

/// Returns the path of an entry's file.
#[must_use]
pub fn path(kind: EntryKind, id: &str) -> String {
    format!("{FOLDER}/{}/{id}.md", kind.folder())
}

/// Renders an entry as a file.
#[must_use]
pub fn render(entry: &Entry) -> String {
    let fields = entry.fields();
    let text = entry.text().trim();
    let space = if text.is_empty() { "" } else { "\n" };
    let end = if text.is_empty() { "" } else { "\n" };
    format!("---\n{}\n---\n{space}{text}{end}", fields.trim_end())
}

/// Parses the file of the entry `id`.
///
/// # Errors
/// What is wrong with the file, worded for its author.
pub fn read(kind: EntryKind, id: &str, text: &str) -> Result<Entry, NoEntry> {
    let matter = front_matter::read(text);
    if let Some(problem) = matter.problem {
        return Err(NoEntry::Shape(problem.to_string()));
    }
    // The id is optional in the file, so that people can create one with just a name and a text.
    let mut members = matter.keys;
    let named = members.get("id").and_then(Value::as_str);
    // A copied file with the old id inside would silently replace the original's fields.
    if let Some(other) = named.filter(|other| EntryKind::of_id(other) != EntryKind::of_id(id)) {
        return Err(NoEntry::Shape(format!(
            "the file is named `{id}`, but contains `id: {other}`"
        )));
    }
    // The file name decides the spelling: `id: c0` in `C0.md` is the same entry.
    members.insert("id".to_owned(), Value::String(id.to_owned()));
    if members.contains_key("text") {
        return Err(NoEntry::Shape(
            "`text` is not a field: it goes below the second `---`".to_owned(),
        ));
    }
    let (_, body) = front_matter::split(text);
    members.insert(
        "text".to_owned(),
        // Editors on Windows change line endings; that is not a change of the entry.
        Value::String(body.trim().replace("\r\n", "\n")),
    );
    Entry::read(kind, Value::Object(members))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{read, render};
    use crate::memory::{Entry, EntryKind};

    proptest! {
        /// Parsing a rendered entry returns the same entry, whatever its names contain.
        #[test]
        fn what_is_written_reads_the_same(name in "\\PC{1,20}", goal in "\\PC{0,30}", text in "(\\PC{0,40}\n?){0,3}", note in "[ \\-#:\"'a]{0,6}") {
            prop_assume!(!name.trim().is_empty());
            let value = json!({ "id": "C7", "name": name, "goals": [goal, note], "text": text.trim() });
            let entry = Entry::read(EntryKind::Character, value).unwrap();
            prop_assert_eq!(read(EntryKind::Character, "C7", &render(&entry)), Ok(entry));
        }
    }

    #[test]
    fn every_kind_has_a_file() {
        let values = [
            (
                EntryKind::Relationship,
                json!({ "character_a": "C0", "character_b": "C1", "intensity": 3,
                "history": [{ "tick": 2, "event": "a quarrel: \"no\"", "status": "strained", "intensity": 4 }] }),
            ),
            (
                EntryKind::Scene,
                json!({ "title": "On", "summary": ["- one", "two"], "tick": 3, "words": 900 }),
            ),
            (
                EntryKind::Loop,
                json!({ "importance": "critical", "status": "advanced", "text": "Why?" }),
            ),
            (
                EntryKind::Fact,
                json!({ "subject": "C0", "predicate": "lives in", "object": "no", "truth": "disputed" }),
            ),
            (
                EntryKind::Lore,
                json!({ "name": "yes", "text": "---\nnot a fence" }),
            ),
        ];
        for (kind, mut value) in values {
            let id = kind.id(kind.first());
            value["id"] = json!(id);
            value["text"] = value.get("text").cloned().unwrap_or_else(|| json!(""));
            let entry = Entry::read(kind, value).unwrap();
            assert_eq!(read(kind, &id, &render(&entry)), Ok(entry));
        }
    }
}
