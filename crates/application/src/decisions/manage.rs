//! Decisions on request: list them, adopt those of others, write lost files again, prune.

use std::collections::BTreeSet;

use domain::decision::{
    DecisionId, KnownDecision, Verdict, decisions_in_force, render_decision_file,
};
use domain::ids::Principal;
use domain::operation::Verb;
use domain::ports::{DecisionFolder, Snapshot};
use domain::record::record_changed_fact;
use domain::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{DecisionChanges, load_all_decisions, load_node_decisions, receive_decisions};
use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::locate::{load_node, reject_extra_words};
use crate::observe::{observe_node, observe_then_read, with_observed_files};
use crate::scan::ScanScope;
use crate::status_cascade::cascade_statuses;

/// A decision.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DecisionView {
    pub id: String,
    pub path: String,
    /// `approved`, `rejected`, `progress`, `commented`, `noted`, `overridden`, `reviewed` or
    /// `withdrawn`.
    pub decision: String,
    #[schemars(with = "String")]
    pub by: Principal,
    pub at: Timestamp,
    /// The reason, the comment or the progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    pub file: String,
    /// Whether it counts and no other one replaces it.
    pub in_force: bool,
    /// Whether its file is in the working tree.
    pub present: bool,
    /// Whether it counts: made here, or accepted.
    pub trusted: bool,
    /// Whether it is signed.
    pub signed: bool,
    /// Why it does not count, where signatures are required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature_problem: Option<String>,
}

/// Outcome of [`prune_decisions`].
#[derive(Clone, Debug, Serialize)]
pub struct PruneOutcome {
    /// The superseded decisions whose files are removed, or would be.
    pub removed: Vec<DecisionView>,
    /// Superseded ones that stay, because another branch still has them in force.
    pub kept: usize,
}

/// Returns the decisions about one node, or all, the latest first.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn list_decisions(ctx: &Context<'_>, words: &[String]) -> Result<Vec<DecisionView>, Failure> {
    let mut found = Vec::new();
    if words.is_empty() {
        let state = observe_then_read(ctx, ScanScope::Everything)?;
        for known in load_all_decisions(&*state)?.values() {
            found.extend(view_decisions(known));
        }
    } else {
        let seen = observe_node(ctx, words, ScanScope::Lineage)
            .map_err(|failure| add_present_name(ctx, failure, words))?;
        reject_extra_words(seen.rest)?;
        let node = load_node(&*seen.state, seen.id)?;
        found = view_decisions(&load_node_decisions(&*seen.state, &node)?);
    }
    // By id within one time: the records come from a hash map.
    found.sort_by(|a, b| (b.at, &b.id).cmp(&(a.at, &a.id)));
    Ok(found)
}

/// Adds where the decisions about a former place are now.
fn add_present_name(ctx: &Context<'_>, failure: Failure, words: &[String]) -> Failure {
    let find = || -> Option<String> {
        let was = words.join("/");
        let state = ctx.store.begin_read().ok()?;
        let known = load_all_decisions(&*state).ok()?;
        let moved = known.into_values().flatten().find(|one| {
            let original = one.original.as_ref().map(|original| original.node_path());
            original.is_some_and(|path| path == was || path.ends_with(&format!("/{was}")))
        });
        Some(moved?.decision.node_path().to_owned())
    };
    let found = (failure.kind == FailureKind::NotFound).then(find).flatten();
    match found {
        Some(path) => failure.with_step(format!("tl decisions {path}   # where it is now")),
        None => failure,
    }
}

