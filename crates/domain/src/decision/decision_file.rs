//! The file of a decision: deterministic JSON with its own id and a checksum.
//!
//! The id is computed from the JSON and not from our types, so a decision with fields of a newer
//! version is still verified.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256, Sha512};

use super::{Decision, DecisionId, ID_DIGITS};

/// Maximum size of a decision file: a comment of 10,000 characters with room to spare.
pub const MAX_DECISION_FILE_BYTES: u64 = 256 * 1024;

const HEX_DIGITS: [char; 16] = [
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
];

/// Format of the files, for readers of later versions.
const FORMAT: u64 = 1;

/// Why a file is not a decision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecisionFileProblem {
    #[error("it is not JSON: {0}")]
    NotJson(String),
    #[error("it has conflict markers")]
    ConflictMarkers,
    #[error("its content does not match its name: it was changed after it was written")]
    WrongId,
    #[error("its checksum does not match its content")]
    WrongChecksum,
    #[error("a newer version wrote it (format {0})")]
    Newer(u64),
    #[error("it is not a decision this version knows: {0}")]
    Unknown(String),
}

/// Renders a decision as its file, and returns its id.
#[must_use]
pub fn render_decision_file(decision: &Decision) -> (DecisionId, String) {
    let mut body = content_of(decision);
    let content = canonical_json(&Value::Object(body.clone()));
    let id = id_of_content(&content);
    body.insert("id".to_owned(), Value::from(id.to_string()));
    let checksum = checksum_lines(&content).into_iter().map(Value::from);
    body.insert("checksum".to_owned(), Value::Array(checksum.collect()));
    let mut text =
        serde_json::to_string_pretty(&sort_keys(&Value::Object(body))).unwrap_or_default();
    text.push('\n');
    (id, text)
}

/// Returns the bytes a signature is over: the content without id, checksum and signature.
#[must_use]
pub fn signed_content(decision: &Decision) -> String {
    let unsigned = Decision {
        signature: None,
        ..decision.clone()
    };
    canonical_json(&Value::Object(content_of(&unsigned)))
}

/// Parses a decision file and verifies it against its name.
///
/// # Errors
/// [`DecisionFileProblem`].
pub fn parse_decision_file(id: &DecisionId, text: &str) -> Result<Decision, DecisionFileProblem> {
    if text.lines().any(|line| line.starts_with("<<<<<<< ")) {
        return Err(DecisionFileProblem::ConflictMarkers);
    }
    let value: Value = serde_json::from_str(text)
        .map_err(|error| DecisionFileProblem::NotJson(error.to_string()))?;
    let Value::Object(mut body) = value else {
        return Err(DecisionFileProblem::NotJson(
            "it is not an object".to_owned(),
        ));
    };
    let checksum = body.remove("checksum");
    body.remove("id");
    let content = canonical_json(&Value::Object(body.clone()));
    if id_of_content(&content) != *id {
        return Err(DecisionFileProblem::WrongId);
    }
    let is_checksum = |lines: Vec<String>| {
        let lines = lines.into_iter().map(Value::from).collect();
        checksum.as_ref() == Some(&Value::Array(lines))
    };
    if !is_checksum(checksum_lines(&content))
        && !earlier_checksum_lines(&content).is_some_and(is_checksum)
    {
        return Err(DecisionFileProblem::WrongChecksum);
    }
    match body.remove("format").and_then(|format| format.as_u64()) {
        Some(FORMAT) => {}
        Some(newer) => return Err(DecisionFileProblem::Newer(newer)),
        None => return Err(DecisionFileProblem::Unknown("it has no format".to_owned())),
    }
    serde_json::from_value(Value::Object(body))
        .map_err(|error| DecisionFileProblem::Unknown(error.to_string()))
}

/// Returns what the id is computed from.
fn content_of(decision: &Decision) -> Map<String, Value> {
    // Plain data with string keys; serialising it cannot fail.
    let mut body = match serde_json::to_value(decision).unwrap_or_default() {
        Value::Object(body) => body,
        _ => Map::new(),
    };
    body.insert("format".to_owned(), Value::from(FORMAT));
    body
}

