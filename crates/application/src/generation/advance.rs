//! Steps of a generation: the request for the next step, and the handling of its answer.

use domain::fact::Fact;
use domain::generation::prompts::{JUDGE, TEMPLATE, TEMPLATE_TEXT, WRITER};
use domain::generation::steps::{self, Judging};
use domain::generation::update::{self, Kept};
use domain::generation::{Generation, GenerationStatus, Step, verdict};
use domain::ids::VersionHash;
use domain::node::Progress;
use domain::operation::Verb;
use domain::ports::{FileLook, Reading, Transaction};
use domain::review::{Review, Said};
use domain::tick::{Spending, TickState, offline};
use domain::tree::Tree;
use domain::{record, search};
use serde::Serialize;
use serde_json::Value;

use super::material::{Gathered, scene};
use super::view::{GenerationView, begun};
use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::file_writes::{PlannedFiles, begin};
use crate::memory::files;
use crate::observe::observed_plans;
use crate::tick::gather::prose_path;
use crate::tick::spending::spent;

/// Unusable answers to one step before the generation fails.
const MOST_FAILURES: u32 = 3;

/// The next step of a generation.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "next")]
pub enum NextStep {
    Ask(Box<StepAsk>),
    /// No further step: complete, held for a person, failed or cancelled.
    Rest {
        generation: Box<GenerationView>,
    },
}

/// A request to a writer or a judge.
#[derive(Clone, Debug, Serialize)]
pub struct StepAsk {
    pub scene: String,
    pub step: Step,
    pub nonce: String,
    pub system: String,
    pub prompt: String,
    /// JSON Schema of the answer; without it the answer is prose.
    pub schema: Option<Value>,
    pub max_output_tokens: u32,
}

/// The answer to a step.
#[derive(Clone, Debug, Default)]
pub struct StepAnswer {
    pub nonce: String,
    /// The prose as a string, or the verdict.
    pub answer: Value,
    /// The text was cut off by the token limit.
    pub is_cut: bool,
    pub writer: String,
    pub spent: Vec<Spending>,
    /// The reason, if there is no answer.
    pub failed: Option<String>,
}

/// Returns the next step of a started generation. A finished one that is not committed yet is
/// committed.
///
/// # Errors
/// When it was never started, or the state cannot be read or written.
pub fn next_step(ctx: &Context<'_>, words: &[String]) -> Result<NextStep, Failure> {
    let (state, tree) = observed_plans(ctx)?;
    let node = scene(ctx, &*state, &tree, words)?;
    let generation = begun(&*state, node.id, &tree.path(node))?;
    if generation.status != GenerationStatus::Running {
        return Ok(NextStep::Rest {
            generation: Box::new(GenerationView::of(ctx, &tree, generation)),
        });
    }
    if generation.step == Step::Commit {
        drop(state);
        let generation = Box::new(commit(ctx, &tree, &generation)?);
        return Ok(NextStep::Rest { generation });
    }
    let gathered = Gathered::of(ctx, &*state, &tree, node)?;
    let template = match ctx.files.read(TEMPLATE, 256 * 1024) {
        Reading::Text { text, .. } => text,
        Reading::Missing | Reading::Unreadable { .. } => TEMPLATE_TEXT.to_owned(),
    };
    let judges = generation.step == Step::Judge;
    // About three tokens per word leave room for other languages than English; the minimum is for
    // verdicts of short scenes.
    let room = u32::try_from(ctx.policy.generation.scene_words.saturating_mul(3))
        .unwrap_or(u32::MAX)
        .max(2_000);
    Ok(NextStep::Ask(Box::new(StepAsk {
        scene: generation.scene.clone(),
        step: generation.step,
        nonce: nonce(&generation),
        system: if judges { JUDGE } else { WRITER }.to_owned(),
        prompt: gathered.material(ctx).prompt(&generation, &template),
        schema: judges.then(|| verdict::schema(&gathered.memory)),
        max_output_tokens: room,
    })))
}

