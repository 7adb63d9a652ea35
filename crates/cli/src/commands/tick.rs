//! `tl story tick`: runs the tick loop: plan, validate, execute.

use application::tick::begin_tick::{
    NextTick, TickAsk, TickRequest, begin_tick, begin_tick_with, offline_plan,
};
use application::tick::consult_queries::consult_queries;
use application::tick::run_tick::{RetryMode, TickOutcome, retry_mode, retry_tick, run_tick};
use application::tick::skip_tick::skip_tick;
use application::tick::spending::record_spending;
use application::tick::submit_plan::{PlanAnswer, check_plan, record_failed_plan, submit_plan};
use application::{Context, Failure, FailureKind};
use clap::Args;
use domain::text::count_with_noun;
use domain::tick::TickStatus;
use llm::{ErrorClass, Message};
use serde_json::{Value, json};

use crate::exit_code::ExitCode;
use crate::model::{ModelRequest, Planner, halve_context, print_sections, send_model_request};
use crate::model_lease::LeaseGuard;
use crate::progress::Progress;
use crate::ui::{BAD, BOLD, DIM, GOOD, INFO, WARN, styled};
use crate::wiring::App;

/// How often an invalid plan is returned to the model with the error.
const MAX_PLAN_CORRECTIONS: usize = 2;

/// Plan the next step of the story and execute it
///
/// A tick reads the story, asks a planner for a plan, validates it, and executes its actions in
/// order up to the first failure. Plan, results and the new state of the story are recorded
/// together. Without a model the plan is made by built-in rules.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl story tick
  tl story tick --count 5
  tl story tick --dry-run --show-prompt
  tl story tick --retry 7     # after fixing the cause, or editing plans/plan_007.json
  tl story tick --skip 7")]
pub(crate) struct TickArgs {
    /// Show the plan without executing it
    #[arg(long)]
    dry_run: bool,
    /// Print the planner's prompt; with --dry-run the planner is not called
    #[arg(long)]
    show_prompt: bool,
    /// Retry tick N from the failed action
    #[arg(long, value_name = "N", conflicts_with_all = ["dry_run", "count", "skip"])]
    retry: Option<u64>,
    /// Skip tick N
    #[arg(long, value_name = "N", conflicts_with_all = ["dry_run", "count"])]
    skip: Option<u64>,
    /// Number of ticks to run
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    count: u64,
}

