//! What does not go into a recording (secrets), and what does not count when two questions are compared.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::secret::Secret;

const GONE: &str = "[secret]";

/// Keys as the well-known issuers shape them, and what follows the word `Bearer`.
static KEY_SHAPES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}",
        r"|\bAIza[A-Za-z0-9_-]{30,}",
        r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}",
        r"|\bxox[abprs]-[A-Za-z0-9-]{10,}",
        r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
        r"|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+",
        r"|\b[Bb]earer\s+[A-Za-z0-9._~+/=-]{12,}",
    ))
    .expect("BUG: a constant pattern")
});

/// Times, generated ids and absolute paths: they differ from run to run and change no answer that matters.
static VOLATILE: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let pattern = |text: &str| Regex::new(text).expect("BUG: a constant pattern");
    vec![
        (pattern(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
        (pattern(r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"), "<id>"),
        (pattern(r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b"), "<id>"),
        (pattern(r#"(?:/(?:home|Users|root|tmp|private|var)/|\b[A-Za-z]:\\)[^\s"'`<>)]*"#), "<path>"),
    ]
});

/// Takes secrets out of what is recorded. It knows the keys in use, and the shapes of others.
#[derive(Clone, Debug, Default)]
pub struct Scrubber {
    secrets: Vec<Secret>,
}

impl Scrubber {
    #[must_use]
    pub fn new(secrets: Vec<Secret>) -> Self {
        Self { secrets }
    }

    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let known = self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.reveal(), GONE));
        KEY_SHAPES.replace_all(&known, GONE).into_owned()
    }

    #[must_use]
    pub fn value(&self, value: &Value) -> Value {
        mapped(value, &|text| self.text(text))
    }
}

/// Returns the value as it is compared: what changes from run to run is the same, and so is the order of keys.
pub(crate) fn comparable(value: &Value) -> Value {
    let steady = |text: &str| {
        VOLATILE.iter().fold(text.to_owned(), |text, (pattern, word)| pattern.replace_all(&text, *word).into_owned())
    };
    let mut value = mapped(value, &steady);
    value.sort_all_objects();
    value
}

fn mapped(value: &Value, change: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(items) => items.iter().map(|item| mapped(item, change)).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, value)| (change(key), mapped(value, change))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_taken_out_wherever_they_are() {
        let scrubber = Scrubber::new(vec![Secret::new("hunter2").unwrap()]);
        let value = json!({"a": ["my hunter2 is", {"hunter2": "Bearer abcdefghijkl.mnop"}], "n": 7});
        assert_eq!(scrubber.value(&value), json!({"a": ["my [secret] is", {"[secret]": "[secret]"}], "n": 7}));
        for key in [
            "sk-ant-api03-abcdefghijklmnop",
            "sk-proj-0123456789abcdefXYZ",
            "AIzaSyA0123456789abcdefghijklmnopqrstuv",
            "ghp_0123456789abcdefghijklmnop",
            "AKIAIOSFODNN7EXAMPLE",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
        ] {
            assert_eq!(scrubber.text(&format!("key={key}, then")), "key=[secret], then", "{key}");
        }
        assert_eq!(
            scrubber.text("a sk-8 board and a risk-averse bearer of news"),
            "a sk-8 board and a risk-averse bearer of news"
        );
    }

    #[test]
    fn what_changes_from_run_to_run_does_not_count() {
        let first = json!({"b": "at 2026-11-15T10:00:00.123Z in /tmp/x1/y by 01JCQZ7V4T3M9W8X6Y5Z4A3B2C", "a": 1});
        let second = json!({"a": 1, "b": "at 2027-01-01 09:30 in /home/me/story by 01JCR00000000000000000000A"});
        assert_eq!(comparable(&first), comparable(&second));
        assert_eq!(comparable(&json!("the act is 1850-01-02, no time")), json!("the act is 1850-01-02, no time"));
    }
}
