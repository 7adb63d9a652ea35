//! The scope that each action needs, in one table for every channel.
//!
//! Commands of a laptop, MCP tools, forms of the dashboard and operations of a replica are looked up
//! here. `docs/reference/scopes.md` is generated from it.

use crate::authorization::Scope;
use crate::operation::Verb;

/// An action with the scope it needs, and how it is called in each channel.
#[derive(Clone, Copy, Debug)]
pub struct ScopedAction {
    pub action: &'static str,
    pub scope: Scope,
    /// The operations it records.
    pub verbs: &'static [Verb],
    pub commands: &'static [&'static str],
    pub tools: &'static [&'static str],
    /// The forms of the dashboard, without `/do/`.
    pub forms: &'static [&'static str],
}

/// Every action that is not named needs [`Scope::Read`] if it only reads, and [`Scope::Agent`]
/// otherwise.
pub const SCOPE_TABLE: &[ScopedAction] = &[
    ScopedAction {
        action: "comment",
        scope: Scope::Agent,
        verbs: &[Verb::Comment],
        commands: &["comment"],
        tools: &["plan_comment"],
        forms: &["comment"],
    },
    ScopedAction {
        action: "set the progress, phase or priority of a plan",
        scope: Scope::Agent,
        verbs: &[Verb::Progress, Verb::Ticket],
        commands: &["progress", "ticket phase", "ticket priority"],
        tools: &[],
        forms: &["progress", "phase", "priority"],
    },
    ScopedAction {
        action: "create a plan or write its text, which anyone who can write the file can do",
        scope: Scope::Agent,
        verbs: &[],
        commands: &["ticket new"],
        tools: &["plan_write"],
        forms: &["edit", "create"],
    },
    ScopedAction {
        action: "move, split, merge or renumber plans",
        scope: Scope::Agent,
        verbs: &[Verb::Reshape, Verb::Renumber],
        commands: &[
            "move", "insert", "add", "split", "merge", "remove", "renumber",
        ],
        tools: &[],
        forms: &["shape"],
    },
    ScopedAction {
        action: "put an earlier text back, which anyone who can write the file can do",
        scope: Scope::Agent,
        verbs: &[Verb::Restore],
        commands: &["restore"],
        tools: &["plan_restore"],
        forms: &["restore"],
    },
    ScopedAction {
        action: "retry or skip a tick",
        scope: Scope::Agent,
        verbs: &[Verb::Tick],
        commands: &["story tick"],
        tools: &[
            "story_tick_begin",
            "story_tick_submit",
            "story_tick_retry",
            "story_tick_skip",
        ],
        forms: &["retry", "skip"],
    },
    ScopedAction {
        action: "ask a person to approve or keep a plan",
        scope: Scope::Agent,
        verbs: &[],
        commands: &[],
        tools: &[
            "plan_approve",
            "plan_keep",
            "update_entity_state (approved)",
        ],
        forms: &[],
    },
    ScopedAction {
        action: "approve",
        scope: Scope::Approve,
        verbs: &[Verb::Approve],
        commands: &["approve"],
        tools: &[],
        forms: &["approve", "approve-plans"],
    },
    ScopedAction {
        action: "keep a stale plan",
        scope: Scope::Approve,
        verbs: &[Verb::Revalidate],
        commands: &["revalidate --keep"],
        tools: &[],
        forms: &["revalidate"],
    },
    ScopedAction {
        action: "request changes, or not decide when asked",
        scope: Scope::Approve,
        verbs: &[Verb::RequestChanges, Verb::Decline],
        commands: &["request-changes"],
        tools: &[],
        forms: &["request-changes", "request-changes-of-plans"],
    },
    ScopedAction {
        action: "reject, or require revalidation of what is below",
        scope: Scope::Approve,
        verbs: &[Verb::Invalidate],
        commands: &["invalidate"],
        tools: &[
            "plan_invalidate",
            "plan_reject",
            "update_entity_state (invalid)",
        ],
        forms: &["condemn"],
    },
    ScopedAction {
        action: "decide about a finding of a review as a person",
        scope: Scope::Approve,
        // An agent records its own verdicts with the same verb; what names a person needs more.
        verbs: &[],
        commands: &["review accept"],
        tools: &["review_accept"],
        forms: &["accept", "pass", "send-back", "conclude"],
    },
    ScopedAction {
        action: "undo an operation",
        scope: Scope::Approve,
        verbs: &[Verb::Undo],
        commands: &["undo"],
        tools: &["work_undo"],
        forms: &["undo"],
    },
    ScopedAction {
        action: "override a gate",
        scope: Scope::Approve,
        verbs: &[Verb::Override],
        commands: &["gate override"],
        tools: &[],
        forms: &[],
    },
    ScopedAction {
        action: "take over a state, or rebuild it, which drops approvals of others",
        scope: Scope::Approve,
        verbs: &[Verb::Adopt, Verb::Rebuild],
        commands: &["state adopt", "state rebuild"],
        tools: &[],
        forms: &[],
    },
    ScopedAction {
        action: "create and revoke tokens",
        scope: Scope::Admin,
        verbs: &[],
        commands: &["team token"],
        tools: &[],
        forms: &[],
    },
];

/// Returns the scope of an operation by its verb alone.
#[must_use]
pub fn scope_of_verb(verb: Verb) -> Scope {
    // Recording anything is more than reading, so an operation never needs less than this.
    find_action(|action| action.verbs.contains(&verb)).unwrap_or(Scope::Agent)
}

/// Returns the scope of a form of the dashboard; a form that is not listed needs the widest that a
/// decision needs.
#[must_use]
pub fn scope_of_form(form: &str) -> Scope {
    // A form that is not listed fails closed.
    find_action(|action| action.forms.contains(&form)).unwrap_or(Scope::Approve)
}

/// Returns the scope of an MCP tool. `case` distinguishes the actions of one tool, such as the status
/// that `update_entity_state` sets.
#[must_use]
pub fn scope_of_tool(tool: &str, case: Option<&str>, is_read_only: bool) -> Scope {
    let with_case = case.map(|case| format!("{tool} ({case})"));
    let is_named = |name: &&str| *name == tool || Some(*name) == with_case.as_deref();
    find_action(|action| action.tools.iter().any(is_named)).unwrap_or(match is_read_only {
        true => Scope::Read,
        false => Scope::Agent,
    })
}

fn find_action(is_meant: impl Fn(&ScopedAction) -> bool) -> Option<Scope> {
    SCOPE_TABLE
        .iter()
        .find(|action| is_meant(action))
        .map(|action| action.scope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_is_in_one_row_only() {
        let mut seen = std::collections::BTreeSet::new();
        for row in SCOPE_TABLE {
            for verb in row.verbs {
                assert!(seen.insert(format!("verb {}", verb.as_str())));
            }
            for (kind, names) in [
                ("command", row.commands),
                ("tool", row.tools),
                ("form", row.forms),
            ] {
                for name in names {
                    assert!(seen.insert(format!("{kind} {name}")), "{kind} {name}");
                }
            }
        }
    }

    #[test]
    fn a_tool_with_two_actions_needs_the_scope_of_the_meant_one() {
        let scope = |case| scope_of_tool("update_entity_state", Some(case), false);
        assert_eq!(scope("approved"), Scope::Agent);
        assert_eq!(scope("invalid"), Scope::Approve);
        assert_eq!(scope("draft"), Scope::Agent);
        assert_eq!(scope_of_tool("plan_state", None, true), Scope::Read);
    }
}
