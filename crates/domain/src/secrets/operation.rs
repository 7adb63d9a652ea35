//! Masking of operations: of one that is about to be recorded, and of a history recorded without
//! it.
//!
//! Texts written by people or agents are masked. Identities are not: numbers, hashes, names of
//! nodes and files, record keys. A fact's `before` must stay equal to the stored state, or the fact
//! would no longer apply.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::masked_text::{MaskedText, is_masked_text};
use super::{SecretCount, find_secrets, mask_string, mask_text, mask_value};
use crate::approval::{Approval, Condemnation};
use crate::cascade::StatusChangeGroup;
use crate::fact::Fact;
use crate::ids::{NodeId, VersionHash};
use crate::node::{Content, Description, Node, NodeStatus};
use crate::operation::Operation;
use crate::ports::{NewOperation, Snapshot, StoreFault};
use crate::record::RecordKey;

/// Masks an operation before it is recorded, and counts the secrets.
///
/// State that was stored before masking existed stays as it is until it is purged.
///
/// # Errors
/// [`StoreFault`] when the state cannot be read.
pub fn mask_operation(
    operation: &mut NewOperation,
    state: &dyn Snapshot,
) -> Result<SecretCount, StoreFault> {
    let mut masked = SecretCount::default();
    mask_string(&mut operation.summary, &mut masked);
    let mut before = BeforeSource::InState {
        state,
        changed: BTreeSet::new(),
    };
    for fact in &mut operation.facts {
        mask_fact(fact, &mut before, &mut masked)?;
    }
    let mut known = BTreeSet::new();
    for text in &mut operation.texts {
        let Some((kept, safe)) = MaskedText::mask_version(text) else {
            continue;
        };
        let version = VersionHash::of_bytes(text.as_bytes());
        // A version that is stored already was counted and recorded then, or predates masking.
        if known.insert(version) && state.load_text(version)?.is_none() {
            // Masked again only for the count: `MaskedText` keeps kinds and lines, but nothing by
            // which
            // equal secrets could be told apart.
            let _ = mask_text(text, &mut masked);
            operation.facts.extend(kept.to_fact(version));
        }
        *text = safe;
    }
    Ok(masked)
}

/// Masks recorded operations, from first to last, with the texts of each. Returns the count per
/// operation.
pub fn mask_recorded(history: &mut [(Operation, Vec<(VersionHash, String)>)]) -> Vec<SecretCount> {
    // A text masked by older rules may still hold a secret; masking it again changes its hash, and
    // the records that point to it have to follow.
    let renamed: BTreeMap<VersionHash, VersionHash> = history
        .iter()
        .flat_map(|(_, texts)| texts)
        .filter_map(|(hash, text)| {
            MaskedText::mask_version(text).map(|(kept, _)| (*hash, kept.kept))
        })
        .collect();
    let mut versions = BTreeSet::new();
    let mut kept_for_versions = BTreeSet::new();
    for fact in history.iter().flat_map(|(operation, _)| &operation.facts) {
        if let Some((version, kept)) = masked_version(fact) {
            versions.insert(version);
            kept_for_versions.insert(kept);
        }
    }
    let mut counts = Vec::with_capacity(history.len());
    for (operation, texts) in history {
        let mut masked = SecretCount::default();
        mask_string(&mut operation.summary, &mut masked);
        for fact in &mut operation.facts {
            // Every earlier fact is masked too, so a masked `before` matches the state it builds
            // on.
            let never = mask_fact(fact, &mut BeforeSource::Masked, &mut masked);
            debug_assert!(never.is_ok(), "no state is read");
            rename_kept(fact, &renamed);
        }
        for (hash, text) in texts {
            let Some((kept, safe)) = MaskedText::mask_version(text) else {
                continue;
            };
            let _ = mask_text(text, &mut masked);
            // A masked text is itself no version of a file and needs no record.
            if !kept_for_versions.contains(hash) && versions.insert(*hash) {
                operation.facts.extend(kept.to_fact(*hash));
            }
            (*hash, *text) = (kept.kept, safe);
        }
        counts.push(masked);
    }
    counts
}

/// Source of the values that facts name as `before`.
enum BeforeSource<'s> {
    /// The state, or an earlier fact of the same operation.
    InState {
        state: &'s dyn Snapshot,
        changed: BTreeSet<FactTarget>,
    },
    /// A history that is masked from its start.
    Masked,
}

/// A field or record that a fact changes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum FactTarget {
    Node(NodeId, &'static str),
    Record(RecordKey),
}

