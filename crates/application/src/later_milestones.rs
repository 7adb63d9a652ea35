//! Evidence of a milestone whose files a later milestone changed.
//!
//! A plan lets milestones build on each other in the same file. What the later one changes is its own to
//! prove: as long as its evidence holds, that of the earlier one is not asked for again.

use domain::node::{Node, Progress};
use domain::plan_document::MILESTONES_PROFILE;
use domain::ports::Snapshot;
use domain::work::evidence::{ProofCheck, ProofStatus};
use domain::work::uncommitted::is_excluded;

use crate::context::Context;
use crate::evidence::judge_node;
use crate::evidence_inputs::list_default_inputs;
use crate::failure::Failure;

/// Whether a stale proof of a complete milestone holds all the same: a milestone that depends on it
/// changes one of its inputs, is carried out, and is proved.
pub(crate) fn is_held_by_later(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    asks: &ProofCheck,
) -> Result<bool, Failure> {
    let (ProofCheck::Command { inputs, .. } | ProofCheck::Test { inputs, .. }) = asks else {
        return Ok(false);
    };
    let Some(parent) = node.parent else {
        return Ok(false);
    };
    if node.profile != MILESTONES_PROFILE || node.progress != Progress::Complete {
        return Ok(false);
    }
    let own = list_default_inputs(state, node)?;
    let is_input = |file: &String| match inputs.is_empty() {
        true => own.is_empty() || own.contains(file),
        false => inputs.iter().any(|input| covers_file(input, file)),
    };
    let milestones = state.load_children(parent)?;
    for later in list_dependent(&milestones, node) {
        if later.progress != Progress::Complete
            || !list_default_inputs(state, later)?.iter().any(is_input)
        {
            continue;
        }
        let proofs = judge_node(ctx, state, later)?;
        let is_proved = !proofs.is_empty()
            && proofs
                .iter()
                .all(|(_, status)| *status == ProofStatus::Fresh);
        if is_proved {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a declared input is a file, its folder, or a pattern for it.
fn covers_file(input: &str, file: &str) -> bool {
    let folder = input.trim_end_matches('/');
    file == input
        || file
            .strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
        || is_excluded(file, std::slice::from_ref(&input.to_owned()))
}

/// Returns the milestones that depend on one, directly or through others.
fn list_dependent<'m>(milestones: &'m [Node], first: &Node) -> Vec<&'m Node> {
    let mut names = vec![first.alias.as_str()];
    let mut found: Vec<&Node> = Vec::new();
    let mut at = 0;
    while let Some(name) = names.get(at).copied() {
        at += 1;
        for one in milestones {
            let depends = one.description.needs.iter().any(|need| need == name);
            if depends && !names.contains(&one.alias.as_str()) {
                names.push(&one.alias);
                found.push(one);
            }
        }
    }
    found
}
