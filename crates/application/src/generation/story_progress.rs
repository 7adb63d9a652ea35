//! Decides how the story goes on: the next scene to write, or why a person is needed.

use domain::approval::approval_next_step;
use domain::generation::{Generation, GenerationStatus, GenerationStep};
use domain::node::{Node, Progress, Status};
use domain::ports::Snapshot;
use domain::record;
use domain::tick::{TickRecord, TickState, TickStatus};
use domain::tree::Tree;
use schemars::JsonSchema;
use serde::Serialize;

use super::material::{MAX_SEARCHED_TICKS, find_scene_or_parent};
use super::start_generation::{find_missing_prose, is_written_by_hand};
use crate::approval_need::decision_next_step;
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
        /// Whether a generation is under way.
        is_started: bool,
        /// Whether a tick has prepared it.
        is_planned: bool,
    },
    /// Drafts that the policy lets the run approve, parents first.
    Approve { nodes: Vec<String> },
    /// The next scene in the order of the plan waits for a person.
    NeedsPerson {
        scene: String,
        why: String,
        next_step: String,
    },
    /// Everything is written that was asked for: the whole plan, or up to a node.
    Written { until: Option<String> },
}

/// Returns how the story goes on, up to and including everything below `until`.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn next_story_step(ctx: &Context<'_>, until: &[String]) -> Result<StoryStep, Failure> {
    let (state, tree) = observe_submitted_plans(ctx)?;
    let top = match until.is_empty() {
        true => None,
        false => Some(find_scene_or_parent(ctx, &*state, &tree, until)?),
    };
    // The last node of the subtree in preorder: everything before it in the book is written first.
    let last = top.and_then(|top| tree.subtree_preorder(top.id).last().map(|node| node.id));
    for node in tree.all_preorder() {
        if prose_path(ctx, &tree, node).is_some() {
            let known =
                record::read_record::<Generation>(&*state, &Generation::record_key(node.id))?;
            match step_of_scene(ctx, &tree, node, known) {
                Some(StoryStep::Write {
                    scene, is_started, ..
                }) => {
                    let is_planned = is_started || is_scene_planned(&*state, &scene)?;
                    return Ok(StoryStep::Write {
                        scene,
                        is_started,
                        is_planned,
                    });
                }
                // Only where the policy lets anyone approve: under `human` the run stops at the
                // first draft.
                Some(StoryStep::NeedsPerson { .. }) if may_approve(ctx, node) => {
                    return Ok(StoryStep::Approve {
                        nodes: list_drafts(&tree, node),
                    });
                }
                Some(step) => return Ok(step),
                None => {}
            }
        }
        if Some(node.id) == last {
            break;
        }
    }
    Ok(StoryStep::Written {
        until: top.map(|top| tree.alias_path(top)),
    })
}

/// Whether the run approves a draft by itself: the policy says so, and anyone may approve.
fn may_approve(ctx: &Context<'_>, node: &Node) -> bool {
    ctx.policy.generation.approve_drafts
        && !ctx.policy.approval.requires_person()
        && node.status() == Status::Draft
        && node.content.version_hash().is_some()
}

/// Returns the drafts from the root down to a node.
fn list_drafts(tree: &Tree, node: &Node) -> Vec<String> {
    let mut nodes = Vec::new();
    let mut next = Some(node);
    while let Some(node) = next {
        if node.status() != Status::Approved {
            nodes.push(tree.alias_path(node));
        }
        next = tree.parent_of(node);
    }
    nodes.reverse();
    nodes
}

/// Whether one of the last ticks prepared a scene.
fn is_scene_planned(state: &dyn Snapshot, scene: &str) -> Result<bool, Failure> {
    let current = record::read_record::<TickState>(state, TickState::KEY)?
        .unwrap_or_default()
        .current_tick;
    for tick in (1..=current).rev().take(MAX_SEARCHED_TICKS) {
        let known = record::read_record::<TickRecord>(state, &TickRecord::record_key(tick))?;
        let is_this =
            |it: &TickRecord| it.status == TickStatus::Done && it.scene.as_deref() == Some(scene);
        if known.as_ref().is_some_and(is_this) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns what a scene needs; `None` if it is written.
fn step_of_scene(
    ctx: &Context<'_>,
    tree: &Tree,
    node: &Node,
    known: Option<Generation>,
) -> Option<StoryStep> {
    let path = &tree.alias_path(node);
    // Prose by hand, which nobody asked to replace.
    if known.is_none() && is_written_by_hand(ctx, tree, node) {
        return None;
    }
    // A generation of another blueprint says nothing about this one: the scene is written again.
    let current = known.filter(|known| Some(known.blueprint) == node.content.canonical_hash());
    let status = current.as_ref().map(|known| known.status);
    let needs_person = |why: String, next_step: String| {
        Some(StoryStep::NeedsPerson {
            scene: path.clone(),
            why,
            next_step,
        })
    };
    let step = current.as_ref().map(|known| known.step);
    match status {
        Some(GenerationStatus::Complete) => {
            // Not written again by itself: the file may only have been moved, and a text costs money.
            let file = find_missing_prose(ctx, tree, node)?;
            return needs_person(
                format!("the text of `{path}` was written, and its file `{file}` is missing"),
                format!("tl story write {path}   # or restore the file"),
            );
        }
        Some(GenerationStatus::Held) if step == Some(GenerationStep::Choose) => {
            return needs_person(
                format!("the variants of `{path}` wait for a choice"),
                format!("tl story generation variants {path}"),
            );
        }
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
    if status.is_none() && node.progress == Progress::Complete {
        return None;
    }
    match node.status() {
        Status::Approved => Some(StoryStep::Write {
            scene: path.clone(),
            is_started: status.is_some(),
            is_planned: status.is_some(),
        }),
        Status::RequiresRevalidation => needs_person(
            format!("the blueprint of `{path}` is stale: the plan above it changed"),
            decision_next_step(ctx, path, Status::RequiresRevalidation),
        ),
        other => needs_person(
            format!("the blueprint of `{path}` is `{other}`, not approved"),
            approval_next_step(path, ctx.policy.approval, &ctx.actor),
        ),
    }
}
