//! The plans around a plan: ancestors and children by title, what it needs, its work keys, and the
//! session that holds it.

use domain::node::{Content, Node, Progress, Status};
use domain::ports::Snapshot;
use domain::record;
use domain::time::Timestamp;
use domain::work::blocked_reason::BlockedReason;
use domain::work::tdd::{Cycle, Tdd};
use domain::work::triage::Priority;

use crate::claim_node::list_active_claims;
use crate::completion::find_needed_node;
use crate::context::Context;
use crate::failure::Failure;
use crate::locate::{load_ancestors, load_node_path};
use crate::session_lines::{SessionLines, count_lines_at};
use crate::session_position::{has_work_phases, tdd_record_key};

/// Another plan, as a row of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelatedPlan {
    pub path: String,
    pub entity_id: String,
    pub title: Option<String>,
    pub status: Status,
    pub progress: Progress,
    pub phase: Option<String>,
}

impl RelatedPlan {
    fn from_node(path: String, node: &Node) -> Self {
        let work = node.description.work.as_ref();
        Self {
            path,
            entity_id: node.alias.clone(),
            title: node.description.title.clone(),
            status: node.status(),
            progress: node.progress,
            phase: work.and_then(|work| work.phase.clone()),
        }
    }

    /// Returns the title, or the id of a plan without one.
    #[must_use]
    pub fn name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.entity_id)
    }
}

/// The session that holds a plan, and the end of its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanHolder {
    pub session: String,
    pub until: Timestamp,
}

/// What surrounds a plan.
#[derive(Clone, Debug)]
pub struct NodeFamily {
    /// From the root down to the parent.
    pub ancestors: Vec<RelatedPlan>,
    pub children: Vec<RelatedPlan>,
    /// The plans that must be complete first, as far as they exist.
    pub needs: Vec<RelatedPlan>,
    pub phase: Option<String>,
    pub work_level: Option<String>,
    pub holder: Option<PlanHolder>,
    /// Why it is blocked, if a reason was given.
    pub blocked: Option<BlockedReason>,
    /// The rest of what a ticket says; `None` for other plans.
    pub ticket: Option<TicketFacts>,
}

/// What is known about a ticket beside its phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketFacts {
    /// The phases it can be in, in order.
    pub phases: Vec<String>,
    pub priority: Priority,
    pub due: Option<String>,
    pub labels: Vec<String>,
    /// Complete scenarios and all of them.
    pub scenarios: [usize; 2],
    /// Where the test cycle of the current scenario is: red, green, refactor.
    pub cycle: Option<&'static str>,
    /// The sessions that work on it, with their uncommitted lines.
    pub sessions: Vec<SessionLines>,
}

/// Loads what a ticket says, from its profile, its keys and its scenarios.
fn load_ticket_facts(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    children: &[Node],
) -> Result<Option<TicketFacts>, Failure> {
    if !has_work_phases(ctx, node) {
        return Ok(None);
    }
    let profile = ctx.find_profile(&node.profile);
    let phases = profile.map_or(&[][..], |profile| &profile.work_phases[..]);
    let is_scenario = |child: &&Node| {
        child.level != node.level
            && child.content != Content::Missing
            && !has_work_phases(ctx, child)
    };
    let scenarios: Vec<&Node> = children.iter().filter(is_scenario).collect();
    let is_open = |one: &&&Node| one.progress != Progress::Complete;
    let cycle = match scenarios.iter().find(is_open) {
        Some(current) => record::read_record::<Tdd>(state, &tdd_record_key(current.id))?,
        None => None,
    };
    let work = node.description.work.as_ref();
    Ok(Some(TicketFacts {
        phases: phases.iter().map(|phase| phase.name.clone()).collect(),
        priority: node.priority(),
        due: node.due_day().map(str::to_owned),
        labels: work.map(|work| work.labels.clone()).unwrap_or_default(),
        scenarios: [
            scenarios.iter().filter(|one| !is_open(one)).count(),
            scenarios.len(),
        ],
        cycle: cycle.and_then(|tdd| tdd.cycle).map(Cycle::as_str),
        sessions: count_lines_at(ctx, state, node)?,
    }))
}

/// Loads what surrounds a plan.
pub(crate) fn load_family(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<NodeFamily, Failure> {
    let path = load_node_path(state, node)?;
    let mut ancestors: Vec<RelatedPlan> = Vec::new();
    for above in load_ancestors(state, node)?.iter().rev() {
        let path = match ancestors.last() {
            Some(last) => format!("{}/{}", last.path, above.alias),
            None => above.alias.clone(),
        };
        ancestors.push(RelatedPlan::from_node(path, above));
    }
    let mut children = state.load_children(node.id)?;
    children.sort_by(domain::tree::sibling_order);
    let below = |child: &Node| RelatedPlan::from_node(format!("{path}/{}", child.alias), child);
    let mut needs = Vec::new();
    for name in &node.description.needs {
        if let Some(needed) = find_needed_node(ctx, state, node, name)? {
            needs.push(RelatedPlan::from_node(
                load_node_path(state, &needed)?,
                &needed,
            ));
        }
    }
    let mut claims = list_active_claims(ctx, state)?.into_iter();
    let work = node.description.work.as_ref();
    Ok(NodeFamily {
        holder: claims
            // The claim of this very plan; one on an ancestor is shown on the ancestor's page.
            .find(|held| held.node.path == path)
            .map(|held| PlanHolder {
                session: held.claim.session,
                until: held.claim.until,
            }),
        blocked: BlockedReason::load(state, node)?,
        ticket: load_ticket_facts(ctx, state, node, &children)?,
        children: children.iter().map(below).collect(),
        ancestors,
        needs,
        phase: work.and_then(|work| work.phase.clone()),
        work_level: work.and_then(|work| work.work_level.clone()),
    })
}