/// Returns the placeholder answer to the current step, made without a model.
///
/// # Errors
/// When it was never started, or the state cannot be read.
pub fn offline_answer(ctx: &Context<'_>, words: &[String]) -> Result<Value, Failure> {
    let (state, tree) = observed_plans(ctx)?;
    let node = scene(ctx, &*state, &tree, words)?;
    let generation = begun(&*state, node.id, &tree.path(node))?;
    let gathered = Gathered::of(ctx, &*state, &tree, node)?;
    let material = gathered.material(ctx);
    Ok(match generation.step {
        Step::Judge => material.offline_verdict(),
        _ => Value::String(material.offline_draft()),
    })
}

/// Handles an answer and returns the next step.
///
/// # Errors
/// When the answer is stale, or the state cannot be written. An unusable answer counts as a failure
/// of the step.
pub fn submit_step(
    ctx: &Context<'_>,
    words: &[String],
    answer: &StepAnswer,
) -> Result<NextStep, Failure> {
    let (_, tree) = observed_plans(ctx)?;
    let mut tx = ctx.store.write()?;
    let node = scene(ctx, &*tx, &tree, words)?;
    let before = begun(&*tx, node.id, &tree.path(node))?;
    if before.status != GenerationStatus::Running || nonce(&before) != answer.nonce {
        let what = format!("stale answer: `{}` has moved on", before.scene);
        return Err(Failure::new(FailureKind::Conflict, what)
            .step(format!("tl generation status {}", before.scene)));
    }
    let gathered = Gathered::of(ctx, &*tx, &tree, node)?;
    let mut after = before.clone();
    after.writer.clone_from(&answer.writer);
    let expected = gathered.expected(ctx, answer.writer == offline::NAME);
    let known = record::read::<Review>(&*tx, &before.scene)?;
    let mut review = Judging::review(known.clone(), &before, ctx.policy.generation.revisions);
    let said = Said {
        by: &ctx.actor,
        at: ctx.clock.now(),
    };
    let judging = Judging {
        review: &mut review,
        said,
        policy: &ctx.policy.review,
    };
    let taken = match &answer.failed {
        Some(why) => Err(why.clone()),
        None => steps::take(
            &mut after,
            &answer.answer,
            answer.is_cut,
            &expected,
            judging,
        ),
    };
    let judged = before.step == Step::Judge && taken.is_ok();
    // The review changes only with a usable verdict; a failed call must not cost an iteration.
    let reviewed = judged
        .then(|| record::changed(&before.scene, known.as_ref(), Some(&review)))
        .flatten();
    match taken {
        Ok(()) => after.error = None,
        Err(why) => {
            // Everything else as it was before: a half-applied answer must not leak into the retry.
            after = Generation {
                failures: before.failures + 1,
                error: Some(why),
                ..before.clone()
            };
            // The caller has retried a failed call already; only unusable answers get further
            // attempts.
            if answer.failed.is_some() || after.failures >= MOST_FAILURES {
                after.status = GenerationStatus::Failed;
            }
        }
    }
    let planned = PlannedFiles::of(ctx, None);
    keep(
        ctx,
        &mut *tx,
        &planned,
        &before,
        &mut after,
        &answer.spent,
        reviewed.into_iter().collect(),
    )?;
    tx.commit()?;
    next_step(ctx, words)
}

/// Returns the id of a request: a hash of everything that led to it.
fn nonce(generation: &Generation) -> String {
    let Generation {
        node,
        step,
        conclusions,
        revisions,
        failures,
        started,
        blueprint,
        ..
    } = generation;
    // Any change since the request (a revision, a retry, another blueprint) gives another nonce, so
    // a stale answer cannot be applied to a later step.
    let text = format!(
        "{node}/{}/{conclusions}/{revisions}/{failures}/{started}/{blueprint:?}",
        step.word()
    );
    VersionHash::of(text.as_bytes())
        .to_string()
        .chars()
        .take(16)
        .collect()
}

fn keep(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    planned: &PlannedFiles<'_>,
    before: &Generation,
    after: &mut Generation,
    calls: &[Spending],
    more: Vec<Fact>,
) -> Result<(), Failure> {
    after.updated = ctx.clock.now();
    let done = if after.status == GenerationStatus::Running {
        before.step.word()
    } else {
        after.status.word()
    };
    let mut operation = ctx.operation(Verb::Write, format!("write {}: {done}", after.scene));
    operation.facts = spent(&*tx, calls)?;
    operation.facts.extend(record::changed(
        &Generation::key(after.node),
        Some(before),
        Some(after),
    ));
    operation.facts.extend(more);
    operation.texts.push(after.draft.clone());
    planned.record(tx, operation)?;
    Ok(())
}

