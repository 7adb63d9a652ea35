//! Precise cascade: whether a change of the parent concerns an approved child.
//!
//! Compares the digest recorded with the child's approval with the parent's present sections. No
//! earlier text is read, because a fresh clone has none: it would judge otherwise than the machine
//! that saw the change.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use domain::fact::Fact;
use domain::ids::{Digest32, NodeId, VersionHash};
use domain::node::Node;
use domain::policy::CascadePolicy;
use domain::ports::{Snapshot, StoreFault};
use domain::profile::Level;
use domain::secrets::{MaskedText, find_secrets};
use domain::section::{Reliance, Section, relied_sections_digest, split_sections};
use domain::status::{StatusInputs, any_change_counts};
use domain::tree::Tree;
use domain::version::canonical_text;

use crate::context::Context;

/// Returns the digest of the parent's sections that a node relies on, for its approval.
///
/// `None` if the parent has no text, or one with secrets, and under the deep cascade, which has no
/// use for it.
pub(crate) fn digest_relied_sections(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    parent: Option<&Node>,
) -> Result<Option<Digest32>, StoreFault> {
    ReliedSections::new(ctx).digest_for(state, node, parent)
}

/// Digests for the approvals of many plans: the sections of a parent are split once for all its
/// children.
pub(crate) struct ReliedSections<'c> {
    ctx: &'c Context<'c>,
    /// By the parent's text, with its profile and level; `None` if it is unknown or masked.
    sections: HashMap<(VersionHash, String, String), Option<Vec<Section>>>,
}

impl<'c> ReliedSections<'c> {
    pub(crate) fn new(ctx: &'c Context<'c>) -> Self {
        Self {
            ctx,
            sections: HashMap::new(),
        }
    }

    /// Returns the digest for the approval of a node; see [`digest_relied_sections`].
    pub(crate) fn digest_for(
        &mut self,
        state: &dyn Snapshot,
        node: &Node,
        parent: Option<&Node>,
    ) -> Result<Option<Digest32>, StoreFault> {
        let version = parent.and_then(|parent| parent.content.version_hash());
        let (Some(parent), Some(version), CascadePolicy::Precise) =
            (parent, version, self.ctx.policy.cascade)
        else {
            return Ok(None);
        };
        let key = (version, parent.profile.clone(), parent.level.clone());
        let sections = match self.sections.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let text = load_unmasked_text(state, version)?;
                place.insert(text.map(|text| split_canonical(self.ctx, parent, &text)))
            }
        };
        let sections = sections.as_deref();
        Ok(sections.map(|sections| digest_for_child(self.ctx, sections, node)))
    }
}

/// Binds the approvals that facts carry, and those of renamed nodes, to the parents' sections as they
/// are afterwards, where the sections were those of the approval.
pub(crate) fn rebind_relied_sections(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    after: &Tree,
    texts: &[String],
    facts: &mut Vec<Fact>,
) -> Result<(), StoreFault> {
    if ctx.policy.cascade != CascadePolicy::Precise {
        return Ok(());
    }
    // A copy, because the loop changes the facts that it judges by.
    let pending = facts.clone();
    let new = PreciseCascade::with_pending(ctx, state, texts, &pending);
    let old = PreciseCascade::new(ctx, state);
    for node in tree.nodes() {
        let Some(digest) = node.approval.as_ref().and_then(|it| it.relied_sections) else {
            continue;
        };
        let (Some(now), Some(parent)) = (after.get(node.id), node.parent) else {
            continue;
        };
        if now.parent != Some(parent) {
            continue;
        }
        let (Some(was), Some(is)) = (old.load_sections(parent), new.load_sections(parent)) else {
            continue;
        };
        let mut renamed = new
            .load_pending_node(node.id)
            .unwrap_or_else(|| now.clone());
        renamed.set_name(now.name());
        let bound = digest_for_child(ctx, &is, &renamed);
        if digest_for_child(ctx, &was, node) != digest || bound == digest {
            continue;
        }
        let carried = facts.iter_mut().find_map(|fact| match fact {
            Fact::ApprovalChanged {
                node: id, after, ..
            } if *id == node.id => Some(after),
            _ => None,
        });
        match carried {
            Some(approval) => {
                let approval_after = approval.take();
                *approval = approval_after.map(|it| it.with_relied_sections(Some(bound)));
            }
            None => facts.push(Fact::ApprovalChanged {
                node: node.id,
                before: node.approval.clone(),
                after: node
                    .approval
                    .clone()
                    .map(|it| it.with_relied_sections(Some(bound))),
            }),
        }
    }
    Ok(())
}

