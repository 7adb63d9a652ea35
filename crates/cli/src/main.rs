//! `tl`: the program. Parses the command line, runs one command, and exits with its code.
//!
//! `tl hook` is dispatched before clap is built, see [`hook_entry`].

mod caller;
mod commands;
mod completion;
mod cost;
mod embedding;
mod exit_code;
mod gate_stats;
mod git_ignore;
mod head_listener;
mod help;
mod help_topics;
mod hook_adoption;
mod hook_entry;
mod hook_fault;
mod hook_input;
mod hook_ledger;
mod hook_missed_calls;
mod hook_news_mark;
mod last_good_settings;
mod model;
mod model_budget;
mod model_lease;
mod notifications;
mod process_table;
mod program_path;
mod progress;
mod project_file;
mod renamed_commands;
mod settings;
mod settings_stamp;
mod standing_problem;
mod status_line;
mod store_pool;
mod styled;
mod terminal_ui;
mod trust;
mod ui;
mod use_case_runner;
mod weakened_gates;
mod wiring;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::ffi::OsString;
use std::panic::PanicHookInfo;
use std::path::PathBuf;
use std::process;

use clap::error::ErrorKind;
use clap::{Args, FromArgMatches, Parser};
use domain::text::is_unprintable;

use crate::commands::Command;
use crate::commands::overview::print_overview;
use crate::exit_code::ExitCode;
use crate::help::{full_parser, print_all_commands};
use crate::help_topics::try_print_topic;
use crate::renamed_commands::{RenamedLine, rename_former_command, word_positions};
use crate::ui::{BAD, Ui, styled};
use crate::wiring::App;

/// Version, with the commit in a build that is shipped.
const VERSION: &str = env!("THROUGHLINE_VERSION");

/// Keep an AI agent's long work on its plan
// No long help: with one, clap would spread the options over three lines each.
#[derive(Debug, Parser)]
#[command(name = "tl", version = VERSION, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    everywhere: GlobalOptions,

    /// Without a command, an overview of the project is printed.
    #[command(subcommand)]
    command: Option<Command>,
}

/// Global options, accepted by every command.
#[derive(Debug, Args)]
struct GlobalOptions {
    /// Print data as JSON
    #[arg(long, global = true)]
    json: bool,

    /// Project directory [default: the nearest one at or above the current directory]
    #[arg(long, global = true, value_name = "DIR")]
    project: Option<PathBuf>,

    /// Print nothing (used by `tl demo --json` for its steps)
    #[arg(long, global = true, hide = true)]
    silent: bool,
}

fn main() -> process::ExitCode {
    // Set first: everything that formats a time reads the zone from there.
    domain::time::set_local_zone_source(|| {
        store::local_time_zone(settings::environment_variable("TZ").as_deref())
    });
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // Before the parser: hooks run twice per tool call, and a hook that concerns no plan costs
    // little more than its start. Help is left to clap, so that `tl hook --help` looks like any
    // other.
    if arguments.get(1).is_some_and(|word| word == "hook") && !asks_for_help(&arguments) {
        return hook_entry::run(&arguments[2..]);
    }
    if arguments.get(1).is_some_and(|word| word == "statusline") && !asks_for_help(&arguments) {
        status_line::print_status_line();
        return process::ExitCode::SUCCESS;
    }
    if completion::is_requested() {
        completion::complete_command_line(arguments);
        return process::ExitCode::SUCCESS;
    }
    std::panic::set_hook(Box::new(report_panic));
    let code = run(arguments);
    process::ExitCode::from(code.as_number())
}

fn asks_for_help(arguments: &[OsString]) -> bool {
    arguments
        .iter()
        .any(|word| word == "--help" || word == "-h")
}

/// Panic hook: reports an internal error.
fn report_panic(panic: &PanicHookInfo<'_>) {
    // A panic message may quote a plan file, so it is printed through `Ui`, which strips control
    // characters, and not by the default hook.
    let payload = panic.payload();
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or(payload.downcast_ref::<String>().map(String::as_str));
    let message = message.unwrap_or("no message");
    let place = panic
        .location()
        .map(|place| format!(" at {place}"))
        .unwrap_or_default();
    let ui = Ui::default();
    ui.print_message(format_args!(
        "{}: internal error in Throughline (please report it): {message}{place}",
        styled(BAD, "error")
    ));
    // Captured only with RUST_BACKTRACE, as with the default hook.
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        ui.print_message_lines(&backtrace.to_string());
    }
}

