//! Secret scanner: one pass over a text that stops only at bytes a secret can begin with.
//!
//! Matches never start or end inside a UTF-8 sequence, because every matched byte is ASCII or the
//! match ends at an ASCII delimiter.

use std::ops::Range;

use super::assignment::{
    SecretName, bearer_after, classify_name, classify_name_before, url_secret_at, value_at,
};
use super::formats::{
    MIN_RUN_BYTES, begins_format, json_web_token_at, key_at, sendgrid_key_at, word_run_len,
};
use super::{FoundSecret, SecretKind};

/// Minimum length of a line of key material that is recognised without an `END` line.
const MIN_KEY_LINE_BYTES: usize = 16;

/// Maximum number of lines of a block before its key material: `Proc-Type: 4,ENCRYPTED`, an empty
/// line.
const MAX_KEY_HEADERS: usize = 8;

/// The word before a token in an HTTP header.
const BEARER: &[u8] = b"bearer";

const WORD_CLASS: u8 = 1;
const ASSIGNMENT_CLASS: u8 = 2;

/// Class of each byte; most begin nothing and are skipped.
const BYTE_CLASSES: [u8; 256] = {
    // Built at compile time: a hook process scans one short text and would not earn back a table
    // built at start-up.
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let character = byte as u8;
        if character.is_ascii_alphanumeric() || character == b'-' || character == b'_' {
            classes[byte] = WORD_CLASS;
        } else if character == b'=' || character == b':' {
            classes[byte] = ASSIGNMENT_CLASS;
        }
        byte += 1;
    }
    classes
};

/// Returns every secret in a text, in order.
pub(super) fn scan_text(text: &str) -> Vec<FoundSecret> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let secret = match BYTE_CLASSES[usize::from(bytes[at])] {
            WORD_CLASS => {
                let mut end = at + 1;
                while end < bytes.len() && BYTE_CLASSES[usize::from(bytes[end])] == WORD_CLASS {
                    end += 1;
                }
                let secret = match is_plain_word(bytes, at, end) {
                    true => None,
                    false => find_in_run(bytes, at..end),
                };
                if secret.is_none() {
                    // The whole run is skipped. Trying again at its next byte would make long base64
                    // runs quadratic.
                    at = end;
                    continue;
                }
                secret
            }
            ASSIGNMENT_CLASS => find_in_assignment(bytes, at),
            _ => None,
        };
        match secret {
            // Holds by construction; checked anyway, because cutting inside a character would lose
            // the
            // whole text.
            Some((kind, range))
                if text.is_char_boundary(range.start) && text.is_char_boundary(range.end) =>
            {
                at = range.end.max(at + 1);
                found.push(FoundSecret { kind, range });
            }
            _ => at += 1,
        }
    }
    found
}

/// Whether a run of word characters is too short to begin or be a secret, as most words are. Every
/// text that is recorded or checked is scanned, so this is worth a test of its own.
fn is_plain_word(bytes: &[u8], start: usize, end: usize) -> bool {
    let is_short = end - start < MIN_RUN_BYTES && end - start != BEARER.len();
    // Neither a flag or a `BEGIN` line, nor the first part of a SendGrid key.
    is_short && bytes[start] != b'-' && !(end < bytes.len() && bytes[end] == b'.')
}

/// Returns the first secret that starts in a run of word characters.
fn find_in_run(bytes: &[u8], run: Range<usize>) -> Option<(SecretKind, Range<usize>)> {
    let word = &bytes[run.clone()];
    if word.len() == BEARER.len() && word.eq_ignore_ascii_case(BEARER) {
        return bearer_after(bytes, run.end).map(|found| reclassify_as_key(bytes, found));
    }
    if word.starts_with(b"--") {
        if word.starts_with(b"-----BEGIN") {
            return private_key_at(bytes, run.start)
                .map(|end| (SecretKind::PrivateKey, run.start..end));
        }
        // A command-line flag and its value: `--password hunter2!`.
        if bytes.get(run.end) == Some(&b' ')
            && let Some(name @ (SecretName::Password | SecretName::Key)) = classify_name(word)
            && let Some(found) = value_at(bytes, run.end, name)
        {
            return Some(reclassify_as_key(bytes, found));
        }
    }
    // The letter of an escape such as `\n` is part of the run but not of the key after it: texts
    // often are JSON strings inside other texts.
    let escaped = run.start > 0 && bytes[run.start - 1] == b'\\';
    let is_start = |offset: usize| {
        offset == 0 || (offset == 1 && escaped) || matches!(word[offset - 1], b'-' | b'_')
    };
    // The dots of a SendGrid key are not word characters, so its run is just `SG`.
    if bytes.get(run.end) == Some(&b'.') && word.ends_with(b"SG") && is_start(word.len() - 2) {
        let start = run.end - 2;
        return sendgrid_key_at(&bytes[start..])
            .map(|length| (SecretKind::SendgridKey, start..start + length));
    }
    if word.len() < MIN_RUN_BYTES {
        return None;
    }
    for offset in 0..=word.len() - MIN_RUN_BYTES {
        // Two bytes rule out nearly every offset before any of the forty prefixes is compared.
        if !begins_format(word[offset], word[offset + 1]) {
            continue;
        }
        let is_start = is_start(offset);
        let start = run.start + offset;
        if is_start
            && word[offset..].starts_with(b"eyJ")
            && let Some(length) = json_web_token_at(&bytes[start..])
        {
            return Some((SecretKind::JsonWebToken, start..start + length));
        }
        if let Some((kind, length)) = key_at(&word[offset..], is_start) {
            return Some((kind, start..start + length));
        }
    }
    None
}

