//! `tl gate`: lists, explains and overrides gates, and shows their statistics.

use application::Failure;
use application::explain_change::{BlockedChange, explain_change};
use application::override_gate::{OverrideRequest, override_gate};
use application::where_am_i::where_am_i;
use clap::{Args, Subcommand};
use domain::gates::{GATES, GateUse, list_gate_uses, propose_mode};
use domain::policy::GateMode;
use serde::Serialize;

use crate::completion::{gate_and_node_completer, node_option_completer};
use crate::exit_code::ExitCode;
use crate::gate_stats;
use crate::ui::{BOLD, styled};
use crate::wiring::{App, Project};

/// Gates: override one, or show their settings and statistics
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl gate override shrink chapter 2 --reason \"cut to an outline on purpose\"
  tl gate list
  tl gate explain loc
  tl gate explain --for act-1/chapter-02
  tl gate explain --for src/main.rs
  tl gate stats")]
pub(crate) struct GateArgs {
    #[command(subcommand)]
    what: GateCommand,
}

#[derive(Debug, Subcommand)]
enum GateCommand {
    /// Override a gate for the next step on a node, once; recorded with its reason
    Override {
        /// The gate, then the node
        #[arg(required = true, num_args = 2..=3, value_names = ["GATE", "NODE"], add = gate_and_node_completer())]
        words: Vec<String>,
        /// Reason for the override
        #[arg(long)]
        reason: String,
    },
    /// List all gates: what each one blocks, how to pass it, and its mode here
    List,
    /// Explain a gate, and whether one would block this session now
    Explain {
        /// The gate; without it, show what would block the next edit
        gate: Option<String>,
        /// Show what would block a write: of a node's plan and its text, or of any file
        #[arg(long = "for", value_name = "NODE", num_args = 1..=2, add = node_option_completer())]
        plan: Vec<String>,
    },
    /// Show how often each gate blocked, warned, was overridden or heeded, and how often checks
    /// failed
    Stats,
}

impl GateArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            GateCommand::Override { words, reason } => override_next_step(app, words, reason),
            GateCommand::List => print_gates(app),
            GateCommand::Explain { gate, plan } if plan.is_empty() => {
                explain_gate(app, gate.as_deref())
            }
            GateCommand::Explain { plan, .. } => explain_plan_change(app, plan),
            GateCommand::Stats => print_stats(app),
        }
    }
}

fn override_next_step(app: &App, words: &[String], reason: &str) -> Result<ExitCode, Failure> {
    // One list of words, because a node has one or two of them: clap cannot tell where it ends.
    let (gate, node) = words
        .split_first()
        .ok_or_else(|| Failure::invalid("a gate is missing"))?;
    let request = OverrideRequest {
        gate: gate.clone(),
        node: node.to_vec(),
        reason: reason.to_owned(),
    };
    let outcome = app.run(|ctx| override_gate(ctx, &request))?;
    if !app.ui.try_print_json(&outcome) {
        let path = &outcome.path;
        app.ui.print_line(format!(
            "the next step on {path} passes the {} gate, once",
            outcome.gate
        ));
    }
    Ok(ExitCode::Done)
}

/// A gate with its mode in this project.
#[derive(Debug, Serialize)]
struct GateModeView {
    name: &'static str,
    mode: GateMode,
    /// Whether a profile of this project uses it.
    asked: bool,
    stops: &'static str,
    /// Its thresholds, by the work level where they depend on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<String>,
    fails_closed: bool,
}

impl GateModeView {
    fn from_use(found: &GateUse) -> Self {
        Self {
            name: found.gate.name,
            mode: found.mode,
            asked: found.is_used,
            stops: found.gate.text,
            limits: found.limits.clone(),
            // Shown, because it decides what happens when the check itself fails.
            fails_closed: found.fails_closed,
        }
    }
}

fn list_gates(project: &Project) -> Vec<GateUse> {
    list_gate_uses(&project.profiles, &project.settings.policy)
}

fn print_gate(app: &App, found: &GateUse) {
    app.ui.print_line(format_args!(
        "{}  {:<14}  {}",
        styled(BOLD, format!("{:<17}", found.gate.name)),
        found.describe_mode(),
        found.gate.text
    ));
}

