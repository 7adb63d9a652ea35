//! Retrospective of a session: its position, turning points, gaps, signals and the last log lines.

use domain::compaction::{point_line, turning_points};
use domain::detection::Signal;
use domain::trail::Gap;
use serde::Serialize;

use super::scan_hierarchy::scan_hierarchy;
use super::trail_state::{counters_of, kept, signals, standing};
use crate::context::Context;
use crate::failure::Failure;

/// The retrospective of a session.
#[derive(Clone, Debug, Serialize)]
pub struct LookBack {
    pub session: Option<String>,
    /// The tree with a mark at the cursor.
    pub tree: String,
    pub cursor: Option<String>,
    pub turning_points: Vec<String>,
    pub next_action: Option<String>,
    pub anchors: Vec<String>,
    /// Breaks in the chain.
    pub gaps: Vec<Gap>,
    pub signals: Vec<Signal>,
    /// The last lines of the log.
    pub log: Vec<String>,
}

/// Maximum number of log lines shown.
const MOST_LINES: usize = 12;

/// Returns the retrospective of the current session.
///
/// # Errors
/// When the project keeps no trail, or the state cannot be read.
pub fn think_back(ctx: &Context<'_>) -> Result<LookBack, Failure> {
    kept(ctx)?;
    let scan = scan_hierarchy(ctx)?;
    let state = ctx.store.read()?;
    let trail = standing(ctx, &*state)?;
    let counters = counters_of(&*state, &ctx.session)?;
    let signals = signals(ctx, trail.as_ref(), &counters);
    // The same data as the briefing, so that both never contradict each other.
    let briefing = super::trail_briefing(ctx, &*state)?;
    let log = match &trail {
        Some(trail) => super::trail_state::log_of(&*state, &trail.session)?,
        None => Vec::new(),
    };
    let last = &log[log.len().saturating_sub(MOST_LINES)..];
    Ok(LookBack {
        session: scan.session,
        tree: scan.tree,
        cursor: scan.hierarchy.cursor,
        turning_points: if log.is_empty() {
            Vec::new()
        } else {
            turning_points(&log).iter().map(point_line).collect()
        },
        next_action: briefing.next_action,
        anchors: briefing.anchors,
        gaps: scan.gaps,
        signals,
        log: last.iter().map(point_line).collect(),
    })
}
