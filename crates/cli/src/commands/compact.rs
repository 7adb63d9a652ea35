//! `tl compact`

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

/// End this session: distil what is worth keeping, archive its file and its tree
///
/// What is distilled is the report the next compaction keeps to: by rule from the log, or the file given with --report, which
/// an agent wrote. Where you have chosen a model (`tl llm check`), it is asked for the turning points; where the work stands,
/// what was decided and what comes next stay by rule. An unfinished trajectory is offered to the next session; a finished one never again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl compact\n  tl compact --report handover.md")]
pub(crate) struct CompactArgs {
    /// What the next compaction is to keep
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Ask no model, even where one is chosen
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

/// Asks the model that was chosen, if any. A session is compacted with or without its answer.
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
        Err(unanswered) if unanswered.cancelled => return Err(unanswered.failure),
        Err(unanswered) => {
            app.ui.say(format!(
                "the turning points are by rule: {}",
                unanswered.failure.message
            ));
            (unanswered.spent, None)
        }
    };
    app.run(|ctx| keep_spending(ctx, &spent))?;
    Ok(points)
}
