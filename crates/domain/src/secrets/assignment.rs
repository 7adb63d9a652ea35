//! Secrets in assignments: `password=…`, `"api_key": "…"`, `Authorization: …`, URLs with a
//! password.

use std::ops::Range;

use super::SecretKind;
use super::formats::{contains_ignoring_case, is_placeholder, is_word_byte, looks_random};

/// Maximum length of a name that is examined; only its end counts.
const MAX_NAME_BYTES: usize = 64;

/// Maximum length of a value; longer ones are data.
const MAX_VALUE_BYTES: usize = 512;

/// Suffixes of names whose values are passwords, which may be short. Without `-` and `_`.
const PASSWORD_NAMES: &[&str] = &["password", "passwd", "passphrase", "pwd"];

/// Suffixes of names whose values are keys if they look random.
const KEY_NAMES: &[&str] = &[
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "accountkey",
    "signingkey",
    "encryptionkey",
    "authkey",
];

/// Words used in the place of a secret.
const PLACEHOLDERS: &[&str] = &[
    "changeme",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "example",
    "required",
    "optional",
    "undefined",
    "string",
    "redacted",
    "removed",
    "hidden",
    "masked",
    "default",
    "disabled",
    "enabled",
    "test",
    "null",
    "none",
    "true",
    "false",
];

/// Kind of value that a name announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecretName {
    Password,
    Key,
    Authorization,
}

/// Classifies the name that ends before `end`: `DB_PASSWORD`, `"api-key"`, `Authorization`.
pub(super) fn classify_name_before(text: &[u8], end: usize) -> Option<SecretName> {
    let mut end = end;
    while end > 0 && text[end - 1] == b' ' {
        end -= 1;
    }
    // The quote of a JSON field, possibly escaped: JSON is often nested in a JSON string.
    while end > 0 && matches!(text[end - 1], b'"' | b'\'' | b'`' | b'\\') {
        end -= 1;
    }
    // Every known name ends in one of these letters. This rejects most colons of ordinary prose
    // before a word is collected.
    matches!(
        end.checked_sub(1).map(|last| text[last] | 0x20),
        Some(b'd' | b'e' | b'n' | b't' | b'y')
    )
    .then_some(())?;
    let from = end.saturating_sub(MAX_NAME_BYTES);
    let start = text[from..end]
        .iter()
        .rposition(|byte| !is_word_byte(*byte))
        .map_or(from, |at| from + at + 1);
    classify_name(&text[start..end])
}

/// Classifies a name.
pub(super) fn classify_name(name: &[u8]) -> Option<SecretName> {
    // One spelling for `apiKey`, `api-key` and `API_KEY`.
    let plain: Vec<u8> = name
        .iter()
        .filter(|byte| !matches!(byte, b'-' | b'_'))
        .map(u8::to_ascii_lowercase)
        .collect();
    let ends_in = |names: &[&str]| names.iter().any(|word| plain.ends_with(word.as_bytes()));
    if plain.ends_with(b"authorization") {
        Some(SecretName::Authorization)
    } else if ends_in(PASSWORD_NAMES) {
        Some(SecretName::Password)
    } else {
        ends_in(KEY_NAMES).then_some(SecretName::Key)
    }
}

/// Returns the secret in the value that begins at `at`, right after the `=` or `:`.
pub(super) fn value_at(
    text: &[u8],
    at: usize,
    name: SecretName,
) -> Option<(SecretKind, Range<usize>)> {
    let mut start = at;
    // `==`, `:=`, `=>` and blanks belong to the operator. Bounded: a table's column of blanks is no
    // assignment.
    while start < text.len() && start - at < 8 && matches!(text[start], b' ' | b'\t' | b'=' | b'>')
    {
        start += 1;
    }
    let escaped = text.get(start) == Some(&b'\\');
    let quote_at = start + usize::from(escaped);
    let quote = text
        .get(quote_at)
        .copied()
        .filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    if name == SecretName::Authorization {
        let start = if quote.is_some() { quote_at + 1 } else { start };
        return credentials_at(text, start);
    }
    let range = match quote {
        Some(quote) => quoted_range(text, quote_at + 1, quote)?,
        None => {
            let length = text[start..]
                .iter()
                .take(MAX_VALUE_BYTES + 1)
                .take_while(|byte| !ends_value(**byte))
                .count();
            start..start + length
        }
    };
    is_secret_value(&text[range.clone()], name, quote.is_some())
        .then_some((SecretKind::AssignedSecret, range))
}

