//! `tl story run`: the whole loop: plan a step, write the scene, judge, revise and remember it, until the
//! plan is written, a person is needed or a limit is reached.

use application::Failure;
use application::generation::start_generation::start_generation;
use application::generation::story_progress::{StoryStep, next_story_step};
use application::generation::view::GenerationView;
use application::novel::novel_stats::novel_stats;
use clap::Args;
use domain::generation::GenerationStatus;
use domain::text::count_with_noun;
use domain::tick::TickStatus;
use serde_json::json;

use super::tick::run_single_tick;
use super::write::{advance_generation, print_generation};
use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::model::Planner;
use crate::progress::Progress;
use crate::ui::{DIM, styled};
use crate::wiring::App;

/// Plan and write scene after scene, until a person is needed
///
/// For each scene in the order of the plan: one tick, then the scene is written, judged, revised and
/// remembered. The run ends when the plan is written, the next blueprint is not approved, a scene is held, a
/// budget is spent or the model cannot be reached. Every step is recorded: the same command goes on where
/// it stopped.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl story run
  tl story run --scenes 3
  tl story run --until chapter-03 --budget 2.50")]
pub(crate) struct RunArgs {
    /// The last node to write: a scene, or everything below a chapter or an act
    #[arg(long, value_name = "NODE", num_args = 1..=2, add = node_completer())]
    until: Vec<String>,
    /// Maximum number of scenes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    scenes: Option<u64>,
    /// Maximum cost of this run in US dollars
    #[arg(long, value_name = "DOLLARS", value_parser = parse_dollars)]
    budget: Option<u64>,
}

/// Why a run ended.
struct RunEnd {
    why: String,
    next_step: Option<String>,
    code: ExitCode,
}

impl RunArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let mind = Planner::with_run_budget(app, self.budget)?;
        let progress = Progress::new(app.ui, 0);
        let spent_before = app.run(novel_stats)?.spending;
        let mut written: Vec<GenerationView> = Vec::new();
        let mut ticks = 0;
        let end = loop {
            if self
                .scenes
                .is_some_and(|limit| written.len() as u64 >= limit)
            {
                let count = count_with_noun(written.len(), "scene is", "scenes are");
                break RunEnd {
                    why: format!("{count} written, as asked"),
                    next_step: Some("tl story run".to_owned()),
                    code: ExitCode::Done,
                };
            }
            let (scene, is_started) = match app.run(|ctx| next_story_step(ctx, &self.until))? {
                StoryStep::Write { scene, is_started } => (scene, is_started),
                StoryStep::NeedsPerson { why, next_step, .. } => {
                    break RunEnd {
                        why,
                        next_step: Some(next_step),
                        code: ExitCode::Findings,
                    };
                }
                StoryStep::Written => {
                    break RunEnd {
                        why: "everything in the plan is written".to_owned(),
                        next_step: Some("tl story compile".to_owned()),
                        code: ExitCode::Done,
                    };
                }
            };
            // A scene that was begun has been planned already.
            if !is_started && let Some(end) = plan_scene(app, &mind, &progress, &mut ticks)? {
                break end;
            }
            let started = app.run(|ctx| start_generation(ctx, std::slice::from_ref(&scene)))?;
            let generation = advance_generation(app, &mind, &[started.scene], false)?;
            if !app.ui.json {
                print_generation(app, &generation);
            }
            let status = generation.status;
            written.push(generation);
            if status != GenerationStatus::Complete {
                break RunEnd {
                    why: format!("`{scene}` is {}", status.as_str()),
                    next_step: Some(format!("tl story generation status {scene}")),
                    code: ExitCode::Failed,
                };
            }
        };
        let spent = app.run(novel_stats)?.spending;
        let words: usize = written.iter().map(|it| it.words).sum();
        let calls = spent.calls.saturating_sub(spent_before.calls);
        let cost_micros = spent.cost_micros.saturating_sub(spent_before.cost_micros);
        let report = json!({
            "stopped": end.why, "next_step": end.next_step, "ticks": ticks, "scenes": written,
            "words": words, "calls": calls, "cost_micros": cost_micros,
        });
        if !app.ui.try_print_json(&report) {
            app.ui.print_line(format_args!("stopped: {}", end.why));
            let scenes = count_with_noun(written.len(), "scene", "scenes");
            let words = count_with_noun(words, "word", "words");
            let calls = count_with_noun(calls, "model call", "model calls");
            app.ui.print_line(styled(
                DIM,
                format!(
                    "{scenes}, {words}, {calls}, ${:.4}",
                    cost_micros as f64 / 1e6
                ),
            ));
            if let Some(step) = &end.next_step {
                app.ui.print_next_step(step);
            }
        }
        Ok(end.code)
    }
}

/// Runs ticks until one is done. Returns why the run ends, if none can be.
fn plan_scene(
    app: &App,
    mind: &Planner,
    progress: &Progress,
    ticks: &mut u64,
) -> Result<Option<RunEnd>, Failure> {
    loop {
        let outcome = run_single_tick(app, mind, progress)?;
        *ticks += 1;
        match outcome.status {
            TickStatus::Done | TickStatus::Skipped => return Ok(None),
            // Planned again until it is done or parked, so this ends.
            TickStatus::Failed | TickStatus::Planned => {}
            TickStatus::Parked => {
                let why = format!(
                    "tick {} is parked: {}",
                    outcome.tick,
                    outcome.errors.join("; ")
                );
                return Ok(Some(RunEnd {
                    why,
                    next_step: Some(format!("tl story tick --retry {}", outcome.tick)),
                    code: ExitCode::Failed,
                }));
            }
        }
    }
}

/// Parses an amount of dollars into cents.
fn parse_dollars(text: &str) -> Result<u64, String> {
    let amount: f64 = text
        .trim_start_matches('$')
        .parse()
        .map_err(|_| format!("`{text}` is not an amount of dollars"))?;
    let cents = (amount * 100.0).round();
    if !(1.0..=1e9).contains(&cents) {
        return Err(format!("`{text}` is not allowed: expected at least 0.01"));
    }
    Ok(cents as u64)
}
