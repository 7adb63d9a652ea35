//! Observation: derives facts from the plan files found on disk (change detection).
//!
//! It does not matter who changed a file or how. The caller has scanned and read the files; nothing
//! here does I/O, and statuses are left to the cascade.

use crate::fact::Fact;
use crate::ids::{CanonicalHash, NodeId, VersionHash};
use crate::node::{Content, Description, Node, ParentVersion, Progress, Standing, Status};
use crate::time::Timestamp;
use crate::tree::Tree;

/// A plan file as found on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    pub place: Place,
    pub found: Found,
}

/// The node a file belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
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
pub enum Found {
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
pub fn decide(tree: &Tree, sightings: &[Sighting], now: Timestamp) -> Vec<Fact> {
    let mut facts = Vec::new();
    for (index, sighting) in sightings.iter().enumerate() {
        let earlier = &sightings[..index];
        match &sighting.place {
            Place::New(new) => facts.push(added(tree, earlier, new, &sighting.found, now)),
            Place::Known(id) => {
                if let Some(node) = tree.get(*id) {
                    changed(tree, earlier, node, &sighting.found, &mut facts);
                }
            }
        }
    }
    facts
}

fn added(tree: &Tree, earlier: &[Sighting], new: &NewNode, found: &Found, now: Timestamp) -> Fact {
    let parent = new.parent.map(|id| parent_now(tree, earlier, id));
    let description = match found {
        Found::Text { description, .. } => description.clone(),
        Found::Missing | Found::Unreadable { .. } => Description::default(),
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
            content: content_of(found, None, parent.as_ref()),
            approval: None,
            condemnation: None,
            progress: Progress::Pending,
            // Provisional: the cascade of the same operation derives the real status.
            standing: Standing::plain(Status::Draft),
            created_at: now,
            updated_at: now,
        }),
    }
}

fn changed(tree: &Tree, earlier: &[Sighting], node: &Node, found: &Found, facts: &mut Vec<Fact>) {
    let parent = node.parent.map(|id| parent_now(tree, earlier, id));
    let content = content_of(found, Some(&node.content), parent.as_ref());
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
    if let Found::Text { description, .. } = found
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
struct ParentNow {
    /// The text before this observation.
    before: Option<ParentVersion>,
    now: Option<ParentVersion>,
    /// Modification time of its new text, if it changed in this observation.
    rewritten_ns: Option<i64>,
}

fn parent_now(tree: &Tree, earlier: &[Sighting], id: NodeId) -> ParentNow {
    let before = tree.get(id).and_then(|parent| parent.content.as_parent());
    let seen = earlier.iter().rev().find(|sighting| match &sighting.place {
        Place::Known(known) => *known == id,
        Place::New(new) => new.id == id,
    });
    match seen.map(|sighting| &sighting.found) {
        None => ParentNow {
            before,
            now: before,
            rewritten_ns: None,
        },
        Some(Found::Text {
            version,
            canonical,
            modified_ns,
            ..
        }) => ParentNow {
            before,
            now: Some(ParentVersion {
                version: *version,
                canonical: *canonical,
            }),
            rewritten_ns: Some(*modified_ns),
        },
        Some(Found::Missing | Found::Unreadable { .. }) => ParentNow {
            before,
            now: None,
            rewritten_ns: None,
        },
    }
}

fn content_of(found: &Found, before: Option<&Content>, parent: Option<&ParentNow>) -> Content {
    match found {
        Found::Missing => Content::Missing,
        Found::Unreadable { why } => Content::Unreadable { why: why.clone() },
        Found::Text {
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
                (None, _) => parent.and_then(|parent| written_against(parent, *modified_ns)),
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
fn written_against(parent: &ParentNow, modified_ns: i64) -> Option<ParentVersion> {
    // Several files may change between two observations. Without the order of their mtimes, a child
    // written before its parent was rewritten would count as up to date.
    match (parent.rewritten_ns, parent.before) {
        (Some(rewritten), Some(before)) if modified_ns < rewritten => Some(before),
        _ => parent.now.or(parent.before),
    }
}
