//! Open work that leaves what it is part of: a ticket or scenario that is moved away or removed, a
//! scenario whose steps are deleted, a need that is given up. None of it is refused, because plans may
//! change; all of it is reported, because what it was part of could be called done without it.

use std::collections::HashSet;

use domain::fact::Fact;
use domain::ids::{NodeId, VersionHash};
use domain::needs::is_open;
use domain::node::{Node, Progress};
use domain::ports::Snapshot;
use domain::work::scenarios::scenario_body;

use crate::completion::{find_needed_node, progress_fact, reopen_ancestors};
use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::locate::load_node_path;
use crate::removed_scenarios::is_item;
use crate::scan::was_checked_out;
use crate::session_position::has_work_phases;
use crate::tickets::collapse_whitespace;

/// Reports the open work that these facts move elsewhere, and the scenarios that they empty; what the moved
/// work is part of now is open. `texts` are the new ones.
pub(crate) fn follow_left_work(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    texts: &[String],
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    let (mut moved, mut changed) = (Vec::new(), Vec::new());
    for fact in facts.iter() {
        match fact {
            Fact::NodeMoved {
                node,
                before,
                after,
            } => moved.push((*node, *before, *after)),
            Fact::ContentChanged {
                node,
                before,
                after,
            } => changed.extend(
                before
                    .version_hash()
                    .zip(after.version_hash())
                    .map(|(before, after)| (*node, before, after)),
            ),
            _ => {}
        }
    }
    let removed = list_removed_tickets(ctx, facts);
    if moved.is_empty() && changed.is_empty() && removed.is_empty() {
        return Ok(());
    }
    // Another branch has other tickets; nothing was taken out of them.
    let is_checkout = was_checked_out(ctx, state)?;
    if !is_checkout {
        report_emptied(ctx, state, &changed, texts)?;
        report_changed_steps(ctx, state, &changed, texts)?;
        for (ticket, parent) in removed {
            report_deleted(ctx, state, &ticket, parent)?;
        }
    }
    for (node, before, after) in moved {
        let Some(node) = state.load_node(node)? else {
            continue;
        };
        if !is_open_work(ctx, &node) || completes_node(facts, node.id) {
            continue;
        }
        if let Some(before) = before.filter(|_| !is_checkout) {
            report_moved(ctx, state, &node, (before, after), facts)?;
        }
        if let Some(after) = after {
            reopen_added(ctx, &node, after, facts);
            reopen_ancestors(ctx, state, node.id, Some(after), facts)?;
        }
    }
    Ok(())
}

/// Returns the open tickets whose files are gone, but not those of their parents; each with its parent.
fn list_removed_tickets(ctx: &Context<'_>, facts: &[Fact]) -> Vec<(Node, Option<NodeId>)> {
    let gone = facts.iter().filter_map(|fact| match fact {
        Fact::NodeRemoved { node } => Some(&**node),
        _ => None,
    });
    let gone: Vec<&Node> = gone.collect();
    let is_top = |node: &&&Node| !gone.iter().any(|one| Some(one.id) == node.parent);
    let is_ticket = |node: &&&Node| is_open(node) && has_work_phases(ctx, node);
    let tickets = gone.iter().filter(is_ticket).filter(is_top);
    tickets.map(|node| ((*node).clone(), node.parent)).collect()
}

fn report_deleted(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    ticket: &Node,
    parent: Option<NodeId>,
) -> Result<(), Failure> {
    let parent = parent.map(|id| state.load_node(id)).transpose()?.flatten();
    let stays_open = parent.map_or_else(String::new, |parent| {
        format!("; `{}` stays open until it is back", parent.alias)
    });
    ctx.push_notice(Notice::WorkLeft {
        why: format!(
            "`{}` was deleted before it was done{stays_open}; one that is not wanted any more has `status: wontfix`",
            ticket.alias
        ),
    });
    Ok(())
}

/// Reports the finished scenarios among changed nodes whose steps are other ones now: what was done is not
/// what is written there.
fn report_changed_steps(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    changed: &[(NodeId, VersionHash, VersionHash)],
    texts: &[String],
) -> Result<(), Failure> {
    for (id, before, after) in changed {
        let Some(node) = state.load_node(*id)? else {
            continue;
        };
        if node.progress != Progress::Complete || !is_item(ctx, &node) {
            continue;
        }
        let now = texts
            .iter()
            .find(|text| VersionHash::of_bytes(text.as_bytes()) == *after);
        let then = state.load_text(*before)?;
        let steps = |text: &str| collapse_whitespace(scenario_body(text));
        if now
            .zip(then)
            .is_some_and(|(now, then)| steps(now) != steps(&then))
        {
            let path = load_node_path(state, &node)?;
            ctx.push_notice(Notice::WorkLeft {
                why: format!(
                    "scenario `{path}` is done, and its steps were changed (tl progress {path} active opens it again)"
                ),
            });
        }
    }
    Ok(())
}

fn completes_node(facts: &[Fact], id: NodeId) -> bool {
    facts.iter().any(|fact| {
        matches!(fact, Fact::ProgressChanged { node, after: Progress::Complete, .. } if *node == id)
    })
}

