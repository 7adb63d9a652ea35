//! `tl story write`: generates a scene from its blueprint, step by step.

use application::Failure;
use application::generation::advance::{
    NextGenerationStep, StepAnswer, StepAsk, next_step, next_step_within, offline_answer,
    submit_step,
};
use application::generation::start_generation::{
    GenerationRequest, next_unwritten_scene, start_generation,
};
use application::generation::variants::VariantSummary;
use application::generation::view::GenerationView;
use application::tick::spending::record_spending;
use clap::Args;
use domain::generation::variants::MAX_VARIANTS;
use domain::generation::{FindingSeverity, GenerationStatus, GenerationStep, SceneFinding};
use domain::text::count_with_noun;
use llm::{ErrorClass, Message};
use serde_json::{Value, json};

use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::model::{ModelRequest, Planner, halve_context, print_sections, send_model_request};
use crate::model_lease::LeaseGuard;
use crate::progress::Progress;
use crate::ui::{BAD, BOLD, DIM, GOOD, INFO, WARN, styled};
use crate::wiring::App;

/// Write a scene from its approved blueprint
///
/// The writer model writes, checks and a judge model find problems, the text is revised a few
/// times, and the result goes into `content/` and the memory. Every step is recorded: an
/// interrupted generation is continued by `tl story generation resume`. Without a model the scene is a
/// placeholder made from the blueprint, marked as such.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl story write scene-0101
  tl story write --next
  tl story write --next --show-prompt
  tl story write scene-0101 --variants 3     # then compare and choose
  tl story write scene-0101 --revise         # by your comments on its prose")]
pub(crate) struct WriteArgs {
    /// The scene: `scene-0101`, or its path
    #[arg(required_unless_present = "next", num_args = 1..=2, value_name = "SCENE", add = node_completer())]
    scene: Vec<String>,
    /// The first approved scene that is not written yet
    #[arg(long, conflicts_with = "scene")]
    next: bool,
    /// Number of drafts to write and judge, of which you choose one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=i64::from(MAX_VARIANTS)))]
    variants: Option<u32>,
    /// Revise the text in the book by the open comments on it, instead of writing another one
    #[arg(long, conflicts_with_all = ["next", "variants"])]
    revise: bool,
    /// Print the prompts of writer and judge
    #[arg(long)]
    show_prompt: bool,
}

impl WriteArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let scene = if self.next {
            vec![app.run(next_unwritten_scene)?]
        } else {
            self.scene.clone()
        };
        // After the scene is resolved: a wrong name is the more common mistake, and its message the
        // more useful one.
        let mind = Planner::from_configuration(app)?;
        let request = GenerationRequest {
            variants: self.variants.unwrap_or_default(),
            revises: self.revise,
        };
        if matches!(mind, Planner::Offline) && (self.revise || self.variants.is_some()) {
            let what =
                "variants and revisions need a model: without one there are only placeholders";
            return Err(Failure::refused(what).with_step("tl story model check"));
        }
        let (scene, mut lease) = self.lease_scene(app, &mind, scene)?;
        let started = app.run(|ctx| start_generation(ctx, &scene, request))?;
        // `start_generation` returns an unfinished one instead of starting again: its steps were
        // paid for.
        let is_begun = match started.step {
            GenerationStep::Write => !started.variants.is_empty(),
            GenerationStep::Revise => !self.revise || started.revisions > 0,
            _ => true,
        };
        if is_begun && started.status == GenerationStatus::Running {
            app.ui.print_message(format_args!(
                "{} {} at step {}",
                styled(INFO, "resuming"),
                started.scene,
                started.step.as_str()
            ));
        }
        let asked = SceneQuestions {
            scene: &[started.scene],
            show_prompt: self.show_prompt,
            lease: &mut lease,
        };
        run_generation(app, &mind, asked)
    }

    /// Takes the lease on the scene. With `--next` another one may be the next by then.
    fn lease_scene<'a>(
        &self,
        app: &'a App,
        mind: &Planner,
        mut scene: Vec<String>,
    ) -> Result<(Vec<String>, LeaseGuard<'a>), Failure> {
        loop {
            let lease = LeaseGuard::for_scene(app, mind, &scene)?;
            if !self.next {
                return Ok((scene, lease));
            }
            let next = vec![app.run(next_unwritten_scene)?];
            if next == scene {
                return Ok((scene, lease));
            }
            scene = next;
        }
    }
}

