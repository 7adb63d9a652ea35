//! Position of a session for tools: the stack, the roots, the uncommitted lines; whole, flat, or in
//! one line.
//!
//! Field names are those that the hosts' own status scripts already read.

use std::collections::BTreeMap;

use domain::ids::NodeId;
use domain::node::{Node, Progress};
use domain::ports::Snapshot;
use domain::work::focus::RootFocus;
use domain::work::tdd::{Cycle, parse_commit_step};
use domain::work::uncommitted::Uncommitted;
use schemars::JsonSchema;
use serde::Serialize;

use crate::absent_nodes::describe_absence;
use crate::claim_node::list_active_claims;
use crate::context::Context;
use crate::failure::Failure;
use crate::handle_host_event::{NextStep, evaluate_step};
use crate::locate::{load_ancestors, load_node_path};
use crate::observe::observe_then_read;
use crate::scan::ScanScope;
use crate::session_position::{
    SessionPosition, Ticket, find_phase, has_work_phases, head_commit, load_focus, load_position,
    load_ticket,
};
use crate::session_state::load_session_state;
use crate::uncommitted::{count_uncommitted, load_line_limit};

/// Position of a session, with the field names known to the hosts' scripts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhereView {
    pub session: String,
    pub active_root: Option<String>,
    /// The path of the node at the cursor.
    pub cursor: Option<String>,
    pub stack: Vec<StackItem>,
    #[schemars(with = "crate::views::Object")]
    pub roots: BTreeMap<String, RootView>,
    pub loc_since_commit: Option<u64>,
    pub last_commit_hash: Option<String>,
    pub gate: Option<GateView>,
    /// The nodes this session has claimed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
    /// One line for a prompt.
    pub line: String,
    /// Why lines are not counted, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where the node in focus is, if it is not in the checked-out tree, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
}

/// One item of the stack.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StackItem {
    /// `ticket`, `tdd`, or the level of the node.
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_level: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket_dir: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub children: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_child: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenarios: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_scenario: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenarios_completed: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_commit_type: Option<String>,
}

/// One root, active or parked.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RootView {
    pub stack: Vec<StackItem>,
    pub history_stack: BTreeMap<String, HistoryItem>,
}

/// A visited node, to which the session can go back.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryItem {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_child: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_scenario: Option<String>,
}

/// A gate that would block the next edit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GateView {
    pub r#type: &'static str,
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_file: Option<String>,
    /// What clears it.
    pub next_steps: Vec<String>,
}

/// The position for tools that know only one active item.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlatView {
    pub loc_since_commit: Option<u64>,
    pub last_commit_hash: Option<String>,
    pub last_known_phase: Option<String>,
    pub phase_gate: Option<GateView>,
    pub tdd: FlatTdd,
}

/// Progress of the test-driven work.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlatTdd {
    pub last_commit_type: Option<String>,
    pub scenarios_completed: usize,
    pub scenarios_total: usize,
}

/// Returns the position of this session.
///
/// # Errors
/// When the state cannot be read.
pub fn where_am_i(ctx: &Context<'_>) -> Result<WhereView, Failure> {
    let state = observe_then_read(ctx, ScanScope::Everything)?;
    build_where_view(ctx, &*state)
}

/// Returns the position of this session if it has one, without scanning the files.
///
/// # Errors
/// When the state cannot be read.
pub fn where_if_focused(ctx: &Context<'_>) -> Result<Option<WhereView>, Failure> {
    let state = ctx.store.begin_read()?;
    // Without a focus this costs one read: the MCP tool asks in every project, including those that
    // never set one.
    match load_focus(&*state, &ctx.session)?.cursor() {
        Some(_) => build_where_view(ctx, &*state).map(Some),
        None => Ok(None),
    }
}

