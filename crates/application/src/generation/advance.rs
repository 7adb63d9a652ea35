//! Steps of a generation: the request for the next step, and the handling of its answer.

use domain::context_budget::PromptSection;
use domain::fact::Fact;
use domain::generation::prompts::{
    JUDGE_SYSTEM_PROMPT, WRITER_SYSTEM_PROMPT, WRITER_TEMPLATE, WRITER_TEMPLATE_PATH,
};
use domain::generation::steps::{self, JudgeReview, WriterAnswer};
use domain::generation::{Generation, GenerationStatus, GenerationStep};
use domain::ids::VersionHash;
use domain::node::Progress;
use domain::operation::Verb;
use domain::ports::{FileReadResult, FileStatResult, Transaction};
use domain::prose::ProseBasis;
use domain::record::{self, ChangeRecords};
use domain::review::Review;
use domain::tick::{ModelSpending, offline};
use domain::tree::Tree;
use domain::version::BACKUP_FOLDER;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::material::{SceneMaterial, find_scene};
use super::view::{GenerationView, load_generation};
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, begin_transaction};
use crate::ignored_folders::keep_out_of_git;
use crate::memory::memory_files;
use crate::memory::prose_files::note_read_texts;
use crate::memory::scene_readings::{JudgedText, SceneChange, apply_changes};
use crate::prose_counts::{NewCount, ProseMeasure, count_facts};
use crate::reviews::review_actor;
use crate::submit::observe_submitted_plans;
use crate::tick::begin_tick::refuse_small_context;
use crate::tick::spending::spending_facts;
use crate::tick::story_state::prose_path;

/// Unusable answers to one step before the generation fails.
const MAX_STEP_FAILURES: u32 = 3;

