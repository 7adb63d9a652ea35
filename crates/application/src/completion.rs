//! Completion of nodes: gathers what "done" depends on, refuses what is not done, and records what follows.
//!
//! The rule is `domain::work::completion`. Every way to complete a node comes through here: commands,
//! tools, files that say so, commits, the end of a workflow.

use std::collections::HashSet;

use domain::fact::Fact;
use domain::gates::{Event, FiredGate, UnprovedNode};
use domain::ids::NodeId;
use domain::needs::is_open;
use domain::node::{Content, Node, Progress};
use domain::policy::GateMode;
use domain::ports::{Snapshot, Transaction};
use domain::profile::{EvidenceNeed, Level, RollUp};
use domain::record;
use domain::review::{LoopState, Review};
use domain::work::completion::{
    CompletionGap, CompletionInputs, CycleInput, OpenNode, describe_gaps, find_completion_gaps,
    list_closing_commands,
};
use domain::work::work_level::WorkLevel;

use crate::context::{Context, Notice};
use crate::deleted_work::find_deleted_work;
use crate::duplicate_ids::refuse_duplicate;
use crate::evidence::judge_node;
use crate::failure::Failure;
use crate::handle_host_event::{evaluate_with_overrides, override_note_key};
use crate::locate::{find_node, load_node, load_node_path};
use crate::phase_moves::{list_skipped_phases, load_work_level};
use crate::plan_documents::reconcile::{list_missing_tests, list_unchanged_intents};
use crate::removed_scenarios::{list_removed_scenarios, scenario_file};
use crate::scan::ScanScope;
use crate::session_position::{has_work_phases, load_ticket};
use crate::ticket_files::count_ticket_files;
use crate::workflows::active_runs;

/// Which parts of the rule apply to a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompletionScope {
    /// All of it.
    Whole,
    /// All but the nodes below: the caller completes them in the same operation.
    WithoutBelow,
    /// All but the workflow: the caller ends it in the same operation.
    WithoutWorkflow,
    /// All but the phases on the way: the caller has judged the move to the last one.
    WithoutPhases,
}

/// Returns the files that decide whether a node is done: those of the nodes below it and of those it
/// needs, as they are now.
pub(crate) fn completion_scopes(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    id: NodeId,
) -> Result<Vec<ScanScope>, Failure> {
    let node = load_node(state, id)?;
    let mut scopes = vec![ScanScope::Family(id)];
    for name in &node.description.needs {
        let needed = find_needed_node(ctx, state, &node, name)?;
        scopes.extend(needed.map(|needed| ScanScope::Lineage(needed.id)));
    }
    Ok(scopes)
}

/// Returns what is open about a node; empty if it may count as complete, or the gate is off.
pub(crate) fn find_gaps(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    scope: CompletionScope,
) -> Result<Vec<CompletionGap>, Failure> {
    let mut gaps = find_all_gaps(ctx, state, node, scope)?;
    gaps.retain(|gap| !is_advice(ctx, gap));
    Ok(gaps)
}

/// Returns what is open about a node, with what the policy only asks for.
fn find_all_gaps(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    scope: CompletionScope,
) -> Result<Vec<CompletionGap>, Failure> {
    // Checked first: judging proofs reads files and asks git.
    let profile = ctx.find_profile(&node.profile);
    let has_gate = profile.is_none_or(|profile| profile.has_gate("done"));
    if ctx.policy.gates.done == GateMode::Off || !has_gate {
        return Ok(Vec::new());
    }
    let level = find_level(ctx, node);
    let path = load_node_path(state, node)?;
    let proofs: Vec<_> = judge_node(ctx, state, node)?
        .into_iter()
        .map(|(proof, status)| (proof.asks, status))
        .collect();
    let open_below = match scope {
        CompletionScope::WithoutBelow => Vec::new(),
        CompletionScope::Whole
        | CompletionScope::WithoutWorkflow
        | CompletionScope::WithoutPhases => list_open_below(ctx, state, node, &path)?,
    };
    // Deleting an open scenario from its file must not be a way to done.
    let removed_scenarios: Vec<String> = list_removed_scenarios(ctx, state, node)?
        .iter()
        .map(|alias| format!("{path}/{alias}"))
        .collect();
    let workflows = match scope {
        CompletionScope::WithoutWorkflow => Vec::new(),
        CompletionScope::Whole | CompletionScope::WithoutBelow | CompletionScope::WithoutPhases => {
            active_runs(state, &path)?
                .into_iter()
                .map(|(_, run)| run.workflow)
                .collect()
        }
    };
    let skipped = match scope {
        CompletionScope::WithoutPhases => Vec::new(),
        _ => list_skipped_phases(ctx, state, node)?,
    };
    let deleted = find_deleted_work(ctx, state, node)?;
    let tdd = load_scenario_cycle(ctx, state, node)?;
    Ok(find_completion_gaps(&CompletionInputs {
        need: level.map_or(EvidenceNeed::Declared, |level| level.evidence),
        proofs: &proofs,
        open_below: &open_below,
        removed_scenarios: &removed_scenarios,
        scenario_file: scenario_file(ctx, node).as_deref(),
        removed_children: &deleted.children,
        removed_needs: &deleted.needs,
        skipped_phases: &skipped,
        open_needs: &list_open_needs(ctx, state, node)?,
        open_reviews: &list_open_reviews(state, &path)?,
        workflows: &workflows,
        cycle: tdd.as_ref().map(|tdd| CycleInput {
            last_step: tdd.cycle,
            untested: tdd.untested.as_deref(),
            requires_test: ctx.policy.gates.test_first != GateMode::Off,
        }),
        unchanged_intents: &list_unchanged_intents(ctx, state, node, &path)?,
        missing_tests: &list_missing_tests(ctx, state, node)?,
        is_untouched: is_untouched(ctx, state, node)?,
        lacks_scenarios: lacks_scenarios(ctx, state, node)?,
        asks_for_work: asks_for_work(ctx),
    }))
}

