//! Scenarios that are deleted from their file before they are done, while their ticket is implemented:
//! marked, reported, and part of what keeps the ticket open.

use domain::fact::Fact;
use domain::ids::NodeId;
use domain::node::{Content, Node, Progress};
use domain::ports::{Snapshot, TrackedState};
use domain::profile::parent_folder;
use domain::record::{read_record, record_changed_fact};
use domain::work::removed_scenario::{RemovedScenario, are_scenarios_settled};

use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::locate::load_node;
use crate::session_position::has_work_phases;

/// Adds the marks of scenarios that these observed facts delete or bring back.
pub(crate) fn follow_removed_scenarios(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    let mut marks = Vec::new();
    for fact in facts.iter() {
        let Fact::ContentChanged {
            node,
            before,
            after,
        } = fact
        else {
            continue;
        };
        let is_gone = *after == Content::Missing;
        // Nearly every change is of a text that was there and is there.
        if is_gone == (*before == Content::Missing) {
            continue;
        }
        let Some(scenario) = state.load_node(*node)?.filter(|node| is_item(ctx, node)) else {
            continue;
        };
        let key = record_key(scenario.id);
        let known = read_record::<RemovedScenario>(state, &key)?;
        let mark = match is_gone {
            true => judge_removal(ctx, state, &scenario, facts)?,
            false => None,
        };
        marks.extend(record_changed_fact(&key, known.as_ref(), mark.as_ref()));
    }
    facts.append(&mut marks);
    Ok(())
}

/// Returns the mark of a scenario that is gone; `None` if nothing was lost by it.
fn judge_removal(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    scenario: &Node,
    facts: &[Fact],
) -> Result<Option<RemovedScenario>, Failure> {
    let Some(ticket) = scenario.parent.map(|id| load_node(state, id)).transpose()? else {
        return Ok(None);
    };
    let profile = ctx.find_profile(&ticket.profile);
    let phase = ticket
        .description
        .work
        .as_ref()
        .and_then(|work| work.phase.clone());
    let (Some(profile), Some(phase)) = (profile, phase) else {
        return Ok(None);
    };
    let is_replaced = |fact: &Fact| {
        matches!(fact, Fact::NodeAdded { node }
            if node.parent == scenario.parent && node.level == scenario.level)
    };
    // A new title is another scenario: the new one has to be done, so the ticket stays open by it.
    if scenario.progress == Progress::Complete
        || !are_scenarios_settled(&profile.work_phases, &phase)
        || facts.iter().any(is_replaced)
    {
        return Ok(None);
    }
    if is_edited_here(ctx, scenario, &ticket) {
        ctx.push_notice(Notice::ScenarioRemoved {
            ticket: ticket.alias.clone(),
            scenario: scenario.alias.clone(),
        });
    }
    Ok(Some(RemovedScenario { phase }))
}

/// Whether the file of a scenario differs from the commit: a checkout deletes scenarios as well, which
/// nobody has to be told.
fn is_edited_here(ctx: &Context<'_>, scenario: &Node, ticket: &Node) -> bool {
    let level = ctx
        .find_profile(&scenario.profile)
        .and_then(|profile| profile.find_level(&scenario.level));
    let (Some(name), Some(path)) = (level.and_then(|level| level.items.as_ref()), &ticket.path)
    else {
        return true;
    };
    let file = format!("{}/{name}", parent_folder(path));
    // When git cannot say, the deletion is reported: a needless notice is better than a scenario
    // that disappears silently.
    let states = ctx.git.tracked_states(&[file]).ok().flatten();
    states.is_none_or(|states| states.first() != Some(&TrackedState::Unchanged))
}

/// Returns the aliases of the scenarios of a ticket that were deleted before they were done.
pub(crate) fn list_removed_scenarios(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    ticket: &Node,
) -> Result<Vec<String>, Failure> {
    let mut removed = Vec::new();
    if !has_work_phases(ctx, ticket) {
        return Ok(removed);
    }
    for child in state.load_children(ticket.id)? {
        if child.content == Content::Missing
            && child.progress != Progress::Complete
            && is_item(ctx, &child)
            && read_record::<RemovedScenario>(state, &record_key(child.id))?.is_some()
        {
            removed.push(child.alias);
        }
    }
    Ok(removed)
}

fn is_item(ctx: &Context<'_>, node: &Node) -> bool {
    let profile = ctx.find_profile(&node.profile);
    let level = profile.and_then(|profile| profile.find_level(&node.level));
    level.is_some_and(|level| level.items.is_some())
}

fn record_key(scenario: NodeId) -> String {
    scenario.0.to_string()
}
