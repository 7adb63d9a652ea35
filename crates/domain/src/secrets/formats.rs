//! Key formats with a distinctive prefix: providers' keys, JSON web tokens, tokens of our own
//! server.

use super::SecretKind;
use crate::token::SECRET_PREFIX;

/// Characters allowed after a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyBody {
    /// Letters, digits, `-` and `_`.
    Any,
    /// Letters and digits.
    Alphanumeric,
    UppercaseAlphanumeric,
    Hex,
    /// As `Any`, but one part has to look random: the prefix also occurs in ordinary words.
    Random,
}

struct KeyFormat {
    prefix: &'static str,
    kind: SecretKind,
    body: KeyBody,
    min_length: usize,
    max_length: usize,
}

const fn open_format(
    prefix: &'static str,
    kind: SecretKind,
    body: KeyBody,
    min_length: usize,
) -> KeyFormat {
    KeyFormat {
        prefix,
        kind,
        body,
        min_length,
        max_length: usize::MAX,
    }
}

const fn exact_format(
    prefix: &'static str,
    kind: SecretKind,
    body: KeyBody,
    length: usize,
) -> KeyFormat {
    KeyFormat {
        prefix,
        kind,
        body,
        min_length: length,
        max_length: length,
    }
}

/// Known formats. Of two prefixes that start alike, the longer comes first.
const KEY_FORMATS: &[KeyFormat] = &[
    // Minimum lengths are below what providers issue today: formats change, and a key that was cut
    // off is still worth masking.
    open_format("sk-ant-", SecretKind::AnthropicKey, KeyBody::Any, 16),
    open_format("sk-proj-", SecretKind::OpenaiKey, KeyBody::Any, 16),
    open_format("sk-svcacct-", SecretKind::OpenaiKey, KeyBody::Any, 16),
    open_format("sk-admin-", SecretKind::OpenaiKey, KeyBody::Random, 20),
    open_format("sk-or-v1-", SecretKind::ApiKey, KeyBody::Any, 16),
    open_format("sk-", SecretKind::OpenaiKey, KeyBody::Random, 16),
    open_format("sk_live_", SecretKind::StripeKey, KeyBody::Alphanumeric, 10),
    open_format("sk_test_", SecretKind::StripeKey, KeyBody::Alphanumeric, 10),
    open_format("rk_live_", SecretKind::StripeKey, KeyBody::Alphanumeric, 10),
    open_format("rk_test_", SecretKind::StripeKey, KeyBody::Alphanumeric, 10),
    open_format("whsec_", SecretKind::StripeKey, KeyBody::Alphanumeric, 24),
    open_format("AIza", SecretKind::GoogleKey, KeyBody::Any, 30),
    // Of exact length: four capitals also begin ordinary identifiers.
    exact_format(
        "AKIA",
        SecretKind::AwsKey,
        KeyBody::UppercaseAlphanumeric,
        16,
    ),
    exact_format(
        "ASIA",
        SecretKind::AwsKey,
        KeyBody::UppercaseAlphanumeric,
        16,
    ),
    open_format("ghp_", SecretKind::GithubToken, KeyBody::Alphanumeric, 20),
    open_format("gho_", SecretKind::GithubToken, KeyBody::Alphanumeric, 20),
    open_format("ghu_", SecretKind::GithubToken, KeyBody::Alphanumeric, 20),
    open_format("ghs_", SecretKind::GithubToken, KeyBody::Alphanumeric, 20),
    open_format("ghr_", SecretKind::GithubToken, KeyBody::Alphanumeric, 20),
    open_format("github_pat_", SecretKind::GithubToken, KeyBody::Any, 20),
    open_format("glpat-", SecretKind::GitlabToken, KeyBody::Any, 20),
    open_format("gldt-", SecretKind::GitlabToken, KeyBody::Any, 20),
    open_format("glrt-", SecretKind::GitlabToken, KeyBody::Any, 20),
    open_format("gsk_", SecretKind::ApiKey, KeyBody::Alphanumeric, 30),
    open_format("xai-", SecretKind::ApiKey, KeyBody::Alphanumeric, 30),
    open_format("xoxa-", SecretKind::SlackToken, KeyBody::Any, 10),
    open_format("xoxb-", SecretKind::SlackToken, KeyBody::Any, 10),
    open_format("xoxe-", SecretKind::SlackToken, KeyBody::Any, 10),
    open_format("xoxp-", SecretKind::SlackToken, KeyBody::Any, 10),
    open_format("xoxr-", SecretKind::SlackToken, KeyBody::Any, 10),
    open_format("xoxs-", SecretKind::SlackToken, KeyBody::Any, 10),
    open_format("xapp-", SecretKind::SlackToken, KeyBody::Random, 20),
    open_format("npm_", SecretKind::NpmToken, KeyBody::Alphanumeric, 30),
    open_format("pypi-", SecretKind::PypiToken, KeyBody::Random, 40),
    open_format(
        "hf_",
        SecretKind::HuggingFaceToken,
        KeyBody::Alphanumeric,
        30,
    ),
    open_format("dop_v1_", SecretKind::DigitaloceanToken, KeyBody::Hex, 40),
    open_format("doo_v1_", SecretKind::DigitaloceanToken, KeyBody::Hex, 40),
    open_format("dor_v1_", SecretKind::DigitaloceanToken, KeyBody::Hex, 40),
    // Two letters are no prefix to rely on; only 32 hexadecimal digits make it a key.
    exact_format("SK", SecretKind::TwilioKey, KeyBody::Hex, 32),
    open_format(
        "AGE-SECRET-KEY-1",
        SecretKind::PrivateKey,
        KeyBody::UppercaseAlphanumeric,
        40,
    ),
    open_format(
        SECRET_PREFIX,
        SecretKind::ThroughlineToken,
        KeyBody::Alphanumeric,
        30,
    ),
];

