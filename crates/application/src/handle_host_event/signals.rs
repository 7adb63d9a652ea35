//! Hook side of the trail: counts a session's tool calls, reports each signal once, and enforces
//! strict governance.
//!
//! Only in projects that keep a trail. Calls of subagents are not counted: signals are about the
//! main line of work.

use domain::detection::{PREFIX, Seen, Signal, classify};
use domain::gates::{self, Fired, Objection};
use domain::host_event::{Effect, HostEvent, Reply, ToolCall};
use domain::ids::Digest32;
use domain::policy::{GateMode, Governance};
use domain::ports::Reading;
use domain::session::FOLDER;
use domain::session_memory::KEPT_FOR_MS;
use domain::time::Timestamp;
use domain::trail;

use super::{Handled, Surroundings};
use crate::context::Context;
use crate::failure::Failure;
use crate::sessions::{
    conversation_compacts, counters_of, keep_counters, own_session, session_before, signals,
    standing,
};

/// Maximum size of a session file that is hashed.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Evaluates the `intent` and `read-before-write` gates before a tool runs.
pub(super) fn before(
    ctx: &Context<'_>,
    event: &HostEvent,
    call: &ToolCall,
    surroundings: &Surroundings<'_>,
) -> Result<Handled, Failure> {
    if !trail::is_kept(ctx.profiles) {
        return Ok(Handled::default());
    }
    let undeclared = undeclared(ctx, call, surroundings)?;
    Ok(undeclared.and(unread(ctx, event, call)?))
}

/// Blocks writes under strict governance until an intent is declared, in this session or by an
/// active earlier session of its host.
///
/// A shell command is blocked too unless it is recognisably read-only, because its writes cannot be
/// known in advance.
fn undeclared(
    ctx: &Context<'_>,
    call: &ToolCall,
    surroundings: &Surroundings<'_>,
) -> Result<Handled, Failure> {
    if ctx.policy.governance != Governance::Strict {
        return Ok(Handled::default());
    }
    let plans = surroundings
        .plans
        .iter()
        .filter(|plan| plan.effect.changes())
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
        None => return Ok(Handled::default()),
    };
    let state = ctx.store.read()?;
    let declared = own_session(ctx, &*state)?.is_some()
        || session_before(ctx, &*state)?.is_some_and(|it| it.is_active());
    if declared {
        return Ok(Handled::default());
    }
    let why = format!("{how}, but this session has not declared an intent");
    let steps = vec![
        "tl intent \"what this session is for\"".to_owned(),
        "tl map tactic \"how\"".to_owned(),
    ];
    Ok(fired(
        "intent",
        what,
        Objection::new(why, steps),
        GateMode::Block,
    ))
}

/// Blocks overwriting a session file whose current content the session has not read.
fn unread(ctx: &Context<'_>, event: &HostEvent, call: &ToolCall) -> Result<Handled, Failure> {
    let mode = ctx.policy.gates.read_before_write;
    // Only whole-file writes: an edit of a passage keeps what other sessions appended.
    let overwritten = call
        .touches
        .iter()
        .filter(|touch| matches!(touch.effect, Effect::Write { .. } | Effect::Delete));
    let files = overwritten.filter_map(|touch| session_file(ctx, event, &touch.path));
    for file in files {
        let Some(digest) = digest_of(ctx, &file) else {
            continue;
        };
        let counters = counters_of(&*ctx.store.read()?, &ctx.session)?;
        if counters.read_files.get(&file) != Some(&digest) && mode != GateMode::Off {
            let why = format!(
                "`{file}` would be overwritten, but this session has not read its current content"
            );
            let steps = vec![
                format!("read {file}"),
                "append to it, or use `tl map` and `tl anchor add`".to_owned(),
            ];
            return Ok(fired(
                "read-before-write",
                &file,
                Objection::new(why, steps),
                mode,
            ));
        }
    }
    Ok(Handled::default())
}

