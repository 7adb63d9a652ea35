//! Counts a session's tool calls, and reports each signal once.
//!
//! In a project with a trail every call is counted; elsewhere those that are recorded anyway, so that
//! a call that only reads costs no write. Calls of subagents are not counted: signals are about the
//! main line of work.

use domain::detection::{CountedCall, Signal, classify_tool_call};
use domain::host_event::{HostEvent, ToolCall, ToolKind};
use domain::node::Node;
use domain::policy::Governance;
use domain::ports::Snapshot;
use domain::session_state::SessionState;
use domain::trail;

use super::EventContext;
use super::gather::{resolve_session_file, session_file_digest};
use super::overlaps::changed_files;
use crate::context::Context;
use crate::failure::Failure;
use crate::sessions::{detect_signals, load_current_trail, load_ticket_intent};

/// Counts a finished call of a session at `ticket`, and returns the signals that are new.
pub(super) fn count_call(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    event: &HostEvent,
    call: &ToolCall,
    failed: bool,
    (surroundings, ticket): (&EventContext<'_>, Option<&Node>),
    session: &mut SessionState,
) -> Result<Option<String>, Failure> {
    let trail = match trail::has_trail_profile(ctx.profiles) {
        true => load_current_trail(ctx, state)?,
        false => None,
    };
    let intent = ticket.map(|node| node.description.title.as_deref().unwrap_or(&node.alias));
    let changed = changed_files(surroundings);
    session.counters.count_call(
        &CountedCall {
            what: classify_tool_call(call),
            failed,
            // What a subagent is asked to do says nothing about how this session fares.
            says: call
                .says
                .as_deref()
                .filter(|_| call.kind != ToolKind::Agent),
            command: call.command.as_deref(),
            files: changed
                .iter()
                .map(String::as_str)
                // The program's own folder is bookkeeping, not work: it would raise signals about
                // drift.
                .filter(|file| !file.starts_with(".throughline/"))
                .collect(),
            action_declared: intent.is_some()
                || trail
                    .as_ref()
                    .is_some_and(|trail| trail.has_declared_action()),
            at: ctx.clock.now(),
            call: call.id.as_deref(),
        },
        &ctx.policy.signals,
    );
    for touch in &call.touches {
        let Some(file) = resolve_session_file(ctx.files, event, &touch.path) else {
            continue;
        };
        // A session knows a file as well after writing it as after reading it; a failed call shows
        // nothing.
        if let (Some(digest), false) = (session_file_digest(ctx, &file), failed) {
            session.conversation.read_files.insert(file, digest);
        }
    }
    let found = detect_signals(ctx, trail.as_ref(), intent, &session.counters);
    Ok(match ctx.policy.governance {
        // Counted all the same: `tl trail drift` shows them on request.
        Governance::Permissive => None,
        Governance::Assisted | Governance::Strict => {
            render_signals(&session.counters.take_unreported(&found))
        }
    })
}

fn render_signals(news: &[&Signal]) -> Option<String> {
    let lines: Vec<String> = news
        .iter()
        .map(|signal| {
            format!(
                "Throughline noticed: {}. Next: {}",
                signal.text, signal.next_step
            )
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Marks the current signals as reported, because a briefing has listed them: they must not be
/// repeated after the first tool call.
pub(super) fn mark_signals_reported(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    session: &mut SessionState,
) -> Result<(), Failure> {
    if trail::has_trail_profile(ctx.profiles) {
        let trail = load_current_trail(ctx, state)?;
        let intent = load_ticket_intent(ctx, state)?;
        let found = detect_signals(ctx, trail.as_ref(), intent.as_deref(), &session.counters);
        session.counters.take_unreported(&found);
    }
    Ok(())
}
