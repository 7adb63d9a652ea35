//! Who came in at a server, and how far.

use std::fmt;

use crate::ids::Principal;

/// What a token is good for; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// May look.
    Read,
    /// May do what agents do: observe, plan, comment, claim, record its sessions. Nothing that is a person's word.
    Agent,
    /// May also decide: approve, keep, condemn, override, undo.
    Approve,
    /// May also give and take tokens.
    Admin,
}

impl Scope {
    /// Every scope, the narrowest first.
    pub const ALL: [Self; 4] = [Self::Read, Self::Agent, Self::Approve, Self::Admin];

    /// Returns its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Agent => "agent",
            Self::Approve => "approve",
            Self::Admin => "admin",
        }
    }

    /// Reads a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.word() == word)
    }

    /// Says whether this is enough for what asks for `needed`.
    #[must_use]
    pub fn covers(self, needed: Self) -> bool {
        self >= needed
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Somebody a server let in: whatever they do is done in this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    pub principal: Principal,
    pub scope: Scope,
    /// The token they showed, by its number; `None` for who holds the secret the server was started with.
    pub token: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_includes_the_narrower_ones_and_no_wider() {
        for (wide, scope) in Scope::ALL.into_iter().enumerate() {
            assert_eq!(Scope::from_word(scope.word()), Some(scope));
            for (narrow, needed) in Scope::ALL.into_iter().enumerate() {
                assert_eq!(scope.covers(needed), narrow <= wide, "{scope} for {needed}");
            }
        }
        assert_eq!(Scope::from_word("root"), None);
    }
}
