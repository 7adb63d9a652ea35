//! Runs a plan: its actions in order, each with the results of the earlier ones, up to the first
//! failure.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::plan::TickPlan;
use super::tools::{self, TickStage, is_reference};

/// Result of one action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutedAction {
    pub action_index: usize,
    pub tool: String,
    pub args: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub success: bool,
}

/// Runs the actions that `done` does not contain yet. Returns all that were run; a failed one is
/// last.
pub fn execute_plan(
    stage: &mut TickStage<'_>,
    plan: &TickPlan,
    mut done: Vec<ExecutedAction>,
) -> Vec<ExecutedAction> {
    // A retry goes on at the failed action. Those before it are not repeated, or a character would
    // be created twice.
    done.retain(|action| action.success);
    for (index, action) in plan.actions.iter().enumerate().skip(done.len()) {
        let ran = run_action(stage, &action.tool, &action.args, index, &done);
        let success = ran.is_ok();
        let (args, result, error) = match ran {
            Ok((args, result)) => (args, Some(result), None),
            Err(problem) => (action.args.clone(), None, Some(problem)),
        };
        done.push(ExecutedAction {
            action_index: index,
            tool: action.tool.clone(),
            args,
            result,
            error,
            success,
        });
        if !success {
            break;
        }
    }
    done
}

/// Runs the queries of a plan, which change nothing, and returns what they found. Those that need the result
/// of an earlier action are left out: it has not been run.
pub fn run_queries(stage: &mut TickStage<'_>, plan: &TickPlan) -> Vec<ExecutedAction> {
    let mut found = Vec::new();
    for (index, action) in plan.actions.iter().enumerate() {
        if !tools::is_query(&action.tool) {
            continue;
        }
        if let Ok((args, result)) = run_action(stage, &action.tool, &action.args, index, &[]) {
            found.push(ExecutedAction {
                action_index: index,
                tool: action.tool.clone(),
                args,
                result: Some(result),
                error: None,
                success: true,
            });
        }
    }
    found
}

/// Whether a query found anything.
#[must_use]
pub fn has_found_something(action: &ExecutedAction) -> bool {
    fn is_empty(value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.values().all(is_empty),
            Value::String(text) => text.is_empty(),
            Value::Bool(_) | Value::Number(_) => false,
        }
    }
    action
        .result
        .as_ref()
        .is_some_and(|result| !is_empty(result))
}

fn run_action(
    stage: &mut TickStage<'_>,
    name: &str,
    args: &Map<String, Value>,
    index: usize,
    done: &[ExecutedAction],
) -> Result<(Map<String, Value>, Value), String> {
    let tool = tools::find_tool(name).ok_or_else(|| format!("there is no tool `{name}`"))?;
    let filled: Map<String, Value> = args
        .iter()
        .map(|(key, value)| Ok((key.clone(), resolve_references(value, done)?)))
        .collect::<Result<_, String>>()?;
    // Checked again: references have only now become values, and earlier actions may have changed
    // the memory since the plan was read.
    let args = tool.check_arguments(&filled, &stage.memory, index)?;
    let result = (tool.run)(stage, &args)?;
    Ok((args, result))
}

/// Replaces references such as `$0.id` by the results of earlier actions.
pub(super) fn resolve_references(value: &Value, done: &[ExecutedAction]) -> Result<Value, String> {
    match value {
        Value::String(text) if is_reference(text) => {
            let mut parts = text.trim_start_matches('$').split('.');
            let index: usize = parts
                .next()
                .and_then(|part| part.parse().ok())
                .unwrap_or(usize::MAX);
            let from = done.get(index).and_then(|action| action.result.as_ref());
            let mut found =
                from.ok_or_else(|| format!("`{text}` refers to an action that was not run"))?;
            for part in parts {
                let inner = part
                    // Digits index a list, but may also be the name of a field.
                    .parse::<usize>()
                    .ok()
                    .and_then(|at| found.get(at))
                    .or_else(|| found.get(part));
                found = inner.ok_or_else(|| {
                    format!("`{text}`: the result of action {index} has no `{part}`")
                })?;
            }
            Ok(found.clone())
        }
        Value::Array(items) => items
            .iter()
            .map(|item| resolve_references(item, done))
            .collect::<Result<_, _>>()
            .map(Value::Array),
        other => Ok(other.clone()),
    }
}