/// Returns the range of a quoted value on one line.
fn quoted_range(text: &[u8], start: usize, quote: u8) -> Option<Range<usize>> {
    let rest = &text[start..text.len().min(start + MAX_VALUE_BYTES)];
    let length = rest
        .iter()
        // A backslash ends the value: inside nested JSON it belongs to the escaped closing quote.
        .position(|byte| *byte == quote || matches!(byte, b'\n' | b'\\'))?;
    (rest[length] != b'\n').then_some(start..start + length)
}

fn ends_value(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || matches!(
            byte,
            b'"' | b'\''
                | b'`'
                | b','
                | b';'
                | b')'
                | b'['
                | b']'
                | b'}'
                | b'<'
                | b'>'
                | b'&'
                | b'|'
                | b'\\'
        )
}

/// Whether a value should be masked.
fn is_secret_value(value: &[u8], name: SecretName, is_quoted: bool) -> bool {
    // People choose passwords of six characters; generated keys are longer.
    let min_length = if name == SecretName::Password { 6 } else { 8 };
    let has_mix = match name {
        SecretName::Password => has_password_mix,
        SecretName::Key | SecretName::Authorization => looks_random,
    };
    (min_length..=MAX_VALUE_BYTES).contains(&value.len())
        && !value.contains(&b' ')
        && has_mix(value)
        && (is_quoted || !looks_like_code(value))
        && !names_something_else(value)
}

/// Whether a value refers to a secret or is a placeholder: `$TOKEN`, `<token>`, `{{ token }}`,
/// `env.TOKEN`, a path.
fn names_something_else(value: &[u8]) -> bool {
    let begins = matches!(
        value[0],
        b'$' | b'<' | b'{' | b'[' | b'%' | b'*' | b'(' | b'/' | b'~' | b'.' | b'#' | b'!' | b'&'
    );
    let word: Vec<u8> = value.iter().map(u8::to_ascii_lowercase).collect();
    let is_word = PLACEHOLDERS
        .iter()
        .any(|placeholder| word == placeholder.as_bytes());
    let refers = [
        &b"${"[..],
        b"{{",
        b"env.",
        b"environ",
        b"getenv",
        b"process.",
        b"...",
        b"example",
        b"changeme",
        "…".as_bytes(),
    ];
    begins
        || is_word
        || is_placeholder(value)
        || refers
            .iter()
            .any(|part| contains_ignoring_case(value, part))
}

/// Whether letters are mixed with digits or punctuation.
fn has_password_mix(value: &[u8]) -> bool {
    // `password: required` and `password: forgotten` are prose; a mix makes it a password.
    let letters = value
        .iter()
        .any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii());
    let others = value.iter().any(|byte| {
        byte.is_ascii_digit()
            || matches!(
                byte,
                b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'*' | b'+' | b'?' | b'~'
            )
    });
    letters && others
}

/// Whether an unquoted value is a call, a path or a member and not a literal: `read(path)`,
/// `config.password2`.
fn looks_like_code(value: &[u8]) -> bool {
    let is_member = value
        .iter()
        .all(|byte| is_word_byte(*byte) || *byte == b'.')
        && value.contains(&b'.')
        && value
            .split(|byte| *byte == b'.')
            .all(|part| part.first().is_some_and(u8::is_ascii_alphabetic));
    value.contains(&b'(')
        || contains_ignoring_case(value, b"::")
        || is_member
        || contains_ignoring_case(value, b"password")
}

