//! `tl trail intent`: declares the intent of a session.

use application::Failure;
use application::sessions::declare_intent::{IntentRequest, PlaceOutcome, declare_intent};
use clap::Args;
use domain::session::SessionMode;

use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Declare the intent of this session
///
/// Starts a trajectory on the trail, with a session file in `.throughline/sessions`. A different
/// trajectory that this session had before is archived.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl trail intent \"Build the auth system\"
  tl trail intent \"Find out why the build is slow\" --mode exploration")]
pub(crate) struct IntentArgs {
    /// The intent, in one line
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// Mode of work: plan_driven, quick_fix or exploration
    #[arg(long, default_value = "plan_driven")]
    mode: String,
}

impl IntentArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        // The words are stored in the state, so they come from the domain and not from a clap enum.
        let mode = SessionMode::from_word(&self.mode).ok_or_else(|| {
            let words = SessionMode::ALL.map(SessionMode::as_str).join(", ");
            Failure::invalid(format!(
                "`{}` is not a mode: expected one of {words}",
                self.mode
            ))
        })?;
        let request = IntentRequest {
            text: self.text.join(" "),
            mode,
        };
        print_place(app, &app.run(|ctx| declare_intent(ctx, &request))?);
        Ok(ExitCode::Done)
    }
}

/// Prints the position of the session in its trail.
pub(crate) fn print_place(app: &App, outcome: &PlaceOutcome) {
    if app.ui.try_print_json(outcome) {
        return;
    }
    for line in outcome.tree.lines() {
        app.ui.print_line(line);
    }
    app.ui.print_message(format!(
        "session {}: {}",
        outcome.stamp, outcome.session_file
    ));
}
