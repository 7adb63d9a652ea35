//! Handles a finished tool call: records what changed, counts the call, and reports the consequences
//! to the agent, all in one transaction.

use domain::gates;
use domain::host_event::{FileEffect, HostEvent, ToolCall};
use domain::ids::{NodeId, OperationId};
use domain::ports::{Snapshot, StoreFault, Transaction};
use domain::profile::find_expected_path;
use domain::session_state::{Conversation, SessionState};
use domain::trail;
use domain::work::uncommitted::is_exempt;

use super::finished_work::record_finished_work;
use super::fitting::{FittedMessages, fit_messages};
use super::gather::written_outputs;
use super::missed_calls::{record_missed_authors, take_over_missed_calls};
use super::operation_news::{NewsScope, OwnOperations, has_urgent_news, take_operation_news};
use super::plan_messages::MeantPlans;
use super::plans::{
    TouchedPlan, document_of_plan_file, find_recorded, scan_scope_of, touched_documents,
    touched_item_plans,
};
use super::written_prose::record_written_prose;
use super::{EventContext, EventOutcome, overlaps, plan_messages, signals};
use crate::brief::compose_briefing_on;
use crate::build_state::{continue_build, needs_build};
use crate::context::Context;
use crate::coordination::{load_focus_key, record_activity};
use crate::failure::Failure;
use crate::observe::{observe_then_read, observe_within, observe_within_from};
use crate::scan::{EarlierScan, FIRST_PLACEHOLDER_ID, ScanScope, scan_plan_files};
use crate::session_position::find_session_ticket;
use crate::session_state::{load_event_state, store_session_state};
use crate::work_guides::{GuidedStep, give_due_guide};
use crate::working_copy::is_state_shared;

/// A finished tool call.
struct FinishedCall<'f> {
    event: &'f HostEvent,
    call: &'f ToolCall,
    failed: bool,
    surroundings: &'f EventContext<'f>,
}

/// Records the changes with their cascade, and returns what the agent should know.
pub(super) fn handle_tool_finished(
    ctx: &Context<'_>,
    event: &HostEvent,
    call: &ToolCall,
    failed: bool,
    surroundings: &EventContext<'_>,
) -> Result<EventOutcome, Failure> {
    let finished = FinishedCall {
        event,
        call,
        failed,
        surroundings,
    };
    let outcome = finished.handle(ctx)?;
    let misplaced = finished.describe_misplaced(ctx);
    Ok(match misplaced.is_empty() {
        true => outcome,
        false => outcome.merge(EventOutcome::from_messages(&misplaced)),
    })
}

