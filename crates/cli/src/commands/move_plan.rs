//! `tl move`: moves a plan to another place, records where a former one is, or puts a misplaced file
//! where it belongs.

use application::Failure;
use application::move_node::{MoveRequest, move_node};
use application::place_file::{find_misplaced_file, place_file};
use application::shape::{MoveTarget, ShapeChange};
use clap::Args;

use super::shape_outcome::ShapeOptions;
use crate::completion::node_completer;
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
  tl move chapter-07 --after act-1/chapter-02 --dry-run
  tl move acts/act-01/strategic-plan.md      # a misplaced file, to the path it should have
  tl move --was chapter-03 chapter-05")]
pub(crate) struct MovePlanArgs {
    /// The plan
    #[arg(required = true, num_args = 1..=2, value_name = "NODE", add = node_completer())]
    node: Vec<String>,

    /// Right before this plan
    #[arg(long, value_name = "NODE", group = "target", add = node_completer())]
    before: Option<String>,

    /// Right after this plan
    #[arg(long, value_name = "NODE", group = "target", add = node_completer())]
    after: Option<String>,

    /// To the end of this parent
    #[arg(long, value_name = "NODE", group = "target", add = node_completer())]
    under: Option<String>,

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
        if let (true, [file]) = (self.is_bare(), self.node.as_slice())
            && app.run(|ctx| Ok(find_misplaced_file(ctx, file)))?.is_some()
        {
            return self.place_file(app, file);
        }
        let target = match (&self.before, &self.after, &self.under) {
            (Some(before), _, _) => MoveTarget::Before(before.clone()),
            (_, Some(after), _) => MoveTarget::After(after.clone()),
            (_, _, Some(under)) => MoveTarget::Under(Some(under.clone())),
            _ if self.top => MoveTarget::Under(None),
            _ => {
                let name = self.node.join(" ");
                return Err(Failure::invalid(format!("where should `{name}` go?"))
                    .with_step(format!("tl move {name} --before NODE"))
                    .with_step(format!("tl move {name} --under NODE")));
            }
        };
        let change = ShapeChange::Move {
            node: self.node.clone(),
            target,
        };
        self.options.run_change(app, change)
    }

    fn is_bare(&self) -> bool {
        let named = [&self.before, &self.after, &self.under];
        named.iter().all(|target| target.is_none()) && !self.top
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