impl BeforeSource<'_> {
    /// Masks the `before` value of a place, unless the state holds it unmasked.
    fn mask_before<T: Clone + PartialEq>(
        &mut self,
        place: FactTarget,
        before: &mut T,
        current: impl FnOnce(&dyn Snapshot) -> Result<Option<T>, StoreFault>,
        mask: impl FnOnce(&mut T, &mut SecretCount),
        holds_secret: bool,
    ) -> Result<(), StoreFault> {
        let is_there = match self {
            Self::Masked => false,
            Self::InState { state, changed } => {
                // Only the first fact about a place refers to the stored state; later ones refer to
                // the
                // masked `after` of an earlier fact.
                let is_first = changed.insert(place);
                holds_secret && is_first && current(*state)?.as_ref() == Some(before)
            }
        };
        if holds_secret && !is_there {
            // Not counted: the operation that brought the secret in has counted it.
            mask(before, &mut SecretCount::default());
        }
        Ok(())
    }
}

fn mask_fact(
    fact: &mut Fact,
    was: &mut BeforeSource<'_>,
    masked: &mut SecretCount,
) -> Result<(), StoreFault> {
    match fact {
        Fact::NodeAdded { node } => mask_node(node, masked),
        // Masked in the journal as well, because undo would restore it from there. Not counted: it
        // is not new.
        Fact::NodeRemoved { node } => mask_node(node, &mut SecretCount::default()),
        Fact::ContentChanged {
            node,
            before,
            after,
        } => {
            mask_content(after, masked);
            let found = matches!(before, Content::Unreadable { why } if has_secret(why));
            let (id, get) = (*node, |node: Node| node.content);
            was.mask_before(
                FactTarget::Node(id, "content"),
                before,
                |state| current_value(state, id, get),
                mask_content,
                found,
            )?;
        }
        Fact::DescriptionChanged {
            node,
            before,
            after,
        } => {
            mask_description(after, masked);
            let found = any_secret(before.clone(), mask_description);
            let (id, get) = (*node, |node: Node| node.description);
            was.mask_before(
                FactTarget::Node(id, "description"),
                before,
                |state| current_value(state, id, get),
                mask_description,
                found,
            )?;
        }
        Fact::ApprovalChanged {
            node,
            before,
            after,
        } => {
            mask_approval(after, masked);
            let found = before
                .as_ref()
                .is_some_and(|it| it.warnings.iter().any(|text| has_secret(text)));
            let (id, get) = (*node, |node: Node| node.approval);
            was.mask_before(
                FactTarget::Node(id, "approval"),
                before,
                |state| current_value(state, id, get),
                mask_approval,
                found,
            )?;
        }
        Fact::CondemnationChanged {
            node,
            before,
            after,
        } => {
            mask_condemnation(after, masked);
            let found = before.as_ref().is_some_and(|it| has_secret(&it.reason));
            let (id, get) = (*node, |node: Node| node.condemnation);
            was.mask_before(
                FactTarget::Node(id, "condemnation"),
                before,
                |state| current_value(state, id, get),
                mask_condemnation,
                found,
            )?;
        }
        Fact::StandingsChanged { groups } => mask_status_groups(groups, was, masked)?,
        Fact::BackupWritten { reason, .. } => mask_string(reason, masked),
        Fact::RecordChanged {
            record,
            before,
            after,
        } => mask_record(record, before, after, was, masked)?,
        Fact::NodeMoved { .. }
        | Fact::NodeRenamed { .. }
        | Fact::ProgressChanged { .. }
        | Fact::UndoneChanged { .. } => {}
    }
    Ok(())
}

fn mask_status_groups(
    groups: &mut [StatusChangeGroup],
    was: &mut BeforeSource<'_>,
    masked: &mut SecretCount,
) -> Result<(), StoreFault> {
    for group in groups {
        mask_standing(&mut group.after, masked);
        let note = group
            .before
            .cause
            .as_ref()
            .and_then(|cause| cause.note.as_deref());
        let found = note.is_some_and(has_secret);
        // The nodes of a group share one value before and after, so any of them can be
        // compared.
        let Some(id) = group.nodes.first().copied() else {
            continue;
        };
        let get = |node: Node| node.standing;
        let place = FactTarget::Node(id, "standing");
        was.mask_before(
            place,
            &mut group.before,
            |state| current_value(state, id, get),
            mask_standing,
            found,
        )?;
    }
    Ok(())
}

