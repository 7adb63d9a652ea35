//! Gate for files of plan documents: a tool may not change those of a frozen document.

use domain::gates::{self, FrozenFile, evaluate_frozen};
use domain::host_event::Reply;
use domain::plan_document::{DocumentRecord, split_document_path};
use domain::record;

use super::EventOutcome;
use crate::context::Context;
use crate::failure::Failure;

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
    let verdict = evaluate_frozen(&frozen, ctx.policy);
    let said =
        |fired: &[gates::FiredGate]| (!fired.is_empty()).then(|| gates::render_objections(fired));
    Ok(EventOutcome {
        reply: Reply {
            block: said(&verdict.blocks),
            context: said(&verdict.warnings),
            ..Reply::default()
        },
        blocked: verdict.blocks,
        warned: verdict.warnings,
        ..EventOutcome::default()
    })
}
