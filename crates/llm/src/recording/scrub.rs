//! Removes secrets from recordings, and normalises volatile values before requests are compared.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::secret::Secret;

const SECRET_PLACEHOLDER: &str = "[secret]";

/// Times, generated ids and absolute paths: they differ between runs without changing the answer.
static VOLATILE_PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let pattern = |text: &str| Regex::new(text).expect("BUG: a constant pattern");
    vec![
        (
            pattern(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"),
            "<time>",
        ),
        (
            pattern(
                r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b",
            ),
            "<id>",
        ),
        // ULIDs.
        (pattern(r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b"), "<id>"),
        (
            pattern(r#"(?:/(?:home|Users|root|tmp|private|var)/|\b[A-Za-z]:\\)[^\s"'`<>)]*"#),
            "<path>",
        ),
    ]
});

/// Masks secrets by their format. The list of formats is the caller's; the product has one.
pub type Masker = fn(&str) -> String;

/// Removes secrets from recorded texts: the keys in use, and what the masker recognises.
#[derive(Clone, Debug)]
pub struct Scrubber {
    secrets: Vec<Secret>,
    mask: Masker,
}

impl Scrubber {
    #[must_use]
    pub fn new(secrets: Vec<Secret>, mask: Masker) -> Self {
        Self { secrets, mask }
    }

    #[must_use]
    pub fn scrub_text(&self, text: &str) -> String {
        let known = self.secrets.iter().fold(text.to_owned(), |text, secret| {
            text.replace(secret.reveal(), SECRET_PLACEHOLDER)
        });
        // By value first: a masker that recognises part of a key would leave the rest.
        (self.mask)(&known)
    }

    #[must_use]
    pub fn scrub_value(&self, value: &Value) -> Value {
        map_json_strings(value, &|text| self.scrub_text(text))
    }
}

/// Normalises a value for comparison: volatile values replaced, keys sorted.
pub(crate) fn normalize_for_comparison(value: &Value) -> Value {
    let steady = |text: &str| {
        VOLATILE_PATTERNS
            .iter()
            .fold(text.to_owned(), |text, (pattern, word)| {
                pattern.replace_all(&text, *word).into_owned()
            })
    };
    // Objects are compared as text later, so the order of their keys must not matter.
    let mut value = map_json_strings(value, &steady);
    value.sort_all_objects();
    value
}

fn map_json_strings(value: &Value, change: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(items) => items
            .iter()
            .map(|item| map_json_strings(item, change))
            .collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, value)| (change(key), map_json_strings(value, change)))
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_taken_out_wherever_they_are() {
        let mask = |text: &str| text.replace("sk-1", "[masked]");
        let scrubber = Scrubber::new(vec![Secret::new("hunter2").unwrap()], mask);
        let value = json!({"a": ["my hunter2 is", {"hunter2": "Bearer sk-1"}], "n": 7});
        assert_eq!(
            scrubber.scrub_value(&value),
            json!({"a": ["my [secret] is", {"[secret]": "Bearer [masked]"}], "n": 7})
        );
    }

    #[test]
    fn what_changes_from_run_to_run_does_not_count() {
        let first = json!({"b": "at 2026-11-15T10:00:00.123Z in /tmp/x1/y by 01JCQZ7V4T3M9W8X6Y5Z4A3B2C", "a": 1});
        let second = json!({"a": 1, "b": "at 2027-01-01 09:30 in /home/me/story by 01JCR00000000000000000000A"});
        assert_eq!(
            normalize_for_comparison(&first),
            normalize_for_comparison(&second)
        );
        assert_eq!(
            normalize_for_comparison(&json!("the act is 1850-01-02, no time")),
            json!("the act is 1850-01-02, no time")
        );
    }
}
