//! Evaluates the gates for the next step of a session: gathers what they look at from one snapshot,
//! and asks `domain::gates` once.
//!
//! Hooks, `tl gate explain` and `tl where` all go through here, so that they agree.

use domain::gates::{
    self, CommandFacts, Event, FiredGate, FrozenFile, GateVerdict, IntendedChange, OutputStep,
    Override, ParentPlan, PlanStep, SessionFile, Unadopted,
};
use domain::host_event::{FileEffect, Host, HostEvent, ToolCall};
use domain::ids::{Digest32, Principal};
use domain::node::Node;
use domain::plan_document::{DocumentRecord, split_document_path};
use domain::policy::{Governance, Policy};
use domain::ports::{FileReadResult, FileStatResult, PlanFiles, Snapshot};
use domain::profile::{PlanPlace, Profile, locate_output};
use domain::record;
use domain::session::{SESSIONS_FOLDER, Session};
use domain::session_state::SessionState;
use domain::trail;
use domain::work::uncommitted::is_exempt;

use super::plans::{RecordedPlan, TouchedPlan, find_recorded};
use super::work_facts::{WorkFacts, gather_work};
use crate::claim_node;
use crate::context::Context;
use crate::decisions::has_unadopted_decisions;
use crate::failure::Failure;
use crate::session_position::find_session_ticket;
use crate::sessions::{own_session, session_before};

/// Maximum size of a session file that is hashed.
const MAX_SESSION_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// What a session is about to do.
pub(crate) struct NextStep<'n> {
    /// The plans it changes.
    pub(crate) plans: Vec<&'n TouchedPlan<'n>>,
    /// The outputs of plans it writes, with their files.
    pub(super) outputs: Vec<(String, PlanPlace<'n>)>,
    /// Other files it changes.
    pub(crate) files: &'n [String],
    session_files: Vec<String>,
    command: CommandFacts,
    /// Number of changed files that the work gates are about; `None` if they are not concerned.
    work_files: Option<usize>,
}

impl<'n> NextStep<'n> {
    /// Returns the step of a tool call.
    pub(crate) fn from_call(
        ctx: &Context<'n>,
        event: &HostEvent,
        call: &ToolCall,
        plans: &'n [TouchedPlan<'n>],
        files: &'n [String],
    ) -> Self {
        let is_changed = |plan: &&TouchedPlan<'_>| plan.effect.modifies_file();
        let edited = files.iter().filter(|file| !is_exempt(ctx.profiles, file));
        let edited = Some(edited.count()).filter(|edited| *edited > 0);
        Self {
            plans: plans.iter().filter(is_changed).collect(),
            outputs: written_outputs(ctx, event, call),
            files,
            session_files: overwritten_session_files(ctx.files, event, call),
            command: command_facts(call),
            work_files: edited.filter(|_| gates::has_work_gates(ctx.profiles)),
        }
    }

    /// Whether the work gates are concerned.
    pub(super) fn is_work(&self) -> bool {
        self.work_files.is_some()
    }

    /// Returns the next edit of some file that is not a plan.
    pub(crate) fn next_edit(ctx: &Context<'_>) -> Self {
        Self {
            plans: Vec::new(),
            outputs: Vec::new(),
            files: &[],
            session_files: Vec::new(),
            command: CommandFacts {
                may_write: true,
                runs_own_hook: false,
            },
            work_files: gates::has_work_gates(ctx.profiles).then_some(0),
        }
    }

    /// Returns the work as such, without an edit: for a session that is about to stop.
    pub(super) fn pause_work(ctx: &Context<'_>) -> Self {
        Self {
            command: CommandFacts::default(),
            ..Self::next_edit(ctx)
        }
    }
}

/// The result of evaluating a step.
pub(crate) struct EvaluatedStep {
    pub(crate) verdict: GateVerdict,
    /// The session's state with the counts and guidance of this evaluation.
    pub(crate) session: SessionState,
    /// The recorded nodes of the changed plans.
    pub(crate) plans: Vec<RecordedPlan>,
    /// The recorded nodes of the written outputs.
    pub(super) outputs: Vec<Option<Node>>,
}

