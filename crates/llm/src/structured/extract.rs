//! Extracts JSON values from an answer with prose, code fences or reasoning around them.

/// JSON candidates in a text.
#[derive(Debug, Default, PartialEq)]
pub(super) struct JsonCandidates<'a> {
    /// Complete values, in text order. The whole text comes first if it may be a scalar.
    pub(super) values: Vec<&'a str>,
    /// The text ends inside a value.
    pub(super) unfinished: bool,
}

/// Maximum number of opening brackets tried: each scans the rest of the text, which is quadratic
/// for a text of nothing but brackets.
const MAX_OPENERS: usize = 500;
/// Maximum nesting depth; deeper input could overflow the stack of recursive parsers.
const MAX_DEPTH: usize = 100;

pub(super) fn find_json_candidates(text: &str) -> JsonCandidates<'_> {
    // Reasoning often contains drafts of the answer, which must not be taken for it.
    let text = skip_marked_thoughts(text.trim_start_matches('\u{feff}')).trim();
    let mut found = JsonCandidates::default();
    // A scalar, or JSON inside a quoted string; the bracket search below would not find it.
    if !text.is_empty()
        && !text.starts_with(['{', '['])
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
    {
        found.values.push(text);
    }
    let mut rest = text;
    for _ in 0..MAX_OPENERS {
        let Some(start) = rest.find(['{', '[']) else {
            break;
        };
        let Some(opened) = rest.get(start..) else {
            break;
        };
        match find_value_span(opened) {
            Span::Closed(length) => {
                found.values.extend(opened.get(..length));
                // The search goes on behind the value: objects inside it are not candidates.
                rest = opened.get(length..).unwrap_or_default();
            }
            Span::Open if looks_like_json(opened) => {
                found.unfinished = true;
                break;
            }
            // A bracket in prose: go on behind it.
            Span::Open | Span::TooDeep => rest = opened.get(1..).unwrap_or_default(),
        }
    }
    found
}

/// Skips reasoning in `<think>` tags. Without a closing tag nothing is left.
fn skip_marked_thoughts(text: &str) -> &str {
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        if let Some(thoughts) = text.trim_start().strip_prefix(open) {
            return thoughts.split_once(close).map_or("", |(_, rest)| rest);
        }
    }
    text
}

enum Span {
    /// The value's length in bytes.
    Closed(usize),
    Open,
    TooDeep,
}

/// Finds the bracket that closes the first one, ignoring brackets in strings.
fn find_value_span(text: &str) -> Span {
    let mut closers = Vec::new();
    let mut string: Option<char> = None;
    let mut escaped = false;
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        if let Some(quote) = string {
            match letter {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if letter == quote => string = None,
                _ => {}
            }
        } else {
            match letter {
                '"' => string = Some('"'),
                // An apostrophe opens a string only where a key or a value may start: elsewhere it
                // is part of a word ("don't").
                '\'' if matches!(before, '{' | '[' | ',' | ':') => string = Some('\''),
                '{' => closers.push('}'),
                '[' => closers.push(']'),
                '}' | ']' => {
                    // A mismatched closing bracket is left to the parser to reject.
                    closers.pop();
                    if closers.is_empty() {
                        return Span::Closed(at + letter.len_utf8());
                    }
                }
                _ => {}
            }
            if closers.len() > MAX_DEPTH {
                return Span::TooDeep;
            }
        }
        if !letter.is_whitespace() {
            before = letter;
        }
    }
    Span::Open
}

/// Whether an unclosed bracket starts a truncated value, not a bracket in prose: a key, a value or
/// the end follows.
fn looks_like_json(opened: &str) -> bool {
    let mut letters = opened.chars();
    let object = letters.next() == Some('{');
    let inside = letters.as_str().trim_start();
    match inside.chars().next() {
        None => true,
        Some('"') => true,
        Some('\'') => object,
        Some(first) => !object && (matches!(first, '{' | '[' | '-') || first.is_ascii_digit()),
    }
}
