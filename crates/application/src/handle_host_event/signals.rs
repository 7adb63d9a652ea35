//! Hook side of the trail: counts a session's tool calls, reports each signal once, and enforces
//! strict governance.
//!
//! Only in projects that keep a trail. Calls of subagents are not counted: signals are about the
//! main line of work.

use domain::detection::{CountedCall, Signal, classify_tool_call};
use domain::gates::{self, FiredGate, Objection};
use domain::host_event::{FileEffect, HostEvent, Reply, ToolCall};
use domain::ids::Digest32;
use domain::policy::{GateMode, Governance};
use domain::ports::FileReadResult;
use domain::session::SESSIONS_FOLDER;
use domain::trail;

use super::{EventContext, EventOutcome};
use crate::context::Context;
use crate::failure::Failure;
use crate::session_state::{load_session_state, store_session_state};
use crate::sessions::{
    detect_signals, load_current_trail, own_session, record_conversation_compaction, session_before,
};

/// Maximum size of a session file that is hashed.
const MAX_SESSION_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Evaluates the `intent` and `read-before-write` gates before a tool runs.
pub(super) fn check_trail_gates(
    ctx: &Context<'_>,
    event: &HostEvent,
    call: &ToolCall,
    surroundings: &EventContext<'_>,
) -> Result<EventOutcome, Failure> {
    if !trail::has_trail_profile(ctx.profiles) {
        return Ok(EventOutcome::default());
    }
    let undeclared = check_intent_gate(ctx, call, surroundings)?;
    Ok(undeclared.merge(check_session_file_read(ctx, event, call)?))
}

/// Blocks writes under strict governance until an intent is declared, in this session or by an
/// active earlier session of its host.
///
/// A shell command is blocked too unless it is recognisably read-only, because its writes cannot be
/// known in advance.
fn check_intent_gate(
    ctx: &Context<'_>,
    call: &ToolCall,
    surroundings: &EventContext<'_>,
) -> Result<EventOutcome, Failure> {
    if ctx.policy.governance != Governance::Strict {
        return Ok(EventOutcome::default());
    }
    let plans = surroundings
        .plans
        .iter()
        .filter(|plan| plan.effect.modifies_file())
        .map(|plan| &plan.file);
    let written = plans
        .chain(surroundings.files)
        // The program's own folder is exempt, so that guides and templates can be edited first.
        .find(|file| !file.starts_with(".throughline/"));
    let (what, how) = match written {
        Some(file) => (file.as_str(), format!("`{file}` would be written")),
        None if call.may_write_by_command() => {
            ("command", "this command may write files".to_owned())
        }
        None => return Ok(EventOutcome::default()),
    };
    let state = ctx.store.begin_read()?;
    let declared = own_session(ctx, &*state)?.is_some()
        || session_before(ctx, &*state)?.is_some_and(|it| it.is_active());
    if declared {
        return Ok(EventOutcome::default());
    }
    let why = format!("{how}, but this session has not declared an intent");
    let steps = vec![
        "tl trail intent \"what this session is for\"".to_owned(),
        "tl trail map tactic \"how\"".to_owned(),
    ];
    Ok(outcome_of_gate(
        "intent",
        what,
        Objection::new(why, steps),
        GateMode::Block,
    ))
}

/// Blocks overwriting a session file whose current content the session has not read.
fn check_session_file_read(
    ctx: &Context<'_>,
    event: &HostEvent,
    call: &ToolCall,
) -> Result<EventOutcome, Failure> {
    let mode = ctx.policy.gates.read_before_write;
    // Only whole-file writes: an edit of a passage keeps what other sessions appended.
    let overwritten = call
        .touches
        .iter()
        .filter(|touch| matches!(touch.effect, FileEffect::Write { .. } | FileEffect::Delete));
    let files = overwritten.filter_map(|touch| resolve_session_file(ctx, event, &touch.path));
    for file in files {
        let Some(digest) = file_digest(ctx, &file) else {
            continue;
        };
        let session = load_session_state(&*ctx.store.begin_read()?, &ctx.session)?;
        if session.conversation.read_files.get(&file) != Some(&digest) && mode != GateMode::Off {
            let why = format!(
                "`{file}` would be overwritten, but this session has not read its current content"
            );
            let steps = vec![
                format!("read {file}"),
                "append to it, or use `tl trail map` and `tl note add --pin`".to_owned(),
            ];
            return Ok(outcome_of_gate(
                "read-before-write",
                &file,
                Objection::new(why, steps),
                mode,
            ));
        }
    }
    Ok(EventOutcome::default())
}

