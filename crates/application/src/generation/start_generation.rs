//! Start writing a scene, take a failed one up again, or cancel it.

use domain::fact::Fact;
use domain::generation::{Generation, GenerationStatus, Step};
use domain::node::{Node, Progress, Status};
use domain::operation::Verb;
use domain::record;
use domain::tree::Tree;

use super::material::scene;
use super::view::{GenerationView, begun};
use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::observe::observed_plans;
use crate::tick::gather::prose_path;

/// Starts a scene: a new one, or one that is complete, cancelled or from another blueprint, anew. What is under way stays
/// under way.
///
/// # Errors
/// When there is no such scene, its blueprint is not approved, or the state cannot be written.
pub fn start_generation(ctx: &Context<'_>, words: &[String]) -> Result<GenerationView, Failure> {
    change(ctx, words, |tree, node, known| {
        let path = tree.path(node);
        if node.status() != Status::Approved {
            let what = format!("cannot write `{path}`: its blueprint is `{}`, expected `approved`", node.status());
            return Err(Failure::new(FailureKind::Refused, what).step(format!("tl approve {path}")));
        }
        let blueprint =
            node.content.canonical().ok_or_else(|| Failure::new(FailureKind::Refused, "there is no blueprint"))?;
        match known {
            Some(known) if known.is_open() && known.blueprint == blueprint => Ok(known),
            _ => Ok(Generation {
                node: node.id,
                scene: path,
                status: GenerationStatus::Running,
                step: Step::Write,
                blueprint,
                writer: String::new(),
                draft: String::new(),
                conclusions: 0,
                revisions: 0,
                findings: Vec::new(),
                verdict: None,
                before_revision: None,
                failures: 0,
                error: None,
                started: ctx.clock.now(),
                updated: ctx.clock.now(),
            }),
        }
    })
}

/// Takes a scene up where it stopped. One that is held goes on as it is: whoever resumes it has decided.
///
/// # Errors
/// When it was never begun, or is settled.
pub fn resume_generation(ctx: &Context<'_>, words: &[String]) -> Result<GenerationView, Failure> {
    change(ctx, words, |tree, node, known| {
        let known = known.ok_or_else(|| not_begun(&tree.path(node)))?;
        if !known.is_open() {
            let what = format!("`{}` is {}", known.scene, known.status.word());
            return Err(Failure::new(FailureKind::Refused, what).step(format!("tl write {}", known.scene)));
        }
        Ok(Generation { status: GenerationStatus::Running, error: None, ..known })
    })
}

/// Cancels a scene. Its draft is kept with the record; what is written stays.
///
/// # Errors
/// When it was never begun, or is settled.
pub fn cancel_generation(ctx: &Context<'_>, words: &[String]) -> Result<GenerationView, Failure> {
    change(ctx, words, |tree, node, known| {
        let known = known.ok_or_else(|| not_begun(&tree.path(node)))?;
        if !known.is_open() {
            return Err(Failure::new(FailureKind::Refused, format!("`{}` is {}", known.scene, known.status.word())));
        }
        Ok(Generation { status: GenerationStatus::Cancelled, ..known })
    })
}

fn not_begun(path: &str) -> Failure {
    Failure::new(FailureKind::NotFound, format!("`{path}` was not begun")).step(format!("tl write {path}"))
}

fn change(
    ctx: &Context<'_>,
    words: &[String],
    decide: impl FnOnce(&Tree, &Node, Option<Generation>) -> Result<Generation, Failure>,
) -> Result<GenerationView, Failure> {
    let (_, tree) = observed_plans(ctx)?;
    let mut tx = ctx.store.write()?;
    let node = scene(ctx, &*tx, &tree, words)?;
    let known = begun(&*tx, node.id, "").ok();
    let mut after = decide(&tree, node, known.clone())?;
    if known.as_ref() != Some(&after) {
        after.updated = ctx.clock.now();
        let mut operation = ctx.operation(Verb::Write, format!("write {}: {}", after.scene, after.status.word()));
        operation.facts.extend(record::changed(&Generation::key(node.id), known.as_ref(), Some(&after)));
        if after.status == GenerationStatus::Running && node.progress == Progress::Pending {
            operation.facts.push(Fact::ProgressChanged {
                node: node.id,
                before: node.progress,
                after: Progress::Active,
            });
        }
        tx.record(operation)?;
        tx.commit()?;
    }
    Ok(GenerationView::of(ctx, &tree, after))
}

/// Returns the path of the next scene to write: approved, with nothing written from it.
///
/// # Errors
/// When there is none.
pub fn next_scene(ctx: &Context<'_>) -> Result<String, Failure> {
    let (state, tree) = observed_plans(ctx)?;
    for node in tree.all_in_order() {
        let known = record::read::<Generation>(&*state, &Generation::key(node.id))?;
        let settled = known.is_some_and(|known| {
            matches!(known.status, GenerationStatus::Complete | GenerationStatus::Held)
                && Some(known.blueprint) == node.content.canonical()
        });
        if prose_path(ctx, &tree, node).is_some() && node.status() == Status::Approved && !settled {
            return Ok(tree.path(node));
        }
    }
    Err(Failure::new(FailureKind::NotFound, "there is no approved blueprint that is not written yet").step("tl next"))
}
