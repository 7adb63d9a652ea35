//! Make a new plan document.

use domain::ids::{NodeId, OperationId, VersionHash};
use domain::operation::Verb;
use domain::plan_document::{DocumentRecord, Numbers, Plan, document_id, file, plan_id};
use domain::record;
use serde::Serialize;

use super::desk::{made_current, on_disk, stage, with_files};
use crate::context::Context;
use crate::failure::{Failure, FailureKind};

/// What was made.
#[derive(Clone, Debug, Serialize)]
pub struct NewDocument {
    pub success: bool,
    pub document: String,
    pub plan_id: String,
    pub file_path: String,
    pub operation: OperationId,
}

/// Makes a document with a title and makes it the current one.
///
/// # Errors
/// When the title is empty or the file cannot be written.
pub fn create(ctx: &Context<'_>, title: &str) -> Result<NewDocument, Failure> {
    let title = ctx.mask(title.trim(), "title");
    let title = title.as_str();
    if title.is_empty() {
        return Err(Failure::new(FailureKind::Invalid, "a plan needs a title").step("tl doc new \"Add search\""));
    }
    with_files(ctx, |tx, written| {
        let taken = on_disk(ctx);
        let known = record::read_all::<DocumentRecord>(&*tx, "")?;
        let id = document_id(title, &|id| {
            taken.iter().any(|name| name == id)
                || known.iter().any(|(name, _)| name == id)
                || tx.nodes_by_alias(id).is_ok_and(|nodes| !nodes.is_empty())
        });
        let now = ctx.clock.now();
        let plan = Plan::new(plan_id(&tx.store_id()?, &id, now), title, now);
        let mut record = DocumentRecord {
            node: NodeId(0),
            written: VersionHash::of(&[]),
            frozen: None,
            context: None,
            revises: None,
            numbers: Numbers::default(),
        };
        let staged = stage(&*tx, &id, None, &plan, &mut record, now)?;
        let mut operation = ctx.operation(Verb::Document, format!("new plan document {id}"));
        operation.at = now;
        operation.facts = staged.facts;
        operation.facts.extend(record::changed(&id, None, Some(&record)));
        operation.facts.extend(made_current(ctx, &*tx, &id)?);
        operation.texts = staged.texts;
        let operation = tx.record(operation)?;
        let path = file(&id, "plan.json");
        written.put(ctx, &path, Some(&staged.text))?;
        Ok(NewDocument { success: true, document: id, plan_id: plan.plan_id, file_path: path, operation })
    })
}
