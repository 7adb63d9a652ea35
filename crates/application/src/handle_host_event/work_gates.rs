//! Work gates (`loc`, `phase`, `context`, `scope`): evaluated before an edit of files that are not
//! plans, updated after a tool ran.
//!
//! Reading starts no git process. Before an edit, one is started only to confirm a block or when
//! there is no count yet; after a change, one counts the changed files.

use domain::gates::{self, GateVerdict, NewPhase, WorkStep};
use domain::host_event::{HostEvent, Reply, ToolCall, ToolKind};
use domain::ids::Digest32;
use domain::ports::{HeadMove, HeadMoveKind, Snapshot, Transaction};
use domain::session_state::{PendingPhase, WorkState};
use domain::work::work_level::{Outgrown, find_outgrown_limit};

use super::tool_about_to_run::override_key;
use super::{EventOutcome, session_events};
use crate::claim_node;
use crate::context::Context;
use crate::failure::Failure;
use crate::follow_commits::follow_commits;
use crate::session_position::{SessionPosition, Ticket, find_phase, head_commit, load_position};
use crate::session_state::{load_session_state, update_session_state};
use crate::uncommitted::{
    count_session_lines, count_uncommitted, has_committed_since, is_exempt, load_authors,
    load_uncommitted, recount_after_call, save_authors,
};

/// Returns whether a profile of the project has work gates.
pub(super) fn has_work_gates(ctx: &Context<'_>) -> bool {
    ctx.profiles.iter().any(|profile| {
        profile.gates.is_some() && WORK_GATES.iter().any(|gate| profile.has_gate(gate))
    })
}

const WORK_GATES: [&str; 4] = ["loc", "phase", "context", "scope"];

/// Evaluates the work gates for an edit of files that are not plans.
pub(super) fn check_work_gates(
    ctx: &Context<'_>,
    event: &HostEvent,
    files: &[String],
) -> Result<EventOutcome, Failure> {
    let files: Vec<&String> = files.iter().filter(|file| !is_exempt(ctx, file)).collect();
    if files.is_empty() || !has_work_gates(ctx) {
        return Ok(EventOutcome::default());
    }
    let state = ctx.store.begin_read()?;
    let memory = load_session_state(&*state, &ctx.session)?.work;
    let found = decide_work(ctx, &*state, &memory, files.len())?;
    drop(state);
    finish_decision(ctx, event, files.len(), &memory, found)
}

/// The verdict of the work gates, and the memory to store with it.
struct WorkDecision {
    verdict: GateVerdict,
    memory: WorkState,
    overridden: Vec<String>,
    /// The node the session works on, as overrides name it.
    path: String,
}

/// Evaluates the work gates for the next edit.
fn decide_work(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    memory: &WorkState,
    files: usize,
) -> Result<WorkDecision, Failure> {
    let place = load_position(ctx, state)?;
    let mut memory = memory.clone();
    let now = head_commit(ctx);
    let busy = ctx.git.operation_in_progress().is_some();
    // In a merge or rebase the index holds other people's changes, and a commit cannot be demanded.
    let lines = if busy {
        None
    } else {
        load_uncommitted(ctx, state, &mut memory, now.as_deref())
    };
    let context = context_due(ctx, state, &place, &memory)?;
    let phase = match (&place.ticket, busy) {
        // The context contains the guide of the current phase; announcing the phase as well would
        // repeat it.
        (Some(ticket), false) if context.is_none() => {
            phase_due(ctx, state, ticket, &mut memory, now.as_deref())?
        }
        _ => None,
    };
    let grown = match &place.ticket {
        Some(ticket) => {
            let edited = lines.map_or(0, |found| found.files).max(files);
            load_outgrown_limit(state, ticket, edited)?
        }
        None => None,
    };
    let holder = match place.stack.last() {
        Some(node) => claim_node::find_holder(ctx, state, node)?.map(|held| held.describe_holder()),
        None => None,
    };
    let (node, path) = (place.node_name().to_owned(), place.node_path());
    let step = WorkStep {
        node: &node,
        uncommitted: lines.map(|found| found.lines),
        new_phase: phase.as_ref().map(|phase| NewPhase {
            from: phase.from.as_deref(),
            to: &phase.to,
            guide: &phase.guide,
            needs_commit: phase.needs_commit,
        }),
        context: context.as_deref(),
        outgrown: grown.as_ref(),
        claimed_by: holder.as_deref(),
        overridden: &[],
    };
    let has_gate = |name: &str| ctx.profiles.iter().any(|profile| profile.has_gate(name));
    let plain = gates::evaluate_work(&step, &has_gate, ctx.policy);
    let overridden = find_work_overrides(state, &plain, &path)?;
    let verdict = match overridden.is_empty() {
        true => plain,
        false => gates::evaluate_work(
            &WorkStep {
                overridden: &overridden,
                ..step
            },
            &has_gate,
            ctx.policy,
        ),
    };
    if let Some(ticket) = &place.ticket {
        remember_guidance(
            &mut memory,
            ticket,
            context.is_some(),
            phase.as_ref(),
            &verdict,
        );
    }
    Ok(WorkDecision {
        verdict,
        memory,
        overridden,
        path,
    })
}

