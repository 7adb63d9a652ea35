//! Allowed signers: which SSH keys may sign decisions in whose name.
//!
//! The format is that of OpenSSH and git (ALLOWED SIGNERS in `ssh-keygen(1)`). Pure: signatures
//! themselves are made and verified behind [`crate::ports::SignatureTool`]. Certificate authorities
//! are not supported. Times without a `Z` are UTC as well, because every machine has to come to the
//! same result.

use std::collections::BTreeSet;
use std::fmt;

use super::{Decision, Verdict, signed_content};
use crate::decision::Aspect;
use crate::ids::{Digest32, Principal};
use crate::policy::{Policy, SignaturePolicy};
use crate::ports::SignatureTool;
use crate::time::Timestamp;

/// The file, relative to the project.
pub const ALLOWED_SIGNERS_FILE: &str = ".throughline/allowed_signers";

/// Namespace of our signatures: one made for a commit or a file does not count for a decision.
pub const SIGNATURE_NAMESPACE: &str = "throughline";

/// A public key as in an `.pub` file, without its comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignerKey {
    /// The algorithm: `ssh-ed25519`.
    pub algorithm: String,
    /// The key, in base 64.
    pub data: String,
}

impl fmt::Display for SignerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.algorithm, self.data)
    }
}

/// Why a line of the file does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignerLineProblem {
    #[error("it has no key: expected `NAME ssh-ed25519 AAAA…`")]
    NoKey,
    #[error("`cert-authority` is not supported: list each key")]
    CertificateAuthority,
    #[error("`{0}` is not an option of allowed signers")]
    UnknownOption(String),
    #[error("`{0}` is not a time: expected YYYYMMDD or YYYYMMDDHHMM[SS], with or without Z")]
    InvalidTime(String),
}

/// Why a decision does not count where signatures are required.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureProblem {
    #[error("it is not signed")]
    Unsigned,
    #[error("its signature is not valid: {0}")]
    Invalid(String),
    #[error("its key is not listed for {name} in {ALLOWED_SIGNERS_FILE}")]
    NotListed { name: String },
    #[error("its key is listed for {name}, but not for that time")]
    OutsideValidity { name: String },
    #[error("the line for {name} in {ALLOWED_SIGNERS_FILE} does not count: {problem}")]
    Line {
        name: String,
        problem: SignerLineProblem,
    },
}

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SignerLine {
    namespaces: Option<Vec<String>>,
    valid_after: Option<Timestamp>,
    valid_before: Option<Timestamp>,
    key: SignerKey,
}

/// Returns the lines of the file that name a signer.
#[must_use]
pub fn read_signer_lines(text: &str) -> BTreeSet<String> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

/// Whether a decision counts only with a signature, where signatures are required. What makes a
/// plan stricter needs no proof.
#[must_use]
pub fn needs_signature(what: &Verdict) -> bool {
    matches!(
        what,
        Verdict::Approved { .. }
            | Verdict::Withdrawn {
                aspect: Aspect::Verdict
            }
    )
}

/// Whether the command that makes a decision signs it, where signatures are required.
#[must_use]
pub fn is_signed_when_made(what: &Verdict) -> bool {
    needs_signature(what)
        || matches!(
            what,
            Verdict::Rejected { .. }
                | Verdict::ChangesRequested { .. }
                | Verdict::RevalidationRequired { .. }
                | Verdict::Overridden { .. }
        )
}

/// Identifies what signatures are checked against: with another value every check is repeated.
#[must_use]
pub fn signature_basis(policy: &Policy) -> String {
    match policy.signatures {
        SignaturePolicy::Off => "off".to_owned(),
        SignaturePolicy::Required => {
            // The lines are a sorted set, so that reordering the file does not repeat every check.
            let lines: Vec<&str> = policy.signers.iter().map(String::as_str).collect();
            Digest32::of_bytes(lines.join("\n").as_bytes()).to_string()
        }
    }
}

/// Returns why a decision does not count under the policy's rule for signatures; `None` if it
/// counts.
#[must_use]
pub fn check_signature(
    decision: &Decision,
    policy: &Policy,
    tool: &dyn SignatureTool,
) -> Option<SignatureProblem> {
    if policy.signatures == SignaturePolicy::Off || !needs_signature(&decision.what) {
        return None;
    }
    let Some(signature) = &decision.signature else {
        return Some(SignatureProblem::Unsigned);
    };
    match tool.verify_signature(signature, signed_content(decision).as_bytes()) {
        // The decision's own time, which is signed: a key that was retired later still proves what
        // it signed, on every machine alike.
        Ok(key) => check_signer(&policy.signers, &decision.by, &key, decision.at).err(),
        Err(why) => Some(SignatureProblem::Invalid(why)),
    }
}

