//! Shows the memory as of a scene: who knows what, and since when.

use domain::memory::knowledge::{StoryMoment, moment_of_story};
use serde::Serialize;

use super::memory_files::{load_memory, observe_memory};
use super::prose_files::observe_prose;
use crate::context::Context;
use crate::failure::Failure;
use crate::generation::material::find_scene_or_parent;
use crate::observe::observe_plans;

/// The story before a node of the plan.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryAt {
    /// Path of the node.
    pub node: String,
    /// Memory ids and titles of the written scenes before it, in order.
    pub scenes: Vec<(String, String)>,
    #[serde(flatten)]
    pub moment: StoryMoment,
}

/// Returns the story right before a node, in the order of the plan.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn memory_at(ctx: &Context<'_>, words: &[String]) -> Result<MemoryAt, Failure> {
    // In this order: prose is compared by the paths of the plans, and its readings change the
    // memory.
    let (_, tree) = observe_plans(ctx)?;
    observe_prose(ctx, &tree)?;
    let state = observe_memory(ctx)?;
    let node = find_scene_or_parent(ctx, &*state, &tree, words)?;
    let memory = load_memory(&*state)?;
    let by_path: std::collections::HashMap<&str, &domain::memory::Scene> = memory
        .scenes()
        .filter_map(|scene| Some((scene.node.as_deref()?, scene)))
        .collect();
    // By the order of the plan, not of writing.
    let before: Vec<&domain::memory::Scene> = tree
        .all_preorder()
        .into_iter()
        .take_while(|other| other.id != node.id)
        .filter_map(|other| by_path.get(tree.alias_path(other).as_str()).copied())
        .collect();
    let earlier: Vec<String> = before.iter().map(|scene| scene.id.clone()).collect();
    Ok(MemoryAt {
        node: tree.alias_path(node),
        scenes: before
            .iter()
            .map(|scene| (scene.id.clone(), scene.title.clone()))
            .collect(),
        moment: moment_of_story(&memory, &earlier),
    })
}