impl FinishedCall<'_> {
    /// Returns a message for each written file that looks like a plan and is read as none. Paths alone
    /// decide: nothing is read for it.
    fn describe_misplaced(&self, ctx: &Context<'_>) -> Vec<String> {
        let files = self.surroundings.files.iter().filter(|_| !self.failed);
        files
            .filter_map(|file| {
                let expected = find_expected_path(ctx.profiles, file)?;
                Some(plan_messages::describe_wrong_place(file, &expected))
            })
            .collect()
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<EventOutcome, Failure> {
        let finished = self;
        let FinishedCall {
            event,
            call,
            surroundings,
            ..
        } = *finished;
        // The usual end of a hook: no write lock, no note.
        let mut seen = None;
        if surroundings.missed.is_empty() && !finished.has_to_be_recorded(ctx) {
            match finished.find_news(ctx)? {
                Some(news) => seen = news,
                None => return Ok(EventOutcome::default()),
            }
        }
        if ctx.store.is_shared() {
            return finished.finish_on_overlay(ctx);
        }
        let mut tx = ctx.store.begin_write()?;
        if needs_build(ctx, &*tx)? {
            drop(tx);
            if let Some(unfinished) = continue_build(ctx)? {
                return Err(unfinished.into_failure());
            }
            tx = ctx.store.begin_write()?;
        }
        if is_state_shared(ctx, &*tx)? {
            drop(tx);
            return finished.finish_on_overlay(ctx);
        }
        let mut operations: Vec<OperationId> = Vec::new();
        for document in touched_documents(&*tx, surroundings.files)? {
            let scope = ScanScope::Lineage(document);
            operations.extend(observe_within(ctx, &mut *tx, scope)?);
        }
        let items = touched_item_plans(ctx.profiles, surroundings.files);
        let places = surroundings.plans.iter().map(|plan| &plan.place);
        for place in places.chain(&items) {
            let scope = scan_scope_of(&*tx, place)?;
            operations.extend(observe_within(ctx, &mut *tx, scope)?);
        }
        if call.may_change_anything() {
            // A shell command may also have changed plans that it does not name.
            let scope = match seen {
                // Should the scan not hold any more, the next part would be another one.
                Some(_) => ScanScope::Everything,
                None => ScanScope::NextPart,
            };
            operations.extend(observe_within_from(ctx, &mut *tx, scope, seen)?);
        }
        // After the scans, in the same transaction: a parallel call of the session may have stored
        // its state while this one waited for the lock.
        let before = load_event_state(&*tx, event)?;
        let mut session = before.clone();
        let mut messages = finished.describe_plans(ctx, &*tx, &operations, &mut session)?;
        finished.commit_call(ctx, tx, &before, session, &mut messages)
    }

    /// Whether the call is recorded to be counted: in a project with a trail, for the main agent.
    fn is_counted(&self, ctx: &Context<'_>) -> bool {
        trail::has_trail_profile(ctx.profiles) && self.event.agent.is_none()
    }

    /// Whether the call may be part of the work that gates and commits are about.
    fn is_work(&self, ctx: &Context<'_>) -> bool {
        let surroundings = self.surroundings;
        let touches = !surroundings.files.is_empty() || !surroundings.plans.is_empty();
        gates::has_work_gates(ctx.profiles) && (touches || self.call.may_change_anything())
    }

    /// Returns what the call means for the guides of the session's ticket.
    fn guided_step(&self, ctx: &Context<'_>) -> GuidedStep {
        let writes_ticket =
            self.surroundings.plans.iter().any(|plan| {
                plan.effect.modifies_file() && !plan.place.profile.work_phases.is_empty()
            });
        let mut files = self.surroundings.files.iter();
        match writes_ticket {
            true => GuidedStep::WriteTicket,
            false if files.any(|file| !is_exempt(ctx.profiles, file)) => GuidedStep::Edit,
            false => GuidedStep::Other,
        }
    }

    /// Whether the call leaves something to record whatever the state says.
    fn has_to_be_recorded(&self, ctx: &Context<'_>) -> bool {
        !self.surroundings.plans.is_empty()
            || self.is_counted(ctx)
            || self.is_work(ctx)
            || self.writes_prose(ctx)
            || !touched_item_plans(ctx.profiles, self.surroundings.files).is_empty()
            || self.writes_document()
    }

    /// Whether the call wrote the output of a plan.
    fn writes_prose(&self, ctx: &Context<'_>) -> bool {
        !self.failed && !written_outputs(ctx, self.event, self.call).is_empty()
    }

    /// Whether the call wrote a plan document past its commands.
    fn writes_document(&self) -> bool {
        let mut files = self.surroundings.files.iter();
        files.any(|file| document_of_plan_file(file).is_some())
    }

    /// Returns whether a plan changed that the call does not name, with the scan that found it, others
    /// changed something, or a briefing lost in a compaction is due; `None` if none of it.
    fn find_news(&self, ctx: &Context<'_>) -> Result<Option<Option<EarlierScan>>, Failure> {
        let anything = self.call.may_change_anything();
        // Read-only commands deliver a briefing too; the other calls need not open the state for it.
        let may_be_owed =
            self.call.command.is_some() && !self.event.host.restarts_after_compaction();
        if !anything && !may_be_owed && !self.surroundings.may_have_news {
            return Ok(None);
        }
        let state = ctx.store.begin_read()?;
        // Recording continues the build.
        if needs_build(ctx, &*state)? {
            return Ok(Some(None));
        }
        let session = load_event_state(&*state, self.event)?;
        let conversation = &session.conversation;
        if conversation.owed_a_briefing
            || self.event.agent.is_none() && !conversation.untold.is_empty()
            || has_urgent_news(ctx, &*state, self.event, &session)?
        {
            return Ok(Some(None));
        }
        if !anything {
            return Ok(None);
        }
        // Without the write lock.
        let seen = scan_plan_files(ctx, &*state, ScanScope::NextPart, FIRST_PLACEHOLDER_ID)?;
        if seen.is_unchanged() {
            seen.decisions.remember(ctx);
            return Ok(None);
        }
        Ok(Some(Some(EarlierScan::new(&*state, seen)?)))
    }

    /// The same on a state that other working copies share: the changes are laid over it for these
    /// messages, and not recorded.
    fn finish_on_overlay(&self, ctx: &Context<'_>) -> Result<EventOutcome, Failure> {
        let scope = match self.surroundings.plans {
            [plan] if !self.call.may_change_anything() => {
                scan_scope_of(&*ctx.store.begin_read()?, &plan.place)?
            }
            _ => ScanScope::Everything,
        };
        let state = observe_then_read(ctx, scope)?;
        let before = load_event_state(&*state, self.event)?;
        let mut session = before.clone();
        // The overlay's own operation follows the last one of the state.
        let own = state.last_operation_id()?.next_id();
        let mut messages = self.describe_plans(ctx, &*state, &[own], &mut session)?;
        drop(state);
        let tx = ctx.store.begin_write()?;
        // The messages were composed from a state that another call has replaced: the runner
        // handles the event again.
        if load_event_state(&*tx, self.event)? != before {
            return Err(StoreFault::Conflict.into());
        }
        self.commit_call(ctx, tx, &before, session, &mut messages)
    }

    /// Remembers the versions of the plans, and describes what happened to them.
    fn describe_plans(
        &self,
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        operations: &[OperationId],
        session: &mut SessionState,
    ) -> Result<Messages, Failure> {
        take_over_missed_calls(ctx, state, self.surroundings.missed, session)?;
        let (touched, parents) = self.remember_plans(ctx, state, &mut session.conversation)?;
        let own = OwnOperations::Told(operations);
        let of_others = take_operation_news(ctx, state, self.event, session, own, NewsScope::All)?;
        let conversation = &mut session.conversation;
        let files = self.surroundings.files;
        let mut item_plans = Vec::new();
        for place in touched_item_plans(ctx.profiles, files) {
            item_plans.extend(find_recorded(state, &place)?.node.map(|node| node.id));
        }
        let meant = MeantPlans {
            touched: &touched,
            item_plans: &item_plans,
        };
        let news =
            plan_messages::describe_operations(ctx, state, operations, &meant, conversation)?;
        // A subagent is told nothing that the main agent would then not be told.
        let untold = match self.event.agent {
            Some(_) => Vec::new(),
            None => std::mem::take(&mut conversation.untold),
        };
        if !untold.is_empty() {
            conversation.told = None;
        }
        let news = news.map(|news| render_news(conversation, news));
        let is_owed = std::mem::take(&mut conversation.owed_a_briefing);
        conversation.briefed_this_turn |= is_owed;
        if is_owed {
            conversation.briefed_at = Some(ctx.clock.now());
        }
        let claims = plan_messages::render_notices(&ctx.take_work_notices());
        Ok(Messages {
            plans: untold
                .into_iter()
                .chain(claims)
                .chain(news)
                .chain(of_others)
                .chain(parents)
                .collect(),
            briefing: match is_owed {
                true => Some(compose_briefing_on(ctx, state, None)?.0),
                false => None,
            },
        })
    }

    /// Remembers the versions of the plans, and returns those that were written, with the parents'
    /// texts where the host could not be given them before.
    fn remember_plans(
        &self,
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        conversation: &mut Conversation,
    ) -> Result<(Vec<NodeId>, Vec<String>), Failure> {
        let agent = self.event.agent.as_deref();
        let mut touched = touched_documents(state, self.surroundings.files)?;
        for id in &touched {
            let node = state.load_node(*id)?;
            let version = node.and_then(|node| node.content.version_hash());
            if let (Some(version), false) = (version, self.failed) {
                conversation.remember_read(agent, *id, version);
            }
        }
        let mut texts: Vec<String> = Vec::new();
        for TouchedPlan { place, effect, .. } in self.surroundings.plans {
            let found = find_recorded(state, place)?;
            let Some(node) = &found.node else { continue };
            // A session that wrote a text knows it as well as one that read it.
            if let (Some(version), false) = (node.content.version_hash(), self.failed) {
                conversation.remember_read(agent, node.id, version);
            }
            if *effect == FileEffect::Read || touched.contains(&node.id) {
                continue;
            }
            touched.push(node.id);
            if let (Some(parent), false) = (
                &found.parent,
                self.event.host.accepts_context_before_tools(),
            ) {
                texts.extend(plan_messages::give_parent_plan(
                    ctx,
                    state,
                    conversation,
                    agent,
                    parent,
                    place,
                )?);
            }
        }
        Ok((touched, texts))
    }

    /// Records the work, counts the call, and stores the session's state.
    fn commit_call(
        &self,
        ctx: &Context<'_>,
        mut tx: Box<dyn Transaction + '_>,
        before: &SessionState,
        mut session: SessionState,
        messages: &mut Messages,
    ) -> Result<EventOutcome, Failure> {
        let (call, surroundings) = (self.call, self.surroundings);
        record_missed_authors(ctx, &mut *tx, surroundings.missed)?;
        let mut told = std::mem::take(&mut messages.plans);
        // Before the work is recorded: a commit may complete the ticket, and the lines belong to
        // the one they were written for.
        let ticket = find_session_ticket(ctx, &*tx)?;
        if self.writes_prose(ctx) {
            told.extend(record_written_prose(ctx, &mut *tx, self.event, call)?);
        }
        if self.is_work(ctx) {
            let work = &mut session.work;
            let changed = (ticket.as_ref().map(|node| node.id), surroundings.files);
            let finished = record_finished_work(ctx, &mut *tx, work, call, changed)?;
            told.extend(finished.messages);
            if finished.has_committed {
                // A commit is a checkpoint: what is counted is counted from here.
                let (signals, now) = (&ctx.policy.signals, ctx.clock.now());
                session.counters.start_section(None, signals, now);
            }
        }
        // What a subagent is given, the main agent does not see.
        if self.is_work(ctx) && self.event.agent.is_none() {
            let step = self.guided_step(ctx);
            told.extend(give_due_guide(ctx, &*tx, &mut session, step)?);
        }
        told.extend(messages.briefing.take());
        if self.event.agent.is_none() {
            told.extend(signals::count_call(
                ctx,
                &*tx,
                self.event,
                call,
                self.failed,
                (surroundings, ticket.as_ref()),
                &mut session,
            )?);
        }
        if !self.event.host.accepts_context_before_tools() {
            let conversation = &mut session.conversation;
            told.extend(overlaps::describe_overlaps(
                ctx,
                &*tx,
                conversation,
                surroundings,
            )?);
        }
        let FittedMessages { told, left } = fit_messages(self.event.host, told, None);
        session.conversation.untold.extend(left);
        if session != *before {
            store_session_state(ctx, &mut *tx, &session)?;
        }
        let focus = load_focus_key(ctx, &*tx)?;
        tx.commit()?;
        let changed = match self.failed {
            true => Vec::new(),
            false => overlaps::changed_files(surroundings),
        };
        // After the commit: the write lock of the state is not held while waiting for another one.
        record_activity(ctx, focus.as_ref(), &changed);
        Ok(EventOutcome {
            missed_recorded: true,
            ..EventOutcome::from_messages(&told)
        })
    }
}

/// Messages that depend on the plans as they are after the call.
struct Messages {
    plans: Vec<String>,
    briefing: Option<String>,
}

/// Returns a message as it is to be sent: whole if it is new, in one line if it repeats the last one.
/// It is never left out: the status it tells may have changed and changed back. An event that a host
/// sends twice finds no change, and has no message.
fn render_news(conversation: &mut Conversation, news: String) -> String {
    match conversation.remember_if_new(&news) {
        true => news,
        false => shorten_repeated_news(&news),
    }
}

/// Shortens a message to the first clause of its first line.
pub(super) fn shorten_repeated_news(news: &str) -> String {
    let line = news.lines().next().unwrap_or_default();
    let line = line.trim_start_matches("- ");
    let line = line.strip_prefix("Throughline: ").unwrap_or(line);
    let end = [". ", ": "].iter().filter_map(|end| line.find(end)).min();
    let clause = end.and_then(|end| line.get(..end)).unwrap_or(line);
    format!("Throughline, again: {clause}.")
}
