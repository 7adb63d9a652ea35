//! Facts of a shape change, and which approvals it carries.
//!
//! An approval is bound to a text below a parent's text. A shape change that only rewrites references
//! says nothing new, so the approval is bound to the rewritten texts where both were the approved ones;
//! everywhere else the ordinary rule makes the plan a draft or stale.

use std::collections::HashMap;

use super::Layout;
use crate::approval::{Approval, Condemnation};
use crate::fact::Fact;
use crate::ids::NodeId;
use crate::node::{Content, Node, ParentVersion, Progress};
use crate::observation::{
    NewNode, ObservedContent, ObservedFile, OwningNode, facts_from_observations,
};
use crate::time::Timestamp;
use crate::tree::Tree;

/// The texts a shape change writes.
#[derive(Clone, Debug, Default)]
pub struct ShapeTexts {
    /// Texts that differ only in references.
    pub rewritten: HashMap<NodeId, ObservedContent>,
    /// Texts with other words: of a split, merged or retitled plan.
    pub reworded: HashMap<NodeId, ObservedContent>,
    /// The text of the new plan.
    pub added: Option<ObservedContent>,
    /// Whether approvals of rewritten texts are carried.
    pub carries_rewritten: bool,
}

/// Returns the facts of a layout and its texts, in an order in which each can be applied. Statuses
/// are left to the cascade.
#[must_use]
pub fn decide_shape_facts(
    tree: &Tree,
    layout: &Layout,
    texts: &ShapeTexts,
    now: Timestamp,
) -> Vec<Fact> {
    let mut sightings = Vec::new();
    if let (Some(added), Some(found)) = (&layout.added, &texts.added) {
        let place = OwningNode::New(NewNode {
            id: added.id,
            parent: added.parent,
            profile: added.profile.clone(),
            level: added.level.clone(),
            alias: added.name.alias.clone(),
            order: added.name.order,
            path: added.name.path.clone(),
        });
        sightings.push(ObservedFile {
            place,
            found: found.clone(),
        });
    }
    let mut changed: Vec<(&NodeId, &ObservedContent)> =
        texts.rewritten.iter().chain(&texts.reworded).collect();
    changed.sort_by_key(|(id, _)| **id);
    sightings.extend(changed.into_iter().map(|(id, found)| ObservedFile {
        place: OwningNode::Known(*id),
        found: found.clone(),
    }));
    let mut facts = facts_from_observations(tree, &sightings, now);
    // After the new node, below which others may move, and parents first, as the layout lists them.
    for change in &layout.changes {
        if change.parent_before != change.parent_after {
            facts.push(Fact::NodeMoved {
                node: change.node,
                before: change.parent_before,
                after: change.parent_after,
            });
        }
        if change.before != change.after {
            facts.push(Fact::NodeRenamed {
                node: change.node,
                before: change.before.clone(),
                after: change.after.clone(),
            });
        }
    }
    push_verdict_facts(tree, layout, texts, &mut facts);
    facts.extend(reopen_merged_plan(tree, layout));
    let removed = layout.removed.iter().filter_map(|id| tree.get(*id));
    facts.extend(removed.map(|node| {
        // A removal says exactly what is removed, so it has to name the text as the facts before
        // left it.
        let mut node = node.clone();
        if let Some(found) = texts.rewritten.get(&node.id) {
            node.content = to_content(found, &node.content);
        }
        Fact::NodeRemoved {
            node: Box::new(node),
        }
    }));
    facts
}

/// Opens a complete plan that takes over what was not complete. Tickets say in their files how far they
/// are.
fn reopen_merged_plan(tree: &Tree, layout: &Layout) -> Option<Fact> {
    let (old, new) = layout.replaced?;
    let (old, new) = (tree.get(old)?, tree.get(new)?);
    let is_done = |node: &Node| node.progress == Progress::Complete;
    let is_reopened = is_done(new) && !is_done(old) && new.description.work.is_none();
    is_reopened.then_some(Fact::ProgressChanged {
        node: new.id,
        before: new.progress,
        after: Progress::Active,
    })
}

