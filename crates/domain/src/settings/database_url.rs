//! Connection URL of a shared database, redacted wherever it is displayed or serialised.

use serde::{Deserialize, Serialize};

/// A database URL that may contain a password; empty if none is configured. `Display`, `Debug` and
/// `Serialize` omit the password and the query, so that no log or JSON output can leak it.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// Wraps a URL without validating it; the database driver does that.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self(url.trim().to_owned())
    }

    /// Whether a URL is configured.
    #[must_use]
    pub fn is_set(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns the URL with its password, for connecting.
    #[must_use]
    pub fn reveal_url(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The query may hold a password too (`?password=…`).
        let hidden = |text: &str| text.split(['?', '#']).next().unwrap_or_default().to_owned();
        match self.0.split_once("://") {
            // A password may contain an `@`: the host follows the last one.
            Some((scheme, rest)) => match rest.rsplit_once('@') {
                Some((who, place)) => {
                    let user = who.split(':').next().unwrap_or_default();
                    write!(f, "{scheme}://{user}@{}", hidden(place))
                }
                None => write!(f, "{scheme}://{}", hidden(rest)),
            },
            None if self.0.is_empty() => Ok(()),
            // Without a scheme the parts cannot be told apart, so nothing of it is shown.
            None => f.write_str("the given database"),
        }
    }
}

impl std::fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Debug output ends up in logs and panics, so it is redacted too.
        write!(f, "\"{self}\"")
    }
}

impl Serialize for DatabaseUrl {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
