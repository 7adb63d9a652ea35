//! The page of one plan: text, parent, explanation of its status, versions, evidence, comments, log.
//!
//! Everything comes from one snapshot, after one scan of the files the plan depends on, so that no
//! part of a page is older than another.

use domain::ids::NodeId;
use domain::node::{Node, Status};
use domain::ports::{FileReadResult, Snapshot};
use domain::search::split_words;
use serde::Serialize;

use crate::approval_question::{ApprovalQuestion, build_question_on};
use crate::comment::{CommentView, load_comments};
use crate::context::Context;
use crate::creatable_levels::can_have_created_child;
use crate::diff_version::load_version_diff;
use crate::evidence::{EvidenceView, build_evidence_view};
use crate::explain::{Explanation, explain_node};
use crate::failure::Failure;
use crate::history::load_history;
use crate::invalidate::list_settled_below;
use crate::list_versions::{VersionView, load_version_views};
use crate::locate::{load_node, load_parent, reject_extra_words};
use crate::node_family::{NodeFamily, load_family};
use crate::observe::observe_node;
use crate::plan_warnings::{WarningCollector, collect_warnings};
use crate::scan::ScanScope;
use crate::tick::story_state::{MAX_PROSE_BYTES, prose_path_below};
use crate::views::{DiffView, NodeView, OperationView, load_node_view};

/// A plan with its text.
#[derive(Clone, Debug, Serialize)]
pub struct PlanText {
    #[serde(flatten)]
    pub node: NodeView,
    pub text: Option<String>,
}

/// A plan and its parent.
#[derive(Clone, Debug, Serialize)]
pub struct PlanView {
    #[serde(flatten)]
    pub plan: PlanText,
    pub parent: Option<PlanText>,
    /// Consistency warnings against the parent.
    pub warnings: Vec<String>,
    /// The paths from the root down to the node itself.
    pub lineage: Vec<String>,
}

/// A plan with everything known about it.
#[derive(Clone, Debug, Serialize)]
pub struct NodePage {
    #[serde(flatten)]
    pub plan: PlanView,
    /// The plans around it, for the page alone.
    #[serde(skip)]
    pub family: NodeFamily,
    /// What a decision about it is asked for; `None` if it is approved or has no text.
    #[serde(skip)]
    pub question: Option<ApprovalQuestion>,
    /// The plans below that become stale when it is rejected.
    #[serde(skip)]
    pub falls_below: Vec<String>,
    /// Why it is stale or invalid; `None` if it is neither.
    pub why: Option<Explanation>,
    pub versions: Vec<VersionView>,
    /// Only if something is declared.
    pub evidence: Option<EvidenceView>,
    pub comments: Vec<CommentView>,
    /// The latest operations.
    pub log: Vec<OperationView>,
    /// Number of words of its prose, where it has some.
    #[serde(skip)]
    pub prose_words: Option<usize>,
    /// Whether a plan can be created below it.
    #[serde(skip)]
    pub can_have_children: bool,
    /// The requested diff, for the page alone.
    #[serde(skip)]
    pub compared: Option<DiffView>,
}

/// Maximum number of operations shown with a plan.
const MAX_LOG_ENTRIES: usize = 20;

/// Returns the page of a plan, with the diff from the version `compared` to the present text.
///
/// # Errors
/// When there is no such node or version, or the state cannot be read.
pub fn load_node_page(
    ctx: &Context<'_>,
    words: &[String],
    compared: Option<&str>,
) -> Result<NodePage, Failure> {
    let seen = observe_node(ctx, words, ScanScope::Lineage)?;
    reject_extra_words(seen.rest)?;
    let state = &*seen.state;
    let node = load_node(state, seen.id)?;
    Ok(NodePage {
        plan: load_plan_view(ctx, state, &node)?,
        family: load_family(ctx, state, &node)?,
        question: match (node.status(), node.content.version_hash()) {
            (Status::Approved, _) | (_, None) => None,
            _ => Some(build_question_on(
                ctx,
                state,
                &node,
                &mut WarningCollector::new(ctx),
            )?),
        },
        falls_below: list_settled_below(state, node.id)?,
        // The explanation reads the whole chain of parents; only these two need one.
        why: match node.status() {
            Status::RequiresRevalidation | Status::Invalid => {
                Some(explain_node(ctx, state, &node)?)
            }
            Status::Draft | Status::Approved => None,
        },
        versions: load_version_views(ctx, state, &node)?,
        // A proof that cannot be judged, such as one with unreadable inputs, must not hide the
        // plan.
        evidence: build_evidence_view(ctx, state, node.id, None)
            .ok()
            .filter(|evidence| !evidence.proofs.is_empty()),
        comments: load_comments(ctx, state, Some(node.id))?,
        log: load_history(state, Some(node.id), MAX_LOG_ENTRIES, None)?,
        prose_words: count_prose_words(ctx, state, &node)?,
        can_have_children: can_have_created_child(ctx, &node),
        // Only on request: it reads two texts from the store.
        compared: compared
            .map(|version| load_version_diff(ctx, state, &node, version))
            .transpose()?,
    })
}

fn count_prose_words(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Option<usize>, Failure> {
    let parent = load_parent(state, node)?;
    let Some(path) = prose_path_below(ctx, parent.as_ref(), node) else {
        return Ok(None);
    };
    // From the file: people write and edit prose by hand as well.
    Ok(match ctx.files.read_file(&path, MAX_PROSE_BYTES) {
        FileReadResult::Text { text, .. } => Some(split_words(&text).len()),
        _ => None,
    })
}

fn load_plan_view(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<PlanView, Failure> {
    let parent = load_parent(state, node)?;
    let plan = load_plan_text(state, node.id)?;
    let mut lineage: Vec<String> = Vec::new();
    for alias in plan.node.path.split('/') {
        lineage.push(
            lineage
                .last()
                .map_or_else(|| alias.to_owned(), |above| format!("{above}/{alias}")),
        );
    }
    Ok(PlanView {
        warnings: collect_warnings(ctx, state, node, parent.as_ref())?,
        parent: parent
            .map(|parent| load_plan_text(state, parent.id))
            .transpose()?,
        plan,
        lineage,
    })
}

fn load_plan_text(state: &dyn Snapshot, id: NodeId) -> Result<PlanText, Failure> {
    let node = load_node_view(state, id)?;
    let text = match node.version_hash {
        Some(version) => state.load_text(version)?,
        None => None,
    };
    Ok(PlanText { node, text })
}