/// Judges changes of parents, on recorded state overlaid with facts about to be recorded.
pub(crate) struct PreciseCascade<'s> {
    ctx: &'s Context<'s>,
    state: &'s dyn Snapshot,
    /// Texts not in the store yet.
    fresh: HashMap<VersionHash, &'s str>,
    /// Facts not in the store yet, by node.
    pending: HashMap<NodeId, Vec<&'s Fact>>,
    /// Sections of the parents' present texts: siblings ask for the same ones.
    sections: RefCell<HashMap<NodeId, Option<Rc<[Section]>>>>,
}

impl<'s> PreciseCascade<'s> {
    /// Judges the state as it is recorded.
    pub(crate) fn new(ctx: &'s Context<'s>, state: &'s dyn Snapshot) -> Self {
        Self::with_pending(ctx, state, &[], &[])
    }

    /// Judges the state as it will be after `facts`, whose new texts are `texts`.
    pub(crate) fn with_pending(
        ctx: &'s Context<'s>,
        state: &'s dyn Snapshot,
        texts: &'s [String],
        facts: &'s [Fact],
    ) -> Self {
        let is_needed = ctx.policy.cascade == CascadePolicy::Precise;
        let fresh = texts
            .iter()
            // The stored form of a text with secrets is masked, so its sections cannot be compared.
            // Treating every such change as relevant keeps a server, which has only the masked
            // text, in agreement.
            .filter(|text| is_needed && find_secrets(text).is_empty())
            .map(|text| (VersionHash::of_bytes(text.as_bytes()), text.as_str()))
            .collect();
        let mut pending: HashMap<NodeId, Vec<&Fact>> = HashMap::new();
        for fact in facts.iter().filter(|_| is_needed) {
            let node = match fact {
                Fact::NodeAdded { node } => node.id,
                Fact::ContentChanged { node, .. }
                | Fact::DescriptionChanged { node, .. }
                | Fact::ApprovalChanged { node, .. } => *node,
                _ => continue,
            };
            pending.entry(node).or_default().push(fact);
        }
        Self {
            ctx,
            state,
            fresh,
            pending,
            sections: RefCell::default(),
        }
    }

    /// Whether a change of the parent makes an approved child stale under the project's policy.
    pub(crate) fn is_relevant_change(&self, child: &StatusInputs) -> bool {
        match self.ctx.policy.cascade {
            CascadePolicy::Deep => any_change_counts(child),
            // Any missing input counts as yes: a needless revalidation is visible, a missed one is
            // not.
            CascadePolicy::Precise => self.is_unaffected(child) != Some(true),
        }
    }

    /// Whether the sections the child relies on are as they were; `None` if that is unknown.
    fn is_unaffected(&self, child: &StatusInputs) -> Option<bool> {
        let node = self.load_pending_node(child.id)?;
        let approved = node.approval.as_ref()?.relied_sections?;
        let sections = self.load_sections(child.parent?)?;
        Some(digest_for_child(self.ctx, &sections, &node) == approved)
    }

    /// Returns a node as it will be after the pending facts.
    fn load_pending_node(&self, id: NodeId) -> Option<Node> {
        let mut found = self.state.load_node(id).ok()?;
        for fact in self.pending.get(&id).into_iter().flatten() {
            match (*fact, &mut found) {
                (Fact::NodeAdded { node }, found) => *found = Some(node.as_ref().clone()),
                (Fact::ContentChanged { after, .. }, Some(node)) => node.content = after.clone(),
                (Fact::DescriptionChanged { after, .. }, Some(node)) => {
                    node.description = after.clone();
                }
                (Fact::ApprovalChanged { after, .. }, Some(node)) => node.approval = after.clone(),
                _ => {}
            }
        }
        found
    }

