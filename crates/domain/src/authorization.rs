//! Authorization: the authenticated principal, its scope, and the scope each operation requires.
//!
//! Authentication (tokens, cookies, the server's secret) is done by the server. Nothing here checks
//! a secret.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use crate::fact::Fact;
use crate::ids::Principal;
use crate::operation::{Operation, Verb};
use crate::scope_table::scope_of_verb;
use crate::time::Timestamp;

/// Scope of a token; each scope includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Read access.
    Read,
    /// What agents do: observe, plan, comment, claim, record sessions. No decisions.
    Agent,
    /// Also decisions: approve, keep, condemn, override, undo.
    Approve,
    /// Also creating and revoking tokens.
    Admin,
}

impl Scope {
    /// Every scope, the narrowest first.
    pub const ALL: [Self; 4] = [Self::Read, Self::Agent, Self::Approve, Self::Admin];

    /// Returns the name used in JSON and on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Agent => "agent",
            Self::Approve => "approve",
            Self::Admin => "admin",
        }
    }

    /// Returns how a caller gets what needs this scope: with a token of their own, or by a person where no
    /// token of theirs may have it.
    #[must_use]
    pub fn describe_access(self, caller: &Principal) -> String {
        match caller.is_human() || self <= Self::Agent {
            true => {
                format!("ask for a token: tl team token create NAME --as {caller} --scope {self}")
            }
            false => "ask the person to decide it on the dashboard or in a terminal".to_owned(),
        }
    }

    /// Parses a scope's name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }

    /// Whether this scope permits what requires `needed`.
    #[must_use]
    pub fn is_sufficient_for(self, needed: Self) -> bool {
        self >= needed
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        Self::from_word(&word).ok_or_else(|| de::Error::custom(format!("unknown scope `{word}`")))
    }
}

/// An authenticated client; its operations are recorded in the name of `principal`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticatedPrincipal {
    pub principal: Principal,
    pub scope: Scope,
    /// What it showed.
    pub credential: CredentialKind,
}

/// What a client was authenticated by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialKind {
    /// The server's start-up secret, which belongs to the user who started it.
    StartupSecret,
    /// A stored token, by its id.
    Token(u64),
    /// An access token of the OAuth issuer.
    AccessToken { expires_at: Timestamp },
}

impl AuthenticatedPrincipal {
    /// Returns the id of a stored token.
    #[must_use]
    pub fn token_id(&self) -> Option<u64> {
        match self.credential {
            CredentialKind::Token(id) => Some(id),
            CredentialKind::StartupSecret | CredentialKind::AccessToken { .. } => None,
        }
    }

    /// Whether the client has the secret of the user who started the server.
    #[must_use]
    pub fn is_local_user(&self) -> bool {
        self.credential == CredentialKind::StartupSecret
    }

    /// Returns the scope the client has when it acts as `by`; `None` if it may not use that name.
    ///
    /// A person's token may act as an agent, and an agent's token as another session of its host;
    /// both are then limited to [`Scope::Agent`].
    #[must_use]
    pub fn scope_acting_as(&self, by: &Principal) -> Option<Scope> {
        // Capped even for a token with scope `admin`: what is recorded as an agent's must be what
        // an agent may do, or the history could not be trusted.
        let as_agent = self.scope.min(Scope::Agent);
        match (&self.principal, by) {
            (own, by) if own == by => Some(self.scope),
            // Observations are recorded as `system`; they contain no decision.
            (_, Principal::System) | (Principal::Human(_), Principal::Agent { .. }) => {
                Some(as_agent)
            }
            // The token names one session, but a host starts a new one for every conversation.
            (Principal::Agent { host: own, .. }, Principal::Agent { host, .. }) if own == host => {
                Some(as_agent)
            }
            _ => None,
        }
    }
}

/// What an accepted push decided, for the audit log; an extension of its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditDetail(pub String);

/// Returns the scope an operation requires: `approve` if it contains a decision, else `agent`.
#[must_use]
pub fn required_scope(operation: &Operation) -> Scope {
    let decides = match operation.verb {
        // Agents record reviews and workflow moves as well; only what is attributed to a person is
        // a decision.
        Verb::Review | Verb::Flow | Verb::Document => newly_named_principals(operation)
            .iter()
            .any(|by| by.is_human()),
        verb => scope_of_verb(verb) == Scope::Approve,
    };
    // The verb is chosen by the client. The facts are what is recorded, so a decision in them
    // counts whatever the operation is called.
    let words = operation.facts.iter().any(|fact| match fact {
        Fact::ApprovalChanged { before, after, .. } => before != after,
        Fact::CondemnationChanged { before, after, .. } => before != after,
        Fact::UndoneChanged { .. } => true,
        // An added node could carry an approval along, and a removed one take it away.
        Fact::NodeAdded { node } | Fact::NodeRemoved { node } => {
            node.approval.is_some() || node.condemnation.is_some()
        }
        _ => false,
    });
    if decides || words {
        Scope::Approve
    } else {
        Scope::Agent
    }
}