fn outcome_of_gate(
    gate: &'static str,
    plan: &str,
    objection: Objection,
    mode: GateMode,
) -> EventOutcome {
    let fired = vec![FiredGate {
        gate,
        plan: plan.to_owned(),
        objection,
    }];
    let text = Some(gates::render_objections(&fired));
    match mode {
        GateMode::Block => EventOutcome {
            reply: Reply {
                block: text,
                ..Reply::default()
            },
            blocked: fired,
            ..EventOutcome::default()
        },
        GateMode::Warn | GateMode::Off => EventOutcome {
            warned: fired,
            ..EventOutcome::with_context(text)
        },
    }
}

/// Returns the session file a path leads to.
fn resolve_session_file(ctx: &Context<'_>, event: &HostEvent, path: &str) -> Option<String> {
    // A cheap test of the text first: resolving a path costs system calls, and nearly no call names
    // a session file.
    let named = path.contains("sessions/") && path.ends_with(".md");
    let file = named
        .then(|| ctx.files.resolve_path(event.directory.as_deref(), path))
        .flatten()?;
    file.starts_with(SESSIONS_FOLDER).then_some(file)
}

fn file_digest(ctx: &Context<'_>, file: &str) -> Option<Digest32> {
    match ctx.files.read_file(file, MAX_SESSION_FILE_BYTES) {
        FileReadResult::Text { text, .. } => Some(Digest32::of_bytes(text.as_bytes())),
        FileReadResult::Missing | FileReadResult::Unreadable { .. } => None,
    }
}

/// Counts a finished call, and returns the signals that are new.
pub(super) fn count_finished_call(
    ctx: &Context<'_>,
    event: &HostEvent,
    call: &ToolCall,
    failed: bool,
    surroundings: &EventContext<'_>,
) -> Result<EventOutcome, Failure> {
    if !trail::has_trail_profile(ctx.profiles) || event.agent.is_some() {
        return Ok(EventOutcome::default());
    }
    let mut tx = ctx.store.begin_write()?;
    let trail = load_current_trail(ctx, &*tx)?;
    let mut session = load_session_state(&*tx, &ctx.session)?;
    let counters = &mut session.counters;
    let plans = surroundings
        .plans
        .iter()
        .filter(|plan| plan.effect.modifies_file())
        .map(|plan| plan.file.as_str());
    // The program's own folder is bookkeeping, not work: it would raise signals about drift.
    let own = |file: &str| file.starts_with(".throughline/");
    let files: Vec<&str> = plans
        .chain(surroundings.files.iter().map(String::as_str))
        .filter(|file| !own(file))
        .collect();
    let named: Vec<String> = call
        .touches
        .iter()
        .filter_map(|touch| resolve_session_file(ctx, event, &touch.path))
        .collect();
    counters.count_call(
        &CountedCall {
            what: classify_tool_call(call),
            failed,
            says: call.says.as_deref(),
            files,
            action_declared: trail
                .as_ref()
                .is_some_and(|trail| trail.has_declared_action()),
            at: ctx.clock.now(),
            call: call.id.as_deref(),
        },
        &ctx.policy.signals,
    );
    for file in named {
        // A session knows a file as well after writing it as after reading it; a failed call shows
        // nothing.
        if let (Some(digest), false) = (file_digest(ctx, &file), failed) {
            session.conversation.read_files.insert(file, digest);
        }
    }
    let counters = &mut session.counters;
    let found = detect_signals(ctx, trail.as_ref(), counters);
    let told = match ctx.policy.governance {
        // Counted all the same: `tl trail drift` shows them on request.
        Governance::Permissive => None,
        Governance::Assisted | Governance::Strict => {
            render_signals(&counters.take_unreported(&found))
        }
    };
    store_session_state(ctx, &mut *tx, &session)?;
    tx.commit()?;
    Ok(EventOutcome::with_context(told))
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

/// Marks the current signals as reported, because a briefing has listed them.
pub(super) fn mark_signals_reported(ctx: &Context<'_>) -> Result<(), Failure> {
    if !trail::has_trail_profile(ctx.profiles) {
        return Ok(());
    }
    let mut tx = ctx.store.begin_write()?;
    let trail = load_current_trail(ctx, &*tx)?;
    let mut session = load_session_state(&*tx, &ctx.session)?;
    let counters = &mut session.counters;
    counters.take_unreported(&detect_signals(ctx, trail.as_ref(), &counters.clone()));
    store_session_state(ctx, &mut *tx, &session)?;
    Ok(tx.commit()?)
}

/// Returns the compaction prompt, for hosts that let theirs be replaced.
pub(super) fn compaction_prompt(ctx: &Context<'_>) -> Result<Option<String>, Failure> {
    if !trail::has_trail_profile(ctx.profiles) {
        return Ok(None);
    }
    record_conversation_compaction(ctx)
}
