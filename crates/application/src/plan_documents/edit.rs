//! Edits a plan document: one change, or an atomic batch.

use std::collections::BTreeSet;

use domain::fact::Fact;
use domain::ids::OperationId;
use domain::plan_document::{
    AppliedChange, ChangeRefused, Plan, PlanChange, apply_changes, parse_batch,
};
use domain::ports::Snapshot;
use domain::secrets::{SecretCount, mask_text};
use domain::text::count_with_noun;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::document_files::{
    OpenedDocument, check_allowed, find_and_open, put_plan, refuse_frozen, run_with_files,
    stage_document, with_problems,
};
use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::status_cascade::cascade_statuses;

/// Maximum number of unreadable lines of a batch in a message.
const MAX_SHOWN_LINES: usize = 20;

/// The changes to apply.
#[derive(Clone, Debug)]
pub enum DocumentEdit {
    One(Box<PlanChange>),
    /// JSON lines, one change each.
    Batch(String),
}

/// The applied changes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EditOutcome {
    pub success: bool,
    pub document: String,
    /// The added and changed entities, in order.
    #[schemars(with = "Vec<crate::views::Object>")]
    pub changed: Vec<AppliedChange>,
    /// `None` if the plan is unchanged.
    pub operation: Option<OperationId>,
}

/// Applies changes to a document.
///
/// # Errors
/// When it is frozen, was changed outside, the role may not, or a change is refused; then nothing
/// is changed.
pub fn edit_document(
    ctx: &Context<'_>,
    document: Option<&str>,
    edit: &DocumentEdit,
) -> Result<EditOutcome, Failure> {
    run_with_files(ctx, &("doc edit", document, edit), |tx, planned| {
        let opened = find_and_open(ctx, &*tx, document)?;
        refuse_frozen(&opened.id, &opened.record)?;
        let (changes, is_batch) = match edit {
            DocumentEdit::One(change) => (vec![change.as_ref().clone()], false),
            // Parsed with the document's counters, so that a batch can refer to ids it is about to
            // create.
            DocumentEdit::Batch(text) => (
                parse_batch(text, &opened.record.numbers)
                    .map_err(|problems| unreadable_batch(&problems))?,
                true,
            ),
        };
        let worked = check_commands(ctx, &*tx, &opened.id, &changes, is_batch)?;
        let now = ctx.clock.now();
        // On copies: a refused change in the middle of a batch leaves nothing behind.
        let (mut plan, mut record) = (opened.plan.clone(), opened.record.clone());
        let changed = apply_changes(&mut plan, &mut record.numbers, &changes, now).map_err(
            |(at, refused)| refusal_failure(&opened, refused, is_batch.then_some(at + 1)),
        )?;
        // Before staging: the journal keeps every text, and a secret in it could only be purged.
        mask_new_texts(ctx, &opened.plan, &mut plan);
        // Setting a field to the value it has is no version: the entity's number would rise for
        // nothing.
        if plan == opened.plan {
            return Ok(EditOutcome {
                success: true,
                document: opened.id,
                changed,
                operation: None,
            });
        }
        let mut staged = stage_document(
            &*tx,
            &opened.id,
            Some(&opened.plan),
            &plan,
            &mut record,
            now,
        )?;
        if staged.settles {
            cascade_statuses(ctx, &*tx, &mut staged.facts, &staged.texts, now, None)?;
        }
        let summary = match (changes.as_slice(), changed.as_slice()) {
            ([change], [one]) => format!("{} {} in {}", change.command_name(), one.id, opened.id),
            _ => format!(
                "{} in {}",
                count_with_noun(changes.len(), "change", "changes"),
                opened.id
            ),
        };
        put_plan(planned, &opened, &staged.text)?;
        let records = (opened.id.as_str(), Some(&opened.record), &record);
        let mut operation = staged.into_operation(ctx, summary, now, records);
        operation.facts.extend(worked);
        let operation = planned.record_operation(tx, operation)?;
        Ok(EditOutcome {
            success: true,
            document: opened.id,
            changed,
            operation: Some(operation),
        })
    })
}

