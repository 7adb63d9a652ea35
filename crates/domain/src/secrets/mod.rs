//! Secret detection and masking: finds keys, tokens, passwords and private keys in text and
//! replaces them.
//!
//! Everything the store keeps passes [`mask_operation`] and [`mask_text`]; there is no second list
//! of key formats. A hand-written scanner instead of regular expressions: one pass over the bytes,
//! linear in the length of the text, without tables to build, because it runs in hooks, which live
//! for a few milliseconds. It prefers missing an exotic format to a false positive: a masked word
//! in a plan's history cannot be restored.

mod assignment;
mod formats;
mod masked_text;
mod operation;
mod scanner;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::operation::Verb;

pub(crate) use masked_text::is_masked_text;
pub use masked_text::{
    MaskedSecret, MaskedText, fill_in_edited, fill_in_secrets, render_secret_lines, secret_lines,
};
pub(crate) use operation::mask_description;
pub use operation::{mask_operation, mask_recorded};

/// Prefix of every mask.
const MASK_START: &str = "[masked ";

/// Number of trailing characters of a key that a mask shows, so that its owner knows which one to
/// revoke.
const SHOWN_CHARACTERS: usize = 4;

/// Minimum length of a key whose end is shown; of a shorter one, four characters are too much.
const MIN_SHOWING_BYTES: usize = 24;

/// Maximum number of masking passes.
///
/// A mask can expose what was beside it, such as a key in the user name of a URL whose password was
/// found. Each pass leaves less to find, and masking is idempotent.
const MAX_PASSES: usize = 8;

/// Kind of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretKind {
    AnthropicKey,
    OpenaiKey,
    GoogleKey,
    AwsKey,
    GithubToken,
    GitlabToken,
    SlackToken,
    SlackWebhook,
    NpmToken,
    PypiToken,
    HuggingFaceToken,
    DigitaloceanToken,
    SendgridKey,
    StripeKey,
    TwilioKey,
    TelegramToken,
    /// A token of our own server.
    ThroughlineToken,
    /// A key of another provider, known by its prefix.
    ApiKey,
    JsonWebToken,
    BearerToken,
    /// The value of an assignment: `password=…`, `"api_key": "…"`.
    AssignedSecret,
    /// The password in `scheme://user:password@host`.
    UrlPassword,
    PrivateKey,
}

impl SecretKind {
    /// Returns the kind's name for messages and masks.
    #[must_use]
    pub fn display_name(self) -> &'static str {
        match self {
            Self::AnthropicKey => "anthropic key",
            Self::OpenaiKey => "openai key",
            Self::GoogleKey => "google key",
            Self::AwsKey => "aws key",
            Self::GithubToken => "github token",
            Self::GitlabToken => "gitlab token",
            Self::SlackToken => "slack token",
            Self::SlackWebhook => "slack webhook",
            Self::NpmToken => "npm token",
            Self::PypiToken => "pypi token",
            Self::HuggingFaceToken => "hugging face token",
            Self::DigitaloceanToken => "digitalocean token",
            Self::SendgridKey => "sendgrid key",
            Self::StripeKey => "stripe key",
            Self::TwilioKey => "twilio key",
            Self::TelegramToken => "telegram token",
            Self::ThroughlineToken => "throughline token",
            Self::ApiKey => "api key",
            Self::JsonWebToken => "json web token",
            Self::BearerToken => "bearer token",
            Self::AssignedSecret => "password",
            Self::UrlPassword => "url password",
            Self::PrivateKey => "private key",
        }
    }

    /// Whether a mask may show the last characters.
    fn shows_end(self) -> bool {
        !matches!(
            self,
            // Four characters are a large part of a password, and the end of a key block is its
            // footer.
            Self::AssignedSecret | Self::UrlPassword | Self::PrivateKey
        )
    }
}

impl fmt::Display for SecretKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.display_name())
    }
}

/// A secret in a text: its kind and byte range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSecret {
    pub kind: SecretKind,
    pub range: Range<usize>,
}

/// Number of distinct secrets, by kind. Holds nothing they could be recovered from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretCount {
    /// Hashes, never stored: the same key in a title, a log and a text is one secret.
    seen: BTreeSet<(SecretKind, u64)>,
}

impl SecretCount {
    /// Counts a secret once, however often it is added.
    pub fn count_secret(&mut self, kind: SecretKind, secret: &str) {
        let mut hasher = DefaultHasher::new();
        secret.hash(&mut hasher);
        self.seen.insert((kind, hasher.finish()));
    }

