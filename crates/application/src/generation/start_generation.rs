//! Starts, resumes or cancels the generation of a scene.

use domain::approval::approval_next_step;
use domain::fact::Fact;
use domain::generation::steps::JudgeReview;
use domain::generation::variants::MAX_VARIANTS;
use domain::generation::{
    COMMENT_CHECK, FindingSeverity, Generation, GenerationStatus, GenerationStep, SceneFinding,
    checks, review,
};
use domain::ids::CanonicalHash;
use domain::node::{Node, Progress, Status};
use domain::operation::Verb;
use domain::ports::{FileStatResult, Snapshot};
use domain::record::{self, ChangeRecords};
use domain::review::Review;
use domain::search::split_words;
use domain::tree::Tree;

use super::material::{SceneMaterial, find_scene};
use super::view::{GenerationView, load_generation};
use crate::comment::open_prose_comments;
use crate::context::Context;
use crate::failure::Failure;
use crate::memory::memory_files::import_pending_edits;
use crate::memory::prose_files::observe_prose;
use crate::reviews::review_actor;
use crate::submit::observe_submitted_plans;
use crate::tick::story_state::{has_prose, prose_path, read_prose};

/// How a scene is generated.
#[derive(Clone, Copy, Debug, Default)]
pub struct GenerationRequest {
    /// Number of drafts to choose from; 0 or 1 for a single one.
    pub variants: u32,
    /// Revise the text in the book by the open comments on it, instead of writing another one.
    pub revises: bool,
}

/// Starts a generation. One that is complete, cancelled or based on another blueprint starts over;
/// one that failed is retried at its step, and one under way is returned unchanged.
///
/// # Errors
/// When there is no such scene, its blueprint is not approved, another kind of generation is under way, there
/// is nothing to revise, or the state cannot be written.
pub fn start_generation(
    ctx: &Context<'_>,
    words: &[String],
    request: GenerationRequest,
) -> Result<GenerationView, Failure> {
    if request.variants > MAX_VARIANTS {
        let what = format!("at most {MAX_VARIANTS} variants are possible");
        return Err(Failure::invalid(what));
    }
    change_generation(ctx, words, |state, tree, node, known| {
        let path = tree.alias_path(node);
        let blueprint = require_blueprint(ctx, node, &path)?;
        let open = known.filter(|known| known.is_open() && known.blueprint == blueprint);
        if let Some(known) = open {
            // Idempotent while the blueprint is the same: restarting would throw away a paid draft.
            return Ok((continue_generation(known, request)?, None));
        }
        let begun = Generation::begin_writing(node.id, path, blueprint, ctx.clock.now());
        match request.revises {
            true => begin_revision(ctx, state, tree, node, begun),
            false => Ok((
                Generation {
                    variant_count: if request.variants > 1 {
                        request.variants
                    } else {
                        0
                    },
                    ..begun
                },
                None,
            )),
        }
    })
}

/// Returns the blueprint of a scene. Writing costs money, so it starts only from one that was approved in its
/// current text.
pub(super) fn require_blueprint(
    ctx: &Context<'_>,
    node: &Node,
    path: &str,
) -> Result<CanonicalHash, Failure> {
    if node.status() != Status::Approved {
        let what = format!(
            "cannot write `{path}`: its blueprint is `{}`, expected `approved`",
            node.status()
        );
        let step = approval_next_step(path, ctx.policy.approval, &ctx.actor);
        return Err(Failure::refused(what).with_step(step));
    }
    let blueprint = node.content.canonical_hash();
    blueprint.ok_or_else(|| Failure::refused("there is no blueprint"))
}

/// Goes on with a generation that is under way, if it is of the requested kind.
fn continue_generation(
    known: Generation,
    request: GenerationRequest,
) -> Result<Generation, Failure> {
    let is_unwritten = known.step == GenerationStep::Write && known.variants.is_empty();
    let mut next = known.clone();
    if request.variants > 1 && request.variants != known.variant_count {
        if known.step == GenerationStep::Choose && request.variants > known.variant_count {
            // More to choose from; those that exist stay.
            next.step = GenerationStep::Write;
            next.status = GenerationStatus::Running;
        } else if !is_unwritten || request.revises {
            return Err(other_generation_failure(&known));
        }
        next.variant_count = request.variants;
    }
    if request.revises && known.words.is_none() {
        return Err(other_generation_failure(&known));
    }
    // The caller asks for another attempt; repeating the old error would answer nothing.
    if known.status == GenerationStatus::Failed {
        next.status = GenerationStatus::Running;
        next.error = None;
    }
    Ok(next)
}