/// What is known of the nodes around a ticket that is not in the state yet.
pub(crate) struct AddedBelow<'b> {
    pub(crate) open: &'b [OpenNode],
    pub(crate) has_children: bool,
    pub(crate) open_needs: &'b [String],
    /// Paths of its scenarios that were open and did not come back with it.
    pub(crate) removed_scenarios: &'b [String],
}

/// Returns what is open about a ticket that is added as a finished one, and what the policy only asks
/// for.
pub(crate) fn judge_added_ticket(
    ctx: &Context<'_>,
    ticket: &Node,
    below: &AddedBelow<'_>,
) -> (Vec<CompletionGap>, Vec<CompletionGap>) {
    let profile = ctx.find_profile(&ticket.profile);
    let has_gate = profile.is_none_or(|profile| profile.has_gate("done"));
    if ctx.policy.gates.done == GateMode::Off || !has_gate {
        return (Vec::new(), Vec::new());
    }
    let level = find_level(ctx, ticket);
    let gaps = find_completion_gaps(&CompletionInputs {
        need: level.map_or(EvidenceNeed::Declared, |level| level.evidence),
        open_below: below.open,
        open_needs: below.open_needs,
        removed_scenarios: below.removed_scenarios,
        scenario_file: scenario_file(ctx, ticket).as_deref(),
        is_untouched: asks_for_work(ctx)
            && !below.has_children
            && has_work_phases(ctx, ticket)
            && crate::session_position::head_commit(ctx).is_some(),
        asks_for_work: asks_for_work(ctx),
        ..CompletionInputs::default()
    });
    let only_warns = ctx.policy.gates.done == GateMode::Warn;
    let (advice, blocking) = gaps
        .into_iter()
        .partition(|gap| only_warns || is_advice(ctx, gap));
    (blocking, advice)
}

/// Whether the policy asks for a sign that something was done.
pub(crate) fn asks_for_work(ctx: &Context<'_>) -> bool {
    ctx.policy.gates.test_first != GateMode::Off
}

/// Whether a node is a ticket in a repository for which no session changed a file, and which has no
/// scenarios and children either: deleted and dropped ones are no work.
fn is_untouched(ctx: &Context<'_>, state: &dyn Snapshot, node: &Node) -> Result<bool, Failure> {
    Ok(has_no_parts(ctx, state, node)? && count_ticket_files(state, node.id)? == 0)
}

/// Whether a node is a ticket in a repository without scenarios and children, and the policy asks for a
/// sign of work.
fn has_no_parts(ctx: &Context<'_>, state: &dyn Snapshot, node: &Node) -> Result<bool, Failure> {
    // In this order: the policy and the level are in memory, the commit is a file, the rest are
    // queries.
    let is_work = |child: &Node| child.content != Content::Missing && !child.is_dropped();
    Ok(asks_for_work(ctx)
        && has_work_phases(ctx, node)
        && crate::session_position::head_commit(ctx).is_some()
        && !state.load_children(node.id)?.iter().any(is_work))
}