/// Opens a finished ticket that is added with open work moved below it.
fn reopen_added(ctx: &Context<'_>, below: &Node, parent: NodeId, facts: &mut [Fact]) {
    for fact in facts {
        if let Fact::NodeAdded { node } = fact
            && node.id == parent
            && node.progress == Progress::Complete
        {
            node.progress = Progress::Active;
            ctx.push_notice(Notice::Reopened {
                node: node.alias.clone(),
                by: below.alias.clone(),
            });
        }
    }
}

fn report_moved(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    (before, after): (NodeId, Option<NodeId>),
    facts: &[Fact],
) -> Result<(), Failure> {
    let Some(former) = state.load_node(before)? else {
        return Ok(());
    };
    if after.map_or(Ok(false), |at| is_below(state, at, before))? {
        return Ok(());
    }
    let now = match after {
        None => "on its own".to_owned(),
        Some(parent) => format!("part of `{}`", find_alias(state, parent, facts)?),
    };
    ctx.push_notice(Notice::WorkLeft {
        why: format!(
            "`{}` is not done and no longer part of `{}`; it is {now}",
            node.alias, former.alias
        ),
    });
    Ok(())
}

fn find_alias(state: &dyn Snapshot, id: NodeId, facts: &[Fact]) -> Result<String, Failure> {
    let added = facts.iter().find_map(|fact| match fact {
        Fact::NodeAdded { node } if node.id == id => Some(node.alias.clone()),
        _ => None,
    });
    match added {
        Some(alias) => Ok(alias),
        None => Ok(state
            .load_node(id)?
            .map(|node| node.alias)
            .unwrap_or_default()),
    }
}

/// Whether a node is another one, or below it: work that is only divided is still a part of the whole.
fn is_below(state: &dyn Snapshot, id: NodeId, above: NodeId) -> Result<bool, Failure> {
    let Some(node) = state.load_node(id)? else {
        return Ok(false);
    };
    let ancestors = crate::locate::load_ancestors(state, &node)?;
    Ok(id == above || ancestors.iter().any(|one| one.id == above))
}

/// Reports the open scenarios among changed nodes that have no steps any more; each with its version before
/// and after.
fn report_emptied(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    changed: &[(NodeId, VersionHash, VersionHash)],
    texts: &[String],
) -> Result<(), Failure> {
    let has_no_steps = |text: &&String| scenario_body(text).trim().is_empty();
    // Few texts of any kind are that short, so most changes end here.
    let emptied: HashSet<VersionHash> = texts
        .iter()
        .filter(has_no_steps)
        .map(|text| VersionHash::of_bytes(text.as_bytes()))
        .collect();
    for (id, before, after) in changed {
        if !emptied.contains(after) {
            continue;
        }
        let Some(node) = state.load_node(*id)? else {
            continue;
        };
        let had_steps = |text: String| !scenario_body(&text).trim().is_empty();
        if is_item(ctx, &node) && is_open(&node) && state.load_text(*before)?.is_some_and(had_steps)
        {
            ctx.push_notice(Notice::WorkLeft {
                why: format!(
                    "scenario `{}` is not done and has no steps any more",
                    node.alias
                ),
            });
        }
    }
    Ok(())
}

/// Reports the needs that an open node gives up although what it needs is not complete.
pub(crate) fn report_given_up_needs(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    (before, after): (&[String], &[String]),
) -> Result<(), Failure> {
    let mut given_up = before
        .iter()
        .filter(|name| !after.contains(name))
        .peekable();
    if given_up.peek().is_none() || !is_open_work(ctx, node) || was_checked_out(ctx, state)? {
        return Ok(());
    }
    for name in given_up {
        let needed = find_needed_node(ctx, state, node, name)?;
        if let Some(needed) = needed.filter(is_open) {
            ctx.push_notice(Notice::WorkLeft {
                why: format!(
                    "`{}` no longer needs `{}`, which is not complete",
                    node.alias, needed.alias
                ),
            });
        }
    }
    Ok(())
}

/// Reports the open tickets and scenarios that a change of shape removes; a complete node into which one
/// is merged is open again.
pub(crate) fn follow_removed_work(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    replaced: Option<(NodeId, NodeId)>,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    let removed: Vec<Node> = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::NodeRemoved { node } if is_open_work(ctx, node) => Some((**node).clone()),
            _ => None,
        })
        .collect();
    for node in &removed {
        // A scenario goes with its ticket, which is named.
        if node
            .parent
            .is_some_and(|parent| removed.iter().any(|one| one.id == parent))
        {
            continue;
        }
        let into = match replaced.filter(|(old, _)| *old == node.id) {
            Some((_, new)) => state.load_node(new)?,
            None => None,
        };
        let how = into.as_ref().map_or_else(
            || "was removed".to_owned(),
            |into| format!("was merged into `{}`", into.alias),
        );
        ctx.push_notice(Notice::WorkLeft {
            why: format!("`{}` {how} before it was done", node.alias),
        });
        if let Some(into) = into.filter(|into| !is_open(into) && !into.is_dropped()) {
            ctx.push_notice(Notice::Reopened {
                node: into.alias.clone(),
                by: node.alias.clone(),
            });
            facts.push(progress_fact(&into, Progress::Active));
            reopen_ancestors(ctx, state, into.id, into.parent, facts)?;
        }
    }
    Ok(())
}

/// Whether a node is a ticket or a scenario that is still to be done.
fn is_open_work(ctx: &Context<'_>, node: &Node) -> bool {
    is_open(node) && (is_item(ctx, node) || has_work_phases(ctx, node))
}
