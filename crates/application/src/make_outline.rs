//! Make an outline of the plans, or of a part of them, as one document.

use domain::ids::NodeId;
use domain::outline::{Outline, OutlineEntry, read_synopsis};
use domain::ports::{Snapshot, StoreFault};
use domain::record;
use domain::tick::TickState;
use domain::tree::Tree;

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::find_subtree_root;
use crate::observe::observe_plans;

/// Request of [`make_outline`].
#[derive(Clone, Debug, Default)]
pub struct OutlineRequest {
    /// The node at the top; all plans if empty.
    pub node: Vec<String>,
    /// Levels below the top; all of them without a number.
    pub depth: Option<usize>,
    /// Whether the whole texts are given instead of synopses.
    pub full: bool,
}

/// Makes the outline.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn make_outline(ctx: &Context<'_>, request: &OutlineRequest) -> Result<Outline, Failure> {
    let (state, tree) = observe_plans(ctx)?;
    let top = find_subtree_root(ctx, &*state, &request.node)?;
    let mut outline = Outline {
        title: outline_title(&*state, &tree, top)?,
        entries: Vec::new(),
    };
    let nodes = match top {
        Some(top) => tree.subtree_preorder(top),
        None => tree.all_preorder(),
    };
    let base = top
        .and_then(|top| tree.get(top))
        .map_or(0, |node| tree.ancestors(node).len());
    for node in nodes.into_iter().filter(|node| node.path.is_some()) {
        let depth = tree.ancestors(node).len().saturating_sub(base);
        if request.depth.is_some_and(|most| depth > most) {
            continue;
        }
        let text = match node.content.version_hash() {
            Some(version) => state.load_text(version)?,
            None => None,
        };
        outline.entries.push(OutlineEntry {
            depth,
            path: tree.alias_path(node),
            level: node.level.clone(),
            title: node.description.title.clone(),
            synopsis: text.as_deref().and_then(read_synopsis),
            status: node.status(),
            progress: node.progress,
            text: text.filter(|_| request.full),
        });
    }
    Ok(outline)
}

/// Returns the title: that of the top node, of the novel, or a word for all plans.
fn outline_title(
    state: &dyn Snapshot,
    tree: &Tree,
    top: Option<NodeId>,
) -> Result<String, StoreFault> {
    if let Some(node) = top.and_then(|top| tree.get(top)) {
        let path = tree.alias_path(node);
        return Ok(node.description.title.clone().unwrap_or(path));
    }
    let novel = record::read_record::<TickState>(state, TickState::KEY)?;
    Ok(novel
        .and_then(|novel| novel.novel)
        .unwrap_or_else(|| "Outline".to_owned()))
}
