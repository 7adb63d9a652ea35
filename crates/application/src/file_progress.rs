//! Progress and phases that plan files state about themselves in their front matter.
//!
//! A file is written and cannot be refused, and an unrelated command must not fail because of it: what
//! is not done stays open, and a notice says why.

use std::collections::{BTreeSet, HashMap};

use domain::fact::Fact;
use domain::ids::NodeId;
use domain::node::{Node, Progress, WorkKeys};
use domain::ports::{TrackedState, Transaction};

use crate::completion::{consume_override, follow_progress, refuse_incomplete};
use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::phase_moves::report_skipped_phase;
use crate::removed_scenarios::follow_removed_scenarios;

/// Derives the progress from front matter where a file declares it; what is not done does not become
/// complete.
pub(crate) fn follow_file_progress(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    // First, because the steps below read the facts of added nodes as they will be recorded.
    state_added_progress(ctx, facts);
    follow_removed_scenarios(ctx, &*tx, facts)?;
    let mut follow = Vec::new();
    for fact in facts.iter() {
        let Fact::DescriptionChanged {
            node,
            before,
            after,
        } = fact
        else {
            continue;
        };
        let Some(known) = tx.load_node(*node)? else {
            continue;
        };
        let phase = |work: &Option<Box<WorkKeys>>| work.as_ref().and_then(|one| one.phase.clone());
        if let (from, Some(to)) = (phase(&before.work), phase(&after.work))
            && from.as_deref() != Some(to.as_str())
        {
            report_skipped_phase(ctx, &*tx, &known, from.as_deref(), &to)?;
        }
        let (then, now) = (
            stated_progress(ctx, &known.profile, &before.work),
            stated_progress(ctx, &known.profile, &after.work),
        );
        // A phase without a status after the last phase: the work was resumed.
        let has_phase = after
            .work
            .as_ref()
            .is_some_and(|work| work.phase.is_some() && work.problem.is_none());
        let again = then == Some(Progress::Complete) && has_phase;
        let now = now.or_else(|| again.then_some(Progress::Active));
        // Only what the edit changed: a person may have set another progress since the file said
        // this.
        let Some(progress) = now.filter(|_| now != then && now != Some(known.progress)) else {
            continue;
        };
        if progress == Progress::Complete {
            if let Err(refused) = refuse_incomplete(ctx, &*tx, &known) {
                ctx.push_notice(Notice::Unproved {
                    node: known.alias.clone(),
                    why: refused.message,
                    is_complete: false,
                });
                continue;
            }
            consume_override(ctx, tx, &known)?;
        }
        follow.push(Fact::ProgressChanged {
            node: *node,
            before: known.progress,
            after: progress,
        });
    }
    facts.append(&mut follow);
    follow_progress(ctx, &*tx, facts)
}

fn stated_progress(
    ctx: &Context<'_>,
    profile: &str,
    work: &Option<Box<WorkKeys>>,
) -> Option<Progress> {
    let last_phase = ctx
        .find_profile(profile)
        .and_then(|profile| profile.work_phases.last());
    work.as_ref()
        .and_then(|work| work.stated_progress(last_phase.map(|phase| phase.name.as_str())))
}

/// Sets the progress of added nodes.
///
/// A finished ticket that git brought was finished where it was written, and its scenarios with it: their
/// cycles are in commits that nobody here worked on. One that was written here has to be done.
fn state_added_progress(ctx: &Context<'_>, facts: &mut [Fact]) {
    let mut finished: Vec<(usize, Option<String>)> = Vec::new();
    for (at, fact) in facts.iter_mut().enumerate() {
        if let Fact::NodeAdded { node } = fact
            && let Some(stated) = stated_progress(ctx, &node.profile, &node.description.work)
        {
            node.progress = stated;
            if stated == Progress::Complete {
                finished.push((at, node.path.clone()));
            }
        }
    }
    if finished.is_empty() {
        return;
    }
    let paths: Vec<String> = finished
        .iter()
        .filter_map(|(_, path)| path.clone())
        .collect();
    // Without git, or when it fails, nothing counts as brought by git: then the ticket has to be
    // done here.
    let tracked = ctx.git.tracked_states(&paths).unwrap_or_default();
    let tracked: BTreeSet<&str> = paths
        .iter()
        .zip(tracked.unwrap_or_default())
        .filter(|(_, state)| *state == TrackedState::Unchanged)
        .map(|(path, _)| path.as_str())
        .collect();
    // By index into the facts: the nodes exist nowhere else yet, and a fresh clone adds tens of
    // thousands.
    let mut children: HashMap<NodeId, Vec<usize>> = HashMap::new();
    for (at, fact) in facts.iter().enumerate() {
        if let Fact::NodeAdded { node } = fact
            && let Some(parent) = node.parent
        {
            children.entry(parent).or_default().push(at);
        }
    }
    for (at, path) in &finished {
        let came_with_git = path.as_deref().is_some_and(|path| tracked.contains(path));
        settle_finished(ctx, *at, came_with_git, &children, facts);
    }
}

/// Completes what is below the finished node that the fact at `at` adds, or opens the node.
fn settle_finished(
    ctx: &Context<'_>,
    at: usize,
    came_with_git: bool,
    children: &HashMap<NodeId, Vec<usize>>,
    facts: &mut [Fact],
) {
    let is_item = |node: &Node| {
        let profile = ctx.find_profile(&node.profile);
        let level = profile.and_then(|profile| profile.find_level(&node.level));
        level.is_some_and(|level| level.items.is_some())
    };
    let Some(Fact::NodeAdded { node }) = facts.get(at) else {
        return;
    };
    let (id, alias) = (node.id, node.alias.clone());
    let mut open: Option<String> = None;
    for child in children.get(&id).into_iter().flatten() {
        let Some(Fact::NodeAdded { node }) = facts.get_mut(*child) else {
            continue;
        };
        match node.progress {
            Progress::Complete => {}
            _ if came_with_git && is_item(node) => node.progress = Progress::Complete,
            _ => drop(open.get_or_insert_with(|| node.alias.clone())),
        }
    }
    let (Some(open), Some(Fact::NodeAdded { node })) = (open, facts.get_mut(at)) else {
        return;
    };
    node.progress = Progress::Active;
    ctx.push_notice(Notice::Unproved {
        why: format!("`{alias}` is not done: `{open}` is open"),
        node: alias,
        is_complete: false,
    });
}