/// Evaluates every gate for a step.
pub(crate) fn evaluate_step(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    mut session: SessionState,
    step: &NextStep<'_>,
) -> Result<EvaluatedStep, Failure> {
    if !step.plans.is_empty() && has_unadopted_decisions(ctx)? {
        let unadopted = Unadopted::Decisions;
        let verdict = evaluate_unadopted(ctx.profiles, ctx.policy, unadopted, &step.plans, false);
        if !verdict.blocks.is_empty() {
            return Ok(EvaluatedStep {
                verdict,
                session,
                plans: Vec::new(),
                outputs: Vec::new(),
            });
        }
    }
    let mut plans = Vec::with_capacity(step.plans.len());
    let mut holders = Vec::with_capacity(step.plans.len());
    for plan in &step.plans {
        let found = find_recorded(state, &plan.place)?;
        // A new file has no claim of its own yet; the session that holds its parent decides.
        let node = found.node.as_ref().or(found.parent.as_ref());
        let holder = node
            .map(|node| claim_node::find_holder(ctx, state, node))
            .transpose()?
            .flatten();
        holders.push(holder.map(|held| held.describe_holder()));
        plans.push(found);
    }
    let work = match step.work_files {
        // Only for edits that the work gates are about: counting lines may need a git process.
        Some(files) => Some(gather_work(ctx, state, &mut session, files)?),
        None => None,
    };
    let steps: Vec<PlanStep<'_>> = step
        .plans
        .iter()
        .zip(plans.iter().zip(&holders))
        .map(|(plan, (found, holder))| PlanStep {
            doing: IntendedChange::Changing(&plan.effect),
            place: &plan.place,
            file: &plan.file,
            node: found.node.as_ref(),
            parent: ParentPlan::from_recorded(found.parent.as_ref(), &plan.place),
            undecided: found.undecided.as_ref(),
            size: file_size(ctx, &plan.file),
            read: found
                .node
                .as_ref()
                .and_then(|node| session.conversation.read.get(&node.id))
                .copied(),
            session_is_known: session.conversation.started,
            claimed_by: holder.as_deref(),
        })
        .collect();
    let mut outputs = Vec::with_capacity(step.outputs.len());
    for (_, place) in &step.outputs {
        outputs.push(find_recorded(state, place)?);
    }
    let output_steps: Vec<OutputStep<'_>> = step
        .outputs
        .iter()
        .zip(&outputs)
        .map(|((file, place), found)| OutputStep {
            place,
            file,
            node: found.node.as_ref(),
            undecided: found.undecided.as_ref(),
        })
        .collect();
    let verdict = evaluate_with_overrides(
        ctx,
        state,
        &Event {
            profiles: ctx.profiles,
            plans: &steps,
            outputs: &output_steps,
            files: step.files,
            documents: &frozen_files(state, step.files)?,
            session_files: &gather_session_files(ctx, state, &session, step)?,
            work: work.as_ref().map(WorkFacts::as_step),
            command: step.command,
            lacks_intent: lacks_intent(ctx, state)?,
            delivers_context: delivers_context(ctx, &session),
            ..Event::default()
        },
    )?;
    // After the verdict, which says whether a new phase still waits for a commit.
    if let Some(work) = &work {
        work.remember_guidance(ctx, &mut session, &verdict);
    }
    Ok(EvaluatedStep {
        verdict,
        session,
        plans,
        outputs: outputs.into_iter().map(|found| found.node).collect(),
    })
}

