//! What is attached to plans by name rather than by node, and so follows a shape change: the scene of
//! a generation, what prose was written from, open comments, evidence, reviews, and the scenes of the
//! memory.

use domain::comment::{Comment, comment_key_prefix};
use domain::fact::Fact;
use domain::generation::Generation;
use domain::ids::{CanonicalHash, NodeId};
use domain::memory::Entry;
use domain::node::{Content, ParentVersion};
use domain::observation::ObservedContent;
use domain::ports::Transaction;
use domain::prose::ProseBasis;
use domain::record::{read_record, read_records, record_changed_fact};
use domain::shape::{FileMoves, Layout, ShapeTexts};
use domain::time::Timestamp;
use domain::tree::Tree;

use super::moved_evidence::{MovedThings, follow_evidence};
use super::path_records::{ChangedPaths, follow_paths};
use super::shape_files::ShapeFiles;
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::PlannedFiles;
use crate::memory::memory_files::{MemoryFiles, import_edits_within, load_memory};

/// The changed records, and the memory with its files.
#[derive(Default)]
pub(super) struct AttachedChanges {
    facts: Vec<Fact>,
    memory: Option<(domain::memory::StoryMemory, MemoryFiles)>,
}

/// The plans before and after a change, with their files.
pub(super) struct ShapedPlans<'c> {
    pub(super) tree: &'c Tree,
    pub(super) after: &'c Tree,
    pub(super) layout: &'c Layout,
    pub(super) moves: &'c FileMoves,
    pub(super) files: &'c ShapeFiles,
    pub(super) planned: &'c PlannedFiles<'c>,
}

impl AttachedChanges {
    /// Gathers the records that follow the change.
    pub(super) fn gather(
        ctx: &Context<'_>,
        tx: &mut dyn Transaction,
        change: &ShapedPlans<'_>,
        texts: &ShapeTexts,
        now: Timestamp,
    ) -> Result<Self, Failure> {
        let ShapedPlans {
            tree,
            after,
            layout,
            ..
        } = *change;
        let paths = ChangedPaths::from_layout(tree, after, layout);
        let mut facts = follow_paths(&*tx, &paths)?;
        let moved = MovedThings {
            moves: change.moves,
            files: change.files,
            planned: change.planned,
            paths: &paths,
        };
        let removed = layout.removed.iter().copied().collect();
        let proofs = follow_evidence(ctx, &*tx, moved, &removed, &facts)?;
        facts.extend(proofs);
        for change in &layout.changes {
            let path = after.get(change.node).map(|node| after.alias_path(node));
            facts.extend(follow_generation(
                &*tx,
                change.node,
                path.as_deref(),
                texts,
            )?);
        }
        for (node, found) in &texts.rewritten {
            facts.extend(rebind_prose(&*tx, tree, *node, found)?);
        }
        let changed = texts.rewritten.keys().chain(texts.reworded.keys());
        let moved = layout
            .changes
            .iter()
            .filter(|change| change.parent_before != change.parent_after)
            .map(|change| &change.node);
        // Any change of the node after a comment counts as its answer. A rewritten reference or
        // another parent is a change but no answer.
        let mut touched: Vec<NodeId> = changed.chain(moved).copied().collect();
        touched.sort_unstable();
        touched.dedup();
        for id in touched {
            let plan = canonical_after(after, texts, id);
            facts.extend(keep_comments_open(&*tx, tree, id, (id, plan), now)?);
        }
        if let Some((old, new)) = layout.replaced {
            let plan = canonical_after(after, texts, new);
            facts.extend(keep_comments_open(&*tx, tree, old, (new, plan), now)?);
        }
        let memory = follow_memory(ctx, tx, tree, after, layout)?;
        if let Some((memory, _)) = &memory {
            facts.extend(memory.change_facts());
        }
        // Texts are in a hash map: without an order the same change would be recorded in another
        // order each time.
        facts.sort_by_key(|fact| match fact {
            Fact::RecordChanged { record, .. } => (record.kind.clone(), record.key.clone()),
            _ => (String::new(), String::new()),
        });
        Ok(Self { facts, memory })
    }

    pub(super) fn facts(&self) -> Vec<Fact> {
        self.facts.clone()
    }

    /// Registers the memory's files, which are written with the next command that reads it.
    pub(super) fn register_memory(
        self,
        ctx: &Context<'_>,
        tx: &mut dyn Transaction,
    ) -> Result<(), Failure> {
        if let Some((memory, mut files)) = self.memory {
            files.register_changes(ctx, tx, &memory)?;
        }
        Ok(())
    }
}

