//! `tl story generation`: status, resume and cancel of scene generations, and the choice among variants.

use application::Failure;
use application::generation::start_generation::{cancel_generation, resume_generation};
use application::generation::variants::{
    VariantView, choose_variant, compare_variants, show_variants,
};
use application::generation::view::{list_generations, show_generation};
use clap::{Args, Subcommand};

use super::diff::print_diff;
use super::write::{
    SceneQuestions, print_finding, print_generation, print_variant, run_generation,
};
use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::model::Planner;
use crate::model_lease::LeaseGuard;
use crate::wiring::App;

/// Scene generations: show their status, resume or cancel them, choose a variant
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl story generation status
  tl story generation status scene-0101
  tl story generation resume scene-0101
  tl story generation variants scene-0101
  tl story generation variants scene-0101 --diff 1 2
  tl story generation choose scene-0101 2
  tl story generation cancel scene-0101")]
pub(crate) struct GenerationArgs {
    #[command(subcommand)]
    what: GenerationCommand,
}

#[derive(Debug, Subcommand)]
enum GenerationCommand {
    /// Show the status of one generation, or of all
    Status {
        /// The scene
        #[arg(num_args = 0..=2, add = node_completer())]
        scene: Vec<String>,
    },
    /// Resume where it stopped; a held scene is accepted as it is
    Resume {
        /// The scene
        #[arg(required = true, num_args = 1..=2, add = node_completer())]
        scene: Vec<String>,
    },
    /// Compare the variants of a scene: list them, print one, or show how two differ
    Variants {
        /// The scene
        #[arg(required = true, num_args = 1..=2, add = node_completer())]
        scene: Vec<String>,
        /// Print this variant
        #[arg(long, value_name = "NUMBER", conflicts_with = "diff")]
        show: Option<usize>,
        /// Show the differences between two variants, sentence by sentence
        #[arg(long, value_name = "NUMBER", num_args = 2)]
        diff: Option<Vec<usize>>,
    },
    /// Choose a variant: it is revised if it needs to be, and goes into the book
    Choose {
        /// The scene, and the number of the variant
        #[arg(required = true, num_args = 2..=3, value_names = ["SCENE", "NUMBER"], add = node_completer())]
        scene_and_number: Vec<String>,
        /// Discard the other variants; by default they are kept for another choice
        #[arg(long)]
        discard: bool,
    },
    /// Cancel it for good; the written text is kept
    Cancel {
        /// The scene
        #[arg(required = true, num_args = 1..=2, add = node_completer())]
        scene: Vec<String>,
    },
}

impl GenerationArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            GenerationCommand::Status { scene } if scene.is_empty() => {
                let all = app.run(list_generations)?;
                if app.ui.json {
                    app.ui.print_json(&all);
                } else if all.is_empty() {
                    app.ui
                        .print_message("no generations yet; next: tl story write --next");
                } else {
                    all.iter()
                        .for_each(|generation| print_generation(app, generation));
                }
            }
            GenerationCommand::Status { scene } => {
                print_generation(app, &app.run(|ctx| show_generation(ctx, scene))?)
            }
            GenerationCommand::Resume { scene } => {
                // Before the state changes: a wrong model configuration must not leave a resumed
                // generation that is not running.
                let mind = Planner::from_configuration(app)?;
                let mut lease = LeaseGuard::for_scene(app, &mind, scene)?;
                let resumed = app.run(|ctx| resume_generation(ctx, scene))?;
                app.ui.print_message(format!(
                    "resuming {} at step {}",
                    resumed.scene,
                    resumed.step.as_str()
                ));
                let asked = SceneQuestions {
                    scene: &[resumed.scene],
                    show_prompt: false,
                    lease: &mut lease,
                };
                return run_generation(app, &mind, asked);
            }
            GenerationCommand::Variants { scene, show, diff } => match diff.as_deref() {
                Some([one, other]) => {
                    let view = app.run(|ctx| compare_variants(ctx, scene, (*one, *other)))?;
                    if !app.ui.try_print_json(&view) {
                        print_diff(app.ui, &view);
                    }
                }
                _ => print_variants(app, scene, *show)?,
            },
            GenerationCommand::Choose {
                scene_and_number,
                discard,
            } => return choose_and_continue(app, scene_and_number, *discard),
            GenerationCommand::Cancel { scene } => {
                print_generation(app, &app.run(|ctx| cancel_generation(ctx, scene))?)
            }
        }
        Ok(ExitCode::Done)
    }
}

/// Lists the variants of a scene, or prints one.
fn print_variants(app: &App, scene: &[String], show: Option<usize>) -> Result<(), Failure> {
    let view = app.run(|ctx| show_variants(ctx, scene))?;
    let Some(number) = show else {
        if !app.ui.try_print_json(&view) {
            view.variants
                .iter()
                .for_each(|variant| print_variant(app, &variant.summary));
            app.ui.print_next_step(format_args!(
                "tl story generation choose {} NUMBER",
                view.scene
            ));
        }
        return Ok(());
    };
    let count = view.variants.len();
    let is_wanted = |variant: &&VariantView| variant.summary.number == number;
    let Some(variant) = view.variants.iter().find(is_wanted) else {
        let what = format!(
            "`{}` has no variant {number}; there are {count}",
            view.scene
        );
        return Err(Failure::invalid(what));
    };
    if !app.ui.try_print_json(variant) {
        app.ui.print_lines(&variant.text);
        for finding in &variant.findings {
            print_finding(app, finding);
        }
    }
    Ok(())
}

/// Chooses a variant and runs the steps that are left.
fn choose_and_continue(
    app: &App,
    scene_and_number: &[String],
    discard: bool,
) -> Result<ExitCode, Failure> {
    let (number, scene) = scene_and_number
        .split_last()
        .ok_or_else(|| Failure::invalid("which variant is not said"))?;
    let parsed = number
        .parse::<usize>()
        .map_err(|_| Failure::invalid(format!("`{number}` is not the number of a variant")))?;
    // Before the state changes: a wrong model configuration must not leave a generation that is not running.
    let mind = Planner::from_configuration(app)?;
    let mut lease = LeaseGuard::for_scene(app, &mind, scene)?;
    let chosen = app.run(|ctx| choose_variant(ctx, scene, parsed, discard))?;
    if !chosen.discarded.is_empty() {
        let numbers: Vec<String> = chosen.discarded.iter().map(usize::to_string).collect();
        app.ui
            .print_message(format!("discarded: variant {}", numbers.join(", ")));
    }
    let asked = SceneQuestions {
        scene: &[chosen.generation.scene],
        show_prompt: false,
        lease: &mut lease,
    };
    run_generation(app, &mind, asked)
}
