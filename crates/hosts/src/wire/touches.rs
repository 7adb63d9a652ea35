//! Extracts the files a tool call touches from its input. All hosts' spellings in one place.

use domain::host_event::{Effect, Touch};
use serde_json::Value;

use super::patch;
use super::tools::Deed;

const PATH: [&str; 12] = [
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
const SOURCE: [&str; 8] = [
    "source",
    "src",
    "from",
    "old_path",
    "oldPath",
    "source_path",
    "sourcePath",
    "source_file",
];
const DESTINATION: [&str; 11] = [
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
const MANY: [&str; 6] = [
    "paths",
    "file_paths",
    "files",
    "edits",
    "include",
    "operations",
];
const WHOLE: [&str; 9] = [
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
const OLD: [&str; 6] = [
    "old_string",
    "old_str",
    "oldString",
    "old_text",
    "oldText",
    "oldStr",
];
const NEW: [&str; 6] = [
    "new_string",
    "new_str",
    "newString",
    "new_text",
    "newText",
    "newStr",
];
const PATCH: [&str; 5] = ["patchText", "patch_text", "patch", "input", "diff"];

/// Returns the touched files, in the order of the input.
pub(super) fn of(deed: Deed, input: &Value) -> Vec<Touch> {
    match deed {
        Deed::Nothing => Vec::new(),
        Deed::Move | Deed::Copy => moved(deed, input),
        Deed::Edit => match patch_text(input) {
            Some(text) => patch::touches(&text, ""),
            None => named(deed, input),
        },
        Deed::Read | Deed::Write | Deed::Delete => named(deed, input),
    }
}

/// Returns the first of these fields that is a non-empty string.
pub(super) fn text<'a>(input: &'a Value, names: &[&str]) -> Option<&'a str> {
    names
        .iter()
        .find_map(|name| input.get(name)?.as_str().filter(|text| !text.is_empty()))
}

/// Returns the command line of a shell tool, which may be a list: `["bash", "-lc", "…"]`.
pub(super) fn command_line(input: &Value) -> Option<String> {
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

fn patch_text(input: &Value) -> Option<String> {
    let given = PATCH
        .iter()
        .find_map(|name| input.get(name)?.as_str().filter(|text| patch::is_in(text)));
    given
        .map(str::to_owned)
        .or_else(|| command_line(input).filter(|text| patch::is_in(text)))
}

/// Returns the touches of a move or copy: the source is deleted by a move, the destination is
/// written.
fn moved(deed: Deed, input: &Value) -> Vec<Touch> {
    let source = text(input, &SOURCE)
        .or_else(|| text(input, &PATH))
        .filter(|_| deed == Deed::Move);
    let source = source.map(|path| Touch {
        path: path.to_owned(),
        effect: Effect::Delete,
    });
    let destination = text(input, &DESTINATION);
    let destination = destination.map(|path| Touch {
        path: path.to_owned(),
        // The input does not hold the text; gates judge such a write by its path.
        effect: Effect::Write { text: None },
    });
    source.into_iter().chain(destination).collect()
}

fn named(deed: Deed, input: &Value) -> Vec<Touch> {
    let own = text(input, &PATH).map(|path| touch(deed, path, input));
    let many = MANY
        .iter()
        .filter_map(|name| input.get(name)?.as_array())
        .flatten();
    let others = many.filter_map(|item| match item {
        // Beside a path of its own, such a list holds options, not further files.
        Value::String(path) => own.is_none().then(|| touch(deed, path, &Value::Null)),
        item => text(item, &PATH).map(|path| touch(deed, path, item)),
    });
    let others: Vec<Touch> = others.collect();
    own.into_iter().chain(others).collect()
}

fn touch(deed: Deed, path: &str, given: &Value) -> Touch {
    let effect = match deed {
        Deed::Delete => Effect::Delete,
        Deed::Edit => edit(given),
        // Some tools use one name for writing a whole file and for replacing a part of it.
        Deed::Write if replaces(given) => edit(given),
        Deed::Write => Effect::Write {
            text: text_or_empty(given, &WHOLE),
        },
        Deed::Read | Deed::Move | Deed::Copy | Deed::Nothing => Effect::Read,
    };
    Touch {
        path: path.to_owned(),
        effect,
    }
}

/// Returns the file's text, which may be empty and is then still known.
fn text_or_empty(given: &Value, names: &[&str]) -> Option<String> {
    names
        .iter()
        .find_map(|name| given.get(name)?.as_str())
        .map(str::to_owned)
}

fn replaces(given: &Value) -> bool {
    OLD.iter().any(|name| given.get(name).is_some())
        || given.get("edits").is_some_and(Value::is_array)
}

/// Sums up the replacements in a file: its own, and those in a list that name no other file.
fn edit(given: &Value) -> Effect {
    let listed = given
        .get("edits")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let parts = std::iter::once(given).chain(listed.filter(|part| text(part, &PATH).is_none()));
    let (mut removed, mut added) = (0, 0);
    for part in parts {
        removed += text(part, &OLD).map_or(0, str::len);
        added += text(part, &NEW)
            .or_else(|| text(part, &WHOLE))
            .map_or(0, str::len);
    }
    Effect::Edit { removed, added }
}