/// Adds the facts that bind approvals and condemnations to the rewritten texts.
fn push_verdict_facts(tree: &Tree, layout: &Layout, texts: &ShapeTexts, facts: &mut Vec<Fact>) {
    let moved: HashMap<NodeId, (Option<NodeId>, Option<NodeId>)> = layout
        .changes
        .iter()
        .map(|change| (change.node, (change.parent_before, change.parent_after)))
        .collect();
    let after = |node: &Node| match texts.rewritten.get(&node.id) {
        Some(found) if texts.carries_rewritten => to_content(found, &node.content),
        _ => node.content.clone(),
    };
    let mut nodes: Vec<&Node> = tree
        .nodes()
        .filter(|node| node.approval.is_some() || node.condemnation.is_some())
        .filter(|node| !layout.removed.contains(&node.id))
        .collect();
    // In a definite order: the same change has the same facts on every machine.
    nodes.sort_by_key(|node| node.id);
    for node in nodes {
        let (before, now) = moved
            .get(&node.id)
            .copied()
            .unwrap_or((node.parent, node.parent));
        // Below another parent nothing is carried: nobody compared the text with that one.
        let parent = before
            .filter(|_| before == now)
            .and_then(|parent| tree.get(parent))
            .map(|parent| (&parent.content, after(parent)));
        if let Some(approval) = &node.approval {
            // Without a parent there is no text an approval below one could be compared with.
            let keeps = before.is_some() == now.is_some();
            let parent = parent.as_ref().map(|(old, new)| (*old, new));
            let bound =
                keeps.then(|| rebind_approval(approval, (&node.content, &after(node)), parent));
            if bound.as_ref() != Some(approval) {
                facts.push(Fact::ApprovalChanged {
                    node: node.id,
                    before: node.approval.clone(),
                    after: bound,
                });
            }
        }
        if let Some(condemnation) = &node.condemnation {
            // Also where an approval is not carried: an objection that follows makes nothing looser.
            let new = match texts.rewritten.get(&node.id) {
                Some(found) => to_content(found, &node.content),
                None => node.content.clone(),
            };
            // An objection to an older text was answered by this one and stays bound to what it was
            // about.
            let is_of_text = condemnation.canonical.is_some()
                && condemnation.canonical == node.content.canonical_hash();
            if is_of_text && new.canonical_hash() != condemnation.canonical {
                facts.push(Fact::CondemnationChanged {
                    node: node.id,
                    before: node.condemnation.clone(),
                    after: Some(Condemnation {
                        canonical: new.canonical_hash(),
                        ..condemnation.clone()
                    }),
                });
            }
        }
    }
}

/// Returns an approval for texts that differ from the approved ones in references alone. Each pair is
/// a content before and after.
#[must_use]
pub fn rebind_approval(
    approval: &Approval,
    text: (&Content, &Content),
    parent: Option<(&Content, &Content)>,
) -> Approval {
    let mut bound = approval.clone();
    // Only where the text before was the approved one: otherwise it was a draft already, and must
    // remain one.
    if text.0.canonical_hash() == Some(approval.canonical)
        && let Content::Text {
            version, canonical, ..
        } = text.1
        && *canonical != approval.canonical
    {
        (bound.version, bound.canonical) = (*version, *canonical);
    }
    let against = approval.parent.map(|parent| parent.canonical);
    if let Some((old, new)) = parent
        && against.is_some()
        // Likewise for the parent: what was stale before the change is stale after it.
        && old.canonical_hash() == against
        && let Some(ParentVersion { version, canonical }) = new.as_parent_version()
        && Some(canonical) != against
    {
        bound.parent = Some(ParentVersion { version, canonical });
    }
    bound
}

fn to_content(found: &ObservedContent, before: &Content) -> Content {
    match found {
        ObservedContent::Text {
            version, canonical, ..
        } => Content::Text {
            version: *version,
            canonical: *canonical,
            basis: None,
        },
        ObservedContent::Missing | ObservedContent::Unreadable { .. } => before.clone(),
    }
}
