//! The scanner: one pass over a text, stopping only at what a secret can begin with.
//!
//! Positions inside of UTF-8 sequences never start or end a match, because every matched byte is ASCII or the match
//! ends at an ASCII delimiter.

use std::ops::Range;

use super::assignment::{Name, bearer_after, name_before, name_of, url_secret_at, value_at};
use super::formats::{
    MIN_RUN_BYTES, begins_format, json_web_token_at, key_at, sendgrid_key_at, word_run,
};
use super::{FoundSecret, SecretKind};

/// A line of a private key that is at least this long needs no `END` line to be recognised.
const MIN_KEY_LINE_BYTES: usize = 16;

/// Lines of a block before its key material: `Proc-Type: 4,ENCRYPTED`, an empty line.
const MAX_KEY_HEADERS: usize = 8;

const WORD: u8 = 1;
const ASSIGNS: u8 = 2;

/// What each byte can begin: most begin nothing and are passed over.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let character = byte as u8;
        if character.is_ascii_alphanumeric() || character == b'-' || character == b'_' {
            classes[byte] = WORD;
        } else if character == b'=' || character == b':' {
            classes[byte] = ASSIGNS;
        }
        byte += 1;
    }
    classes
};

/// Returns every secret in a text, in order.
pub(super) fn scan(text: &str) -> Vec<FoundSecret> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let secret = match CLASSES[usize::from(bytes[at])] {
            WORD => {
                let end = at
                    + bytes[at..]
                        .iter()
                        .take_while(|byte| CLASSES[usize::from(**byte)] == WORD)
                        .count();
                match in_run(bytes, at..end) {
                    Some(secret) => Some(secret),
                    None => {
                        at = end;
                        continue;
                    }
                }
            }
            ASSIGNS => in_assignment(bytes, at),
            _ => None,
        };
        match secret {
            // Ends are at ASCII delimiters; a text that says otherwise is not cut inside of a character.
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

/// Returns the first secret that begins in a run of word characters.
fn in_run(bytes: &[u8], run: Range<usize>) -> Option<(SecretKind, Range<usize>)> {
    let word = &bytes[run.clone()];
    if word.len() == 6 && word.eq_ignore_ascii_case(b"bearer") {
        return bearer_after(bytes, run.end).map(|found| or_key(bytes, found));
    }
    if word.starts_with(b"--") {
        if word.starts_with(b"-----BEGIN") {
            return private_key_at(bytes, run.start)
                .map(|end| (SecretKind::PrivateKey, run.start..end));
        }
        // A flag and its value: `--password hunter2!`.
        if bytes.get(run.end) == Some(&b' ')
            && let Some(name @ (Name::Password | Name::Key)) = name_of(word)
            && let Some(found) = value_at(bytes, run.end, name)
        {
            return Some(or_key(bytes, found));
        }
    }
    // The letter of an escape such as `\n` is not part of what follows it.
    let escaped = run.start > 0 && bytes[run.start - 1] == b'\\';
    let is_start = |offset: usize| {
        offset == 0 || (offset == 1 && escaped) || matches!(word[offset - 1], b'-' | b'_')
    };
    if bytes.get(run.end) == Some(&b'.') && word.ends_with(b"SG") && is_start(word.len() - 2) {
        let start = run.end - 2;
        return sendgrid_key_at(&bytes[start..])
            .map(|length| (SecretKind::SendgridKey, start..start + length));
    }
    if word.len() < MIN_RUN_BYTES {
        return None;
    }
    for offset in 0..=word.len() - MIN_RUN_BYTES {
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

/// Returns the secret that follows a `=` or a `:`.
fn in_assignment(bytes: &[u8], at: usize) -> Option<(SecretKind, Range<usize>)> {
    if bytes[at] == b':' {
        if bytes[at..].starts_with(b"://") {
            return url_secret_at(bytes, at);
        }
        if let Some(found) = telegram_token_at(bytes, at) {
            return Some(found);
        }
    }
    let name = name_before(bytes, at)?;
    value_at(bytes, at + 1, name).map(|found| or_key(bytes, found))
}

/// A value that is a known key is called what it is, and ends where the key ends.
fn or_key(bytes: &[u8], (kind, range): (SecretKind, Range<usize>)) -> (SecretKind, Range<usize>) {
    let known = in_run(
        bytes,
        range.start..range.start + word_run(&bytes[range.clone()]),
    );
    known
        .filter(|(_, key)| key.start == range.start && key.end == range.end)
        .unwrap_or((kind, range))
}

/// Returns the part after the colon of `123456789:AA…`.
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
        && (33..=37).contains(&word_run(rest));
    is_token.then(|| {
        (
            SecretKind::TelegramToken,
            colon - digits..colon + 1 + word_run(rest),
        )
    })
}

/// Returns where the private key block that begins at `start` ends: with its `END` line or, unfinished, with its last
/// line that looks like key material. Every byte between two `BEGIN` lines is looked at once, so that many of them cost no
/// more than one.
fn private_key_at(bytes: &[u8], start: usize) -> Option<usize> {
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
        let line = KeyLine::at(bytes, at);
        if bytes[line.end..].starts_with(b"-----END") {
            // Without key material it is a description of the format.
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
        let next = line.next(bytes);
        let is_long = line.is_whole && line.length >= MIN_KEY_LINE_BYTES;
        let ends_at = |next: usize| bytes[KeyLine::at(bytes, next).end..].starts_with(b"-----END");
        let is_last = line.is_whole && next.is_some_and(ends_at);
        let is_header = end.is_none() && headers < MAX_KEY_HEADERS;
        headers += 1;
        match next {
            Some(next) if is_long || is_last || is_header => at = next,
            _ => return end,
        }
    }
}

/// One line of a private key: a margin, base64 (line ends may be escaped), and closing quotes.
struct KeyLine {
    /// How much of it is base64.
    length: usize,
    /// Where the base64 ends.
    end: usize,
    /// Whether nothing else is on the line; a sentence that begins with a long word is not key material.
    is_whole: bool,
}

impl KeyLine {
    fn at(bytes: &[u8], at: usize) -> Self {
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

    /// Returns where the next line begins; a header is short.
    fn next(&self, bytes: &[u8]) -> Option<usize> {
        bytes[self.end..]
            .iter()
            .take(80)
            .position(|byte| *byte == b'\n')
            .map(|length| self.end + length + 1)
    }
}
