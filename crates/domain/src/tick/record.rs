//! What is kept of ticks: where the story stands, each tick with its plan and results, and what models cost.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::execute::Executed;
use super::plan::Plan;
use crate::record::Recorded;
use crate::time::Timestamp;

/// A plan that failed so often is put aside, and the loop goes on.
pub const MOST_ATTEMPTS: u32 = 3;

/// Where the story stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TickState {
    /// The last tick that is settled: done, skipped or parked.
    pub current_tick: u64,
    pub active_character: Option<String>,
    /// What the story is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub novel: Option<String>,
}

impl TickState {
    /// The key of its one record.
    pub const KEY: &'static str = "story";
}

impl Recorded for TickState {
    const KIND: &'static str = "tick-state";
}

/// What became of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TickStatus {
    /// There is a plan, and nothing of it was run.
    Planned,
    Done,
    /// An action failed; those before it are done.
    Failed,
    /// It failed too often and was put aside.
    Parked,
    /// A person said to go on without it.
    Skipped,
}

impl TickStatus {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Parked => "parked",
            Self::Skipped => "skipped",
        }
    }
}

/// What the planner had before it.
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
    /// Who planned it: `offline`, a provider and its model, a host.
    pub planner: String,
    pub plan: Plan,
    pub executed: Vec<Executed>,
    pub errors: Vec<String>,
    /// How often it failed.
    pub failures: u32,
    pub context_used: ContextUsed,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl TickRecord {
    /// Returns the key of a tick's record.
    #[must_use]
    pub fn key(tick: u64) -> String {
        format!("{tick:06}")
    }

    /// Returns the first action that is still to be run.
    #[must_use]
    pub fn next_action(&self) -> usize {
        self.executed.iter().filter(|action| action.success).count()
    }
}

impl Recorded for TickRecord {
    const KIND: &'static str = "tick";
}

/// One call of a model and what it cost. An unknown price is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    pub at: Timestamp,
    /// `tick 5`, or the node that was written.
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
    /// What the provider's layer noted besides.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

impl Recorded for Spending {
    const KIND: &'static str = "spending";
}
