//! The fields of a JSON object, each left as text until somebody asks for it.
//!
//! A payload may hold a whole file in a field nobody reads, and a host may change the type of any field: so
//! nothing is decoded early, and what has another type than expected counts as absent.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Default)]
pub(super) struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    pub(super) fn parse(payload: &'a [u8]) -> Result<Self, serde_json::Error> {
        // Some hosts write a byte order mark on Windows.
        let json = payload.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(payload);
        serde_json::from_slice(json).map(Self)
    }

    /// Returns the first of these fields that is a text and not empty.
    pub(super) fn text(&self, names: &[&str]) -> Option<String> {
        names
            .iter()
            .find_map(|name| self.decode::<String>(name).filter(|text| !text.is_empty()))
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.decode(name).unwrap_or(false)
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.decode(name)
    }

    /// Returns the first of these fields that is there, else null.
    pub(super) fn value(&self, names: &[&str]) -> Value {
        names
            .iter()
            .find_map(|name| self.decode::<Value>(name))
            .unwrap_or_default()
    }

    /// Says whether a field is there and not null.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|raw| raw.get() != "null")
    }

    /// Returns a field as it stands in the payload.
    pub(super) fn raw(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(|raw| raw.get())
    }

    /// Returns the fields of the object in a field; none where it is no object.
    pub(super) fn inner(&self, name: &str) -> Fields<'a> {
        self.0
            .get(name)
            .and_then(|raw| serde_json::from_str(raw.get()).ok().map(Fields))
            .unwrap_or_default()
    }

    fn decode<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let raw = self.0.get(name)?.get();
        serde_json::from_str(raw)
            .ok()
            .or_else(|| serde_json::from_str(&without_lone_surrogates(raw)?).ok())
    }
}

/// Replaces halves of surrogate pairs, which JavaScript can write and Rust cannot hold: one such character
/// must not hide a whole tool call from us. `None` when there are none.
fn without_lone_surrogates(json: &str) -> Option<String> {
    let mut repaired = String::new();
    let mut rest = json;
    let mut found = false;
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        repaired.push_str(before);
        let low = escape.get(6..).and_then(code_unit);
        let length = match (code_unit(escape), low) {
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

/// Returns the code unit of a leading escape: `\u` and four digits.
fn code_unit(escape: &str) -> Option<u16> {
    u16::from_str_radix(escape.strip_prefix("\\u")?.get(..4)?, 16).ok()
}
