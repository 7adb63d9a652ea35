//! Validates a plan document: everything that is broken, unfinished or worth a look, each with its
//! location.

use domain::ids::VersionHash;
use domain::plan_document::{
    DocumentRecord, PlanProblem, ProblemGrade, check_context, check_plan, diff_plan_texts,
    document_file_path, locate_problems, read_plan,
};
use domain::ports::FileReadResult;
use domain::record;
use schemars::JsonSchema;
use serde::Serialize;

use super::document_files::{check_plan_diffs, read_document_file, resolve_document};
use super::take_over::read_documents;
use crate::context::Context;
use crate::failure::Failure;

/// The result of a validation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Validation {
    /// Nothing is broken, and the file is the one that was written last.
    pub ok: bool,
    /// It could be frozen.
    pub complete: bool,
    pub document: String,
    pub frozen: bool,
    /// Whether this state knows the document.
    pub known: bool,
    pub file_path: String,
    #[schemars(with = "Vec<crate::views::Object>")]
    pub problems: Vec<PlanProblem>,
    /// JSON pointers to where the file differs from the text that was written last.
    pub changed_outside: Vec<String>,
    /// Problems of `context.json`.
    #[schemars(with = "Vec<crate::views::Object>")]
    pub context_problems: Vec<PlanProblem>,
}

/// Validates a document. Changes nothing.
///
/// # Errors
/// When there is no such document at all.
pub fn validate_plan(ctx: &Context<'_>, document: Option<&str>) -> Result<Validation, Failure> {
    let state = read_documents(ctx, document)?;
    let id = resolve_document(ctx, &*state, document)?;
    let file_path = document_file_path(&id, "plan.json");
    let record = record::read_record::<DocumentRecord>(&*state, &id)?;
    let mut found = Validation {
        ok: false,
        complete: false,
        document: id.clone(),
        frozen: record
            .as_ref()
            .is_some_and(|record| record.frozen.is_some()),
        known: record.is_some(),
        file_path,
        problems: Vec::new(),
        changed_outside: Vec::new(),
        context_problems: Vec::new(),
    };
    // Not opened through `open_document`, which fails at the first problem; this reports all of
    // them.
    let text = match read_document_file(ctx, &id, "plan.json") {
        FileReadResult::Text { text, .. } => text,
        FileReadResult::Missing if record.is_none() => {
            let what = format!("there is no plan document `{id}`");
            return Err(Failure::not_found(what).with_step("tl doc list"));
        }
        FileReadResult::Missing => {
            found
                .problems
                .push(PlanProblem::broken("", "the file does not exist"));
            return Ok(found);
        }
        FileReadResult::Unreadable { why, .. } => {
            found.problems.push(PlanProblem::broken(
                "",
                format!("the file cannot be read: {why}"),
            ));
            return Ok(found);
        }
    };
    found.problems = match read_plan(&text) {
        Ok(plan) => {
            let mut problems = check_plan(&plan);
            // The diffs of a frozen plan are about to be applied, or were.
            if !found.frozen {
                problems.extend(check_plan_diffs(ctx, &plan));
                problems.sort_by_key(|problem| problem.grade);
            }
            locate_problems(&text, problems)
        }
        Err(problems) => problems,
    };
    match &record {
        Some(record) if record.written != VersionHash::of_bytes(text.as_bytes()) => {
            let ours = state.load_text(record.written)?.unwrap_or_default();
            found.changed_outside = diff_plan_texts(&ours, &text);
            // Other bytes, but the same JSON.
            if found.changed_outside.is_empty() {
                found.changed_outside.push("/ (formatting)".to_owned());
            }
        }
        Some(_) => {}
        None => found
            .changed_outside
            .push("/ (not known to this state)".to_owned()),
    }
    found.context_problems = check_context_file(ctx, &id, record.as_ref());
    let is_free_of =
        |grade: ProblemGrade| found.problems.iter().all(|problem| problem.grade != grade);
    found.ok = is_free_of(ProblemGrade::Broken)
        && found.changed_outside.is_empty()
        && found.context_problems.is_empty();
    // Hints do not count: they are advice and must not block a freeze.
    found.complete = found.ok && is_free_of(ProblemGrade::Unfinished);
    Ok(found)
}

/// Returns the problems of `context.json`, which may be missing unless it was frozen.
fn check_context_file(
    ctx: &Context<'_>,
    id: &str,
    record: Option<&DocumentRecord>,
) -> Vec<PlanProblem> {
    let frozen = record.and_then(|record| record.context);
    match read_document_file(ctx, id, "context.json") {
        FileReadResult::Text { text, .. } => {
            let mut problems = check_context(&text);
            if frozen.is_some_and(|frozen| frozen != VersionHash::of_bytes(text.as_bytes())) {
                let what = "it was changed after it was frozen";
                problems.push(PlanProblem::broken("", what));
            }
            problems
        }
        FileReadResult::Missing => match frozen {
            Some(_) => vec![PlanProblem::broken("", "the file does not exist")],
            None => Vec::new(),
        },
        FileReadResult::Unreadable { why, .. } => {
            vec![PlanProblem::broken("", format!("it cannot be read: {why}"))]
        }
    }
}
