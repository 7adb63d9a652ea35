//! Shows a plan document, one of its entities, or the list of all documents.

use domain::plan_document::{DocumentRecord, Plan, entity_value, file, read};
use domain::ports::Reading;
use domain::record;
use domain::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::desk::{chosen, on_disk, opened, reading};
use crate::context::Context;
use crate::failure::{Failure, FailureKind};

/// A document as it is.
#[derive(Clone, Debug)]
pub struct Shown {
    pub document: String,
    pub plan: Plan,
    /// `plan.json`, byte for byte.
    pub text: String,
    /// The abbreviated version hash.
    pub version: String,
}

/// Returns a document.
///
/// # Errors
/// When it does not exist or was changed outside.
pub fn show(ctx: &Context<'_>, document: Option<&str>) -> Result<Shown, Failure> {
    let state = ctx.store.read()?;
    let opened = opened(ctx, &*state, document)?;
    let version = opened.record.written.short();
    Ok(Shown {
        document: opened.id,
        plan: opened.plan,
        text: opened.text,
        version,
    })
}

/// Returns one entity: `M-001`, `overview` …
///
/// # Errors
/// When there is no entity with that id.
pub fn show_entity(ctx: &Context<'_>, document: Option<&str>, id: &str) -> Result<Value, Failure> {
    let shown = show(ctx, document)?;
    entity_value(&shown.plan, id).ok_or_else(|| {
        Failure::new(
            FailureKind::NotFound,
            format!("`{}` has no `{id}`", shown.document),
        )
        .step(format!("tl doc show --doc {}", shown.document))
    })
}

/// One document of the list.
#[derive(Clone, Debug, Serialize)]
pub struct DocumentLine {
    pub document: String,
    pub title: Option<String>,
    pub file_path: String,
    pub current: bool,
    pub frozen_at: Option<Timestamp>,
    pub revises: Option<String>,
    /// Whether this state knows it.
    pub known: bool,
}

/// Returns every document, recorded or found on disk.
///
/// # Errors
/// When the state cannot be read.
pub fn list(ctx: &Context<'_>) -> Result<Vec<DocumentLine>, Failure> {
    let state = ctx.store.read()?;
    let known = record::read_all::<DocumentRecord>(&*state, "")?;
    // Before the first document there is no current one, which is no error for a list.
    let current = chosen(ctx, &*state, None).ok();
    // A folder without a plan is left over from an undo.
    let found = on_disk(ctx)
        .into_iter()
        .filter(|name| !matches!(reading(ctx, name, "plan.json"), Reading::Missing));
    let mut names: Vec<String> = known
        .iter()
        .map(|(name, _)| name.clone())
        .chain(found)
        .collect();
    names.sort();
    names.dedup();
    let line = |document: String| {
        let record = known
            .iter()
            .find(|(name, _)| *name == document)
            .map(|(_, record)| record);
        // Read without verification: the list also shows documents that were changed outside.
        let title = match reading(ctx, &document, "plan.json") {
            Reading::Text { text, .. } => read(&text).ok().map(|plan| plan.overview.title),
            Reading::Missing | Reading::Unreadable { .. } => None,
        };
        DocumentLine {
            title,
            file_path: file(&document, "plan.json"),
            current: current.as_ref() == Some(&document),
            frozen_at: record
                .and_then(|record| record.frozen.as_ref())
                .map(|frozen| frozen.at),
            revises: record.and_then(|record| record.revises.clone()),
            known: record.is_some(),
            document,
        }
    };
    Ok(names.into_iter().map(line).collect())
}