fn fired(gate: &'static str, plan: &str, objection: Objection, mode: GateMode) -> Handled {
    let fired = vec![Fired {
        gate,
        plan: plan.to_owned(),
        objection,
    }];
    let text = Some(gates::explain(&fired));
    match mode {
        GateMode::Block => Handled {
            reply: Reply {
                block: text,
                ..Reply::default()
            },
            blocked: fired,
            ..Handled::default()
        },
        GateMode::Warn | GateMode::Off => Handled {
            warned: fired,
            ..Handled::saying(text)
        },
    }
}

/// Returns the session file a path leads to.
fn session_file(ctx: &Context<'_>, event: &HostEvent, path: &str) -> Option<String> {
    // A cheap test of the text first: resolving a path costs system calls, and nearly no call names
    // a session file.
    let named = path.contains("sessions/") && path.ends_with(".md");
    let file = named
        .then(|| ctx.files.lead(event.directory.as_deref(), path))
        .flatten()?;
    file.starts_with(FOLDER).then_some(file)
}

fn digest_of(ctx: &Context<'_>, file: &str) -> Option<Digest32> {
    match ctx.files.read(file, MOST_BYTES) {
        Reading::Text { text, .. } => Some(Digest32::of(text.as_bytes())),
        Reading::Missing | Reading::Unreadable { .. } => None,
    }
}

/// Counts a finished call, and returns the signals that are new.
pub(super) fn after(
    ctx: &Context<'_>,
    event: &HostEvent,
    call: &ToolCall,
    failed: bool,
    surroundings: &Surroundings<'_>,
) -> Result<Handled, Failure> {
    if !trail::is_kept(ctx.profiles) || event.agent.is_some() {
        return Ok(Handled::default());
    }
    let mut tx = ctx.store.write()?;
    let trail = standing(ctx, &*tx)?;
    let mut counters = counters_of(&*tx, &ctx.session)?;
    let plans = surroundings
        .plans
        .iter()
        .filter(|plan| plan.effect.changes())
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
        .filter_map(|touch| session_file(ctx, event, &touch.path))
        .collect();
    counters.count(
        &Seen {
            what: classify(call),
            failed,
            says: call.says.as_deref(),
            files,
            action_declared: trail.as_ref().is_some_and(|trail| trail.action_declared()),
            at: ctx.clock.now(),
            call: call.id.as_deref(),
        },
        &ctx.policy.signals,
    );
    for file in named {
        // A session knows a file as well after writing it as after reading it; a failed call shows
        // nothing.
        if let (Some(digest), false) = (digest_of(ctx, &file), failed) {
            counters.read_files.insert(file, digest);
        }
    }
    let found = signals(ctx, trail.as_ref(), &counters);
    let told = match ctx.policy.governance {
        // Counted all the same: `tl drift` shows them on request.
        Governance::Permissive => None,
        Governance::Assisted | Governance::Strict => in_words(&counters.news(&found)),
    };
    keep_counters(ctx, &mut *tx, &counters)?;
    tx.commit()?;
    Ok(Handled::saying(told))
}

fn in_words(news: &[&Signal]) -> Option<String> {
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
pub(super) fn briefed(ctx: &Context<'_>) -> Result<(), Failure> {
    if !trail::is_kept(ctx.profiles) {
        return Ok(());
    }
    let mut tx = ctx.store.write()?;
    let trail = standing(ctx, &*tx)?;
    let mut counters = counters_of(&*tx, &ctx.session)?;
    counters.news(&signals(ctx, trail.as_ref(), &counters.clone()));
    keep_counters(ctx, &mut *tx, &counters)?;
    // Once per session start is often enough to expire the counters of sessions that never ended.
    tx.forget_notes(
        PREFIX,
        Timestamp::from_millis(ctx.clock.now().as_millis() - KEPT_FOR_MS),
    )?;
    Ok(tx.commit()?)
}

/// Returns the compaction prompt, for hosts that let theirs be replaced.
pub(super) fn compacting(ctx: &Context<'_>) -> Result<Option<String>, Failure> {
    if !trail::is_kept(ctx.profiles) {
        return Ok(None);
    }
    conversation_compacts(ctx)
}
