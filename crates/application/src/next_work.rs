//! What is ready to be worked on.

use domain::needs::{Needs, ready};
use domain::node::{Node, Progress};
use domain::profile::Profile;
use domain::tree::Tree;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observed_tree;

/// The ready queue.
#[derive(Clone, Debug, Serialize)]
pub struct NextWork {
    pub ready: Vec<ReadyView>,
    /// `needs` entries that were not taken, each with the reason.
    pub problems: Vec<String>,
}

/// A node that can be worked on now.
#[derive(Clone, Debug, Serialize)]
pub struct ReadyView {
    pub entity_id: String,
    pub entity_type: String,
    pub path: String,
    pub title: Option<String>,
    pub progress: Progress,
    /// What to do with it.
    pub action: String,
}

/// Returns what is ready, in the order of the tree.
///
/// # Errors
/// When the state cannot be read.
pub fn next_work(ctx: &Context<'_>) -> Result<NextWork, Failure> {
    let (_, tree) = observed_tree(ctx)?;
    let needs = Needs::of(&tree, ctx.profiles);
    let ready = ready(&tree, &needs)
        .into_iter()
        .map(|node| ReadyView {
            entity_id: node.alias.clone(),
            entity_type: node.level.clone(),
            path: tree.path(node),
            title: node.description.title.clone(),
            progress: node.progress,
            action: action(ctx.profile(&node.profile), &tree, node),
        })
        .collect();
    Ok(NextWork { ready, problems: needs.problems.iter().map(ToString::to_string).collect() })
}

/// A node with planned levels below is planned on; one at the bottom is carried out.
fn action(profile: Option<&Profile>, tree: &Tree, node: &Node) -> String {
    let below =
        profile.and_then(|profile| profile.levels_under(&node.level).find(|level| level.file.is_some() && !level.root));
    let path = tree.path(node);
    let has_children = tree.children(node.id).next().is_some();
    match below {
        Some(level) if !has_children => {
            let number = u32::try_from(node.order).ok();
            let id = level.alias.numbered(1, number).unwrap_or_else(|| "NAME".to_owned());
            format!("tl plan {} {id} --under {path}", level.name)
        }
        Some(_) => format!("tl progress {path} complete"),
        None => format!("carry it out, then: tl progress {path} complete"),
    }
}
