//! Lenient JSON parser.
//!
//! Strict first. Then with comments, trailing and missing commas, single quotes, bare keys and line
//! breaks in strings (`jsonc-parser`); then with Python literals and typographic quotes. Every
//! deviation is noted.

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::Value;

pub(super) fn parse_lenient_json(text: &str) -> Option<(Value, Vec<String>)> {
    if let Ok(value) = serde_json::from_str(text) {
        // Some models serialise the answer twice.
        return Some(unwrap_json_string(value));
    }
    let loose = |text: &str| parse_to_serde_value::<Value>(text, &ParseOptions::default()).ok();
    let (value, note) = loose(text)
        .map(|value| {
            (
                value,
                "the answer was not quite JSON: commas, comments or quotes were repaired",
            )
        })
        .or_else(|| {
            Some((
                loose(&normalize_python_literals(text))?,
                "the answer was written like Python or a letter, not JSON",
            ))
        })?;
    Some((value, vec![note.to_owned()]))
}

/// Unwraps JSON inside a JSON string.
fn unwrap_json_string(value: Value) -> (Value, Vec<String>) {
    if let Value::String(inner) = &value
        && let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(inner)
    {
        return (
            inner,
            vec!["the answer was JSON inside a string".to_owned()],
        );
    }
    (value, Vec::new())
}

/// Replaces `True`, `False` and `None` outside strings by JSON's literals, and typographic quotes
/// by plain ones if there are no others.
fn normalize_python_literals(text: &str) -> String {
    // Only without plain quotes: otherwise typographic ones are part of the text.
    let text = if text.contains('"') {
        text.to_owned()
    } else {
        text.replace(['“', '”', '„'], "\"")
    };
    let mut result = String::with_capacity(text.len());
    let mut word = String::new();
    let mut string: Option<char> = None;
    let mut escaped = false;
    let flush = |word: &mut String, result: &mut String| {
        result.push_str(match word.as_str() {
            "True" => "true",
            "False" => "false",
            "None" => "null",
            other => other,
        });
        word.clear();
    };
    for letter in text.chars() {
        // Words are collected whole, so that `Nonesuch` is not changed.
        if string.is_none() && letter.is_alphanumeric() {
            word.push(letter);
            continue;
        }
        flush(&mut word, &mut result);
        match string {
            Some(_) if escaped => escaped = false,
            Some(_) if letter == '\\' => escaped = true,
            Some(quote) if letter == quote => string = None,
            None if matches!(letter, '"' | '\'') => string = Some(letter),
            _ => {}
        }
        result.push(letter);
    }
    flush(&mut word, &mut result);
    result
}
