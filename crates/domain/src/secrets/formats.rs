//! Key formats with a distinctive prefix: providers' keys, JSON web tokens, tokens of our own
//! server.

use super::SecretKind;
use crate::token::SECRET_PREFIX;

/// Characters allowed after a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    /// Letters, digits, `-` and `_`.
    Any,
    /// Letters and digits.
    Alphanumeric,
    UppercaseAlphanumeric,
    Hex,
    /// As `Any`, but one part has to look random: the prefix also occurs in ordinary words.
    Random,
}

struct Format {
    prefix: &'static str,
    kind: SecretKind,
    body: Body,
    min_length: usize,
    max_length: usize,
}

const fn format(prefix: &'static str, kind: SecretKind, body: Body, min_length: usize) -> Format {
    Format {
        prefix,
        kind,
        body,
        min_length,
        max_length: usize::MAX,
    }
}

const fn exact(prefix: &'static str, kind: SecretKind, body: Body, length: usize) -> Format {
    Format {
        prefix,
        kind,
        body,
        min_length: length,
        max_length: length,
    }
}

/// Known formats. Of two prefixes that start alike, the longer comes first.
const FORMATS: &[Format] = &[
    // Minimum lengths are below what providers issue today: formats change, and a key that was cut
    // off is still worth masking.
    format("sk-ant-", SecretKind::AnthropicKey, Body::Any, 16),
    format("sk-proj-", SecretKind::OpenaiKey, Body::Any, 16),
    format("sk-svcacct-", SecretKind::OpenaiKey, Body::Any, 16),
    format("sk-admin-", SecretKind::OpenaiKey, Body::Random, 20),
    format("sk-or-v1-", SecretKind::ApiKey, Body::Any, 16),
    format("sk-", SecretKind::OpenaiKey, Body::Random, 16),
    format("sk_live_", SecretKind::StripeKey, Body::Alphanumeric, 10),
    format("sk_test_", SecretKind::StripeKey, Body::Alphanumeric, 10),
    format("rk_live_", SecretKind::StripeKey, Body::Alphanumeric, 10),
    format("rk_test_", SecretKind::StripeKey, Body::Alphanumeric, 10),
    format("whsec_", SecretKind::StripeKey, Body::Alphanumeric, 24),
    format("AIza", SecretKind::GoogleKey, Body::Any, 30),
    // Of exact length: four capitals also begin ordinary identifiers.
    exact("AKIA", SecretKind::AwsKey, Body::UppercaseAlphanumeric, 16),
    exact("ASIA", SecretKind::AwsKey, Body::UppercaseAlphanumeric, 16),
    format("ghp_", SecretKind::GithubToken, Body::Alphanumeric, 20),
    format("gho_", SecretKind::GithubToken, Body::Alphanumeric, 20),
    format("ghu_", SecretKind::GithubToken, Body::Alphanumeric, 20),
    format("ghs_", SecretKind::GithubToken, Body::Alphanumeric, 20),
    format("ghr_", SecretKind::GithubToken, Body::Alphanumeric, 20),
    format("github_pat_", SecretKind::GithubToken, Body::Any, 20),
    format("glpat-", SecretKind::GitlabToken, Body::Any, 20),
    format("gldt-", SecretKind::GitlabToken, Body::Any, 20),
    format("glrt-", SecretKind::GitlabToken, Body::Any, 20),
    format("gsk_", SecretKind::ApiKey, Body::Alphanumeric, 30),
    format("xai-", SecretKind::ApiKey, Body::Alphanumeric, 30),
    format("xoxa-", SecretKind::SlackToken, Body::Any, 10),
    format("xoxb-", SecretKind::SlackToken, Body::Any, 10),
    format("xoxe-", SecretKind::SlackToken, Body::Any, 10),
    format("xoxp-", SecretKind::SlackToken, Body::Any, 10),
    format("xoxr-", SecretKind::SlackToken, Body::Any, 10),
    format("xoxs-", SecretKind::SlackToken, Body::Any, 10),
    format("xapp-", SecretKind::SlackToken, Body::Random, 20),
    format("npm_", SecretKind::NpmToken, Body::Alphanumeric, 30),
    format("pypi-", SecretKind::PypiToken, Body::Random, 40),
    format("hf_", SecretKind::HuggingFaceToken, Body::Alphanumeric, 30),
    format("dop_v1_", SecretKind::DigitaloceanToken, Body::Hex, 40),
    format("doo_v1_", SecretKind::DigitaloceanToken, Body::Hex, 40),
    format("dor_v1_", SecretKind::DigitaloceanToken, Body::Hex, 40),
    // Two letters are no prefix to rely on; only 32 hexadecimal digits make it a key.
    exact("SK", SecretKind::TwilioKey, Body::Hex, 32),
    format(
        "AGE-SECRET-KEY-1",
        SecretKind::PrivateKey,
        Body::UppercaseAlphanumeric,
        40,
    ),
    format(
        SECRET_PREFIX,
        SecretKind::ThroughlineToken,
        Body::Alphanumeric,
        30,
    ),
];

/// Minimum length of a run of word characters that can be a key: prefix and body.
pub(super) const MIN_RUN_BYTES: usize = 14;

/// Whether a byte is a word character: letter, digit, `-` or `_`.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

