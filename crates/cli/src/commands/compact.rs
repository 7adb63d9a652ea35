//! `tl compact`: ends a session, writes its compaction report, and archives it.

use std::path::PathBuf;

use application::sessions::compact_session::{CompactRequest, compact_session, to_distil};
use application::tick::spending::keep_spending;
use application::{Failure, FailureKind};
use clap::Args;
use domain::compaction::distilled;
use llm::Message;

use crate::exit_code::ExitCode;
use crate::model::{Mind, Question, ask};
use crate::progress::Progress;
use crate::wiring::App;

/// End this session: write its report, archive its file and its tree
///
/// The report is what the next compaction of the conversation is to keep: derived from the log, or
/// the file given with --report. If you have configured a model (`tl llm check`), it picks the
/// turning points; the position, decisions and next steps always come from the log. An unfinished
/// trajectory is offered to the next session.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl compact\n  tl compact --report handover.md")]
pub(crate) struct CompactArgs {
    /// File with a report to use instead
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Do not call a model, even if one is configured
    #[arg(long)]
    by_rule: bool,
}

impl CompactArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let read = |path: &PathBuf| {
            std::fs::read_to_string(path).map_err(|error| {
                Failure::new(
                    FailureKind::Invalid,
                    format!("cannot read `{}`: {error}", path.display()),
                )
            })
        };
        let report = self.report.as_ref().map(read).transpose()?;
        let turning_points = if report.is_some() || self.by_rule {
            None
        } else {
            asked(app)?
        };
        let request = CompactRequest {
            report,
            turning_points,
        };
        let outcome = app.run(|ctx| compact_session(ctx, &request))?;
        if app.ui.json {
            app.ui.value(&outcome);
            return Ok(ExitCode::Done);
        }
        for line in outcome.next_compaction_report.lines() {
            app.ui.line(line);
        }
        app.ui.say(format!(
            "session {} is archived: {}",
            outcome.session, outcome.archive
        ));
        Ok(ExitCode::Done)
    }
}

/// Asks the configured model, if any, for the turning points. Its failure is only a warning: a
/// session must be compactable without network.
fn asked(app: &App) -> Result<Option<Vec<String>>, Failure> {
    let Mind::Model { model, cancel } = Mind::chosen()? else {
        return Ok(None);
    };
    let Some(wanted) = app.run(to_distil)? else {
        return Ok(None);
    };
    let question = Question {
        purpose: "turning_points",
        account: "compact",
        system: &wanted.system,
        messages: vec![Message::user(&wanted.question)],
        schema: Some(&wanted.schema),
        max_output_tokens: 1_200,
    };
    let progress = Progress::new(app.ui, 0);
    progress.waiting_for("asking for the turning points");
    let asked = ask(&*model, &cancel, &progress, question);
    drop(progress);
    let (spent, points) = match asked {
        Ok(answer) => (answer.spent, answer.json.as_ref().and_then(distilled)),
        // Ctrl-C means the whole command, not just the model call.
        Err(unanswered) if unanswered.cancelled => return Err(unanswered.failure),
        Err(unanswered) => {
            app.ui.say(format!(
                "using the log's turning points, because the model call failed: {}",
                unanswered.failure.message
            ));
            (unanswered.spent, None)
        }
    };
    // Also for a failed call: its attempts may have cost tokens.
    app.run(|ctx| keep_spending(ctx, &spent))?;
    Ok(points)
}