fn print_gates(app: &App) -> Result<ExitCode, Failure> {
    let gates = list_gates(&app.find_project()?.tighten_by_pins());
    let views: Vec<GateModeView> = gates.iter().map(GateModeView::from_use).collect();
    if !app.ui.try_print_json(&views) {
        gates.iter().for_each(|found| print_gate(app, found));
    }
    Ok(ExitCode::Done)
}

#[derive(Debug, Serialize)]
struct GateExplanation {
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<GateModeView>,
    /// The gate that would block the next edit of this session.
    open: Option<application::where_am_i::GateView>,
}

fn explain_gate(app: &App, gate: Option<&str>) -> Result<ExitCode, Failure> {
    let found = match gate {
        None => None,
        Some(name) => {
            let found = list_gates(&app.find_project()?.tighten_by_pins())
                .into_iter()
                .find(|found| found.gate.name == name);
            Some(found.ok_or_else(|| {
                let known: Vec<&str> = GATES.iter().map(|gate| gate.name).collect();
                Failure::invalid(format!("there is no gate `{name}`"))
                    .with_step(format!("gates: {}", known.join(", ")))
            })?)
        }
    };
    // The present state matters more than the description: the usual question is "why am I
    // blocked?".
    let open = app.run(where_am_i)?.gate;
    let explained = GateExplanation {
        gate: found.as_ref().map(GateModeView::from_use),
        open,
    };
    if app.ui.try_print_json(&explained) {
        return Ok(ExitCode::Done);
    }
    if let Some(found) = &found {
        print_gate(app, found);
        if let Some(limits) = &found.limits {
            app.ui.print_line(limits);
        }
    }
    match &explained.open {
        Some(open) => {
            app.ui
                .print_line(format!("now: the {} gate: {}", open.r#type, open.reason));
            for step in &open.next_steps {
                app.ui.print_line(format_args!("  next: {step}"));
            }
        }
        None => app
            .ui
            .print_line("now: no gate would block the next edit of this session; for a plan or a file: tl gate explain --for NODE"),
    }
    Ok(ExitCode::Done)
}

fn explain_plan_change(app: &App, plan: &[String]) -> Result<ExitCode, Failure> {
    let explained = app.run(|ctx| explain_change(ctx, plan))?;
    if app.ui.try_print_json(&explained) {
        return Ok(ExitCode::Done);
    }
    print_blocks(app, &explained.path, &explained.blocks);
    if let Some(output) = &explained.output {
        print_blocks(app, &output.file_path, &output.blocks);
    }
    Ok(ExitCode::Done)
}

/// Prints which gates would block a write of a plan or a file.
fn print_blocks(app: &App, what: &str, blocks: &[BlockedChange]) {
    if blocks.is_empty() {
        app.ui.print_line(format_args!(
            "no gate would block this session from writing {what}"
        ));
    }
    for block in blocks {
        app.ui
            .print_line(format_args!("the {} gate: {}", block.gate, block.reason));
        for step in &block.next_steps {
            app.ui.print_line(format_args!("  next: {step}"));
        }
    }
}

fn print_stats(app: &App) -> Result<ExitCode, Failure> {
    let project = app.find_project()?;
    let view = app.run(|ctx| gate_stats::compute_gate_report(ctx, &project.root))?;
    if app.ui.try_print_json(&view) {
        return Ok(ExitCode::Done);
    }
    app.ui.print_line(format!(
        "{} events, {} that could not be checked",
        view.events, view.faults
    ));
    // "Heeded" counts blocks after which the session did something else, not every block.
    for (gate, stats) in &view.gates {
        // Where a gate waits for something definite, that says more than "something else".
        let heeded = match stats.incidents {
            0 => format!("{} heeded", stats.catches),
            incidents => format!(
                "{} of {incidents} followed by what it asks for",
                stats.followed
            ),
        };
        app.ui.print_line(format_args!(
            "  {}: {} blocked, {} warned, {} overridden, {heeded}",
            styled(BOLD, gate),
            stats.blocks,
            stats.warnings,
            stats.overrides
        ));
        if let Some(command) = propose_mode(gate, stats.blocks, stats.overrides) {
            app.ui.print_line(format_args!(
                "      mostly overridden; to let it only warn: {}",
                styled(BOLD, command)
            ));
        }
    }
    Ok(ExitCode::Done)
}