/// What is asked about a scene, under its lease.
pub(super) struct SceneQuestions<'l, 'a> {
    pub(super) scene: &'l [String],
    pub(super) show_prompt: bool,
    pub(super) lease: &'l mut LeaseGuard<'a>,
}

/// Runs the steps of a generation until it is complete, held or failed.
pub(super) fn run_generation(
    app: &App,
    mind: &Planner,
    asked: SceneQuestions<'_, '_>,
) -> Result<ExitCode, Failure> {
    let generation = advance_generation(app, mind, asked)?;
    Ok(finish_generation(app, &generation))
}

/// Runs the steps of a generation until there is none, and returns it.
pub(super) fn advance_generation(
    app: &App,
    mind: &Planner,
    asked: SceneQuestions<'_, '_>,
) -> Result<GenerationView, Failure> {
    let SceneQuestions {
        scene,
        show_prompt,
        lease,
    } = asked;
    let progress = Progress::new(app.ui, 0);
    // Each step is one operation, and the model is called between them: the state is not locked for
    // minutes, and a kill loses at most one call.
    let mut next = app.run(|ctx| next_step(ctx, scene))?;
    loop {
        let question = match next {
            NextGenerationStep::Rest { generation } => {
                progress.hide_bar();
                return Ok(*generation);
            }
            NextGenerationStep::Ask(question) => question,
        };
        if show_prompt {
            app.ui.print_message_lines(&question.prompt);
            print_sections(app, &question.sections);
        }
        let what = format!("{} {}", question.step.as_str(), question.scene);
        // Prose is streamed; a verdict is JSON and shown when it is complete.
        match question.schema {
            None => progress.announce_stream(&what),
            Some(_) => progress.show_waiting_for(&what),
        }
        lease.renew()?;
        let answer = answer_step(app, mind, &progress, scene, &question)?;
        next = app.run(|ctx| submit_step(ctx, scene, &answer))?;
    }
}

fn answer_step(
    app: &App,
    mind: &Planner,
    progress: &Progress,
    scene: &[String],
    question: &StepAsk,
) -> Result<StepAnswer, Failure> {
    let mut answer = StepAnswer {
        nonce: question.nonce.clone(),
        writer: mind.name(),
        ..StepAnswer::default()
    };
    // The nonce binds the answer to the question: if another process advances the generation
    // meanwhile, the submission fails instead of overwriting its step.
    let Planner::Model { model, cancel } = mind else {
        answer.answer = app.run(|ctx| offline_answer(ctx, scene))?;
        return Ok(answer);
    };
    let mut question = question.clone();
    let mut is_shrunk = false;
    loop {
        let asked = ModelRequest {
            purpose: question.step.as_str(),
            account: &question.scene,
            system: &question.system,
            messages: vec![Message::from_user(&question.prompt)],
            schema: question.schema.as_ref(),
            max_output_tokens: question.max_output_tokens,
        };
        let unanswered = match send_model_request(&**model, cancel, progress, asked) {
            Ok(answered) => {
                answer.answer = answered.json.unwrap_or(Value::String(answered.text));
                answer.is_cut = answered.is_cut;
                answer.spent.extend(answered.spent);
                return Ok(answer);
            }
            Err(unanswered) => unanswered,
        };
        answer.spent.extend(unanswered.spent.iter().cloned());
        if let Some(problem) = unanswered.answer_problem() {
            // Submitted like an answer: the generation records the failure with its cost, and
            // decides whether to try again.
            answer.failed = Some(problem);
            return Ok(answer);
        }
        if unanswered.class == ErrorClass::ContextTooLong && !is_shrunk {
            is_shrunk = true;
            let tokens = halve_context(progress, &question.prompt, question.schema.as_ref());
            if let NextGenerationStep::Ask(smaller) =
                app.run(|ctx| next_step_within(ctx, scene, Some(tokens)))?
            {
                question = *smaller;
                continue;
            }
        }
        // Not submitted: neither Ctrl-C nor a wrong key is a failure of the step. Its attempts are
        // paid for all the same.
        app.run(|ctx| record_spending(ctx, &answer.spent))?;
        let resume = format!("tl story generation resume {}", question.scene);
        return Err(unanswered.into_stop("the scene is as it was, and can be resumed", &resume));
    }
}