/// Returns the position of this session for tools that know only one active item.
///
/// # Errors
/// When the state cannot be read.
pub fn where_flat(ctx: &Context<'_>) -> Result<FlatView, Failure> {
    let state = observe_then_read(ctx, ScanScope::Everything)?;
    let place = load_position(ctx, &*state)?;
    let whole = build_where_view(ctx, &*state)?;
    let ticket = place.ticket.as_ref();
    Ok(FlatView {
        loc_since_commit: whole.loc_since_commit,
        last_commit_hash: whole.last_commit_hash,
        last_known_phase: ticket.and_then(Ticket::phase).map(str::to_owned),
        phase_gate: whole.gate.filter(|gate| gate.r#type == "phase"),
        tdd: FlatTdd {
            last_commit_type: ticket.and_then(|ticket| commit_type(ctx, ticket)),
            scenarios_completed: ticket.map_or(0, Ticket::count_completed),
            scenarios_total: ticket.map_or(0, |ticket| ticket.scenarios.len()),
        },
    })
}

/// Builds the position from a snapshot.
pub(crate) fn build_where_view(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<WhereView, Failure> {
    let place = load_position(ctx, state)?;
    // Counting lines may need a `git` process (15 ms), so it is left out where no profile has the
    // gate.
    let counts = ctx.profiles.iter().any(|profile| profile.has_gate("loc"));
    let (uncommitted, note) = if counts {
        count_uncommitted(ctx, state)
    } else {
        (None, None)
    };
    let stack = build_stack_items(ctx, state, &place.stack, place.ticket.as_ref())?;
    let mut roots = BTreeMap::new();
    for (root, known) in &place.focus.roots {
        // A removed or absent root stays in the focus, so that it is found as it was left when it
        // returns.
        let Some(node) = state.load_node(*root)? else {
            continue;
        };
        let is_active = place.focus.active_root == Some(*root);
        // The active root's stack is built already; building it again would load the ticket and its
        // texts twice.
        let stack = if is_active {
            stack.clone()
        } else {
            build_parked_stack(ctx, state, known)?
        };
        roots.insert(
            node.alias.clone(),
            RootView {
                stack,
                history_stack: build_history(ctx, state, known)?,
            },
        );
    }
    let active = place
        .focus
        .active_root
        .and_then(|root| place.stack.iter().find(|node| node.id == root));
    let limit = load_line_limit(ctx, state, place.ticket.as_ref())?;
    let line = render_status_line(&place, uncommitted.as_ref(), limit);
    let gate = find_open_gate(ctx, state, &place)?;
    Ok(WhereView {
        session: ctx.session.clone(),
        active_root: active.map(|node| node.alias.clone()),
        cursor: place
            .stack
            .last()
            .map(|node| load_node_path(state, node))
            .transpose()?,
        stack,
        roots,
        loc_since_commit: uncommitted.map(|found| found.lines),
        last_commit_hash: head_commit(ctx),
        gate,
        claims: list_active_claims(ctx, state)?
            .into_iter()
            .filter(|held| held.is_held_by(&ctx.session))
            .map(|held| held.node.path)
            .collect(),
        line,
        note,
        absent: place.absent.as_ref().map(|absent| {
            let (what, step) = describe_absence(ctx, absent);
            format!("{what}. To go on with it: {step}; for other work: tl next")
        }),
    })
}

/// Returns the stack as items: nodes from the root down, then the TDD cycle of the current
/// scenario.
fn build_stack_items(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    stack: &[Node],
    at: Option<&Ticket>,
) -> Result<Vec<StackItem>, Failure> {
    let mut items = Vec::new();
    for (index, node) in stack.iter().enumerate() {
        let next = stack.get(index + 1);
        if has_work_phases(ctx, node) {
            let is_last = at.is_some_and(|ticket| ticket.node.id == node.id);
            // The deepest ticket is loaded already; the ones above it have another current child.
            let found = match at.filter(|_| is_last) {
                Some(ticket) => ticket.clone(),
                None => load_ticket(ctx, state, node.clone(), next.map(|node| node.id))?,
            };
            items.push(build_ticket_item(ctx, state, &found, next)?);
            if is_last && (found.phase() == Some("implement") || next.is_some()) {
                items.extend(build_tdd_item(ctx, &found));
            }
        // A scenario at the cursor is shown as the `tdd` item, not as a node of its own.
        } else if !at.is_some_and(|ticket| ticket.scenarios.iter().any(|one| one.id == node.id)) {
            items.push(StackItem {
                r#type: node.level.clone(),
                id: Some(node.alias.clone()),
                path: Some(load_node_path(state, node)?),
                title: node.description.title.clone(),
                current_child: next.map(|next| next.alias.clone()),
                ..StackItem::default()
            });
        }
    }
    Ok(items)
}

/// Builds the item of a ticket.
fn build_ticket_item(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    found: &Ticket,
    next: Option<&Node>,
) -> Result<StackItem, Failure> {
    let names = |nodes: &[Node]| {
        nodes
            .iter()
            .map(|node| node.alias.clone())
            .collect::<Vec<_>>()
    };
    // The next node on the stack may be a scenario, which has a field of its own.
    let child = next.filter(|next| found.children.iter().any(|child| child.id == next.id));
    let has = |nodes: &[Node]| (!nodes.is_empty()).then(|| names(nodes));
    Ok(StackItem {
        r#type: found.node.level.clone(),
        id: Some(found.node.alias.clone()),
        path: Some(load_node_path(state, &found.node)?),
        title: found.node.description.title.clone(),
        work_level: Some(found.load_assessment(state)?.level.as_str().to_owned()),
        phase: found.phase().map(str::to_owned).or_else(|| {
            let profile = ctx.find_profile(&found.node.profile)?;
            profile.work_phases.first().map(|phase| phase.name.clone())
        }),
        ticket_dir: found
            .node
            .path
            .as_deref()
            .map(|path| domain::profile::parent_folder(path).to_owned()),
        children: has(&found.children),
        current_child: child.map(|child| child.alias.clone()),
        scenarios: has(&found.scenarios),
        current_scenario: found.current.as_ref().map(|current| current.alias.clone()),
        scenarios_completed: (!found.scenarios.is_empty()).then(|| found.count_completed()),
        ..StackItem::default()
    })
}

/// Builds the item of the current scenario's TDD cycle.
fn build_tdd_item(ctx: &Context<'_>, found: &Ticket) -> Option<StackItem> {
    let current = found.current.as_ref()?;
    Some(StackItem {
        r#type: "tdd".to_owned(),
        scenario: Some(current.alias.clone()),
        cycle: found.current_cycle().map(Cycle::as_str),
        last_commit_type: commit_type(ctx, found),
        ..StackItem::default()
    })
}

/// Returns the type of the cycle's last commit: the word before the colon of its subject.
fn commit_type(ctx: &Context<'_>, found: &Ticket) -> Option<String> {
    let subject = found.tdd.last_commit.as_deref()?;
    // Only a subject that counted as a step has a type; others would show any word before a colon.
    parse_commit_step(subject, &ctx.policy.commits)?;
    subject
        .split([':', '(', '!'])
        .next()
        .map(|word| word.trim().to_lowercase())
}

/// Builds the stack of a parked root.
fn build_parked_stack(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    known: &RootFocus,
) -> Result<Vec<StackItem>, Failure> {
    let Some(node) = state.load_node(known.cursor)? else {
        return Ok(Vec::new());
    };
    let mut stack = load_ancestors(state, &node)?;
    stack.reverse();
    stack.push(node);
    let at = match stack.iter().rev().find(|node| has_work_phases(ctx, node)) {
        Some(node) => Some(load_ticket(ctx, state, node.clone(), Some(known.cursor))?),
        None => None,
    };
    build_stack_items(ctx, state, &stack, at.as_ref())
}

/// Returns the visited nodes of a root: the phase of each, and the child taken below it.
fn build_history(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    known: &RootFocus,
) -> Result<BTreeMap<String, HistoryItem>, Failure> {
    let mut found: BTreeMap<String, HistoryItem> = BTreeMap::new();
    let visited: Vec<NodeId> = known
        .visited
        .iter()
        .copied()
        .chain([known.cursor])
        .collect();
    for id in visited {
        let Some(node) = state.load_node(id)? else {
            continue;
        };
        let mut below: Option<Node> = None;
        for one in std::iter::once(node.clone()).chain(load_ancestors(state, &node)?) {
            let is_item = below
                .as_ref()
                .is_some_and(|below| !has_work_phases(ctx, below));
            let alias = below.as_ref().map(|below| below.alias.clone());
            let item = HistoryItem {
                phase: one
                    .description
                    .work
                    .as_ref()
                    .and_then(|work| work.phase.clone()),
                current_child: alias.clone().filter(|_| !is_item),
                current_scenario: alias.filter(|_| is_item),
            };
            found
                .entry(one.alias.clone())
                // An ancestor is met once per visited node below it; the latest way down wins.
                .and_modify(|known| {
                    known.current_child = item.current_child.clone().or(known.current_child.take());
                    known.current_scenario = item
                        .current_scenario
                        .clone()
                        .or(known.current_scenario.take());
                })
                .or_insert(item);
            below = Some(one);
        }
    }
    Ok(found)
}

/// Renders the position in one line: `017 › 017a › threshold-gate [green] 1/3 · 234/400 loc`.
pub(crate) fn render_status_line(
    place: &SessionPosition,
    uncommitted: Option<&Uncommitted>,
    limit: u64,
) -> String {
    let mut names: Vec<String> = place.stack.iter().map(|node| node.alias.clone()).collect();
    if names.is_empty() {
        names.push(match &place.absent {
            Some(absent) => format!("{} (not on this branch)", absent.name),
            None => "no focus".to_owned(),
        });
    }
    if let Some(ticket) = &place.ticket
        && ticket.current.is_some()
        && ticket
            .scenarios
            .iter()
            .any(|one| Some(&one.alias) == names.last() && one.progress == Progress::Complete)
    {
        // Commits completed the scenario that was entered: the work goes on with the current one.
        names.pop();
    }
    let mut text = names.join(" › ");
    if let Some(ticket) = &place.ticket {
        match (&ticket.current, ticket.current_cycle()) {
            (Some(current), Some(cycle))
                // Outside the implementation phase the phase is more informative than a cycle that
                // has not begun.
                if ticket.phase() == Some("implement") || names.last() == Some(&current.alias) =>
            {
                if names.last() != Some(&current.alias) {
                    text.push_str(&format!(" › {}", current.alias));
                }
                text.push_str(&format!(" [{}]", cycle.as_str()));
            }
            _ => text.push_str(&format!(" [{}]", ticket.phase().unwrap_or("intake"))),
        }
        if !ticket.scenarios.is_empty() {
            text.push_str(&format!(
                " {}/{}",
                ticket.count_completed(),
                ticket.scenarios.len()
            ));
        }
    }
    if let Some(found) = uncommitted {
        text.push_str(&format!(" · {}/{} loc", found.lines, limit));
    }
    text
}

/// Returns the gate that would block the next edit, if any: the first that the next event reports.
fn find_open_gate(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    place: &SessionPosition,
) -> Result<Option<GateView>, Failure> {
    let session = load_session_state(state, &ctx.session)?;
    // The state it returns is dropped: to look at a gate gives nothing to the agent.
    let asked = evaluate_step(ctx, state, session, &NextStep::next_edit(ctx))?;
    let Some(fired) = asked.verdict.blocks.into_iter().next() else {
        return Ok(None);
    };
    let ticket = place.ticket.as_ref();
    let guide = || {
        let ticket = ticket?;
        let phase = find_phase(ctx.find_profile(&ticket.node.profile)?, ticket.phase())?;
        Some(phase.guide.clone())
    };
    let phase = ticket.and_then(Ticket::phase).unwrap_or_default();
    // The words for a phase and a context are those that the hosts' scripts know.
    let (reason, to_phase, context_file) = match fired.gate {
        "phase" => (
            format!("Entering {phase} phase"),
            Some(phase.to_owned()),
            guide(),
        ),
        "context" => (format!("Entering {}", place.node_name()), None, guide()),
        _ => (fired.objection.why, None, None),
    };
    Ok(Some(GateView {
        r#type: fired.gate,
        reason,
        to_phase,
        context_file,
        next_steps: fired.objection.next_steps,
    }))
}
