//! YAML front matter: parses and edits the block between two `---` lines at the top of a plan.
//!
//! Half-written plans are normal input, so a broken block is reported as a problem and is never an
//! error. Edits work on lines, not on parsed YAML, so that comments, quoting and order are kept.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Parsed front matter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrontMatter {
    pub keys: Map<String, Value>,
    /// The items of values with numbers, as they are spelled in the file.
    numbers: BTreeMap<String, Vec<String>>,
    /// The syntax error, if the block could not be parsed.
    pub problem: Option<FrontMatterProblem>,
}

/// A YAML error, with its line in the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct FrontMatterProblem {
    pub line: u64,
    pub message: String,
}

/// Splits a plan into the YAML block (without its fences) and the body.
#[must_use]
pub fn split_front_matter(text: &str) -> (Option<&str>, &str) {
    match locate_block(text) {
        Some((_, block, tail)) => (
            Some(block),
            tail.split_once('\n').map_or("", |(_, body)| body),
        ),
        None => (None, text.strip_prefix('\u{feff}').unwrap_or(text)),
    }
}

/// Splits a plan into the text up to the block, the block, and the rest from its closing fence on.
fn locate_block(text: &str) -> Option<(&str, &str, &str)> {
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rest = bare
        .strip_prefix("---\n")
        .or_else(|| bare.strip_prefix("---\r\n"))?;
    let head = text.get(..text.len() - rest.len())?;
    let mut offset = 0;
    for line in rest.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            let (block, tail) = rest.split_at(offset);
            return Some((head, block, tail));
        }
        offset += line.len();
    }
    // An unclosed block is not front matter: otherwise a plan that starts with a rule (`---`) would
    // be swallowed whole.
    None
}

/// Parses the front matter of a plan.
#[must_use]
pub fn parse_front_matter(text: &str) -> FrontMatter {
    let (Some(block), _) = split_front_matter(text) else {
        return FrontMatter::default();
    };
    if block.trim().is_empty() {
        return FrontMatter::default();
    }
    match serde_saphyr::from_str::<Value>(block) {
        Ok(Value::Object(keys)) => FrontMatter {
            numbers: spell_numbers(block, &keys),
            keys,
            problem: None,
        },
        Ok(Value::Null) => FrontMatter::default(),
        Ok(_) => FrontMatter {
            keys: Map::new(),
            numbers: BTreeMap::new(),
            problem: Some(FrontMatterProblem {
                line: 2,
                message: "expected `key: value` lines between the two `---`".to_owned(),
            }),
        },
        Err(error) => FrontMatter {
            keys: Map::new(),
            numbers: BTreeMap::new(),
            problem: Some(FrontMatterProblem {
                // The block starts on the file's second line.
                line: error.location().map_or(2, |location| location.line() + 1),
                message: error.without_snippet().to_string(),
            }),
        },
    }
}

/// Returns the items of values with numbers as they are spelled: as a number, the id `002` would be
/// `2.0`.
fn spell_numbers(block: &str, keys: &Map<String, Value>) -> BTreeMap<String, Vec<String>> {
    let entries = split_entries(block).into_iter();
    let spelled = entries.filter_map(|(key, lines)| {
        let key = key?;
        let values = match keys.get(key)? {
            Value::Array(values) => values.as_slice(),
            value => std::slice::from_ref(value),
        };
        let raw = split_items(lines.split_once(':')?.1);
        // With another number of items, they are not understood.
        let is_needed = values.iter().any(Value::is_number) && raw.len() == values.len();
        let items = values
            .iter()
            .zip(raw)
            .filter_map(|(value, raw)| match value {
                Value::Number(_) => Some(raw),
                value => scalar_text(value),
            });
        is_needed.then(|| (key.to_owned(), items.collect()))
    });
    spelled.collect()
}

