//! Streaming recovery of a JSON payload that is too long, cut off or malformed.
//!
//! The payload is read once, as a stream. Strings longer than a plan may be are truncated, so that
//! the tool and the path of a write of any size are known in bounded memory. Input after the end or
//! the first error is dropped, and open brackets are closed. Only for payloads that do not parse as
//! they are: without it, a huge write would pass the gates unseen.

/// Maximum length of a string: more than a plan may have by default.
const MAX_STRING_BYTES: usize = 4 * 1024 * 1024;

/// The recoverable part of a payload.
#[derive(Debug)]
pub struct Salvage {
    kept: Vec<u8>,
    /// Closing brackets of the open objects and arrays.
    open: Vec<u8>,
    /// Lengths of `kept` and `open` at the last point where the JSON could be closed.
    whole: (usize, usize),
    string: Option<StringState>,
    /// In an object, whether the next string is a value and not a name.
    value_next: bool,
    ended: bool,
    max_string_bytes: usize,
}

/// Position inside a string.
#[derive(Clone, Copy, Debug)]
struct StringState {
    start: usize,
    is_value: bool,
    /// Remaining bytes of an escape sequence.
    escape: u8,
    cut: bool,
}

impl Default for Salvage {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            open: Vec::new(),
            whole: (0, 0),
            string: None,
            value_next: false,
            ended: false,
            max_string_bytes: MAX_STRING_BYTES,
        }
    }
}

impl Salvage {
    /// Feeds the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.ended {
                return;
            }
            match self.string {
                Some(state) => self.push_in_string(*byte, state),
                None => self.push_outside_string(*byte),
            }
        }
    }

    /// Returns the number of kept bytes.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        self.kept.len()
    }

    /// Returns the recovered JSON object, closed; empty if there was none.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        // A value that is cut off is still worth having, such as the start of a file's text. A name
        // that is cut off would be a wrong name.
        if let Some(state) = self.string.filter(|state| state.is_value) {
            self.close_string(state);
        }
        let (bytes, depth) = self.whole;
        self.kept.truncate(bytes);
        let closing = self.open.get(..depth).unwrap_or_default().iter().rev();
        self.kept.extend(closing);
        self.kept
    }

    fn push_in_string(&mut self, byte: u8, mut state: StringState) {
        if state.escape > 0 {
            // `\u` is followed by four digits, every other escape is one byte.
            state.escape = if byte == b'u' && state.escape == 1 {
                4
            } else {
                state.escape - 1
            };
        } else if byte == b'\\' {
            state.escape = 1;
            state.cut |= self.kept.len() - state.start >= self.max_string_bytes;
        } else if byte == b'"' {
            self.close_string(state);
            return;
        } else if byte & 0xC0 != 0x80 {
            // Cut only before a character, never inside one.
            state.cut |= self.kept.len() - state.start >= self.max_string_bytes;
        }
        if !state.cut {
            self.kept.push(byte);
        }
        self.string = Some(state);
    }

    /// Ends a string, complete or cut off; half an escape or character is dropped.
    fn close_string(&mut self, state: StringState) {
        if state.escape > 0
            && !state.cut
            && let Some(at) = self.kept.iter().rposition(|byte| *byte == b'\\')
        {
            self.kept.truncate(at);
        }
        if let Some(Err(error)) = self.kept.get(state.start..).map(std::str::from_utf8)
            && error.error_len().is_none()
        {
            self.kept.truncate(state.start + error.valid_up_to());
        }
        self.kept.push(b'"');
        self.string = None;
        self.value_next = false;
        if state.is_value {
            self.whole = (self.kept.len(), self.open.len());
        }
    }

    fn push_outside_string(&mut self, byte: u8) {
        match byte {
            b'"' => {
                let in_object = self.open.last() == Some(&b'}');
                self.kept.push(byte);
                let is_value = !in_object || self.value_next;
                self.string = Some(StringState {
                    start: self.kept.len(),
                    is_value,
                    escape: 0,
                    cut: false,
                });
                return;
            }
            b'{' | b'[' => {
                self.kept.push(byte);
                self.open.push(if byte == b'{' { b'}' } else { b']' });
                self.whole = (self.kept.len(), self.open.len());
            }
            b'}' | b']' => {
                // Mismatched brackets: from here on any structure would be a guess.
                if self.open.last() != Some(&byte) {
                    self.ended = true;
                    return;
                }
                self.open.pop();
                self.kept.push(byte);
                self.whole = (self.kept.len(), self.open.len());
                self.ended = self.open.is_empty();
            }
            b',' => {
                // A number or literal is complete only now: `12` may be the start of `123`.
                self.whole = (self.kept.len(), self.open.len());
                self.kept.push(byte);
            }
            _ => self.kept.push(byte),
        }
        self.value_next = byte == b':' || (self.value_next && byte.is_ascii_whitespace());
    }
}

