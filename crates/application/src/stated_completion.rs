//! Completions that only a line in a plan file states: where each comes from, what speaks against it here, and
//! which count without proof.

use domain::fact::Fact;
use domain::ids::NodeId;
use domain::node::{Node, Progress};
use domain::policy::GateMode;
use domain::ports::Snapshot;
use domain::record::{read_record, read_records, record_changed_fact};
use domain::work::completion::describe_gaps;
use domain::work::stated_completion::{ClaimOrigin, StatedCompletion};

use crate::completion::{CompletionScope, find_gaps, refuse_incomplete};
use crate::context::Context;
use crate::decisions::{DecisionChanges, load_decision_key};
use crate::failure::Failure;
use crate::locate::load_node_path;
use crate::scan::list_files_committed_here;

fn record_key(node: NodeId) -> String {
    node.0.to_string()
}

/// Whether a completion that the file of this node stated was refused here.
pub(crate) fn was_refused(state: &dyn Snapshot, node: NodeId) -> Result<bool, Failure> {
    let known = read_record::<StatedCompletion>(state, &record_key(node))?;
    Ok(known == Some(StatedCompletion::Refused))
}

/// Returns where the completion comes from that the file of a known node states now.
pub(crate) fn find_origin(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    came_with_git: bool,
    decisions: &DecisionChanges,
) -> Result<ClaimOrigin, Failure> {
    // An edit is judged anyway, and needs no process.
    if !came_with_git {
        return Ok(ClaimOrigin::default());
    }
    let path = node.path.as_deref().unwrap_or_default();
    let key = load_decision_key(state, node)?;
    Ok(ClaimOrigin {
        came_with_git,
        was_committed_here: list_files_committed_here(ctx, state)?.contains(path),
        was_refused: was_refused(state, node.id)?,
        is_decided: decisions
            .retain_undecided(state, vec![key.clone()])?
            .is_empty(),
        unpassed: decisions
            .list_unpassed_checks(state, vec![key])?
            .into_values()
            .next(),
    })
}

/// Returns why the completion that a file states does not count; `None` if it does.
pub(crate) fn find_objection(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    origin: &ClaimOrigin,
) -> Result<Option<String>, Failure> {
    if origin.is_own() {
        return Ok(refuse_incomplete(ctx, state, node)
            .err()
            .map(|refused| refused.message));
    }
    if origin.is_decided || ctx.policy.gates.done != GateMode::Block {
        return Ok(None);
    }
    let gaps = find_gaps(ctx, state, node, CompletionScope::Whole)?;
    let gaps = origin.list_contradictions(&gaps);
    Ok((!gaps.is_empty()).then(|| describe_gaps(&node.alias, &gaps)))
}

/// Adds what became of completions that files state.
pub(crate) fn push_claim_marks(
    state: &dyn Snapshot,
    believed: &[NodeId],
    refused: &[NodeId],
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    let believed = believed.iter().map(|id| (id, StatedCompletion::Believed));
    let refused = refused.iter().map(|id| (id, StatedCompletion::Refused));
    for (id, mark) in believed.chain(refused) {
        let key = record_key(*id);
        let known = read_record::<StatedCompletion>(state, &key)?;
        facts.extend(record_changed_fact(&key, known.as_ref(), Some(&mark)));
    }
    Ok(())
}

/// Returns the fact that removes what became of a claim, because a user decided about the node.
pub(crate) fn remove_claim_mark(
    state: &dyn Snapshot,
    node: NodeId,
) -> Result<Option<Fact>, Failure> {
    let key = record_key(node);
    let known = read_record::<StatedCompletion>(state, &key)?;
    Ok(record_changed_fact(&key, known.as_ref(), None))
}

/// Returns the paths of the nodes that are complete because a file that came with git says so, without a
/// decision or a commit that shows it.
pub(crate) fn list_unproved_completions(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Vec<String>, Failure> {
    let mut unproved = Vec::new();
    if ctx.policy.gates.done == GateMode::Off {
        return Ok(unproved);
    }
    for (key, mark) in read_records::<StatedCompletion>(state, "")? {
        let id = key.parse().ok().map(NodeId);
        let (StatedCompletion::Believed, Some(id)) = (mark, id) else {
            continue;
        };
        let is_complete = |node: &Node| node.progress == Progress::Complete;
        let Some(node) = state.load_node(id)?.filter(is_complete) else {
            continue;
        };
        // Decided since: then it rests on that.
        let keys = vec![load_decision_key(state, &node)?];
        if !DecisionChanges::default()
            .retain_undecided(state, keys)?
            .is_empty()
        {
            unproved.push(load_node_path(state, &node)?);
        }
    }
    Ok(unproved)
}
