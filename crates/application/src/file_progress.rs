//! Progress and phases that plan files state about themselves in their front matter.
//!
//! A file is written and cannot be refused, and an unrelated command must not fail because of it: what
//! is not done stays open, and a notice says why.

use std::collections::{BTreeSet, HashMap};

use domain::fact::Fact;
use domain::ids::NodeId;
use domain::needs::is_open;
use domain::node::{Content, Node, Progress, WorkKeys};
use domain::policy::GateMode;
use domain::ports::{NodeKey, Snapshot, TrackedState, Transaction};
use domain::work::completion::{OpenNode, describe_gaps};
use domain::work::stated_completion::ClaimOrigin;
use domain::work::triage::UnknownWord;

use crate::completion::{
    AddedBelow, CompletionScope, consume_override, find_gaps, follow_progress, judge_added_ticket,
    list_open_needs,
};
use crate::context::{Context, Notice};
use crate::decisions::{DecisionChanges, load_decision_key};
use crate::failure::Failure;
use crate::left_work::report_given_up_needs;
use crate::locate::load_node_path;
use crate::phase_moves::report_skipped_phase;
use crate::removed_scenarios::list_unreturned_scenarios;
use crate::scan::{ScanResult, list_files_committed_here, was_checked_out};
use crate::stated_completion::{find_objection, find_origin, push_claim_marks, was_refused};

/// Derives the progress from front matter where a file declares it; what is not done does not become
/// complete.
pub(crate) fn follow_file_progress(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    seen: &ScanResult,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    let mut unknown = describe_added_words(ctx, facts);
    let decisions = &seen.decisions;
    // First, because the steps below read the facts of added nodes as they will be recorded.
    let AddedClaims {
        mut believed,
        mut refused,
    } = state_added_progress(ctx, &*tx, seen, facts)?;
    let mut follow = Vec::new();
    let mut brought: BTreeSet<NodeId> = BTreeSet::new();
    for fact in facts.iter() {
        let Fact::DescriptionChanged {
            node,
            before,
            after,
        } = fact
        else {
            continue;
        };
        // Most descriptions have no work, and most edits do not change it.
        if before.work == after.work && before.needs == after.needs {
            continue;
        }
        let Some(known) = tx.load_node(*node)? else {
            continue;
        };
        report_given_up_needs(ctx, &*tx, &known, (&before.needs, &after.needs))?;
        let unknown_before = list_unknown_words(ctx, &known, before.work.as_deref());
        let unknown_after = list_unknown_words(ctx, &known, after.work.as_deref());
        let is_new = |word: &&UnknownWord| !unknown_before.contains(word);
        let new_words = unknown_after.iter().filter(is_new);
        unknown.extend(new_words.map(|word| word.describe(&known.alias)));
        let came_with_git = was_checked_out(ctx, &*tx)? && is_unchanged_in_git(ctx, &known);
        let phase = |work: &Option<Box<WorkKeys>>| work.as_ref().and_then(|one| one.phase.clone());
        if let (from, Some(to)) = (phase(&before.work), phase(&after.work))
            && from.as_deref() != Some(to.as_str())
            // The phases between may have been gone through where it was written.
            && !came_with_git
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
            let origin = find_origin(ctx, &*tx, &known, came_with_git, decisions)?;
            if let Some(why) = find_objection(ctx, &*tx, &known, &origin)? {
                ctx.push_notice(Notice::Unproved {
                    node: known.alias.clone(),
                    why,
                    is_complete: false,
                });
                refused.push(known.id);
                continue;
            }
            if origin.is_own() {
                consume_override(ctx, tx, &known)?;
            } else {
                brought.insert(known.id);
                believed.extend(believe_ticket(ctx, &*tx, &known, &mut follow)?);
            }
        }
        follow.push(Fact::ProgressChanged {
            node: *node,
            before: known.progress,
            after: progress,
        });
    }
    for fact in facts.iter_mut() {
        // Scenarios that came with the finished ticket.
        if let Fact::NodeAdded { node } = fact
            && node.parent.is_some_and(|parent| brought.contains(&parent))
            && is_item(ctx, node)
        {
            node.progress = Progress::Complete;
        }
    }
    facts.append(&mut follow);
    let believed = report_believed(ctx, &*tx, decisions, believed)?;
    report_unknown_words(ctx, unknown);
    follow_progress(ctx, &*tx, facts)?;
    push_claim_marks(&*tx, &believed, &refused, facts)
}

