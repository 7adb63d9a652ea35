//! `tl trail map`: records the current tactic or action on the trail.

use application::Failure;
use application::sessions::map_context::{MapRequest, map_context};
use clap::Args;
use domain::node::Progress;
use domain::trail::TrailLevel;

use crate::commands::intent::print_place;
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Record the current position of this session: a tactic of its trajectory, or an action of its
/// tactic
///
/// A new node is added below the session's position; the same text again means the same node. The
/// cursor moves there, or up if the node is complete. A session without an intent continues where
/// the last one stopped.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl trail map tactic \"Write the middleware\"
  tl trail map action \"Create the route handler\"
  tl trail map action \"Create the route handler\" --status complete")]
pub(crate) struct MapArgs {
    /// Level: tactic or action
    #[arg(value_name = "LEVEL")]
    level: String,
    /// Description, in one line
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// Progress: pending, active, complete or blocked
    #[arg(long, default_value = "active")]
    status: String,
}

impl MapArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        // Not a clap enum: the message is for agents, which need the expected words in one line.
        let wrong = |what: &str, expected: &str| {
            Failure::invalid(format!(
                "`{what}` is not allowed: expected one of {expected}"
            ))
        };
        let level = TrailLevel::from_word(&self.level)
            .ok_or_else(|| wrong(&self.level, "tactic, action"))?;
        let status = Progress::ALL
            .into_iter()
            .find(|progress| progress.as_str() == self.status)
            .ok_or_else(|| wrong(&self.status, "pending, active, complete, blocked"))?;
        let request = MapRequest {
            level,
            text: self.text.join(" "),
            status,
        };
        print_place(app, &app.run(|ctx| map_context(ctx, &request))?);
        Ok(ExitCode::Done)
    }
}