/// Parses and runs one command line. `tl demo` calls it for each of its steps.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    // Looked up by hand: a usage error has to be JSON too, and then there are no parsed options.
    let wants_json = arguments.iter().any(|argument| argument == "--json");
    // Without the parser: building it for all commands is most of what this would cost.
    if let [_, word] = &*arguments
        && (word == "--version" || word == "-V")
    {
        let ui = Ui::default();
        ui.print_line(format_args!("tl {VERSION}"));
        ui::flush_output();
        return ExitCode::Done;
    }
    let RenamedLine { arguments, notice } = rename_former_command(arguments);
    if let Some(notice) = notice
        && !wants_json
        && !asks_for_help(&arguments)
        && !arguments.iter().any(|argument| argument == "--silent")
    {
        let ui = Ui::default();
        ui.print_message(notice);
    }
    if let [_, help, all] = &*arguments
        && help == "help"
        && (all == "all" || all == "--all")
    {
        print_all_commands();
        return ExitCode::Done;
    }
    if try_print_topic(&arguments) {
        return ExitCode::Done;
    }
    let parsed = match parse_single_command(&arguments) {
        Some(cli) => Ok(cli),
        // The full parser explains everything out of the ordinary: help, typos, missing arguments.
        None => full_parser()
            .try_get_matches_from(&arguments)
            .and_then(|matches| Cli::from_arg_matches(&matches)),
    };
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return report_usage_error(&error, &arguments, wants_json),
    };
    let ui = Ui {
        json: cli.everywhere.json,
        silent: cli.everywhere.silent,
    };
    let app = match App::new(ui, cli.everywhere.project) {
        Ok(app) => app,
        Err(failure) => {
            ui.report_failure(&failure);
            return ExitCode::Failed;
        }
    };
    let outcome = match &cli.command {
        Some(command) => command.run(&app),
        None => print_overview(&app),
    };
    let code = match outcome {
        Ok(code) => code,
        Err(failure) => {
            ui.report_failure(&failure);
            ExitCode::Failed
        }
    };
    // After the output, and only with a result: a caller that was killed before it saw it must get
    // "already done" when it repeats the command. Findings are a result: a review that goes on is
    // concluded again with the same command.
    ui::flush_output();
    if matches!(code, ExitCode::Done | ExitCode::Findings) {
        wiring::write_acknowledgement();
    }
    code
}

/// Parses with the parser of the named command alone; `None` falls back to the full parser.
fn parse_single_command(arguments: &[OsString]) -> Option<Cli> {
    // Building the parsers of all commands takes longer than many a command does.
    let mut words = word_positions(arguments)
        .into_iter()
        .filter_map(|at| arguments.get(at)?.to_str());
    let parser = GlobalOptions::augment_args(clap::Command::new("tl"));
    let (parser, name) = match words.next() {
        Some(name) => (
            parser.subcommand(Command::parser_of(name, words.next())?),
            Some(name),
        ),
        None => (parser, None),
    };
    let matches = parser.try_get_matches_from(arguments).ok()?;
    let command = match (name, matches.subcommand()) {
        (Some(name), Some((_, own))) => Some(Command::from_matches(name, own).ok()?),
        _ => None,
    };
    Some(Cli {
        everywhere: GlobalOptions::from_arg_matches(&matches).ok()?,
        command,
    })
}

/// Reports a usage error, or prints the help or version that was asked for.
fn report_usage_error(error: &clap::Error, arguments: &[OsString], wants_json: bool) -> ExitCode {
    let asked_for = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    if wants_json && !asked_for {
        // The first line is the error; what follows is usage, which is of no use to a program.
        let text = error.render().to_string();
        let message = text
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches("error: ")
            .to_owned();
        Ui {
            json: true,
            silent: false,
        }
        .print_json_error("usage", &message, &["tl --help".to_owned()]);
        return ExitCode::Usage;
    }
    // clap quotes arguments between its own escape sequences, where they cannot be told apart. So
    // an argument with control characters costs the error its colours.
    if arguments
        .iter()
        .any(|argument| argument.to_string_lossy().chars().any(is_unprintable))
    {
        Ui::default().print_message_lines(&error.render().to_string());
    } else {
        // Help goes to stdout, errors to stderr; a closed pipe is not an error.
        let _ = error.print();
    }
    if asked_for {
        ExitCode::Done
    } else {
        ExitCode::Usage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_members_of_groups_need_no_full_parser() {
        for line in [
            "tl",
            "tl --json",
            "tl status",
            "tl --project p trail scan",
            "tl state --json check",
            "tl note list --pinned",
        ] {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(parse_single_command(&arguments).is_some(), "{line}");
        }
    }
}