impl TickArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        if let Some(tick) = self.skip {
            let outcome = app.run(|ctx| skip_tick(ctx, tick, None))?;
            return Ok(print_outcomes(app, &[outcome]));
        }
        if let Some(tick) = self.retry {
            let outcome = self.retry_or_plan(app, tick)?;
            return Ok(print_outcomes(app, &[outcome]));
        }
        // After `--skip` and the retry of a plan, which need no model and must work when it is
        // misconfigured.
        let mind = Planner::from_configuration(app)?;
        if self.dry_run {
            return self.dry_run_tick(app, &mind);
        }
        let progress = Progress::new(app.ui, self.count);
        let mut outcomes = Vec::new();
        for _ in 0..self.count {
            if is_book_finished(app, &mind)? {
                app.ui
                    .print_message("the book is written, and nothing of the plan is open");
                app.ui.print_next_step("tl story compile");
                break;
            }
            // A failed tick is planned again until it is done or parked, so this loop ends. With a
            // single tick the user decides between retry and skip.
            loop {
                let outcome = match self.run_next_tick(app, &mind, &progress) {
                    Ok(outcome) => outcome,
                    // The ticks before it are done, and a caller that reads JSON has to know them.
                    Err(failure) if app.ui.json && !outcomes.is_empty() => {
                        app.ui.print_json(&outcomes);
                        return Err(failure);
                    }
                    Err(failure) => return Err(failure),
                };
                if !app.ui.json {
                    progress.suspend_while(|| print_outcome(app, &outcome));
                }
                // Bounded: after `policy.tick` failures in a row a tick is parked, and a parked one
                // is not failed.
                let again = outcome.status == TickStatus::Failed && self.count > 1;
                outcomes.push(outcome);
                if !again {
                    break;
                }
            }
            progress.advance_step();
        }
        if app.ui.json {
            return Ok(print_outcomes(app, &outcomes));
        }
        Ok(exit_code_of(&outcomes))
    }

    /// Retries a tick: runs its plan, or asks for one if it has none that can be run.
    fn retry_or_plan(&self, app: &App, tick: u64) -> Result<TickOutcome, Failure> {
        if app.run(|ctx| retry_mode(ctx, tick))? == RetryMode::RunPlan {
            return app.run(|ctx| retry_tick(ctx, tick, None));
        }
        let mind = Planner::from_configuration(app)?;
        let request = TickRequest {
            again: Some(tick),
            ..TickRequest::default()
        };
        self.plan_and_run(app, &mind, &Progress::new(app.ui, 1), request)
    }

    fn run_next_tick(
        &self,
        app: &App,
        mind: &Planner,
        progress: &Progress,
    ) -> Result<TickOutcome, Failure> {
        self.plan_and_run(app, mind, progress, TickRequest::default())
    }

    fn plan_and_run(
        &self,
        app: &App,
        mind: &Planner,
        progress: &Progress,
        request: TickRequest,
    ) -> Result<TickOutcome, Failure> {
        let (next, mut lease) = begin_leased_tick(app, mind, request)?;
        match next {
            NextTick::Run { tick, from_action } => {
                app.ui.print_message(format_args!(
                    "{} tick {tick} at action {from_action}",
                    styled(INFO, "resuming")
                ));
                app.run(|ctx| run_tick(ctx, tick))
            }
            NextTick::Ask(question) => {
                if self.show_prompt {
                    app.ui.print_message_lines(&question.prompt);
                    print_sections(app, &question.sections);
                }
                // A plan that stays invalid is recorded as a failed tick, so that its cost and its
                // error are visible and count towards parking.
                let asked = PlanQuestion {
                    question: *question,
                    request,
                    lease: &mut lease,
                };
                match request_plan(app, mind, progress, asked, submit_plan)? {
                    Ok(outcome) => Ok(outcome),
                    Err((answer, why)) => app.run(|ctx| record_failed_plan(ctx, &answer, &why)),
                }
            }
        }
    }

    fn dry_run_tick(&self, app: &App, mind: &Planner) -> Result<ExitCode, Failure> {
        // A prompt that is only shown costs nothing.
        let (next, mut lease) = match self.show_prompt {
            true => (
                app.run(begin_tick)?,
                LeaseGuard::for_tick(app, &Planner::Offline, None)?,
            ),
            false => begin_leased_tick(app, mind, TickRequest::default())?,
        };
        match next {
            NextTick::Run { tick, from_action } => {
                let next = json!({ "tick": tick, "resumes_at_action": from_action });
                if !app.ui.try_print_json(&next) {
                    app.ui.print_line(format_args!(
                        "tick {tick} has a plan that was not completed: it resumes at action {from_action}"
                    ));
                }
            }
            NextTick::Ask(question) if self.show_prompt => {
                if !app.ui.try_print_json(&question) {
                    app.ui.print_lines(&question.prompt);
                    print_sections(app, &question.sections);
                }
            }
            NextTick::Ask(question) => {
                // The same path as a real tick, with the check in place of the submission: a dry
                // run that skips the corrections would show other plans.
                let checked = |ctx: &Context<'_>, answer: &PlanAnswer| {
                    check_plan(ctx, &answer.plan).map(|_| answer.clone())
                };
                let tick = question.tick;
                let asked = PlanQuestion {
                    question: *question,
                    request: TickRequest::default(),
                    lease: &mut lease,
                };
                let (answer, refused) =
                    match request_plan(app, mind, &Progress::new(app.ui, 0), asked, checked)? {
                        Ok(answer) => (answer, None),
                        Err((answer, why)) => (answer, Some(why)),
                    };
                // A dry run changes nothing in the story, but its model calls cost money and count
                // as spending.
                app.run(|ctx| record_spending(ctx, &answer.spent))?;
                let plan = json!({ "tick": tick, "planner": answer.planner, "plan": answer.plan, "refused": refused });
                if !app.ui.try_print_json(&plan) {
                    app.ui
                        .print_lines(&serde_json::to_string_pretty(&plan).unwrap_or_default());
                }
            }
        }
        Ok(ExitCode::Done)
    }
}

/// Runs the next tick and prints its outcome.
pub(super) fn run_single_tick(
    app: &App,
    mind: &Planner,
    progress: &Progress,
) -> Result<TickOutcome, Failure> {
    let tick = TickArgs {
        dry_run: false,
        show_prompt: false,
        retry: None,
        skip: None,
        count: 1,
    };
    let outcome = tick.run_next_tick(app, mind, progress)?;
    if !app.ui.json {
        progress.suspend_while(|| print_outcome(app, &outcome));
    }
    Ok(outcome)
}