/// Commits a scene: prose, facts, open loops and the end of the generation in one operation.
fn commit(ctx: &Context<'_>, tree: &Tree, before: &Generation) -> Result<GenerationView, Failure> {
    let gone = || Failure::new(FailureKind::NotFound, format!("`{}` is gone", before.scene));
    let node = tree.get(before.node).ok_or_else(gone)?;
    let path = prose_path(ctx, tree, node).ok_or_else(gone)?;
    let text = format!("{}\n", before.draft.trim());
    let mut tx = begin(ctx)?;
    // Compare-and-set: `before` was read outside the transaction.
    if record::read::<Generation>(&*tx, &Generation::key(before.node))?.as_ref() != Some(before) {
        let what = format!("`{}` changed meanwhile", before.scene);
        return Err(Failure::new(FailureKind::Conflict, what)
            .step(format!("tl generation status {}", before.scene)));
    }
    let planned = PlannedFiles::of(ctx, None);
    // The backup is a planned write too: it exists exactly if the prose was replaced.
    ctx.on_files(&planned, |ctx| set_aside(ctx, &path, &text))?;
    planned.put(&path, Some(&text))?;
    let mut memory_files = files::observe_within(ctx, &mut *tx)?;
    let mut memory = files::stored(&*tx)?;
    let tick = record::read::<TickState>(&*tx, TickState::KEY)?
        .unwrap_or_default()
        .current_tick;
    let title = node
        .description
        .title
        .clone()
        .unwrap_or_else(|| before.scene.clone());
    let blueprint = node
        .content
        .version()
        .map(|version| tx.text(version))
        .transpose()?
        .flatten()
        .unwrap_or_default();
    let kept = Kept {
        title: &title,
        tick,
        words: search::words(&before.draft).len(),
    };
    update::remember(&mut memory, before, &blueprint, kept);
    let mut after = Generation {
        status: GenerationStatus::Complete,
        ..before.clone()
    };
    let mut more = memory.changes();
    let progress = tx.node(node.id)?.ok_or_else(gone)?.progress;
    // A node that needs evidence stays open until it is proved, also with its prose written.
    if progress != Progress::Complete && crate::evidence::unproved(ctx, &*tx, node)?.is_none() {
        more.push(Fact::ProgressChanged {
            node: node.id,
            before: progress,
            after: Progress::Complete,
        });
    }
    keep(ctx, &mut *tx, &planned, before, &mut after, &[], more)?;
    // Before the commit: which files are about to be written must survive a crash.
    memory_files.expect(ctx, &mut *tx, &memory)?;
    tx.commit()?;
    // Memory files first: a failure there is only a notice, while a failed prose file ends the
    // call.
    memory_files.write(ctx);
    planned.write(ctx)?;
    Ok(GenerationView::of(ctx, tree, after))
}

/// Backs up existing prose that differs from the new text, because it may be a person's work.
fn set_aside(ctx: &Context<'_>, path: &str, text: &str) -> Result<(), Failure> {
    let Reading::Text { text: known, .. } = ctx.files.read(path, 16 * 1024 * 1024) else {
        return match ctx.files.look(path) {
            FileLook::Missing => Ok(()),
            _ => Err(Failure::new(
                FailureKind::Refused,
                format!("`{path}` exists and cannot be read"),
            )
            .step("move it away")),
        };
    };
    if known == text {
        return Ok(());
    }
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    for attempt in 1..1_000 {
        let backup = format!(
            "{folder}/backups/{}",
            domain::version::backup_name(name, ctx.clock.now(), attempt)
        );
        match ctx.files.create(
            backup.trim_start_matches('/'),
            &domain::secrets::mask(&known),
        ) {
            Ok(()) => return Ok(()),
            Err(domain::ports::FileFault::Exists { .. }) => {}
            Err(fault) => return Err(fault.into()),
        }
    }
    Err(Failure::new(
        FailureKind::Conflict,
        format!("there is no free name for a backup of `{path}`"),
    ))
}
