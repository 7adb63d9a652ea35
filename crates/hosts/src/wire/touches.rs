//! Extracts the files a tool call touches from its input. All hosts' spellings in one place.

use domain::host_event::{FileEffect, Touch};
use serde_json::Value;

use super::patch;
use super::tools::FileDeed;

const PATH_FIELDS: [&str; 12] = [
    "file_path",
    "path",
    "filePath",
    "target_file",
    "notebook_path",
    "absolute_path",
    "relative_path",
    "filepath",
    "file",
    "filename",
    "fileName",
    "target_notebook",
];
const SOURCE_FIELDS: [&str; 8] = [
    "source",
    "src",
    "from",
    "old_path",
    "oldPath",
    "source_path",
    "sourcePath",
    "source_file",
];
const DESTINATION_FIELDS: [&str; 11] = [
    "destination",
    "dest",
    "dst",
    "to",
    "new_path",
    "newPath",
    "destination_path",
    "destinationPath",
    "target",
    "target_path",
    "targetPath",
];
/// Lists of files, or of objects that each name one.
const LIST_FIELDS: [&str; 6] = [
    "paths",
    "file_paths",
    "files",
    "edits",
    "include",
    "operations",
];
const WHOLE_TEXT_FIELDS: [&str; 9] = [
    "content",
    "contents",
    "file_text",
    "new_content",
    "newContent",
    "text",
    "new_source",
    "insert_text",
    "code_edit",
];
const OLD_TEXT_FIELDS: [&str; 6] = [
    "old_string",
    "old_str",
    "oldString",
    "old_text",
    "oldText",
    "oldStr",
];
const NEW_TEXT_FIELDS: [&str; 6] = [
    "new_string",
    "new_str",
    "newString",
    "new_text",
    "newText",
    "newStr",
];
const PATCH_FIELDS: [&str; 5] = ["patchText", "patch_text", "patch", "input", "diff"];

/// Returns the touched files, in the order of the input.
pub(super) fn touches_of_call(deed: FileDeed, input: &Value) -> Vec<Touch> {
    match deed {
        FileDeed::Nothing => Vec::new(),
        FileDeed::Move | FileDeed::Copy => move_touches(deed, input),
        FileDeed::Edit => match find_patch_text(input) {
            Some(text) => patch::patch_touches(&text, ""),
            None => named_touches(deed, input),
        },
        FileDeed::Read | FileDeed::Write | FileDeed::Delete => named_touches(deed, input),
    }
}

/// Returns the first of these fields that is a non-empty string.
pub(super) fn first_text<'a>(input: &'a Value, names: &[&str]) -> Option<&'a str> {
    names
        .iter()
        .find_map(|name| input.get(name)?.as_str().filter(|text| !text.is_empty()))
}

/// Returns the command line of a shell tool, which may be a list: `["bash", "-lc", "…"]`.
pub(super) fn read_command_line(input: &Value) -> Option<String> {
    ["command", "cmd", "script", "chars", "input"]
        .iter()
        .find_map(|name| match input.get(name)? {
            Value::String(line) => Some(line.clone()),
            Value::Array(words) => {
                let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                match words.as_slice() {
                    // The script itself, or a patch inside it would not be found.
                    [_, option, script] if option.starts_with('-') && option.ends_with('c') => {
                        Some((*script).to_owned())
                    }
                    words => Some(words.join(" ")),
                }
            }
            _ => None,
        })
}

fn find_patch_text(input: &Value) -> Option<String> {
    let given = PATCH_FIELDS.iter().find_map(|name| {
        input
            .get(name)?
            .as_str()
            .filter(|text| patch::contains_patch(text))
    });
    given
        .map(str::to_owned)
        .or_else(|| read_command_line(input).filter(|text| patch::contains_patch(text)))
}

/// Returns the touches of a move or copy: the source is deleted by a move, the destination is
/// written.
fn move_touches(deed: FileDeed, input: &Value) -> Vec<Touch> {
    let source = first_text(input, &SOURCE_FIELDS)
        .or_else(|| first_text(input, &PATH_FIELDS))
        .filter(|_| deed == FileDeed::Move);
    let source = source.map(|path| Touch {
        path: path.to_owned(),
        effect: FileEffect::Delete,
    });
    let destination = first_text(input, &DESTINATION_FIELDS);
    let destination = destination.map(|path| Touch {
        path: path.to_owned(),
        // The input does not hold the text; gates judge such a write by its path.
        effect: FileEffect::Write { text: None },
    });
    source.into_iter().chain(destination).collect()
}

fn named_touches(deed: FileDeed, input: &Value) -> Vec<Touch> {
    let own = first_text(input, &PATH_FIELDS).map(|path| build_touch(deed, path, input));
    let many = LIST_FIELDS
        .iter()
        .filter_map(|name| input.get(name)?.as_array())
        .flatten();
    let others = many.filter_map(|item| match item {
        // Beside a path of its own, such a list holds options, not further files.
        Value::String(path) => own.is_none().then(|| build_touch(deed, path, &Value::Null)),
        item => first_text(item, &PATH_FIELDS).map(|path| build_touch(deed, path, item)),
    });
    let others: Vec<Touch> = others.collect();
    own.into_iter().chain(others).collect()
}

fn build_touch(deed: FileDeed, path: &str, given: &Value) -> Touch {
    let effect = match deed {
        FileDeed::Delete => FileEffect::Delete,
        FileDeed::Edit => sum_replacements(given),
        // Some tools use one name for writing a whole file and for replacing a part of it.
        FileDeed::Write if replaces_text(given) => sum_replacements(given),
        FileDeed::Write => FileEffect::Write {
            text: read_whole_text(given, &WHOLE_TEXT_FIELDS),
        },
        FileDeed::Read | FileDeed::Move | FileDeed::Copy | FileDeed::Nothing => FileEffect::Read,
    };
    Touch {
        path: path.to_owned(),
        effect,
    }
}

/// Returns the file's text, which may be empty and is then still known.
fn read_whole_text(given: &Value, names: &[&str]) -> Option<String> {
    names
        .iter()
        .find_map(|name| given.get(name)?.as_str())
        .map(str::to_owned)
}

fn replaces_text(given: &Value) -> bool {
    OLD_TEXT_FIELDS.iter().any(|name| given.get(name).is_some())
        || given.get("edits").is_some_and(Value::is_array)
}

/// Sums up the replacements in a file: its own, and those in a list that name no other file.
fn sum_replacements(given: &Value) -> FileEffect {
    let listed = given
        .get("edits")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let parts = std::iter::once(given)
        .chain(listed.filter(|part| first_text(part, &PATH_FIELDS).is_none()));
    let (mut removed, mut added) = (0, 0);
    for part in parts {
        removed += first_text(part, &OLD_TEXT_FIELDS).map_or(0, str::len);
        added += first_text(part, &NEW_TEXT_FIELDS)
            .or_else(|| first_text(part, &WHOLE_TEXT_FIELDS))
            .map_or(0, str::len);
    }
    FileEffect::Edit { removed, added }
}
