//! Where a frozen plan came into the history of HEAD: what it was frozen with, and the commit from which
//! its changes count.
//!
//! The record of a freeze stays in the state it was made in. Every other worktree and clone has the
//! history alone.

use domain::plan_document::{Plan, document_file_path, read_plan};
use domain::ports::{FileCommit, RepositoryChanges};

/// The commit that brought the frozen plan, and what it has.
#[derive(Clone, Debug)]
pub(crate) struct FreezeOrigin {
    /// What the changes of the plan are compared with; `None` if the history does not reach back to it.
    pub(crate) base: Option<String>,
    /// The frozen `plan.json`.
    pub(crate) plan: String,
    /// The `context.json` it was designed with.
    pub(crate) context: Option<String>,
}

impl FreezeOrigin {
    /// Whether a text is the frozen one; git may have converted its line endings.
    pub(crate) fn is_frozen_text(&self, text: &str) -> bool {
        normalize_lines(text) == normalize_lines(&self.plan)
    }
}

fn normalize_lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Finds the commit that brought the frozen plan of a document; `None` if HEAD has none.
pub(crate) fn find_freeze_origin(
    repository: &dyn RepositoryChanges,
    id: &str,
) -> Option<FreezeOrigin> {
    let path = document_file_path(id, "plan.json");
    let mut origin: Option<(FileCommit, String, Plan)> = None;
    // Backwards as long as it is the frozen plan: a later edit of it does not count, even if committed.
    for commit in repository.commits_of_file(&path).ok()? {
        let Some((text, plan)) = read_frozen(repository, &commit, &path) else {
            break;
        };
        if origin
            .as_ref()
            .is_some_and(|(_, _, later)| later.plan_id != plan.plan_id)
        {
            break;
        }
        origin = Some((commit, text, plan));
    }
    let (commit, plan, _) = origin?;
    let context = document_file_path(id, "context.json");
    Some(FreezeOrigin {
        context: repository
            .read_committed_file(&commit.commit, &context)
            .ok(),
        base: commit.before,
        plan,
    })
}

fn read_frozen(
    repository: &dyn RepositoryChanges,
    commit: &FileCommit,
    path: &str,
) -> Option<(String, Plan)> {
    let text = repository.read_committed_file(&commit.commit, path).ok()?;
    let plan = read_plan(&text).ok()?;
    plan.frozen_at.is_some().then_some((text, plan))
}
