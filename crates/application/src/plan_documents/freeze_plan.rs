//! Freezes a plan document; nothing in it can be changed afterwards.

use domain::ids::{OperationId, VersionHash};
use domain::plan_document::{document_file_path, read_plan, render_markdown};
use schemars::JsonSchema;
use serde::Serialize;

use super::document_files::{
    check_allowed, find_and_open, put_plan, refuse_frozen, run_with_files,
};
use super::freeze_staging::stage_freeze;
use crate::context::Context;
use crate::failure::Failure;

/// The frozen document.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FrozenDocument {
    pub success: bool,
    pub document: String,
    pub version_hash: VersionHash,
    #[schemars(with = "Vec<crate::views::Object>")]
    pub waves: Vec<domain::plan_document::Wave>,
    pub operation: OperationId,
}

/// Freezes a document, and approves its tree.
///
/// # Errors
/// When it is already frozen, something is missing, or the role may not.
pub fn freeze_plan(ctx: &Context<'_>, document: Option<&str>) -> Result<FrozenDocument, Failure> {
    run_with_files(ctx, &("doc freeze", document), |tx, planned| {
        let opened = find_and_open(ctx, &*tx, document)?;
        refuse_frozen(&opened.id, &opened.record)?;
        // A running workflow freezes at its own gate; the command must not get ahead of the review.
        let worked = check_allowed(ctx, &*tx, &opened.id, &["doc freeze"])?;
        let now = ctx.clock.now();
        let mut record = opened.record.clone();
        let staged = stage_freeze(ctx, &*tx, &opened, &mut record, now)?;
        put_plan(planned, &opened, &staged.text)?;
        // Rendered from the frozen text, which has the waves and the time of the freeze.
        let plan = read_plan(&staged.text).unwrap_or_else(|_| opened.plan.clone());
        let records = (opened.id.as_str(), Some(&opened.record), &record);
        let summary = format!("freeze {}", opened.id);
        let mut operation = staged.into_operation(ctx, summary, now, records);
        operation.facts.extend(worked);
        let page = render_markdown(&plan, &record.written.short_hex());
        planned.put_file(&document_file_path(&opened.id, "plan.md"), Some(&page))?;
        let operation = planned.record_operation(tx, operation)?;
        let waves = plan.milestone_dependencies.waves;
        Ok(FrozenDocument {
            success: true,
            document: opened.id,
            version_hash: record.written,
            waves,
            operation,
        })
    })
}