/// Returns the secret that follows a `=` or `:`.
fn find_in_assignment(bytes: &[u8], at: usize) -> Option<(SecretKind, Range<usize>)> {
    if bytes[at] == b':' {
        if bytes[at..].starts_with(b"://") {
            return url_secret_at(bytes, at);
        }
        if let Some(found) = telegram_token_at(bytes, at) {
            return Some(found);
        }
    }
    // Read backwards from the separator: names are bounded in length, so this stays linear.
    let name = classify_name_before(bytes, at)?;
    value_at(bytes, at + 1, name).map(|found| reclassify_as_key(bytes, found))
}

/// Reclassifies an assigned value as the key format it has, if it is exactly one.
fn reclassify_as_key(
    bytes: &[u8],
    (kind, range): (SecretKind, Range<usize>),
) -> (SecretKind, Range<usize>) {
    let known = find_in_run(
        bytes,
        range.start..range.start + word_run_len(&bytes[range.clone()]),
    );
    known
        .filter(|(_, key)| key.start == range.start && key.end == range.end)
        .unwrap_or((kind, range))
}

/// Returns the bot token around a colon: `123456789:AA…`.
fn telegram_token_at(bytes: &[u8], colon: usize) -> Option<(SecretKind, Range<usize>)> {
    let digits = bytes[..colon]
        .iter()
        .rev()
        .take(12)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let rest = &bytes[colon + 1..];
    let is_token = (8..=11).contains(&digits)
        && rest.starts_with(b"AA")
        && (33..=37).contains(&word_run_len(rest));
    is_token.then(|| {
        (
            SecretKind::TelegramToken,
            colon - digits..colon + 1 + word_run_len(rest),
        )
    })
}

/// Returns the end of the private key block that begins at `start`: its `END` line or, if it is cut
/// off, its last line that looks like key material.
///
/// Each byte between two `BEGIN` lines is read once, so that many of them stay linear.
fn private_key_at(bytes: &[u8], start: usize) -> Option<usize> {
    // The longest title in use is `ENCRYPTED PRIVATE KEY`; 80 bytes keep a text full of
    // `-----BEGIN`
    // from being searched to its end at each of them.
    let header = &bytes[start..bytes.len().min(start + 80)];
    let title_end = 10
        + header[10..]
            .windows(5)
            .position(|window| window == b"-----")?;
    let title = &header[10..title_end];
    (title.windows(11).any(|window| window == b"PRIVATE KEY") && !title.contains(&b'\n'))
        .then_some(())?;
    let mut at = start + title_end + 5;
    let mut end = None;
    let mut headers = 0;
    loop {
        let line = KeyLine::parse_at(bytes, at);
        if bytes[line.end..].starts_with(b"-----END") {
            // Without key material it is documentation of the format.
            (end.is_some() || line.length > 0).then_some(())?;
            let footer = line.end + 8;
            let closes = bytes[footer..bytes.len().min(footer + 60)]
                .windows(5)
                .position(|window| window == b"-----");
            return Some(closes.map_or(footer, |length| footer + length + 5));
        }
        if line.is_whole && line.length > 0 {
            end = Some(line.end);
        }
        let next = line.next_line(bytes);
        let is_long = line.is_whole && line.length >= MIN_KEY_LINE_BYTES;
        let ends_at =
            |next: usize| bytes[KeyLine::parse_at(bytes, next).end..].starts_with(b"-----END");
        // The last line of a block may be short; it is recognised by the `END` after it.
        let is_last = line.is_whole && next.is_some_and(ends_at);
        let is_header = end.is_none() && headers < MAX_KEY_HEADERS;
        headers += 1;
        match next {
            Some(next) if is_long || is_last || is_header => at = next,
            _ => return end,
        }
    }
}

/// One line of a private key: margin, base64 (line ends may be escaped), closing quotes.
struct KeyLine {
    /// Number of base64 bytes.
    length: usize,
    /// End of the base64.
    end: usize,
    /// Whether the line holds nothing else: a sentence that begins with a long word is
    /// not key material.
    is_whole: bool,
}

impl KeyLine {
    fn parse_at(bytes: &[u8], at: usize) -> Self {
        let is_margin = |byte: &&u8| {
            matches!(
                byte,
                b' ' | b'\t' | b'>' | b'|' | b'#' | b'"' | b'\'' | b'*'
            )
        };
        let is_base64 =
            |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\\');
        let is_closing = |byte: &&u8| {
            matches!(
                byte,
                b'"' | b'\'' | b'`' | b',' | b';' | b' ' | b'\t' | b'\r' | b'}' | b')'
            )
        };
        // Keys are pasted into quotes, lists, comments and YAML blocks.
        let margin = bytes[at..].iter().take(16).take_while(is_margin).count();
        let length = bytes[at + margin..].iter().take_while(is_base64).count();
        let end = at + margin + length;
        let closing = bytes[end..].iter().take(16).take_while(is_closing).count();
        let is_quoted = matches!(bytes.get(end), Some(b'"' | b'\'' | b'`'));
        Self {
            length,
            end,
            is_whole: is_quoted || matches!(bytes.get(end + closing), None | Some(b'\n')),
        }
    }

    /// Returns the start of the next line; a line with more than 80 further bytes is not a header.
    fn next_line(&self, bytes: &[u8]) -> Option<usize> {
        bytes[self.end..]
            .iter()
            .take(80)
            .position(|byte| *byte == b'\n')
            .map(|length| self.end + length + 1)
    }
}