/// Returns every prefix.
#[cfg(test)]
pub(super) fn prefixes() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.prefix)
}

/// Whether any prefix begins with these two bytes: a filter that rejects nearly every offset in a
/// long word.
pub(super) fn begins_format(first: u8, second: u8) -> bool {
    // Written out instead of derived from `KEY_FORMATS`; a test fails when a prefix is missing
    // here.
    match first {
        b'A' => matches!(second, b'G' | b'I' | b'K' | b'S'),
        b'S' | b'r' | b's' => matches!(second | 0x20, b'k'),
        b'd' => second == b'o',
        b'e' => second == b'y',
        b'g' => matches!(second, b'h' | b'i' | b'l' | b's'),
        b'h' => second == b'f',
        b'n' => second == b'p',
        b'p' => second == b'y',
        b't' => second == b'l',
        b'w' => second == b'h',
        b'x' => matches!(second, b'a' | b'o'),
        _ => false,
    }
}

/// Returns kind and length of the key at the beginning of `run`, the rest of a run of word
/// characters.
///
/// `is_start` tells whether the run begins here. Most prefixes may follow other characters
/// (`\nsk-…` in a log is an escape and a key), except those short enough to occur inside names.
pub(super) fn key_at(run: &[u8], is_start: bool) -> Option<(SecretKind, usize)> {
    FORMATS
        .iter()
        .filter(|format| run.starts_with(format.prefix.as_bytes()))
        .find_map(|format| {
            let is_short = format.prefix.len() < 4 || format.body == Body::Random;
            if is_short && !is_start {
                return None;
            }
            let after = &run[format.prefix.len()..];
            let body = &after[..after
                .iter()
                .take_while(|byte| format.body.holds(**byte))
                .count()];
            let fits = (format.min_length..=format.max_length).contains(&body.len())
                // A format of exact length must end with its run, or the head of any longer
                // identifier
                // would match.
                && (format.max_length == usize::MAX || body.len() == after.len())
                && (format.body != Body::Random || looks_random(body))
                && !is_placeholder(body);
            fits.then_some((format.kind, format.prefix.len() + body.len()))
        })
}

impl Body {
    fn holds(self, byte: u8) -> bool {
        match self {
            Self::Any | Self::Random => is_word(byte),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::UppercaseAlphanumeric => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_hexdigit(),
        }
    }
}

/// Returns the length of the JSON web token at the beginning of `text`: three parts, the first two
/// of them base64 of JSON.
pub(super) fn json_web_token_at(text: &[u8]) -> Option<usize> {
    let mut length = 0;
    for part in 0..3 {
        if part > 0 {
            (text.get(length) == Some(&b'.')).then_some(())?;
            length += 1;
        }
        let run = word_run(&text[length..]);
        // `eyJ` is base64 of `{"`, the start of any JSON object with a field.
        let fits = if part < 2 {
            run >= 12 && text[length..].starts_with(b"eyJ")
        } else {
            run >= 10
        };
        fits.then_some(())?;
        length += run;
    }
    Some(length)
}

/// Returns the length of the SendGrid key at the beginning of `text`: `SG.…….……`.
pub(super) fn sendgrid_key_at(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(b"SG.")?;
    let first = word_run(rest);
    let second = rest
        .get(first + 1..)
        .map(word_run)
        .filter(|_| rest.get(first) == Some(&b'.'))?;
    (first >= 16 && second >= 16).then_some(3 + first + 1 + second)
}

/// Returns the number of leading word characters.
pub(super) fn word_run(text: &[u8]) -> usize {
    text.iter().take_while(|byte| is_word(**byte)).count()
}

/// Whether a value has the mix that words, names and version numbers lack: upper case, lower case
/// and digits, or a long part of letters and digits.
pub(super) fn looks_random(value: &[u8]) -> bool {
    let has = |test: fn(&u8) -> bool, part: &[u8]| part.iter().any(test);
    let mixes = |part: &[u8]| has(u8::is_ascii_alphabetic, part) && has(u8::is_ascii_digit, part);
    let all_cases = value.len() >= 8
        && mixes(value)
        && has(u8::is_ascii_uppercase, value)
        && has(u8::is_ascii_lowercase, value);
    let mut parts = value.split(|byte| matches!(byte, b'-' | b'_' | b'.' | b'/' | b':'));
    // `Chapter-02-Draft-Final` has every case too, so one part has to mix letters and digits by
    // itself.
    let in_one_part = value
        .split(|byte| matches!(byte, b'-' | b'_' | b'.'))
        .any(|part| part.len() >= 6 && mixes(part));
    (all_cases && in_one_part) || parts.any(|part| part.len() >= 16 && mixes(part))
}

/// Whether a value is a placeholder as documentation uses it: `xxxx…`, `your-key-here`.
pub(super) fn is_placeholder(body: &[u8]) -> bool {
    // Only the end: examples often start like a real key and are filled up with one character.
    let tail = &body[body.len().saturating_sub(12)..];
    let mut kinds: Vec<u8> = tail.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.len() <= 2
        || [&b"your"[..], b"placeholder", b"redacted"]
            .iter()
            .any(|word| contains_ignoring_case(body, word))
}

/// Whether `text` contains `word`, which is lower case, in any case.
pub(super) fn contains_ignoring_case(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len())
        .any(|window| window.eq_ignore_ascii_case(word))
}