/// Splits a value into the items of its list, without quotes and comments.
fn split_items(value: &str) -> Vec<String> {
    let lines: Vec<&str> = value.lines().map(without_comment).collect();
    let joined = lines.join("\n");
    let joined = joined.trim();
    let items: Vec<&str> = match joined.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
        Some(list) => list.split(',').collect(),
        None => joined
            .lines()
            .map(|line| line.trim().trim_start_matches("- "))
            .collect(),
    };
    let items = items
        .into_iter()
        .map(|item| item.trim().trim_matches(['"', '\'']));
    items
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Splits a block into entries with their lines; comments and blank lines in between have no key.
fn split_entries(block: &str) -> Vec<(Option<&str>, &str)> {
    let mut found: Vec<(Option<&str>, usize, usize)> = Vec::new();
    let mut offset = 0;
    for line in block.split_inclusive('\n') {
        let (from, to) = (offset, offset + line.len());
        offset = to;
        // A comment or an empty line is between two entries, unless the first one continues after
        // it; that is known only when a continuation line follows.
        let between = line.trim().is_empty() || line.starts_with('#');
        match (key_starting_line(line), between) {
            (Some(key), _) => found.push((Some(key), from, to)),
            (None, true) => found.push((None, from, to)),
            (None, false) => {
                let begun = found.iter().rposition(|(key, ..)| key.is_some());
                found.truncate(begun.map_or(found.len(), |begun| begun + 1));
                match found.last_mut().filter(|(key, ..)| key.is_some()) {
                    Some((_, _, end)) => *end = to,
                    None => found.push((None, from, to)),
                }
            }
        }
    }
    found
        .into_iter()
        .filter_map(|(key, from, to)| Some((key, block.get(from..to)?)))
        .collect()
}

/// Returns the text without these keys of its front matter and the lines that belong to them.
#[must_use]
pub fn remove_keys(text: &str, keys: &[String]) -> String {
    let Some((head, block, tail)) = locate_block(text) else {
        return text.to_owned();
    };
    let left_out = |key: &str| keys.iter().any(|other| other.eq_ignore_ascii_case(key));
    let kept = split_entries(block)
        .into_iter()
        .filter(|(key, _)| !key.is_some_and(left_out));
    [head]
        .into_iter()
        .chain(kept.map(|(_, lines)| lines))
        .chain([tail])
        .collect()
}

/// Returns the text with one key of its front matter set; every other byte is unchanged, also of a key in
/// another case, which the new one overrides.
///
/// A text without front matter gets one.
#[must_use]
pub fn set_key(text: &str, key: &str, value: &str) -> String {
    // Follows the file's line endings: mixed ones would show up as a change of the whole file in
    // some editors and in git.
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let line = format!("{key}: {value}{end}");
    let Some((head, block, tail)) = locate_block(text) else {
        let (mark, body) = text.split_at(text.len() - text.trim_start_matches('\u{feff}').len());
        return format!("{mark}---{end}{line}---{end}{end}{body}");
    };
    let mut entries = split_entries(block);
    match entries.iter_mut().find(|(other, _)| *other == Some(key)) {
        Some((_, lines)) => *lines = &line,
        None => entries.push((Some(key), &line)),
    }
    [head]
        .into_iter()
        .chain(entries.into_iter().map(|(_, lines)| lines))
        .chain([tail])
        .collect()
}

/// Edits the values of some keys, as they are spelled in the file, lists over several lines included;
/// every other byte stays.
#[must_use]
pub fn edit_values(text: &str, keys: &[&str], edit: impl Fn(&str) -> String) -> String {
    let Some((head, block, tail)) = locate_block(text) else {
        return text.to_owned();
    };
    let mut result = String::from(head);
    for (key, lines) in split_entries(block) {
        let is_wanted = |key: &str| keys.iter().any(|other| other.eq_ignore_ascii_case(key));
        match lines.split_once(':').filter(|_| key.is_some_and(is_wanted)) {
            Some((name, value)) => {
                result.push_str(name);
                result.push(':');
                result.push_str(&edit(value));
            }
            None => result.push_str(lines),
        }
    }
    result.push_str(tail);
    result
}

