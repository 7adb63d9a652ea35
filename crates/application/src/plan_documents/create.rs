//! Creates a plan document.

use domain::ids::OperationId;
use domain::plan_document::{
    DocumentRecord, PLANS_FOLDER, Plan, document_file_path, new_plan_id, unique_document_id,
};
use domain::ports::{NewOperation, Transaction};
use domain::record;
use schemars::JsonSchema;
use serde::Serialize;

use super::document_files::{list_document_folders, make_current, run_with_files, stage_document};
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::PlannedFiles;

/// The created document.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NewDocument {
    pub success: bool,
    pub document: String,
    pub plan_id: String,
    pub file_path: String,
    pub operation: OperationId,
}

/// Creates a document with a title and makes it the current one.
///
/// # Errors
/// When the title is empty or the file cannot be written.
pub fn create_document(ctx: &Context<'_>, title: &str) -> Result<NewDocument, Failure> {
    // Masked before the id is derived: the id is a file name and part of every later operation.
    let title = ctx.mask_secrets(title, "title");
    let title = trim_title(&title)?;
    run_with_files(ctx, &("doc new", title), |tx, planned| {
        let (made, operation) = stage_new_document(ctx, &*tx, planned, title)?;
        let operation = planned.record_operation(tx, operation)?;
        Ok(NewDocument { operation, ..made })
    })
}

/// Returns the trimmed title, or an error if it is empty.
pub(crate) fn trim_title(title: &str) -> Result<&str, Failure> {
    match title.trim() {
        "" => Err(Failure::invalid("a plan needs a title").with_step("tl doc new \"Add search\"")),
        title => Ok(title),
    }
}

/// Returns a new document and the operation that creates it, which is not recorded yet.
pub(crate) fn stage_new_document(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    planned: &PlannedFiles<'_>,
    title: &str,
) -> Result<(NewDocument, NewOperation), Failure> {
    let mut taken = list_document_folders(ctx);
    // Those of other branches too: after a merge two plans would share one folder.
    taken.extend(
        ctx.git
            .list_names_elsewhere(PLANS_FOLDER)
            .unwrap_or_default(),
    );
    let known = record::read_records::<DocumentRecord>(tx, "")?;
    let id = unique_document_id(title, &|id| {
        // Folders without a record count too: they may come with a checkout and be accepted later.
        taken.iter().any(|name| name == id)
            || known.iter().any(|(name, _)| name == id)
            || tx.nodes_by_alias(id).is_ok_and(|nodes| !nodes.is_empty())
    });
    let now = ctx.clock.now();
    let plan = Plan::new(new_plan_id(&tx.store_id()?, &id, now), title, now);
    let mut record = DocumentRecord::unwritten_record();
    let staged = stage_document(tx, &id, None, &plan, &mut record, now)?;
    let path = document_file_path(&id, "plan.json");
    planned.put_file(&path, Some(&staged.text))?;
    let summary = format!("new plan document {id}");
    let mut operation = staged.into_operation(ctx, summary, now, (&id, None, &record));
    operation.facts.extend(make_current(ctx, tx, &id)?);
    let made = NewDocument {
        success: true,
        document: id,
        plan_id: plan.plan_id,
        file_path: path,
        // A placeholder for callers that add facts of their own and record the operation later.
        operation: tx.next_operation_id()?,
    };
    Ok((made, operation))
}
