//! Open work that leaves what it is part of: a ticket or scenario that is moved away or removed, a
//! scenario whose steps are deleted, a need that is given up. None of it is refused, because plans may
//! change; all of it is reported, because what it was part of could be called done without it.

use domain::fact::Fact;
use domain::ids::{NodeId, VersionHash};
use domain::needs::is_open;
use domain::node::{Content, Node, Progress};
use domain::ports::Snapshot;
use domain::work::scenarios::scenario_body;

use crate::completion::{find_needed_node, progress_fact, reopen_ancestors};
use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::removed_scenarios::is_item;
use crate::session_position::has_work_phases;

/// Reports the open work that these facts move elsewhere, and the scenarios that they empty; what the moved
/// work is part of now is open. `texts` are the new ones.
pub(crate) fn follow_left_work(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    texts: &[String],
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    let mut moved = Vec::new();
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
            } => report_emptied(ctx, state, *node, (before, after), texts)?,
            _ => {}
        }
    }
    for (node, before, after) in moved {
        let Some(node) = state
            .load_node(node)?
            .filter(|node| is_open_work(ctx, node))
        else {
            continue;
        };
        if let Some(before) = before {
            report_moved(ctx, state, &node, (before, after), facts)?;
        }
        if let Some(after) = after {
            reopen_added(ctx, &node, after, facts);
            reopen_ancestors(ctx, state, node.id, Some(after), facts)?;
        }
    }
    Ok(())
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

fn report_emptied(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    id: NodeId,
    (before, after): (&Content, &Content),
    texts: &[String],
) -> Result<(), Failure> {
    let (Some(then), Some(now)) = (before.version_hash(), after.version_hash()) else {
        return Ok(());
    };
    let Some(node) = state.load_node(id)? else {
        return Ok(());
    };
    if !is_item(ctx, &node) || !is_open(&node) {
        return Ok(());
    }
    let has_steps = |text: &str| !scenario_body(text).trim().is_empty();
    let mut new = texts.iter();
    let Some(new) = new.find(|text| VersionHash::of_bytes(text.as_bytes()) == now) else {
        return Ok(());
    };
    if !has_steps(new) && state.load_text(then)?.is_some_and(|text| has_steps(&text)) {
        ctx.push_notice(Notice::WorkLeft {
            why: format!(
                "scenario `{}` is not done and has no steps any more",
                node.alias
            ),
        });
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
    if !is_open_work(ctx, node) {
        return Ok(());
    }
    for name in before.iter().filter(|name| !after.contains(name)) {
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