fn finish_generation(app: &App, generation: &GenerationView) -> ExitCode {
    print_generation(app, generation);
    match generation.status {
        GenerationStatus::Complete | GenerationStatus::Running | GenerationStatus::Cancelled => {
            ExitCode::Done
        }
        // The variants are what was asked for.
        GenerationStatus::Held if generation.step == GenerationStep::Choose => ExitCode::Done,
        // Held means that revisions ran out and a person has to decide; a script must not go on.
        GenerationStatus::Failed | GenerationStatus::Held => ExitCode::Failed,
    }
}

/// Prints the status of a generation.
pub(super) fn print_generation(app: &App, generation: &GenerationView) {
    if app.ui.try_print_json(&json!(generation)) {
        return;
    }
    let style = match generation.status {
        GenerationStatus::Complete => GOOD,
        GenerationStatus::Running | GenerationStatus::Cancelled => WARN,
        GenerationStatus::Failed | GenerationStatus::Held => BAD,
    };
    let words = count_with_noun(generation.words, "word", "words");
    let scene = &generation.scene;
    app.ui.print_line(format_args!(
        "{} {} {words}",
        styled(BOLD, &scene),
        styled(style, generation.status.as_str())
    ));
    if generation.stale {
        app.ui.print_line(format_args!(
            "  {}: its blueprint has changed or is no longer approved",
            styled(WARN, "stale")
        ));
    }
    for finding in &generation.findings {
        print_finding(app, finding);
    }
    for variant in &generation.variants {
        print_variant(app, variant);
    }
    if let Some(error) = &generation.error {
        app.ui
            .print_line(format_args!("  {}: {}", styled(BAD, "error"), error));
    }
    if let Some(file) = &generation.file {
        app.ui.print_line(format!("  {file}"));
    }
    match generation.status {
        GenerationStatus::Failed => app
            .ui
            .print_next_step(format_args!("tl story generation resume {scene}")),
        GenerationStatus::Held if generation.step == GenerationStep::Choose => {
            app.ui.print_next_step(format_args!(
                "tl story generation variants {scene} --show 1"
            ));
            app.ui
                .print_next_step(format_args!("tl story generation choose {scene} 1"));
        }
        GenerationStatus::Held => {
            app.ui.print_next_step(format_args!(
                "tl story generation resume {scene}   # keep it as it is"
            ));
            app.ui
                .print_next_step(format_args!("tl story generation cancel {scene}"));
        }
        _ => {}
    }
}

/// Prints a variant: its size, what was found, how it begins and ends.
pub(super) fn print_variant(app: &App, variant: &VariantSummary) {
    let VariantSummary {
        number,
        must,
        should,
        could,
        ..
    } = variant;
    let words = count_with_noun(variant.words, "word", "words");
    let chosen = match variant.is_chosen {
        true => " · chosen",
        false => "",
    };
    app.ui.print_line(format_args!(
        "  {} {words}, {must} must, {should} should, {could} could{chosen}",
        styled(BOLD, format!("variant {number}")),
    ));
    app.ui
        .print_line(styled(DIM, format!("    {} …", variant.opening)));
    app.ui
        .print_line(styled(DIM, format!("    … {}", variant.ending)));
}

/// Prints a finding with its quote.
pub(super) fn print_finding(app: &App, finding: &SceneFinding) {
    let mark = if finding.severity == FindingSeverity::Must {
        styled(BAD, "must")
    } else {
        styled(WARN, "note")
    };
    let quote = finding
        .quote
        .as_deref()
        .map(|quote| format!(" — “{quote}”"))
        .unwrap_or_default();
    app.ui.print_line(format_args!(
        "  {mark} {}: {}{quote}",
        finding.check, finding.problem
    ));
}
