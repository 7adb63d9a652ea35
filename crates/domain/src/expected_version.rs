//! Optimistic concurrency control for decisions: the versions a decision was made on.
//!
//! Like `If-Match` in HTTP: the client passes the version hashes it displayed, and the use case
//! compares them inside the write transaction, because the text may have changed in between.

use std::fmt;
use std::str::FromStr;

use crate::ids::VersionHash;
use crate::node::Node;
use crate::node_reference::parent_path;

/// Minimum number of digits that identify a version; `VersionHash::short_hex` prints as many.
const MIN_PREFIX_DIGITS: usize = 8;

/// An expected version: all hexadecimal digits of its hash, or the first ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedVersion(String);

/// The text is not a version hash or prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a version: expected at least {MIN_PREFIX_DIGITS} hexadecimal digits of its hash"
)]
pub struct InvalidExpectedVersion(String);

impl ExpectedVersion {
    /// Whether `version` is the expected one.
    #[must_use]
    pub fn matches_version(&self, version: VersionHash) -> bool {
        version.to_string().starts_with(&self.0)
    }
}

impl From<VersionHash> for ExpectedVersion {
    fn from(version: VersionHash) -> Self {
        Self(version.to_string())
    }
}

impl FromStr for ExpectedVersion {
    type Err = InvalidExpectedVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A minimum length, because a short prefix could match a text the person has not seen.
        let digits = text.to_ascii_lowercase();
        if digits.len() < MIN_PREFIX_DIGITS || !digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            return Err(InvalidExpectedVersion(text.to_owned()));
        }
        Ok(Self(digits))
    }
}

impl fmt::Display for ExpectedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As short as every other version in messages, however many digits the client sent.
        f.write_str(self.0.get(..MIN_PREFIX_DIGITS).unwrap_or(&self.0))
    }
}

/// The versions a decision about a node was made on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedVersions {
    pub version: ExpectedVersion,
    /// The parent's version, if it was displayed as well.
    pub parent: Option<ExpectedVersion>,
}

impl From<VersionHash> for ExpectedVersions {
    fn from(version: VersionHash) -> Self {
        Self {
            version: version.into(),
            parent: None,
        }
    }
}

/// Version conflict: the current text is not the one the decision was made on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionConflict {
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

impl VersionConflict {
    /// Returns the node of the decision.
    #[must_use]
    pub fn conflicting_node(&self) -> &str {
        match self {
            Self::Text { node, .. } | Self::Parent { node, .. } => node,
        }
    }
}

impl ExpectedVersions {
    /// Compares the expected versions with the current ones. `path` names the node in the error.
    ///
    /// # Errors
    /// [`VersionConflict`] when a text differs or no longer exists.
    pub fn check_current(
        &self,
        path: &str,
        node: &Node,
        parent: Option<&Node>,
    ) -> Result<(), VersionConflict> {
        // The exact bytes are compared, not the canonical text: the person decided on what was on
        // the screen, and the caller can simply show it again.
        let found = |node: &Node| {
            node.content
                .version_hash()
                .map_or_else(|| "no text".to_owned(), VersionHash::short_hex)
        };
        if !node
            .content
            .version_hash()
            .is_some_and(|version| self.version.matches_version(version))
        {
            let shown = self.version.to_string();
            return Err(VersionConflict::Text {
                node: path.to_owned(),
                shown,
                found: found(node),
            });
        }
        // An approval is also bound to the parent's text, so a change there counts as well.
        if let (Some(shown), Some(parent)) = (&self.parent, parent)
            && !parent
                .content
                .version_hash()
                .is_some_and(|version| shown.matches_version(version))
        {
            return Err(VersionConflict::Parent {
                node: path.to_owned(),
                parent: parent_path(path).to_owned(),
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
        let version = VersionHash(Digest32::of_bytes(b"text"));
        let shown: ExpectedVersion = version.short_hex().to_uppercase().parse().unwrap();
        assert!(shown.matches_version(version));
        assert!(!shown.matches_version(VersionHash(Digest32::of_bytes(b"another"))));
        for no_version in ["", "1234567", "12345678x", "draft"] {
            assert!(
                no_version.parse::<ExpectedVersion>().is_err(),
                "{no_version}"
            );
        }
    }
}
