//! `tl session`

use application::Failure;
use application::sessions::archive_session::archive_session;
use application::sessions::list_sessions::{SessionView, list_sessions, show_session};
use clap::{Args, Subcommand};

use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, styled};
use crate::wiring::App;

/// The sessions of this project: list them, show one, archive one
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl session list
  tl session show 30141102026
  tl session archive 30141102026")]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Every session, the latest first
    List,
    /// One session with its log and its file; without a stamp this one
    Show {
        /// The session's stamp
        stamp: Option<String>,
    },
    /// Archive a session that is over; without a stamp this one
    Archive {
        /// The session's stamp
        stamp: Option<String>,
    },
}

impl SessionArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            What::List => {
                let sessions = app.run(list_sessions)?;
                if app.ui.json {
                    app.ui.value(&sessions);
                } else if sessions.is_empty() {
                    app.ui.say("no session has declared an intent yet");
                } else {
                    sessions.iter().for_each(|session| line(app, session));
                }
            }
            What::Show { stamp } => {
                let detail = app.run(|ctx| show_session(ctx, stamp.as_deref()))?;
                if app.ui.json {
                    app.ui.value(&detail);
                } else {
                    line(app, &detail.session);
                    let log = detail.log.join("\n");
                    let text = detail.text.as_deref().unwrap_or(&log);
                    app.ui.lines(text);
                }
            }
            What::Archive { stamp } => {
                let outcome = app.run(|ctx| archive_session(ctx, stamp.as_deref()))?;
                if app.ui.json {
                    app.ui.value(&outcome);
                } else {
                    app.ui.line(format!(
                        "session {} is archived: {}",
                        outcome.session, outcome.archive
                    ));
                }
            }
        }
        Ok(ExitCode::Done)
    }
}

fn line(app: &App, session: &SessionView) {
    let what = session
        .trajectory
        .as_deref()
        .unwrap_or("(its trajectory is gone)");
    let whose = styled(
        DIM,
        format!("{} of {}", session.status.word(), session.name),
    );
    app.ui.line(format_args!(
        "{} {what}  {whose}",
        styled(BOLD, &session.stamp)
    ));
}
