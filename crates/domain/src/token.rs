//! Tokens for those who come in at a server: what is kept of one, when it is good, and what is noted of its use.
//!
//! Pure. Secrets are made by the edge; the time is given.

use serde::Serialize;

use crate::access::{Admitted, Scope};
use crate::ids::{Digest32, Principal};
use crate::time::Timestamp;

/// What every secret of a token begins with, so that one that got lost is recognised for what it is.
pub const SECRET_PREFIX: &str = "tl_";

/// The longest name of a token.
pub const LONGEST_NAME: usize = 100;

/// Returns what is kept of a secret: enough to know it again, not enough to say it.
#[must_use]
pub fn secret_hash(secret: &str) -> Digest32 {
    Digest32::of(secret.as_bytes())
}

/// Returns what a browser is given in place of the secret. The secret cannot be found from it; of it, too, only the
/// hash is kept, so that any server on the database knows it again and nobody who reads the database can make it.
#[must_use]
pub fn cookie_of(secret: &str) -> String {
    Digest32::of(format!("a browser that showed {secret}").as_bytes()).to_string()
}

/// A token as it is kept. Its secret is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub id: u64,
    pub name: String,
    /// In whose name everything is done that is done with it.
    pub principal: Principal,
    pub scope: Scope,
    /// The hash of the secret, and of what a browser gets for it.
    pub hash: Digest32,
    pub cookie: Digest32,
    pub created_at: Timestamp,
    pub created_by: Principal,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// To the minute.
    pub last_used_at: Option<Timestamp>,
}

/// Whether a token is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenState {
    Valid,
    Expired,
    Revoked,
}

impl Token {
    /// Says whether it is good at a moment of the database's clock.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> TokenState {
        match (self.revoked_at, self.expires_at) {
            (Some(_), _) => TokenState::Revoked,
            (None, Some(end)) if end <= now => TokenState::Expired,
            (None, _) => TokenState::Valid,
        }
    }

    /// Returns who comes in with it.
    #[must_use]
    pub fn admitted(&self) -> Admitted {
        Admitted {
            principal: self.principal.clone(),
            scope: self.scope,
            token: Some(self.id),
        }
    }
}

/// Why a token is not given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefused {
    #[error("a token needs a name of at most {LONGEST_NAME} characters, on one line")]
    Name,
    #[error("`{0}` is nobody: expected `human:NAME` or `agent:HOST/SESSION`")]
    Principal(String),
    #[error("an agent's token cannot have the scope `{0}`: an agent is never a person's word")]
    AgentDecides(Scope),
}

/// A token about to be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    pub name: String,
    pub principal: Principal,
    pub scope: Scope,
}

impl NewToken {
    /// Decides whether there may be such a token. `principal` is read strictly: a name that is written wrong would be
    /// somebody else's.
    ///
    /// # Errors
    /// [`TokenRefused`].
    pub fn decide(name: &str, principal: &str, scope: Scope) -> Result<Self, TokenRefused> {
        let name = name.trim();
        if name.is_empty()
            || name.chars().count() > LONGEST_NAME
            || name.chars().any(char::is_control)
        {
            return Err(TokenRefused::Name);
        }
        let nobody = || TokenRefused::Principal(principal.to_owned());
        let is_word = |word: &str| {
            (1..=LONGEST_NAME).contains(&word.chars().count())
                && word.trim() == word
                && !word.chars().any(|c| c.is_control() || c == '/')
        };
        let read = Principal::from(principal);
        match &read {
            Principal::Human(person) if principal.starts_with("human:") && is_word(person) => {}
            Principal::Agent { host, session } if is_word(host) && is_word(session) => {
                if scope > Scope::Agent {
                    return Err(TokenRefused::AgentDecides(scope));
                }
            }
            _ => return Err(nobody()),
        }
        Ok(Self {
            name: name.to_owned(),
            principal: read,
            scope,
        })
    }
}

/// Something about the use of a server that is worth keeping: what was changed, and who was turned away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audited {
    pub at: Timestamp,
    /// Who; nothing where it was not found out.
    pub principal: Option<Principal>,
    pub token: Option<u64>,
    /// What was asked for: `POST /do/approve`, `mcp approve_entity`, `token create`.
    pub action: String,
    /// What became of it: a word or a status of HTTP.
    pub outcome: String,
    pub detail: String,
    /// From where, as far as it is known.
    pub from: String,
    /// The trace the request belongs to, as it said itself.
    pub trace: Option<String>,
    /// How often, where many of a kind are one line.
    pub times: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_never_a_persons_word() {
        for scope in Scope::ALL {
            let agent = NewToken::decide("ci", "agent:ci/1", scope);
            assert_eq!(agent.is_ok(), scope <= Scope::Agent, "{scope}");
            assert!(NewToken::decide("laptop", "human:anna", scope).is_ok());
        }
    }

    #[test]
    fn nobody_gets_a_token_by_a_slip() {
        for principal in [
            "anna",
            "system",
            "human:",
            "human: anna",
            "agent:ci",
            "agent:/1",
            "agent:ci/",
            "agent:a/b/c",
        ] {
            let refused = NewToken::decide("name", principal, Scope::Read);
            assert_eq!(refused, Err(TokenRefused::Principal(principal.to_owned())));
        }
        for name in ["", "  ", "a\nb", &"x".repeat(101)] {
            assert_eq!(
                NewToken::decide(name, "human:anna", Scope::Read),
                Err(TokenRefused::Name),
                "{name}"
            );
        }
    }

    #[test]
    fn a_token_ends_when_it_says_or_when_it_is_taken_back() {
        let at = Timestamp::from_millis;
        let token = |expires, revoked: Option<i64>| Token {
            id: 1,
            name: "laptop".to_owned(),
            principal: Principal::Human("anna".to_owned()),
            scope: Scope::Read,
            hash: secret_hash("tl_a"),
            cookie: secret_hash(&cookie_of("tl_a")),
            created_at: at(0),
            created_by: Principal::System,
            expires_at: Option::map(expires, at),
            revoked_at: revoked.map(at),
            last_used_at: None,
        };
        assert_eq!(
            token(None, None).state(at(i64::from(u32::MAX))),
            TokenState::Valid
        );
        assert_eq!(token(Some(10), None).state(at(9)), TokenState::Valid);
        assert_eq!(token(Some(10), None).state(at(10)), TokenState::Expired);
        assert_eq!(token(Some(10), Some(5)).state(at(3)), TokenState::Revoked);
    }

    #[test]
    fn what_a_browser_gets_is_not_what_opens_the_door_to_programs() {
        let secret = "tl_secret";
        assert_ne!(secret_hash(&cookie_of(secret)), secret_hash(secret));
        assert!(!cookie_of(secret).contains("secret"));
    }
}
