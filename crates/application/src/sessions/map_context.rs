//! Maps a tactic or an action: adds it to the trail or updates its progress, and moves the cursor.

use domain::node::Progress;
use domain::operation::Verb;
use domain::session::EntryKind;
use domain::stamp;
use domain::trail::{MapRefused, TrailLevel, checked_line, content, cursor_after, parent_for};

use super::change::open;
use super::declare_intent::{PlaceOutcome, place};
use super::trail_state::{counters_of, keep_counters, kept};
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, begin};

/// Request to map a node.
#[derive(Clone, Debug)]
pub struct MapRequest {
    pub level: TrailLevel,
    pub text: String,
    pub status: Progress,
}

/// Maps a node below the session's position and moves the cursor. A sibling with the same text is
/// updated instead.
///
/// # Errors
/// When there is no place for it, the project keeps no trail, or the state cannot be written.
pub fn map_context(ctx: &Context<'_>, request: &MapRequest) -> Result<PlaceOutcome, Failure> {
    kept(ctx)?;
    let text = checked_line(&request.text)?;
    let mut tx = begin(ctx)?;
    let planned = PlannedFiles::of(ctx, None);
    let (mut change, trail) = open(ctx, &*tx)?.ok_or(MapRefused::NoTrajectory(request.level))?;
    let parent = parent_for(request.level, &trail.path)?.clone();
    // The children of every node on the path are loaded, so the siblings need no second query.
    let depth = trail
        .path
        .iter()
        .position(|node| node.id == parent.id)
        .unwrap_or_default();
    let known = trail.below[depth]
        .iter()
        // The newest first: an older one with the same text may be complete.
        .rev()
        .find(|node| content(node) == text);
    let node = match known {
        Some(node) => {
            change.progress(node, request.status);
            node.clone()
        }
        None => change.add(
            ctx,
            &*tx,
            request.level,
            Some(parent.id),
            &text,
            request.status,
        )?,
    };
    change.session.cursor = cursor_after(node.id, parent.id, request.status);
    let kind = match (request.status, request.level) {
        (Progress::Complete, _) => EntryKind::Done,
        (Progress::Blocked, _) => EntryKind::Blocked,
        (_, TrailLevel::Action) => EntryKind::Action,
        (_, TrailLevel::Tactic | TrailLevel::Trajectory) => EntryKind::Tactic,
    };
    change.log(ctx, kind, &text, stamp::in_name(&node.alias));
    let summary = format!(
        "map {} {}: {text} ({})",
        request.level.word(),
        node.alias,
        request.status
    );
    let (session, _) = change.finish(ctx, &mut *tx, &planned, Verb::Map, summary)?;
    let mut counters = counters_of(&*tx, &ctx.session)?;
    // Only starting a tactic is compared with the last one; completing it would otherwise count as
    // going round in the same section.
    let tactic = (request.level == TrailLevel::Tactic && request.status != Progress::Complete)
        .then_some(text.as_str());
    counters.mapped(tactic, &ctx.policy.signals, ctx.clock.now());
    keep_counters(ctx, &mut *tx, &counters)?;
    let outcome = place(&*tx, session)?;
    planned.commit(ctx, tx)?;
    Ok(outcome)
}
