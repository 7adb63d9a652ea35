//! Parts of a ticket and needs of it that are not there any more: deleted before they were done, or left out
//! by a choice.

use domain::front_matter::parse_front_matter;
use domain::needs::is_open;
use domain::node::{Content, Node, Progress};
use domain::ports::Snapshot;
use domain::presence::AbsentNode;
use domain::record::read_records;
use domain::work::removed_scenario::are_scenarios_settled;

use crate::completion::find_needed_node;
use crate::context::Context;
use crate::failure::Failure;
use crate::removed_scenarios::is_item;
use crate::session_position::has_work_phases;

/// What is not there any more of what a ticket is about.
#[derive(Debug, Default)]
pub(crate) struct DeletedWork {
    /// Names of children that were deleted before they were done.
    pub(crate) children: Vec<String>,
    /// Names of needed nodes that were deleted before they were done.
    pub(crate) needs: Vec<String>,
    /// Parts without which the ticket may be completed, each with what became of it: dropped, moved away,
    /// on another branch.
    pub(crate) left_out: Vec<String>,
}

/// Returns what is not there any more of a ticket.
pub(crate) fn find_deleted_work(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<DeletedWork, Failure> {
    let mut found = DeletedWork::default();
    if !has_work_phases(ctx, node) {
        return Ok(found);
    }
    let children = state.load_children(node.id)?;
    let dropped = children.iter().filter(|child| child.is_dropped());
    found.left_out = dropped
        .map(|child| format!("`{}` (dropped)", child.alias))
        .collect();
    let absent: Vec<AbsentNode> = read_records::<AbsentNode>(state, "")?
        .into_iter()
        .map(|(_, absent)| absent)
        .collect();
    let branch = ctx.git.current_branch();
    // One that was last seen on another branch is there, and was only not brought along.
    let was_deleted = |one: &AbsentNode| one.archive.is_none() && one.branch == branch;
    for one in &absent {
        let child = &one.node;
        if child.parent != Some(node.id) || !is_open(child) {
            continue;
        }
        if is_item(ctx, child) {
            // After the scenarios are settled a deleted one has a mark, and keeps the ticket open.
            if !has_settled_scenarios(ctx, node) {
                found
                    .left_out
                    .push(format!("`{}` (deleted before it was done)", child.alias));
            }
        } else if was_deleted(one) {
            found.children.push(child.alias.clone());
        } else {
            found
                .left_out
                .push(format!("`{}` (its file is not here)", child.alias));
        }
    }
    let text = match node.content.version_hash() {
        Some(version) => state.load_text(version)?.unwrap_or_default(),
        None => String::new(),
    };
    for name in parse_front_matter(&text).get_list("children") {
        let is_below = |child: &Node| child.alias == name && child.content != Content::Missing;
        if children.iter().any(is_below)
            || absent.iter().any(|one| one.node.alias == name)
            || state
                .nodes_by_alias(&name)?
                .iter()
                .any(|one| one.progress == Progress::Complete)
        {
            continue;
        }
        found
            .left_out
            .push(format!("`{name}` (not below it any more)"));
    }
    for name in &node.description.needs {
        let is_it = |one: &&AbsentNode| one.is_named(name) && was_deleted(one);
        if let Some(one) = absent.iter().find(is_it)
            && is_open(&one.node)
            && find_needed_node(ctx, state, node, name)?.is_none()
        {
            found.needs.push(name.clone());
        }
    }
    Ok(found)
}

/// Whether deleting a scenario of a ticket leaves a mark in its present phase.
fn has_settled_scenarios(ctx: &Context<'_>, ticket: &Node) -> bool {
    let profile = ctx.find_profile(&ticket.profile);
    let phase = ticket.description.work.as_ref();
    let phase = phase.and_then(|work| work.phase.as_deref());
    profile
        .zip(phase)
        .is_some_and(|(profile, phase)| are_scenarios_settled(&profile.work_phases, phase))
}