/// Whether the rules have nothing left to plan. A model decides that by itself.
fn is_book_finished(app: &App, mind: &Planner) -> Result<bool, Failure> {
    Ok(matches!(mind, Planner::Offline) && app.run(offline_plan)?.is_none())
}

/// Begins a tick under its lease, so that no other process pays for a plan of it.
fn begin_leased_tick<'a>(
    app: &'a App,
    mind: &Planner,
    request: TickRequest,
) -> Result<(NextTick, LeaseGuard<'a>), Failure> {
    loop {
        let lease = LeaseGuard::for_tick(app, mind, request.again)?;
        let next = app.run(|ctx| begin_tick_with(ctx, request))?;
        let tick = match &next {
            NextTick::Ask(question) => question.tick,
            NextTick::Run { tick, .. } => *tick,
        };
        // Another process may have finished a tick before the lease was taken.
        if lease.covers_tick(tick) {
            return Ok((next, lease));
        }
    }
}

/// What the planner is asked, under the lease of its tick.
struct PlanQuestion<'l, 'a> {
    question: TickAsk,
    request: TickRequest,
    lease: &'l mut LeaseGuard<'a>,
}

/// An accepted plan, or the last answer with its remaining error.
type PlanResult<T> = Result<T, (PlanAnswer, String)>;

