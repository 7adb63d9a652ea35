//! Nodes that mirror a plan document as a tree: plan, milestones, intents.
//!
//! The tree is derived from the document, never the other way round. It exists so that focus,
//! gates, evidence and `tl next` work on plan documents without knowing them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::entity::{EntityKind, entity_value};
use super::model::{CodeIntent, Milestone, Plan};
use crate::node::{Content, Description};

/// A node as the document prescribes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentNode {
    pub level: &'static str,
    pub alias: String,
    pub order: i64,
    pub description: Description,
    /// The node's content.
    pub text: String,
}

impl DocumentNode {
    /// Returns the content of the node.
    #[must_use]
    pub fn node_content(&self) -> Content {
        let (version, canonical) = crate::version::compute_hashes(&self.text);
        Content::Text {
            version,
            canonical,
            basis: None,
        }
    }
}

fn entity_number(id: &str) -> i64 {
    EntityKind::parse_id(id).map_or(0, |(_, number)| i64::from(number))
}

fn describe_title(title: &str) -> Description {
    // Behaviours, which serve as titles of intents, are often several paragraphs long.
    let line = title
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    Description {
        title: Some(line.trim().to_owned()).filter(|title| !title.is_empty()),
        ..Description::default()
    }
}

fn to_pretty_json(value: &Value) -> String {
    // Pretty-printed, because versions of nodes are shown to people as line diffs.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns the root node of a document's tree; `text` is the whole file.
#[must_use]
pub fn plan_node(document: &str, plan: &Plan, text: String) -> DocumentNode {
    let description = describe_title(&plan.overview.title);
    DocumentNode {
        level: "plan",
        alias: document.to_owned(),
        order: 0,
        description,
        text,
    }
}

/// Returns the node of a milestone.
#[must_use]
pub fn milestone_node(plan: &Plan, milestone: &Milestone) -> DocumentNode {
    DocumentNode {
        level: "milestone",
        alias: milestone.id.clone(),
        order: entity_number(&milestone.id),
        description: Description {
            needs: milestone.depends_on.clone(),
            ..describe_title(&milestone.name)
        },
        // Without its intents, which have nodes of their own: editing one must not make its
        // milestone a new version.
        text: to_pretty_json(&entity_value(plan, &milestone.id).unwrap_or_default()),
    }
}

/// Returns the node of an intent, with the code changes that implement it.
#[must_use]
pub fn intent_node(milestone: &Milestone, intent: &CodeIntent) -> DocumentNode {
    let changes: Vec<_> = milestone
        .code_changes
        .iter()
        .filter(|change| change.intent_ref == intent.id)
        .collect();
    DocumentNode {
        level: "intent",
        alias: intent.id.clone(),
        order: entity_number(&intent.id),
        description: describe_title(&intent.behavior),
        text: to_pretty_json(&json!({ "intent": intent, "changes": changes })),
    }
}

/// Returns the ids of milestones that were added, changed or removed.
#[must_use]
pub fn touched_milestones(before: Option<&Plan>, after: &Plan) -> Vec<String> {
    let before = before
        .map(|plan| plan.milestones.as_slice())
        .unwrap_or_default();
    // By id: after an insertion or a removal the later milestones have other positions only.
    let (before, after) = (
        milestones_by_id(before),
        milestones_by_id(&after.milestones),
    );
    let ids: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    ids.into_iter()
        .filter(|id| before.get(id) != after.get(id))
        .map(str::to_owned)
        .collect()
}

fn milestones_by_id(milestones: &[Milestone]) -> BTreeMap<&str, &Milestone> {
    milestones
        .iter()
        .map(|milestone| (milestone.id.as_str(), milestone))
        .collect()
}
