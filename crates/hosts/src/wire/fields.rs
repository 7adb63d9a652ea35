//! Lazily decoded fields of a JSON object.
//!
//! A payload may hold a whole file in a field that is never read, and a host may change the type of
//! any field. So nothing is decoded before it is needed, and a field of an unexpected type counts
//! as absent.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Default)]
pub(crate) struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    pub(crate) fn parse_payload(payload: &'a [u8]) -> Result<Self, serde_json::Error> {
        // Some hosts write a byte order mark on Windows, which is not valid JSON.
        let json = payload.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(payload);
        serde_json::from_slice(json).map(Self)
    }

    /// Returns the first of these fields that is a non-empty string.
    pub(crate) fn first_text(&self, names: &[&str]) -> Option<String> {
        names
            .iter()
            .find_map(|name| self.decode::<String>(name).filter(|text| !text.is_empty()))
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.decode(name).unwrap_or(false)
    }

    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.decode(name)
    }

    /// Returns the first of these fields that is present, or null.
    pub(crate) fn first_value(&self, names: &[&str]) -> Value {
        names
            .iter()
            .find_map(|name| self.decode::<Value>(name))
            .unwrap_or_default()
    }

    /// Whether a field is present and not null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|raw| raw.get() != "null")
    }

    /// Returns the JSON text of a field.
    pub(crate) fn raw_json(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(|raw| raw.get())
    }

    /// Returns the fields of a nested object; none if it is not one.
    pub(crate) fn inner_fields(&self, name: &str) -> Fields<'a> {
        self.0
            .get(name)
            .and_then(|raw| serde_json::from_str(raw.get()).ok().map(Fields))
            .unwrap_or_default()
    }

    fn decode<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let raw = self.0.get(name)?.get();
        serde_json::from_str(raw)
            .ok()
            // The repair scans the whole text, so it is tried only after a failure.
            .or_else(|| serde_json::from_str(&without_lone_surrogates(raw)?).ok())
    }
}

/// Replaces unpaired surrogate escapes, which JavaScript can write and a Rust string cannot hold.
/// `None` if there are none.
///
/// One such character must not hide a whole tool call from the gates.
fn without_lone_surrogates(json: &str) -> Option<String> {
    let mut repaired = String::new();
    let mut rest = json;
    let mut found = false;
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        repaired.push_str(before);
        let low = escape.get(6..).and_then(parse_code_unit);
        // Each escape is consumed whole, so that an escaped backslash before `ud800` is not taken
        // for
        // the start of a surrogate.
        let length = match (parse_code_unit(escape), low) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                found = true;
                repaired.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            _ => 2,
        };
        let (kept, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        repaired.push_str(kept);
        rest = after;
    }
    repaired.push_str(rest);
    found.then_some(repaired)
}

/// Returns the code unit of a leading `\uXXXX` escape.
fn parse_code_unit(escape: &str) -> Option<u16> {
    u16::from_str_radix(escape.strip_prefix("\\u")?.get(..4)?, 16).ok()
}