/// Returns the credentials of an `Authorization` header: scheme and value, or a bare value.
fn credentials_at(text: &[u8], start: usize) -> Option<(SecretKind, Range<usize>)> {
    let word = |from: usize| {
        let length = text[from..]
            .iter()
            .take(4 * MAX_VALUE_BYTES)
            .take_while(|byte| is_credential(**byte))
            .count();
        from..from + length
    };
    let first = word(start);
    let scheme = &text[first.clone()];
    let known = ["bearer", "basic", "token", "digest", "negotiate", "apikey"];
    if text.get(first.end) == Some(&b' ')
        && known
            .iter()
            .any(|name| scheme.eq_ignore_ascii_case(name.as_bytes()))
    {
        let value = word(first.end + 1);
        // Base64 of `name:password` need not contain a digit.
        let is_basic = scheme.eq_ignore_ascii_case(b"basic")
            && value.len() >= 8
            && has_both_cases(&text[value.clone()]);
        return match is_basic {
            true => Some((SecretKind::BearerToken, value)),
            false => credential_in(text, value, 8),
        };
    }
    // Without a scheme the word may be prose, so more of it is asked for.
    credential_in(text, first, 16)
}

/// Returns the token after the word `Bearer`, which ends at `end`.
pub(super) fn bearer_after(text: &[u8], end: usize) -> Option<(SecretKind, Range<usize>)> {
    let blanks = text[end..]
        .iter()
        .take(8)
        .take_while(|byte| **byte == b' ')
        .count();
    let start = end + blanks;
    let length = text[start..]
        .iter()
        .take(4 * MAX_VALUE_BYTES)
        .take_while(|byte| is_credential(**byte))
        .count();
    (blanks > 0).then_some(())?;
    credential_in(text, start..start + length, 12)
}

fn credential_in(
    text: &[u8],
    range: Range<usize>,
    min_length: usize,
) -> Option<(SecretKind, Range<usize>)> {
    let value = &text[range.clone()];
    let is_secret = value.len() >= min_length
        && !names_something_else(value)
        && (value.iter().any(u8::is_ascii_digit) || value.contains(&b'='))
        && value.iter().any(u8::is_ascii_alphabetic);
    // A host name with a port has letters and digits too.
    (is_secret && !value.contains(&b':')).then_some((SecretKind::BearerToken, range))
}

fn has_both_cases(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_uppercase) && value.iter().any(u8::is_ascii_lowercase)
}

fn is_credential(byte: u8) -> bool {
    is_word_byte(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}

/// Returns the secret in the URL whose `://` is at `at`: a password, or a webhook's path.
pub(super) fn url_secret_at(text: &[u8], at: usize) -> Option<(SecretKind, Range<usize>)> {
    let start = at + 3;
    let ends = |byte: &u8| {
        byte.is_ascii_whitespace()
            || byte.is_ascii_control()
            || matches!(
                byte,
                b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b')'
            )
    };
    let length = text[start..]
        .iter()
        .take(MAX_VALUE_BYTES)
        .take_while(|byte| !ends(byte))
        .count();
    let authority = &text[start..start + length];
    if authority.eq_ignore_ascii_case(b"hooks.slack.com") {
        return webhook_path(
            text,
            start + length,
            &[b"/services/", b"/workflows/", b"/triggers/"],
        );
    }
    // The last `@` and the first colon: a password may contain both characters unescaped.
    let user_end = authority.iter().rposition(|byte| *byte == b'@')?;
    let colon = authority[..user_end]
        .iter()
        .position(|byte| *byte == b':')?;
    let password = &authority[colon + 1..user_end];
    let is_reference = password
        .first()
        .is_none_or(|byte| matches!(byte, b'$' | b'<' | b'{' | b'[' | b'*' | b'%' | b'('));
    let lower: Vec<u8> = password.iter().map(u8::to_ascii_lowercase).collect();
    let is_stand_in = ["password", "pass", "pwd", "pw", "changeme"]
        .iter()
        .any(|word| lower == word.as_bytes())
        || lower.iter().all(|byte| *byte == b'x')
        || password == "…".as_bytes()
        || password == b"...";
    (!is_reference && !is_stand_in)
        .then_some((SecretKind::UrlPassword, start + colon + 1..start + user_end))
}

fn webhook_path(text: &[u8], at: usize, folders: &[&[u8]]) -> Option<(SecretKind, Range<usize>)> {
    let folder = folders
        .iter()
        .find(|folder| text[at..].starts_with(folder))?;
    let start = at + folder.len();
    let length = text[start..]
        .iter()
        .take(MAX_VALUE_BYTES)
        .take_while(|byte| is_word_byte(**byte) || **byte == b'/')
        .count();
    let path = &text[start..start + length];
    (length >= 20 && !is_placeholder(path))
        .then_some((SecretKind::SlackWebhook, start..start + length))
}