/// Requests a plan and submits it. An invalid one is returned to the model with the error.
fn request_plan<T>(
    app: &App,
    mind: &Planner,
    progress: &Progress,
    asked: PlanQuestion<'_, '_>,
    take: impl Fn(&Context<'_>, &PlanAnswer) -> Result<T, Failure>,
) -> Result<PlanResult<T>, Failure> {
    let PlanQuestion {
        mut question,
        mut request,
        lease,
    } = asked;
    let mut answer = PlanAnswer {
        nonce: question.nonce.clone(),
        again: request.again,
        scene: question.scene.clone(),
        planner: mind.name(),
        ..PlanAnswer::default()
    };
    let Planner::Model { model, cancel } = mind else {
        answer.plan = app.run(offline_plan)?.ok_or_else(|| {
            Failure::refused("the book is written, and nothing of the plan is open")
                .with_step("tl story compile")
                .with_step("tl plan   # plan another chapter")
        })?;
        return app.run(|ctx| take(ctx, &answer)).map(Ok);
    };
    let account = format!("tick {}", question.tick);
    let mut messages = vec![Message::from_user(&question.prompt)];
    let mut corrections = 0;
    let mut turns = app.run(|ctx| Ok(ctx.policy.generation.query_turns))?;
    loop {
        progress.show_waiting_for(&format!(
            "asking {} for tick {}",
            answer.planner, question.tick
        ));
        lease.renew()?;
        let asked = ModelRequest {
            purpose: "plan",
            account: &account,
            system: &question.system,
            messages: messages.clone(),
            schema: Some(&question.schema),
            max_output_tokens: question.max_output_tokens,
        };
        let answered = match send_model_request(&**model, cancel, progress, asked) {
            Ok(answered) => answered,
            Err(unanswered) => {
                answer.spent.extend(unanswered.spent.iter().cloned());
                // The plan of the turn before is paid for; another turn would only have refined it.
                if unanswered.class == ErrorClass::BudgetExceeded && !answer.plan.is_null() {
                    match app.run(|ctx| take(ctx, &answer)) {
                        Err(failure) if failure.kind == FailureKind::Invalid => {}
                        taken => return taken.map(Ok),
                    }
                }
                if let Some(problem) = unanswered.answer_problem() {
                    return Ok(Err((answer, problem)));
                }
                // Once only: a second refusal is reported, with the setting that limits the
                // context.
                if unanswered.class == ErrorClass::ContextTooLong
                    && request.context_tokens.is_none()
                {
                    let tokens = halve_context(progress, &question.prompt, Some(&question.schema));
                    request.context_tokens = Some(tokens);
                    if let NextTick::Ask(smaller) = app.run(|ctx| begin_tick_with(ctx, request))? {
                        question = *smaller;
                        messages = vec![Message::from_user(&question.prompt)];
                        continue;
                    }
                }
                // Neither Ctrl-C nor a wrong key is a failure of the tick: it must not count towards
                // parking it, and the provider's text must not reach the next prompt.
                app.run(|ctx| record_spending(ctx, &answer.spent))?;
                return Err(unanswered.into_stop("the story is as it was", "tl story tick"));
            }
        };
        answer.spent.extend(answered.spent);
        answer.plan = answered.json.unwrap_or(Value::Null);
        // What its queries find may change the plan. Bounded: each turn is a paid call.
        if turns > 0
            && let Some(consulted) = app.run(|ctx| consult_queries(ctx, &answer.plan))?
        {
            turns -= 1;
            answer.consulted.extend(consulted.found);
            messages.push(Message::from_assistant(&answered.text));
            messages.push(Message::from_user(&consulted.message));
            continue;
        }
        match app.run(|ctx| take(ctx, &answer)) {
            // Only an invalid plan is the model's to correct. A conflict or a full disk is not.
            Err(failure) if failure.kind == FailureKind::Invalid => {
                corrections += 1;
                if corrections > MAX_PLAN_CORRECTIONS {
                    return Ok(Err((answer, failure.message)));
                }
                // With its own answer in the conversation, the model corrects the plan instead of
                // inventing another.
                messages.push(Message::from_assistant(&answered.text));
                messages.push(Message::from_user(&format!(
                    "{}. Answer with the whole plan again.",
                    failure.message
                )));
            }
            // Another run was faster: nothing of this answer is kept, but it was paid for.
            Err(failure) if failure.kind == FailureKind::Conflict => {
                app.run(|ctx| record_spending(ctx, &answer.spent))?;
                return Err(failure);
            }
            taken => return taken.map(Ok),
        }
    }
}

fn print_outcomes(app: &App, outcomes: &[TickOutcome]) -> ExitCode {
    if !app.ui.try_print_json(&outcomes) {
        outcomes
            .iter()
            .for_each(|outcome| print_outcome(app, outcome));
    }
    exit_code_of(outcomes)
}

/// Returns the exit code: failed if a tick failed or was parked and no later attempt completed it.
fn exit_code_of(outcomes: &[TickOutcome]) -> ExitCode {
    // With `--count` a tick may fail, be planned again and succeed; then the run is a success.
    let settled = |failed: &TickOutcome| {
        outcomes
            .iter()
            .any(|it| it.tick == failed.tick && it.status == TickStatus::Done)
    };
    let lost = |it: &TickOutcome| {
        matches!(it.status, TickStatus::Failed | TickStatus::Parked) && !settled(it)
    };
    if outcomes.iter().any(lost) {
        ExitCode::Failed
    } else {
        ExitCode::Done
    }
}

fn print_outcome(app: &App, outcome: &TickOutcome) {
    let style = match outcome.status {
        TickStatus::Done => GOOD,
        TickStatus::Failed | TickStatus::Parked => BAD,
        TickStatus::Planned | TickStatus::Skipped => WARN,
    };
    let title = format!("tick {}", outcome.tick);
    let by = styled(DIM, format!("by {}", outcome.planner));
    app.ui.print_line(format_args!(
        "{} {} {by}",
        styled(BOLD, &title),
        styled(style, outcome.status.as_str())
    ));
    // A tick without a plan has none.
    if !outcome.plan.scene_intention.is_empty() {
        app.ui
            .print_line(format_args!("  {}", outcome.plan.scene_intention));
    }
    for action in &outcome.executed {
        let mark = if action.success {
            styled(GOOD, "✓")
        } else {
            styled(BAD, "✗")
        };
        let made = action
            .result
            .as_ref()
            .and_then(|result| result["id"].as_str())
            .unwrap_or_default();
        app.ui
            .print_line(format_args!("  {mark} {} {}", action.tool, made));
    }
    for warning in &outcome.warnings {
        app.ui.print_warning(warning);
    }
    for error in &outcome.errors {
        app.ui
            .print_message(format_args!("{}: {}", styled(BAD, "error"), error));
    }
    let Some(file) = &outcome.error_file else {
        return;
    };
    let tick = outcome.tick;
    app.ui.print_next_step(format_args!("see {file}"));
    match outcome.status {
        TickStatus::Parked => {
            let failures = count_with_noun(
                usize::try_from(outcome.failures).unwrap_or(usize::MAX),
                "failure",
                "failures",
            );
            app.ui.print_message(format_args!(
                "parked after {failures}; `tl story tick` goes on with the next one"
            ));
        }
        _ => {
            app.ui.print_next_step(format_args!(
                "tl story tick --retry {tick}   # after fixing the cause, or editing {}",
                outcome.plan_file
            ));
            app.ui
                .print_next_step(format_args!("tl story tick --skip {tick}"));
        }
    }
}