fn mask_record(
    record: &RecordKey,
    before: &mut Option<Value>,
    after: &mut Option<Value>,
    was: &mut BeforeSource<'_>,
    masked: &mut SecretCount,
) -> Result<(), StoreFault> {
    if let Some(after) = after {
        mask_value(after, masked);
    }
    if let Some(before) = before {
        let found = value_has_secret(before);
        let mask = |value: &mut Value, count: &mut SecretCount| mask_value(value, count);
        let body = |state: &dyn Snapshot| state.record_body(&record.kind, &record.key);
        was.mask_before(
            FactTarget::Record(record.clone()),
            before,
            body,
            mask,
            found,
        )?;
    } else if let BeforeSource::InState { changed, .. } = was {
        // A new record: what a later fact of this operation names as its `before` is
        // masked.
        changed.insert(FactTarget::Record(record.clone()));
    }
    Ok(())
}

fn current_value<T>(
    state: &dyn Snapshot,
    id: NodeId,
    get: impl FnOnce(Node) -> T,
) -> Result<Option<T>, StoreFault> {
    Ok(state.load_node(id)?.map(get))
}

fn has_secret(text: &str) -> bool {
    !find_secrets(text).is_empty()
}

fn any_secret<T>(mut value: T, mask: impl FnOnce(&mut T, &mut SecretCount)) -> bool {
    let mut found = SecretCount::default();
    mask(&mut value, &mut found);
    !found.is_empty()
}

fn value_has_secret(value: &Value) -> bool {
    match value {
        Value::String(text) => has_secret(text),
        Value::Array(items) => items.iter().any(value_has_secret),
        Value::Object(fields) => fields.values().any(value_has_secret),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn mask_node(node: &mut Node, masked: &mut SecretCount) {
    mask_description(&mut node.description, masked);
    mask_content(&mut node.content, masked);
    mask_approval(&mut node.approval, masked);
    mask_condemnation(&mut node.condemnation, masked);
    mask_standing(&mut node.standing, masked);
}

/// Masks the description that was read from a plan.
pub(crate) fn mask_description(description: &mut Description, masked: &mut SecretCount) {
    // Destructured, so that a new field cannot be forgotten here.
    let Description {
        title,
        needs,
        relies_on,
        work,
    } = description;
    let listed = title.iter_mut().chain(needs).chain(relies_on);
    listed.for_each(|text| mask_string(text, masked));
    if let Some(work) = work {
        let keys = [
            &mut work.phase,
            &mut work.status,
            &mut work.parent,
            &mut work.work_level,
            &mut work.priority,
            &mut work.due,
            &mut work.problem,
        ];
        keys.into_iter()
            .flatten()
            .chain(&mut work.labels)
            .chain(&mut work.links)
            .for_each(|text| mask_string(text, masked));
    }
}

fn mask_content(content: &mut Content, masked: &mut SecretCount) {
    if let Content::Unreadable { why } = content {
        mask_string(why, masked);
    }
}

fn mask_approval(approval: &mut Option<Approval>, masked: &mut SecretCount) {
    approval
        .iter_mut()
        .flat_map(|approval| &mut approval.warnings)
        .for_each(|text| mask_string(text, masked));
}

fn mask_condemnation(condemnation: &mut Option<Condemnation>, masked: &mut SecretCount) {
    condemnation
        .iter_mut()
        .for_each(|condemnation| mask_string(&mut condemnation.reason, masked));
}

fn mask_standing(standing: &mut NodeStatus, masked: &mut SecretCount) {
    let note = standing
        .cause
        .as_mut()
        .and_then(|cause| cause.note.as_mut());
    note.into_iter().for_each(|text| mask_string(text, masked));
}

/// Returns the version that a fact records as masked, and the hash of its stored text.
fn masked_version(fact: &Fact) -> Option<(VersionHash, VersionHash)> {
    let Fact::RecordChanged {
        record,
        after: Some(after),
        ..
    } = fact
    else {
        return None;
    };
    let kept: MaskedText =
        is_masked_text(record).then(|| serde_json::from_value(after.clone()).ok())??;
    Some((VersionHash(record.key.parse().ok()?), kept.kept))
}

fn rename_kept(fact: &mut Fact, renamed: &BTreeMap<VersionHash, VersionHash>) {
    if let Some((_, kept)) = masked_version(fact)
        && let Some(kept) = renamed.get(&kept)
        && let Fact::RecordChanged {
            after: Some(Value::Object(fields)),
            ..
        } = fact
    {
        fields.insert("kept".to_owned(), Value::String(kept.to_string()));
    }
}
