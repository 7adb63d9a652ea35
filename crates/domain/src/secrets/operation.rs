//! Masking of operations: before one is recorded, and of a whole history that was recorded without it.
//!
//! Texts a person or an agent wrote are masked; identities are not: numbers, hashes, names of nodes and files, keys of
//! records. What a fact says was there before has to stay what is there, or the fact would not fit.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::masked_text::{MaskedText, is_masked_text};
use super::{SecretCount, find_secrets, mask_string, mask_text, mask_value};
use crate::approval::{Approval, Condemnation};
use crate::fact::Fact;
use crate::ids::{NodeId, VersionHash};
use crate::node::{Content, Description, Node, Standing};
use crate::operation::Operation;
use crate::ports::{NewOperation, Snapshot, StoreFault};
use crate::record::RecordKey;

/// Masks what is about to be recorded, and counts what was found. The state tells what was kept before masking began:
/// that stays as it is until it is purged.
///
/// # Errors
/// [`StoreFault`] when the state cannot be read.
pub fn mask_operation(
    operation: &mut NewOperation,
    state: &dyn Snapshot,
) -> Result<SecretCount, StoreFault> {
    let mut masked = SecretCount::default();
    mask_string(&mut operation.summary, &mut masked);
    let mut before = Before::InState {
        state,
        changed: BTreeSet::new(),
    };
    for fact in &mut operation.facts {
        mask_fact(fact, &mut before, &mut masked)?;
    }
    let mut known = BTreeSet::new();
    for text in &mut operation.texts {
        let Some((kept, safe)) = MaskedText::of(text) else {
            continue;
        };
        let version = VersionHash::of(text.as_bytes());
        if known.insert(version) && state.text(version)?.is_none() {
            let _ = mask_text(text, &mut masked);
            operation.facts.extend(kept.recorded(version));
        }
        *text = safe;
    }
    Ok(masked)
}

/// Masks operations that were recorded before, from the first to the last, with the texts that came with each. Returns
/// what was masked in each operation.
pub fn mask_recorded(history: &mut [(Operation, Vec<(VersionHash, String)>)]) -> Vec<SecretCount> {
    // A text that was masked by older rules and still holds a secret is known by another hash afterwards.
    let renamed: BTreeMap<VersionHash, VersionHash> = history
        .iter()
        .flat_map(|(_, texts)| texts)
        .filter_map(|(hash, text)| MaskedText::of(text).map(|(kept, _)| (*hash, kept.kept)))
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
            // Every fact before this one is masked too, so what it says was there is there.
            let never = mask_fact(fact, &mut Before::Masked, &mut masked);
            debug_assert!(never.is_ok(), "no state is read");
            rename_kept(fact, &renamed);
        }
        for (hash, text) in texts {
            let Some((kept, safe)) = MaskedText::of(text) else {
                continue;
            };
            let _ = mask_text(text, &mut masked);
            if !kept_for_versions.contains(hash) && versions.insert(*hash) {
                operation.facts.extend(kept.recorded(*hash));
            }
            (*hash, *text) = (kept.kept, safe);
        }
        counts.push(masked);
    }
    counts
}

/// What facts say was there before.
enum Before<'s> {
    /// What the state holds, or an earlier fact of the same operation made of it.
    InState {
        state: &'s dyn Snapshot,
        changed: BTreeSet<Place>,
    },
    /// Everything was masked.
    Masked,
}

/// Something a fact changes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Node(NodeId, &'static str),
    Record(RecordKey),
}

impl Before<'_> {
    /// Masks what is said to have been at a place, unless it is there unmasked.
    fn mask<T: Clone + PartialEq>(
        &mut self,
        place: Place,
        before: &mut T,
        current: impl FnOnce(&dyn Snapshot) -> Result<Option<T>, StoreFault>,
        mask: impl FnOnce(&mut T, &mut SecretCount),
        holds_secret: bool,
    ) -> Result<(), StoreFault> {
        let is_there = match self {
            Self::Masked => false,
            Self::InState { state, changed } => {
                let is_first = changed.insert(place);
                holds_secret && is_first && current(*state)?.as_ref() == Some(before)
            }
        };
        if holds_secret && !is_there {
            // What was there is counted where it came from.
            mask(before, &mut SecretCount::default());
        }
        Ok(())
    }
}

fn mask_fact(
    fact: &mut Fact,
    was: &mut Before<'_>,
    masked: &mut SecretCount,
) -> Result<(), StoreFault> {
    match fact {
        Fact::NodeAdded { node } => mask_node(node, masked),
        // It is gone; what undo would bring back is masked.
        Fact::NodeRemoved { node } => mask_node(node, &mut SecretCount::default()),
        Fact::ContentChanged {
            node,
            before,
            after,
        } => {
            mask_content(after, masked);
            let found = matches!(before, Content::Unreadable { why } if has_secret(why));
            let (id, get) = (*node, |node: Node| node.content);
            was.mask(
                Place::Node(id, "content"),
                before,
                |state| current(state, id, get),
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
            was.mask(
                Place::Node(id, "description"),
                before,
                |state| current(state, id, get),
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
            was.mask(
                Place::Node(id, "approval"),
                before,
                |state| current(state, id, get),
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
            was.mask(
                Place::Node(id, "condemnation"),
                before,
                |state| current(state, id, get),
                mask_condemnation,
                found,
            )?;
        }
        Fact::StandingsChanged { groups } => {
            for group in groups {
                mask_standing(&mut group.after, masked);
                let note = group
                    .before
                    .cause
                    .as_ref()
                    .and_then(|cause| cause.note.as_deref());
                let found = note.is_some_and(has_secret);
                let Some(id) = group.nodes.first().copied() else {
                    continue;
                };
                let get = |node: Node| node.standing;
                let place = Place::Node(id, "standing");
                was.mask(
                    place,
                    &mut group.before,
                    |state| current(state, id, get),
                    mask_standing,
                    found,
                )?;
            }
        }
        Fact::BackupWritten { reason, .. } => mask_string(reason, masked),
        Fact::RecordChanged {
            record,
            before,
            after,
        } => {
            if let Some(after) = after {
                mask_value(after, masked);
            }
            if let Some(before) = before {
                let found = value_has_secret(before);
                let mask = |value: &mut Value, count: &mut SecretCount| mask_value(value, count);
                let body = |state: &dyn Snapshot| state.record_body(&record.kind, &record.key);
                was.mask(Place::Record(record.clone()), before, body, mask, found)?;
            } else if let Before::InState { changed, .. } = was {
                changed.insert(Place::Record(record.clone()));
            }
        }
        Fact::NodeMoved { .. } | Fact::ProgressChanged { .. } | Fact::UndoneChanged { .. } => {}
    }
    Ok(())
}

fn current<T>(
    state: &dyn Snapshot,
    id: NodeId,
    get: impl FnOnce(Node) -> T,
) -> Result<Option<T>, StoreFault> {
    Ok(state.node(id)?.map(get))
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

/// Masks what a plan says of itself.
pub(crate) fn mask_description(description: &mut Description, masked: &mut SecretCount) {
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
            &mut work.problem,
        ];
        keys.into_iter()
            .flatten()
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

fn mask_standing(standing: &mut Standing, masked: &mut SecretCount) {
    let note = standing
        .cause
        .as_mut()
        .and_then(|cause| cause.note.as_mut());
    note.into_iter().for_each(|text| mask_string(text, masked));
}

/// Returns the version a fact says is kept masked, and under which hash.
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
