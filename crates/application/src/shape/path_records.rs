//! Records that name a plan by its path: reviews, ticks and the costs of model calls follow it through
//! a change of shape.
//!
//! Siblings shift onto each other's paths, so all records are read before any is changed: one by one,
//! the second would overwrite the first.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use domain::fact::Fact;
use domain::ports::{Snapshot, StoreFault};
use domain::record::{RecordKey, Recorded as _};
use domain::review::Review;
use domain::shape::Layout;
use domain::tick::{ModelSpending, TickRecord};
use domain::tree::Tree;
use serde_json::Value;

/// The paths that plans had, with those they have afterwards.
#[derive(Default)]
pub(super) struct ChangedPaths {
    renamed: HashMap<String, String>,
    removed: BTreeSet<String>,
}

impl ChangedPaths {
    pub(super) fn from_layout(tree: &Tree, after: &Tree, layout: &Layout) -> Self {
        let renamed = layout.changes.iter().filter_map(|change| {
            let was = tree.alias_path(tree.get(change.node)?);
            let now = after.alias_path(after.get(change.node)?);
            (was != now).then_some((was, now))
        });
        let removed = layout.removed.iter().filter_map(|id| tree.get(*id));
        Self {
            renamed: renamed.collect(),
            removed: removed.map(|node| tree.alias_path(node)).collect(),
        }
    }

    /// Returns the path that a plan has afterwards, if it is another one.
    pub(super) fn path_after(&self, was: &str) -> Option<&str> {
        self.renamed.get(was).map(String::as_str)
    }

    fn is_empty(&self) -> bool {
        self.renamed.is_empty() && self.removed.is_empty()
    }
}

/// Returns the changes of the records that name plans by path.
pub(super) fn follow_paths(
    state: &dyn Snapshot,
    paths: &ChangedPaths,
) -> Result<Vec<Fact>, StoreFault> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let mut facts = follow_reviews(state, paths)?;
    facts.extend(follow_field(state, TickRecord::KIND, "scene", paths)?);
    facts.extend(follow_field(state, ModelSpending::KIND, "account", paths)?);
    Ok(facts)
}

/// Returns the changes of reviews, whose key is the path of what they are about. That of a removed plan
/// is removed with it: the next plan with this path would be taken for reviewed.
fn follow_reviews(state: &dyn Snapshot, paths: &ChangedPaths) -> Result<Vec<Fact>, StoreFault> {
    let mut before: BTreeMap<&str, Value> = BTreeMap::new();
    for path in paths.renamed.keys().chain(&paths.removed) {
        if let Some(body) = state.record_body(Review::KIND, path)? {
            before.insert(path, body);
        }
    }
    let mut after: BTreeMap<&str, Value> = BTreeMap::new();
    for (was, body) in &before {
        if let Some(now) = paths.path_after(was) {
            let mut body = body.clone();
            body["subject"] = Value::String(now.to_owned());
            after.insert(now, body);
        }
    }
    for path in after.keys() {
        // Of a plan that was there long ago.
        if !before.contains_key(path)
            && let Some(body) = state.record_body(Review::KIND, path)?
        {
            before.insert(path, body);
        }
    }
    let keys: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let facts = keys.into_iter().filter_map(|key| {
        let (was, now) = (before.get(key).cloned(), after.get(key).cloned());
        (was != now).then(|| changed_record(Review::KIND, key, was, now))
    });
    Ok(facts.collect())
}

/// Returns the changes of records with a path in a field.
fn follow_field(
    state: &dyn Snapshot,
    kind: &str,
    field: &str,
    paths: &ChangedPaths,
) -> Result<Vec<Fact>, StoreFault> {
    let records = state.records_by_prefix(kind, "")?.into_iter();
    let facts = records.filter_map(|(key, body)| {
        let now = paths.path_after(body[field].as_str()?)?;
        let mut after = body.clone();
        after[field] = Value::String(now.to_owned());
        Some(changed_record(kind, &key, Some(body), Some(after)))
    });
    Ok(facts.collect())
}

fn changed_record(kind: &str, key: &str, before: Option<Value>, after: Option<Value>) -> Fact {
    let record = RecordKey {
        kind: kind.to_owned(),
        key: key.to_owned(),
    };
    Fact::RecordChanged {
        record,
        before,
        after,
    }
}
