//! `tl trail session`: lists, shows and archives sessions.

use application::Failure;
use application::sessions::archive_session::archive_session;
use application::sessions::list_sessions::{SessionView, list_sessions, show_session};
use clap::{Args, Subcommand};

use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, styled};
use crate::wiring::App;

/// Sessions of this project: list, show or archive them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl trail session list
  tl trail session show 30141102026
  tl trail session archive 30141102026")]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    what: SessionCommand,
}

#[derive(Debug, Subcommand)]
enum SessionCommand {
    /// List all sessions, latest first
    List,
    /// Show a session with its log and file [default: this one]
    Show {
        /// The session's stamp
        stamp: Option<String>,
    },
    /// Archive a finished session [default: this one]
    Archive {
        /// The session's stamp
        stamp: Option<String>,
    },
}

impl SessionArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            SessionCommand::List => {
                let sessions = app.run(list_sessions)?;
                if app.ui.json {
                    app.ui.print_json(&sessions);
                } else if sessions.is_empty() {
                    app.ui
                        .print_message("no session has declared an intent yet");
                } else {
                    sessions
                        .iter()
                        .for_each(|session| print_session_line(app, session));
                }
            }
            SessionCommand::Show { stamp } => {
                let detail = app.run(|ctx| show_session(ctx, stamp.as_deref()))?;
                if !app.ui.try_print_json(&detail) {
                    print_session_line(app, &detail.session);
                    let log = detail.log.join("\n");
                    // The session file contains the log and more; without the file the log is what
                    // is left.
                    let text = detail.text.as_deref().unwrap_or(&log);
                    app.ui.print_lines(text);
                }
            }
            SessionCommand::Archive { stamp } => {
                let outcome = app.run(|ctx| archive_session(ctx, stamp.as_deref()))?;
                if !app.ui.try_print_json(&outcome) {
                    app.ui.print_line(format!(
                        "session {} is archived: {}",
                        outcome.session, outcome.archive
                    ));
                }
            }
        }
        Ok(ExitCode::Done)
    }
}

fn print_session_line(app: &App, session: &SessionView) {
    let what = session
        .trajectory
        .as_deref()
        // `tl trail prune` removes finished trajectories but keeps their sessions.
        .unwrap_or("(trajectory removed)");
    let whose = styled(
        DIM,
        format!("{} of {}", session.status.as_str(), session.name),
    );
    app.ui.print_line(format_args!(
        "{} {what}  {whose}",
        styled(BOLD, &session.stamp)
    ));
}
