//! Observation: derives facts from the plan files found on disk (change detection).
//!
//! It does not matter who changed a file or how. The caller has scanned and read the files; nothing
//! here does I/O, and statuses are left to the cascade.

use crate::fact::Fact;
use crate::ids::{CanonicalHash, NodeId, VersionHash};
use crate::node::{Content, Description, Node, NodeStatus, Progress, Status};
use crate::time::Timestamp;
use crate::tree::Tree;

/// A plan file as found on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedFile {
    pub place: OwningNode,
    pub found: ObservedContent,
}

/// The node a file belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwningNode {
    Known(NodeId),
    /// A node that is not in the tree yet. Its parent is, or comes earlier in the same list.
    New(NewNode),
    /// An absent node whose file is there again, with the parent and name it has now.
    Returned(Box<Node>),
}

impl OwningNode {
    /// Returns the id of the node.
    #[must_use]
    pub fn node_id(&self) -> NodeId {
        match self {
            Self::Known(id) => *id,
            Self::New(new) => new.id,
            Self::Returned(node) => node.id,
        }
    }
}

/// A node to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNode {
    pub id: NodeId,
    pub parent: Option<NodeId>,
    pub profile: String,
    pub level: String,
    pub alias: String,
    pub order: i64,
    pub path: Option<String>,
}

/// The content of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObservedContent {
    Text {
        version: VersionHash,
        canonical: CanonicalHash,
        description: Description,
    },
    Missing,
    Unreadable {
        why: String,
    },
}

/// Returns the facts for all observed files; `sightings` list a parent before its children.
#[must_use]
pub fn facts_from_observations(
    tree: &Tree,
    sightings: &[ObservedFile],
    now: Timestamp,
) -> Vec<Fact> {
    // Each file by itself, whatever else was found: what several files mean for one another follows
    // from the facts, so it cannot depend on which of them were noticed together.
    let mut facts = Vec::new();
    for sighting in sightings {
        match &sighting.place {
            OwningNode::New(new) => facts.push(node_added_fact(new, &sighting.found, now)),
            OwningNode::Returned(node) => {
                facts.push(node_returned_fact(node, &sighting.found, now));
            }
            OwningNode::Known(id) => {
                if let Some(node) = tree.get(*id) {
                    push_node_changes(node, &sighting.found, &mut facts);
                }
            }
        }
    }
    facts
}

fn node_added_fact(new: &NewNode, found: &ObservedContent, now: Timestamp) -> Fact {
    let description = match found {
        ObservedContent::Text { description, .. } => description.clone(),
        ObservedContent::Missing | ObservedContent::Unreadable { .. } => Description::default(),
    };
    Fact::NodeAdded {
        node: Box::new(Node {
            id: new.id,
            parent: new.parent,
            profile: new.profile.clone(),
            level: new.level.clone(),
            alias: new.alias.clone(),
            order: new.order,
            path: new.path.clone(),
            description,
            content: derive_content(found, None),
            approval: None,
            condemnation: None,
            progress: Progress::Pending,
            // Provisional: the cascade of the same operation derives the real status.
            standing: NodeStatus::without_cause(Status::Draft),
            created_at: now,
            updated_at: now,
        }),
    }
}

/// Returns the fact that an absent node is there again: its approval, progress and status as they
/// were, its content as it is now.
fn node_returned_fact(node: &Node, found: &ObservedContent, now: Timestamp) -> Fact {
    let mut returned = node.clone();
    returned.content = derive_content(found, Some(&node.content));
    if let ObservedContent::Text { description, .. } = found {
        returned.description = description.clone();
    }
    if returned.content != node.content {
        returned.updated_at = now;
    }
    Fact::NodeAdded {
        node: Box::new(returned),
    }
}

fn push_node_changes(node: &Node, found: &ObservedContent, facts: &mut Vec<Fact>) {
    let content = derive_content(found, Some(&node.content));
    // Also when only the formatting changed: it is a new version, though the status stays.
    if content != node.content {
        facts.push(Fact::ContentChanged {
            node: node.id,
            before: node.content.clone(),
            after: content,
        });
    }
    // A file that is missing or unreadable keeps its last description, so that `tl tree` still
    // shows a title.
    if let ObservedContent::Text { description, .. } = found
        && *description != node.description
    {
        facts.push(Fact::DescriptionChanged {
            node: node.id,
            before: node.description.clone(),
            after: description.clone(),
        });
    }
}

fn derive_content(found: &ObservedContent, before: Option<&Content>) -> Content {
    match found {
        ObservedContent::Missing => Content::Missing,
        ObservedContent::Unreadable { why } => Content::Unreadable { why: why.clone() },
        ObservedContent::Text {
            version, canonical, ..
        } => match before {
            // The same text stays as it is recorded, so that reading a file again records nothing
            // even where an earlier program recorded a basis.
            Some(
                known @ Content::Text {
                    version: same,
                    canonical: same_canonical,
                    ..
                },
            ) if same == version && same_canonical == canonical => known.clone(),
            _ => Content::Text {
                version: *version,
                canonical: *canonical,
                basis: None,
            },
        },
    }
}
