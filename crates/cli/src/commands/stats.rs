//! `tl stats`: counts, words, targets and the burn-up of the plans.

use application::Failure;
use application::plan_stats::{NodeCounts, PlanStats, StatsRequest, plan_stats};
use clap::Args;
use domain::burn_up::{DayTotals, PlanTotals, draw_bars};
use domain::text::count_with_noun;

use crate::completion::node_completer;
use crate::cost;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, render_node_status, styled, title_suffix};
use crate::wiring::App;

/// Show counts, words, targets and the burn-up of the plans
///
/// `target: 90000` in the front matter of a plan is the number of words of prose it aims at; a plan
/// without one aims at the sum of those below it. Prose written by hand counts on the day its file was
/// last changed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl stats
  tl stats act-2
  tl stats --days 90 --json   the burn-up as data")]
pub(crate) struct StatsArgs {
    /// Only this node and what is below it
    #[arg(num_args = 0..=2, value_name = "NODE", add = node_completer())]
    node: Vec<String>,

    /// Number of days of the burn-up
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3660))]
    days: u16,
}

impl StatsArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let request = StatsRequest {
            node: self.node.clone(),
            days: usize::from(self.days),
        };
        let stats = app.run(|ctx| plan_stats(ctx, &request))?;
        if app.ui.try_print_json(&stats) {
            return Ok(ExitCode::Done);
        }
        print_levels(app, &stats);
        print_nodes(app, &stats);
        print_burn_up(app, &stats.history);
        Ok(ExitCode::Done)
    }
}

fn print_levels(app: &App, stats: &PlanStats) {
    let header = format!(
        "{:<12} {:>6} {:>9} {:>6} {:>6} {:>9} {:>11} {:>12}  target",
        "level", "plans", "approved", "draft", "stale", "complete", "plan words", "prose words"
    );
    app.ui.print_line(styled(DIM, header));
    for level in &stats.levels {
        print_counts(app, &level.level, &level.counts);
    }
    if stats.levels.len() > 1 {
        print_counts(app, "all", &stats.total);
    }
}

fn print_counts(app: &App, name: &str, counts: &NodeCounts) {
    app.ui.print_line(format_args!(
        "{} {:>6} {:>9} {:>6} {:>6} {:>9} {:>11} {:>12}  {}",
        styled(BOLD, format!("{name:<12}")),
        counts.plans,
        counts.approved,
        counts.draft,
        counts.stale,
        counts.complete,
        counts.plan_words,
        counts.prose_words,
        render_target(counts)
    ));
}

fn render_target(counts: &NodeCounts) -> String {
    let Some(target) = counts.target else {
        return String::new();
    };
    let percent = counts.target_percent.unwrap_or_default();
    format!("{target} ({percent} %)")
}

/// Renders what models cost; nothing where none was asked.
fn render_cost(counts: &NodeCounts) -> String {
    if counts.model_calls == 0 {
        return String::new();
    }
    let calls = count_with_noun(counts.model_calls, "model call", "model calls");
    let cost = cost::render_cost(
        counts.cost_micros,
        counts.model_calls,
        counts.calls_without_price,
    );
    format!(", {calls}, {cost}")
}

fn print_nodes(app: &App, stats: &PlanStats) {
    if stats.nodes.is_empty() {
        return;
    }
    app.ui.print_blank_line();
    for node in &stats.nodes {
        let (target, percent) = match (node.counts.target, node.counts.target_percent) {
            (Some(target), Some(percent)) => (format!(" of {target}"), format!(" ({percent} %)")),
            _ => (String::new(), String::new()),
        };
        app.ui.print_line(format_args!(
            "{}{}  {}  {} of {} approved, {}{target} words written{percent}{}",
            styled(BOLD, &node.path),
            title_suffix(node.title.as_deref()),
            render_node_status(node.status),
            node.counts.approved,
            node.counts.plans,
            node.counts.prose_words,
            render_cost(&node.counts),
        ));
    }
}

/// Prints one line of bars for each series. Counts of plans share one scale, so that the distance
/// between planned and approved shows what is left.
fn print_burn_up(app: &App, history: &[DayTotals]) {
    let (Some(first), Some(last)) = (history.first(), history.last()) else {
        return;
    };
    app.ui.print_blank_line();
    app.ui
        .print_line(styled(DIM, format!("{} to {}", first.day, last.day)));
    let series = |value: fn(&PlanTotals) -> i64| -> Vec<i64> {
        history.iter().map(|day| value(&day.totals)).collect()
    };
    let planned = series(|totals| totals.planned);
    let top = planned.iter().copied().max().unwrap_or(0);
    let lines = [
        ("planned", planned, Some(top)),
        ("approved", series(|totals| totals.approved), Some(top)),
        ("complete", series(|totals| totals.complete), Some(top)),
        ("plan words", series(|totals| totals.plan_words), None),
        ("prose words", series(|totals| totals.prose_words), None),
    ];
    for (name, values, top) in lines {
        // Words have a scale of their own: beside them the counts of plans would be flat lines.
        let top = top.unwrap_or_else(|| values.iter().copied().max().unwrap_or(0));
        let now = values.last().copied().unwrap_or(0);
        app.ui
            .print_line(format_args!("{name:<12} {} {now}", draw_bars(&values, top)));
    }
}
