//! A plan document as a tree: the plan, its milestones, their intents.
//!
//! The tree follows the document and never leads: it is what focus, gates, evidence and `tl next` work on.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::entity::{EntityKind, entity_value};
use super::model::{CodeIntent, Milestone, Plan};
use crate::node::{Content, Description};

/// A node as the document wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirrored {
    pub level: &'static str,
    pub alias: String,
    pub order: i64,
    pub description: Description,
    /// What the node says.
    pub text: String,
}

impl Mirrored {
    /// Returns the content of its node. It rests on no text of its parent: the plan is one text, written as a whole.
    #[must_use]
    pub fn content(&self) -> Content {
        let (version, canonical) = crate::version::hashes(&self.text);
        Content::Text {
            version,
            canonical,
            basis: None,
        }
    }
}

fn number(id: &str) -> i64 {
    EntityKind::of_id(id).map_or(0, |(_, number)| i64::from(number))
}

fn titled(title: &str) -> Description {
    let line = title
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    Description {
        title: Some(line.trim().to_owned()).filter(|title| !title.is_empty()),
        ..Description::default()
    }
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns the root of a document's tree; `text` is that of the whole file.
#[must_use]
pub fn plan_node(document: &str, plan: &Plan, text: String) -> Mirrored {
    let description = titled(&plan.overview.title);
    Mirrored {
        level: "plan",
        alias: document.to_owned(),
        order: 0,
        description,
        text,
    }
}

/// Returns the node of a milestone.
#[must_use]
pub fn milestone_node(plan: &Plan, milestone: &Milestone) -> Mirrored {
    Mirrored {
        level: "milestone",
        alias: milestone.id.clone(),
        order: number(&milestone.id),
        description: Description {
            needs: milestone.depends_on.clone(),
            ..titled(&milestone.name)
        },
        text: pretty(&entity_value(plan, &milestone.id).unwrap_or_default()),
    }
}

/// Returns the node of an intent, with the changes that carry it out.
#[must_use]
pub fn intent_node(milestone: &Milestone, intent: &CodeIntent) -> Mirrored {
    let changes: Vec<_> = milestone
        .code_changes
        .iter()
        .filter(|change| change.intent_ref == intent.id)
        .collect();
    Mirrored {
        level: "intent",
        alias: intent.id.clone(),
        order: number(&intent.id),
        description: titled(&intent.behavior),
        text: pretty(&json!({ "intent": intent, "changes": changes })),
    }
}

/// Returns the milestones that are new, changed or gone.
#[must_use]
pub fn touched_milestones(before: Option<&Plan>, after: &Plan) -> Vec<String> {
    let before = before
        .map(|plan| plan.milestones.as_slice())
        .unwrap_or_default();
    // Mostly one of many is another one: those at the same place are compared first.
    let mut touched: BTreeSet<&str> = BTreeSet::new();
    for at in 0..before.len().max(after.milestones.len()) {
        let (old, new) = (before.get(at), after.milestones.get(at));
        if old != new {
            touched.extend(
                old.into_iter()
                    .chain(new)
                    .map(|milestone| milestone.id.as_str()),
            );
        }
    }
    touched.into_iter().map(str::to_owned).collect()
}