/// Remembers that the ticket's context or guide was given. A context counts as given even if its
/// gate only warns or is off; otherwise the start of a later phase would not be detected.
fn remember_guidance(
    memory: &mut WorkState,
    ticket: &Ticket,
    gave_context: bool,
    phase: Option<&PhaseDue>,
    verdict: &GateVerdict,
) {
    let blocks_phase = verdict.blocks.iter().any(|fired| fired.gate == "phase");
    let gave_guide = phase.is_some_and(|phase| !phase.needs_commit || !blocks_phase);
    if gave_context || gave_guide {
        let phase = ticket.phase().unwrap_or_default().to_owned();
        memory.guided.insert(ticket.node.id, phase);
        memory.pending = None;
    }
}

/// Returns how the work on a ticket exceeds its level, if it does.
fn load_outgrown_limit(
    state: &dyn Snapshot,
    ticket: &Ticket,
    edited_files: usize,
) -> Result<Option<Outgrown>, Failure> {
    let assessment = ticket.load_assessment(state)?;
    Ok(find_outgrown_limit(
        &assessment,
        edited_files,
        ticket.scenarios.len(),
        ticket.children.len(),
    ))
}

/// Returns the blocking work gates that a person has overridden.
fn find_work_overrides(
    state: &dyn Snapshot,
    plain: &GateVerdict,
    path: &str,
) -> Result<Vec<String>, Failure> {
    // Overrides are looked up only where a gate blocks: each lookup reads a note, and this runs
    // before every edit.
    let mut overridden = Vec::new();
    for fired in plain
        .blocks
        .iter()
        .filter(|fired| gates::is_about_work(fired.gate))
    {
        if state.load_note(&override_key(fired.gate, path))?.is_some() {
            overridden.push(fired.gate.to_owned());
        }
    }
    Ok(overridden)
}

/// Returns the context of the session's ticket, unless it was given already.
fn context_due(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    place: &SessionPosition,
    memory: &WorkState,
) -> Result<Option<String>, Failure> {
    match &place.ticket {
        Some(ticket) if !memory.guided.contains_key(&ticket.node.id) => {
            ticket.render_context_text(ctx, state).map(Some)
        }
        _ => Ok(None),
    }
}

/// A phase that began and was not announced yet.
struct PhaseDue {
    from: Option<String>,
    to: String,
    guide: String,
    needs_commit: bool,
}

/// Returns the ticket's phase if it differs from the one the session was guided for, with no commit
/// since.
fn phase_due(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    ticket: &Ticket,
    memory: &mut WorkState,
    head: Option<&str>,
) -> Result<Option<PhaseDue>, Failure> {
    let phase = ticket.phase().unwrap_or_default();
    let Some(guided) = memory.guided.get(&ticket.node.id).cloned() else {
        return Ok(None);
    };
    if guided == phase
        || ctx
            .find_profile(&ticket.node.profile)
            .and_then(|all| find_phase(all, ticket.phase()))
            .is_none()
    {
        memory.pending = None;
        return Ok(None);
    }
    // Remembers HEAD from when the phase was first seen, so that a commit in between ends the wait.
    let pending = match memory.pending.clone() {
        Some(pending) if pending.ticket == ticket.node.id && pending.to == phase => pending,
        _ => PendingPhase {
            ticket: ticket.node.id,
            to: phase.to_owned(),
            head: head.map(str::to_owned),
        },
    };
    if has_committed_since(ctx, state, pending.head.as_deref(), head)? {
        memory.guided.insert(ticket.node.id, phase.to_owned());
        memory.pending = None;
        return Ok(None);
    }
    memory.pending = Some(pending);
    // With a clean tree no commit can be demanded; the agent could never satisfy the gate.
    let needs_commit = head.is_some()
        && count_uncommitted(ctx, state)
            .0
            .is_some_and(|found| found.anything);
    let guide = ticket.render_phase_text(ctx);
    let from = Some(guided).filter(|from| !from.is_empty());
    Ok(Some(PhaseDue {
        from,
        to: phase.to_owned(),
        guide,
        needs_commit,
    }))
}

