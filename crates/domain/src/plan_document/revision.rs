//! Revisions: a new plan derived from a frozen one, and the diff between two plans by entity.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::entity::{NAMED_PARTS, entity_ids, entity_value};
use super::model::{Plan, Revises};
use crate::time::Timestamp;

/// Returns the draft that continues a frozen plan.
///
/// Entities keep their ids and versions, which is what lets [`changes_between`] match them up.
#[must_use]
pub fn start_revision(frozen: &Plan, from: Revises, plan_id: String, now: Timestamp) -> Plan {
    Plan {
        plan_id,
        created_at: now,
        frozen_at: None,
        revises: Some(from),
        ..frozen.clone()
    }
}

/// Difference of one entity between two plans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EntityChange {
    pub id: String,
    /// `added`, `removed` or `changed`.
    pub change: &'static str,
    /// Names of the fields that differ; empty unless `changed`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
}

/// Returns the entities that differ between two plans, sorted by id.
#[must_use]
pub fn changes_between(before: &Plan, after: &Plan) -> Vec<EntityChange> {
    let all: BTreeSet<&str> = NAMED_PARTS
        .into_iter()
        .chain(entity_ids(before))
        .chain(entity_ids(after))
        .collect();
    let mut found = Vec::new();
    for id in all {
        let (change, fields) = match (entity_value(before, id), entity_value(after, id)) {
            (None, Some(_)) => ("added", Vec::new()),
            (Some(_), None) => ("removed", Vec::new()),
            (Some(before), Some(after)) if before != after => {
                ("changed", changed_fields(&before, &after))
            }
            _ => continue,
        };
        // A new version alone means that an entity was written, possibly with the same content.
        // That
        // is not a difference a reader of the diff asks for.
        if change != "changed" || !fields.is_empty() {
            found.push(EntityChange {
                id: id.to_owned(),
                change,
                fields,
            });
        }
    }
    found
}

fn changed_fields(before: &Value, after: &Value) -> Vec<String> {
    let members = |value: &Value| -> BTreeMap<String, Value> {
        value
            .as_object()
            .cloned()
            .unwrap_or_default()
            .into_iter()
            .filter(|(name, _)| name != "version")
            .collect()
    };
    let (before, after) = (members(before), members(after));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .cloned()
        .collect()
}
