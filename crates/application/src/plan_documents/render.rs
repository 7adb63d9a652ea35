//! Write `plan.md` from `plan.json`.

use domain::plan_document::{file, render};
use domain::ports::Reading;
use serde::Serialize;

use super::desk::{opened, reading};
use crate::context::Context;
use crate::failure::Failure;

/// What was written.
#[derive(Clone, Debug, Serialize)]
pub struct Rendered {
    pub success: bool,
    pub document: String,
    pub file_path: String,
    /// Whether it is another text than before.
    pub changed: bool,
    #[serde(skip)]
    pub text: String,
}

/// Renders a document. The page is made from the plan; what stood in it before can be made again.
///
/// # Errors
/// When the document is not as we wrote it, or the page cannot be written.
pub fn render_plan(ctx: &Context<'_>, document: Option<&str>) -> Result<Rendered, Failure> {
    let state = ctx.store.read()?;
    let opened = opened(ctx, &*state, document)?;
    let text = render(&opened.plan, &opened.record.written.short());
    let file_path = file(&opened.id, "plan.md");
    let changed = !matches!(reading(ctx, &opened.id, "plan.md"), Reading::Text { text: there, .. } if there == text);
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
