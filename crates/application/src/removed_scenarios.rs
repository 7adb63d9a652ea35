//! Scenarios that are deleted from their file before they are done, while their ticket is implemented:
//! marked, reported, and part of what keeps the ticket open.

use domain::fact::Fact;
use domain::ids::NodeId;
use domain::needs::is_open;
use domain::node::{Content, Node, Progress};
use domain::ports::Snapshot;
use domain::presence::AbsentNode;
use domain::profile::parent_folder;
use domain::record::{read_record, read_records, record_changed_fact};
use domain::work::removed_scenario::{RemovedScenario, are_scenarios_settled};

use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::locate::load_node;
use crate::scan::was_checked_out;
use crate::session_position::{has_work_phases, load_ticket};

/// Adds the marks of scenarios that these observed facts delete or bring back.
pub(crate) fn follow_removed_scenarios(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    let mut marks = Vec::new();
    for fact in facts.iter() {
        let (node, is_gone) = match fact {
            // Nearly every change is of a text that was there and is there.
            Fact::ContentChanged {
                node,
                before,
                after,
            } if (*before == Content::Missing) != (*after == Content::Missing) => {
                (*node, *after == Content::Missing)
            }
            Fact::NodeAdded { node } if node.path.is_none() => (node.id, false),
            // What a checkout takes out of the tree is on another branch.
            Fact::NodeRemoved { node } if node.path.is_none() && !was_checked_out(ctx, state)? => {
                (node.id, true)
            }
            _ => continue,
        };
        let recorded = match fact {
            Fact::NodeAdded { node } => Some((**node).clone()),
            _ => state.load_node(node)?,
        };
        let Some(scenario) = recorded.filter(|node| is_item(ctx, node)) else {
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
    if is_done_at_head(ctx, state, &ticket, scenario)?
        || facts.iter().any(|fact| removes_node(fact, ticket.id))
        || !are_scenarios_settled(&profile.work_phases, &phase)
    {
        return Ok(None);
    }
    // Another title makes another scenario: it has to be done, so the ticket stays open by it. One
    // excuses one.
    if let Some(added) = find_replacement(state, scenario, facts)? {
        ctx.push_notice(Notice::ScenarioReplaced {
            ticket: ticket.alias.clone(),
            scenario: scenario.alias.clone(),
            by: added.alias.clone(),
        });
        return Ok(None);
    }
    ctx.push_notice(Notice::ScenarioRemoved {
        ticket: ticket.alias.clone(),
        scenario: scenario.alias.clone(),
    });
    Ok(Some(RemovedScenario { phase }))
}

/// Whether a scenario is done by the history of HEAD, which may be ahead of the records: nothing recorded the
/// commits that no hook and no command saw.
fn is_done_at_head(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    ticket: &Node,
    scenario: &Node,
) -> Result<bool, Failure> {
    if scenario.progress == Progress::Complete {
        return Ok(true);
    }
    let ticket = load_ticket(ctx, state, ticket.clone(), None)?;
    let is_it = |one: &&Node| one.id == scenario.id;
    let found = ticket.scenarios.iter().find(is_it);
    Ok(found.is_some_and(|one| one.progress == Progress::Complete))
}

/// Whether a fact takes the file of a node away: its scenarios went with it.
fn removes_node(fact: &Fact, id: NodeId) -> bool {
    match fact {
        Fact::ContentChanged { node, after, .. } => *node == id && *after == Content::Missing,
        Fact::NodeRemoved { node } => node.id == id,
        _ => false,
    }
}

/// Returns the new scenario of the same ticket that takes the place of a removed one: the first removed
/// one is paired with the first new one, and so on.
fn find_replacement<'f>(
    state: &dyn Snapshot,
    scenario: &Node,
    facts: &'f [Fact],
) -> Result<Option<&'f Node>, Failure> {
    let is_sibling = |node: &Node| node.parent == scenario.parent && node.level == scenario.level;
    let mut place = 0;
    for fact in facts {
        let removed = match fact {
            Fact::ContentChanged { node, after, .. } if *after == Content::Missing => {
                state.load_node(*node)?
            }
            Fact::NodeRemoved { node } => Some((**node).clone()),
            _ => None,
        };
        let Some(removed) = removed else { continue };
        if removed.id == scenario.id {
            break;
        }
        place += usize::from(is_sibling(&removed) && removed.progress != Progress::Complete);
    }
    let mut added = facts.iter().filter_map(|fact| match fact {
        Fact::NodeAdded { node } if is_sibling(node) => Some(&**node),
        _ => None,
    });
    Ok(added.nth(place))
}

/// Returns the file that the scenarios of a ticket are in.
pub(crate) fn scenario_file(ctx: &Context<'_>, ticket: &Node) -> Option<String> {
    let profile = ctx.find_profile(&ticket.profile)?;
    let name = profile
        .levels_under(&ticket.level)
        .find_map(|level| level.items.as_ref())?;
    Some(format!("{}/{name}", parent_folder(ticket.path.as_ref()?)))
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
    // In the tree, of a state that was recorded before deleted scenarios left it, or absent.
    let absent = read_records::<AbsentNode>(state, "")?;
    let absent = absent.into_iter().map(|(_, absent)| absent.node);
    let missing = state.load_children(ticket.id)?.into_iter();
    let missing = missing.filter(|child| child.content == Content::Missing);
    for child in missing.chain(absent.filter(|node| node.parent == Some(ticket.id))) {
        if child.progress != Progress::Complete
            && is_item(ctx, &child)
            && read_record::<RemovedScenario>(state, &record_key(child.id))?.is_some()
        {
            removed.push(child.alias);
        }
    }
    removed.sort();
    Ok(removed)
}

/// Returns the paths of the open scenarios of a ticket that is back, as these facts add it, but without
/// them.
pub(crate) fn list_unreturned_scenarios(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    ticket: &Node,
    facts: &[Fact],
) -> Result<Vec<String>, Failure> {
    let is_back = |id: NodeId| {
        facts
            .iter()
            .any(|fact| matches!(fact, Fact::NodeAdded { node } if node.id == id))
    };
    let mut left = Vec::new();
    let absent = read_records::<AbsentNode>(state, "")?;
    for (_, AbsentNode { node, .. }) in absent {
        if node.parent == Some(ticket.id)
            && is_open(&node)
            && is_item(ctx, &node)
            && !is_back(node.id)
        {
            left.push(format!("{}/{}", ticket.alias, node.alias));
        }
    }
    left.sort();
    Ok(left)
}

pub(crate) fn is_item(ctx: &Context<'_>, node: &Node) -> bool {
    let profile = ctx.find_profile(&node.profile);
    let level = profile.and_then(|profile| profile.find_level(&node.level));
    level.is_some_and(|level| level.items.is_some())
}

fn record_key(scenario: NodeId) -> String {
    scenario.0.to_string()
}