    /// Merges another count into this one.
    pub fn merge_count(&mut self, other: &Self) {
        self.seen.extend(&other.seen);
    }

    /// Returns the number of distinct secrets.
    #[must_use]
    pub fn total(&self) -> usize {
        self.seen.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Returns the number of secrets of each kind.
    #[must_use]
    pub fn by_kind(&self) -> BTreeMap<SecretKind, usize> {
        let mut kinds = BTreeMap::new();
        for (kind, _) in &self.seen {
            *kinds.entry(*kind).or_default() += 1;
        }
        kinds
    }
}

impl fmt::Display for SecretCount {
    /// `2 secrets (anthropic key, password)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<&str> = self
            .by_kind()
            .into_keys()
            .map(SecretKind::display_name)
            .collect();
        let noun = if self.total() == 1 {
            "secret"
        } else {
            "secrets"
        };
        write!(f, "{} {noun} ({})", self.total(), kinds.join(", "))
    }
}

/// Returns the notice for the user about what was masked in an operation, if anything was.
#[must_use]
pub fn masked_notice(verb: Verb, masked: &SecretCount) -> Option<String> {
    let place = match verb {
        Verb::Observe | Verb::Submit | Verb::Rebuild | Verb::Adopt => {
            // Here the secret is still in the user's file. That has to be said, or the notice would
            // read
            // as if it had been removed.
            return (!masked.is_empty()).then(|| {
                format!("masked {masked} in the stored copy of a plan; the file itself is unchanged (tl check names the line)")
            });
        }
        Verb::Comment => "comment",
        Verb::Intent => "intent",
        Verb::Map => "map",
        Verb::Evidence => "evidence",
        Verb::Remember => "note",
        Verb::Review => "review",
        Verb::Document => "plan document",
        Verb::Invalidate => "reason",
        Verb::RequestChanges => "request for changes",
        _ => "recorded text",
    };
    (!masked.is_empty()).then(|| format!("masked {masked} in the {place} before it was stored"))
}

/// Returns every secret in a text, in order, without overlaps.
#[must_use]
pub fn find_secrets(text: &str) -> Vec<FoundSecret> {
    scanner::scan_text(text)
}

/// Replaces every secret in a text by a mask, and counts them. Borrows a text without secrets.
#[must_use]
pub fn mask_text<'t>(text: &'t str, masked: &mut SecretCount) -> Cow<'t, str> {
    // Nearly all texts hold no secret and must not be copied: every stored text passes here.
    let mut output = Cow::Borrowed(text);
    for _ in 0..MAX_PASSES {
        let found = find_secrets(&output);
        if found.is_empty() {
            break;
        }
        output = Cow::Owned(replace_found(&output, &found, masked));
    }
    output
}

fn replace_found(text: &str, found: &[FoundSecret], masked: &mut SecretCount) -> String {
    let mut output = String::with_capacity(text.len());
    // `get` instead of slicing: a panic here would lose the operation that is being stored.
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let mut copied = 0;
    for secret in found {
        let value = part(secret.range.clone());
        masked.count_secret(secret.kind, value);
        output.push_str(part(copied..secret.range.start));
        output.push_str(&render_mask(secret.kind, value));
        copied = secret.range.end;
    }
    output.push_str(part(copied..text.len()));
    output
}

/// Masks a text without counting.
#[must_use]
pub fn mask_secrets(text: &str) -> Cow<'_, str> {
    mask_text(text, &mut SecretCount::default())
}

/// Masks every string in a JSON value, in place. Field names are our own and stay.
pub fn mask_value(value: &mut Value, masked: &mut SecretCount) {
    match value {
        Value::String(text) => mask_string(text, masked),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_value(item, masked)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|item| mask_value(item, masked)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Masks a string in place.
pub(crate) fn mask_string(text: &mut String, masked: &mut SecretCount) {
    if let Cow::Owned(changed) = mask_text(text, masked) {
        *text = changed;
    }
}

/// Returns the mask of a secret: its kind, and the last characters of a long key.
fn render_mask(kind: SecretKind, secret: &str) -> String {
    let end = secret
        .len()
        .checked_sub(SHOWN_CHARACTERS)
        .and_then(|start| secret.get(start..));
    match end.filter(|_| kind.shows_end() && secret.len() >= MIN_SHOWING_BYTES) {
        Some(end) => format!("{MASK_START}{kind} …{end}]"),
        None => format!("{MASK_START}{kind}]"),
    }
}

#[cfg(test)]
mod tests;
