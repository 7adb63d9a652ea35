//! `tl gate`

use std::collections::BTreeMap;

use application::override_gate::{OverrideRequest, override_gate};
use application::{Failure, FailureKind};
use clap::{Args, Subcommand};
use domain::planning_prompt::clean_line;
use serde::Serialize;

use crate::exit_code::ExitCode;
use crate::hook_ledger::{Ledger, Outcome};
use crate::ui::{BOLD, styled};
use crate::wiring::App;

/// The gates: let one step pass, or see what they did
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl gate override shrink chapter 2 --reason \"cut to an outline on purpose\"
  tl gate stats")]
pub(crate) struct GateArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Let the next step on a node pass a gate, once; recorded with its reason
    Override {
        /// The gate, then the node
        #[arg(required = true, num_args = 2..=3, value_names = ["GATE", "NODE"])]
        words: Vec<String>,
        /// Why it may pass
        #[arg(long)]
        reason: String,
    },
    /// How often each gate blocked or warned, and how often it could not be asked
    Stats,
}

/// What one gate did.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Stats {
    blocks: usize,
    warnings: usize,
}

#[derive(Debug, Serialize)]
struct StatsView {
    events: usize,
    faults: usize,
    gates: BTreeMap<String, Stats>,
}

impl GateArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            What::Override { words, reason } => override_one(app, words, reason),
            What::Stats => stats(app),
        }
    }
}

fn override_one(app: &App, words: &[String], reason: &str) -> Result<ExitCode, Failure> {
    let (gate, node) = words.split_first().ok_or_else(|| Failure::new(FailureKind::Invalid, "a gate is missing"))?;
    let request = OverrideRequest { gate: gate.clone(), node: node.to_vec(), reason: reason.to_owned() };
    let outcome = app.run(|ctx| override_gate(ctx, &request))?;
    if app.ui.json {
        app.ui.value(&outcome);
    } else {
        let path = clean_line(&outcome.path);
        app.ui.line(format!("the next step on {path} passes the {} gate, once", outcome.gate));
    }
    Ok(ExitCode::Done)
}

fn stats(app: &App) -> Result<ExitCode, Failure> {
    let project = app.project()?;
    let mut view = StatsView { events: 0, faults: 0, gates: BTreeMap::new() };
    let mut seen = std::collections::HashSet::new();
    for line in Ledger::in_project(&project.root).lines() {
        // Some hosts fire twice for one call: it counts once.
        if line.call.is_some() && !seen.insert((line.session.clone(), line.call.clone(), line.event.clone())) {
            continue;
        }
        view.events += 1;
        view.faults += usize::from(line.outcome == Outcome::Fault);
        if let Some(gate) = line.gate {
            let stats = view.gates.entry(gate).or_default();
            match line.outcome {
                Outcome::Block => stats.blocks += 1,
                _ => stats.warnings += 1,
            }
        }
    }
    if app.ui.json {
        app.ui.value(&view);
        return Ok(ExitCode::Done);
    }
    app.ui.line(format!("{} events, {} that could not be checked", view.events, view.faults));
    for (gate, stats) in &view.gates {
        let gate = styled(BOLD, &clean_line(gate));
        app.ui.line(format!("  {gate}: {} blocked, {} warned", stats.blocks, stats.warnings));
    }
    Ok(ExitCode::Done)
}