/// Checks that the role may use every command, and returns the facts of its work. A batch needs the
/// permission of each command in it, or it would be a way around the roles.
fn check_commands(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    document: &str,
    changes: &[PlanChange],
    is_batch: bool,
) -> Result<Vec<Fact>, Failure> {
    let mut commands: Vec<String> = changes
        .iter()
        .map(|change| format!("doc {}", change.command_name()))
        .collect();
    commands.extend(is_batch.then(|| "doc apply".to_owned()));
    commands.sort();
    commands.dedup();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    check_allowed(ctx, state, document, &commands)
}

fn unreadable_batch(problems: &[domain::plan_document::PlanProblem]) -> Failure {
    let lines = problems.iter().take(MAX_SHOWN_LINES).map(|problem| {
        let line = problem.line.unwrap_or_default();
        format!("line {line}: {}", problem.message)
    });
    let mut lines: Vec<String> = lines.collect();
    if problems.len() > MAX_SHOWN_LINES {
        lines.push(format!("and {} more", problems.len() - MAX_SHOWN_LINES));
    }
    Failure::invalid(format!(
        "{} of the batch cannot be read; nothing was changed:\n{}",
        count_with_noun(problems.len(), "line", "lines"),
        lines.join("\n")
    ))
    .with_step("correct these and run it again")
}

fn refusal_failure(
    opened: &OpenedDocument,
    refused: ChangeRefused,
    line: Option<usize>,
) -> Failure {
    let place = line
        .map(|line| format!("change {line} of the batch: "))
        .unwrap_or_default();
    let message = match &refused {
        ChangeRefused::Broken { problems } => {
            format!(
                "{place}the plan would contradict itself in {}",
                count_with_noun(problems.len(), "place", "places")
            )
        }
        other => format!("{place}{other}"),
    };
    let kind = match &refused {
        ChangeRefused::Unknown { .. } => FailureKind::NotFound,
        ChangeRefused::AnotherVersion { .. } => FailureKind::Conflict,
        ChangeRefused::NoVersion { .. }
        | ChangeRefused::Field { .. }
        | ChangeRefused::Empty { .. } => FailureKind::Invalid,
        ChangeRefused::Referred { .. } | ChangeRefused::Broken { .. } => FailureKind::Refused,
    };
    let failure = Failure::new(kind, message);
    let doc = &opened.id;
    match refused {
        ChangeRefused::AnotherVersion {
            id, is, current, ..
        }
        | ChangeRefused::NoVersion { id, is, current } => failure
            .with_step(format!("tl doc show {id} --doc {doc}   # what it is now"))
            .with_step(format!(
                "run it again with --version {is}, if it still applies"
            ))
            .with_current(current),
        ChangeRefused::Unknown { .. } | ChangeRefused::Referred { .. } => {
            failure.with_step(format!("tl doc show --doc {doc}"))
        }
        ChangeRefused::Broken { problems } => with_problems(failure, &problems),
        ChangeRefused::Field { id, .. } => {
            failure.with_step(format!("tl doc show {id} --doc {doc}"))
        }
        ChangeRefused::Empty { .. } => failure,
    }
}

/// Masks secrets in the texts that a change added. Existing texts are left as they are.
fn mask_new_texts(ctx: &Context<'_>, before: &Plan, after: &mut Plan) {
    let (Ok(mut before), Ok(mut value)) =
        (serde_json::to_value(before), serde_json::to_value(&*after))
    else {
        return;
    };
    // Text that is there already belongs to its author; masking it now would change a plan that
    // this edit does not touch.
    let mut known = BTreeSet::new();
    visit_texts(&mut before, &mut |text| {
        known.insert(text.clone());
    });
    let mut masked = SecretCount::default();
    visit_texts(&mut value, &mut |text| {
        if !known.contains(text) {
            *text = mask_text(text, &mut masked).into_owned();
        }
    });
    if !masked.is_empty()
        && let Ok(plan) = serde_json::from_value(value)
    {
        *after = plan;
        ctx.push_masked_notice(&masked, "plan document");
    }
}

fn visit_texts(value: &mut Value, visit: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter_mut().for_each(|item| visit_texts(item, visit)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|item| visit_texts(item, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
