//! Stored records of ticks: the story's position, each tick with plan and results, and the costs of
//! model calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::execute::ExecutedAction;
use super::plan::TickPlan;
use super::tools::is_query;
use crate::named_enum::named_enum;
use crate::record::Recorded;
use crate::time::Timestamp;

/// Maximum number of failures of a tick before it is parked and the loop goes on.
pub const MAX_TICK_ATTEMPTS: u32 = 3;

/// Maximum length of a query's result in a prompt. A plan has up to twelve of them.
const MAX_RESULT_CHARS: usize = 1_200;

/// Current position of the story.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TickState {
    /// The last tick that is settled: done, skipped or parked.
    pub current_tick: u64,
    pub active_character: Option<String>,
    /// Whether the author chose whom the story follows; a tick does not change it then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_chosen: bool,
    /// The story's title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub novel: Option<String>,
}

impl TickState {
    /// Key of the single record.
    pub const KEY: &'static str = "story";
}

impl Recorded for TickState {
    const KIND: &'static str = "tick-state";
}

named_enum! {
    /// Status of a tick.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum TickStatus {
        /// There is a plan, and none of its actions was run.
        Planned = "planned",
        Done = "done",
        /// An action failed; those before it are done.
        Failed = "failed",
        /// It failed [`MAX_TICK_ATTEMPTS`] times.
        Parked = "parked",
        /// A person chose to go on without it.
        Skipped = "skipped",
    }
}

/// Summary of the context the planner was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextUsed {
    pub active_character: Option<String>,
    pub recent_scenes: Vec<String>,
    pub open_loops_count: usize,
}

/// One tick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TickRecord {
    pub tick: u64,
    pub status: TickStatus,
    pub at: Timestamp,
    /// The planner: `offline`, a provider with its model, or a host.
    pub planner: String,
    pub plan: TickPlan,
    pub executed: Vec<ExecutedAction>,
    pub errors: Vec<String>,
    /// Number of failures.
    pub failures: u32,
    pub context_used: ContextUsed,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Path of the scene that it prepares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scene: Option<String>,
    /// Queries whose results the planner got before its last plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consulted: Vec<ExecutedAction>,
}

impl TickRecord {
    /// Returns the key of a tick's record.
    #[must_use]
    pub fn record_key(tick: u64) -> String {
        // Padded, because records are listed in the order of their keys.
        format!("{tick:06}")
    }

    /// Returns what the tick's queries found, one line each.
    pub fn found_lines(&self) -> impl Iterator<Item = String> + '_ {
        // A plan may repeat a query the planner was consulted about; its result would be told
        // twice.
        let is_asked_before = |action: &&ExecutedAction| {
            let same = |it: &ExecutedAction| it.tool == action.tool && it.args == action.args;
            !self.consulted.iter().any(same)
        };
        let executed = self.executed.iter().filter(move |it| is_asked_before(it));
        let queries = self.consulted.iter().chain(executed);
        queries
            .filter(|action| action.success && is_query(&action.tool))
            .filter_map(found_line)
    }

    /// Returns the index of the first action that is still to be run.
    #[must_use]
    pub fn next_action(&self) -> usize {
        // Actions run in order and stop at the first failure, so the count is the index.
        self.executed.iter().filter(|action| action.success).count()
    }
}

/// Returns what a query found, as one line.
#[must_use]
pub(super) fn found_line(action: &ExecutedAction) -> Option<String> {
    let result = action.result.as_ref()?.to_string();
    let args = Value::Object(action.args.clone()).to_string();
    let cut: String = result.chars().take(MAX_RESULT_CHARS).collect();
    let more = if cut.len() < result.len() { "…" } else { "" };
    Some(format!("{} {args}: {cut}{more}", action.tool))
}

impl Recorded for TickRecord {
    const KIND: &'static str = "tick";
}

/// One model call and its cost; `None` is an unknown price, never zero.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelSpending {
    pub at: Timestamp,
    /// What the call is charged to: `tick 5`, or the node that was written.
    pub account: String,
    pub purpose: String,
    pub provider: String,
    pub model: String,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_micros: Option<u64>,
    pub latency_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Further notes of the provider's client.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

impl Recorded for ModelSpending {
    const KIND: &'static str = "spending";
}
