//! The plans around a plan: ancestors and children by title, what it needs, its work keys, and the
//! session that holds it.

use domain::node::{Node, Progress, Status};
use domain::ports::Snapshot;
use domain::time::Timestamp;

use crate::claim_node::list_active_claims;
use crate::completion::find_needed_node;
use crate::context::Context;
use crate::failure::Failure;
use crate::locate::{load_ancestors, load_node_path};

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
            .find(|held| held.node.path == path)
            .map(|held| PlanHolder {
                session: held.claim.session,
                until: held.claim.until,
            }),
        children: children.iter().map(below).collect(),
        ancestors,
        needs,
        phase: work.and_then(|work| work.phase.clone()),
        work_level: work.and_then(|work| work.work_level.clone()),
    })
}
