//! Creates a new revision from a frozen plan document, which itself is not changed.

use domain::plan_document::{
    DocumentRecord, Revises, document_file_path, new_plan_id, start_revision, unique_document_id,
};
use domain::record;

use super::create::NewDocument;
use super::document_files::{
    find_and_open, list_document_folders, make_current, run_with_files, stage_document,
};
use super::take_over::read_documents;
use crate::context::Context;
use crate::failure::Failure;

/// Creates the next revision and makes it the current document.
///
/// # Errors
/// When the document is not frozen, or its file is not the frozen text.
pub fn revise_document(ctx: &Context<'_>, document: Option<&str>) -> Result<NewDocument, Failure> {
    drop(read_documents(ctx, document)?);
    run_with_files(ctx, &("doc revise", document), |tx, planned| {
        let opened = find_and_open(ctx, &*tx, document)?;
        if opened.record.frozen.is_none() {
            let what = format!("`{}` is not frozen: it can be changed as it is", opened.id);
            return Err(
                Failure::refused(what).with_step(format!("tl doc freeze --doc {}", opened.id))
            );
        }
        let known = record::read_records::<DocumentRecord>(&*tx, "")?;
        let taken = list_document_folders(ctx);
        let is_taken = |id: &str| {
            taken.iter().any(|name| name == id) || known.iter().any(|(name, _)| name == id)
        };
        // `add-search-r2` is revised as `add-search-r3`, not as `add-search-r2-r2`.
        let first = opened
            .id
            .rsplit_once("-r")
            .filter(|(_, number)| number.parse::<u32>().is_ok());
        let first = first.map_or(opened.id.as_str(), |(first, _)| first);
        let id = (2..)
            .map(|number: u32| format!("{first}-r{number}"))
            .find(|id| !is_taken(id));
        let id = id.unwrap_or_else(|| unique_document_id(first, &is_taken));
        let now = ctx.clock.now();
        let from = Revises {
            document: opened.id.clone(),
            plan_id: opened.plan.plan_id.clone(),
            version_hash: opened.record.written.to_string(),
        };
        let plan = start_revision(
            &opened.plan,
            from,
            new_plan_id(&tx.store_id()?, &id, now),
            now,
        );
        let mut record = DocumentRecord {
            frozen: None,
            context: opened.record.context,
            revises: Some(opened.id.clone()),
            // The id counters continue, so that an id means the same entity in all revisions.
            ..opened.record.clone()
        };
        let staged = stage_document(&*tx, &id, None, &plan, &mut record, now)?;
        let path = document_file_path(&id, "plan.json");
        planned.put_file(&path, Some(&staged.text))?;
        let summary = format!("revise {} as {id}", opened.id);
        let mut operation = staged.into_operation(ctx, summary, now, (&id, None, &record));
        operation.facts.extend(make_current(ctx, &*tx, &id)?);
        // The context (what the user asked for) stays the same and stays frozen.
        if let Some(context) = record.context
            && let Some(text) = tx.load_text(context)?
        {
            planned.put_file(&document_file_path(&id, "context.json"), Some(&text))?;
        }
        let operation = planned.record_operation(tx, operation)?;
        Ok(NewDocument {
            success: true,
            document: id,
            plan_id: plan.plan_id,
            file_path: path,
            operation,
        })
    })
}