/// Whether a node is a ticket of a size that is described by scenarios, and has none: a feature, and where
/// the policy insists on a failing test first everything that is more than a patch.
fn lacks_scenarios(ctx: &Context<'_>, state: &dyn Snapshot, node: &Node) -> Result<bool, Failure> {
    if !has_no_parts(ctx, state, node)? {
        return Ok(false);
    }
    let least = match ctx.policy.gates.test_first {
        GateMode::Block => WorkLevel::Task,
        GateMode::Warn | GateMode::Off => WorkLevel::Feature,
    };
    Ok(load_work_level(ctx, state, node)? >= least)
}

/// Whether a gap is only reported: the policy asks for a failing test first, but does not insist.
fn is_advice(ctx: &Context<'_>, gap: &CompletionGap) -> bool {
    match gap {
        CompletionGap::UntestedCommit { .. }
        | CompletionGap::NoCommit
        | CompletionGap::NoWork
        | CompletionGap::NoScenario
        | CompletionGap::VacuousProof { .. } => ctx.policy.gates.test_first == GateMode::Warn,
        CompletionGap::SkippedPhases { .. } => ctx.policy.gates.order == GateMode::Warn,
        _ => false,
    }
}

fn find_level<'c>(ctx: &Context<'c>, node: &Node) -> Option<&'c Level> {
    ctx.find_profile(&node.profile)
        .and_then(|profile| profile.find_level(&node.level))
}

/// Returns the open nodes below a node, without those that are completed with it.
fn list_open_below(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    path: &str,
) -> Result<Vec<OpenNode>, Failure> {
    // The branches of a trail end with it.
    if node.profile == domain::trail::PROFILE {
        return Ok(Vec::new());
    }
    let describe = |child: &Node, is_scenario| OpenNode {
        path: format!("{path}/{}", child.alias),
        progress: child.progress,
        is_scenario,
    };
    let is_open = |child: &&Node| is_open(child);
    if has_work_phases(ctx, node) {
        // As the history of HEAD has them, which may be ahead of the records.
        let ticket = load_ticket(ctx, state, node.clone(), None)?;
        let scenarios = ticket.scenarios.iter().filter(is_open);
        let children = ticket.children.iter().filter(is_open);
        return Ok(scenarios
            .map(|child| describe(child, true))
            .chain(children.map(|child| describe(child, false)))
            .collect());
    }
    let mut children = state.load_children(node.id)?;
    children.sort_by(domain::tree::sibling_order);
    Ok(children
        .iter()
        .filter(is_open)
        // A plan whose file is missing is invalid, which `tl check` reports; it is no open work.
        .filter(|child| child.content != Content::Missing)
        .filter(|child| {
            find_level(ctx, child).is_none_or(|level| level.roll_up != RollUp::WithParent)
        })
        .map(|child| describe(child, false))
        .collect())
}