/// Returns the change of a scene's generation: its path, and its blueprint if only references differ.
fn follow_generation(
    tx: &dyn Transaction,
    node: NodeId,
    path: Option<&str>,
    texts: &ShapeTexts,
) -> Result<Option<Fact>, Failure> {
    let key = Generation::record_key(node);
    let (Some(before), Some(path)) = (read_record::<Generation>(tx, &key)?, path) else {
        return Ok(None);
    };
    let was = tx
        .load_node(node)?
        .and_then(|node| node.content.canonical_hash());
    let mut after = before.clone();
    path.clone_into(&mut after.scene);
    // Only where the draft was written from the present blueprint. A scene that was stale before
    // stays stale: a new path must not hide that.
    if let Some(ObservedContent::Text { canonical, .. }) = texts.rewritten.get(&node)
        && was == Some(before.blueprint)
    {
        after.blueprint = *canonical;
    }
    Ok(record_changed_fact(&key, Some(&before), Some(&after)))
}

/// Returns the change of what prose was written from, if the plan differs in references alone.
fn rebind_prose(
    tx: &dyn Transaction,
    tree: &Tree,
    node: NodeId,
    found: &ObservedContent,
) -> Result<Option<Fact>, Failure> {
    let key = node.0.to_string();
    let (
        Some(before),
        ObservedContent::Text {
            version, canonical, ..
        },
    ) = (read_record::<ProseBasis>(tx, &key)?, found)
    else {
        return Ok(None);
    };
    let was = tree
        .get(node)
        .map(|node| &node.content)
        .and_then(Content::canonical_hash);
    let after = ProseBasis {
        plan: ParentVersion {
            version: *version,
            canonical: *canonical,
        },
    };
    // Prose that was already behind its plan stays behind it.
    Ok((was == Some(before.plan.canonical))
        .then(|| record_changed_fact(&key, Some(&before), Some(&after)))
        .flatten())
}

/// Returns the text of a node after the change.
fn canonical_after(after: &Tree, texts: &ShapeTexts, node: NodeId) -> Option<CanonicalHash> {
    let changed = texts.rewritten.get(&node).or(texts.reworded.get(&node));
    match changed {
        Some(ObservedContent::Text { canonical, .. }) => Some(*canonical),
        Some(ObservedContent::Missing | ObservedContent::Unreadable { .. }) => None,
        None => after.get(node)?.content.canonical_hash(),
    }
}

/// Returns the facts that keep the open comments of a node open, on the node and the text that have
/// them afterwards.
fn keep_comments_open(
    tx: &dyn Transaction,
    tree: &Tree,
    from: NodeId,
    (to, plan): (NodeId, Option<CanonicalHash>),
    now: Timestamp,
) -> Result<Vec<Fact>, Failure> {
    let Some(node) = tree.get(from) else {
        return Ok(Vec::new());
    };
    let mut facts = Vec::new();
    for (key, comment) in read_records::<Comment>(tx, &comment_key_prefix(from))? {
        // A closed comment stays with its node; after a merge it moves as well, since the node it
        // was on is gone.
        if !comment.is_open(node) && from == to {
            continue;
        }
        let mut after = Comment {
            node: to,
            carried_at: comment.is_open(node).then_some(now),
            ..comment.clone()
        };
        if comment.is_open(node) && comment.place.plan.is_some() {
            after.place.plan = plan;
        }
        if from == to {
            facts.extend(record_changed_fact(&key, Some(&comment), Some(&after)));
        } else {
            facts.extend(record_changed_fact(&key, Some(&comment), None));
            facts.extend(record_changed_fact(&after.record_key(), None, Some(&after)));
        }
    }
    Ok(facts)
}

/// Returns the memory with the new paths of its scenes, if it names any.
fn follow_memory(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    tree: &Tree,
    after: &Tree,
    layout: &Layout,
) -> Result<Option<(domain::memory::StoryMemory, MemoryFiles)>, Failure> {
    let mut memory = load_memory(&*tx)?;
    // Checked before the files are imported: most projects have no story memory, and the import
    // reads its whole folder.
    if memory.scenes().all(|scene| scene.node.is_none()) {
        return Ok(None);
    }
    let paths: std::collections::HashMap<String, String> = layout
        .changes
        .iter()
        .filter_map(|change| {
            let was = tree.alias_path(tree.get(change.node)?);
            Some((was, after.alias_path(after.get(change.node)?)))
        })
        .collect();
    let named: Vec<_> = memory
        .scenes()
        .filter_map(|scene| {
            let path = paths.get(scene.node.as_deref()?)?;
            Some((scene.clone(), path.clone()))
        })
        .collect();
    if named.is_empty() {
        return Ok(None);
    }
    // An edit by hand that was not imported yet would be overwritten by the files of the new paths.
    let files = import_edits_within(ctx, tx)?;
    memory = load_memory(&*tx)?;
    for (scene, path) in named {
        memory.put_entry(Entry::Scene(domain::memory::Scene {
            node: Some(path),
            ..scene
        }));
    }
    Ok(Some((memory, files)))
}