/// Returns the words of a front matter that mean nothing.
fn list_unknown_words(ctx: &Context<'_>, node: &Node, work: Option<&WorkKeys>) -> Vec<UnknownWord> {
    let profile = ctx.find_profile(&node.profile);
    let found = work.zip(profile);
    found.map_or_else(Vec::new, |(work, profile)| {
        work.unknown_words(&profile.work_phases)
    })
}

/// Returns descriptions of the words of added files that mean nothing.
fn describe_added_words(ctx: &Context<'_>, facts: &[Fact]) -> Vec<String> {
    let added = facts.iter().filter_map(|fact| match fact {
        Fact::NodeAdded { node } => Some(node),
        _ => None,
    });
    let describe = |node: &Node| {
        let unknown = list_unknown_words(ctx, node, node.description.work.as_deref());
        let described = unknown.iter().map(|word| word.describe(&node.alias));
        described.collect::<Vec<_>>()
    };
    added.flat_map(|node| describe(node)).collect()
}

/// Reports the words that mean nothing: their author expects that they do.
fn report_unknown_words(ctx: &Context<'_>, described: Vec<String>) {
    let mut described = described.into_iter();
    if let Some(why) = described.next() {
        let more = described.len();
        ctx.push_notice(Notice::UnknownWord { why, more });
    }
}

/// Whether the file of a node is as git wrote it.
fn is_unchanged_in_git(ctx: &Context<'_>, node: &Node) -> bool {
    let Some(path) = &node.path else {
        return false;
    };
    let states = ctx.git.tracked_states(std::slice::from_ref(path));
    states
        .ok()
        .flatten()
        .is_some_and(|states| states.first() == Some(&TrackedState::Unchanged))
}

/// A ticket that counts as complete because it came finished with git.
struct BelievedTicket {
    id: NodeId,
    alias: String,
    /// Key of its decisions.
    key: String,
}

/// Completes the scenarios of a ticket that git brought finished. Returns it, if something about it is
/// open as far as this working copy knows.
fn believe_ticket(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    ticket: &Node,
    facts: &mut Vec<Fact>,
) -> Result<Option<BelievedTicket>, Failure> {
    let gaps = find_gaps(ctx, state, ticket, CompletionScope::Whole)?;
    for child in state.load_children(ticket.id)? {
        if is_item(ctx, &child)
            && child.content != Content::Missing
            && child.progress != Progress::Complete
        {
            facts.push(Fact::ProgressChanged {
                node: child.id,
                before: child.progress,
                after: Progress::Complete,
            });
        }
    }
    Ok((!gaps.is_empty()).then_some(BelievedTicket {
        id: ticket.id,
        alias: ticket.alias.clone(),
        key: load_decision_key(state, ticket)?,
    }))
}

/// Reports the tickets that nobody decided about, and returns them: a reader of the list should know that
/// their completion rests on a line in a file.
fn report_believed(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    decisions: &DecisionChanges,
    mut believed: Vec<BelievedTicket>,
) -> Result<Vec<NodeId>, Failure> {
    let keys = believed.iter().map(|ticket| ticket.key.clone()).collect();
    let undecided = decisions.retain_undecided(state, keys)?;
    believed.retain(|ticket| undecided.contains(&ticket.key));
    if !believed.is_empty() {
        let nodes = believed.iter().map(|ticket| ticket.alias.clone());
        ctx.push_notice(Notice::Believed {
            nodes: nodes.collect(),
        });
    }
    Ok(believed.into_iter().map(|ticket| ticket.id).collect())
}

