//! The start, compaction, stop and end of a session.

use domain::gates;
use domain::host_event::{HostEvent, StartSource};
use domain::ids::{Digest32, OperationId};
use domain::ports::{Snapshot, Transaction};
use domain::session_state::{Conversation, SessionState};
use domain::trail;

use super::commit::{Decision, Gathered, commit_decision, try_decide_and_commit};
use super::fitting::{FittedMessages, fit_messages};
use super::gather::{NextStep, evaluate_step};
use super::operation_news::{NewsScope, OwnOperations, noticed_operation, take_operation_news};
use super::{EventContext, EventOutcome, plan_messages, signals};
use crate::brief::{compose_briefing, compose_briefing_on, compose_unfinished_briefing};
use crate::build_state::UnfinishedBuild;
use crate::context::{Context, Notice};
use crate::coordination::load_focus_key;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, begin_transaction};
use crate::observe::observe_within;
use crate::scan::ScanScope;
use crate::session_state::{load_event_state, store_session_state};
use crate::sessions::record_conversation_compaction;
use crate::working_copy::is_state_shared;

/// Handles a session that starts, resumes, or starts over after `clear` or a compaction.
pub(super) fn handle_start(
    ctx: &Context<'_>,
    event: &HostEvent,
    source: StartSource,
    surroundings: &EventContext<'_>,
) -> Result<EventOutcome, Failure> {
    // A start takes its time anyway: the part of the mirror that earlier hooks deferred is written.
    ctx.store.finish_mirror();
    let scopes = |_: &dyn Snapshot| Ok(vec![ScanScope::NextPart]);
    let started = try_decide_and_commit(ctx, event, surroundings, scopes, |gathered| {
        decide_start(ctx, event, source, surroundings, gathered)
    })?;
    started.or_else(|unfinished| start_unfinished(ctx, event, surroundings, unfinished))
}

/// Answers a start while the state is being built: with what is known without it. The briefing
/// follows at a prompt, once the state is complete.
fn start_unfinished(
    ctx: &Context<'_>,
    event: &HostEvent,
    surroundings: &EventContext<'_>,
    unfinished: UnfinishedBuild,
) -> Result<EventOutcome, Failure> {
    let tx = ctx.store.begin_write()?;
    let before = load_event_state(&*tx, event)?;
    let mut session = before.clone();
    session.conversation.started = true;
    session.conversation.owed_a_briefing = true;
    let decision = Decision {
        outcome: EventOutcome::from_messages(&[compose_unfinished_briefing(ctx, unfinished)]),
        session,
        ..Decision::default()
    };
    commit_decision(ctx, event, surroundings, tx, &before, decision)
}

fn decide_start(
    ctx: &Context<'_>,
    event: &HostEvent,
    source: StartSource,
    surroundings: &EventContext<'_>,
    gathered: Gathered<'_>,
) -> Result<Decision, Failure> {
    let state = gathered.state;
    // Where the host puts it before the prompt, the briefing comes with the prompt itself.
    let is_deferred = !event.host.keeps_start_context_apart();
    let faults = surroundings.faults.filter(|_| !is_deferred);
    let mut session = gathered.session;
    let own = collect_noticed(gathered.notices);
    let (text, summary) = match is_deferred {
        true => (None, None),
        false => {
            let own = OwnOperations::Told(&own);
            let news = take_operation_news(ctx, state, event, &mut session, own, NewsScope::All)?;
            // First: a host that compacts is recognised by the first words of the briefing.
            let (briefing, summary) = compose_briefing_on(ctx, state, faults)?;
            let parts = std::iter::once(briefing).chain(news).collect();
            let FittedMessages { told, left } = fit_messages(event.host, parts, Some(0));
            session.conversation.untold.extend(left);
            (Some(told.join("\n\n")), Some(summary))
        }
    };
    let conversation = &mut session.conversation;
    match source {
        StartSource::Startup | StartSource::Resume => {}
        // The compacted conversation no longer contains the parents' plans it was given.
        StartSource::Compact => conversation.forget_shown_context(),
        StartSource::Clear => {
            let untold = std::mem::take(&mut conversation.untold);
            *conversation = Conversation::of_host(conversation.host);
            conversation.untold = untold;
        }
    }
    conversation.started = true;
    conversation.owed_a_briefing = is_deferred;
    conversation.briefed_at = (!is_deferred).then(|| ctx.clock.now());
    // A starting session always gets the briefing, even one it has seen. Registering it as seen
    // only keeps the next prompt from repeating it.
    match &text {
        Some(text) => {
            conversation.remember_if_new(text);
        }
        None => conversation.told = None,
    }
    signals::mark_signals_reported(ctx, state, &mut session)?;
    Ok(Decision {
        outcome: EventOutcome {
            faults_told: faults.is_some(),
            ..EventOutcome::from_messages(text.as_slice())
        },
        session,
        presence: Some(load_focus_key(ctx, state)?),
        summary,
        expires_notes: true,
        ..Decision::default()
    })
}