/// Minimum length of a run of word characters that can be a key: prefix and body.
pub(super) const MIN_RUN_BYTES: usize = 14;

/// Whether a byte is a word character: letter, digit, `-` or `_`.
pub(super) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

/// Returns every prefix.
#[cfg(test)]
pub(super) fn format_prefixes() -> impl Iterator<Item = &'static str> {
    KEY_FORMATS.iter().map(|format| format.prefix)
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
    KEY_FORMATS
        .iter()
        .filter(|format| run.starts_with(format.prefix.as_bytes()))
        .find_map(|format| {
            let is_short = format.prefix.len() < 4 || format.body == KeyBody::Random;
            if is_short && !is_start {
                return None;
            }
            let after = &run[format.prefix.len()..];
            let body = &after[..after
                .iter()
                .take_while(|byte| format.body.allows_byte(**byte))
                .count()];
            let fits = (format.min_length..=format.max_length).contains(&body.len())
                // A format of exact length must end with its run, or the head of any longer
                // identifier
                // would match.
                && (format.max_length == usize::MAX || body.len() == after.len())
                && (format.body != KeyBody::Random || looks_random(body))
                && !is_placeholder(body);
            fits.then_some((format.kind, format.prefix.len() + body.len()))
        })
}

impl KeyBody {
    fn allows_byte(self, byte: u8) -> bool {
        match self {
            Self::Any | Self::Random => is_word_byte(byte),
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
        let run = word_run_len(&text[length..]);
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
    let first = word_run_len(rest);
    let second = rest
        .get(first + 1..)
        .map(word_run_len)
        .filter(|_| rest.get(first) == Some(&b'.'))?;
    (first >= 16 && second >= 16).then_some(3 + first + 1 + second)
}

/// Returns the number of leading word characters.
pub(super) fn word_run_len(text: &[u8]) -> usize {
    text.iter().take_while(|byte| is_word_byte(**byte)).count()
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
