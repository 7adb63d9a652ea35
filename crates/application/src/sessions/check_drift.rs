//! Drift of a session from its trail, as numbers: the counters, the signals and a score.

use domain::detection::{Signal, ToolUseCounts};
use domain::session::Rating;
use schemars::JsonSchema;
use serde::Serialize;

use super::trail_state::{detect_signals, load_current_trail, load_ticket_intent, require_trail};
use crate::context::Context;
use crate::failure::Failure;
use crate::session_state::load_session_state;

/// The counters of a session, its signals and its drift score.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DriftView {
    /// 100 is on course, 0 is lost.
    pub drift_score: u32,
    pub turn_count: u32,
    pub total_tool_calls: u32,
    pub successful_tool_calls: u32,
    pub consecutive_failures: u32,
    pub consecutive_same_section: u32,
    pub section_turns: u32,
    #[schemars(with = "crate::views::Object")]
    pub tool_type_counts: ToolUseCounts,
    pub keyword_flags: Vec<String>,
    pub files_touched: Vec<String>,
    pub compaction_count: u32,
    #[schemars(with = "Vec<crate::views::Object>")]
    pub ratings: Vec<Rating>,
    #[schemars(with = "Vec<crate::views::Object>")]
    pub signals: Vec<Signal>,
}

/// Returns the counters and the drift score of the acting session.
///
/// # Errors
/// When the project keeps no trail, or the state cannot be read.
pub fn check_drift(ctx: &Context<'_>) -> Result<DriftView, Failure> {
    require_trail(ctx)?;
    let state = ctx.store.begin_read()?;
    let trail = load_current_trail(ctx, &*state)?;
    let counters = load_session_state(&*state, &ctx.session)?.counters;
    let intent = load_ticket_intent(ctx, &*state)?;
    let signals = detect_signals(ctx, trail.as_ref(), intent.as_deref(), &counters);
    Ok(DriftView {
        drift_score: counters.drift_score(&signals),
        turn_count: counters.turn_count,
        total_tool_calls: counters.turn_count,
        successful_tool_calls: counters.successful_calls,
        consecutive_failures: counters.consecutive_failures,
        consecutive_same_section: counters.consecutive_same_section,
        section_turns: counters.section_turns,
        tool_type_counts: counters.tool_type_counts,
        keyword_flags: counters.keyword_flags.keys().cloned().collect(),
        files_touched: counters.files_touched.iter().cloned().collect(),
        // Kept in the session, not in the counters: those are notes and may be lost.
        compaction_count: trail
            .as_ref()
            .map_or(0, |trail| trail.session.compaction_count),
        ratings: trail.map(|trail| trail.session.ratings).unwrap_or_default(),
        signals,
    })
}