fn other_generation_failure(known: &Generation) -> Failure {
    let scene = &known.scene;
    let what = format!(
        "a generation of `{scene}` is under way, at step {}",
        known.step.as_str()
    );
    Failure::refused(what)
        .with_step(format!("tl story generation resume {scene}"))
        .with_step(format!("tl story generation cancel {scene}"))
}

/// Begins with the text in the book: what is wrong with it are the open comments, and what the rules find.
fn begin_revision(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    node: &Node,
    begun: Generation,
) -> Result<(Generation, Option<Fact>), Failure> {
    let path = &begun.scene;
    let Some(text) = read_prose(ctx, tree, path) else {
        return Err(Failure::refused(format!("`{path}` has no text to revise"))
            .with_step(format!("tl story write {path}")));
    };
    let comments = open_prose_comments(ctx, state, node.id)?;
    if comments.is_empty() {
        let what = format!("there is no open comment on the prose of `{path}`");
        let step = format!("tl comment {path} --prose --quote WORDS -m TEXT");
        return Err(Failure::refused(what).with_step(step));
    }
    let words = split_words(&text).len();
    let gathered = SceneMaterial::gather(ctx, state, tree, node)?;
    let mut findings = checks::check_scene(&text, &gathered.expected_prose(words));
    findings.extend(comments.into_iter().map(|said| SceneFinding {
        check: COMMENT_CHECK.to_owned(),
        severity: FindingSeverity::Should,
        problem: said.text,
        quote: said.quote,
        against: None,
    }));
    // The review of the text in the book has used up its iterations.
    let known = record::read_record::<Review>(state, path)?;
    let review = JudgeReview::open_review(None, &begun, ctx.policy.generation.revisions);
    let reviewed = record::record_changed_fact(path, known.as_ref(), Some(&review));
    let generation = Generation {
        step: GenerationStep::Revise,
        draft: text.trim().to_owned(),
        findings,
        words: Some(words),
        ..begun
    };
    Ok((generation, reviewed))
}

/// Resumes a generation where it stopped. A held one continues as it is: the person who resumes it
/// has decided.
///
/// # Errors
/// When it was never started, or is finished; or it is held, and the actor is not a person.
pub fn resume_generation(ctx: &Context<'_>, words: &[String]) -> Result<GenerationView, Failure> {
    change_generation(ctx, words, |state, tree, node, known| {
        let known = known.ok_or_else(|| not_started_failure(&tree.alias_path(node)))?;
        if known.step == GenerationStep::Choose {
            let what = format!("the variants of `{}` wait for a choice", known.scene);
            return Err(Failure::refused(what)
                .with_step(format!("tl story generation variants {}", known.scene))
                .with_step(format!("tl story generation choose {} 1", known.scene)));
        }
        if !known.is_open() {
            let what = format!("`{}` is {}", known.scene, known.status.as_str());
            return Err(Failure::refused(what).with_step(format!("tl story write {}", known.scene)));
        }
        // Resuming a held scene is a decision about its findings, which the review has to record.
        let is_held = known.status == GenerationStatus::Held;
        let decided = if is_held {
            accept_findings(ctx, state, &known)?
        } else {
            None
        };
        Ok((
            Generation {
                status: GenerationStatus::Running,
                is_accepted: known.is_accepted || is_held,
                error: None,
                ..known
            },
            decided,
        ))
    })
}

/// Cancels a generation. Its draft stays in the record, committed prose stays in its file.
///
/// # Errors
/// When it was never started, or is finished.
pub fn cancel_generation(ctx: &Context<'_>, words: &[String]) -> Result<GenerationView, Failure> {
    change_generation(ctx, words, |_, tree, node, known| {
        let known = known.ok_or_else(|| not_started_failure(&tree.alias_path(node)))?;
        if !known.is_open() {
            return Err(Failure::refused(format!(
                "`{}` is {}",
                known.scene,
                known.status.as_str()
            )));
        }
        Ok((
            Generation {
                status: GenerationStatus::Cancelled,
                ..known
            },
            None,
        ))
    })
}

