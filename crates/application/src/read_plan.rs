//! Read a plan: its text, its parent's text, and the inconsistencies between the two.

use serde::Serialize;

use crate::approve::collect_plan_warnings;
use crate::context::Context;
use crate::failure::Failure;
use crate::locate::{load_node, load_node_path, load_parent, reject_extra_words};
use crate::observe::observe_node;
use crate::scan::ScanScope;
use crate::views::{NodeView, load_node_view};

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

/// Returns a plan as it is now.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn read_plan(ctx: &Context<'_>, words: &[String]) -> Result<PlanView, Failure> {
    let seen = observe_node(ctx, words, ScanScope::Lineage)?;
    reject_extra_words(seen.rest)?;
    let state = &*seen.state;
    let read = |id| -> Result<PlanText, Failure> {
        let node = load_node_view(state, id)?;
        let text = match node.version_hash {
            Some(version) => state.load_text(version)?,
            None => None,
        };
        Ok(PlanText { node, text })
    };
    let node = load_node(state, seen.id)?;
    let plan = read(seen.id)?;
    let parent = load_parent(state, &node)?
        .map(|parent| read(parent.id))
        .transpose()?;
    let mut lineage: Vec<String> = Vec::new();
    for alias in load_node_path(state, &node)?.split('/') {
        lineage.push(
            lineage
                .last()
                .map_or_else(|| alias.to_owned(), |above| format!("{above}/{alias}")),
        );
    }
    // A store gives one snapshot at a time, and the check below opens its own.
    drop(seen.state);
    // Without both texts there is nothing to compare, and the check would only scan the files a
    // second time.
    let warnings = if plan.text.is_some() && parent.is_some() {
        collect_plan_warnings(ctx, words)?
    } else {
        Vec::new()
    };
    Ok(PlanView {
        plan,
        parent,
        warnings,
        lineage,
    })
}
