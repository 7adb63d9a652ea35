//! List of the tickets with phase, cycle, holder and priority.

use std::collections::HashMap;

use domain::ids::NodeId;
use domain::next_work::ReadyOrder;
use domain::node::{Content, Node, Progress};
use domain::ports::NodeKey;
use domain::record;
use domain::tree::Tree;
use domain::work::focus::Focus;
use domain::work::tdd::Tdd;
use domain::work::triage::{Disposition, Priority};
use schemars::JsonSchema;
use serde::Serialize;

use crate::claim_node::list_active_claims;
use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observe_plans_at_head;
use crate::session_position::{has_work_phases, tdd_record_key};
use crate::tickets::{find_ticket_level, require_phase};

/// Which tickets are listed.
#[derive(Clone, Debug, Default)]
pub struct TicketFilter {
    /// Also complete and dropped ones.
    pub all: bool,
    pub label: Option<String>,
    pub phase: Option<String>,
}

/// One ticket of the list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TicketLine {
    pub id: String,
    pub path: String,
    pub title: Option<String>,
    pub phase: Option<String>,
    pub progress: Progress,
    /// `dropped` or `deferred`, if its file says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disposition: Option<Disposition>,
    pub priority: Priority,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    pub scenarios: usize,
    pub completed_scenarios: usize,
    /// The last committed step of the scenario in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<&'static str>,
    /// The session that has claimed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// Sessions that are at it or below it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<String>,
}

/// Returns the tickets, in the order in which they would be worked on.
///
/// # Errors
/// When the project has no tickets or the state cannot be read.
pub fn list_tickets(ctx: &Context<'_>, filter: &TicketFilter) -> Result<Vec<TicketLine>, Failure> {
    let (profile, ..) = find_ticket_level(ctx)?;
    let phase = filter.phase.as_deref();
    let phase = phase.map(|word| require_phase(profile, word)).transpose()?;
    let (state, tree) = observe_plans_at_head(ctx)?;
    let claims = list_active_claims(ctx, &*state)?;
    // As recorded, without the history of HEAD: for a list, a git process per ticket would be too
    // slow.
    let cycles: HashMap<String, Tdd> = record::read_records::<Tdd>(&*state, "")?
        .into_iter()
        .collect();
    let mut places: HashMap<NodeId, Vec<String>> = HashMap::new();
    for (session, focus) in record::read_records::<Focus>(&*state, "")? {
        // The focus without a session is where new ones start.
        if let Some(cursor) = focus.cursor().filter(|_| !session.is_empty()) {
            places.entry(cursor).or_default().push(session);
        }
    }
    let is_listed = |node: &&Node| {
        let is_closed = node.progress == Progress::Complete || node.is_dropped();
        let work = node.description.work.as_ref();
        let has_label = |label: &String| {
            work.is_some_and(|work| {
                work.labels
                    .iter()
                    .any(|one| one.eq_ignore_ascii_case(label))
            })
        };
        let is_in = |phase: &str| work.is_some_and(|work| work.phase.as_deref() == Some(phase));
        has_work_phases(ctx, node)
            && (filter.all || !is_closed)
            && filter.label.as_ref().is_none_or(has_label)
            && phase.is_none_or(is_in)
    };
    let mut listed: Vec<&Node> = tree.nodes().filter(is_listed).collect();
    // Cached: the key walks up the tree for every ticket.
    listed.sort_by_cached_key(|node| ReadyOrder::of_node(&tree, node));
    let lines = listed.into_iter().map(|node| {
        let key = NodeKey {
            profile: node.profile.clone(),
            path: tree.alias_path(node),
        };
        let holder = claims.iter().find(|held| held.node.covers(&key));
        TicketLine {
            holder: holder.map(domain::ports::HeldClaim::describe_holder),
            sessions: list_sessions_at(&tree, node, &places),
            ..describe_ticket(ctx, &tree, node, &cycles)
        }
    });
    Ok(lines.collect())
}

fn describe_ticket(
    ctx: &Context<'_>,
    tree: &Tree,
    node: &Node,
    cycles: &HashMap<String, Tdd>,
) -> TicketLine {
    let work = node.description.work.clone().unwrap_or_default();
    let is_scenario = |child: &&Node| {
        child.level != node.level
            && child.content != Content::Missing
            && !has_work_phases(ctx, child)
    };
    let scenarios: Vec<&Node> = tree.children(node.id).filter(is_scenario).collect();
    let is_complete = |one: &&&Node| one.progress == Progress::Complete;
    let current = scenarios
        .iter()
        .find(|one| one.progress != Progress::Complete);
    let cycle = current
        .and_then(|one| cycles.get(&tdd_record_key(one.id)))
        .and_then(|tdd| tdd.cycle);
    TicketLine {
        id: node.alias.clone(),
        path: tree.alias_path(node),
        title: node.description.title.clone(),
        phase: work.phase.clone(),
        progress: node.progress,
        disposition: node.disposition(),
        priority: node.priority(),
        due: node.due_day().map(str::to_owned),
        labels: work.labels.clone(),
        links: work.links.clone(),
        scenarios: scenarios.len(),
        completed_scenarios: scenarios.iter().filter(is_complete).count(),
        cycle: cycle.map(domain::work::tdd::Cycle::as_str),
        holder: None,
        sessions: Vec::new(),
    }
}

/// Returns the sessions whose cursor is at a ticket or at one of its scenarios.
fn list_sessions_at(
    tree: &Tree,
    node: &Node,
    places: &HashMap<NodeId, Vec<String>>,
) -> Vec<String> {
    let below = tree
        .children(node.id)
        .filter(|child| child.level != node.level);
    let at = below.map(|child| child.id).chain([node.id]);
    let mut sessions: Vec<String> = at
        .filter_map(|id| places.get(&id))
        .flatten()
        .cloned()
        .collect();
    sessions.sort();
    sessions
}
