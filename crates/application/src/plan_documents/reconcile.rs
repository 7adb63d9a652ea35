//! Compares a frozen plan with the changes in the repository.

use std::collections::{BTreeSet, HashSet};

use domain::fact::Fact;
use domain::ids::NodeId;
use domain::node::{Node, Progress};
use domain::plan_document::{
    DocumentRecord, FreezeRecord, MILESTONES_PROFILE, Reconciliation, RepositoryState,
    UnchangedIntent, compare_with_repository as compared, list_test_files,
};
use domain::ports::{FileStatResult, RepositoryChanges, Snapshot};
use domain::record::{read_record, read_records};
use domain::work::completion::{CompletionGap, describe_gaps};
use domain::work::evidence::ProofStatus;
use domain::work::uncommitted::{is_excluded, is_exempt};
use serde::Serialize;

use super::document_files::{OpenedDocument, find_and_open, open_document};
use super::freeze_origin::find_freeze_origin;
use super::take_over::read_documents;
use crate::context::{Context, Notice};
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
    let state = read_documents(ctx, document)?;
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
    let (since, changed) = list_changed_files(ctx, (&opened.id, frozen), since, repository)?;
    let mut reality = RepositoryState {
        changed,
        ..RepositoryState::default()
    };
    for milestone in &opened.plan.milestones {
        let tests = milestone.tests.files.iter();
        let missing = tests.filter(|file| is_file_missing(ctx, file));
        reality.missing_tests.extend(missing.cloned());
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
    (document, frozen): (&str, &FreezeRecord),
    since: Option<&str>,
    repository: &dyn RepositoryChanges,
) -> Result<(String, BTreeSet<String>), Failure> {
    let unavailable = |why: String| {
        Failure::unavailable(format!("the repository cannot be compared: {why}"))
            .with_step("git status")
            .with_step("tl doc reconcile --since COMMIT")
    };
    // No HEAD was recorded by a freeze before the first commit, or in a state that did not know the
    // commit yet.
    let of_history = || find_freeze_origin(repository, document)?.base;
    let recorded = || frozen.commit.clone().or_else(of_history);
    let since = match since.map(str::to_owned).or_else(recorded) {
        Some(commit) => commit,
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

/// Returns the intents of a document, of a milestone, or the intent itself, whose file is as it was at the
/// freeze. Empty for other nodes, without a repository, and where it cannot be compared.
pub(crate) fn list_unchanged_intents(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    path: &str,
) -> Result<Vec<UnchangedIntent>, Failure> {
    if node.profile != MILESTONES_PROFILE {
        return Ok(Vec::new());
    }
    let document = path.split('/').next().unwrap_or_default();
    let mut unchanged = list_document_intents(ctx, state, document)?;
    if node.parent.is_some() {
        unchanged.retain(|one| one.milestone == node.alias || one.intent == node.alias);
    }
    Ok(unchanged)
}

/// Returns the intents of a frozen document whose files are as they were at the freeze.
fn list_document_intents(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    document: &str,
) -> Result<Vec<UnchangedIntent>, Failure> {
    let (Some(repository), Some(record)) = (
        ctx.git.repository_changes(),
        read_record::<DocumentRecord>(state, document)?,
    ) else {
        return Ok(Vec::new());
    };
    let Some(frozen) = record.frozen.clone() else {
        return Ok(Vec::new());
    };
    // A plan that was changed outside, or a commit that is gone, is reported by every command about
    // the document; here there is nothing to compare with.
    let (Ok(opened), Ok((_, changed))) = (
        open_document(ctx, state, document.to_owned(), record),
        list_changed_files(ctx, (document, &frozen), None, repository),
    ) else {
        return Ok(Vec::new());
    };
    let reality = RepositoryState {
        changed,
        ..RepositoryState::default()
    };
    Ok(compared(&opened.plan, &reality).intents_without_changes)
}

/// Returns the nodes that facts complete.
pub(crate) fn list_completed(facts: &[Fact]) -> HashSet<NodeId> {
    let completed = facts.iter().filter_map(|fact| match fact {
        Fact::ProgressChanged {
            node,
            after: Progress::Complete,
            ..
        } => Some(*node),
        _ => None,
    });
    completed.collect()
}

/// Reports milestones among nodes that another session called complete, although their intents are not
/// carried out in the files here. They count as complete all the same, as in every other clone.
pub(crate) fn report_unchanged_intents(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    nodes: &HashSet<NodeId>,
) -> Result<(), Failure> {
    if nodes.is_empty() {
        return Ok(());
    }
    // By document and not by node: a fresh clone completes thousands of other nodes.
    for (document, record) in read_records::<DocumentRecord>(state, "")? {
        let mut completed = state.load_children(record.node)?;
        completed.retain(|node| nodes.contains(&node.id));
        if completed.is_empty() {
            continue;
        }
        let unchanged = list_document_intents(ctx, state, &document)?;
        for node in completed {
            let of_node = unchanged.iter().filter(|one| one.milestone == node.alias);
            let gaps: Vec<CompletionGap> = of_node
                .map(|one| CompletionGap::UnchangedIntent {
                    intent: one.intent.clone(),
                    file: one.file.clone(),
                })
                .collect();
            if !gaps.is_empty() {
                let node = format!("{document}/{}", node.alias);
                let why = describe_gaps(&node, &gaps);
                ctx.push_notice(Notice::NotCarriedOut { node, why });
            }
        }
    }
    Ok(())
}

/// Returns the test files that a milestone names and that are missing or empty; none for other nodes.
pub(crate) fn list_missing_tests(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Vec<String>, Failure> {
    if node.profile != MILESTONES_PROFILE || node.level != "milestone" {
        return Ok(Vec::new());
    }
    let text = match node.content.version_hash() {
        Some(version) => state.load_text(version)?.unwrap_or_default(),
        None => String::new(),
    };
    let mut files = list_test_files(&text);
    files.retain(|file| is_file_missing(ctx, file));
    Ok(files)
}

/// Whether there is no file at a path, or an empty one.
fn is_file_missing(ctx: &Context<'_>, path: &str) -> bool {
    match ctx.files.stat_file(path) {
        FileStatResult::Present(stamp) => stamp.size == 0,
        FileStatResult::Missing => ctx.files.list_folder(path).is_empty(),
        FileStatResult::Refused(_) | FileStatResult::Unavailable(_) => false,
    }
}
