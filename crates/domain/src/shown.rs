//! Optimistic concurrency for decisions: the versions that were shown to whoever decides.
//!
//! A decision is about a text. The edge that showed it passes its version along, and the use case compares
//! inside the write transaction: between showing and deciding the text may have become another one.

use std::fmt;
use std::str::FromStr;

use crate::ids::VersionHash;
use crate::node::Node;

/// The fewest digits that name a version; `VersionHash::short` prints as many.
const MIN_PREFIX_DIGITS: usize = 8;

/// A version hash as it was shown: all of its hexadecimal digits, or the first ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownVersion(String);

/// A text that does not name a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a version: expected at least {MIN_PREFIX_DIGITS} hexadecimal digits of its hash"
)]
pub struct NotAShownVersion(String);

impl ShownVersion {
    /// Says whether this is the version that was shown.
    #[must_use]
    pub fn matches(&self, version: VersionHash) -> bool {
        version.to_string().starts_with(&self.0)
    }
}

impl From<VersionHash> for ShownVersion {
    fn from(version: VersionHash) -> Self {
        Self(version.to_string())
    }
}

impl FromStr for ShownVersion {
    type Err = NotAShownVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.to_ascii_lowercase();
        if digits.len() < MIN_PREFIX_DIGITS || !digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            return Err(NotAShownVersion(text.to_owned()));
        }
        Ok(Self(digits))
    }
}

impl fmt::Display for ShownVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.get(..MIN_PREFIX_DIGITS).unwrap_or(&self.0))
    }
}

/// The texts a decision about a node was made on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub version: ShownVersion,
    /// The parent's text the node was judged against, where it was shown too.
    pub parent: Option<ShownVersion>,
}

impl From<VersionHash> for Shown {
    fn from(version: VersionHash) -> Self {
        Self {
            version: version.into(),
            parent: None,
        }
    }
}

/// Another text is there than the one that was shown: nothing can be decided on it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShownChanged {
    #[error("the text of `{node}` changed since it was shown (was {shown}, is {found})")]
    Text {
        node: String,
        shown: String,
        found: String,
    },
    #[error(
        "`{parent}`, the parent of `{node}`, changed since it was shown (was {shown}, is {found})"
    )]
    Parent {
        node: String,
        parent: String,
        shown: String,
        found: String,
    },
}

impl ShownChanged {
    /// Returns the node that was to be decided on.
    #[must_use]
    pub fn node(&self) -> &str {
        match self {
            Self::Text { node, .. } | Self::Parent { node, .. } => node,
        }
    }
}

impl Shown {
    /// Compares what was shown with what is there now.
    ///
    /// # Errors
    /// [`ShownChanged`] when a text is another one, or gone.
    pub fn check(&self, node: &Node, parent: Option<&Node>) -> Result<(), ShownChanged> {
        let found = |node: &Node| {
            node.content
                .version()
                .map_or_else(|| "no text".to_owned(), VersionHash::short)
        };
        if !node
            .content
            .version()
            .is_some_and(|version| self.version.matches(version))
        {
            let shown = self.version.to_string();
            return Err(ShownChanged::Text {
                node: node.alias.clone(),
                shown,
                found: found(node),
            });
        }
        if let (Some(shown), Some(parent)) = (&self.parent, parent)
            && !parent
                .content
                .version()
                .is_some_and(|version| shown.matches(version))
        {
            return Err(ShownChanged::Parent {
                node: node.alias.clone(),
                parent: parent.alias.clone(),
                shown: shown.to_string(),
                found: found(parent),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Digest32;

    #[test]
    fn a_prefix_of_eight_digits_names_a_version_and_fewer_do_not() {
        let version = VersionHash(Digest32::of(b"text"));
        let shown: ShownVersion = version.short().to_uppercase().parse().unwrap();
        assert!(shown.matches(version));
        assert!(!shown.matches(VersionHash(Digest32::of(b"another"))));
        for no_version in ["", "1234567", "12345678x", "draft"] {
            assert!(no_version.parse::<ShownVersion>().is_err(), "{no_version}");
        }
    }
}
