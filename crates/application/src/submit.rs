//! Submit texts of this working copy to the shared state: every plan that differs, or named ones.

use std::collections::BTreeSet;

use domain::ids::{NodeId, OperationId};
use domain::ports::Snapshot;
use domain::tree::Tree;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::file_writes::begin_transaction;
use crate::locate::find_node;
use crate::observe::observe_plans;
use crate::overlay::FIRST_NEW_NODE;
use crate::scan::{ScanResult, ScanScope, scan_plan_files};
use crate::working_copy::{
    CopyDifference, DifferenceKind, SightingNames, classify_sightings, describe_sightings,
    find_new_node, is_state_shared, owner_id, record_submission, shows_shared_state,
};

/// Request of [`submit_texts`].
#[derive(Clone, Debug, Default)]
pub struct SubmitRequest {
    /// The plans to submit, each with everything below it; all if there are none.
    pub nodes: Vec<String>,
    /// Whether plans whose file is missing here are submitted as deleted.
    pub deleted: bool,
    /// Only lists what would be submitted.
    pub dry_run: bool,
}

/// Outcome of [`submit_texts`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SubmitOutcome {
    pub success: bool,
    pub dry_run: bool,
    /// Whether other working copies share the state; if not, there is nothing to submit.
    pub shared: bool,
    pub submitted: Vec<CopyDifference>,
    /// What still differs: missing and outdated files are only submitted when they are named.
    pub left: Vec<CopyDifference>,
    pub operation: Option<OperationId>,
}

/// Makes texts of this working copy the shared ones.
///
/// # Errors
/// When a named plan does not exist, or the state cannot be written.
pub fn submit_texts(ctx: &Context<'_>, request: &SubmitRequest) -> Result<SubmitOutcome, Failure> {
    // A preview reads, and takes no write lock.
    if request.dry_run {
        let state = ctx.store.begin_read()?;
        let shared = is_state_shared(ctx, &*state)?;
        let selection = select_sightings(ctx, &*state, request)?;
        return Ok(SubmitOutcome {
            dry_run: true,
            ..selection.describe_outcome(&*state, shared)?
        });
    }
    let mut tx = begin_transaction(ctx)?;
    if !is_state_shared(ctx, &*tx)? {
        // Recorded as usual: a script need not know where the state is.
        drop(tx);
        drop(observe_plans(ctx)?);
        return Ok(SubmitOutcome {
            success: true,
            dry_run: false,
            shared: false,
            submitted: Vec::new(),
            left: Vec::new(),
            operation: None,
        });
    }
    let selection = select_sightings(ctx, &*tx, request)?;
    let mut outcome = selection.describe_outcome(&*tx, true)?;
    let Selection { seen, chosen, .. } = selection;
    outcome.operation = record_submission(ctx, &mut *tx, seen, |index| chosen[index])?;
    tx.commit()?;
    Ok(outcome)
}

/// Like [`observe_plans`] for work that records its results about the plans: on a shared state the
/// texts that only this copy has are submitted first, because the results name their nodes.
pub(crate) fn observe_submitted_plans<'s>(
    ctx: &Context<'s>,
) -> Result<(Box<dyn Snapshot + 's>, Tree), Failure> {
    if is_state_shared(ctx, &*ctx.store.begin_read()?)? && !shows_shared_state(ctx) {
        submit_texts(ctx, &SubmitRequest::default())?;
    }
    observe_plans(ctx)
}

/// A scan, and which of its sightings are to be submitted.
struct Selection {
    seen: ScanResult,
    kinds: Vec<Option<DifferenceKind>>,
    chosen: Vec<bool>,
}

impl Selection {
    fn describe_outcome(
        &self,
        state: &dyn Snapshot,
        shared: bool,
    ) -> Result<SubmitOutcome, Failure> {
        let part = |wanted: bool| {
            let kinds: Vec<_> = self
                .kinds
                .iter()
                .zip(&self.chosen)
                .map(|(kind, chosen)| kind.filter(|_| *chosen == wanted))
                .collect();
            describe_sightings(state, &self.seen, &kinds)
        };
        Ok(SubmitOutcome {
            success: true,
            dry_run: false,
            shared,
            submitted: part(true)?,
            left: part(false)?,
            operation: None,
        })
    }
}

fn select_sightings(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    request: &SubmitRequest,
) -> Result<Selection, Failure> {
    let seen = scan_plan_files(ctx, state, ScanScope::Everything, NodeId(FIRST_NEW_NODE))?;
    let kinds = classify_sightings(state, &seen)?;
    let mut named = BTreeSet::new();
    for word in &request.nodes {
        named.insert(find_named(ctx, state, &seen, word)?);
    }
    let names = SightingNames::of_scan(&seen);
    let mut chosen = Vec::with_capacity(seen.sightings.len());
    for (sighting, kind) in seen.sightings.iter().zip(&kinds) {
        let id = owner_id(sighting);
        let is_named = named.contains(&id);
        let is_inside = named.is_empty() || is_named || has_ancestor(&names, state, id, &named)?;
        let Some(kind) = kind.filter(|_| is_inside) else {
            chosen.push(false);
            continue;
        };
        chosen.push(match kind {
            DifferenceKind::New | DifferenceKind::Changed => true,
            // Deleting and going back are submitted only on request: nearly always the copy is
            // merely behind.
            DifferenceKind::Missing => is_named || request.deleted,
            DifferenceKind::Outdated => is_named,
            DifferenceKind::Unreadable => false,
        });
    }
    Ok(Selection {
        seen,
        kinds,
        chosen,
    })
}

fn find_named(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    seen: &ScanResult,
    word: &str,
) -> Result<NodeId, Failure> {
    let words = [word.to_owned()];
    match find_node(ctx, state, &words) {
        Ok((id, _)) => Ok(id),
        Err(failure) if failure.kind == FailureKind::NotFound => {
            find_new_node(ctx, state, seen, &words)?.ok_or(failure)
        }
        Err(failure) => Err(failure),
    }
}

/// Whether one of these nodes is an ancestor.
fn has_ancestor(
    names: &SightingNames<'_>,
    state: &dyn Snapshot,
    id: NodeId,
    nodes: &BTreeSet<NodeId>,
) -> Result<bool, Failure> {
    let mut above = names.parent_of(state, id)?;
    let mut met = BTreeSet::new();
    while let Some(parent) = above {
        if nodes.contains(&parent) {
            return Ok(true);
        }
        // A cycle can only come from a damaged store.
        if !met.insert(parent) {
            break;
        }
        above = names.parent_of(state, parent)?;
    }
    Ok(false)
}
