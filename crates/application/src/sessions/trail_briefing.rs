//! Gathers what a briefing and a compaction report say about a session's trail.

use domain::briefing::{TrailBriefing, TrailPlace};
use domain::compaction::{ReportInputs, extract_turning_points, format_turning_point};
use domain::detection::SessionCounters;
use domain::memory::{Anchor, Mem};
use domain::node::{Node, Progress};
use domain::policy::Governance;
use domain::ports::Snapshot;
use domain::record::{self, Recorded};
use domain::search::{MatchMode, SearchQuery};
use domain::session::{LogEntry, Session};
use domain::trail::{node_text, render_limited_tree};

use super::ticket_trail::load_ticket_trail;
use super::trail_state::{Trail, detect_signals, load_current_trail, load_log, load_ticket_intent};
use crate::context::Context;
use crate::failure::Failure;
use crate::session_state::load_session_state;

/// Maximum number of children drawn per node in a briefing.
const MAX_DRAWN_CHILDREN: usize = 5;
/// Maximum number of notes in a briefing.
const MAX_BRIEFING_NOTES: usize = 3;
/// Maximum number of anchors in a briefing; the newest win.
const MAX_BRIEFING_ANCHORS: usize = 12;

/// Returns the briefing data of the acting session's position.
pub(crate) fn gather_trail_briefing(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<TrailBriefing, Failure> {
    let trail = load_current_trail(ctx, state)?;
    let own = load_session_state(state, &ctx.session)?.counters;
    let intent = load_ticket_intent(ctx, state)?;
    let told = match ctx.policy.governance {
        // Permissive sessions are counted but never interrupted.
        Governance::Permissive => Vec::new(),
        Governance::Assisted | Governance::Strict => {
            detect_signals(ctx, trail.as_ref(), intent.as_deref(), &own)
        }
    };
    let strict = ctx.policy.governance == Governance::Strict;
    // Without a focus the work's part of the briefing offers a ticket, which is an intent too.
    let has_ticket = intent.is_some() || !strict && has_tickets(ctx);
    let anchors = newest_anchors(state)?;
    let Some(trail) = trail else {
        return Ok(TrailBriefing {
            anchors,
            signals: told,
            strict,
            has_ticket,
            ..TrailBriefing::default()
        });
    };
    // The trail may belong to an earlier session; the gap is measured from its last activity, not
    // from ours.
    let theirs = load_session_state(state, &trail.session.name)?.counters;
    // Tool calls touch only the counters, which are cheap notes; the session's record has the time
    // of its last step.
    let last = theirs
        .last_activity
        .into_iter()
        .chain([trail.session.updated])
        .max();
    let log = log_with_earlier(state, &trail.session)?;
    Ok(TrailBriefing {
        path: trail_places(&trail.path),
        own: trail.own,
        gap_ms: last.map(|last| ctx.clock.now().millis_since(last)),
        drawing: render_limited_tree(&trail.excerpt(state)?, MAX_DRAWN_CHILDREN),
        next_action: Some(next_action(ctx, state, &trail)?),
        blocked: blocked_nodes(&trail),
        turning_points: extract_turning_points(&log)
            .iter()
            .map(format_turning_point)
            .collect(),
        anchors,
        notes: relevant_notes(state, &trail)?,
        signals: told,
        report: trail.session.given_report.clone(),
        strict,
        has_ticket,
    })
}

/// Whether the project has tickets.
fn has_tickets(ctx: &Context<'_>) -> bool {
    ctx.profiles
        .iter()
        .any(|profile| !profile.work_phases.is_empty())
}

/// Returns what a compaction report of this trail keeps.
pub(crate) fn compaction_material(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    trail: &Trail,
    counters: &SessionCounters,
) -> Result<ReportInputs, Failure> {
    let log = log_with_earlier(state, &trail.session)?;
    let finished = trail
        .below
        .iter()
        .flatten()
        .filter(|node| node.progress == Progress::Complete);
    Ok(ReportInputs {
        path: trail_places(&trail.path),
        next_action: Some(next_action(ctx, state, trail)?),
        blocked: blocked_nodes(trail),
        decisions: newest_anchors(state)?.into_iter().rev().collect(),
        turning_points: extract_turning_points(&log)
            .iter()
            .map(format_turning_point)
            .collect(),
        finished: finished.map(|node| node_text(node).to_owned()).collect(),
        files: counters.files_touched.iter().cloned().collect(),
        given_report: trail.session.given_report.clone(),
    })
}

/// Returns the log of a session, preceded by those of the sessions it resumed.
pub(crate) fn log_with_earlier(
    state: &dyn Snapshot,
    session: &Session,
) -> Result<Vec<LogEntry>, Failure> {
    // Older sessions are history rather than turning points of the current work.
    const MAX_SESSIONS: usize = 4;
    let mut logs = vec![load_log(state, session)?];
    let mut from = session.from;
    while let Some(stamp) = from.filter(|_| logs.len() < MAX_SESSIONS) {
        let Some(earlier) = record::read_record::<Session>(state, &stamp.to_string())? else {
            break;
        };
        logs.push(load_log(state, &earlier)?);
        from = earlier.from;
    }
    Ok(logs.into_iter().rev().flatten().collect())
}

pub(crate) fn trail_places(path: &[Node]) -> Vec<TrailPlace> {
    path.iter()
        .map(|node| TrailPlace {
            level: node.level.clone(),
            stamp: node.alias.rsplit('_').next().unwrap_or_default().to_owned(),
            content: node_text(node).to_owned(),
            status: node.progress.to_string(),
        })
        .collect()
}

/// Returns the next action: that of the ticket, where the ticket is the intent and nothing more precise is
/// mapped, or the one that follows from the cursor.
fn next_action(ctx: &Context<'_>, state: &dyn Snapshot, trail: &Trail) -> Result<String, Failure> {
    let is_mapped = trail.path.len() > 1 || trail.below_cursor().iter().any(is_open_step);
    if !is_mapped && is_open_step(trail.root()) {
        let ticket = load_ticket_trail(ctx, state)?;
        if let Some(ticket) = ticket.filter(|ticket| ticket.is_intent_of(trail)) {
            return Ok(ticket.next_action);
        }
    }
    Ok(action_at_cursor(trail))
}

fn is_open_step(node: &Node) -> bool {
    matches!(node.progress, Progress::Pending | Progress::Active)
}

/// Returns the next action that follows from the cursor.
fn action_at_cursor(trail: &Trail) -> String {
    let cursor = trail.cursor();
    let what = |node: &Node| format!("“{}”", node_text(node));
    match cursor.progress {
        Progress::Blocked => format!(
            "{} is blocked: decide, or map another {}",
            what(cursor),
            cursor.level
        ),
        Progress::Complete => {
            "all of it is complete: declare what comes next: `tl trail intent \"…\"`".to_owned()
        }
        Progress::Pending | Progress::Active => {
            match trail.below_cursor().iter().find(|node| is_open_step(node)) {
                Some(node) => format!("go on with {} ({})", what(node), node.level),
                None if trail.path.len() > 2 => format!("go on with {}", what(cursor)),
                None => {
                    let below = if trail.path.len() == 1 {
                        "tactic"
                    } else {
                        "action"
                    };
                    format!(
                        "choose the next {below} of {}: `tl trail map {below} \"…\"`",
                        what(cursor)
                    )
                }
            }
        }
    }
}

fn blocked_nodes(trail: &Trail) -> Vec<String> {
    let all = trail.path.iter().chain(trail.below.iter().flatten());
    let mut found: Vec<&Node> = all
        .filter(|node| node.progress == Progress::Blocked)
        .collect();
    // Nodes of the path are also children of the node before, so they appear twice.
    found.sort_by_key(|node| node.id);
    found.dedup_by_key(|node| node.id);
    found
        .into_iter()
        .map(|node| node_text(node).to_owned())
        .collect()
}

/// Returns the anchors, the newest first.
fn newest_anchors(state: &dyn Snapshot) -> Result<Vec<String>, Failure> {
    let mut found: Vec<Anchor> = record::read_records::<Anchor>(state, "")?
        .into_iter()
        .map(|(_, anchor)| anchor)
        .collect();
    found.sort_by_key(|anchor| std::cmp::Reverse((anchor.at, anchor.stamp.to_string())));
    Ok(found
        .into_iter()
        .take(MAX_BRIEFING_ANCHORS)
        .map(|anchor| anchor.text)
        .collect())
}

/// Returns the notes that match the current work best.
fn relevant_notes(state: &dyn Snapshot, trail: &Trail) -> Result<Vec<(String, String)>, Failure> {
    let text = trail
        .path
        .iter()
        .rev()
        .take(2)
        .map(node_text)
        .collect::<Vec<_>>()
        .join(" ");
    // Short words match every note. Non-ASCII words are kept: in Chinese or Japanese two characters
    // can be a whole word.
    let words: Vec<&str> = text
        .split_whitespace()
        .filter(|word| word.chars().count() > 3 || !word.is_ascii())
        .collect();
    let found = state.search_records(
        &[Mem::KIND],
        &SearchQuery::parse_query(&words.join(" ")),
        MatchMode::Any,
        MAX_BRIEFING_NOTES,
    )?;
    let mut notes = Vec::with_capacity(found.len());
    for key in found {
        if let Some(mem) = record::read_record::<Mem>(state, &key.key)? {
            notes.push((mem.stamp.to_string(), mem.text));
        }
    }
    Ok(notes)
}
