//! `tl plan`: prints planning prompts.

use application::Failure;
use application::plan_node::{PlanRequest, build_plan_menu, plan_node};
use clap::Args;

use crate::completion::node_option_completer;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, WARN, styled};
use crate::wiring::App;

/// Print the planning prompt of a node, or list what can be planned
///
/// The prompt contains the parent's whole plan in a marked block, and the planning phases. Refused
/// while the parent is missing or not approved.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl plan                      what can be planned now\n  tl plan act 1\n  tl plan chapter 2 --act 1\n  tl plan scene 0204\n  tl plan lesson 3 --under part-1"
)]
pub(crate) struct PlanArgs {
    /// The level: act, chapter, scene …
    kind: Option<String>,

    /// Number or alias: 2, chapter-02, 0204
    id: Option<String>,

    /// The parent, if several are possible
    #[arg(long, value_name = "NODE", add = node_option_completer())]
    under: Option<String>,

    /// The act of a chapter; the same as `--under act-N`
    #[arg(long, value_name = "N", conflicts_with = "under")]
    act: Option<String>,
}

impl PlanArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let Some(kind) = &self.kind else {
            return print_menu(app);
        };
        let (kind, id) = match (
            &self.id,
            // Of a path only its own alias: `act-1/chapter-02` is a chapter.
            kind.rsplit('/').next().and_then(|own| own.split_once('-')),
        ) {
            (Some(id), _) => (kind.clone(), id.clone()),
            // An alias such as `chapter-02` contains the level.
            (None, Some((level, _))) => (level.to_owned(), kind.clone()),
            (None, None) => {
                let missing =
                    Failure::invalid(format!("which {kind}? its number or alias is missing"));
                // A usage error that clap cannot see, because the second word is optional.
                app.ui
                    .report_failure(&missing.with_step(format!("tl plan {kind} 1")));
                return Ok(ExitCode::Usage);
            }
        };
        let act = self.act.as_ref().map(|act| format!("act {act}"));
        let request = PlanRequest {
            kind,
            id,
            under: self.under.clone().or(act),
        };
        let outcome = app.run(|ctx| plan_node(ctx, &request))?;
        if !app.ui.try_print_json(&outcome) {
            app.ui.print_text(&outcome.prompt);
        }
        Ok(ExitCode::Done)
    }
}

fn print_menu(app: &App) -> Result<ExitCode, Failure> {
    let menu = app.run(build_plan_menu)?;
    if app.ui.try_print_json(&menu) {
        return Ok(ExitCode::Done);
    }
    app.ui.print_line(styled(BOLD, "What do you want to plan?"));
    let mut level = "";
    for entry in &menu.entries {
        if level != entry.level {
            level = &entry.level;
            app.ui.print_blank_line();
            app.ui.print_line(format_args!(
                "{}  {}",
                styled(BOLD, level),
                styled(DIM, &entry.purpose)
            ));
        }
        match &entry.blocked {
            None => app.ui.print_line(format!("  {}", entry.command)),
            // Blocked entries are listed too: the reason says what to approve first.
            Some(why) => app.ui.print_line(format_args!(
                "  {}  {}",
                styled(DIM, &entry.command),
                styled(WARN, format!("not yet: {why}"))
            )),
        }
    }
    Ok(ExitCode::Done)
}