fn view_decisions(known: &[KnownDecision]) -> Vec<DecisionView> {
    let in_force: BTreeSet<&DecisionId> = decisions_in_force(known)
        .into_iter()
        .filter_map(|known| known.id.as_ref())
        .collect();
    let view = |one: &KnownDecision| {
        let id = one.id.as_ref()?;
        let (decision, text) = match &one.decision.what {
            Verdict::Approved { .. } => ("approved", None),
            Verdict::Rejected { reason, .. } => ("rejected", Some(reason.clone())),
            Verdict::ChangesRequested { reason, .. } => ("changes-requested", Some(reason.clone())),
            Verdict::RevalidationRequired { reason, .. } => {
                ("revalidation-required", Some(reason.clone()))
            }
            Verdict::Progress { progress } => ("progress", Some(progress.to_string())),
            Verdict::Commented { text, .. } => ("commented", Some(text.clone())),
            Verdict::Noted { text, .. } => ("noted", Some(text.clone())),
            Verdict::Overridden { gate, reason } => {
                ("overridden", Some(format!("{gate}: {reason}")))
            }
            Verdict::Reviewed(verdict) => (
                "reviewed",
                Some(format!("{}: {}", verdict.subject, verdict.outcome.as_str())),
            ),
            Verdict::Carried { decisions } => {
                ("carried", Some(format!("{} decisions", decisions.len())))
            }
            Verdict::Proved(verdict) => ("proved", Some(verdict.describe_result())),
            Verdict::Withdrawn { .. } => ("withdrawn", None),
        };
        Some(DecisionView {
            id: id.to_string(),
            path: one.decision.node_path().to_owned(),
            decision: decision.to_owned(),
            by: one.decision.by.clone(),
            at: one.decision.at,
            text,
            file: id.file_path(),
            in_force: in_force.contains(id),
            present: one.present,
            trusted: one.trusted,
            signed: one.decision.signature.is_some(),
            signature_problem: one.signature_problem.clone(),
        })
    };
    known.iter().filter_map(view).collect()
}

/// Adopts a project that was made here: it has no decisions of others.
///
/// # Errors
/// When it cannot be recorded.
pub fn adopt_new_project(ctx: &Context<'_>) -> Result<(), Failure> {
    let Some(folder) = ctx.decisions else {
        return Ok(());
    };
    // Files that are here already came with a clone whose state is lost or was never made.
    if folder.list_all()?.is_empty() {
        folder.mark_adopted()?;
    }
    Ok(())
}

/// Whether this clone has decisions of others that do not count, because it is not adopted.
///
/// # Errors
/// When the decision files cannot be listed.
pub fn has_unadopted_decisions(ctx: &Context<'_>) -> Result<bool, Failure> {
    let Some(folder) = ctx.decisions.filter(|folder| !folder.is_adopted()) else {
        return Ok(false);
    };
    let made_here = folder.made_here()?;
    let present = folder.list_all()?;
    Ok(present.iter().any(|id| !made_here.contains(id)))
}

/// Whether what git brings into this working tree is trusted: a person adopted the clone, or decisions
/// were made here and there are none of others.
pub(crate) fn is_repository_trusted(folder: &dyn DecisionFolder) -> Result<bool, Failure> {
    if folder.is_adopted() {
        return Ok(true);
    }
    let made_here = folder.made_here()?;
    let present = folder.list_all()?;
    Ok(!made_here.is_empty() && present.iter().all(|id| made_here.contains(id)))
}

/// Accepts the decisions of others in this clone, on a person's word: those here now, and those
/// that come later by the rules of the policy.
///
/// # Errors
/// When it cannot be recorded.
pub fn adopt_decisions(ctx: &Context<'_>) -> Result<(), Failure> {
    let Some(folder) = ctx.decisions else {
        return Ok(());
    };
    folder.mark_adopted()?;
    // After the clone is marked: a process killed in between leaves an adopted clone, and the next
    // scan counts what the policy lets it count. With a scan, because in a fresh clone nothing is
    // known yet.
    let state = observe_then_read(ctx, ScanScope::Everything)?;
    let waiting: Vec<DecisionId> = load_all_decisions(&*state)?
        .into_values()
        .flatten()
        .filter(|known| known.present && !known.trusted)
        .filter_map(|known| known.id)
        .collect();
    // As if made here: under `human` nothing else would make an unpushed approval count.
    if !waiting.is_empty() {
        folder.mark_made_here(&waiting)?;
    }
    Ok(())
}

/// Lists the decisions made here whose files vanished although no other commit was checked out. Without
/// a rejection's file the plan would count as approved again.
pub(crate) fn list_vanished_decisions(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    changes: &DecisionChanges,
) -> Result<Vec<String>, Failure> {
    let Some(folder) = ctx.decisions else {
        return Ok(Vec::new());
    };
    let made_here = folder.made_here()?;
    let known = load_all_decisions(state)?;
    // What the scan saw is not recorded yet.
    let known = known.values().flatten().filter(|one| !changes.has(one));
    let vanished = known.chain(changes.list_changed()).filter(|one| {
        let is_ours = one.id.as_ref().is_some_and(|id| made_here.contains(id));
        one.vanished && is_ours
    });
    Ok(vanished
        .map(|one| one.decision.describe_briefly())
        .collect())
}

