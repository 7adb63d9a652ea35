//! Files of a tick for people: the plan with its results, and the error report of a failed one.

use serde_json::{Value, json};

use super::record::{TickRecord, TickStatus};

/// Returns the path of a tick's plan file.
#[must_use]
pub fn tick_plan_path(tick: u64) -> String {
    format!("plans/plan_{tick:03}.json")
}

/// Returns the path of a failed tick's error file; with `log`, of the readable log.
#[must_use]
pub fn tick_error_path(tick: u64, log: bool) -> String {
    let end = if log { "log" } else { "json" };
    format!("errors/error_{tick:03}.{end}")
}

/// Renders the plan file of a tick.
#[must_use]
pub fn render_plan_file(record: &TickRecord) -> String {
    let mut value = common_fields(record);
    value["planner"] = json!(record.planner);
    value["status"] = json!(record.status.as_str());
    to_pretty_json(&value)
}

/// Renders the error file of a tick.
#[must_use]
pub fn render_error_file(record: &TickRecord) -> String {
    let mut value = common_fields(record);
    // Without a failed action the plan itself was rejected, before anything was run.
    let failed = record.executed.iter().find(|action| !action.success);
    value["error"] = json!({
        "type": if failed.is_some() { "ToolFailed" } else { "PlanRefused" },
        "message": record.errors.last(),
        "action_index": failed.map(|action| action.action_index),
        "failures": record.failures,
    });
    value["instructions"] = json!(retry_instructions(record));
    to_pretty_json(&value)
}

/// Renders the log of a failed tick.
#[must_use]
pub fn render_error_log(record: &TickRecord) -> String {
    let plan = serde_json::to_string_pretty(&record.plan).unwrap_or_default();
    let executed = serde_json::to_string_pretty(&record.executed).unwrap_or_default();
    format!(
        "=== Tick {} failed ({} of {}) ===\n\n{}\n\n{}\n\nPlan:\n{plan}\n\nExecuted actions:\n{executed}\n",
        record.tick,
        record.failures,
        super::record::MAX_TICK_ATTEMPTS,
        record.errors.join("\n"),
        retry_instructions(record)
    )
}

fn retry_instructions(record: &TickRecord) -> String {
    let tick = record.tick;
    let plan = tick_plan_path(tick);
    match record.status {
        TickStatus::Parked => {
            format!(
                "The tick is parked; the loop went on. To retry it: tl story tick --retry {tick}"
            )
        }
        _ => format!(
            // Commands to paste, the cheapest way out first.
            "1. Fix what is missing (tl story memory …), then: tl story tick --retry {tick}\n\
             2. Or edit `plan` in {plan}, then: tl story tick --retry {tick}   # goes on at the failed action\n\
             3. Or go on without it: tl story tick --skip {tick}\n\
             A plain `tl story tick` asks the planner again and tells it the error."
        ),
    }
}

fn common_fields(record: &TickRecord) -> Value {
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

fn to_pretty_json(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}
