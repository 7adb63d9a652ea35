//! What a page offers for a change of a plan's shape: headings to split at, and plans to name.

use domain::node::Node;
use domain::shape::list_split_points;

use crate::context::Context;
use crate::failure::Failure;
use crate::inbox::PlanName;
use crate::tree_cache::CachedTree;

/// Maximum number of plans offered; another one can be typed.
const MAX_OFFERED: usize = 200;

/// A plan with what its forms offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeChoices {
    pub plan: PlanName,
    pub level: String,
    /// The headings at which its text can be split.
    pub headings: Vec<String>,
    pub children: Vec<PlanName>,
    /// Other plans of its level, those beside it first.
    pub peers: Vec<PlanName>,
    /// Plans below which it can be moved.
    pub parents: Vec<PlanName>,
}

/// Returns what can be chosen for a plan.
///
/// # Errors
/// When there is no such plan, or the state cannot be read.
pub fn list_shape_choices(
    ctx: &Context<'_>,
    known: &CachedTree,
    path: &str,
) -> Result<ShapeChoices, Failure> {
    let tree = &known.tree;
    let node = known.find_by_path(path).ok_or_else(|| {
        Failure::not_found(format!("there is no plan `{path}`")).with_step("tl tree")
    })?;
    let text = match node.content.version_hash() {
        Some(version) => ctx.store.begin_read()?.load_text(version)?,
        None => None,
    };
    let level = ctx
        .find_profile(&node.profile)
        .and_then(|profile| profile.find_level(&node.level));
    let name = |node: &Node| PlanName::of_node(tree, node);
    let others = || {
        let nodes = known.order.iter().filter_map(|id| tree.get(*id));
        nodes.filter(|other| other.id != node.id && other.profile == node.profile)
    };
    let is_peer = |other: &&Node| other.level == node.level;
    let (beside, elsewhere): (Vec<&Node>, Vec<&Node>) = others()
        .filter(is_peer)
        .partition(|other| other.parent == node.parent);
    let peers = beside.into_iter().chain(elsewhere).take(MAX_OFFERED);
    let parents = others().filter(|other| {
        let is_below = || {
            tree.ancestors(other)
                .iter()
                .any(|above| above.id == node.id)
        };
        level.is_some_and(|level| level.under.contains(&other.level)) && !is_below()
    });
    Ok(ShapeChoices {
        plan: name(node),
        level: node.level.clone(),
        headings: list_split_points(text.as_deref().unwrap_or_default())
            .into_iter()
            .map(str::to_owned)
            .collect(),
        children: tree.children(node.id).map(name).collect(),
        peers: peers.map(name).collect(),
        parents: parents.take(MAX_OFFERED).map(name).collect(),
    })
}
