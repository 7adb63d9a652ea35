//! Identifiers: one newtype per idea, so that no two can be mixed up.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};

/// Internal id of a node: a number, given in order, never used again.
///
/// People never see it; they use aliases. Numbers rather than random ids keep a cascade over a
/// hundred thousand nodes to a few bytes each, and do not depend on a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u32);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Number of an operation: 1, 2, 3 … in the order they were committed.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct OperationId(pub u64);

impl OperationId {
    /// Returns the number of the operation that follows this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Identity of one store, made once by `init`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoreId(pub String);

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A SHA-256, shown and stored as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest32(pub [u8; 32]);

impl Digest32 {
    /// Returns the SHA-256 of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl Digest32 {
    fn with_digits<T>(&self, use_them: impl FnOnce(&str) -> T) -> T {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0u8; 64];
        for (index, byte) in self.0.iter().enumerate() {
            text[index * 2] = DIGITS[usize::from(byte >> 4)];
            text[index * 2 + 1] = DIGITS[usize::from(byte & 15)];
        }
        use_them(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Display for Digest32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_digits(|digits| f.write_str(digits))
    }
}

impl fmt::Debug for Digest32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected 64 hexadecimal digits")]
pub struct NotADigest;

impl FromStr for Digest32 {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let text = text.as_bytes();
        // One spelling only: a hash that was changed in any way is not the same hash.
        if text.len() != 64 || text.iter().any(u8::is_ascii_uppercase) {
            return Err(NotADigest);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
            let high = char::from(pair[0]).to_digit(16).ok_or(NotADigest)?;
            let low = char::from(pair[1]).to_digit(16).ok_or(NotADigest)?;
            *byte = u8::try_from(high * 16 + low).map_err(|_| NotADigest)?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest32 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.with_digits(|digits| serializer.serialize_str(digits))
    }
}

impl<'de> Deserialize<'de> for Digest32 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// Hash of a plan file's bytes: the seeds' `version_hash`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VersionHash(pub Digest32);

impl VersionHash {
    /// Returns the hash of a file's bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Digest32::of(bytes))
    }

    /// Returns the first eight digits, enough for people to tell versions apart.
    #[must_use]
    pub fn short(self) -> String {
        self.0.to_string().chars().take(8).collect()
    }
}

impl fmt::Display for VersionHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Hash of a plan's text with its formatting normalised; approvals are bound to this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CanonicalHash(pub Digest32);

/// Who acts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Principal {
    /// A person, by name.
    Human(String),
    /// An agent in a host's session.
    Agent { host: String, session: String },
    /// Throughline itself: what it noticed, repaired or caught up with.
    System,
}

impl Principal {
    /// Says whether this is a person.
    #[must_use]
    pub fn is_human(&self) -> bool {
        matches!(self, Self::Human(_))
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Human(name) => write!(f, "human:{name}"),
            Self::Agent { host, session } => write!(f, "agent:{host}/{session}"),
            Self::System => f.write_str("system"),
        }
    }
}

impl From<&str> for Principal {
    /// Reads the form that `Display` writes; a text of no known form is taken as a person's name.
    fn from(text: &str) -> Self {
        if text == "system" {
            return Self::System;
        }
        if let Some((host, session)) = text
            .strip_prefix("agent:")
            .and_then(|rest| rest.split_once('/'))
        {
            return Self::Agent {
                host: host.to_owned(),
                session: session.to_owned(),
            };
        }
        Self::Human(text.strip_prefix("human:").unwrap_or(text).to_owned())
    }
}

impl Serialize for Principal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Principal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(String::deserialize(deserializer)?.as_str()))
    }
}