/// Returns the principals to whom the operation's records newly attribute a statement.
///
/// A server refuses an operation that adds a statement in the name of another person.
#[must_use]
pub fn newly_named_principals(operation: &Operation) -> Vec<Principal> {
    let mut named = BTreeSet::new();
    for fact in &operation.facts {
        let Fact::RecordChanged { before, after, .. } = fact else {
            continue;
        };
        // The whole statement is compared, not only the name: changing the words of an existing
        // statement forges it just as well.
        let (mut said_before, mut said) = (Vec::new(), Vec::new());
        before
            .iter()
            .for_each(|body| collect_statements(body, &mut said_before));
        after
            .iter()
            .for_each(|body| collect_statements(body, &mut said));
        named.extend(
            said.iter()
                .filter(|one| !said_before.contains(one))
                .map(|(by, _)| *by),
        );
    }
    named.into_iter().map(Principal::from).collect()
}

/// Collects every object of a record that has an author (`by`).
fn collect_statements<'v>(body: &'v Value, found: &mut Vec<(&'v str, &'v Value)>) {
    match body {
        Value::Object(fields) => {
            if let Some(by) = fields.get("by").and_then(Value::as_str) {
                found.push((by, body));
            }
            fields
                .values()
                .for_each(|value| collect_statements(value, found));
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_statements(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ids::OperationId;
    use crate::operation::Channel;
    use crate::record::RecordKey;

    #[test]
    fn a_scope_includes_the_narrower_ones_and_no_wider() {
        for (wide, scope) in Scope::ALL.into_iter().enumerate() {
            assert_eq!(Scope::from_word(scope.as_str()), Some(scope));
            for (narrow, needed) in Scope::ALL.into_iter().enumerate() {
                assert_eq!(
                    scope.is_sufficient_for(needed),
                    narrow <= wide,
                    "{scope} for {needed}"
                );
            }
        }
        assert_eq!(Scope::from_word("root"), None);
    }

    fn operation(verb: Verb, facts: Vec<Fact>) -> Operation {
        Operation {
            id: OperationId(1),
            at: Timestamp::from_millis(0),
            by: Principal::System,
            channel: Channel::Cli,
            verb,
            summary: String::new(),
            key: None,
            facts,
        }
    }

    fn said(before: Option<Value>, after: Option<Value>) -> Fact {
        let record = RecordKey {
            kind: "review".to_owned(),
            key: "1".to_owned(),
        };
        Fact::RecordChanged {
            record,
            before,
            after,
        }
    }

    #[test]
    fn nobody_speaks_in_a_name_that_is_not_theirs() {
        let admitted = |principal: &str, scope| AuthenticatedPrincipal {
            principal: principal.into(),
            scope,
            credential: CredentialKind::Token(1),
        };
        for (token, scope, by, reach) in [
            (
                "human:anna",
                Scope::Approve,
                "human:anna",
                Some(Scope::Approve),
            ),
            ("human:anna", Scope::Read, "human:anna", Some(Scope::Read)),
            ("human:anna", Scope::Admin, "human:bob", None),
            (
                "human:anna",
                Scope::Admin,
                "agent:claude-code/7",
                Some(Scope::Agent),
            ),
            ("human:anna", Scope::Admin, "system", Some(Scope::Agent)),
            ("human:anna", Scope::Read, "system", Some(Scope::Read)),
            ("agent:ci/1", Scope::Agent, "agent:ci/2", Some(Scope::Agent)),
            ("agent:ci/1", Scope::Agent, "agent:cursor/2", None),
            ("agent:ci/1", Scope::Agent, "human:anna", None),
        ] {
            assert_eq!(
                admitted(token, scope).scope_acting_as(&by.into()),
                reach,
                "{token} as {by}"
            );
        }
    }

    #[test]
    fn a_persons_word_asks_for_more_whatever_the_operation_is_called() {
        let plain = operation(Verb::Observe, Vec::new());
        assert_eq!(required_scope(&plain), Scope::Agent);
        for verb in [
            Verb::Approve,
            Verb::Revalidate,
            Verb::Invalidate,
            Verb::RequestChanges,
            Verb::Undo,
            Verb::Override,
            Verb::Rebuild,
        ] {
            assert_eq!(
                required_scope(&operation(verb, Vec::new())),
                Scope::Approve,
                "{verb:?}"
            );
        }
        let undone = Fact::UndoneChanged {
            operation: OperationId(1),
            before: None,
            after: Some(OperationId(2)),
        };
        assert_eq!(
            required_scope(&operation(Verb::Progress, vec![undone])),
            Scope::Approve
        );
        let by = |name: &str| json!({ "items": [{ "judged": { "by": name } }] });
        let person = operation(Verb::Review, vec![said(None, Some(by("human:anna")))]);
        assert_eq!(required_scope(&person), Scope::Approve);
        let agent = operation(Verb::Review, vec![said(None, Some(by("agent:ci/1")))]);
        assert_eq!(required_scope(&agent), Scope::Agent);
        // An unchanged statement of a person needs no decision.
        let kept = operation(
            Verb::Review,
            vec![said(Some(by("human:anna")), Some(by("human:anna")))],
        );
        assert_eq!(
            (required_scope(&kept), newly_named_principals(&kept)),
            (Scope::Agent, Vec::new())
        );
        let other_words =
            json!({ "items": [{ "judged": { "by": "human:anna", "because": "forged" } }] });
        let changed = operation(
            Verb::Review,
            vec![said(Some(by("human:anna")), Some(other_words))],
        );
        assert_eq!(
            newly_named_principals(&changed),
            [Principal::Human("anna".to_owned())]
        );
    }
}
