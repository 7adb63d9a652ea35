//! Finding JSON in prose, in code fences, behind a train of thought or in front of a farewell.

/// What looks like JSON in a text.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Found<'a> {
    /// Complete values, in the order of the text. The whole text is the first when it might be one value.
    pub(super) values: Vec<&'a str>,
    /// The text ends inside a value.
    pub(super) unfinished: bool,
}

/// Openers that lead nowhere are skipped one by one; a text of nothing else must not take for ever.
const MOST_OPENERS: usize = 500;
/// Deeper nesting is no answer, and a danger to parsers that recurse.
const DEEPEST: usize = 100;

pub(super) fn candidates(text: &str) -> Found<'_> {
    let text = after_thoughts(text.trim_start_matches('\u{feff}')).trim();
    let mut found = Found::default();
    // A number, a word in quotes, or JSON in quotes.
    if !text.is_empty()
        && !text.starts_with(['{', '['])
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
    {
        found.values.push(text);
    }
    let mut rest = text;
    for _ in 0..MOST_OPENERS {
        let Some(start) = rest.find(['{', '[']) else {
            break;
        };
        let Some(opened) = rest.get(start..) else {
            break;
        };
        match span(opened) {
            Span::Closed(length) => {
                found.values.extend(opened.get(..length));
                rest = opened.get(length..).unwrap_or_default();
            }
            Span::Open if looks_like_json(opened) => {
                found.unfinished = true;
                break;
            }
            // A brace of prose.
            Span::Open | Span::TooDeep => rest = opened.get(1..).unwrap_or_default(),
        }
    }
    found
}

/// Returns what follows a model's thoughts, where it marks them. Thoughts that never end leave nothing.
fn after_thoughts(text: &str) -> &str {
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        if let Some(thoughts) = text.trim_start().strip_prefix(open) {
            return thoughts.split_once(close).map_or("", |(_, rest)| rest);
        }
    }
    text
}

enum Span {
    /// The value ends after so many bytes.
    Closed(usize),
    Open,
    TooDeep,
}

/// Follows brackets to the one that closes the first, past strings and the brackets in them.
fn span(text: &str) -> Span {
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
                // An apostrophe opens a string only where a value or a key may stand.
                '\'' if matches!(before, '{' | '[' | ',' | ':') => string = Some('\''),
                '{' => closers.push('}'),
                '[' => closers.push(']'),
                '}' | ']' => {
                    // A closer that does not fit is left to the parser to complain about.
                    closers.pop();
                    if closers.is_empty() {
                        return Span::Closed(at + letter.len_utf8());
                    }
                }
                _ => {}
            }
            if closers.len() > DEEPEST {
                return Span::TooDeep;
            }
        }
        if !letter.is_whitespace() {
            before = letter;
        }
    }
    Span::Open
}

/// Tells a value that breaks off from a brace in prose: after the opener comes a key, a value or the end.
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
