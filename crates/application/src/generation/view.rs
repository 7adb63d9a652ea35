//! Shows the status of generations.

use domain::generation::{Generation, GenerationStatus, GenerationStep, SceneFinding};
use domain::ports::Snapshot;
use domain::record;
use domain::tree::Tree;
use schemars::JsonSchema;
use serde::Serialize;

use super::material::find_scene;
use super::variants::{VariantSummary, summarise_variants};
use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observe_plans;

/// A generation, for output.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GenerationView {
    pub scene: String,
    #[schemars(with = "String")]
    pub status: GenerationStatus,
    #[schemars(with = "String")]
    pub step: GenerationStep,
    pub writer: String,
    pub words: usize,
    pub conclusions: u32,
    pub revisions: u32,
    pub failures: u32,
    pub error: Option<String>,
    #[schemars(with = "Vec<crate::views::Object>")]
    pub findings: Vec<SceneFinding>,
    /// The drafts to choose from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<crate::views::Object>")]
    pub variants: Vec<VariantSummary>,
    /// Whether the blueprint has changed since, or is no longer approved.
    pub stale: bool,
    /// The prose file, if the generation is complete.
    pub file: Option<String>,
}

impl GenerationView {
    pub(super) fn from_generation(ctx: &Context<'_>, tree: &Tree, generation: Generation) -> Self {
        let node = tree.get(generation.node);
        let is_current =
            |node: &domain::node::Node| node.content.canonical_hash() == Some(generation.blueprint);
        let complete = generation.status == GenerationStatus::Complete;
        Self {
            // A removed node counts as stale too: its prose no longer follows from any plan.
            stale: !node.is_some_and(|node| {
                is_current(node) && node.status() == domain::node::Status::Approved
            }),
            // Before the commit the path may hold older prose, which is not this generation's.
            file: node
                .filter(|_| complete)
                .and_then(|node| crate::tick::story_state::prose_path(ctx, tree, node)),
            variants: summarise_variants(&generation),
            words: domain::search::split_words(&generation.draft).len(),
            scene: generation.scene,
            status: generation.status,
            step: generation.step,
            writer: generation.writer,
            conclusions: generation.conclusions,
            revisions: generation.revisions,
            failures: generation.failures,
            error: generation.error,
            findings: generation.findings,
        }
    }
}

/// Returns all generations, ordered by node.
///
/// # Errors
/// When the state cannot be read.
pub fn list_generations(ctx: &Context<'_>) -> Result<Vec<GenerationView>, Failure> {
    let (state, tree) = observe_plans(ctx)?;
    generations_in_tree(ctx, &*state, &tree)
}

/// Returns every generation, of a tree that is up to date.
pub(crate) fn generations_in_tree(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
) -> Result<Vec<GenerationView>, Failure> {
    let all = record::read_records::<Generation>(state, "")?;
    Ok(all
        .into_iter()
        .map(|(_, generation)| GenerationView::from_generation(ctx, tree, generation))
        .collect())
}

/// Returns the generation of a scene.
///
/// # Errors
/// When there is no such scene, or it was never started.
pub fn show_generation(ctx: &Context<'_>, words: &[String]) -> Result<GenerationView, Failure> {
    let (state, tree) = observe_plans(ctx)?;
    let node = find_scene(ctx, &*state, &tree, words)?;
    Ok(GenerationView::from_generation(
        ctx,
        &tree,
        load_generation(&*state, node.id, &tree.alias_path(node))?,
    ))
}

pub(super) fn load_generation(
    state: &dyn Snapshot,
    node: domain::ids::NodeId,
    path: &str,
) -> Result<Generation, Failure> {
    record::read_record::<Generation>(state, &Generation::record_key(node))?.ok_or_else(|| {
        Failure::not_found(format!("generation of `{path}` was not started"))
            .with_step(format!("tl story write {path}"))
    })
}