fn id_of_content(content: &str) -> DecisionId {
    let mut digits = hex_digits(&Sha256::digest(content.as_bytes()));
    digits.truncate(ID_DIGITS);
    DecisionId(digits)
}

/// Contents up to this size are hashed once for every line of their checksum.
const MAX_REHASHED_BYTES: usize = 4_096;

/// Returns as many checksum lines as the content needs to be mostly checksum.
///
/// Git takes two files for one renamed file when half of their lines are alike. Two approvals of one
/// plan share nearly all of their content, and a wrong rename ends in a conflict; checksums of
/// different contents have no line in common.
fn checksum_lines(content: &str) -> Vec<String> {
    // The number of lines grows with the content: hashing all of it for each line of a file that
    // carries 300 decisions was more than half of the time of inserting a chapter.
    if content.len() > MAX_REHASHED_BYTES {
        return hash_lines(content.len(), &Sha512::digest(content));
    }
    hash_lines(content.len(), content.as_bytes())
}

/// Returns the checksum lines of a long content as they were written before it was hashed only once.
fn earlier_checksum_lines(content: &str) -> Option<Vec<String>> {
    let is_long = content.len() > MAX_REHASHED_BYTES;
    is_long.then(|| hash_lines(content.len(), content.as_bytes()))
}

/// Returns the lines for a content of `length` bytes, each the hash of its number and of `hashed`.
fn hash_lines(length: usize, hashed: &[u8]) -> Vec<String> {
    /// A line of the file: 128 digits, quotes, comma, indentation.
    const LINE_BYTES: usize = 136;
    // The pretty form is longer than the canonical one by indentation and line breaks.
    let lines = (length * 2).div_ceil(LINE_BYTES).max(3);
    (0..lines)
        .map(|line| {
            let line = format!("{line}\n");
            hex_digits(
                &Sha512::new()
                    .chain_update(line)
                    .chain_update(hashed)
                    .finalize(),
            )
        })
        .collect()
}

fn hex_digits(bytes: &[u8]) -> String {
    // Not through `format!`, which took most of the time of reading 2,000 decisions.
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.extend([byte >> 4, byte & 15].map(|digit| HEX_DIGITS[usize::from(digit)]));
    }
    text
}

/// Returns the JSON text that the id is computed from: keys sorted, no white space.
fn canonical_json(value: &Value) -> String {
    sort_keys(value).to_string()
}

