//! Sets and shows whom the story follows.

use domain::memory::{EntryKind, StoryMemory};
use domain::operation::Verb;
use domain::ports::Snapshot;
use domain::record::{self, ChangeRecords};
use domain::tick::TickState;
use domain::tree::Tree;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::memory::memory_files;
use crate::observe::observe_plans;
use crate::tick::story_state::next_point_of_view;

/// Whom the story follows, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FollowView {
    /// Id in the memory.
    pub id: Option<String>,
    pub name: Option<String>,
    pub reason: FollowReason,
    /// The scene whose plan names the point of view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene: Option<String>,
    /// The point of view that the plan of the next scene names, if the memory does not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// Why the story follows a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FollowReason {
    /// The plan of the next scene names the point of view.
    Plan,
    /// The author chose it.
    Chosen,
    /// A tick began with it, or it is the first of the memory.
    First,
    /// There are no characters yet.
    Nobody,
}

/// Shows whom the story follows.
///
/// # Errors
/// When the state cannot be read.
pub fn show_followed(ctx: &Context<'_>) -> Result<FollowView, Failure> {
    let (_, tree) = observe_plans(ctx)?;
    let state = memory_files::observe_memory(ctx)?;
    let memory = memory_files::load_memory(&*state)?;
    let story = record::read_record::<TickState>(&*state, TickState::KEY)?.unwrap_or_default();
    describe_followed(ctx, &*state, &tree, &memory, &story)
}

/// Chooses whom the story follows; without a name, the plans and the loop decide again.
///
/// # Errors
/// When the memory has no such character, or the state cannot be written.
pub fn follow_character(ctx: &Context<'_>, name: Option<&str>) -> Result<FollowView, Failure> {
    let (_, tree) = observe_plans(ctx)?;
    memory_files::import_pending_edits(ctx)?;
    let mut tx = ctx.store.begin_write()?;
    let memory = memory_files::load_memory(&*tx)?;
    let before = record::read_record::<TickState>(&*tx, TickState::KEY)?;
    let id = name.map(|name| find_character(&memory, name)).transpose()?;
    let summary = match &id {
        Some(id) => format!("follow {}", memory.display_name(id)),
        None => "follow the point of view of the plans".to_owned(),
    };
    let after = TickState {
        is_chosen: id.is_some(),
        active_character: id,
        ..before.clone().unwrap_or_default()
    };
    let mut operation = ctx.new_operation(Verb::Tick, summary);
    operation
        .facts
        .change_record(TickState::KEY, before.as_ref(), Some(&after));
    // The same choice again records nothing.
    if !operation.facts.is_empty() {
        tx.record_operation(operation)?;
    }
    let view = describe_followed(ctx, &*tx, &tree, &memory, &after)?;
    tx.commit()?;
    Ok(view)
}

fn find_character(memory: &StoryMemory, name: &str) -> Result<String, Failure> {
    memory
        .resolve_id(EntryKind::Character, name)
        .ok_or_else(|| {
            Failure::not_found(format!("the memory has no character `{name}`"))
                .with_step("tl story memory show characters")
                .with_step("tl story memory edit --new character name=NAME")
        })
}

fn describe_followed(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    memory: &StoryMemory,
    story: &TickState,
) -> Result<FollowView, Failure> {
    let next = next_point_of_view(ctx, state, tree, memory)?;
    let unknown = next.as_ref().filter(|next| next.character.is_none());
    let unknown = unknown.map(|next| next.name.clone());
    let of_plan =
        next.and_then(|next| Some((next.character?, Some(next.scene), FollowReason::Plan)));
    // A chosen character may have been merged or removed since.
    let is_known = |id: &String| memory.get(id).is_some();
    let kept = story.active_character.clone().filter(is_known);
    let kept = kept.map(|id| match story.is_chosen {
        true => (id, None, FollowReason::Chosen),
        false => (id, None, FollowReason::First),
    });
    let first = memory.characters().next();
    let first = first.map(|it| (it.id.clone(), None, FollowReason::First));
    Ok(match of_plan.or(kept).or(first) {
        Some((id, scene, reason)) => FollowView {
            name: Some(memory.display_name(&id)),
            id: Some(id),
            reason,
            scene,
            unknown,
        },
        None => FollowView {
            id: None,
            name: None,
            reason: FollowReason::Nobody,
            scene: None,
            unknown,
        },
    })
}
