//! Shows a plan document, one of its entities, or the list of all documents.

use domain::plan_document::{DocumentRecord, Plan, document_file_path, entity_value, read_plan};
use domain::ports::FileReadResult;
use domain::record;
use domain::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::document_files::{
    find_and_open, list_document_folders, read_document_file, resolve_document,
};
use super::take_over::read_documents;
use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observe_then_read;
use crate::scan::ScanScope;

/// A document as it is.
#[derive(Clone, Debug)]
pub struct ShownDocument {
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
pub fn show_document(ctx: &Context<'_>, document: Option<&str>) -> Result<ShownDocument, Failure> {
    let state = read_documents(ctx, document)?;
    let opened = find_and_open(ctx, &*state, document)?;
    let version = opened.record.written.short_hex();
    Ok(ShownDocument {
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
    let shown = show_document(ctx, document)?;
    entity_value(&shown.plan, id).ok_or_else(|| {
        Failure::not_found(format!("`{}` has no `{id}`", shown.document))
            .with_step(format!("tl doc show --doc {}", shown.document))
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
pub fn list_documents(ctx: &Context<'_>) -> Result<Vec<DocumentLine>, Failure> {
    let state = observe_then_read(ctx, ScanScope::Everything)?;
    let known = record::read_records::<DocumentRecord>(&*state, "")?;
    // Before the first document there is no current one, which is no error for a list.
    let current = resolve_document(ctx, &*state, None).ok();
    // A folder without a plan is left over from an undo.
    let found = list_document_folders(ctx).into_iter().filter(|name| {
        !matches!(
            read_document_file(ctx, name, "plan.json"),
            FileReadResult::Missing
        )
    });
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
        let title = match read_document_file(ctx, &document, "plan.json") {
            FileReadResult::Text { text, .. } => {
                read_plan(&text).ok().map(|plan| plan.overview.title)
            }
            FileReadResult::Missing | FileReadResult::Unreadable { .. } => None,
        };
        DocumentLine {
            title,
            file_path: document_file_path(&document, "plan.json"),
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
