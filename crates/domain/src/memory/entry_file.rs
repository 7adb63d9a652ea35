//! File format of memory entries: YAML front matter with the fields, the text below.
//!
//! People edit these files, so parsing reports problems instead of repairing them.

use serde_json::Value;

use super::entry::{Entry, EntryKind, InvalidEntry};
use crate::front_matter;

/// Directory of the files.
pub const MEMORY_FOLDER: &str = "memory";

/// Returns the path of an entry's file.
#[must_use]
pub fn entry_file_path(kind: EntryKind, id: &str) -> String {
    format!("{MEMORY_FOLDER}/{}/{id}.md", kind.folder_name())
}

/// Renders an entry as a file.
#[must_use]
pub fn render_entry(entry: &Entry) -> String {
    let fields = entry.yaml_fields();
    let text = entry.text().trim();
    let space = if text.is_empty() { "" } else { "\n" };
    let end = if text.is_empty() { "" } else { "\n" };
    format!("---\n{}\n---\n{space}{text}{end}", fields.trim_end())
}

/// Parses the file of the entry `id`.
///
/// # Errors
/// What is wrong with the file, worded for its author.
pub fn parse_entry(kind: EntryKind, id: &str, text: &str) -> Result<Entry, InvalidEntry> {
    let matter = front_matter::parse_front_matter(text);
    if let Some(problem) = matter.problem {
        return Err(InvalidEntry::Shape(problem.to_string()));
    }
    // The id is optional in the file, so that people can create one with just a name and a text.
    let mut members = matter.keys;
    let named = members.get("id").and_then(Value::as_str);
    // A copied file with the old id inside would silently replace the original's fields.
    if let Some(other) = named.filter(|other| EntryKind::parse_id(other) != EntryKind::parse_id(id))
    {
        return Err(InvalidEntry::Shape(format!(
            "the file is named `{id}`, but contains `id: {other}`"
        )));
    }
    // The file name decides the spelling: `id: c0` in `C0.md` is the same entry.
    members.insert("id".to_owned(), Value::String(id.to_owned()));
    if members.contains_key("text") {
        return Err(InvalidEntry::Shape(
            "`text` is not a field: it goes below the second `---`".to_owned(),
        ));
    }
    let (_, body) = front_matter::split_front_matter(text);
    members.insert(
        "text".to_owned(),
        // Editors on Windows change line endings; that is not a change of the entry.
        Value::String(body.trim().replace("\r\n", "\n")),
    );
    Entry::from_value(kind, Value::Object(members))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{parse_entry, render_entry};
    use crate::memory::{Entry, EntryKind};

    proptest! {
        /// Parsing a rendered entry returns the same entry, whatever its names contain.
        #[test]
        fn what_is_written_reads_the_same(name in "\\PC{1,20}", goal in "\\PC{0,30}", text in "(\\PC{0,40}\n?){0,3}", note in "[ \\-#:\"'a]{0,6}") {
            prop_assume!(!name.trim().is_empty());
            let value = json!({ "id": "C7", "name": name, "goals": [goal, note], "text": text.trim() });
            let entry = Entry::from_value(EntryKind::Character, value).unwrap();
            prop_assert_eq!(parse_entry(EntryKind::Character, "C7", &render_entry(&entry)), Ok(entry));
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
            let id = kind.format_id(kind.first_number());
            value["id"] = json!(id);
            value["text"] = value.get("text").cloned().unwrap_or_else(|| json!(""));
            let entry = Entry::from_value(kind, value).unwrap();
            assert_eq!(parse_entry(kind, &id, &render_entry(&entry)), Ok(entry));
        }
    }
}