fn is_item(ctx: &Context<'_>, node: &Node) -> bool {
    let profile = ctx.find_profile(&node.profile);
    let level = profile.and_then(|profile| profile.find_level(&node.level));
    level.is_some_and(|level| level.items.is_some())
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

/// What became of the completions that added files state.
#[derive(Default)]
struct AddedClaims {
    believed: Vec<BelievedTicket>,
    refused: Vec<NodeId>,
}

/// Sets the progress of added nodes.
///
/// A finished ticket that git brought was finished where it was written, and its scenarios with it: their
/// cycles are in commits that nobody here worked on. One that was written here has to be done.
///
/// A plan that is back from another branch keeps its progress, unless its file states another one now:
/// the work may have gone on since the file was written.
fn state_added_progress(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    seen: &ScanResult,
    facts: &mut [Fact],
) -> Result<AddedClaims, Failure> {
    let returned = &seen.returned;
    let was_stated: HashMap<NodeId, Option<Progress>> = returned
        .iter()
        .map(|plan| {
            let node = &plan.absent.node;
            let stated = stated_progress(ctx, &node.profile, &node.description.work);
            (node.id, stated)
        })
        .collect();
    let mut finished: Vec<(usize, Option<String>)> = Vec::new();
    for (at, fact) in facts.iter_mut().enumerate() {
        if let Fact::NodeAdded { node } = fact
            && let Some(stated) = stated_progress(ctx, &node.profile, &node.description.work)
            && was_stated.get(&node.id) != Some(&Some(stated))
        {
            node.progress = stated;
            if stated == Progress::Complete {
                finished.push((at, node.path.clone()));
            }
        }
    }
    let mut claims = AddedClaims::default();
    if finished.is_empty() {
        return Ok(claims);
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
    let mut family = AddedFamily::default();
    for (at, fact) in facts.iter().enumerate() {
        if let Fact::NodeAdded { node } = fact {
            family.places.insert(node.id, at);
            if let Some(parent) = node.parent {
                family.children.entry(parent).or_default().push(at);
            }
        }
    }
    let committed = match tracked.is_empty() {
        true => BTreeSet::new(),
        false => list_files_committed_here(ctx, state)?,
    };
    let mut tickets = Vec::new();
    for (at, _) in &finished {
        tickets.push(family.describe_ticket(state, *at, facts)?);
    }
    // Together: a fresh clone adds tens of thousands.
    let keys = tickets.iter().flatten().map(|ticket| ticket.key.clone());
    let mut unpassed = seen.decisions.list_unpassed_checks(state, keys.collect())?;
    for ((at, path), ticket) in finished.iter().zip(tickets) {
        let mut origin = ClaimOrigin {
            came_with_git: path.as_deref().is_some_and(|path| tracked.contains(path)),
            was_committed_here: path.as_deref().is_some_and(|path| committed.contains(path)),
            ..ClaimOrigin::default()
        };
        if let Some(Fact::NodeAdded { node }) = facts.get(*at) {
            origin.was_refused = was_refused(state, node.id)?;
        }
        if let Some(ticket) = &ticket {
            origin.unpassed = unpassed.remove(&ticket.key);
            // Asked only where it matters, because it reads all decisions that arrived.
            if origin.is_own() || origin.unpassed.is_some() {
                let keys = vec![ticket.key.clone()];
                origin.is_decided = seen.decisions.retain_undecided(state, keys)?.is_empty();
            }
        }
        match settle_finished(ctx, state, *at, &origin, &family, facts)? {
            SettledClaim::Counts => {}
            SettledClaim::Believed => claims.believed.extend(ticket),
            SettledClaim::Refused => claims.refused.extend(ticket.map(|ticket| ticket.id)),
        }
    }
    Ok(claims)
}

/// What became of the completion that an added file states.
enum SettledClaim {
    Counts,
    /// Scenarios of it are open as far as this working copy knows.
    Believed,
    Refused,
}

/// The nodes that these facts add, by index into the facts.
#[derive(Default)]
struct AddedFamily {
    places: HashMap<NodeId, usize>,
    children: HashMap<NodeId, Vec<usize>>,
}

impl AddedFamily {
    /// Describes an added ticket, which has no path in the state yet.
    fn describe_ticket(
        &self,
        state: &dyn Snapshot,
        at: usize,
        facts: &[Fact],
    ) -> Result<Option<BelievedTicket>, Failure> {
        let Some(Fact::NodeAdded { node }) = facts.get(at) else {
            return Ok(None);
        };
        let mut path = node.alias.clone();
        let mut above = node.parent;
        // A chain is as long as there are nodes at most; a circle ends there.
        for _ in 0..=facts.len() {
            let Some(id) = above else { break };
            let added = self.places.get(&id).and_then(|at| facts.get(*at));
            match added {
                Some(Fact::NodeAdded { node }) => {
                    path = format!("{}/{path}", node.alias);
                    above = node.parent;
                }
                _ => {
                    if let Some(known) = state.load_node(id)? {
                        path = format!("{}/{path}", load_node_path(state, &known)?);
                    }
                    break;
                }
            }
        }
        let key = NodeKey {
            profile: node.profile.clone(),
            path,
        };
        Ok(Some(BelievedTicket {
            id: node.id,
            alias: node.alias.clone(),
            key: key.to_string(),
        }))
    }
}

/// Completes what is below the finished node that the fact at `at` adds, or opens the node.
fn settle_finished(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    at: usize,
    origin: &ClaimOrigin,
    family: &AddedFamily,
    facts: &mut [Fact],
) -> Result<SettledClaim, Failure> {
    let contradictions = origin.list_contradictions(&[]);
    let is_brought = !origin.is_own() && contradictions.is_empty();
    let Some(Fact::NodeAdded { node }) = facts.get(at) else {
        return Ok(SettledClaim::Counts);
    };
    let ticket = node.clone();
    let mut open: Vec<OpenNode> = Vec::new();
    let (mut has_children, mut is_believed) = (false, false);
    for child in family.children.get(&ticket.id).into_iter().flatten() {
        let Some(Fact::NodeAdded { node }) = facts.get_mut(*child) else {
            continue;
        };
        has_children = has_children || !node.is_dropped();
        match node.progress {
            Progress::Complete => {}
            _ if is_brought && is_item(ctx, node) => {
                node.progress = Progress::Complete;
                is_believed = true;
            }
            _ if node.is_dropped() => {}
            progress => open.push(OpenNode {
                path: format!("{}/{}", ticket.alias, node.alias),
                progress,
                is_scenario: is_item(ctx, node),
            }),
        }
    }
    let removed = list_unreturned_scenarios(ctx, state, &ticket, facts)?;
    if is_brought && open.is_empty() && (removed.is_empty() || origin.is_decided) {
        return Ok(match is_believed {
            true => SettledClaim::Believed,
            false => SettledClaim::Counts,
        });
    }
    let mut open_needs = list_open_needs(ctx, state, &ticket)?;
    for name in &ticket.description.needs {
        let is_needed = |fact: &Fact| matches!(fact, Fact::NodeAdded { node } if node.alias == *name && is_open(node));
        if facts.iter().any(is_needed) && !open_needs.contains(name) {
            open_needs.push(name.clone());
        }
    }
    let below = AddedBelow {
        open: &open,
        has_children,
        open_needs: &open_needs,
        removed_scenarios: &removed,
    };
    let (mut blocking, advice) = judge_added_ticket(ctx, &ticket, &below);
    if ctx.policy.gates.done == GateMode::Block {
        blocking.extend(contradictions);
    }
    let is_complete = blocking.is_empty();
    let gaps = match is_complete {
        true => advice,
        false => blocking,
    };
    if !gaps.is_empty() {
        ctx.push_notice(Notice::Unproved {
            why: describe_gaps(&ticket.alias, &gaps),
            node: ticket.alias.clone(),
            is_complete,
        });
    }
    if let (false, Some(Fact::NodeAdded { node })) = (is_complete, facts.get_mut(at)) {
        node.progress = Progress::Active;
        return Ok(SettledClaim::Refused);
    }
    Ok(SettledClaim::Counts)
}
