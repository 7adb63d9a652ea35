//! Maps a tactic or an action: adds it to the trail or updates its progress, and moves the cursor.

use domain::node::{Node, Progress};
use domain::operation::Verb;
use domain::session::LogEntryKind;
use domain::stamp;
use domain::trail::{
    MapRefused, TrailLevel, cursor_after, find_left_nodes, find_parent_node, node_text,
    validate_trail_line,
};

use super::declare_intent::{PlaceOutcome, describe_place};
use super::session_change::open_or_begin_session;
use super::trail_state::require_trail;
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, begin_transaction};
use crate::session_state::update_session_state;

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
    require_trail(ctx)?;
    let text = validate_trail_line(&request.text)?;
    let mut tx = begin_transaction(ctx)?;
    let planned = PlannedFiles::new(ctx, None);
    let (mut change, trail) =
        open_or_begin_session(ctx, &*tx)?.ok_or(MapRefused::NoTrajectory(request.level))?;
    let parent = find_parent_node(request.level, &trail.path)?.clone();
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
        .find(|node| node_text(node) == text);
    let begun = known.map(|node| node.id);
    let left: Vec<Node> = match request.status {
        // Something that is already over replaces nothing.
        Progress::Complete => Vec::new(),
        _ => find_left_nodes(request.level, &trail.path, begun)
            .into_iter()
            .cloned()
            .collect(),
    };
    // Without a line in the log: what was begun instead has one.
    for node in &left {
        change.set_progress(node, Progress::Complete);
    }
    let node = match known {
        Some(node) => {
            change.set_progress(node, request.status);
            node.clone()
        }
        None => change.add_stamped_node(
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
        (Progress::Complete, _) => LogEntryKind::Done,
        (Progress::Blocked, _) => LogEntryKind::Blocked,
        (_, TrailLevel::Action) => LogEntryKind::Action,
        (_, TrailLevel::Tactic | TrailLevel::Trajectory) => LogEntryKind::Tactic,
    };
    change.append_log(ctx, kind, &text, stamp::stamp_in_name(&node.alias));
    let summary = format!(
        "map {} {}: {text} ({})",
        request.level.as_str(),
        node.alias,
        request.status
    );
    let (session, _) = change.record_operation(ctx, &mut *tx, &planned, Verb::Map, summary)?;
    // Only starting a tactic is compared with the last one; completing it would otherwise count as
    // going round in the same section.
    let tactic = (request.level == TrailLevel::Tactic && request.status != Progress::Complete)
        .then_some(text.as_str());
    update_session_state(ctx, &mut *tx, |session| {
        let counters = &mut session.counters;
        counters.start_section(tactic, &ctx.policy.signals, ctx.clock.now());
    })?;
    let outcome = describe_place(&*tx, session)?;
    planned.commit_and_write(ctx, tx)?;
    Ok(outcome)
}
