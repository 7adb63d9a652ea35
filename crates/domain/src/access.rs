//! Who came in at a server, and how far: in whose name they may speak, and what an operation asks of them.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use crate::fact::Fact;
use crate::ids::Principal;
use crate::operation::{Operation, Verb};

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

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        Self::from_word(&word)
            .ok_or_else(|| de::Error::custom(format!("there is no scope `{word}`")))
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

impl Admitted {
    /// Says how far they go in the name of `by`; nothing when that is not theirs to use.
    ///
    /// A person's agents act in their own name, and whoever holds an agent's token may name the session of that host: neither
    /// goes further than an agent may, whatever the token is good for.
    #[must_use]
    pub fn reach_as(&self, by: &Principal) -> Option<Scope> {
        let as_agent = self.scope.min(Scope::Agent);
        match (&self.principal, by) {
            (own, by) if own == by => Some(self.scope),
            // What was observed is nobody's word.
            (_, Principal::System) | (Principal::Human(_), Principal::Agent { .. }) => {
                Some(as_agent)
            }
            (Principal::Agent { host: own, .. }, Principal::Agent { host, .. }) if own == host => {
                Some(as_agent)
            }
            _ => None,
        }
    }
}

/// Returns what an operation asks of whoever brings it: more than an agent has, where it is a person's word.
#[must_use]
pub fn needed_for(operation: &Operation) -> Scope {
    let decides = match operation.verb {
        Verb::Approve
        | Verb::Revalidate
        | Verb::Invalidate
        | Verb::Undo
        | Verb::Override
        | Verb::Adopt => true,
        // Everything anew: nobody else's approval would be left.
        Verb::Rebuild => true,
        Verb::Review | Verb::Flow | Verb::Document => {
            names_newly(operation).iter().any(|by| by.is_human())
        }
        _ => false,
    };
    let words = operation.facts.iter().any(|fact| match fact {
        Fact::ApprovalChanged { before, after, .. } => before != after,
        Fact::CondemnationChanged { before, after, .. } => before != after,
        Fact::UndoneChanged { .. } => true,
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

/// Returns everyone in whose name the records of an operation say something they did not say before.
#[must_use]
pub fn names_newly(operation: &Operation) -> Vec<Principal> {
    let mut named = BTreeSet::new();
    for fact in &operation.facts {
        let Fact::RecordChanged { before, after, .. } = fact else {
            continue;
        };
        let (mut said_before, mut said) = (Vec::new(), Vec::new());
        before
            .iter()
            .for_each(|body| statements(body, &mut said_before));
        after.iter().for_each(|body| statements(body, &mut said));
        named.extend(
            said.iter()
                .filter(|one| !said_before.contains(one))
                .map(|(by, _)| *by),
        );
    }
    named.into_iter().map(Principal::from).collect()
}

/// Finds everything in a record that says who said it.
fn statements<'v>(body: &'v Value, found: &mut Vec<(&'v str, &'v Value)>) {
    match body {
        Value::Object(fields) => {
            if let Some(by) = fields.get("by").and_then(Value::as_str) {
                found.push((by, body));
            }
            fields.values().for_each(|value| statements(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| statements(item, found)),
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
    use crate::time::Timestamp;

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
        let admitted = |principal: &str, scope| Admitted {
            principal: principal.into(),
            scope,
            token: Some(1),
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
                admitted(token, scope).reach_as(&by.into()),
                reach,
                "{token} as {by}"
            );
        }
    }

    #[test]
    fn a_persons_word_asks_for_more_whatever_the_operation_is_called() {
        let plain = operation(Verb::Observe, Vec::new());
        assert_eq!(needed_for(&plain), Scope::Agent);
        for verb in [
            Verb::Approve,
            Verb::Revalidate,
            Verb::Invalidate,
            Verb::Undo,
            Verb::Override,
            Verb::Rebuild,
        ] {
            assert_eq!(
                needed_for(&operation(verb, Vec::new())),
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
            needed_for(&operation(Verb::Progress, vec![undone])),
            Scope::Approve
        );
        let by = |name: &str| json!({ "items": [{ "judged": { "by": name } }] });
        let person = operation(Verb::Review, vec![said(None, Some(by("human:anna")))]);
        assert_eq!(needed_for(&person), Scope::Approve);
        let agent = operation(Verb::Review, vec![said(None, Some(by("agent:ci/1")))]);
        assert_eq!(needed_for(&agent), Scope::Agent);
        // What a person said before stays said.
        let kept = operation(
            Verb::Review,
            vec![said(Some(by("human:anna")), Some(by("human:anna")))],
        );
        assert_eq!(
            (needed_for(&kept), names_newly(&kept)),
            (Scope::Agent, Vec::new())
        );
        let other_words =
            json!({ "items": [{ "judged": { "by": "human:anna", "because": "forged" } }] });
        let changed = operation(
            Verb::Review,
            vec![said(Some(by("human:anna")), Some(other_words))],
        );
        assert_eq!(names_newly(&changed), [Principal::Human("anna".to_owned())]);
    }
}
