//! `tl move`: moves a plan to another place, records where a former one is, or puts a misplaced file
//! where it belongs.

use application::Failure;
use application::move_node::{MoveRequest, move_node};
use application::place_file::{find_misplaced_file, place_file};
use application::shape::{MoveTarget, ShapeChange};
use clap::Args;

use super::shape_outcome::{ShapeOptions, separate_option_words, split_node_words};
use crate::completion::{node_completer, node_option_completer};
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Move a plan to another place, with everything below it
///
/// Among its siblings, or to another parent. Files and folders are renamed, references are rewritten,
/// and everything attached follows; an approval counts on where the parent's text is the same. One
/// operation that `tl undo` reverts.
///
/// A file that was moved by hand keeps its node by itself when its text is the same. After a move with
/// many edits, `--was` says which plan it was; then no file is touched.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl move scene-0103 --before scene-0101
  tl move scene-0103 --under act-2/chapter-05
  tl move scene 0103 --under chapter 5
  tl move chapter-07 --after act-1/chapter-02 --dry-run
  tl move acts/act-01/strategic-plan.md      # a misplaced file, to the path it should have
  tl move --was chapter-03 chapter-05")]
pub(crate) struct MovePlanArgs {
    /// The plan
    // More words than a plan has, for an error that names the option.
    #[arg(num_args = 0..=4, value_name = "NODE", add = node_completer())]
    node: Vec<String>,

    /// Right before this plan
    #[arg(long, num_args = 1..=2, value_name = "NODE", group = "target", add = node_option_completer())]
    before: Vec<String>,

    /// Right after this plan
    #[arg(long, num_args = 1..=2, value_name = "NODE", group = "target", add = node_option_completer())]
    after: Vec<String>,

    /// To the end of this parent
    #[arg(long, num_args = 1..=2, value_name = "NODE", group = "target", add = node_option_completer())]
    under: Vec<String>,

    /// To the top level, without a parent
    #[arg(long, group = "target")]
    top: bool,

    /// The former plan that this one is, by its name or its file
    #[arg(long, value_name = "OLD", group = "target")]
    was: Option<String>,

    #[command(flatten)]
    options: ShapeOptions,
}

impl MovePlanArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        if let Some(was) = &self.was {
            return self.record_move(app, was);
        }
        // A bare name may also be a node for which the target was forgotten; only a misplaced
        // file needs none.
        if let (true, [file]) = (self.is_bare(), self.node.as_slice())
            && app.run(|ctx| Ok(find_misplaced_file(ctx, file)))?.is_some()
        {
            return self.place_file(app, file);
        }
        let named = [&self.before, &self.after, &self.under]
            .map(Vec::as_slice)
            .concat();
        let (words, named) = separate_option_words(&self.node, &named);
        let (node, rest) = split_node_words(&words, &app.find_project()?.profiles)?;
        if self.is_bare() || !rest.is_empty() {
            return Err(explain_missing_target(&node, &rest));
        }
        let target = match (&named, &self.before[..], &self.after[..]) {
            (Some(name), [_, ..], _) => MoveTarget::Before(name.clone()),
            (Some(name), _, [_, ..]) => MoveTarget::After(name.clone()),
            _ => MoveTarget::Under(named),
        };
        self.options
            .run_change(app, ShapeChange::Move { node, target })
    }

    fn is_bare(&self) -> bool {
        let named = [&self.before, &self.after, &self.under];
        named.iter().all(|target| target.is_empty()) && !self.top
    }

    /// Moves a misplaced plan file to the path it should have.
    fn place_file(&self, app: &App, file: &str) -> Result<ExitCode, Failure> {
        let dry_run = self.options.is_dry_run();
        let outcome = app.run(|ctx| place_file(ctx, file, dry_run))?;
        if app.ui.try_print_json(&outcome) {
            return Ok(ExitCode::Done);
        }
        for one in &outcome.moved_files {
            let line = format!("{} → {}", one.was, one.path);
            match dry_run {
                true => app.ui.print_line(format_args!("would move {line}")),
                false => app.ui.print_success(format_args!("moved {line}")),
            }
        }
        Ok(ExitCode::Done)
    }

    /// Records that a plan is a former one at another place.
    fn record_move(&self, app: &App, was: &str) -> Result<ExitCode, Failure> {
        let request = MoveRequest {
            was: was.to_owned(),
            now: self.node.clone(),
        };
        let outcome = app.run(|ctx| move_node(ctx, &request))?;
        if !app.ui.try_print_json(&outcome) {
            app.ui.print_success(format_args!(
                "{} is the former {} ({})",
                outcome.node.path, outcome.was, outcome.node.status
            ));
        }
        Ok(ExitCode::Done)
    }
}

/// Returns the error for a move without a target, with the words after the node taken for one.
fn explain_missing_target(node: &[String], rest: &[String]) -> Failure {
    let (node, target) = (node.join(" "), rest.join(" "));
    let failure = Failure::invalid(format!("where should `{node}` go?"));
    match target.is_empty() {
        true => failure
            .with_step(format!("tl move {node} --before NODE"))
            .with_step(format!("tl move {node} --under NODE")),
        false => failure
            .with_step(format!("tl move {node} --under {target}   # to its end"))
            .with_step(format!("tl move {node} --before {target}"))
            .with_step(format!("tl move {node} --after {target}")),
    }
}
