//! `tl story run`: the whole loop: plan a step, write the scene, judge, revise and remember it, until the
//! plan is written, a person is needed or a limit is reached.

use std::fmt;
use std::time::Instant;

use application::Failure;
use application::approve::{ApproveRequest, approve_node};
use application::generation::start_generation::{GenerationRequest, start_generation};
use application::generation::story_progress::{StoryStep, next_story_step};
use application::generation::view::GenerationView;
use application::novel::novel_stats::novel_stats;
use application::tick::spending::SpendingView;
use clap::Args;
use domain::approval::Force;
use domain::generation::GenerationStatus;
use domain::text::count_with_noun;
use domain::tick::TickStatus;
use serde_json::json;

use super::tick::run_single_tick;
use super::write::{SceneQuestions, advance_generation, print_generation};
use crate::completion::node_option_completer;
use crate::cost::render_cost;
use crate::exit_code::ExitCode;
use crate::model::Planner;
use crate::model_lease::LeaseGuard;
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
    #[arg(long, value_name = "NODE", num_args = 1..=2, add = node_option_completer())]
    until: Vec<String>,
    /// Maximum number of scenes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    scenes: Option<u64>,
    /// Maximum cost of this run in US dollars
    #[arg(long, value_name = "DOLLARS", value_parser = parse_dollars)]
    budget: Option<u64>,
}

/// Maximum budget of a run, in US cents.
const MAX_BUDGET_CENTS: f64 = 1e9;

/// Why a run ended.
struct RunEnd {
    why: String,
    next_step: Option<String>,
    code: ExitCode,
}

/// What a run has done so far.
struct StoryRun<'a> {
    app: &'a App,
    mind: Planner,
    progress: Progress,
    started: Instant,
    spent_before: SpendingView,
    written: Vec<GenerationView>,
    ticks: u64,
    approved: Vec<String>,
}

