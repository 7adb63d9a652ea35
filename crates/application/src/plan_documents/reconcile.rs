//! Compares a frozen plan with the changes in the repository.

use std::collections::BTreeSet;

use domain::node::Node;
use domain::plan_document::{
    DocumentRecord, FreezeRecord, MILESTONES_PROFILE, Reconciliation, RepositoryState,
    UnchangedIntent, compare_with_repository as compared,
};
use domain::ports::{RepositoryChanges, Snapshot};
use domain::record::read_record;
use domain::work::evidence::ProofStatus;
use domain::work::uncommitted::{is_excluded, is_exempt};
use serde::Serialize;

use super::document_files::{OpenedDocument, find_and_open, open_document};
use crate::context::Context;
use crate::evidence::judge_node;
use crate::failure::Failure;

/// The reconciliation report.
#[derive(Clone, Debug, Serialize)]
pub struct ReconcileReport {
    /// Whether plan and repository agree.
    pub ok: bool,
    pub document: String,
    /// The commit the repository is compared with.
    pub since: String,
    #[serde(flatten)]
    pub found: Reconciliation,
    #[serde(skip)]
    pub markdown: String,
}

/// Compares the plan with the changes since a commit: the given one, or the HEAD at the freeze.
///
/// # Errors
/// When the plan is not frozen, or there is no repository to compare with.
pub fn reconcile_plan(
    ctx: &Context<'_>,
    document: Option<&str>,
    since: Option<&str>,
) -> Result<ReconcileReport, Failure> {
    let repository = ctx.git.repository_changes().ok_or_else(|| {
        Failure::unavailable("the repository cannot be compared: there is no git repository")
    })?;
    let state = ctx.store.begin_read()?;
    let opened = find_and_open(ctx, &*state, document)?;
    // An unfrozen plan still changes, so deviations from it mean nothing.
    let Some(frozen) = &opened.record.frozen else {
        let what = format!(
            "`{}` is not frozen: there is no moment to compare with",
            opened.id
        );
        return Err(Failure::refused(what).with_step(format!("tl doc freeze --doc {}", opened.id)));
    };
    let (since, found) = compare_opened(ctx, &*state, &opened, frozen, since, repository)?;
    let markdown = found.render_markdown(
        &format!("{} ({})", opened.plan.overview.title, opened.id),
        &since,
    );
    Ok(ReconcileReport {
        ok: found.is_clean(),
        document: opened.id,
        since,
        found,
        markdown,
    })
}

/// Compares an opened plan with the repository; also returns the commit it is compared with.
pub(crate) fn compare_opened(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    opened: &OpenedDocument,
    frozen: &FreezeRecord,
    since: Option<&str>,
    repository: &dyn RepositoryChanges,
) -> Result<(String, Reconciliation), Failure> {
    let (since, changed) = list_changed_files(ctx, frozen, since, repository)?;
    let mut reality = RepositoryState {
        changed,
        ..RepositoryState::default()
    };
    for milestone in &opened.plan.milestones {
        let node = state
            .children_by_alias(opened.record.node, &milestone.id)?
            .into_iter()
            .next();
        let proofs = node
            .map(|node| judge_node(ctx, state, &node))
            .transpose()?
            .unwrap_or_default();
        // One stale or failed proof invalidates the milestone's evidence.
        let holds = proofs
            .iter()
            .all(|(_, standing)| *standing == ProofStatus::Fresh);
        reality
            .evidence
            .insert(milestone.id.clone(), if holds { proofs.len() } else { 0 });
    }
    Ok((since, compared(&opened.plan, &reality)))
}

/// Returns the commit to compare with, and the files of the project that changed since.
fn list_changed_files(
    ctx: &Context<'_>,
    frozen: &FreezeRecord,
    since: Option<&str>,
    repository: &dyn RepositoryChanges,
) -> Result<(String, BTreeSet<String>), Failure> {
    let unavailable = |why: String| {
        Failure::unavailable(format!("the repository cannot be compared: {why}"))
            .with_step("git status")
            .with_step("tl doc reconcile --since COMMIT")
    };
    let since = match since.map(str::to_owned).or_else(|| frozen.commit.clone()) {
        Some(commit) => commit,
        // No HEAD was recorded at the freeze: no repository, or no commit yet.
        None => repository.commit_before(frozen.at).map_err(unavailable)?,
    };
    let changed: BTreeSet<String> = repository
        .changed_files_since(&since)
        .map_err(unavailable)?;
    let is_part = |path: &String| {
        !is_exempt(ctx.profiles, path) && !is_excluded(path, &ctx.policy.gates.loc_exclude)
    };
    // Plans and generated files follow from something else.
    Ok((since, changed.into_iter().filter(is_part).collect()))
}

/// Returns the intents of a milestone, or the intent itself, whose file is as it was at the freeze.
/// Empty for other nodes, without a repository, and where it cannot be compared.
pub(crate) fn list_unchanged_intents(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    path: &str,
) -> Result<Vec<UnchangedIntent>, Failure> {
    let document = path.split('/').next().unwrap_or_default();
    if node.profile != MILESTONES_PROFILE || document == path {
        return Ok(Vec::new());
    }
    let (Some(repository), Some(record)) = (
        ctx.git.repository_changes(),
        read_record::<DocumentRecord>(state, document)?,
    ) else {
        return Ok(Vec::new());
    };
    // A freeze without its commit came with a clone: its time alone does not say what the files were.
    let Some(frozen) = record.frozen.clone().filter(|it| it.commit.is_some()) else {
        return Ok(Vec::new());
    };
    // A plan that was changed outside, or a commit that is gone, is reported by every command about
    // the document; here there is nothing to compare with.
    let (Ok(opened), Ok((_, changed))) = (
        open_document(ctx, state, document.to_owned(), record),
        list_changed_files(ctx, &frozen, None, repository),
    ) else {
        return Ok(Vec::new());
    };
    let reality = RepositoryState {
        changed,
        ..RepositoryState::default()
    };
    let mut unchanged = compared(&opened.plan, &reality).intents_without_changes;
    unchanged.retain(|one| one.milestone == node.alias || one.intent == node.alias);
    Ok(unchanged)
}
