//! `tl host replay`: dry run of recorded host events against the gates.

use std::path::PathBuf;

use application::handle_host_event::{
    EventContext, EventOutcome, handle_host_event, touched_files, touched_plans,
};
use application::{Context, Failure};
use clap::Args;
use domain::host_event::Host;
use domain::ids::Principal;
use domain::operation::Channel;
use domain::suggest::nearest_hint;
use serde::Serialize;
use serde_json::Value;
use store::{DiskFiles, DiskGit, ReadOnlyFiles, SystemClock};

use crate::commands::host_choice::host_argument_help;
use crate::exit_code::ExitCode;
use crate::settings;
use crate::ui::{BAD, DIM, GOOD, WARN, styled};
use crate::wiring::{App, Project};

/// Replay recorded events of a host through the gates, as a dry run
///
/// Each line of the file is one event as the host sent it, or {"event": NAME, "payload": {…}} if
/// the payload does not name it. The state is copied into memory first: neither the store nor any
/// file is changed.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl host replay claude-code events.jsonl\n  tl host replay copilot events.jsonl --json"
)]
pub(crate) struct ReplayArgs {
    #[arg(help = host_argument_help())]
    host: String,
    /// Recorded events, one JSON object per line
    #[arg(value_name = "FILE.jsonl")]
    file: PathBuf,
}

/// Result of one event.
#[derive(Debug, Serialize)]
struct ReplayedEvent {
    line: usize,
    event: String,
    tool: Option<String>,
    plans: Vec<String>,
    outcome: &'static str,
    gates: Vec<String>,
    block: Option<String>,
    context: Option<String>,
}

impl ReplayArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let words = Host::ALL.map(Host::as_str);
        let host = Host::from_word(&self.host).ok_or_else(|| {
            let hint = nearest_hint(&self.host, words);
            Failure::invalid(format!("`{}` is not a host{hint}", self.host))
                .with_step(format!("hosts: {}", words.join(", ")))
        })?;
        let text = std::fs::read_to_string(&self.file).map_err(|error| {
            Failure::not_found(format!("cannot read `{}`: {error}", self.file.display()))
        })?;
        let project = app.find_project()?;
        let replayed = replay_recorded_events(&project, host, &text)?;
        if !app.ui.try_print_json(&replayed) {
            replayed.iter().for_each(|one| print_event(app, one));
        }
        Ok(ExitCode::Done)
    }
}

fn replay_recorded_events(
    project: &Project,
    host: Host,
    text: &str,
) -> Result<Vec<ReplayedEvent>, Failure> {
    let unreachable =
        |error| Failure::unavailable(format!("cannot open `{}`: {error}", project.root.display()));
    // One copy for all lines: later events see the session memory of earlier ones, as in reality.
    let store = store::copy_in_memory(&project.layout, project.settings.storage)?;
    let disk = DiskFiles::open(&project.root).map_err(unreachable)?;
    // The recorded calls ran long ago; a replay writes neither backups nor files of operations.
    let files = ReadOnlyFiles::new(&disk);
    let (clock, person) = (SystemClock, Principal::Human(settings::local_user_name()));
    let mut replayed = Vec::new();
    for (index, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let line_number = index + 1;
        let broken = |what: String| Failure::invalid(format!("line {line_number}: {what}"));
        // A recording that cannot be read is an error with its line: unlike a hook, a dry run has a
        // person to tell.
        let value: Value = serde_json::from_str(line).map_err(|error| broken(error.to_string()))?;
        // Copilot's payloads do not name their event; it is an argument of the hook there, so a
        // recording has to add it.
        let (name, payload) = match (
            value.get("event").and_then(Value::as_str),
            value.get("payload"),
        ) {
            (Some(name), Some(payload)) => (Some(name.to_owned()), payload.clone()),
            _ => (None, value),
        };
        let bytes = payload.to_string().into_bytes();
        let event = hosts::wire::read_event(host, name.as_deref(), &bytes)
            .map_err(|error| broken(error.to_string()))?;
        let Some(event) = event else {
            let event = name.unwrap_or_else(|| "?".to_owned());
            // Listed all the same, so that the output has one entry per line of the recording.
            replayed.push(ReplayedEvent::not_handled(line_number, event));
            continue;
        };
        let plans = touched_plans(&files, &project.profiles, &event);
        let actor = Principal::Agent {
            host: host.as_str().to_owned(),
            session: event.session.clone(),
        };
        // The settings' policy, without pins: a replay decides nothing, and is often used to try a
        // change of the settings.
        let policy = &project.settings.policy;
        let touched = touched_files(&files, &project.profiles, &event);
        let git = DiskGit::open(&project.root);
        let ctx = Context::new(
            &*store,
            &files,
            &clock,
            &project.profiles,
            policy,
            actor,
            Channel::Hook,
        )
        .with_git_and_session(&git, event.session.clone());
        let surroundings = EventContext {
            person: &person,
            plans: &plans,
            files: &touched,
            faults: None,
            missed: &[],
            // The process that sent a recorded event is gone; ours is not its host.
            host_process: None,
            may_have_news: false,
        };
        let handled = handle_host_event(&ctx, &event, &surroundings)?;
        replayed.push(ReplayedEvent {
            line: line_number,
            tool: event.happening.tool_call().map(|call| call.name.clone()),
            plans: plans.iter().map(|plan| plan.place.path_alias()).collect(),
            outcome: outcome_word(&handled),
            gates: handled
                .blocked
                .iter()
                .chain(&handled.warned)
                .map(|fired| fired.gate.to_owned())
                .collect(),
            block: handled.reply.block,
            context: handled.reply.context,
            event: event.name,
        });
    }
    Ok(replayed)
}

fn outcome_word(handled: &EventOutcome) -> &'static str {
    match (&handled.reply.block, &handled.reply.context) {
        (Some(_), _) => "block",
        (None, Some(_)) => "context",
        (None, None) => "pass",
    }
}

impl ReplayedEvent {
    fn not_handled(line: usize, event: String) -> Self {
        Self {
            line,
            event,
            tool: None,
            plans: Vec::new(),
            outcome: "not ours",
            gates: Vec::new(),
            block: None,
            context: None,
        }
    }
}

fn print_event(app: &App, one: &ReplayedEvent) {
    let style = match one.outcome {
        "block" => BAD,
        "context" => WARN,
        "pass" => GOOD,
        _ => DIM,
    };
    let tool = one
        .tool
        .as_deref()
        .map(|tool| format!(" {tool}"))
        .unwrap_or_default();
    let plans = if one.plans.is_empty() {
        String::new()
    } else {
        format!(" [{}]", one.plans.join(", "))
    };
    let what = format!("{}{tool}{plans}", one.event);
    app.ui.print_line(format_args!(
        "{:>4}  {}  {what}",
        one.line,
        styled(style, format!("{:<8}", one.outcome))
    ));
    for line in one
        .block
        .iter()
        .chain(&one.context)
        .flat_map(|text| text.lines())
    {
        app.ui
            .print_line(format_args!("      {}", styled(DIM, line)));
    }
}
