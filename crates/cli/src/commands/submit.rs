//! `tl submit`: makes the texts of this working copy those of the team.

use application::Failure;
use application::submit::{SubmitOutcome, SubmitRequest, submit_texts};
use application::working_copy::{CopyDifference, DifferenceKind, describe_next_step};
use clap::Args;
use domain::text::count_with_noun;

use crate::completion::nodes_completer;
use crate::exit_code::ExitCode;
use crate::ui::{DIM, GOOD, INFO, Ui, styled};
use crate::wiring::App;

/// Submit the plans of this working copy to the team
///
/// On a team server or a shared database the files of a working copy count for others once they are
/// submitted: by this command, by a decision about the plan (`tl approve`, `tl progress`), or by
/// `tl release`. Until then they are laid over the team's state for you alone.
///
/// A plan is submitted with everything below it. Files that are missing here, or older than the
/// team's text, are submitted only when they are named.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl submit --dry-run            how this copy differs\n  tl submit                      every new and changed plan\n  tl submit act-1/chapter-02     this one, with what is below\n  tl submit --deleted            also the files that are missing here"
)]
pub(crate) struct SubmitArgs {
    /// The plans to submit [default: all that differ]
    #[arg(value_name = "NODE", add = nodes_completer(usize::MAX))]
    nodes: Vec<String>,

    /// Also submit that files are missing: the plans become invalid for the whole team
    #[arg(long)]
    deleted: bool,

    /// Only list how this working copy differs
    #[arg(long)]
    dry_run: bool,
}

impl SubmitArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let request = SubmitRequest {
            nodes: self.nodes.clone(),
            deleted: self.deleted,
            dry_run: self.dry_run,
        };
        let outcome = app.run(|ctx| submit_texts(ctx, &request))?;
        if !app.ui.try_print_json(&outcome) {
            print_outcome(app.ui, &outcome);
        }
        Ok(ExitCode::Done)
    }
}

fn print_outcome(ui: Ui, outcome: &SubmitOutcome) {
    if !outcome.shared {
        ui.print_line(
            "No other working copy shares this state: changes are recorded as they are seen.",
        );
        return;
    }
    if outcome.submitted.is_empty() && outcome.left.is_empty() {
        ui.print_line("Your working copy is what the team has.");
        return;
    }
    for difference in &outcome.submitted {
        let (style, word) = match outcome.dry_run {
            true => (INFO, "to submit"),
            false => (GOOD, "submitted"),
        };
        print_difference(ui, styled(style, word), difference);
    }
    for difference in &outcome.left {
        print_difference(ui, styled(DIM, "not submitted"), difference);
    }
}

fn print_difference(ui: Ui, word: impl std::fmt::Display, difference: &CopyDifference) {
    let CopyDifference { node, kind, .. } = difference;
    let hint = match kind {
        DifferenceKind::New | DifferenceKind::Changed => String::new(),
        DifferenceKind::Outdated => ": older than the team's text (git pull)".to_owned(),
        DifferenceKind::Missing => format!(": no file here (git pull, or tl submit {node})"),
        DifferenceKind::Unreadable => ": the file cannot be read".to_owned(),
    };
    ui.print_line(format_args!("{word} {} {node}{hint}", kind.as_str()));
}

/// Says in how many plans this working copy differs from the team's state.
pub(super) fn print_differences_hint(ui: Ui, differences: &[CopyDifference]) {
    if differences.is_empty() {
        return;
    }
    let total = count_with_noun(differences.len(), "plan", "plans");
    let next = describe_next_step(differences);
    ui.print_blank_line();
    ui.print_line(format_args!(
        "Your copy differs in {total}: {next}   (list: tl submit --dry-run)"
    ));
}