/// Returns the fact that a person accepts the findings of a held scene.
fn accept_findings(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    known: &Generation,
) -> Result<Option<Fact>, Failure> {
    let Some(before) = record::read_record::<Review>(state, &known.scene)? else {
        return Ok(None);
    };
    let mut review = before.clone();
    let said = review_actor(ctx);
    review::accept_held(&mut review, said, &ctx.policy.review).map_err(|refused| {
        Failure::refused(format!("`{}` is held for a person: {refused}", known.scene))
            .with_step(format!("tl review status --of {}", known.scene))
            .with_step(format!(
                "tl story generation resume {}   # a person keeps it as it is",
                known.scene
            ))
    })?;
    Ok(record::record_changed_fact(
        &known.scene,
        Some(&before),
        Some(&review),
    ))
}

pub(super) fn not_started_failure(path: &str) -> Failure {
    Failure::not_found(format!("generation of `{path}` was not started"))
        .with_step(format!("tl story write {path}"))
}

/// Changes the generation of a scene as one operation.
pub(super) fn change_generation(
    ctx: &Context<'_>,
    words: &[String],
    decide: impl FnOnce(
        &dyn Snapshot,
        &Tree,
        &Node,
        Option<Generation>,
    ) -> Result<(Generation, Option<Fact>), Failure>,
) -> Result<GenerationView, Failure> {
    let (_, tree) = observe_submitted_plans(ctx)?;
    // The writer goes on from the texts as they are, also where a person edited them.
    observe_prose(ctx, &tree)?;
    import_pending_edits(ctx)?;
    let mut tx = ctx.store.begin_write()?;
    let node = find_scene(ctx, &*tx, &tree, words)?;
    // A missing record is a regular case here; each caller decides whether it is an error.
    let known = load_generation(&*tx, node.id, "").ok();
    let (mut after, decided) = decide(&*tx, &tree, node, known.clone())?;
    if known.as_ref() != Some(&after) {
        after.updated = ctx.clock.now();
        let mut operation = ctx.new_operation(
            Verb::Write,
            format!("write {}: {}", after.scene, after.status.as_str()),
        );
        operation.facts.change_record(
            &Generation::record_key(node.id),
            known.as_ref(),
            Some(&after),
        );
        operation.facts.extend(decided);
        // Only from `pending`: a person may have set another progress on purpose.
        if after.status == GenerationStatus::Running && node.progress == Progress::Pending {
            operation.facts.push(Fact::ProgressChanged {
                node: node.id,
                before: node.progress,
                after: Progress::Active,
            });
        }
        tx.record_operation(operation)?;
        tx.commit()?;
    }
    Ok(GenerationView::from_generation(ctx, &tree, after))
}

/// Whether a scene that no model wrote is complete, or has prose that someone is working on.
pub(super) fn is_written_by_hand(ctx: &Context<'_>, tree: &Tree, node: &Node) -> bool {
    node.progress == Progress::Complete || has_prose(ctx, tree, node)
}

/// Returns the file of a scene's prose, if it is missing or empty.
pub(super) fn find_missing_prose(ctx: &Context<'_>, tree: &Tree, node: &Node) -> Option<String> {
    let is_missing = |path: &String| match ctx.files.stat_file(path) {
        FileStatResult::Missing => true,
        FileStatResult::Present(stamp) => stamp.size == 0,
        // Nothing is known about it, and what is there must not be written a second time.
        FileStatResult::Refused(_) | FileStatResult::Unavailable(_) => false,
    };
    prose_path(ctx, tree, node).filter(is_missing)
}

/// Returns the path of the next scene to write: approved, and without prose.
///
/// # Errors
/// When there is none.
pub fn next_unwritten_scene(ctx: &Context<'_>) -> Result<String, Failure> {
    let (state, tree) = observe_submitted_plans(ctx)?;
    for node in tree.all_preorder() {
        let known = record::read_record::<Generation>(&*state, &Generation::record_key(node.id))?;
        // A held scene waits for a person and is skipped; a changed blueprint makes both kinds open
        // again, and a file that is gone a complete one. Without a generation prose is written by hand or
        // imported: nobody asked to replace it.
        let settled = match known {
            Some(known) => {
                let is_settled = match known.status {
                    GenerationStatus::Complete => find_missing_prose(ctx, &tree, node).is_none(),
                    status => status == GenerationStatus::Held,
                };
                is_settled && Some(known.blueprint) == node.content.canonical_hash()
            }
            None => is_written_by_hand(ctx, &tree, node),
        };
        if prose_path(ctx, &tree, node).is_some() && node.status() == Status::Approved && !settled {
            return Ok(tree.alias_path(node));
        }
    }
    Err(
        Failure::not_found("there is no approved blueprint that is not written yet")
            .with_step("tl next")
            .with_step("tl plan   # what can be planned"),
    )
}