/// Returns the recoverable part of a malformed or cut-off payload; empty if there is none.
#[must_use]
pub fn salvage_payload(payload: &[u8]) -> Vec<u8> {
    let json = payload.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(payload);
    // Up to the first error. At an unexpected end that is all of it.
    let end = match serde_json::from_slice::<serde::de::IgnoredAny>(json) {
        Err(error) if !error.is_eof() => byte_offset(json, error.line(), error.column()),
        _ => json.len(),
    };
    let mut salvage = Salvage::default();
    salvage.push(json.get(..end).unwrap_or(json));
    salvage.finish()
}

/// Returns the byte offset of a parser's line and column, both counted from 1.
fn byte_offset(json: &[u8], line: usize, column: usize) -> usize {
    let before: usize = json
        .split_inclusive(|byte| *byte == b'\n')
        .take(line.saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    (before + column.saturating_sub(1)).min(json.len())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(payload: &[u8]) -> Value {
        serde_json::from_slice(&salvage_payload(payload)).unwrap_or(Value::Null)
    }

    #[test]
    fn every_prefix_of_a_payload_is_read_as_far_as_it_goes() {
        let whole = json!({
            "hook_event_name": "PreToolUse", "n": [1, -2.5e3, true, null, {"a": {}}], "é\"\\": "ж\u{1F600}\n\u{7}",
            "tool_input": {"file_path": "acts/act-1/plan.md", "content": "x"}, "last": 1
        });
        for text in [
            whole.to_string(),
            serde_json::to_string_pretty(&whole).unwrap(),
        ] {
            for end in 1..=text.len() {
                let found = read(&text.as_bytes()[..end]);
                assert!(found.is_object(), "{end}: {found}");
                let expected = whole.as_object().unwrap();
                let known = found
                    .as_object()
                    .unwrap()
                    .iter()
                    .filter(|(name, _)| *name != "last");
                // Whatever is recovered has the right type: nothing is invented.
                for (name, value) in known {
                    let wanted = &expected[name];
                    assert_eq!(
                        std::mem::discriminant(value),
                        std::mem::discriminant(wanted),
                        "{end}: {name}"
                    );
                }
            }
            assert_eq!(read(text.as_bytes()), whole);
        }
    }

    #[test]
    fn what_follows_a_mistake_is_dropped_and_rubbish_is_nothing() {
        assert_eq!(
            read(br#"{"a": "b", "c": nonsense, "d": 1}"#),
            json!({"a": "b"})
        );
        assert_eq!(read(br#"{"a": "b"} trailing"#), json!({"a": "b"}));
        assert_eq!(read(b"\xEF\xBB\xBF{\"a\": \"b\", "), json!({"a": "b"}));
        for rubbish in [&b""[..], b"nonsense", b"\xff\xfe", b"]", b"\"text"] {
            assert!(!read(rubbish).is_object(), "{rubbish:?}");
        }
    }

    #[test]
    fn a_long_string_is_cut_at_a_character_and_what_follows_is_read() {
        let payload =
            json!({"content": "ж\u{1}".repeat(1_000), "file_path": "plan.md"}).to_string();
        // Long enough for the names.
        for max_string_bytes in 9..40 {
            let mut salvage = Salvage {
                max_string_bytes,
                ..Salvage::default()
            };
            payload
                .as_bytes()
                .chunks(7)
                .for_each(|chunk| salvage.push(chunk));
            let found: Value = serde_json::from_slice(&salvage.finish()).unwrap();
            assert_eq!(found["file_path"], "plan.md");
            let content = found["content"].as_str().unwrap();
            assert!(
                content.len() <= max_string_bytes + 6
                    && "ж\u{1}".repeat(1_000).starts_with(content),
                "{content}"
            );
        }
    }
}