    /// Returns the sections of a parent's present text; `None` if it has none or holds secrets.
    fn load_sections(&self, parent: NodeId) -> Option<Rc<[Section]>> {
        if let Some(known) = self.sections.borrow().get(&parent) {
            return known.clone();
        }
        let found = self.load_pending_node(parent).and_then(|parent| {
            let version = parent.content.version_hash()?;
            let text = match self.fresh.get(&version) {
                Some(text) => (*text).to_owned(),
                None => load_unmasked_text(self.state, version).ok()??,
            };
            Some(Rc::from(split_canonical(self.ctx, &parent, &text)))
        });
        self.sections.borrow_mut().insert(parent, found.clone());
        found
    }
}

/// Returns a stored text; `None` if it is unknown or masked.
fn load_unmasked_text(
    state: &dyn Snapshot,
    version: VersionHash,
) -> Result<Option<String>, StoreFault> {
    match MaskedText::read_record(state, version)? {
        Some(_) => Ok(None),
        None => state.load_text(version),
    }
}

/// Returns the sections of a node's canonical text, so that equal canonical hashes mean equal
/// sections.
fn split_canonical(ctx: &Context<'_>, node: &Node, text: &str) -> Vec<Section> {
    let level = ctx
        .find_profile(&node.profile)
        .and_then(|profile| profile.find_level(&node.level));
    match level {
        Some(level) => split_sections(&canonical_text(&level.remove_state_keys(text))),
        None => split_sections(&canonical_text(text)),
    }
}

fn digest_for_child(ctx: &Context<'_>, parent: &[Section], child: &Node) -> Digest32 {
    let reliance = Reliance {
        listed: &child.description.relies_on,
        names: &reference_names(ctx, child),
    };
    relied_sections_digest(parent, &reliance)
}

/// Returns the names by which a section of the parent may refer to a node.
fn reference_names(ctx: &Context<'_>, node: &Node) -> Vec<String> {
    let mut names = vec![node.alias.clone(), format!("{} {}", node.level, node.order)];
    let numbered = ctx
        .find_profile(&node.profile)
        .and_then(|profile| profile.find_level(&node.level))
        .map(|level| &level.alias);
    if let Some(pattern) = numbered
        && let Some(bare) = node.alias.split_once('-').map(|(_, bare)| bare)
        && pattern.is_numbered()
    {
        // `chapter-02` is called "chapter 02" in prose as well as "chapter 2", which is in the list
        // already.
        names.push(format!("{} {bare}", node.level));
    }
    let level = ctx
        .find_profile(&node.profile)
        .and_then(|profile| profile.find_level(&node.level));
    let number = level.and_then(|level| level.number_of(&node.alias));
    if let (Some(level), Some(number)) = (level, number) {
        names.extend(level.labels.iter().map(|label| format!("{label} {number}")));
    }
    if let Some(title) = &node.description.title {
        names.extend(level.and_then(|level| strip_label(level, title)));
        names.push(title.clone());
    }
    names
}

/// Returns a title without the level's label and the number before it: `The shore` of
/// `Chapter 3. The shore`.
fn strip_label(level: &Level, title: &str) -> Option<String> {
    let (word, rest) = title.trim().split_once(char::is_whitespace)?;
    let word = word.trim_end_matches('.').to_lowercase();
    let mut labels = level.labels.iter().chain([&level.name]);
    labels.find(|label| label.trim_end_matches('.').to_lowercase() == word)?;
    let name = rest
        .trim_start()
        .trim_start_matches(|c: char| c.is_ascii_digit());
    let name = name.trim_start_matches(['.', ':', ')', '—', '–', '-', ' ']);
    // A word of two letters may be any word of the parent's text.
    (name.len() < rest.len() && name.chars().count() > 2).then(|| name.to_owned())
}
