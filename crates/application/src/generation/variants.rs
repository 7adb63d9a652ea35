//! Variants of a scene: shows, compares and chooses among the drafts that were written for it.

use domain::generation::steps::JudgeReview;
use domain::generation::variants::VariantProblem;
use domain::generation::{Generation, SceneFinding, SceneVariant, count_findings, variants};
use domain::record;
use domain::review::Review;
use domain::search::split_words;
use schemars::JsonSchema;
use serde::Serialize;

use super::material::find_scene;
use super::start_generation::{change_generation, not_started_failure, require_blueprint};
use super::view::{GenerationView, load_generation};
use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observe_plans;
use crate::reviews::review_actor;
use crate::views::DiffView;

/// Number of words that show how a variant begins and ends.
const EXCERPT_WORDS: usize = 24;

/// A variant in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VariantSummary {
    /// From 1.
    pub number: usize,
    pub is_chosen: bool,
    pub writer: String,
    pub words: usize,
    /// Number of findings that must, should and could be fixed.
    pub must: usize,
    pub should: usize,
    pub could: usize,
    /// How it begins and ends.
    pub opening: String,
    pub ending: String,
}

/// A variant with its text.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VariantView {
    #[serde(flatten)]
    pub summary: VariantSummary,
    #[schemars(with = "Vec<crate::views::Object>")]
    pub findings: Vec<SceneFinding>,
    pub text: String,
}

/// The variants of a scene.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VariantsView {
    pub scene: String,
    /// Number of variants that were asked for.
    pub wanted: u32,
    pub variants: Vec<VariantView>,
}

/// The outcome of a choice.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChosenVariant {
    pub generation: GenerationView,
    /// Numbers of the variants that are not kept.
    pub discarded: Vec<usize>,
}

/// Summarises the variants of a generation.
pub(super) fn summarise_variants(generation: &Generation) -> Vec<VariantSummary> {
    let variants = generation.variants.iter().zip(1..);
    let summarise = |(variant, number)| summarise_variant(variant, number, generation.chosen);
    variants.map(summarise).collect()
}

fn summarise_variant(
    variant: &SceneVariant,
    number: usize,
    chosen: Option<usize>,
) -> VariantSummary {
    let [must, should, could] = count_findings(&variant.findings);
    let words: Vec<&str> = variant.draft.split_whitespace().collect();
    let from = words.len().saturating_sub(EXCERPT_WORDS);
    let opening = words.get(..EXCERPT_WORDS.min(words.len()));
    VariantSummary {
        number,
        is_chosen: chosen == Some(number),
        writer: variant.writer.clone(),
        words: split_words(&variant.draft).len(),
        must,
        should,
        could,
        opening: opening.unwrap_or_default().join(" "),
        ending: words.get(from..).unwrap_or_default().join(" "),
    }
}

/// Returns the variants of a scene with their texts.
///
/// # Errors
/// When there is no such scene, or no variant of it.
pub fn show_variants(ctx: &Context<'_>, words: &[String]) -> Result<VariantsView, Failure> {
    let generation = load_variants(ctx, words)?;
    let view = |(summary, variant): (VariantSummary, &SceneVariant)| VariantView {
        summary,
        findings: variant.findings.clone(),
        text: variant.draft.clone(),
    };
    let summaries = summarise_variants(&generation).into_iter();
    Ok(VariantsView {
        wanted: generation.variant_count,
        variants: summaries.zip(&generation.variants).map(view).collect(),
        scene: generation.scene,
    })
}

/// Compares two variants of a scene.
///
/// # Errors
/// When there is no such scene or variant.
pub fn compare_variants(
    ctx: &Context<'_>,
    words: &[String],
    (one, other): (usize, usize),
) -> Result<DiffView, Failure> {
    let generation = load_variants(ctx, words)?;
    let find = |number: usize| {
        let at = number.checked_sub(1);
        let found = at.and_then(|at| generation.variants.get(at));
        found.ok_or_else(|| {
            let count = generation.variants.len();
            let problem = VariantProblem::Unknown {
                wanted: number,
                count,
            };
            refuse_choice(&generation.scene, &problem)
        })
    };
    Ok(DiffView::from_texts(
        format!("variant {one}"),
        &split_into_sentences(&find(one)?.draft),
        format!("variant {other}"),
        &split_into_sentences(&find(other)?.draft),
    ))
}

/// Puts every sentence on a line of its own: a paragraph is too long to be compared as a line.
fn split_into_sentences(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        out.push(letter);
        let ends = matches!(letter, '.' | '!' | '?' | '…' | '。' | '！' | '？');
        if ends && letters.next_if_eq(&' ').is_some() {
            out.push('\n');
        }
    }
    out
}

/// Chooses a variant: the generation goes on with it, and the next step is a revision or the commit. The
/// others are kept for another choice, or discarded.
///
/// # Errors
/// When there is no such scene or variant, the blueprint changed since, or the state cannot be written.
pub fn choose_variant(
    ctx: &Context<'_>,
    words: &[String],
    number: usize,
    discard: bool,
) -> Result<ChosenVariant, Failure> {
    let mut discarded = Vec::new();
    let generation = change_generation(ctx, words, |state, tree, node, known| {
        let path = tree.alias_path(node);
        let mut next = known.ok_or_else(|| not_started_failure(&path))?;
        if require_blueprint(ctx, node, &path)? != next.blueprint {
            let what = format!("the blueprint of `{path}` changed since its variants were written");
            return Err(Failure::refused(what).with_step(format!("tl story write {path}")));
        }
        let known = record::read_record::<Review>(state, &path)?;
        let mut review = JudgeReview::open_review(None, &next, ctx.policy.generation.revisions);
        let judging = JudgeReview {
            review: &mut review,
            said: review_actor(ctx),
            policy: &ctx.policy.review,
        };
        variants::choose_variant(&mut next, number, judging)
            .map_err(|problem| refuse_choice(&path, &problem))?;
        if discard {
            discarded = variants::discard_others(&mut next);
        }
        let reviewed = record::record_changed_fact(&path, known.as_ref(), Some(&review));
        Ok((next, reviewed))
    })?;
    Ok(ChosenVariant {
        generation,
        discarded,
    })
}

fn refuse_choice(scene: &str, problem: &VariantProblem) -> Failure {
    let what = format!("`{scene}`: {problem}");
    match problem {
        VariantProblem::None => {
            Failure::not_found(what).with_step(format!("tl story write {scene} --variants 3"))
        }
        VariantProblem::Unknown { .. } => {
            Failure::invalid(what).with_step(format!("tl story generation variants {scene}"))
        }
        VariantProblem::Review(_) => Failure::refused(what),
    }
}

fn load_variants(ctx: &Context<'_>, words: &[String]) -> Result<Generation, Failure> {
    let (state, tree) = observe_plans(ctx)?;
    let node = find_scene(ctx, &*state, &tree, words)?;
    let generation = load_generation(&*state, node.id, &tree.alias_path(node))?;
    match generation.variants.is_empty() {
        true => Err(refuse_choice(&generation.scene, &VariantProblem::None)),
        false => Ok(generation),
    }
}
