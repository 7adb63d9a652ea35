//! Creates a new revision from a frozen plan document, which itself is not changed.

use domain::operation::Verb;
use domain::plan_document::{DocumentRecord, Revises, document_id, file, plan_id, revised};
use domain::record;

use super::create::NewDocument;
use super::desk::{made_current, on_disk, opened, stage, with_files};
use crate::context::Context;
use crate::failure::{Failure, FailureKind};

/// Creates the next revision and makes it the current document.
///
/// # Errors
/// When the document is not frozen, or its file is not the frozen text.
pub fn revise(ctx: &Context<'_>, document: Option<&str>) -> Result<NewDocument, Failure> {
    with_files(ctx, &("doc revise", document), |tx, planned| {
        let opened = opened(ctx, &*tx, document)?;
        if opened.record.frozen.is_none() {
            let what = format!("`{}` is not frozen: it can be changed as it is", opened.id);
            return Err(Failure::new(FailureKind::Refused, what)
                .step(format!("tl doc freeze --doc {}", opened.id)));
        }
        let known = record::read_all::<DocumentRecord>(&*tx, "")?;
        let taken = on_disk(ctx);
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
        let id = id.unwrap_or_else(|| document_id(first, &is_taken));
        let now = ctx.clock.now();
        let from = Revises {
            document: opened.id.clone(),
            plan_id: opened.plan.plan_id.clone(),
            version_hash: opened.record.written.to_string(),
        };
        let plan = revised(&opened.plan, from, plan_id(&tx.store_id()?, &id, now), now);
        let mut record = DocumentRecord {
            frozen: None,
            context: opened.record.context,
            revises: Some(opened.id.clone()),
            // The id counters continue, so that an id means the same entity in all revisions.
            ..opened.record.clone()
        };
        let staged = stage(&*tx, &id, None, &plan, &mut record, now)?;
        let mut operation = ctx.operation(Verb::Document, format!("revise {} as {id}", opened.id));
        operation.at = now;
        operation.facts = staged.facts;
        operation
            .facts
            .extend(record::changed(&id, None, Some(&record)));
        operation.facts.extend(made_current(ctx, &*tx, &id)?);
        operation.texts = staged.texts;
        let path = file(&id, "plan.json");
        planned.put(&path, Some(&staged.text))?;
        // The context (what the user asked for) stays the same and stays frozen.
        if let Some(context) = record.context
            && let Some(text) = tx.text(context)?
        {
            planned.put(&file(&id, "context.json"), Some(&text))?;
        }
        let operation = planned.record(tx, operation)?;
        Ok(NewDocument {
            success: true,
            document: id,
            plan_id: plan.plan_id,
            file_path: path,
            operation,
        })
    })
}
