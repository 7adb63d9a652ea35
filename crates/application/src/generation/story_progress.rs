//! Decides how the story goes on: the next scene to write, or why a person is needed.

use domain::approval::approval_next_step;
use domain::generation::{Generation, GenerationStatus};
use domain::node::{Node, Progress, Status};
use domain::record;
use schemars::JsonSchema;
use serde::Serialize;

use super::material::find_scene_or_parent;
use crate::context::Context;
use crate::failure::Failure;
use crate::submit::observe_submitted_plans;
use crate::tick::story_state::prose_path;

/// How the story goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "next")]
pub enum StoryStep {
    /// An approved blueprint is not written yet.
    Write {
        scene: String,
        /// Whether a generation is under way, which was planned before.
        is_started: bool,
    },
    /// The next scene in the order of the plan waits for a person.
    NeedsPerson {
        scene: String,
        why: String,
        next_step: String,
    },
    /// Everything is written that was asked for.
    Written,
}

/// Returns how the story goes on, up to and including everything below `until`.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn next_story_step(ctx: &Context<'_>, until: &[String]) -> Result<StoryStep, Failure> {
    let (state, tree) = observe_submitted_plans(ctx)?;
    let last = if until.is_empty() {
        None
    } else {
        let top = find_scene_or_parent(ctx, &*state, &tree, until)?;
        tree.subtree_preorder(top.id).last().map(|node| node.id)
    };
    for node in tree.all_preorder() {
        if prose_path(ctx, &tree, node).is_some() {
            let known =
                record::read_record::<Generation>(&*state, &Generation::record_key(node.id))?;
            if let Some(step) = step_of_scene(ctx, node, &tree.alias_path(node), known) {
                return Ok(step);
            }
        }
        if Some(node.id) == last {
            break;
        }
    }
    Ok(StoryStep::Written)
}

/// Returns what a scene needs; `None` if it is written.
fn step_of_scene(
    ctx: &Context<'_>,
    node: &Node,
    path: &str,
    known: Option<Generation>,
) -> Option<StoryStep> {
    let current = known.filter(|known| Some(known.blueprint) == node.content.canonical_hash());
    let status = current.as_ref().map(|known| known.status);
    let needs_person = |why: String, next_step: String| {
        Some(StoryStep::NeedsPerson {
            scene: path.to_owned(),
            why,
            next_step,
        })
    };
    match status {
        Some(GenerationStatus::Complete) => return None,
        Some(GenerationStatus::Held) => {
            let next = format!("tl story generation status {path}");
            return needs_person(
                format!("`{path}` is held: its findings need a decision"),
                next,
            );
        }
        Some(GenerationStatus::Cancelled) => {
            let next = format!("tl story write {path}");
            return needs_person(format!("the generation of `{path}` was cancelled"), next);
        }
        Some(GenerationStatus::Running | GenerationStatus::Failed) | None => {}
    }
    // Prose by hand, which nobody asked to replace.
    if status.is_none() && node.progress == Progress::Complete {
        return None;
    }
    match node.status() {
        Status::Approved => Some(StoryStep::Write {
            scene: path.to_owned(),
            is_started: status.is_some(),
        }),
        Status::RequiresRevalidation => needs_person(
            format!("the blueprint of `{path}` is stale: the plan above it changed"),
            format!("tl revalidate {path}"),
        ),
        other => needs_person(
            format!("the blueprint of `{path}` is `{other}`, not approved"),
            approval_next_step(path, ctx.policy.approval, &ctx.actor),
        ),
    }
}
