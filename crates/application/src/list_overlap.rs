//! Overlap of open work: what is under way in which worktree or branch, and which plans would
//! conflict in a merge.

use std::collections::{BTreeMap, BTreeSet};

use domain::ports::OpenBranch;
use domain::profile::locate_plan;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::coordination::load_live_sessions;
use crate::failure::Failure;
use crate::live_sessions::{LiveSessionView, list_other_sessions};

/// Open work in all worktrees and branches.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OverlapView {
    /// Live sessions other than this one.
    pub sessions: Vec<LiveSessionView>,
    /// Files that several live sessions changed.
    pub shared_files: Vec<SharedFileView>,
    /// Worktrees, and branches that changed plans.
    pub branches: Vec<OpenBranchView>,
    /// Plans that would conflict in a merge.
    pub conflicts: Vec<PredictedConflictView>,
    /// What could not be found out, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// A file that several live sessions changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SharedFileView {
    pub file: String,
    pub sessions: Vec<String>,
}

/// A worktree, or a branch that changed plans.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OpenBranchView {
    /// The branch, or `detached at COMMIT`.
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// Whether it is checked out here.
    pub here: bool,
    /// The plans it changed since it left the commit that is checked out here.
    pub plans: Vec<String>,
}

/// Plans that conflict in a merge of two branches.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PredictedConflictView {
    pub branch: String,
    pub with: String,
    pub plans: Vec<String>,
}

/// Maximum number of branches compared: each pair costs a `git` process.
const MAX_BRANCHES: usize = 12;

/// Lists open work.
///
/// # Errors
/// When the state cannot be read. Problems of git are part of the answer.
pub fn list_overlap(ctx: &Context<'_>) -> Result<OverlapView, Failure> {
    let state = ctx.store.begin_read()?;
    let sessions = list_other_sessions(ctx, &*state)?;
    let mut touching: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for one in load_live_sessions(ctx, &*state)? {
        for file in one.touched {
            touching
                .entry(file)
                .or_default()
                .insert(one.session.clone());
        }
    }
    // Before git is asked, which may take seconds: an open snapshot keeps the database from being
    // checkpointed.
    drop(state);
    let shared_files = touching
        .into_iter()
        .filter(|(_, sessions)| sessions.len() > 1)
        .map(|(file, sessions)| SharedFileView {
            file,
            sessions: sessions.into_iter().collect(),
        })
        .collect();
    let mut problems = Vec::new();
    let branches = ctx
        .git
        .list_open_branches(MAX_BRANCHES)
        .unwrap_or_else(|fault| {
            problems.push(Failure::from(fault).message);
            Vec::new()
        });
    let conflicts = predict_conflicts(ctx, &branches, &mut problems);
    let branches = branches
        .into_iter()
        .filter_map(|one| {
            let plans = keep_plans(ctx, &one.changed);
            // A branch of code alone cannot conflict with a plan; a worktree is shown because a
            // session may work there.
            (one.worktree.is_some() || !plans.is_empty()).then(|| OpenBranchView {
                name: branch_name(&one),
                worktree: one.worktree,
                here: one.is_here,
                plans,
            })
        })
        .collect();
    Ok(OverlapView {
        sessions,
        shared_files,
        branches,
        conflicts,
        problems,
    })
}

/// Predicts the conflicts between all branches that changed plans, and with the one checked out
/// here.
fn predict_conflicts(
    ctx: &Context<'_>,
    branches: &[OpenBranch],
    problems: &mut Vec<String>,
) -> Vec<PredictedConflictView> {
    let open: Vec<&OpenBranch> = branches
        .iter()
        .filter(|one| one.is_here || !keep_plans(ctx, &one.changed).is_empty())
        .take(MAX_BRANCHES)
        .collect();
    let mut found = Vec::new();
    for (index, one) in open.iter().enumerate() {
        for other in open.iter().skip(index + 1) {
            if one.commit == other.commit {
                continue;
            }
            match ctx.git.predict_conflicts(&one.commit, &other.commit) {
                Ok(files) => {
                    let plans = keep_plans(ctx, &files);
                    if !plans.is_empty() {
                        found.push(PredictedConflictView {
                            branch: branch_name(one),
                            with: branch_name(other),
                            plans,
                        });
                    }
                }
                Err(fault) => {
                    // The same for every pair: git is too old, or cannot be hardened here.
                    problems.push(Failure::from(fault).message);
                    return found;
                }
            }
        }
    }
    found
}

/// Returns the files that are plans.
fn keep_plans(ctx: &Context<'_>, files: &[String]) -> Vec<String> {
    files
        .iter()
        .filter(|file| locate_plan(ctx.profiles, file).is_some())
        .cloned()
        .collect()
}

fn branch_name(one: &OpenBranch) -> String {
    match &one.branch {
        Some(branch) => branch.clone(),
        None => format!("detached at {}", one.commit.get(..8).unwrap_or(&one.commit)),
    }
}
