//! The text of a node's mirror file: indented JSON with a checksum.

use std::io;

use domain::node::Node;
use serde::Deserialize;

/// A parsed file.
#[derive(Deserialize)]
pub(super) struct ParsedNodeFile {
    pub(super) path: String,
    pub(super) node: Node,
    pub(super) sum: String,
}

impl ParsedNodeFile {
    /// Whether the checksum matches.
    pub(super) fn is_intact(&self) -> bool {
        serde_json::to_string(&self.node)
            .is_ok_and(|node| compute_checksum(&self.path, &node) == self.sum)
    }
}

pub(super) fn render_node_file(path: &str, node: &Node) -> io::Result<String> {
    // The checksum is over the compact form. It is indented here instead of being serialised a
    // second time, which took a sixth of `tl check`.
    let node = serde_json::to_string(node).map_err(io::Error::other)?;
    let mut text = String::with_capacity(node.len() * 2);
    text.push_str("{\n  \"path\": ");
    text.push_str(&serde_json::to_string(path).map_err(io::Error::other)?);
    text.push_str(",\n  \"node\": ");
    push_indented(&mut text, &node, 1);
    text.push_str(",\n  \"sum\": \"");
    text.push_str(&compute_checksum(path, &node));
    text.push_str("\"\n}\n");
    Ok(text)
}

/// Returns the CRC-32 of a path and the compact JSON of its node.
fn compute_checksum(path: &str, node: &str) -> String {
    // The path is included, so that a file copied over another one is not intact. A CRC suffices:
    // it detects damage and hand edits, and a forged mirror still has to be adopted by a person.
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(path.as_bytes());
    hasher.update(node.as_bytes());
    format!("{:08x}", hasher.finalize())
}

/// Appends compact JSON as `serde_json` indents it, below `depth` levels.
fn push_indented(text: &mut String, compact: &str, mut depth: usize) {
    let bytes = compact.as_bytes();
    // Beginning of what is not copied yet; it is always at an ASCII character.
    let mut begin = 0;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        at += 1;
        match byte {
            b'"' => at = skip_string(bytes, at),
            b':' => {
                copy_part(text, compact, &mut begin, at);
                text.push(' ');
            }
            b',' => {
                copy_part(text, compact, &mut begin, at);
                push_line_break(text, depth);
            }
            // Empty ones stay on their line.
            b'{' | b'[' if matches!(bytes.get(at), Some(b'}' | b']')) => at += 1,
            b'{' | b'[' => {
                copy_part(text, compact, &mut begin, at);
                depth += 1;
                push_line_break(text, depth);
            }
            b'}' | b']' => {
                copy_part(text, compact, &mut begin, at - 1);
                depth = depth.saturating_sub(1);
                push_line_break(text, depth);
            }
            _ => {}
        }
    }
    copy_part(text, compact, &mut begin, at);
}

/// Returns the place after the string whose content begins at `at`.
fn skip_string(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'"' {
        // What is escaped may be a quotation mark.
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

fn copy_part(text: &mut String, compact: &str, begin: &mut usize, end: usize) {
    text.push_str(compact.get(*begin..end).unwrap_or_default());
    *begin = end;
}

fn push_line_break(text: &mut String, depth: usize) {
    text.push('\n');
    for _ in 0..depth {
        text.push_str("  ");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::push_indented;

    #[test]
    fn compact_json_is_indented_as_serde_json_does() {
        for value in [
            json!({}),
            json!([]),
            json!({"a": {}, "b": [], "c": null, "d": -1.5e300, "e": true}),
            json!({"a": [1, [2, {"b": "x"}], {}], "c": {"d": {"e": [[]]}}}),
            json!({"quotes \" and \\": "{[:,]}\\\" \\\\", "é\u{7}": "line\nbreak, …: 漢字\u{1F600}"}),
            json!("only: a, string"),
        ] {
            let mut text = String::new();
            push_indented(&mut text, &value.to_string(), 0);
            assert_eq!(text, serde_json::to_string_pretty(&value).unwrap());
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
    }
}