impl RunArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let mut run = StoryRun {
            app,
            mind: Planner::with_run_budget(app, self.budget)?,
            progress: Progress::new(app.ui, 0),
            started: Instant::now(),
            // The project's totals, not a counter of our own: calls of a step that failed
            // count as well.
            spent_before: app.run(novel_stats)?.spending,
            written: Vec::new(),
            ticks: 0,
            approved: Vec::new(),
        };
        let ended = self.run_until_end(&mut run);
        run.progress.hide_bar();
        match ended {
            Ok(end) => {
                run.print_report(&end)?;
                Ok(end.code)
            }
            // A provider that fails, a spent budget, Ctrl-C: what was done is told, and the failure says why.
            Err(failure) => {
                if !app.ui.json {
                    run.print_totals()?;
                }
                Err(resume_with_run(failure, self.command_line()))
            }
        }
    }

    /// Returns the command of this run, with its limits: without them the next one would spend more than was
    /// allowed.
    fn command_line(&self) -> String {
        let mut line = "tl story run".to_owned();
        if !self.until.is_empty() {
            line.push_str(&format!(" --until {}", self.until.join(" ")));
        }
        if let Some(scenes) = self.scenes {
            line.push_str(&format!(" --scenes {scenes}"));
        }
        if let Some(cents) = self.budget {
            line.push_str(&format!(" --budget {}.{:02}", cents / 100, cents % 100));
        }
        line
    }

    fn without_until(&self) -> Self {
        Self {
            until: Vec::new(),
            scenes: self.scenes,
            budget: self.budget,
        }
    }

    /// Goes from step to step until the run ends.
    fn run_until_end(&self, run: &mut StoryRun<'_>) -> Result<RunEnd, Failure> {
        let app = run.app;
        loop {
            if self
                .scenes
                .is_some_and(|limit| run.written.len() as u64 >= limit)
            {
                let count = count_with_noun(run.written.len(), "scene is", "scenes are");
                return Ok(RunEnd {
                    why: format!("{count} written, as asked"),
                    next_step: Some(self.command_line()),
                    code: ExitCode::Done,
                });
            }
            // Asked again after each scene: the author may have edited, approved or rejected plans
            // meanwhile.
            let step = app.run(|ctx| next_story_step(ctx, &self.until))?;
            let end = match step {
                StoryStep::Write { scene, .. } => {
                    let words = [scene.clone()];
                    let lease = LeaseGuard::for_scene(app, &run.mind, &words)?;
                    // Another run may have written it before the lease was taken.
                    match app.run(|ctx| next_story_step(ctx, &self.until))? {
                        StoryStep::Write {
                            scene: now,
                            is_planned,
                            ..
                        } if now == scene => run.write_scene(&words, is_planned, lease)?,
                        _ => None,
                    }
                }
                StoryStep::Approve { nodes } => {
                    run.approve_drafts(nodes)?;
                    None
                }
                StoryStep::NeedsPerson { why, next_step, .. } => Some(RunEnd {
                    why,
                    next_step: Some(next_step),
                    code: ExitCode::Findings,
                }),
                StoryStep::Written { until: None } => Some(RunEnd {
                    why: "everything in the plan is written".to_owned(),
                    next_step: Some("tl story compile".to_owned()),
                    code: ExitCode::Done,
                }),
                StoryStep::Written { until: Some(node) } => Some(RunEnd {
                    why: format!("everything up to the end of `{node}` is written"),
                    // The limits that were not reached still hold.
                    next_step: Some(self.without_until().command_line()),
                    code: ExitCode::Done,
                }),
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }
}

impl StoryRun<'_> {
    /// Plans a scene, unless a tick has prepared it, and writes it. Returns why the run ends, if it does.
    fn write_scene(
        &mut self,
        words: &[String],
        is_planned: bool,
        mut lease: LeaseGuard<'_>,
    ) -> Result<Option<RunEnd>, Failure> {
        if !is_planned && let Some(end) = self.plan_scene()? {
            return Ok(Some(end));
        }
        let app = self.app;
        let started = app.run(|ctx| start_generation(ctx, words, GenerationRequest::default()))?;
        let scene = &started.scene;
        let asked = SceneQuestions {
            scene: std::slice::from_ref(scene),
            show_prompt: false,
            lease: &mut lease,
        };
        let generation = advance_generation(app, &self.mind, asked)?;
        if !app.ui.json {
            print_generation(app, &generation);
        }
        let status = generation.status;
        self.written.push(generation);
        self.print_progress(scene)?;
        // A scene that is not complete ends the run: the next one would rest on a text that may
        // still change.
        let end = (status != GenerationStatus::Complete).then(|| RunEnd {
            why: format!("`{scene}` is {}", status.as_str()),
            next_step: Some(format!("tl story generation status {scene}")),
            code: ExitCode::Failed,
        });
        Ok(end)
    }

    /// Approves drafts, which the policy allows, parents first.
    fn approve_drafts(&mut self, nodes: Vec<String>) -> Result<(), Failure> {
        for node in nodes {
            let request = ApproveRequest {
                node: vec![node.clone()],
                // Where the policy makes warnings blocking, only a person overrides them.
                force: Force::No,
                shown: None,
            };
            self.app.run(|ctx| approve_node(ctx, &request))?;
            self.progress.print_message(&format!(
                "approved {node} (policy.generation.approve_drafts)"
            ));
            self.approved.push(node);
        }
        Ok(())
    }

    /// Runs ticks until one is done. Returns why the run ends, if none can be.
    fn plan_scene(&mut self) -> Result<Option<RunEnd>, Failure> {
        loop {
            let outcome = run_single_tick(self.app, &self.mind, &self.progress)?;
            self.ticks += 1;
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

    /// Returns scenes, words, calls, cost and time so far.
    fn totals(&self) -> Result<RunTotals, Failure> {
        let spent = self.app.run(novel_stats)?.spending;
        let is_complete = |it: &&GenerationView| it.status == GenerationStatus::Complete;
        let complete = || self.written.iter().filter(is_complete);
        let before = &self.spent_before;
        Ok(RunTotals {
            scenes: complete().count(),
            words: complete().map(|it| it.words).sum(),
            calls: spent.calls.saturating_sub(before.calls),
            calls_without_price: spent
                .calls_without_price
                .saturating_sub(before.calls_without_price),
            cost_micros: spent.cost_micros.saturating_sub(before.cost_micros),
            seconds: self.started.elapsed().as_secs(),
        })
    }

    /// Prints one line after a scene.
    fn print_progress(&self, scene: &str) -> Result<(), Failure> {
        let totals = self.totals()?;
        self.progress.print_message(&format!("{scene}: {totals}"));
        Ok(())
    }

    fn print_totals(&self) -> Result<(), Failure> {
        let totals = self.totals()?;
        self.app.ui.print_line(styled(DIM, totals.to_string()));
        Ok(())
    }

    fn print_report(&self, end: &RunEnd) -> Result<(), Failure> {
        let totals = self.totals()?;
        let report = json!({
            "stopped": end.why, "next_step": end.next_step, "ticks": self.ticks, "scenes": self.written,
            "approved": self.approved, "words": totals.words, "calls": totals.calls,
            "cost_micros": totals.cost_micros, "calls_without_price": totals.calls_without_price,
            "seconds": totals.seconds,
        });
        let ui = self.app.ui;
        if !ui.try_print_json(&report) {
            ui.print_line(format_args!("stopped: {}", end.why));
            ui.print_line(styled(DIM, totals.to_string()));
            if let Some(step) = &end.next_step {
                ui.print_next_step(step);
            }
        }
        Ok(())
    }
}

/// Totals of a run.
struct RunTotals {
    scenes: usize,
    words: usize,
    calls: usize,
    calls_without_price: usize,
    cost_micros: u64,
    seconds: u64,
}

impl fmt::Display for RunTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scenes = count_with_noun(self.scenes, "scene", "scenes");
        let words = count_with_noun(self.words, "word", "words");
        let calls = count_with_noun(self.calls, "model call", "model calls");
        let cost = render_cost(self.cost_micros, self.calls, self.calls_without_price);
        let (minutes, seconds) = (self.seconds / 60, self.seconds % 60);
        write!(
            f,
            "{scenes}, {words}, {calls}, {cost}, {minutes}:{seconds:02}"
        )
    }
}