/// The next step of a generation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "next")]
pub enum NextGenerationStep {
    // Its members are named by the prompt that asks for them; published with every tool that returns
    // a step, they would be a third of that list.
    Ask(#[schemars(with = "crate::views::Object")] Box<StepAsk>),
    /// No further step: complete, held for a person, failed or cancelled.
    Rest {
        generation: Box<GenerationView>,
    },
}

/// A request to a writer or a judge.
#[derive(Clone, Debug, Serialize)]
pub struct StepAsk {
    pub scene: String,
    pub step: GenerationStep,
    pub nonce: String,
    pub system: String,
    pub prompt: String,
    /// JSON Schema of the answer; without it the answer is prose.
    pub schema: Option<Value>,
    pub max_output_tokens: u32,
    /// Sizes of the prompt's sections, for people.
    #[serde(skip)]
    pub sections: Vec<PromptSection>,
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
    pub spent: Vec<ModelSpending>,
    /// The reason, if there is no answer.
    pub failed: Option<String>,
}

/// Returns the next step of a started generation. A finished one that is not committed yet is
/// committed.
///
/// # Errors
/// When it was never started, or the state cannot be read or written.
pub fn next_step(ctx: &Context<'_>, words: &[String]) -> Result<NextGenerationStep, Failure> {
    next_step_within(ctx, words, None)
}

/// As [`next_step`], with a smaller token limit for the prompt than the policy's.
///
/// # Errors
/// As [`next_step`].
pub fn next_step_within(
    ctx: &Context<'_>,
    words: &[String],
    context_tokens: Option<usize>,
) -> Result<NextGenerationStep, Failure> {
    // A prompt has the memory as the author left it, also in the middle of a scene.
    memory_files::import_pending_edits(ctx)?;
    let (state, tree) = observe_submitted_plans(ctx)?;
    let node = find_scene(ctx, &*state, &tree, words)?;
    let generation = load_generation(&*state, node.id, &tree.alias_path(node))?;
    if generation.status != GenerationStatus::Running {
        return Ok(NextGenerationStep::Rest {
            generation: Box::new(GenerationView::from_generation(ctx, &tree, generation)),
        });
    }
    // An interrupted process may have recorded the last answer and not the scene: the next call
    // commits what was paid for (P19).
    if generation.step == GenerationStep::Commit {
        drop(state);
        let generation = Box::new(commit_scene(ctx, &tree, &generation)?);
        return Ok(NextGenerationStep::Rest { generation });
    }
    let gathered = SceneMaterial::gather(ctx, &*state, &tree, node)?;
    let template = match ctx.files.read_file(WRITER_TEMPLATE_PATH, 256 * 1024) {
        FileReadResult::Text { text, .. } => text,
        FileReadResult::Missing | FileReadResult::Unreadable { .. } => WRITER_TEMPLATE.to_owned(),
    };
    let judges = generation.step == GenerationStep::Judge;
    // About three tokens per word leave room for other languages than English. A verdict needs as much for
    // a short scene as for a long one; prose that was to have 120 words does not.
    let words = gathered.wanted_words(ctx, &generation);
    let room = u32::try_from(words.saturating_mul(3))
        .unwrap_or(u32::MAX)
        .max(if judges { 2_000 } else { 500 });
    let prompt = gathered
        .prompt_material(ctx, words, context_tokens)
        .render_prompt(&generation, &template);
    if let Some(least) = prompt.least_tokens {
        let policy = ctx.policy.generation.context_tokens;
        let tokens = context_tokens.map_or(policy, |smaller| smaller.min(policy));
        return Err(refuse_small_context(
            generation.step.as_str(),
            least,
            tokens,
        ));
    }
    Ok(NextGenerationStep::Ask(Box::new(StepAsk {
        scene: generation.scene.clone(),
        step: generation.step,
        nonce: request_nonce(&generation),
        system: if judges {
            JUDGE_SYSTEM_PROMPT
        } else {
            WRITER_SYSTEM_PROMPT
        }
        .to_owned(),
        prompt: prompt.text,
        sections: prompt.sections,
        schema: prompt.schema,
        max_output_tokens: room,
    })))
}

/// Returns the placeholder answer to the current step, made without a model.
///
/// # Errors
/// When it was never started, or the state cannot be read.
pub fn offline_answer(ctx: &Context<'_>, words: &[String]) -> Result<Value, Failure> {
    let (state, tree) = observe_submitted_plans(ctx)?;
    let node = find_scene(ctx, &*state, &tree, words)?;
    let generation = load_generation(&*state, node.id, &tree.alias_path(node))?;
    if generation.words.is_some() || generation.collects_variants() {
        let what = "without a model there are only placeholders: nothing to revise or choose from";
        return Err(Failure::refused(what).with_step("tl story model check"));
    }
    let gathered = SceneMaterial::gather(ctx, &*state, &tree, node)?;
    let words = gathered.wanted_words(ctx, &generation);
    let material = gathered.prompt_material(ctx, words, None);
    Ok(match generation.step {
        GenerationStep::Judge => material.offline_verdict(),
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
) -> Result<NextGenerationStep, Failure> {
    let (_, tree) = observe_submitted_plans(ctx)?;
    let mut tx = ctx.store.begin_write()?;
    let node = find_scene(ctx, &*tx, &tree, words)?;
    let before = load_generation(&*tx, node.id, &tree.alias_path(node))?;
    if before.status != GenerationStatus::Running || request_nonce(&before) != answer.nonce {
        let what = format!("stale answer: `{}` has moved on", before.scene);
        return Err(Failure::conflict(what)
            .with_step(format!("tl story generation status {}", before.scene)));
    }
    let gathered = SceneMaterial::gather(ctx, &*tx, &tree, node)?;
    let mut after = before.clone();
    after.writer.clone_from(&answer.writer);
    // A placeholder without a model has other floors: it is never long enough for a scene.
    let expected = match answer.writer == offline::PLANNER_NAME {
        true => gathered.expected_placeholder(),
        false => gathered.expected_prose(gathered.wanted_words(ctx, &before)),
    };
    let known = record::read_record::<Review>(&*tx, &before.scene)?;
    let mut review =
        JudgeReview::open_review(known.clone(), &before, ctx.policy.generation.revisions);
    let said = review_actor(ctx);
    let judging = JudgeReview {
        review: &mut review,
        said,
        policy: &ctx.policy.review,
    };
    let taken = match &answer.failed {
        Some(why) => Err(why.clone()),
        None => {
            let given = WriterAnswer {
                value: &answer.answer,
                is_cut: answer.is_cut,
                is_last_attempt: before.failures + 1 >= MAX_STEP_FAILURES,
            };
            steps::apply_answer(&mut after, &given, &expected, judging)
        }
    };
    // The review changes only with a usable answer; a failed call must not cost an iteration. Of variants
    // only the chosen one is reviewed.
    let is_concluded = taken.is_ok()
        && !before.collects_variants()
        && (before.step == GenerationStep::Judge || after.step == GenerationStep::Commit);
    let reviewed = is_concluded
        .then(|| record::record_changed_fact(&before.scene, known.as_ref(), Some(&review)))
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
            if answer.failed.is_some() || after.failures >= MAX_STEP_FAILURES {
                after.status = GenerationStatus::Failed;
            }
        }
    }
    let planned = PlannedFiles::new(ctx, None);
    record_generation(
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
fn request_nonce(generation: &Generation) -> String {
    let Generation {
        node,
        step,
        conclusions,
        revisions,
        failures,
        started,
        blueprint,
        variants,
        chosen,
        ..
    } = generation;
    // Any change since the request (a revision, a retry, another blueprint) gives another nonce, so
    // a stale answer cannot be applied to a later step.
    let text = format!(
        "{node}/{}/{conclusions}/{revisions}/{failures}/{started}/{blueprint:?}/{}/{chosen:?}",
        step.as_str(),
        variants.len()
    );
    VersionHash::of_bytes(text.as_bytes())
        .to_string()
        .chars()
        .take(16)
        .collect()
}

fn record_generation(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    planned: &PlannedFiles<'_>,
    before: &Generation,
    after: &mut Generation,
    calls: &[ModelSpending],
    more: Vec<Fact>,
) -> Result<(), Failure> {
    after.updated = ctx.clock.now();
    let done = if after.status == GenerationStatus::Running {
        before.step.as_str()
    } else {
        after.status.as_str()
    };
    let mut operation = ctx.new_operation(Verb::Write, format!("write {}: {done}", after.scene));
    operation.facts = spending_facts(&*tx, calls)?;
    operation.facts.change_record(
        &Generation::record_key(after.node),
        Some(before),
        Some(after),
    );
    operation.facts.extend(more);
    // Every draft is kept as a text, so that a revision that made the scene worse can be compared.
    operation.texts.push(after.draft.clone());
    planned.record_operation(tx, operation)?;
    Ok(())
}

/// Commits a scene: prose, facts, open loops and the end of the generation in one operation.
fn commit_scene(
    ctx: &Context<'_>,
    tree: &Tree,
    before: &Generation,
) -> Result<GenerationView, Failure> {
    let gone = || Failure::not_found(format!("`{}` is gone", before.scene));
    let node = tree.get(before.node).ok_or_else(gone)?;
    let path = prose_path(ctx, tree, node).ok_or_else(gone)?;
    let text = format!("{}\n", before.draft.trim());
    let mut tx = begin_transaction(ctx)?;
    // Compare-and-set: `before` was read outside the transaction.
    if record::read_record::<Generation>(&*tx, &Generation::record_key(before.node))?.as_ref()
        != Some(before)
    {
        let what = format!("`{}` changed meanwhile", before.scene);
        return Err(Failure::conflict(what)
            .with_step(format!("tl story generation status {}", before.scene)));
    }
    let planned = PlannedFiles::new(ctx, None);
    // The backup is a planned write too: it exists exactly if the prose was replaced.
    ctx.with_planned_files(&planned, |ctx| back_up_prose(ctx, &path, &text))?;
    planned.put_file(&path, Some(&text))?;
    let mut memory_files = memory_files::import_edits_within(ctx, &mut *tx)?;
    let mut memory = memory_files::load_memory(&*tx)?;
    let change = SceneChange {
        node: node.id,
        text: Some(text.clone()),
        // A text that no judge read, because its revision was not kept, is still read as before.
        judged: (before.verdict.is_some() || before.is_accepted).then(|| JudgedText {
            claims: before.verdict.clone().unwrap_or_default(),
            reader: before.writer.clone(),
            is_accepted: before.is_accepted,
        }),
    };
    let readings = apply_changes(ctx, &*tx, tree, &mut memory, vec![change])?;
    let mut after = Generation {
        status: GenerationStatus::Complete,
        ..before.clone()
    };
    let mut more = memory.change_facts();
    more.extend(readings);
    let progress = tx.load_node(node.id)?.ok_or_else(gone)?.progress;
    // A node that needs evidence stays open until it is proved, also with its prose written.
    if progress != Progress::Complete && !crate::evidence::lacks_proof(ctx, &*tx, node)? {
        more.push(Fact::ProgressChanged {
            node: node.id,
            before: progress,
            after: Progress::Complete,
        });
    }
    if let Some(plan) = node.content.as_parent_version() {
        let key = node.id.0.to_string();
        let known = record::read_record::<ProseBasis>(&*tx, &key)?;
        more.change_record(&key, known.as_ref(), Some(&ProseBasis { plan }));
    }
    let new = NewCount {
        node: node.id,
        found: ProseMeasure::of_text(&text, ctx.clock.now()),
    };
    more.extend(count_facts(&*tx, tree, &[new])?);
    record_generation(ctx, &mut *tx, &planned, before, &mut after, &[], more)?;
    // Before the commit: which files are about to be written must survive a crash.
    memory_files.register_changes(ctx, &mut *tx, &memory)?;
    let version = VersionHash::of_bytes(text.as_bytes());
    note_read_texts(ctx, &mut *tx, tree, &[(node.id, version)])?;
    tx.commit()?;
    // Memory files first: a failure there is only a notice, while a failed prose file ends the
    // call.
    memory_files.write_files(ctx);
    planned.write_committed(ctx)?;
    Ok(GenerationView::from_generation(ctx, tree, after))
}

/// Backs up existing prose that differs from the new text, because it may be a person's work.
fn back_up_prose(ctx: &Context<'_>, path: &str, text: &str) -> Result<(), Failure> {
    let FileReadResult::Text { text: known, .. } = ctx.files.read_file(path, 16 * 1024 * 1024)
    else {
        // Unreadable is not missing: replaced without a backup, a person's file would be lost.
        return match ctx.files.stat_file(path) {
            FileStatResult::Missing => Ok(()),
            _ => Err(
                Failure::refused(format!("`{path}` exists and cannot be read"))
                    .with_step("move it away"),
            ),
        };
    };
    if known == text {
        return Ok(());
    }
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let backups = format!("{folder}/{BACKUP_FOLDER}");
    let backups = backups.trim_start_matches('/');
    keep_out_of_git(ctx, backups);
    for attempt in 1..1_000 {
        let backup = format!(
            "{backups}/{}",
            domain::version::backup_name(name, ctx.clock.now(), attempt)
        );
        match ctx
            .files
            .create_file(&backup, &domain::secrets::mask_secrets(&known))
        {
            Ok(()) => return Ok(()),
            Err(domain::ports::FileFault::Exists { .. }) => {}
            Err(fault) => return Err(fault.into()),
        }
    }
    Err(Failure::conflict(format!(
        "there is no free name for a backup of `{path}`"
    )))
}