/// Evaluates a step in a clone that is not adopted. The other gates have nothing to judge there: they
/// rest on approvals that do not count.
#[must_use]
pub fn evaluate_unadopted(
    profiles: &[Profile],
    policy: &Policy,
    unadopted: Unadopted,
    plans: &[&TouchedPlan<'_>],
    is_typed_command: bool,
) -> GateVerdict {
    let steps: Vec<PlanStep<'_>> = plans
        .iter()
        .map(|plan| PlanStep {
            doing: IntendedChange::Changing(&plan.effect),
            place: &plan.place,
            file: &plan.file,
            node: None,
            parent: ParentPlan::None,
            undecided: None,
            size: None,
            read: None,
            session_is_known: true,
            claimed_by: None,
        })
        .collect();
    gates::evaluate(
        &Event {
            profiles,
            plans: &steps,
            unadopted: Some(unadopted),
            is_typed_command,
            ..Event::default()
        },
        policy,
    )
}

/// Whether text reaches the model before a tool runs.
fn delivers_context(ctx: &Context<'_>, session: &SessionState) -> bool {
    // The host of the session, which its first event registers; a command may come before it.
    let by_actor = || match &ctx.actor {
        Principal::Agent { host, .. } => Host::from_word(host),
        _ => None,
    };
    let host = session.conversation.host.or_else(by_actor);
    host.is_some_and(Host::accepts_context_before_tools)
}

/// Evaluates the gates, with the overrides that people granted.
pub(crate) fn evaluate_with_overrides(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    event: &Event<'_>,
) -> Result<GateVerdict, Failure> {
    // Without overrides first: their notes are looked up only where a gate blocks, and one that is
    // not needed is not used up.
    let verdict = gates::evaluate(event, ctx.policy);
    let mut overrides: Vec<Override> = Vec::new();
    for fired in &verdict.blocks {
        if state.load_note(&override_key(fired))?.is_some() {
            overrides.push((fired.gate, fired.subject.clone()));
        }
    }
    if overrides.is_empty() {
        return Ok(verdict);
    }
    let event = Event {
        overrides: &overrides,
        ..event.clone()
    };
    Ok(gates::evaluate(&event, ctx.policy))
}

/// Returns the note key of the unused override that lets a step pass.
pub(crate) fn override_key(fired: &FiredGate) -> String {
    override_note_key(fired.gate, &fired.subject)
}

/// Returns the note key of an unused override.
pub(crate) fn override_note_key(gate: &str, subject: &str) -> String {
    format!("override/{gate}/{subject}")
}

/// Returns what the gates look at of a call's command.
pub(super) fn command_facts(call: &ToolCall) -> CommandFacts {
    call.shell_line()
        .map(|line| CommandFacts {
            may_write: !line.only_reads_or_own(),
            runs_own_hook: line.runs_own_hook(),
        })
        .unwrap_or_default()
}

/// Returns the outputs of plans that a call writes, each once; deleting one writes nothing.
pub(super) fn written_outputs<'p>(
    ctx: &Context<'p>,
    event: &HostEvent,
    call: &ToolCall,
) -> Vec<(String, PlanPlace<'p>)> {
    let line = call.shell_line().unwrap_or_default();
    let by_tool = call
        .touches
        .iter()
        .map(|touch| (touch.path.as_str(), touch.effect.clone()));
    let mut found: Vec<(String, PlanPlace<'p>)> = Vec::new();
    for (path, effect) in by_tool.chain(line.written_files()) {
        if !effect.modifies_file() || effect == FileEffect::Delete {
            continue;
        }
        let file = ctx.files.resolve_path(event.directory.as_deref(), path);
        let place = |file: String| Some((locate_output(ctx.profiles, &file)?, file));
        if let Some((place, file)) = file.and_then(place)
            && !found.iter().any(|(known, _)| *known == file)
        {
            found.push((file, place));
        }
    }
    found
}

fn file_size(ctx: &Context<'_>, file: &str) -> Option<u64> {
    match ctx.files.stat_file(file) {
        FileStatResult::Present(stamp) => Some(stamp.size),
        FileStatResult::Missing | FileStatResult::Refused(_) | FileStatResult::Unavailable(_) => {
            None
        }
    }
}

/// Returns the files that belong to frozen plan documents.
fn frozen_files<'f>(
    state: &dyn Snapshot,
    files: &'f [String],
) -> Result<Vec<FrozenFile<'f>>, Failure> {
    let mut frozen = Vec::new();
    for (document, name) in files.iter().filter_map(|file| split_document_path(file)) {
        let Some(record) = record::read_record::<DocumentRecord>(state, document)? else {
            continue;
        };
        let is_frozen = match name {
            // `context.json` freezes earlier than the plan: the plan is written against it.
            "plan.json" | "plan.md" => record.frozen.is_some(),
            "context.json" => record.context.is_some(),
            _ => false,
        };
        if is_frozen {
            frozen.push(FrozenFile { document, name });
        }
    }
    Ok(frozen)
}

