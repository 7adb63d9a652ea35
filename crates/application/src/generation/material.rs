//! Gathers the material of a scene: its blueprint, the plan above it, the memory, the scenes before
//! it.

use std::collections::BTreeSet;

use domain::generation::Generation;
use domain::generation::checks::SceneExpectations;
use domain::generation::guidance::AuthorGuidance;
use domain::generation::prompts::WritingMaterial;
use domain::memory::StoryMemory;
use domain::memory::knowledge::memory_before;
use domain::node::Node;
use domain::plan_digest::digest_plan;
use domain::ports::Snapshot;
use domain::prose::find_word_target;
use domain::text::clean_line;
use domain::tick::{TickRecord, TickState, TickStatus};
use domain::tree::Tree;

use crate::comment::{CommentView, open_prose_comments};
use crate::context::Context;
use crate::failure::Failure;
use crate::generation::author_guidance::gather_guidance;
use crate::locate::find_node;
use crate::memory::memory_files;
use crate::tick::story_state::{find_named_point_of_view, novel_name, prose_path, read_prose};

/// Number of preceding scenes that are given in full.
const FULL_PREVIOUS_SCENES: usize = 2;

/// Maximum number of ticks whose decisions are in a writer's prompt.
const MAX_SCENE_TICKS: usize = 4;

/// Maximum length of the digest of a plan above the parent.
const MAX_DIGEST_CHARS: usize = 1_500;

/// Number of past ticks among which those of a scene are searched.
pub(super) const MAX_SEARCHED_TICKS: usize = 16;

/// The gathered material of a scene.
pub(crate) struct SceneMaterial {
    pub(crate) novel: String,
    pub(crate) scene: String,
    pub(crate) blueprint: String,
    /// The plans above it: the nearest in full, digests of the others.
    parent: String,
    /// Named by the blueprint or a plan above it.
    pov: Option<String>,
    memory: StoryMemory,
    /// The memory as it is before the scene, for prompts.
    memory_before: StoryMemory,
    ticks: Vec<TickRecord>,
    before: Vec<String>,
    characters: Vec<String>,
    /// Memory ids of the scenes before this one.
    earlier: BTreeSet<String>,
    guidance: AuthorGuidance,
    /// Open comments on the text in the book, each with the words it is about.
    comments: Vec<String>,
}

impl SceneMaterial {
    pub(crate) fn gather(
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        tree: &Tree,
        node: &Node,
    ) -> Result<Self, Failure> {
        let text = |node: &Node| -> Result<String, Failure> {
            let kept = node
                .content
                .version_hash()
                .map(|version| state.load_text(version))
                .transpose()?;
            Ok(kept.flatten().unwrap_or_default())
        };
        let blueprint = text(node)?;
        let preceding: Vec<&Node> = tree
            .all_preorder()
            .into_iter()
            .take_while(|other| other.id != node.id)
            .collect();
        // From the nearest: a novel has hundreds of scenes, and only two are shown.
        let last_scenes: Vec<String> = preceding
            .iter()
            .rev()
            .filter_map(|other| read_prose(ctx, tree, &tree.alias_path(other)))
            .take(FULL_PREVIOUS_SCENES)
            .collect();
        let memory = memory_files::load_memory(state)?;
        let before: BTreeSet<String> = preceding
            .iter()
            .map(|other| tree.alias_path(other))
            .collect();
        // By position in the plan, not by the time of writing: scenes may be written out of order,
        // and a later scene must not count as known to the reader.
        let is_before = |scene: &&domain::memory::Scene| {
            scene
                .node
                .as_ref()
                .is_some_and(|path| before.contains(path))
        };
        let tick_state =
            domain::record::read_record::<TickState>(state, TickState::KEY)?.unwrap_or_default();
        let names =
            |profile| domain::consistency::list_facet_names(profile, "characters", &blueprint);
        let scene = tree.alias_path(node);
        let earlier: BTreeSet<String> = memory
            .scenes()
            .filter(is_before)
            .map(|scene| scene.id.clone())
            .collect();
        let is_here = |it: &&domain::memory::Scene| it.node.as_ref() == Some(&scene);
        let here = memory.scenes().find(is_here).map(|it| it.id.clone());
        Ok(Self {
            novel: novel_name(ctx, &tick_state),
            memory_before: memory_before(&memory, &earlier, here.as_deref()),
            pov: find_named_point_of_view(state, tree, node)?,
            characters: ctx
                .find_profile(&node.profile)
                .map(names)
                .unwrap_or_default(),
            parent: digest_plans_above(tree, node, text)?,
            guidance: gather_guidance(ctx, state, tree, (node, &blueprint), &memory)?,
            ticks: ticks_of_scene(state, &memory, &scene, tick_state.current_tick)?,
            comments: open_prose_comments(ctx, state, node.id)?
                .iter()
                .map(render_comment)
                .collect(),
            scene,
            earlier,
            memory,
            // The nearest scenes carry the voice and the open threads; older ones are in the
            // memory, as facts.
            before: last_scenes.into_iter().rev().collect(),
            blueprint,
        })
    }

    /// Returns the number of words to aim at: of the text that is revised, or else of the blueprint, or else of
    /// the policy.
    pub(crate) fn wanted_words(&self, ctx: &Context<'_>, generation: &Generation) -> usize {
        let target = || find_word_target(&self.blueprint).and_then(|it| it.try_into().ok());
        let wanted = generation.words.or_else(target);
        wanted.unwrap_or(ctx.policy.generation.scene_words)
    }