/// Returns the failure with the command that goes on with the run, in place of the one for a single step.
fn resume_with_run(mut failure: Failure, command: String) -> Failure {
    failure
        .next_steps
        .retain(|step| step != "tl story tick" && !step.starts_with("tl story generation resume"));
    failure.with_step(command)
}

/// Parses an amount of dollars into cents.
fn parse_dollars(text: &str) -> Result<u64, String> {
    let amount: f64 = text
        .trim_start_matches('$')
        .parse()
        .map_err(|_| format!("`{text}` is not an amount of dollars"))?;
    let cents = (amount * 100.0).round();
    // Also refuses NaN, which is in no range.
    if !(1.0..=MAX_BUDGET_CENTS).contains(&cents) {
        let most = MAX_BUDGET_CENTS / 100.0;
        return Err(format!(
            "`{text}` is not allowed: expected 0.01 to {most:.0}"
        ));
    }
    Ok(cents as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Defect: the next step had no limits, and an amount that is too large "expected at least 0.01".
    #[test]
    fn the_next_command_keeps_the_limits_of_the_run() {
        let run = RunArgs {
            until: vec!["scene-0103".to_owned()],
            scenes: Some(3),
            budget: parse_dollars("0.3").ok(),
        };
        let line = "tl story run --until scene-0103 --scenes 3 --budget 0.30";
        assert_eq!(run.command_line(), line);
        assert_eq!(
            run.without_until().command_line(),
            "tl story run --scenes 3 --budget 0.30"
        );
        for (text, reason) in [
            ("1e9", "expected 0.01 to 10000000"),
            ("0", "expected 0.01"),
            ("ten", "not an amount"),
        ] {
            let refused = parse_dollars(text).unwrap_err();
            assert!(refused.contains(reason), "{refused}");
        }
    }
}
