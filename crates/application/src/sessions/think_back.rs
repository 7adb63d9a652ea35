//! Retrospective of a session: its position, turning points, gaps, signals and the last log lines.

use domain::compaction::{extract_turning_points, format_turning_point};
use domain::detection::Signal;
use domain::trail::Gap;
use schemars::JsonSchema;
use serde::Serialize;

use super::scan_hierarchy::scan_hierarchy;
use super::ticket_trail::load_ticket_trail;
use super::trail_state::{detect_signals, load_current_trail, load_ticket_intent, require_trail};
use crate::context::Context;
use crate::failure::Failure;
use crate::session_state::load_session_state;

/// The retrospective of a session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LookBack {
    pub session: Option<String>,
    /// The tree with a mark at the cursor.
    pub tree: String,
    pub cursor: Option<String>,
    pub turning_points: Vec<String>,
    pub next_action: Option<String>,
    pub anchors: Vec<String>,
    /// Breaks in the chain.
    #[schemars(with = "Vec<crate::views::Object>")]
    pub gaps: Vec<Gap>,
    #[schemars(with = "Vec<crate::views::Object>")]
    pub signals: Vec<Signal>,
    /// The last lines of the log.
    pub log: Vec<String>,
}

/// Maximum number of log lines shown.
const MAX_LOG_LINES: usize = 12;

/// Returns the retrospective of the current session.
///
/// # Errors
/// When the project keeps no trail, or the state cannot be read.
pub fn think_back(ctx: &Context<'_>) -> Result<LookBack, Failure> {
    require_trail(ctx)?;
    let scan = scan_hierarchy(ctx)?;
    let state = ctx.store.begin_read()?;
    let trail = load_current_trail(ctx, &*state)?;
    let counters = load_session_state(&*state, &ctx.session)?.counters;
    let intent = load_ticket_intent(ctx, &*state)?;
    let signals = detect_signals(ctx, trail.as_ref(), intent.as_deref(), &counters);
    // The same data as the briefing, so that both never contradict each other.
    let briefing = super::gather_trail_briefing(ctx, &*state)?;
    let log = match &trail {
        Some(trail) => super::trail_state::load_log(&*state, &trail.session)?,
        None => Vec::new(),
    };
    let next_action = match &trail {
        Some(_) => briefing.next_action,
        None => load_ticket_trail(ctx, &*state)?.map(|ticket| ticket.next_action),
    };
    let last = &log[log.len().saturating_sub(MAX_LOG_LINES)..];
    Ok(LookBack {
        session: scan.session,
        tree: scan.tree,
        cursor: scan.hierarchy.cursor,
        turning_points: if log.is_empty() {
            Vec::new()
        } else {
            extract_turning_points(&log)
                .iter()
                .map(format_turning_point)
                .collect()
        },
        next_action,
        anchors: briefing.anchors,
        gaps: scan.gaps,
        signals,
        log: last.iter().map(format_turning_point).collect(),
    })
}
