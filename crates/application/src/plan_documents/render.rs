//! Renders `plan.md` from `plan.json`.

use domain::plan_document::{document_file_path, render_markdown};
use domain::ports::FileReadResult;
use serde::Serialize;

use super::document_files::{find_and_open, read_document_file};
use super::take_over::read_documents;
use crate::context::Context;
use crate::failure::Failure;

/// The rendered page.
#[derive(Clone, Debug, Serialize)]
pub struct RenderedPage {
    pub success: bool,
    pub document: String,
    pub file_path: String,
    /// Whether the page changed.
    pub changed: bool,
    #[serde(skip)]
    pub text: String,
}

/// Renders a document's page. It is derived from the plan, so the old page needs no backup.
///
/// # Errors
/// When the document is not as it was written, or the page cannot be written.
pub fn render_plan(ctx: &Context<'_>, document: Option<&str>) -> Result<RenderedPage, Failure> {
    let state = read_documents(ctx, document)?;
    let opened = find_and_open(ctx, &*state, document)?;
    let text = render_markdown(&opened.plan, &opened.record.written.short_hex());
    let file_path = document_file_path(&opened.id, "plan.md");
    let changed = !matches!(read_document_file(ctx, &opened.id, "plan.md"), FileReadResult::Text { text: there, .. } if there == text);
    // An unchanged page keeps its mtime, for editors and build tools that watch it.
    if changed {
        ctx.files.replace_file(&file_path, &text)?;
    }
    Ok(RenderedPage {
        success: true,
        document: opened.id,
        file_path,
        changed,
        text,
    })
}
