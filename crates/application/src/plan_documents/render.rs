//! Renders `plan.md` from `plan.json`.

use domain::plan_document::{file, render};
use domain::ports::Reading;
use serde::Serialize;

use super::desk::{opened, reading};
use crate::context::Context;
use crate::failure::Failure;

/// The rendered page.
#[derive(Clone, Debug, Serialize)]
pub struct Rendered {
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
pub fn render_plan(ctx: &Context<'_>, document: Option<&str>) -> Result<Rendered, Failure> {
    let state = ctx.store.read()?;
    let opened = opened(ctx, &*state, document)?;
    let text = render(&opened.plan, &opened.record.written.short());
    let file_path = file(&opened.id, "plan.md");
    let changed = !matches!(reading(ctx, &opened.id, "plan.md"), Reading::Text { text: there, .. } if there == text);
    // An unchanged page keeps its mtime, for editors and build tools that watch it.
    if changed {
        ctx.files.replace(&file_path, &text)?;
    }
    Ok(Rendered {
        success: true,
        document: opened.id,
        file_path,
        changed,
        text,
    })
}