/// Whether strict governance waits for an intent: this session is at no ticket, and neither it nor an
/// active earlier one of its host has declared one.
fn lacks_intent(ctx: &Context<'_>, state: &dyn Snapshot) -> Result<bool, Failure> {
    if ctx.policy.governance != Governance::Strict || !trail::has_trail_profile(ctx.profiles) {
        return Ok(false);
    }
    let is_declared = find_session_ticket(ctx, state)?.is_some()
        || own_session(ctx, state)?.is_some()
        || session_before(ctx, state)?.is_some_and(|session| session.is_active());
    Ok(!is_declared)
}

/// Returns the session files that a call overwrites. An edit of a passage keeps what other sessions
/// appended, so only whole-file writes count.
pub(super) fn overwritten_session_files(
    files: &dyn PlanFiles,
    event: &HostEvent,
    call: &ToolCall,
) -> Vec<String> {
    call.touches
        .iter()
        .filter(|touch| matches!(touch.effect, FileEffect::Write { .. } | FileEffect::Delete))
        .filter_map(|touch| resolve_session_file(files, event, &touch.path))
        .collect()
}

/// Returns the session file a path leads to.
pub(super) fn resolve_session_file(
    files: &dyn PlanFiles,
    event: &HostEvent,
    path: &str,
) -> Option<String> {
    // A cheap test of the text first: resolving a path costs system calls, and nearly no call names
    // a session file.
    let is_named = path.contains("sessions/") && path.ends_with(".md");
    let file = is_named
        .then(|| files.resolve_path(event.directory.as_deref(), path))
        .flatten()?;
    file.starts_with(SESSIONS_FOLDER).then_some(file)
}

/// Returns the digest of a session file's content, if it can be read.
pub(super) fn session_file_digest(ctx: &Context<'_>, file: &str) -> Option<Digest32> {
    match ctx.files.read_file(file, MAX_SESSION_FILE_BYTES) {
        FileReadResult::Text { text, .. } => Some(Digest32::of_bytes(text.as_bytes())),
        FileReadResult::Missing | FileReadResult::Unreadable { .. } => None,
    }
}

fn gather_session_files(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    session: &SessionState,
    step: &NextStep<'_>,
) -> Result<Vec<SessionFile>, Failure> {
    let mut found = Vec::new();
    if !trail::has_trail_profile(ctx.profiles) {
        return Ok(found);
    }
    for file in &step.session_files {
        let Some(digest) = session_file_digest(ctx, file) else {
            continue;
        };
        found.push(SessionFile {
            file: file.clone(),
            node: find_trail_node(state, file)?.unwrap_or_else(|| file.clone()),
            is_read: session.conversation.read_files.get(file) == Some(&digest),
        });
    }
    Ok(found)
}

/// Returns the alias of the trajectory that a session file is about.
fn find_trail_node(state: &dyn Snapshot, file: &str) -> Result<Option<String>, Failure> {
    let stamp = file
        .rsplit_once('/')
        .and_then(|(_, name)| name.strip_suffix(".md"));
    let Some(stamp) = stamp else { return Ok(None) };
    let Some(session) = record::read_record::<Session>(state, stamp)? else {
        return Ok(None);
    };
    Ok(state.load_node(session.trajectory)?.map(|node| node.alias))
}
