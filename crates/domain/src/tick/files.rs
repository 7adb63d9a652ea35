//! Ticks as files people read and edit: the plan with its results, and what is to be known about one that failed.

use serde_json::{Value, json};

use super::record::{TickRecord, TickStatus};

/// Returns the file of a tick's plan.
#[must_use]
pub fn plan_path(tick: u64) -> String {
    format!("plans/plan_{tick:03}.json")
}

/// Returns the file about a failed tick; with `log`, the one for reading.
#[must_use]
pub fn error_path(tick: u64, log: bool) -> String {
    let end = if log { "log" } else { "json" };
    format!("errors/error_{tick:03}.{end}")
}

/// Returns the plan file of a tick.
#[must_use]
pub fn plan_file(record: &TickRecord) -> String {
    let mut value = shared(record);
    value["planner"] = json!(record.planner);
    value["status"] = json!(record.status.word());
    pretty(&value)
}

/// Returns the error file of a tick.
#[must_use]
pub fn error_file(record: &TickRecord) -> String {
    let mut value = shared(record);
    let failed = record.executed.iter().find(|action| !action.success);
    value["error"] = json!({
        "type": if failed.is_some() { "ToolFailed" } else { "PlanRefused" },
        "message": record.errors.last(),
        "action_index": failed.map(|action| action.action_index),
        "failures": record.failures,
    });
    value["instructions"] = json!(instructions(record));
    pretty(&value)
}

/// Returns the log of a failed tick, for reading.
#[must_use]
pub fn error_log(record: &TickRecord) -> String {
    let plan = serde_json::to_string_pretty(&record.plan).unwrap_or_default();
    let executed = serde_json::to_string_pretty(&record.executed).unwrap_or_default();
    format!(
        "=== Tick {} failed ({} of {}) ===\n\n{}\n\n{}\n\nPlan:\n{plan}\n\nWhat was run:\n{executed}\n",
        record.tick,
        record.failures,
        super::record::MOST_ATTEMPTS,
        record.errors.join("\n"),
        instructions(record)
    )
}

fn instructions(record: &TickRecord) -> String {
    let tick = record.tick;
    let plan = plan_path(tick);
    match record.status {
        TickStatus::Parked => format!(
            "The tick is put aside; the loop went on. To take it up: tl tick --retry {tick}"
        ),
        _ => format!(
            "1. Mend what is missing (tl memory …), then: tl tick --retry {tick}\n\
             2. Or edit `plan` in {plan}, then: tl tick --retry {tick}   # goes on at the failed action\n\
             3. Or go on without it: tl tick --skip {tick}\n\
             A plain `tl tick` asks the planner again and tells it the error."
        ),
    }
}

fn shared(record: &TickRecord) -> Value {
    json!({
        "tick": record.tick,
        "timestamp": record.at,
        "plan": record.plan,
        "execution": {
            "success": record.status == TickStatus::Done,
            "actions_executed": record.executed,
            "errors": record.errors,
        },
        "context_used": record.context_used,
        "warnings": record.warnings,
    })
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}