/// Checks that a key may sign in the name of a principal at a time.
///
/// # Errors
/// [`SignatureProblem`].
pub fn check_signer(
    lines: &BTreeSet<String>,
    by: &Principal,
    key: &SignerKey,
    at: Timestamp,
) -> Result<(), SignatureProblem> {
    let name = by.to_string();
    // Another line may still admit the key, so a problem is only remembered; the last one is
    // reported.
    let mut problem = SignatureProblem::NotListed { name: name.clone() };
    for line in lines {
        let words = split_words(line);
        let patterns: Vec<String> = words
            .first()
            .map(|first| first.split(',').map(str::to_owned).collect())
            .unwrap_or_default();
        if !matches_principal(&patterns, by) {
            continue;
        }
        let name = name.clone();
        match parse_signer_line(words.get(1..).unwrap_or_default()) {
            Err(found) => {
                problem = SignatureProblem::Line {
                    name,
                    problem: found,
                };
            }
            Ok(line) if line.key != *key || !line.has_namespace() => {}
            Ok(line) if !line.is_valid_at(at) => {
                problem = SignatureProblem::OutsideValidity { name };
            }
            Ok(_) => return Ok(()),
        }
    }
    Err(problem)
}

impl SignerLine {
    fn has_namespace(&self) -> bool {
        self.namespaces.as_ref().is_none_or(|patterns| {
            let matches = |pattern: &String| matches_pattern(pattern, SIGNATURE_NAMESPACE);
            patterns.iter().any(matches)
        })
    }

    fn is_valid_at(&self, at: Timestamp) -> bool {
        self.valid_after.is_none_or(|after| at >= after)
            && self.valid_before.is_none_or(|before| at < before)
    }
}

/// Whether a list of patterns names a principal: as `human:ann`, or a person as `ann`.
fn matches_principal(patterns: &[String], by: &Principal) -> bool {
    let full = by.to_string();
    let bare = match by {
        Principal::Human(name) => name.as_str(),
        Principal::Agent { .. } | Principal::System => full.as_str(),
    };
    let matches = |pattern: &str| matches_pattern(pattern, &full) || matches_pattern(pattern, bare);
    // As in OpenSSH, a negated pattern wins wherever it stands in the list.
    let is_refused = patterns
        .iter()
        .filter_map(|pattern| pattern.strip_prefix('!'))
        .any(matches);
    let is_named = patterns
        .iter()
        .filter(|pattern| !pattern.starts_with('!'))
        .any(|pattern| matches(pattern));
    is_named && !is_refused
}