/// Returns a key's value as written, without quotes and comment.
#[must_use]
pub fn raw_value(text: &str, key: &str) -> Option<String> {
    // YAML would parse the ticket number `017` as an integer and lose the zero.
    let (block, _) = split_front_matter(text);
    let lines: Vec<&str> = block?.lines().collect();
    let names: Vec<&str> = lines
        .iter()
        .map(|line| key_starting_line(line).unwrap_or(""))
        .collect();
    let (_, value) = lines.get(position_of_key(&names, key)?)?.split_once(':')?;
    let value = value.trim();
    let value = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => value.split(quote).nth(1).unwrap_or_default().trim(),
        Some('#') => "",
        _ => without_comment(value),
    };
    (!value.is_empty() && !matches!(value, "null" | "~")).then(|| value.to_owned())
}

fn without_comment(value: &str) -> &str {
    let is_comment = |at: usize| {
        value
            .get(..at)
            .is_some_and(|before| before.ends_with([' ', '\t']))
    };
    let mut marks = value.match_indices('#').map(|(at, _)| at);
    let end = marks.find(|at| is_comment(*at)).unwrap_or(value.len());
    value.get(..end).unwrap_or(value).trim()
}

/// Returns the place of a key among names: as it is spelled, or else in another case.
fn position_of_key(names: &[&str], key: &str) -> Option<usize> {
    let exact = names.iter().position(|name| *name == key);
    exact.or_else(|| names.iter().position(|name| name.eq_ignore_ascii_case(key)))
}

/// Returns the key that starts on a line; `None` for continuation lines, list items and comments.
fn key_starting_line(line: &str) -> Option<&str> {
    let (key, _) = line.split_once(':')?;
    let begins = key
        .chars()
        .next()
        .is_some_and(|first| !first.is_whitespace() && !"#-[{".contains(first));
    begins.then(|| key.trim().trim_matches(['"', '\'']))
}

impl FrontMatter {
    /// Returns a key's value as written in the text that was parsed; a value over several lines or with
    /// YAML's own marks as it was parsed.
    #[must_use]
    pub fn get_word(&self, text: &str, key: &str) -> Option<String> {
        let raw = raw_value(text, key);
        let is_plain = |value: &String| !value.starts_with(['>', '|', '&', '!', '*', '[', '{']);
        if raw.as_ref().is_some_and(is_plain) {
            return raw;
        }
        let parsed = self.get_text(key).map(|value| value.trim().to_owned());
        parsed.filter(|value| !value.is_empty()).or(raw)
    }

    /// Returns a key as a list of strings: a list, comma-separated text, or a single value.
    #[must_use]
    pub fn get_list(&self, key: &str) -> Vec<String> {
        let split = |text: &str| {
            text.split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let spelled = self
            .numbers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(key));
        if let Some((_, spelled)) = spelled {
            return spelled.clone();
        }
        match self.get_ignoring_case(key) {
            Some(Value::Array(items)) => items.iter().filter_map(scalar_text).collect(),
            Some(Value::Object(map)) => map.keys().cloned().collect(),
            Some(Value::String(text)) => split(text),
            Some(other) => scalar_text(other).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// Returns a key as a string.
    #[must_use]
    pub fn get_text(&self, key: &str) -> Option<String> {
        self.get_ignoring_case(key).and_then(scalar_text)
    }

    fn get_ignoring_case(&self, key: &str) -> Option<&Value> {
        // The exact key first, so that a file with both `Needs` and `needs` is unambiguous.
        self.keys.get(key).or_else(|| {
            let lower = key.to_lowercase();
            self.keys
                .iter()
                .find(|(name, _)| name.to_lowercase() == lower)
                .map(|(_, value)| value)
        })
    }
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        // `- name: Anna` and `- Anna: the captain` are common ways to list named things.
        Value::Object(map) => map
            .get("name")
            .and_then(scalar_text)
            .or_else(|| map.keys().next().cloned()),
        Value::Array(_) | Value::Null => None,
    }
}