/// Returns the value with the keys of every object in order.
fn sort_keys(value: &Value) -> Value {
    // Explicit: whether `serde_json` sorts by itself depends on a feature that any dependency can
    // switch on.
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let sorted = entries
                .into_iter()
                .map(|(key, value)| (key.clone(), sort_keys(value)));
            Value::Object(sorted.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sort_keys).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::Verdict;
    use crate::ids::{CanonicalHash, Digest32, Principal, VersionHash};
    use crate::time::Timestamp;

    fn approval(text: &str, at: i64) -> Decision {
        Decision {
            node: "story:act-1/глава-03".to_owned(),
            what: Verdict::Approved {
                text: CanonicalHash(Digest32::of_bytes(text.as_bytes())),
                version: VersionHash::of_bytes(text.as_bytes()),
                parent: None,
                warnings: vec!["names Боб, whom act-1 does not name".to_owned()],
                relied_sections: None,
            },
            by: Principal::Human("ann".to_owned()),
            at: Timestamp::from_millis(at),
            supersedes: Vec::new(),
            signature: None,
            plan_file: None,
        }
    }

    #[test]
    fn a_file_is_read_back_and_bound_to_its_name() {
        let decision = approval("text", 1);
        let (id, text) = render_decision_file(&decision);
        assert_eq!(parse_decision_file(&id, &text), Ok(decision.clone()));
        assert_eq!(render_decision_file(&decision), (id.clone(), text.clone()));
        let (other, _) = render_decision_file(&approval("text", 2));
        assert_eq!(
            parse_decision_file(&other, &text),
            Err(DecisionFileProblem::WrongId)
        );
        let forged = text.replace("human:ann", "human:bob");
        assert_eq!(
            parse_decision_file(&id, &forged),
            Err(DecisionFileProblem::WrongId)
        );
        let marked = format!("<<<<<<< HEAD\n{text}=======\n>>>>>>> b\n");
        assert_eq!(
            parse_decision_file(&id, &marked),
            Err(DecisionFileProblem::ConflictMarkers)
        );
    }

    /// A comment whose content is too long to be hashed for every line.
    fn long_comment() -> Decision {
        let text = (0..2_000).map(|number| format!("{number} "));
        Decision {
            what: Verdict::Commented {
                text: text.collect(),
                place: crate::comment::CommentPlace::default(),
            },
            ..approval("text", 1)
        }
    }

    #[test]
    fn a_long_file_is_read_with_either_checksum_and_with_no_other() {
        let decision = long_comment();
        let (id, text) = render_decision_file(&decision);
        assert_eq!(parse_decision_file(&id, &text), Ok(decision.clone()));
        let content = canonical_json(&Value::Object(content_of(&decision)));
        let with_lines = |lines: Vec<String>| {
            let mut value: Value = serde_json::from_str(&text).expect("it is JSON");
            let body = value.as_object_mut().expect("an object");
            body.insert("checksum".to_owned(), Value::from(lines));
            value.to_string()
        };
        let earlier = earlier_checksum_lines(&content).expect("it is long");
        assert_ne!(earlier, checksum_lines(&content));
        let file = with_lines(earlier.clone());
        assert_eq!(parse_decision_file(&id, &file), Ok(decision));
        let damaged = with_lines(earlier.into_iter().skip(1).collect());
        assert_eq!(
            parse_decision_file(&id, &damaged),
            Err(DecisionFileProblem::WrongChecksum)
        );
    }

    #[test]
    fn two_long_comments_have_less_than_half_in_common() {
        let second = Decision {
            at: Timestamp::from_millis(2),
            ..long_comment()
        };
        let (_, first) = render_decision_file(&long_comment());
        let (_, second) = render_decision_file(&second);
        let lines: std::collections::HashSet<&str> = second.lines().collect();
        let common = first.lines().filter(|line| lines.contains(line));
        let common: usize = common.map(|line| line.len() + 1).sum();
        assert!(common * 2 < first.len(), "{common} of {}", first.len());
    }

    #[test]
    fn a_field_of_a_newer_version_does_not_break_the_id() {
        let (_, text) = render_decision_file(&approval("text", 1));
        let mut value: Value = serde_json::from_str(&text).expect("it is JSON");
        let body = value.as_object_mut().expect("an object");
        body.remove("id");
        body.remove("checksum");
        body.insert("mood".to_owned(), Value::from("glad"));
        let content = canonical_json(&value);
        let id = id_of_content(&content);
        let body = value.as_object_mut().expect("an object");
        let lines = checksum_lines(&content).into_iter().map(Value::from);
        body.insert("checksum".to_owned(), Value::Array(lines.collect()));
        assert!(parse_decision_file(&id, &value.to_string()).is_ok());
    }

    #[test]
    fn a_signature_changes_the_id_and_not_the_signed_content() {
        let unsigned = approval("text", 1);
        let signed = Decision {
            signature: Some("-----BEGIN SSH SIGNATURE-----\nU1NI".to_owned()),
            ..unsigned.clone()
        };
        let (id, text) = render_decision_file(&signed);
        assert_eq!(parse_decision_file(&id, &text), Ok(signed.clone()));
        assert_ne!(render_decision_file(&unsigned).0, id);
        assert_eq!(signed_content(&signed), signed_content(&unsigned));
        assert_ne!(
            signed_content(&signed),
            signed_content(&approval("text", 2))
        );
    }

    #[test]
    fn two_approvals_of_one_text_have_less_than_half_in_common() {
        let (_, first) = render_decision_file(&approval("text", 1));
        let (_, second) = render_decision_file(&approval("text", 2));
        let common: usize = first
            .lines()
            .filter(|line| second.lines().any(|other| other == *line))
            .map(|line| line.len() + 1)
            .sum();
        assert!(common * 2 < first.len(), "{common} of {}", first.len());
    }
}