impl WorkDecision {
    fn only_warns(&self) -> bool {
        self.verdict.blocks.is_empty() && !self.verdict.warnings.is_empty()
    }
}

/// Renders the verdict and stores the memory.
///
/// `before` is the memory the verdict is based on, read outside a transaction. Where a parallel
/// call of the session changed it meanwhile, or consumed an override, the gates are evaluated again
/// inside the transaction: storing the old memory would undo the other call's counts, which the
/// `loc` gate trusts.
fn finish_decision(
    ctx: &Context<'_>,
    event: &HostEvent,
    files: usize,
    before: &WorkState,
    mut asked: WorkDecision,
) -> Result<EventOutcome, Failure> {
    let mut context = None;
    // Most edits leave nothing to store; they end without taking the write lock.
    if asked.memory != *before || !asked.overridden.is_empty() || asked.only_warns() {
        let mut tx = ctx.store.begin_write()?;
        let now = load_session_state(&*tx, &ctx.session)?.work;
        let mut overrides_hold = true;
        for gate in &asked.overridden {
            overrides_hold &= tx.load_note(&override_key(gate, &asked.path))?.is_some();
        }
        if now != *before || !overrides_hold {
            asked = decide_work(ctx, &*tx, &now, files)?;
        }
        update_session_state(ctx, &mut *tx, |session| {
            session.work.clone_from(&asked.memory)
        })?;
        if asked.only_warns() {
            let text = gates::render_objections(&asked.verdict.warnings);
            let mut memory = session_events::load_memory(&*tx, event)?;
            // A warning is given once, not before every edit: repeated text costs the agent
            // context.
            context = memory.remember_if_new(&text).then_some(text);
            session_events::store_memory(ctx, &mut *tx, &memory)?;
        }
        for gate in &asked.overridden {
            tx.save_note(&override_key(gate, &asked.path), None, ctx.clock.now())?;
        }
        tx.commit()?;
    }
    let block =
        (!asked.verdict.blocks.is_empty()).then(|| gates::render_objections(&asked.verdict.blocks));
    Ok(EventOutcome {
        reply: Reply {
            block,
            context,
            ..Reply::default()
        },
        blocked: asked.verdict.blocks,
        warned: asked.verdict.warnings,
        ..EventOutcome::default()
    })
}