/// Matches OpenSSH's patterns: `*` is any text, `?` any character.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut in_text) = (0, 0);
    // Where to continue if the last `*` has to take one character more.
    let mut retry: Option<(usize, usize)> = None;
    // Backtracks to the last `*` only, so that no pattern takes exponential time.
    while in_text < text.len() {
        match pattern.get(at) {
            Some('*') => {
                retry = Some((at + 1, in_text));
                at += 1;
            }
            Some(found) if *found == '?' || *found == text[in_text] => {
                at += 1;
                in_text += 1;
            }
            _ => match &mut retry {
                Some((after_star, taken)) => {
                    *taken += 1;
                    (at, in_text) = (*after_star, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|left| *left == '*')
}

/// Parses a line after its principals.
fn parse_signer_line(words: &[String]) -> Result<SignerLine, SignerLineProblem> {
    let is_algorithm = |word: &String| {
        ["ssh-", "ecdsa-", "sk-"]
            .iter()
            .any(|start| word.starts_with(start))
    };
    let (options, key) = match words {
        [first, ..] if is_algorithm(first) => (None, words),
        [first, rest @ ..] => (Some(first), rest),
        [] => return Err(SignerLineProblem::NoKey),
    };
    let [algorithm, data, ..] = key else {
        return Err(SignerLineProblem::NoKey);
    };
    if !is_algorithm(algorithm) {
        return Err(SignerLineProblem::NoKey);
    }
    let mut line = SignerLine {
        namespaces: None,
        valid_after: None,
        valid_before: None,
        key: SignerKey {
            algorithm: algorithm.clone(),
            data: data.clone(),
        },
    };
    for option in options
        .map(|text| split_options(text.as_str()))
        .unwrap_or_default()
    {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, value.trim_matches('"')),
            None => (option.as_str(), ""),
        };
        match name.to_ascii_lowercase().as_str() {
            "namespaces" => {
                line.namespaces = Some(value.split(',').map(str::to_owned).collect());
            }
            "valid-after" => line.valid_after = Some(parse_signer_time(value)?),
            "valid-before" => line.valid_before = Some(parse_signer_time(value)?),
            "cert-authority" => return Err(SignerLineProblem::CertificateAuthority),
            // An option that is not understood may restrict the key; ignoring it would admit more
            // than was meant.
            _ => return Err(SignerLineProblem::UnknownOption(name.to_owned())),
        }
    }
    Ok(line)
}

/// Splits at white space outside of quotes; quotes around a whole word are removed.
fn split_words(line: &str) -> Vec<String> {
    split_outside_quotes(line, char::is_whitespace)
        .into_iter()
        .filter(|word| !word.is_empty())
        .map(|word| {
            let inner = word
                .strip_prefix('"')
                .and_then(|word| word.strip_suffix('"'));
            inner.map(str::to_owned).unwrap_or(word)
        })
        .collect()
}

fn split_options(text: &str) -> Vec<String> {
    split_outside_quotes(text, |character| character == ',')
}

fn split_outside_quotes(text: &str, is_separator: impl Fn(char) -> bool) -> Vec<String> {
    let (mut parts, mut is_quoted) = (vec![String::new()], false);
    for character in text.chars() {
        is_quoted ^= character == '"';
        match parts.last_mut() {
            Some(part) if is_quoted || !is_separator(character) => part.push(character),
            _ => parts.push(String::new()),
        }
    }
    parts
}

/// Parses `YYYYMMDD`, `YYYYMMDDHHMM` or `YYYYMMDDHHMMSS`.
fn parse_signer_time(text: &str) -> Result<Timestamp, SignerLineProblem> {
    let refuse = || SignerLineProblem::InvalidTime(text.to_owned());
    let digits = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) || !matches!(digits.len(), 8 | 12 | 14) {
        return Err(refuse());
    }
    let number = |range: std::ops::Range<usize>| -> Option<i16> {
        // Hours, minutes and seconds that are not given are 0.
        digits.get(range).map_or(Some(0), |part| part.parse().ok())
    };
    let part = |range| {
        number(range)
            .and_then(|number| i8::try_from(number).ok())
            .ok_or_else(refuse)
    };
    let time = jiff::civil::DateTime::new(
        number(0..4).ok_or_else(refuse)?,
        part(4..6)?,
        part(6..8)?,
        part(8..10)?,
        part(10..12)?,
        part(12..14)?,
        0,
    )
    .and_then(|time| time.to_zoned(jiff::tz::TimeZone::UTC))
    .map_err(|_| refuse())?;
    Ok(Timestamp::from_millis(time.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(data: &str) -> SignerKey {
        SignerKey {
            algorithm: "ssh-ed25519".to_owned(),
            data: data.to_owned(),
        }
    }

    fn check(lines: &str, by: &str, data: &str) -> Result<(), String> {
        // 2026-11-16T00:00:00Z.
        let at = Timestamp::from_millis(1_794_787_200_000);
        check_signer(
            &read_signer_lines(lines),
            &Principal::from(by),
            &key(data),
            at,
        )
        .map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_key_counts_for_the_names_of_its_line_only() {
        let lines = "# people\n\nann,human:mara ssh-ed25519 AAA1 ann@desk\nbob ssh-ed25519 AAA2\n";
        assert_eq!(check(lines, "human:ann", "AAA1"), Ok(()));
        assert_eq!(check(lines, "human:mara", "AAA1"), Ok(()));
        assert_eq!(check(lines, "human:bob", "AAA2"), Ok(()));
        assert!(check(lines, "human:bob", "AAA1").is_err());
        assert!(check(lines, "agent:claude-code/ann", "AAA1").is_err());
        assert!(check("", "human:ann", "AAA1").is_err());
    }

    #[test]
    fn patterns_are_those_of_openssh() {
        assert_eq!(check("a?n ssh-ed25519 K", "human:ann", "K"), Ok(()));
        assert_eq!(check("human:* ssh-ed25519 K", "human:ann", "K"), Ok(()));
        assert_eq!(check("*,!bob ssh-ed25519 K", "human:ann", "K"), Ok(()));
        assert!(check("*,!bob ssh-ed25519 K", "human:bob", "K").is_err());
        assert!(check("human:* ssh-ed25519 K", "agent:codex/1", "K").is_err());
        assert_eq!(check("\"ann,b b\" ssh-ed25519 K", "human:b b", "K"), Ok(()));
        assert!(matches_pattern("a*b*c", "axxbyyc") && !matches_pattern("a*b*c", "axxbyyd"));
    }

    #[test]
    fn options_narrow_a_line() {
        let ann = |options: &str| check(&format!("ann {options} ssh-ed25519 K"), "human:ann", "K");
        assert_eq!(ann("namespaces=\"git,throughline\""), Ok(()));
        assert!(ann("namespaces=\"git,file\"").is_err());
        assert_eq!(
            ann("valid-after=\"20260101\",valid-before=\"20270101Z\""),
            Ok(())
        );
        assert_eq!(ann("valid-after=202611160000"), Ok(()));
        assert!(ann("valid-after=20261116000001").is_err());
        assert!(ann("valid-before=20261116").is_err());
    }

    #[test]
    fn a_line_that_cannot_count_says_why() {
        let problem = |line: &str| check(line, "human:ann", "K").unwrap_err();
        assert!(problem("ann cert-authority ssh-ed25519 K").contains("cert-authority"));
        assert!(problem("ann no-such ssh-ed25519 K").contains("`no-such`"));
        assert!(problem("ann valid-after=soon ssh-ed25519 K").contains("`soon`"));
        assert!(problem("ann").contains("no key"));
        // Another line for the same name still counts.
        let lines = "ann cert-authority ssh-ed25519 K\nann ssh-ed25519 K";
        assert_eq!(check(lines, "human:ann", "K"), Ok(()));
    }
}
