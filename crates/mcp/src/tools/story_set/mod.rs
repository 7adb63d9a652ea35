//! The tick loop with control inverted: the host's model plans and writes, these tools give the
//! prompts and validate the results.

mod edit_memory;
mod generation_submit;
mod reread;
mod scene_status;
mod search_memory;
mod show_memory;
mod start_generation;
mod tick_begin;
mod tick_submit;

use application::Context;
use application::generation::advance::next_step;
use application::generation::start_generation::{cancel_generation, resume_generation};
use application::generation::variants::{choose_variant, show_variants};
use application::memory::change_identity::{intend_fact, merge_memory, split_memory};
use application::memory::edit_memory::forget_entry;
use application::memory::memory_at::memory_at;
use application::memory::reread_prose::begin_reading;
use application::novel::compile_novel::{CompileRequest, compile_novel};
use application::novel::follow_character::{follow_character, show_followed};
use application::novel::novel_stats::novel_stats;
use application::show_ticks::show_ticks;
use application::tick::run_tick::retry_tick;
use application::tick::skip_tick::skip_tick;
use application::tree_cache::{CachedTree, record_file_changes};
use domain::ids::Principal;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::{AnyObject, Nothing, node_words};
use crate::tools::{Hints, SeedArguments, Tool};

/// The tools of this set, in listing order.
pub(super) fn list_tools() -> Vec<Tool> {
    vec![
        // It resumes an interrupted plan, which is then done.
        Hints::GOES_ON
            .define_tool(
                "story_tick_begin",
                "Use to plan the story's next step yourself: returns the prompt, the schema of the plan and a nonce. Answer with story_tick_submit.",
                tick_begin::run,
            )
            .seed("tick_begin", SeedArguments::Same),
        Hints::GOES_ON
            .define_tool(
                "story_tick_submit",
                "Use to answer story_tick_begin: the plan is checked, kept and run. Queries alone come back with what they found, a plan that cannot be run with every reason; submit again.",
                tick_submit::run,
            )
            .seed("tick_submit", SeedArguments::Same),
        Hints::READS.define_tool(
            "story_ticks",
            "Use to see the last ticks and what came of them.",
            |ctx, Nothing {}| {
                record_file_changes(ctx)?;
                AnyObject::new(&show_ticks(ctx, &CachedTree::read(ctx)?, 10)?)
            },
        ),
        Hints::GOES_ON.define_tool(
            "story_tick_retry",
            "Use to run a failed tick again from the action that failed.",
            |ctx, TickOnly { tick }| AnyObject::new(&retry_tick(ctx, tick, None)?),
        ),
        Hints::DESTROYS.define_tool(
            "story_tick_skip",
            "Use to give up a failed tick; what it did is kept.",
            |ctx, TickOnly { tick }| AnyObject::new(&skip_tick(ctx, tick, None)?),
        ),
        Hints::CHANGES
            .define_tool(
                "story_scene_begin",
                "Use to write a scene from its approved blueprint yourself: returns the prompt of the first step and a nonce. Answer with story_scene_submit. Without a scene: the next one.",
                start_generation::run,
            )
            .seed("start_generation", SeedArguments::Scene),
        Hints::GOES_ON
            .define_tool(
                "story_scene_submit",
                "Use to answer a step of a scene: prose as `text`, a verdict as `verdict`. Returns the next step, or how the scene ended.",
                generation_submit::run,
            )
            .seed("generation_submit", SeedArguments::Scene),
        Hints::READS
            .define_tool(
                "story_scene_status",
                "Use to see how a scene that is being written stands: its step, what was found, whether its blueprint changed.",
                scene_status::run,
            )
            .seed("get_generation_status", SeedArguments::Scene),
        Hints::CHANGES
            .define_tool(
                "story_scene_resume",
                "Use to go on with a scene that stopped: returns the step it is at. A scene that is held is kept as it is.",
                |ctx, SceneOnly { scene }| {
                    // The resolved path of the scene goes on, so that both calls mean the same one.
                    let resumed = resume_generation(ctx, &node_words(&scene))?;
                    next_step(ctx, &[resumed.scene])
                },
            )
            .seed("resume_generation", SeedArguments::Scene),
        Hints::READS.define_tool(
            "story_scene_variants",
            "Use to read the drafts of a scene that was begun with `variants`, with what was found in each.",
            |ctx, SceneOnly { scene }| AnyObject::new(&show_variants(ctx, &node_words(&scene))?),
        ),
        // With `discard` the other drafts are gone.
        Hints::DESTROYS.define_tool(
            "story_scene_choose",
            "Use when the author has chosen one of the variants: returns the next step with it. The others are kept unless `discard`.",
            |ctx, Choice { scene, variant, discard }| {
                let chosen = choose_variant(ctx, &node_words(&scene), variant, discard)?;
                next_step(ctx, &[chosen.generation.scene])
            },
        ),
        Hints::DESTROYS.define_tool(
            "story_scene_cancel",
            "Use to give up writing a scene; the written text is kept.",
            |ctx, SceneOnly { scene }| {
                AnyObject::new(&cancel_generation(ctx, &node_words(&scene))?)
            },
        ),
        Hints::READS.define_tool(
            "story_memory",
            "Use to see what the story knows: all entries, one kind, or one entry.",
            show_memory::run,
        ),
        Hints::READS
            .define_tool(
                "story_memory_search",
                "Use to find what the story knows about something: entries that fit these words best.",
                search_memory::run,
            )
            .seed("memory_search", SeedArguments::Same),
        // A new entry of the same fields is a second one.
        Hints::GOES_ON.define_tool(
            "story_memory_edit",
            "Use to set fields of an entry of the story's memory, or to make one of a kind.",
            edit_memory::run,
        ),
        Hints::DESTROYS.define_tool(
            "story_memory_forget",
            "Use to remove an entry of the story's memory.",
            |ctx, EntryOnly { entry }| AnyObject::new(&forget_entry(ctx, &entry)?),
        ),
        Hints::CHANGES.define_tool(
            "story_memory_reread",
            "Use to read written texts into the story's memory by rules: a scene, everything below a node, or without one the whole story. For one scene, story_memory_read lets your model read it better.",
            reread::run,
        ),
        Hints::READS.define_tool(
            "story_memory_read",
            "Use to read a written scene yourself: returns the prompt, the schema of the verdict and a nonce. Answer with story_memory_read_submit.",
            |ctx, SceneOnly { scene }| {
                AnyObject::new(&begin_reading(ctx, &node_words(&scene), None)?)
            },
        ),
        Hints::CHANGES.define_tool(
            "story_memory_read_submit",
            "Use to answer story_memory_read: claims with a quotation of the text replace what was read in it before.",
            reread::submit,
        ),
        Hints::READS.define_tool(
            "story_memory_at",
            "Use to see who knows what before a scene, since when, and which loops are open then.",
            |ctx, SceneOnly { scene }| AnyObject::new(&memory_at(ctx, &node_words(&scene))?),
        ),
        Hints::CHANGES.define_tool(
            "story_memory_merge",
            "Use when two entries are one person or place: the second becomes another name of the first.",
            |ctx, Merged { kept, gone }| AnyObject::new(&merge_memory(ctx, &kept, &gone)?),
        ),
        Hints::GOES_ON.define_tool(
            "story_memory_split",
            "Use when one entry is two people or places: this name becomes an entry of its own.",
            |ctx, Split { entry, name }| AnyObject::new(&split_memory(ctx, &entry, &name)?),
        ),
        Hints::CHANGES.define_tool(
            "story_memory_intend",
            "Use when a person says that a fact contradicts another one on purpose: it is not a finding again.",
            |ctx, EntryOnly { entry }| AnyObject::new(&intend_fact(ctx, &entry)?),
        ),
        Hints::READS.define_tool(
            "story_stats",
            "Use to see how far the book is: words, scenes, what is open.",
            |ctx, Nothing {}| AnyObject::new(&novel_stats(ctx)?),
        ),
        Hints::CHANGES.define_tool(
            "story_follow",
            "Use to see or choose whom the story follows; a `pov` in a plan comes first.",
            |ctx, FollowArguments { character, by_plan }| match (character, by_plan) {
                (None, false) => show_followed(ctx),
                (character, _) => follow_character(ctx, character.as_deref()),
            },
        ),
        Hints::READS.define_tool(
            "story_compile",
            "Use to see what the compiled book has: chapters, words, scenes that are missing or no longer follow from their plan.",
            // Without the book itself, which no context holds; `tl story compile`
            // writes it to a file.
            |ctx, Nothing {}| AnyObject::new(&compile_novel(ctx, &CompileRequest::default())?.view),
        ),
    ]
}

/// Whom the story is to follow.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FollowArguments {
    /// name, alias or id; without it, only shows whom
    #[serde(default)]
    character: Option<String>,
    /// let the plans decide again
    #[serde(default)]
    by_plan: bool,
}

/// Returns the author recorded for the output of a host's model.
fn signature(ctx: &Context<'_>) -> String {
    match &ctx.actor {
        Principal::Agent { host, .. } => format!("host/{host}"),
        other => other.to_string(),
    }
}

/// A scene only.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SceneOnly {
    /// alias or path
    scene: String,
}

/// The author's choice among the variants of a scene.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Choice {
    /// alias or path
    scene: String,
    /// its number, from 1
    variant: usize,
    /// do not keep the others
    #[serde(default)]
    discard: bool,
}

/// A tick only.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TickOnly {
    /// its number
    tick: u64,
}

/// An entry of the memory only.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EntryOnly {
    /// id or name
    entry: String,
}

/// Two entries that are one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Merged {
    /// id or name of the entry that stays
    kept: String,
    /// id or name of the entry that becomes another name of it
    gone: String,
}

/// A name that belongs to someone else.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Split {
    /// id or name
    entry: String,
    /// the name to split off
    name: String,
}