    pub(crate) fn prompt_material(
        &self,
        ctx: &Context<'_>,
        words: usize,
        context_tokens: Option<usize>,
    ) -> WritingMaterial<'_> {
        let tokens = ctx.policy.generation.context_tokens;
        WritingMaterial {
            novel: &self.novel,
            scene: &self.scene,
            blueprint: &self.blueprint,
            parent: &self.parent,
            memory: &self.memory_before,
            ticks: &self.ticks,
            before: &self.before,
            guidance: &self.guidance,
            comments: &self.comments,
            words,
            tokens: context_tokens.map_or(tokens, |smaller| smaller.min(tokens)),
        }
    }

    /// Returns what the prose is checked against, with a target number of words.
    pub(crate) fn expected_prose(&self, words: usize) -> SceneExpectations<'_> {
        SceneExpectations {
            blueprint: &self.blueprint,
            pov: self.pov.as_deref(),
            characters: &self.characters,
            words,
            before: self.before.last().map(String::as_str),
            memory: &self.memory,
            earlier: &self.earlier,
            forbidden: &self.guidance.forbidden,
        }
    }

    /// Returns what a placeholder is checked against. It has a few lines made of its blueprint's words, which
    /// a required length or a comparison with the scene before would reject.
    pub(crate) fn expected_placeholder(&self) -> SceneExpectations<'_> {
        SceneExpectations {
            before: None,
            ..self.expected_prose(0)
        }
    }
}

/// Returns the plans above a scene: its parent in full, and digests of those above that.
fn digest_plans_above(
    tree: &Tree,
    node: &Node,
    text: impl Fn(&Node) -> Result<String, Failure>,
) -> Result<String, Failure> {
    let mut plans = Vec::new();
    let mut names = vec![node.alias.clone()];
    let mut next = tree.parent_of(node);
    while let Some(plan) = next {
        let whole = text(plan)?;
        let budget = match plans.is_empty() {
            true => usize::MAX,
            false => MAX_DIGEST_CHARS,
        };
        plans.push(digest_plan(&whole, &names, budget).text.trim().to_owned());
        names = vec![plan.alias.clone()];
        names.extend(plan.description.title.clone());
        next = tree.parent_of(plan);
    }
    plans.retain(|plan| !plan.is_empty());
    Ok(plans.join("\n\n"))
}

/// Renders a comment for the writer.
fn render_comment(said: &CommentView) -> String {
    let text = clean_line(&said.text);
    match &said.quote {
        Some(quote) => format!("on \"{}\": {text}", clean_line(quote)),
        None => text,
    }
}

/// Returns the ticks that prepared a scene, the newest last: those that were planned for it, or else those
/// since the scene written before it, at least the last one.
fn ticks_of_scene(
    state: &dyn Snapshot,
    memory: &StoryMemory,
    path: &str,
    current_tick: u64,
) -> Result<Vec<TickRecord>, Failure> {
    let is_this = |scene: &&domain::memory::Scene| scene.node.as_deref() == Some(path);
    let until = memory
        .scenes()
        .find(is_this)
        .map_or(current_tick, |scene| scene.tick);
    let since = memory
        .scenes()
        .filter(|scene| !is_this(scene) && scene.tick < until)
        .map(|scene| scene.tick)
        .max()
        .unwrap_or(0);
    let mut done = Vec::new();
    for tick in (1..=until).rev().take(MAX_SEARCHED_TICKS) {
        let record =
            domain::record::read_record::<TickRecord>(state, &TickRecord::record_key(tick))?;
        done.extend(record.filter(|record| record.status == TickStatus::Done));
    }
    let is_planned_for = |record: &TickRecord| record.scene.as_deref() == Some(path);
    let is_linked = done.iter().any(is_planned_for);
    let is_recent = |at: usize, record: &TickRecord| at == 0 || record.tick > since;
    let mut ticks: Vec<TickRecord> = done
        .into_iter()
        .enumerate()
        .filter(|(at, record)| match is_linked {
            true => is_planned_for(record),
            // A tick that prepared another scene says nothing about this one.
            false => record.scene.is_none() && is_recent(*at, record),
        })
        .map(|(_, record)| record)
        .take(MAX_SCENE_TICKS)
        .collect();
    ticks.reverse();
    Ok(ticks)
}

/// Returns the named node of a plan.
pub(crate) fn find_scene_or_parent<'t>(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &'t Tree,
    words: &[String],
) -> Result<&'t Node, Failure> {
    let (id, _) = find_node(ctx, state, words)?;
    tree.get(id)
        .ok_or_else(|| Failure::not_found("that node has no plan"))
}

/// Returns the named scene: a node of a level with prose.
pub(crate) fn find_scene<'t>(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &'t Tree,
    words: &[String],
) -> Result<&'t Node, Failure> {
    let node = find_scene_or_parent(ctx, state, tree, words)?;
    if prose_path(ctx, tree, node).is_none() {
        let what = format!(
            "nothing is written from a {}: `{}`",
            node.level,
            tree.alias_path(node)
        );
        return Err(Failure::refused(what).with_step("tl story write --next"));
    }
    Ok(node)
}
