//! Starts, resumes or cancels the generation of a scene.

use domain::approval::approval_next_step;
use domain::fact::Fact;
use domain::generation::{Generation, GenerationStatus, GenerationStep, review};
use domain::node::{Node, Progress, Status};
use domain::operation::Verb;
use domain::ports::Snapshot;
use domain::record::{self, ChangeRecords};
use domain::review::Review;
use domain::tree::Tree;

use super::material::find_scene;
use super::view::{GenerationView, load_generation};
use crate::context::Context;
use crate::failure::Failure;
use crate::reviews::review_actor;
use crate::submit::observe_submitted_plans;
use crate::tick::story_state::prose_path;

/// Starts a generation. One that is complete, cancelled or based on another blueprint starts over;
/// one that failed is retried at its step, and one under way is returned unchanged.
///
/// # Errors
/// When there is no such scene, its blueprint is not approved, or the state cannot be written.
pub fn start_generation(ctx: &Context<'_>, words: &[String]) -> Result<GenerationView, Failure> {
    change_generation(ctx, words, |_, tree, node, known| {
        let path = tree.alias_path(node);
        // Writing costs money, so it starts only from a blueprint that was approved in its current
        // text.
        if node.status() != Status::Approved {
            let what = format!(
                "cannot write `{path}`: its blueprint is `{}`, expected `approved`",
                node.status()
            );
            return Err(Failure::refused(what).with_step(approval_next_step(
                &path,
                ctx.policy.approval,
                &ctx.actor,
            )));
        }
        let blueprint = node
            .content
            .canonical_hash()
            .ok_or_else(|| Failure::refused("there is no blueprint"))?;
        match known {
            // The caller asks for another attempt; repeating the old error would answer nothing.
            Some(known)
                if known.status == GenerationStatus::Failed && known.blueprint == blueprint =>
            {
                Ok((
                    Generation {
                        status: GenerationStatus::Running,
                        error: None,
                        ..known
                    },
                    None,
                ))
            }
            // Idempotent while the blueprint is the same: restarting would throw away a paid draft.
            Some(known) if known.is_open() && known.blueprint == blueprint => Ok((known, None)),
            _ => Ok((
                Generation {
                    node: node.id,
                    scene: path,
                    status: GenerationStatus::Running,
                    step: GenerationStep::Write,
                    blueprint,
                    writer: String::new(),
                    draft: String::new(),
                    conclusions: 0,
                    revisions: 0,
                    findings: Vec::new(),
                    verdict: None,
                    before_revision: None,
                    verdict_before_revision: None,
                    failures: 0,
                    error: None,
                    started: ctx.clock.now(),
                    updated: ctx.clock.now(),
                },
                None,
            )),
        }
    })
}

/// Resumes a generation where it stopped. A held one continues as it is: the person who resumes it
/// has decided.
///
/// # Errors
/// When it was never started, or is finished; or it is held, and the actor is not a person.
pub fn resume_generation(ctx: &Context<'_>, words: &[String]) -> Result<GenerationView, Failure> {
    change_generation(ctx, words, |state, tree, node, known| {
        let known = known.ok_or_else(|| not_started_failure(&tree.alias_path(node)))?;
        if !known.is_open() {
            let what = format!("`{}` is {}", known.scene, known.status.as_str());
            return Err(Failure::refused(what).with_step(format!("tl story write {}", known.scene)));
        }
        // Resuming a held scene is a decision about its findings, which the review has to record.
        let decided = if known.status == GenerationStatus::Held {
            accept_findings(ctx, state, &known)?
        } else {
            None
        };
        Ok((
            Generation {
                status: GenerationStatus::Running,
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

fn not_started_failure(path: &str) -> Failure {
    Failure::not_found(format!("generation of `{path}` was not started"))
        .with_step(format!("tl story write {path}"))
}

fn change_generation(
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

/// Returns the path of the next scene to write: approved, and without prose.
///
/// # Errors
/// When there is none.
pub fn next_unwritten_scene(ctx: &Context<'_>) -> Result<String, Failure> {
    let (state, tree) = observe_submitted_plans(ctx)?;
    for node in tree.all_preorder() {
        let known = record::read_record::<Generation>(&*state, &Generation::record_key(node.id))?;
        // A held scene waits for a person and is skipped; a changed blueprint makes both kinds open
        // again.
        let settled = known.is_some_and(|known| {
            matches!(
                known.status,
                GenerationStatus::Complete | GenerationStatus::Held
            ) && Some(known.blueprint) == node.content.canonical_hash()
        });
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
