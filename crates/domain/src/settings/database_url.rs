//! The address of a shared database, which nobody sees with its password.

use serde::{Deserialize, Serialize};

/// Where a shared database is; empty when nobody said. It may hold a password: it is written and shown without it.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// Takes an address as it was given.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self(url.trim().to_owned())
    }

    /// Says whether one is named at all.
    #[must_use]
    pub fn is_given(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns it whole, for who connects.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hidden = |text: &str| text.split(['?', '#']).next().unwrap_or_default().to_owned();
        match self.0.split_once("://") {
            // A password may hold an `@`: the host follows the last one.
            Some((scheme, rest)) => match rest.rsplit_once('@') {
                Some((who, place)) => {
                    let user = who.split(':').next().unwrap_or_default();
                    write!(f, "{scheme}://{user}@{}", hidden(place))
                }
                None => write!(f, "{scheme}://{}", hidden(rest)),
            },
            None => f.write_str("the given database"),
        }
    }
}

impl std::fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl Serialize for DatabaseUrl {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