/// Returns the paths of the open nodes that a node needs.
pub(crate) fn list_open_needs(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Vec<String>, Failure> {
    let mut open = Vec::new();
    for name in &node.description.needs {
        let needed = find_needed_node(ctx, state, node, name)?;
        if let Some(needed) = needed.filter(is_open) {
            open.push(load_node_path(state, &needed)?);
        }
    }
    Ok(open)
}

/// Returns the node that `needs` of a node names; `None` if there is none, which `tl next` and
/// `tl check` report.
pub(crate) fn find_needed_node(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    name: &str,
) -> Result<Option<Node>, Failure> {
    // Names are unique only below a parent; the sibling is meant even where the whole project has
    // several nodes of that name.
    let sibling = match node.parent {
        Some(parent) => state.children_by_alias(parent, name)?.into_iter().next(),
        None => None,
    };
    if sibling.is_some() {
        return Ok(sibling);
    }
    match find_node(ctx, state, &[name.to_owned()]) {
        Ok((id, _)) => Ok(state.load_node(id)?),
        Err(_) => Ok(None),
    }
}

/// Returns the subjects of the reviews of a node that have not ended.
fn list_open_reviews(state: &dyn Snapshot, path: &str) -> Result<Vec<String>, Failure> {
    // The prefix alone would also match `act-10` for `act-1`.
    let below = format!("{path}/");
    let found = record::read_records::<Review>(state, path)?;
    Ok(found
        .into_iter()
        .map(|(_, review)| review)
        .filter(|review| review.state != LoopState::Complete)
        .filter(|review| review.subject == path || review.subject.starts_with(&below))
        .map(|review| review.subject)
        .collect())
}

/// Returns the test-driven cycle of a scenario, as the history of HEAD has it; `None` for other nodes and
/// without a repository.
fn load_scenario_cycle(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Option<domain::work::tdd::Tdd>, Failure> {
    let is_item = find_level(ctx, node).is_some_and(|level| level.items.is_some());
    if !is_item || crate::session_position::head_commit(ctx).is_none() {
        return Ok(None);
    }
    let Some(parent) = node.parent.map(|id| load_node(state, id)).transpose()? else {
        return Ok(None);
    };
    if !has_work_phases(ctx, &parent) {
        return Ok(None);
    }
    let mut ticket = load_ticket(ctx, state, parent, None)?;
    // In a repository a scenario without commits has an empty cycle, not none: that nothing was
    // committed is a gap of its own.
    Ok(Some(
        ticket
            .cycles
            .by_scenario
            .remove(&node.id)
            .unwrap_or_default(),
    ))
}

/// Refuses to complete a node about which something is open, if the gate blocks and there is no override.
pub(crate) fn refuse_incomplete(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<(), Failure> {
    refuse_incomplete_within(ctx, state, node, CompletionScope::Whole)
}

/// Like [`refuse_incomplete`] with a part of the rule.
pub(crate) fn refuse_incomplete_within(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    scope: CompletionScope,
) -> Result<(), Failure> {
    refuse_duplicate(ctx, state, node)?;
    let gaps = find_all_gaps(ctx, state, node, scope)?;
    let (advice, gaps): (Vec<_>, Vec<_>) = gaps.into_iter().partition(|gap| is_advice(ctx, gap));
    refuse_gaps(ctx, state, node, &gaps)?;
    if !advice.is_empty() {
        ctx.push_notice(Notice::Unproved {
            node: node.alias.clone(),
            why: describe_gaps(&node.alias, &advice),
            is_complete: true,
        });
    }
    let left = find_deleted_work(ctx, state, node)?.left_out;
    if !left.is_empty() {
        ctx.push_notice(Notice::LeftOut {
            node: node.alias.clone(),
            children: left,
        });
    }
    Ok(())
}

/// Refuses a completion with these gaps, if the gate blocks and there is no override.
fn refuse_gaps(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    gaps: &[CompletionGap],
) -> Result<(), Failure> {
    if gaps.is_empty() {
        return Ok(());
    }
    let path = load_node_path(state, node)?;
    let (why, steps) = (
        describe_gaps(&node.alias, gaps),
        list_closing_commands(&path, gaps),
    );
    // An override is not consumed here: the caller may still fail, and a person's permission is for
    // one completion.
    let verdict = evaluate_with_overrides(
        ctx,
        state,
        &Event {
            profiles: ctx.profiles,
            unproved: Some(UnprovedNode {
                path: &path,
                profile: ctx.find_profile(&node.profile),
                why: &why,
                steps: &steps,
            }),
            ..Event::default()
        },
    )?;
    if !verdict.warnings.is_empty() {
        ctx.push_notice(Notice::Unproved {
            node: node.alias.clone(),
            why,
            is_complete: true,
        });
    }
    match verdict.blocks.into_iter().next() {
        Some(FiredGate { objection, .. }) => Err(objection
            .next_steps
            .into_iter()
            .fold(Failure::refused(objection.why), Failure::with_step)),
        None => Ok(()),
    }
}

/// Returns why a node is not completed with the move of a focus, if the gate blocks.
pub(crate) fn find_blocking_gaps(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    scope: CompletionScope,
) -> Result<Option<String>, Failure> {
    // A move of the focus is not a request to complete: where the gate only warns, the completion
    // follows without a message.
    if ctx.policy.gates.done != GateMode::Block {
        return Ok(None);
    }
    let gaps = find_gaps(ctx, state, node, scope)?;
    Ok((!gaps.is_empty()).then(|| describe_gaps(&node.alias, &gaps)))
}

/// Consumes the override with which a node is completed.
pub(crate) fn consume_override(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    node: &Node,
) -> Result<(), Failure> {
    // In the transaction of the completion, so that an override is used up exactly when it let
    // something pass.
    let key = override_note_key("done", &load_node_path(&*tx, node)?);
    if tx.load_note(&key)?.is_some() {
        tx.save_note(&key, None, ctx.clock.now())?;
    }
    Ok(())
}

/// Adds what follows from changes of progress: parts that are complete with their whole, a whole whose
/// last part is complete, and complete ancestors of something that is open again.
pub(crate) fn follow_progress(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    // The state of a clone is built from tens of thousands of added nodes: each parent is looked up once,
    // and one that is added with its children not at all.
    let mut known: HashSet<NodeId> = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::NodeAdded { node } => Some(node.id),
            _ => None,
        })
        .collect();
    let mut at = 0;
    // Facts that are added on the way are followed as well; each round goes one level up or down, and
    // no node is changed twice.
    while let Some(fact) = facts.get(at) {
        at += 1;
        match fact {
            Fact::ProgressChanged {
                node,
                after: Progress::Complete,
                ..
            } => {
                let Some(node) = state.load_node(*node)? else {
                    continue;
                };
                complete_parts(ctx, state, &node, facts)?;
                complete_whole(ctx, state, &node, facts)?;
            }
            Fact::ProgressChanged { node, .. } => {
                let parent = state.load_node(*node)?.and_then(|node| node.parent);
                let below = *node;
                reopen_ancestors(ctx, state, below, parent, facts)?;
            }
            Fact::NodeAdded { node } if is_open(node) => {
                let (below, parent) = (node.id, node.parent.filter(|id| known.insert(*id)));
                reopen_ancestors(ctx, state, below, parent, facts)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Adds the complete ancestors of what these facts open: an undo takes back a completion, and what was
/// complete because of it is open again.
pub(crate) fn follow_reopened(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    let mut at = 0;
    while let Some(fact) = facts.get(at) {
        at += 1;
        if let Fact::ProgressChanged { node, after, .. } = fact
            && *after != Progress::Complete
            && let Some(below) = state.load_node(*node)?
        {
            reopen_ancestors(ctx, state, below.id, below.parent, facts)?;
        }
    }
    Ok(())
}

/// Completes the nodes below that are a part of this node's work.
fn complete_parts(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    let has_parts = ctx.find_profile(&node.profile).is_some_and(|profile| {
        profile
            .levels_under(&node.level)
            .any(|level| level.roll_up == RollUp::WithParent)
    });
    if !has_parts {
        return Ok(());
    }
    for child in state.load_children(node.id)? {
        let is_part =
            find_level(ctx, &child).is_some_and(|level| level.roll_up == RollUp::WithParent);
        if is_part && child.progress != Progress::Complete && !has_progress(facts, child.id) {
            facts.push(progress_fact(&child, Progress::Complete));
        }
    }
    Ok(())
}

/// Completes the node above, if it has no work of its own and this was its last open part.
fn complete_whole(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    let Some(parent) = node.parent.map(|id| load_node(state, id)).transpose()? else {
        return Ok(());
    };
    let rolls_up =
        find_level(ctx, &parent).is_some_and(|level| level.roll_up == RollUp::WithChildren);
    if !rolls_up || parent.progress == Progress::Complete || has_progress(facts, parent.id) {
        return Ok(());
    }
    // The state is the one before this operation: what its facts complete is complete here too, or
    // the last two parts of one operation would leave the whole open.
    let is_done = |child: &Node| {
        child.is_dropped()
            || facts
                .iter()
                .rev()
                .find_map(|fact| match fact {
                    Fact::ProgressChanged { node, after, .. } if *node == child.id => Some(*after),
                    _ => None,
                })
                .unwrap_or(child.progress)
                == Progress::Complete
    };
    if state.load_children(parent.id)?.iter().all(is_done)
        && find_gaps(ctx, state, &parent, CompletionScope::WithoutBelow)?.is_empty()
    {
        facts.push(progress_fact(&parent, Progress::Complete));
    }
    Ok(())
}

/// Opens the complete ancestors of a node that is open.
pub(crate) fn reopen_ancestors(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    below: NodeId,
    parent: Option<NodeId>,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    let Some(above) = parent.map(|id| state.load_node(id)).transpose()?.flatten() else {
        return Ok(());
    };
    // The rule for done does not cover the branches of a trail: a session finishes and opens them
    // itself.
    if above.progress != Progress::Complete
        || above.profile == domain::trail::PROFILE
        || has_progress(facts, above.id)
    {
        return Ok(());
    }
    let name = match state.load_node(below)? {
        Some(node) => node.alias,
        None => find_added_alias(facts, below).unwrap_or_default(),
    };
    ctx.push_notice(Notice::Reopened {
        node: above.alias.clone(),
        by: name,
    });
    facts.push(progress_fact(&above, Progress::Active));
    Ok(())
}

fn find_added_alias(facts: &[Fact], id: NodeId) -> Option<String> {
    facts.iter().find_map(|fact| match fact {
        Fact::NodeAdded { node } if node.id == id => Some(node.alias.clone()),
        _ => None,
    })
}

fn has_progress(facts: &[Fact], id: NodeId) -> bool {
    facts
        .iter()
        .any(|fact| matches!(fact, Fact::ProgressChanged { node, .. } if *node == id))
}

pub(crate) fn progress_fact(node: &Node, after: Progress) -> Fact {
    Fact::ProgressChanged {
        node: node.id,
        before: node.progress,
        after,
    }
}
