//! `tl generation`

use application::Failure;
use application::generation::start_generation::{cancel_generation, resume_generation};
use application::generation::view::{generation, generations};
use clap::{Args, Subcommand};

use super::write::{carry_on, show};
use crate::exit_code::ExitCode;
use crate::model::Mind;
use crate::wiring::App;

/// Scenes that are being written: how they stand, go on, cancel
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl generation status
  tl generation status scene-0101
  tl generation resume scene-0101
  tl generation cancel scene-0101")]
pub(crate) struct GenerationArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show how a scene stands, or all of them
    Status {
        /// The scene
        #[arg(num_args = 0..=2)]
        scene: Vec<String>,
    },
    /// Go on where it stopped; one that is held is kept as it is
    Resume {
        /// The scene
        #[arg(required = true, num_args = 1..=2)]
        scene: Vec<String>,
    },
    /// Stop it for good; what is written stays
    Cancel {
        /// The scene
        #[arg(required = true, num_args = 1..=2)]
        scene: Vec<String>,
    },
}

impl GenerationArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            What::Status { scene } if scene.is_empty() => {
                let all = app.run(generations)?;
                if app.ui.json {
                    app.ui.value(&all);
                } else if all.is_empty() {
                    app.ui.say("no scene was begun; `tl write --next` begins");
                } else {
                    all.iter().for_each(|generation| show(app, generation));
                }
            }
            What::Status { scene } => show(app, &app.run(|ctx| generation(ctx, scene))?),
            What::Resume { scene } => {
                let mind = Mind::chosen()?;
                let resumed = app.run(|ctx| resume_generation(ctx, scene))?;
                app.ui.say(format!(
                    "resuming {} at step {}",
                    resumed.scene,
                    resumed.step.word()
                ));
                return carry_on(app, &mind, &[resumed.scene], false);
            }
            What::Cancel { scene } => show(app, &app.run(|ctx| cancel_generation(ctx, scene))?),
        }
        Ok(ExitCode::Done)
    }
}
