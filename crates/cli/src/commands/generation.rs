//! `tl story generation`: status, resume and cancel of scene generations.

use application::Failure;
use application::generation::start_generation::{cancel_generation, resume_generation};
use application::generation::view::{list_generations, show_generation};
use clap::{Args, Subcommand};

use super::write::{print_generation, run_generation};
use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::model::Planner;
use crate::wiring::App;

/// Scene generations: show their status, resume or cancel them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl story generation status
  tl story generation status scene-0101
  tl story generation resume scene-0101
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
                let resumed = app.run(|ctx| resume_generation(ctx, scene))?;
                app.ui.print_message(format!(
                    "resuming {} at step {}",
                    resumed.scene,
                    resumed.step.as_str()
                ));
                return run_generation(app, &mind, &[resumed.scene], false);
            }
            GenerationCommand::Cancel { scene } => {
                print_generation(app, &app.run(|ctx| cancel_generation(ctx, scene))?)
            }
        }
        Ok(ExitCode::Done)
    }
}