/// Updates the work memory after a call: authorship, commits, uncommitted lines. Returns messages
/// for the agent.
pub(super) fn record_finished_call(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    call: &ToolCall,
    files: &[String],
) -> Result<Vec<String>, Failure> {
    if !has_work_gates(ctx) {
        return Ok(Vec::new());
    }
    claim_node::record_heartbeat(ctx, tx)?;
    let noted = load_session_state(&*tx, &ctx.session)?.work;
    let mut memory = noted.clone();
    let head = head_commit(ctx);
    let known_authors = load_authors(ctx, &*tx);
    let mut authors = known_authors.clone();
    let lines_before = memory
        .uncommitted
        .as_deref()
        .map(|changed| count_session_lines(ctx, &known_authors, changed).lines);
    authors.record_writes(&ctx.session, files);
    let moves = match (memory.head.as_deref(), &head) {
        (Some(then), Some(now)) if then != now => ctx.git.head_moves_since(then)?,
        _ => None,
    }
    .unwrap_or_default();
    // Only a call that may have committed gets the credit: HEAD may have moved through another
    // session in the same working copy.
    if may_have_committed(call) {
        // Commits that a rebase makes have a subject; where it starts from has none.
        let is_rebased =
            |one: &&HeadMove| one.kind == HeadMoveKind::Rebase && !one.subject.is_empty();
        for one in moves
            .iter()
            .filter(|one| one.kind.commits_work() || is_rebased(one))
        {
            authors.record_commit(&ctx.session, &one.to);
        }
    }
    // Saved before the cycles are derived: whose commits they are decides whose cycle they belong to.
    if authors != known_authors {
        save_authors(ctx, tx, &authors)?;
    }
    // Not compared with `memory.head`: the gates before this call may have read HEAD already.
    let mut messages = Vec::new();
    if memory.followed != head {
        // A reset or a checkout commits nothing, so the uncommitted lines are no commit's.
        let has_committed = moves.last().is_some_and(|last| last.kind.commits_work());
        let committed = lines_before.filter(|_| has_committed).unwrap_or_default();
        messages = follow_commits(ctx, tx, committed)?;
        memory.followed.clone_from(&head);
    }
    recount_after_call(ctx, &mut memory, head, call, files);
    if !files.is_empty()
        && let Some(changed) = &memory.uncommitted
    {
        let lines = count_session_lines(ctx, &authors, changed).lines;
        let limit = ctx.policy.gates.loc_limit;
        // Warns when the limit is crossed, not after every edit beyond it: the gate itself does
        // that.
        if lines > limit && lines_before.is_none_or(|before| before <= limit) {
            messages.push(format!(
                "Throughline: {lines} uncommitted changed lines, the limit is {limit}: commit before the next edit."
            ));
        }
    }
    if memory != noted {
        update_session_state(ctx, tx, |session| session.work.clone_from(&memory))?;
    }
    Ok(messages)
}

/// Returns whether a call may have committed something itself.
fn may_have_committed(call: &ToolCall) -> bool {
    match call.shell_line() {
        Some(line) => line.may_commit(),
        None => matches!(call.kind, ToolKind::Mcp | ToolKind::Agent),
    }
}

/// Starts a new turn: the follow-up of the last one may be given again.
pub(super) fn start_turn(ctx: &Context<'_>) -> Result<(), Failure> {
    if load_session_state(&*ctx.store.begin_read()?, &ctx.session)?
        .work
        .followed_up
        .is_some()
    {
        let mut tx = ctx.store.begin_write()?;
        let memory = WorkState {
            followed_up: None,
            ..load_session_state(&*tx, &ctx.session)?.work
        };
        update_session_state(ctx, &mut *tx, |session| session.work.clone_from(&memory))?;
        tx.commit()?;
    }
    Ok(())
}

/// Blocks the stop of an agent whose host could not block an edit: with the same text, once per
/// turn.
pub(super) fn follow_up(ctx: &Context<'_>) -> Result<EventOutcome, Failure> {
    if !has_work_gates(ctx) {
        return Ok(EventOutcome::default());
    }
    let state = ctx.store.begin_read()?;
    let Some(_) = due_follow_up(ctx, &*state)? else {
        return Ok(EventOutcome::default());
    };
    drop(state);
    // Decided again inside the transaction: a parallel call of the session may have followed up or
    // committed meanwhile.
    let mut tx = ctx.store.begin_write()?;
    let Some(asked) = due_follow_up(ctx, &*tx)? else {
        return Ok(EventOutcome::default());
    };
    update_session_state(ctx, &mut *tx, |session| {
        session.work.clone_from(&asked.memory)
    })?;
    tx.commit()?;
    let block = Some(gates::render_objections(&asked.verdict.blocks));
    Ok(EventOutcome {
        reply: Reply {
            block,
            ..Reply::default()
        },
        blocked: asked.verdict.blocks,
        warned: asked.verdict.warnings,
        ..EventOutcome::default()
    })
}

/// Returns the blocking verdict that is still due this turn.
fn due_follow_up(ctx: &Context<'_>, state: &dyn Snapshot) -> Result<Option<WorkDecision>, Failure> {
    let before = load_session_state(state, &ctx.session)?.work;
    let mut asked = decide_work(ctx, state, &before, 0)?;
    asked
        .verdict
        .blocks
        .retain(|fired| matches!(fired.gate, "loc" | "phase"));
    let digest = Digest32::of_bytes(gates::render_objections(&asked.verdict.blocks).as_bytes());
    if asked.verdict.blocks.is_empty() || before.followed_up == Some(digest) {
        return Ok(None);
    }
    asked.memory.followed_up = Some(digest);
    Ok(Some(asked))
}