/// Writes the files of decisions that vanished although no other commit was checked out, and
/// returns how many.
///
/// # Errors
/// When decisions are no files here, or they cannot be written.
pub fn restore_decisions(ctx: &Context<'_>) -> Result<usize, Failure> {
    let folder = require_folder(ctx)?;
    let made_here = folder.made_here()?;
    with_observed_files(ctx, ScanScope::Everything, None, |planned, tx| {
        let mut changed = Vec::new();
        for known in load_all_decisions(&*tx)?.into_values().flatten() {
            let Some(id) = known.id.clone() else { continue };
            // Only what this repository decided itself: another's file comes back through git.
            if !known.vanished || !made_here.contains(&id) {
                continue;
            }
            let (_, text) = render_decision_file(known.as_in_file());
            planned.put_file(&id.file_path(), Some(&text))?;
            let after = KnownDecision {
                present: true,
                vanished: false,
                ..known.clone()
            };
            changed.push((Some(known), after));
        }
        let count = changed.len();
        if count > 0 {
            let summary = format!("wrote {count} lost decision files again");
            let mut operation = ctx.new_operation(Verb::Restore, summary);
            let changes = DecisionChanges::from_changed(changed);
            receive_decisions(ctx, &*tx, &changes, &mut operation.facts)?;
            let now = operation.at;
            cascade_statuses(ctx, tx, &mut operation.facts, &[], now, None)?;
            planned.record_operation(tx, operation)?;
        }
        Ok(count)
    })
}

/// Removes the files of superseded decisions, unless another branch still has them in force.
///
/// # Errors
/// When decisions are no files here, or git cannot list the branches.
pub fn prune_decisions(ctx: &Context<'_>, dry_run: bool) -> Result<PruneOutcome, Failure> {
    let branches = require_folder(ctx)?.list_other_places()?;
    with_observed_files(ctx, ScanScope::Everything, None, |planned, tx| {
        let mut outcome = PruneOutcome {
            removed: Vec::new(),
            kept: 0,
        };
        let mut operation = ctx.new_operation(Verb::Prune, String::new());
        for known in load_all_decisions(&*tx)?.into_values() {
            let views = view_decisions(&known);
            for one in &known {
                let Some(id) = &one.id else { continue };
                let followers: Vec<&DecisionId> = known
                    .iter()
                    // Only a follower that counts here: one that waits for trust or a signature
                    // replaces nothing yet.
                    .filter(|other| other.counts() && other.decision.supersedes.contains(id))
                    .filter_map(|other| other.id.as_ref())
                    .collect();
                if !one.present || followers.is_empty() {
                    continue;
                }
                // A branch with the old decision and without its follower still rests on it.
                // Removed here, it would be gone there after the merge (law 3).
                let in_force_elsewhere = branches.iter().any(|branch| {
                    branch.contains(id) && !followers.iter().any(|other| branch.contains(other))
                });
                if in_force_elsewhere {
                    outcome.kept += 1;
                    continue;
                }
                planned.put_file(&id.file_path(), None)?;
                let after = KnownDecision {
                    present: false,
                    ..one.clone()
                };
                let key = KnownDecision::record_key(&one.decision.node, id);
                operation
                    .facts
                    .extend(record_changed_fact(&key, Some(one), Some(&after)));
                let view = views.iter().find(|view| view.id == id.to_string());
                outcome.removed.extend(view.cloned());
            }
        }
        if dry_run || outcome.removed.is_empty() {
            // Planned files without an operation would be written after the commit of what was
            // observed.
            planned.discard();
            return Ok(outcome);
        }
        operation.summary = format!("pruned {} superseded decisions", outcome.removed.len());
        planned.record_operation(tx, operation)?;
        Ok(outcome)
    })
}

fn require_folder<'a>(ctx: &Context<'a>) -> Result<&'a dyn DecisionFolder, Failure> {
    ctx.decisions.ok_or_else(|| {
        Failure::new(
            FailureKind::Refused,
            "decisions are not files here: they live in the store (no git repository, a shared store, or git.decisions = \"local\")",
        )
    })
}
