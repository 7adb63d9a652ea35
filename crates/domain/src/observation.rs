//! Observation: derives facts from the plan files found on disk (change detection).
//!
//! It does not matter who changed a file or how. The caller has scanned and read the files; nothing
//! here does I/O, and statuses are left to the cascade.

use crate::fact::Fact;
use crate::ids::{CanonicalHash, NodeId, VersionHash};
use crate::node::{Content, Description, Node, NodeStatus, ParentVersion, Progress, Status};
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
        /// Modification time of the file.
        modified_ns: i64,
        /// The basis of exactly this text, if this node has had it before.
        known_basis: Option<Option<ParentVersion>>,
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
    let mut facts = Vec::new();
    for (index, sighting) in sightings.iter().enumerate() {
        let earlier = &sightings[..index];
        match &sighting.place {
            OwningNode::New(new) => {
                facts.push(node_added_fact(tree, earlier, new, &sighting.found, now))
            }
            OwningNode::Known(id) => {
                if let Some(node) = tree.get(*id) {
                    push_node_changes(tree, earlier, node, &sighting.found, &mut facts);
                }
            }
        }
    }
    facts
}

fn node_added_fact(
    tree: &Tree,
    earlier: &[ObservedFile],
    new: &NewNode,
    found: &ObservedContent,
    now: Timestamp,
) -> Fact {
    let parent = new.parent.map(|id| observe_parent(tree, earlier, id));
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
            content: derive_content(found, None, parent.as_ref()),
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

fn push_node_changes(
    tree: &Tree,
    earlier: &[ObservedFile],
    node: &Node,
    found: &ObservedContent,
    facts: &mut Vec<Fact>,
) {
    let parent = node.parent.map(|id| observe_parent(tree, earlier, id));
    let content = derive_content(found, Some(&node.content), parent.as_ref());
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

/// A parent's text before and after this observation.
struct ObservedParent {
    /// The text before this observation.
    before: Option<ParentVersion>,
    now: Option<ParentVersion>,
    /// Modification time of its new text, if it changed in this observation.
    rewritten_ns: Option<i64>,
}

fn observe_parent(tree: &Tree, earlier: &[ObservedFile], id: NodeId) -> ObservedParent {
    let before = tree
        .get(id)
        .and_then(|parent| parent.content.as_parent_version());
    let seen = earlier.iter().rev().find(|sighting| match &sighting.place {
        OwningNode::Known(known) => *known == id,
        OwningNode::New(new) => new.id == id,
    });
    match seen.map(|sighting| &sighting.found) {
        None => ObservedParent {
            before,
            now: before,
            rewritten_ns: None,
        },
        Some(ObservedContent::Text {
            version,
            canonical,
            modified_ns,
            ..
        }) => ObservedParent {
            before,
            now: Some(ParentVersion {
                version: *version,
                canonical: *canonical,
            }),
            rewritten_ns: Some(*modified_ns),
        },
        Some(ObservedContent::Missing | ObservedContent::Unreadable { .. }) => ObservedParent {
            before,
            now: None,
            rewritten_ns: None,
        },
    }
}

fn derive_content(
    found: &ObservedContent,
    before: Option<&Content>,
    parent: Option<&ObservedParent>,
) -> Content {
    match found {
        ObservedContent::Missing => Content::Missing,
        ObservedContent::Unreadable { why } => Content::Unreadable { why: why.clone() },
        ObservedContent::Text {
            version,
            canonical,
            modified_ns,
            known_basis,
            ..
        } => {
            let basis = match (known_basis, before) {
                // A text that comes back (git checkout, restore) was still written against the
                // parent of that time, whatever the parent is now.
                (Some(basis), _) => *basis,
                // A formatting-only edit does not mean that the author saw the new parent.
                (
                    None,
                    Some(Content::Text {
                        canonical: same,
                        basis,
                        ..
                    }),
                ) if same == canonical => *basis,
                (None, _) => parent.and_then(|parent| choose_basis(parent, *modified_ns)),
            };
            Content::Text {
                version: *version,
                canonical: *canonical,
                basis,
            }
        }
    }
}

/// Returns the parent version a new text was written against: the current one, unless both changed
/// since the last observation and the child was written first.
fn choose_basis(parent: &ObservedParent, modified_ns: i64) -> Option<ParentVersion> {
    // Several files may change between two observations. Without the order of their mtimes, a child
    // written before its parent was rewritten would count as up to date.
    match (parent.rewritten_ns, parent.before) {
        (Some(rewritten), Some(before)) if modified_ns < rewritten => Some(before),
        _ => parent.now.or(parent.before),
    }
}
