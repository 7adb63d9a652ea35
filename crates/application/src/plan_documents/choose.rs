//! Makes a document the current one, which commands use if none is named.

use domain::ids::OperationId;
use domain::operation::Verb;
use serde::Serialize;

use super::desk::{known_document, made_current};
use crate::context::Context;
use crate::failure::Failure;

/// The current document.
#[derive(Clone, Debug, Serialize)]
pub struct Chosen {
    pub success: bool,
    pub document: String,
    /// `None` if it already was the current one.
    pub operation: Option<OperationId>,
}

/// Chooses a document, for this session and for sessions that have not chosen one.
///
/// # Errors
/// When there is no document of that name.
pub fn choose(ctx: &Context<'_>, document: &str) -> Result<Chosen, Failure> {
    let mut tx = ctx.store.write()?;
    // Checked inside the transaction: a choice of a document that is removed meanwhile would break
    // every later command without `--doc`.
    known_document(ctx, &*tx, document)?;
    let facts = made_current(ctx, &*tx, document)?;
    if facts.is_empty() {
        return Ok(Chosen {
            success: true,
            document: document.to_owned(),
            operation: None,
        });
    }
    let mut operation = ctx.operation(Verb::Document, format!("work on {document}"));
    operation.facts = facts;
    let operation = tx.record(operation)?;
    tx.commit()?;
    Ok(Chosen {
        success: true,
        document: document.to_owned(),
        operation: Some(operation),
    })
}