/// Handles an imminent compaction: passes a briefing and, where the host accepts one, a prompt.
///
/// Always in a write transaction: compactions are rare, and where a trail is kept each one is an
/// operation.
pub(super) fn handle_compacting(
    ctx: &Context<'_>,
    event: &HostEvent,
) -> Result<EventOutcome, Failure> {
    let mut tx = begin_transaction(ctx)?;
    let planned = PlannedFiles::new(ctx, None);
    let is_shared = is_state_shared(ctx, &*tx)?;
    if !is_shared {
        observe_within(ctx, &mut *tx, ScanScope::Everything)?;
    }
    let compaction_prompt = match trail::has_trail_profile(ctx.profiles) {
        true => record_conversation_compaction(ctx, &mut *tx, &planned)?,
        false => None,
    };
    let own_text = match is_shared {
        true => None,
        false => Some(compose_briefing_on(ctx, &*tx, None)?.0),
    };
    forget_conversation(ctx, &mut *tx, event)?;
    planned.commit_and_write(ctx, tx)?;
    let text = match own_text {
        Some(text) => text,
        // The texts of this working copy are laid over a snapshot, not recorded.
        None => compose_briefing(ctx, None)?,
    };
    let mut outcome = EventOutcome::from_messages(&[text]);
    outcome.reply.compaction_prompt = compaction_prompt;
    Ok(outcome)
}

/// Handles a finished compaction.
pub(super) fn handle_compacted(
    ctx: &Context<'_>,
    event: &HostEvent,
) -> Result<EventOutcome, Failure> {
    let mut tx = ctx.store.begin_write()?;
    forget_conversation(ctx, &mut *tx, event)?;
    tx.commit()?;
    Ok(EventOutcome::default())
}

fn forget_conversation(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    event: &HostEvent,
) -> Result<(), Failure> {
    let mut session = load_event_state(&*tx, event)?;
    let conversation = &mut session.conversation;
    conversation.forget_shown_context();
    conversation.owed_a_briefing =
        // Hosts that send a start event after a compaction get the briefing there.
        !conversation.briefed_this_turn && !event.host.restarts_after_compaction();
    store_session_state(ctx, tx, &session)
}

/// Handles the end of a turn: records what background commands changed, for the next prompt.
pub(super) fn handle_stop(
    ctx: &Context<'_>,
    event: &HostEvent,
    again: bool,
    surroundings: &EventContext<'_>,
) -> Result<EventOutcome, Failure> {
    // The second question of the same stop: blocking again would keep the agent from ever stopping.
    let follows_up =
        event.host.needs_stop_follow_up() && !again && gates::has_work_gates(ctx.profiles);
    let scopes = |_: &dyn Snapshot| Ok(vec![ScanScope::NextPart]);
    let stopped = try_decide_and_commit(ctx, event, surroundings, scopes, |mut gathered| {
        let mut noticed = plan_messages::render_notices(gathered.notices);
        // Only with the notices, which make it a write: what else is new, the next prompt tells.
        let own = collect_noticed(gathered.notices);
        if !own.is_empty() {
            let (state, session) = (gathered.state, &mut gathered.session);
            let own = OwnOperations::Told(&own);
            noticed.extend(take_operation_news(
                ctx,
                state,
                event,
                session,
                own,
                NewsScope::All,
            )?);
        }
        let mut decision = match follows_up {
            true => follow_up(ctx, gathered.state, gathered.session)?,
            false => Decision {
                session: gathered.session,
                ..Decision::default()
            },
        };
        decision.session.conversation.untold.extend(noticed);
        Ok(decision)
    })?;
    // What is missing is told at the next prompt.
    Ok(stopped.unwrap_or_default())
}

/// Returns the operations that recorded what is noticed.
fn collect_noticed(notices: &[Notice]) -> Vec<OperationId> {
    notices.iter().filter_map(noticed_operation).collect()
}

/// Blocks the stop of an agent whose host could not block an edit: with the same text, once per
/// turn.
fn follow_up(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    before: SessionState,
) -> Result<Decision, Failure> {
    let mut asked = evaluate_step(ctx, state, before.clone(), &NextStep::pause_work(ctx))?;
    asked
        .verdict
        .blocks
        .retain(|fired| matches!(fired.gate, "loc" | "phase"));
    // By text: with more uncommitted lines the message differs, and the stop is followed up again.
    let digest = Digest32::of_bytes(gates::render_objections(&asked.verdict.blocks).as_bytes());
    if asked.verdict.blocks.is_empty() || before.work.followed_up == Some(digest) {
        return Ok(Decision {
            session: before,
            ..Decision::default()
        });
    }
    asked.session.work.followed_up = Some(digest);
    Ok(Decision {
        outcome: EventOutcome::from_block(asked.verdict),
        session: asked.session,
        ..Decision::default()
    })
}

/// Handles the end of a session.
pub(super) fn handle_end(
    ctx: &Context<'_>,
    event: &HostEvent,
    surroundings: &EventContext<'_>,
) -> Result<EventOutcome, Failure> {
    let mut tx = ctx.store.begin_write()?;
    let before = load_event_state(&*tx, event)?;
    crate::uncommitted::release_uncommitted_files(ctx, &mut *tx)?;
    let decision = Decision {
        // The work and the counters outlive the conversation: it may be resumed.
        session: SessionState {
            conversation: Conversation::default(),
            ..before.clone()
        },
        ..Decision::default()
    };
    let outcome = commit_decision(ctx, event, surroundings, tx, &before, decision)?;
    if ctx.coordination.is_shared() {
        // Errors are ignored: the session counts as live a little longer.
        let _ = ctx.coordination.end_session(&ctx.session);
    }
    Ok(outcome)
}
