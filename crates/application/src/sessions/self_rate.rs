//! Stores a session's rating of its own work.

use domain::operation::Verb;
use domain::session::{LogEntryKind, MAX_RATINGS, Rating};
use domain::trail::{MapRefused, TrailLevel, normalize_trail_line};
use schemars::JsonSchema;
use serde::Serialize;

use super::session_change::open_or_begin_session;
use super::trail_state::require_trail;
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, begin_transaction};

/// Request to rate a session.
#[derive(Clone, Debug)]
pub struct RateRequest {
    pub score: u8,
    pub note: Option<String>,
}

/// The stored rating and the average.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RateOutcome {
    pub session: String,
    pub score: u8,
    pub ratings: usize,
    pub average: f64,
}

/// Stores a rating.
///
/// # Errors
/// When the score is not 1 to 10, there is no trail, or the state cannot be written.
pub fn self_rate(ctx: &Context<'_>, request: &RateRequest) -> Result<RateOutcome, Failure> {
    require_trail(ctx)?;
    if !(1..=10).contains(&request.score) {
        return Err(Failure::invalid(format!(
            "`{}` is not a rating: expected 1 to 10",
            request.score
        )));
    }
    let mut tx = begin_transaction(ctx)?;
    let planned = PlannedFiles::new(ctx, None);
    let (mut change, _) =
        open_or_begin_session(ctx, &*tx)?.ok_or(MapRefused::NoTrajectory(TrailLevel::Tactic))?;
    let note = request
        .note
        .as_deref()
        .map(normalize_trail_line)
        .filter(|note| !note.is_empty());
    let ratings = &mut change.session.ratings;
    ratings.push(Rating {
        at: ctx.clock.now(),
        score: request.score,
        note: note.clone(),
    });
    let first = ratings.len().saturating_sub(MAX_RATINGS);
    // The ratings are part of the session's record, which every step writes again: bounded. The log
    // keeps all of them.
    ratings.drain(..first);
    let words = note.map(|note| format!(", {note}")).unwrap_or_default();
    change.append_log(
        ctx,
        LogEntryKind::Rating,
        &format!("{} of 10{words}", request.score),
        None,
    );
    let summary = format!("rate session {}: {}", change.session.stamp, request.score);
    let (session, _) = change.record_operation(ctx, &mut *tx, &planned, Verb::Remember, summary)?;
    planned.commit_and_write(ctx, tx)?;
    let total: f64 = session
        .ratings
        .iter()
        .map(|rating| f64::from(rating.score))
        .sum();
    Ok(RateOutcome {
        session: session.stamp.to_string(),
        score: request.score,
        ratings: session.ratings.len(),
        average: total / session.ratings.len() as f64,
    })
}
