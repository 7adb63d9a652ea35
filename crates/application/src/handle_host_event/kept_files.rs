//! Gates for files only commands may write: decisions, and plan documents once they are frozen.

use domain::gates::{self, FrozenFile, GateVerdict, evaluate_decisions, evaluate_frozen};
use domain::host_event::Reply;
use domain::plan_document::{DocumentRecord, split_document_path};
use domain::record;

use super::EventOutcome;
use crate::context::Context;
use crate::failure::Failure;

/// Evaluates the `decisions` gate for the files a call would change.
pub(super) fn check_decision_files(ctx: &Context<'_>, files: &[String]) -> EventOutcome {
    to_outcome(evaluate_decisions(files, ctx.policy))
}

/// Evaluates the `frozen` gate for the files a call would change.
pub(super) fn check_frozen_files(
    ctx: &Context<'_>,
    files: &[String],
) -> Result<EventOutcome, Failure> {
    let of_documents: Vec<(&str, &str)> = files
        .iter()
        .filter_map(|file| split_document_path(file))
        .collect();
    // Most calls touch no plan document and must not pay for opening the store.
    if of_documents.is_empty() {
        return Ok(EventOutcome::default());
    }
    let state = ctx.store.begin_read()?;
    let mut frozen = Vec::new();
    for (document, name) in of_documents {
        let Some(record) = record::read_record::<DocumentRecord>(&*state, document)? else {
            continue;
        };
        let is_frozen = match name {
            // `context.json` freezes earlier than the plan: the plan is written against it.
            "plan.json" | "plan.md" => record.frozen.is_some(),
            "context.json" => record.context.is_some(),
            _ => false,
        };
        if is_frozen {
            frozen.push(FrozenFile { document, name });
        }
    }
    Ok(to_outcome(evaluate_frozen(&frozen, ctx.policy)))
}

fn to_outcome(verdict: GateVerdict) -> EventOutcome {
    let said =
        |fired: &[gates::FiredGate]| (!fired.is_empty()).then(|| gates::render_objections(fired));
    EventOutcome {
        reply: Reply {
            block: said(&verdict.blocks),
            context: said(&verdict.warnings),
            ..Reply::default()
        },
        blocked: verdict.blocks,
        warned: verdict.warnings,
        ..EventOutcome::default()
    }
}
