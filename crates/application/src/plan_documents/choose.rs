//! Makes a document the current one, which commands use if none is named.

use domain::ids::OperationId;
use domain::operation::Verb;
use serde::Serialize;

use super::document_files::{load_document, make_current};
use super::take_over::read_documents;
use crate::context::Context;
use crate::failure::Failure;

/// The current document.
#[derive(Clone, Debug, Serialize)]
pub struct ChosenDocument {
    pub success: bool,
    pub document: String,
    /// `None` if it already was the current one.
    pub operation: Option<OperationId>,
}

/// Chooses a document, for this session and for sessions that have not chosen one.
///
/// # Errors
/// When there is no document of that name.
pub fn choose_document(ctx: &Context<'_>, document: &str) -> Result<ChosenDocument, Failure> {
    drop(read_documents(ctx, Some(document))?);
    let mut tx = ctx.store.begin_write()?;
    // Checked inside the transaction: a choice of a document that is removed meanwhile would break
    // every later command without `--doc`.
    load_document(ctx, &*tx, document)?;
    let facts = make_current(ctx, &*tx, document)?;
    if facts.is_empty() {
        return Ok(ChosenDocument {
            success: true,
            document: document.to_owned(),
            operation: None,
        });
    }
    let mut operation = ctx.new_operation(Verb::Document, format!("work on {document}"));
    operation.facts = facts;
    let operation = tx.record_operation(operation)?;
    tx.commit()?;
    Ok(ChosenDocument {
        success: true,
        document: document.to_owned(),
        operation: Some(operation),
    })
}
