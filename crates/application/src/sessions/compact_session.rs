//! Compact: distil what is worth keeping, and let the rest go.
//!
//! A conversation that a host makes short goes on in the same session; `compact_session` ends the session itself.

use domain::compaction::{Distillation, LONGEST_REPORT, distillation, prompt, report};
use domain::operation::Verb;
use domain::session::{EntryKind, SessionStatus};
use domain::trail::{MapRefused, TrailLevel};
use serde::Serialize;

use super::change::{Change, open};
use super::trail_state::{counters_of, kept, standing};
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, begin};

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct CompactRequest {
    /// What the next compaction is to keep, where an agent or a model wrote it; without it, by rule.
    pub report: Option<String>,
    /// The turning points as a model told them; without them, by rule. Everything else in the report stays by rule, so
    /// that no model can lose where the work stands.
    pub turning_points: Option<Vec<String>>,
}

/// What was kept.
#[derive(Clone, Debug, Serialize)]
pub struct CompactOutcome {
    pub session: String,
    pub compaction_count: u32,
    pub next_compaction_report: String,
    pub archive: String,
}

/// Returns what a model is asked before a session is compacted; nothing when there is nothing to distil.
///
/// # Errors
/// When the project keeps no trail or the state cannot be read.
pub fn to_distil(ctx: &Context<'_>) -> Result<Option<Distillation>, Failure> {
    kept(ctx)?;
    let state = ctx.store.read()?;
    let Some(trail) = standing(ctx, &*state)?.filter(|trail| trail.own) else {
        return Ok(None);
    };
    let log = super::log_with_earlier(&*state, &trail.session)?;
    Ok((!log.is_empty()).then(|| distillation(&log)))
}

/// Ends a session: its report is written, its file and its tree are archived. An unfinished trajectory is offered to the next
/// session, a finished one never again.
///
/// # Errors
/// When nothing is under way, the project keeps no trail, or the state cannot be written.
pub fn compact_session(
    ctx: &Context<'_>,
    request: &CompactRequest,
) -> Result<CompactOutcome, Failure> {
    kept(ctx)?;
    let mut tx = begin(ctx)?;
    let planned = PlannedFiles::of(ctx, None);
    let (mut change, trail) =
        open(ctx, &*tx)?.ok_or(MapRefused::NoTrajectory(TrailLevel::Tactic))?;
    let report = match request
        .report
        .as_deref()
        .map(str::trim)
        .filter(|report| !report.is_empty())
    {
        Some(given) => given.chars().take(LONGEST_REPORT).collect(),
        None => {
            let mut material = super::material(&*tx, &trail, &counters_of(&*tx, &ctx.session)?)?;
            if let Some(points) = &request.turning_points {
                material.turning_points.clone_from(points);
            }
            report(&material)
        }
    };
    purified(ctx, &mut change, &report);
    change.session.status = SessionStatus::Archived;
    let summary = format!("compact session {}", change.session.stamp);
    let (session, _) = change.finish(ctx, &mut *tx, &planned, Verb::Compact, summary)?;
    planned.commit(ctx, tx)?;
    Ok(CompactOutcome {
        session: session.stamp.to_string(),
        compaction_count: session.compaction_count,
        next_compaction_report: report,
        archive: session.file(),
    })
}

fn purified(ctx: &Context<'_>, change: &mut Change, report: &str) {
    change.session.compaction_count += 1;
    change.session.last_compaction = Some(ctx.clock.now());
    change.session.next_compaction_report = Some(report.to_owned());
    change.log(
        ctx,
        EntryKind::Compaction,
        &format!("round {}", change.session.compaction_count),
        None,
    );
}

/// A host is about to compact its conversation: counts it, distils the report of this round for the next one, and returns the
/// prompt for this one, where an earlier round has written a report. Nothing happens where no trail is under way.
pub(crate) fn conversation_compacts(ctx: &Context<'_>) -> Result<Option<String>, Failure> {
    let mut tx = begin(ctx)?;
    let planned = PlannedFiles::of(ctx, None);
    let Some(trail) = standing(ctx, &*tx)?.filter(|trail| trail.own) else {
        return Ok(None);
    };
    let mut change = Change::of(&*tx, trail.session.clone())?;
    let kept_before = change.session.next_compaction_report.is_some();
    let report = report(&super::material(
        &*tx,
        &trail,
        &counters_of(&*tx, &ctx.session)?,
    )?);
    purified(ctx, &mut change, &report);
    let summary = format!(
        "conversation of session {} is compacted",
        change.session.stamp
    );
    change.finish(ctx, &mut *tx, &planned, Verb::Compact, summary)?;
    planned.commit(ctx, tx)?;
    // The first round leaves the host its own prompt: nothing was distilled for it yet.
    Ok(kept_before.then(|| prompt(&report)))
}
