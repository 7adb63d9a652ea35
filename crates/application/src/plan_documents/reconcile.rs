//! Compare a frozen plan with the repository.

use std::collections::BTreeSet;

use domain::plan_document::{Reality, Reconciliation, reconcile as compared};
use domain::ports::RepositoryChanges;
use serde::Serialize;

use super::desk::opened;
use crate::context::Context;
use crate::failure::{Failure, FailureKind};

/// The report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Plan and repository agree.
    pub ok: bool,
    pub document: String,
    /// The commit everything is compared with.
    pub since: String,
    #[serde(flatten)]
    pub found: Reconciliation,
    #[serde(skip)]
    pub markdown: String,
}

/// Compares. `since` is a commit; without it, where the repository stood when the plan was frozen.
///
/// # Errors
/// When the plan is not frozen, or there is no repository to compare with.
pub fn reconcile(
    ctx: &Context<'_>,
    document: Option<&str>,
    since: Option<&str>,
    repository: &dyn RepositoryChanges,
) -> Result<Report, Failure> {
    let state = ctx.store.read()?;
    let opened = opened(ctx, &*state, document)?;
    let Some(frozen) = &opened.record.frozen else {
        let what = format!("`{}` is not frozen: there is no moment to compare with", opened.id);
        return Err(Failure::new(FailureKind::Refused, what).step(format!("tl doc freeze --doc {}", opened.id)));
    };
    let unavailable = |why: String| {
        Failure::new(FailureKind::Unavailable, format!("the repository cannot be compared: {why}"))
            .step("git status")
            .step("tl reconcile --since COMMIT")
    };
    let since = match since.map(str::to_owned).or_else(|| frozen.commit.clone()) {
        Some(commit) => commit,
        None => repository.commit_before(frozen.at).map_err(unavailable)?,
    };
    let changed: BTreeSet<String> = repository.changed_since(&since).map_err(unavailable)?;
    let mut reality = Reality { changed, ..Reality::default() };
    for milestone in &opened.plan.milestones {
        // Evidence is kept under the path of the node it proves.
        let prefix = format!("{}/{}", opened.id, milestone.id);
        let records = state.records("evidence", &prefix)?;
        let own = records
            .iter()
            .filter(|(key, _)| key.strip_prefix(&prefix).is_some_and(|rest| !rest.starts_with(char::is_numeric)));
        reality.evidence.insert(milestone.id.clone(), own.count());
    }
    let found = compared(&opened.plan, &reality);
    let markdown = found.in_markdown(&format!("{} ({})", opened.plan.overview.title, opened.id), &since);
    Ok(Report { ok: found.is_clean(), document: opened.id, since, found, markdown })
}
