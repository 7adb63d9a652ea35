//! Records which version of a plan its prose goes with, for prose that no generation wrote.

use domain::fact::Fact;
use domain::node::Node;
use domain::ports::{FileStatResult, Snapshot};
use domain::prose::ProseBasis;
use domain::record::{self, ChangeRecords};

use crate::context::Context;
use crate::failure::Failure;
use crate::tick::story_state::prose_path_below;

/// Adds the version of the plan that the prose goes with: a later change of the plan makes it stale.
pub(crate) fn push_prose_basis(
    state: &dyn Snapshot,
    node: &Node,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    if let Some(plan) = node.content.as_parent_version() {
        let key = node.id.0.to_string();
        let before = record::read_record::<ProseBasis>(state, &key)?;
        facts.change_record(&key, before.as_ref(), Some(&ProseBasis { plan }));
    }
    Ok(())
}

/// Returns whether a node has prose in its file.
pub(crate) fn has_prose(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<bool, Failure> {
    let parent = match node.parent {
        Some(parent) => state.load_node(parent)?,
        None => None,
    };
    let path = prose_path_below(ctx, parent.as_ref(), node);
    Ok(path.is_some_and(|path| matches!(ctx.files.stat_file(&path), FileStatResult::Present(_))))
}
