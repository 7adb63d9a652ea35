//! `tl trail compact`: ends a session, writes its compaction report, and archives it.

use std::path::PathBuf;

use application::Failure;
use application::sessions::compact_session::{
    CompactRequest, compact_session, prepare_distillation,
};
use application::tick::spending::record_spending;
use clap::Args;
use domain::compaction::parse_distillation;
use llm::Message;

use crate::exit_code::ExitCode;
use crate::model::{ModelRequest, Planner, send_model_request};
use crate::progress::Progress;
use crate::wiring::App;

/// End this session: write its report, archive its file and its tree
///
/// The report is what the next compaction of the conversation is to keep: derived from the log, or
/// the file given with --report, which the next briefings contain. If you have configured a model (`tl story model check`), it picks the
/// turning points; the position, decisions and next steps always come from the log. An unfinished
/// trajectory is offered to the next session.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl trail compact\n  tl trail compact --report handover.md")]
pub(crate) struct CompactArgs {
    /// File with a report to use instead
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Only store the report: the session goes on
    #[arg(long)]
    keep_open: bool,

    /// Do not call a model, even if one is configured
    #[arg(long)]
    by_rule: bool,
}

impl CompactArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let read = |path: &PathBuf| {
            std::fs::read_to_string(path).map_err(|error| {
                Failure::invalid(format!("cannot read `{}`: {error}", path.display()))
            })
        };
        let report = self.report.as_ref().map(read).transpose()?;
        // A report that was given replaces the derived one, so a model call for it would be wasted.
        let turning_points = if report.is_some() || self.by_rule {
            None
        } else {
            ask_for_turning_points(app)?
        };
        let request = CompactRequest {
            report,
            turning_points,
            keep_open: self.keep_open,
        };
        let outcome = app.run(|ctx| compact_session(ctx, &request))?;
        if app.ui.try_print_json(&outcome) {
            return Ok(ExitCode::Done);
        }
        for line in outcome.next_compaction_report.lines() {
            app.ui.print_line(line);
        }
        let session = &outcome.session;
        app.ui.print_message(match self.keep_open {
            true => format!("session {session} goes on; the next briefing has the report"),
            false => format!("session {session} is archived: {}", outcome.archive),
        });
        Ok(ExitCode::Done)
    }
}

/// Asks the configured model, if any, for the turning points. Its failure is only a warning: a
/// session must be compactable without network.
fn ask_for_turning_points(app: &App) -> Result<Option<Vec<String>>, Failure> {
    let Planner::Model { model, cancel } = Planner::from_configuration(app)? else {
        return Ok(None);
    };
    let Some(wanted) = app.run(prepare_distillation)? else {
        return Ok(None);
    };
    let question = ModelRequest {
        purpose: "turning_points",
        account: "compact",
        system: &wanted.system,
        messages: vec![Message::from_user(&wanted.question)],
        schema: Some(&wanted.schema),
        max_output_tokens: 1_200,
    };
    let progress = Progress::new(app.ui, 0);
    progress.show_waiting_for("asking for the turning points");
    let asked = send_model_request(&*model, &cancel, &progress, question);
    // Before anything is printed: a spinner would draw over it.
    drop(progress);
    let (spent, points) = match asked {
        Ok(answer) => (
            answer.spent,
            answer.json.as_ref().and_then(parse_distillation),
        ),
        // Ctrl-C means the whole command, not just the model call.
        Err(unanswered) if unanswered.is_cancelled() => {
            app.run(|ctx| record_spending(ctx, &unanswered.spent))?;
            return Err(unanswered.failure);
        }
        Err(unanswered) => {
            app.ui.print_message(format!(
                "using the log's turning points, because the model call failed: {}",
                unanswered.failure.message
            ));
            (unanswered.spent, None)
        }
    };
    // Also for a failed call: its attempts may have cost tokens.
    app.run(|ctx| record_spending(ctx, &spent))?;
    Ok(points)
}
