//! Writes `context.json` of a plan document: what the user said, which the design is based on.

use domain::ids::OperationId;
use domain::operation::Verb;
use domain::plan_document::{PlanProblem, ProblemGrade, check_context, document_file_path};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::document_files::{load_document, resolve_document, run_with_files, with_problems};
use crate::context::Context;
use crate::failure::Failure;

/// The written context.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WrittenContext {
    pub success: bool,
    pub document: String,
    pub file_path: String,
    /// What a design would still miss.
    #[schemars(with = "Vec<crate::views::Object>")]
    pub unfinished: Vec<PlanProblem>,
    pub operation: OperationId,
}

/// Writes the context of a document.
///
/// # Errors
/// When it is frozen, or not an object with lists of strings.
pub fn write_context(
    ctx: &Context<'_>,
    document: Option<&str>,
    context: &Value,
) -> Result<WrittenContext, Failure> {
    let text = format!("{context:#}\n");
    run_with_files(ctx, &("doc context", document, &text), |tx, planned| {
        let id = resolve_document(ctx, &*tx, document)?;
        let record = load_document(ctx, &*tx, &id)?;
        // A design rests on this very text, and later roles know the user only through it: another
        // one needs a revision.
        if record.context.is_some() {
            let what = format!("the context of `{id}` is frozen: its design is based on it");
            return Err(Failure::refused(what).with_step(format!("tl doc revise --doc {id}")));
        }
        let (broken, unfinished): (Vec<PlanProblem>, Vec<PlanProblem>) = check_context(&text)
            .into_iter()
            .partition(|problem| problem.grade == ProblemGrade::Broken);
        // Unfinished parts are only reported: the context is written over several turns with the
        // user.
        if !broken.is_empty() {
            let failure = Failure::invalid("this is not a context");
            return Err(with_problems(failure, &broken));
        }
        let file_path = document_file_path(&id, "context.json");
        planned.put_file(&file_path, Some(&text))?;
        let operation = ctx.new_operation(Verb::Document, format!("context of {id}"));
        let operation = planned.record_operation(tx, operation)?;
        Ok(WrittenContext {
            success: true,
            document: id,
            file_path,
            unfinished,
            operation,
        })
    })
}
