//! Repository work that has logic in it: generated pages, repository rules, whole-process benchmarks, fault injection.
//!
//! `cargo xtask generate [--check]`, `cargo xtask tidy`, `cargo xtask order`, `cargo xtask build-budget`, `cargo xtask dist`, `cargo xtask record`, `cargo xtask bench [hooks|work|tickets|git|search|web|team|compare OLD_TL|scale OLD_TL] [--quick]`,
//! `cargo xtask faults`. The product never uses anything from here.

mod bench;
mod build_budget;
mod dist;
mod faults;
mod generate;
mod order;
mod recording;
mod tidy;
mod workspace;

use std::io::Write;
use std::process::ExitCode;

/// What a task ends with: nothing, or a message for people.
type Outcome = Result<(), String>;

const USAGE: &str = "\
usage: cargo xtask generate [--check]   write docs/reference, or see whether it is fresh
       cargo xtask tidy                 check the rules of the repository
       cargo xtask tidy --record-names  record the share of one-word function names per crate
       cargo xtask order [--release]    find the functions hooks run, for the linker (needs valgrind)
       cargo xtask build-budget dev|release [--record]   CPU seconds of a cold build per crate, against the recorded total
       cargo xtask record               play a session with the program and draw it for README
       cargo xtask dist [--check] [--profile NAME | --program PATH]   make every package, and install and run each
       cargo xtask bench [--quick]      measure the whole program against an empty process
       cargo xtask bench hooks [--quick]   the same for hooks
       cargo xtask bench crowd [--quick]   hooks of eight sessions at once
       cargo xtask bench work [--quick]    the same for hooks in a repository with tickets
       cargo xtask bench tickets [--quick] new, next and status with 100 and 10,000 tickets
       cargo xtask bench git [--quick] [--release]   checkouts, worktrees, clones, claims and checks with 10,000 plans
       cargo xtask bench search [--quick] [--release]   searches over 10,000 plans
       cargo xtask bench web [--quick]     the dashboard's API under load, while eight writers change the project
       cargo xtask bench team [--quick]    hooks through a team server on PostgreSQL
       cargo xtask bench compare OLD_TL [NEW_TL] [--quick]   commands and hooks of this tree, or of NEW_TL, beside those of another build
       cargo xtask bench scale OLD_TL [NEW_TL] [--quick]   large projects with both builds: checkouts, clones, checks, tickets, search, shape changes
       cargo xtask faults [--sample SECONDS] [--scenario NAME] …   kill and fail every command at every system call (needs strace)";

fn main() -> ExitCode {
    if let Some(code) = build_budget::run_as_wrapper() {
        return code;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["generate"] => generate::write(),
        ["generate", "--check"] => generate::check(),
        ["tidy"] => tidy::tidy(),
        ["tidy", "--record-names"] => tidy::record_function_names(),
        ["bench"] => bench::bench(bench::Length::Full),
        ["bench", "--quick"] => bench::bench(bench::Length::Quick),
        ["record"] => recording::record(),
        ["order"] => order::order("dist"),
        // Of the program that `cargo install` builds; minutes instead of a quarter of an hour.
        ["order", "--release"] => order::order("release"),
        ["build-budget", profile] => build_budget::check_budget(profile, false),
        ["build-budget", profile, "--record"] => build_budget::check_budget(profile, true),
        ["dist", options @ ..] => match dist::parse_options(options) {
            Some(options) => dist::dist(&options),
            None => {
                say_error(USAGE);
                return ExitCode::from(2);
            }
        },
        ["faults", options @ ..] => faults::faults(options),
        ["bench", "hooks"] => bench::hooks::bench(bench::Length::Full),
        ["bench", "hooks", "--quick"] => bench::hooks::bench(bench::Length::Quick),
        ["bench", "team"] => bench::team::bench(bench::Length::Full),
        ["bench", "team", "--quick"] => bench::team::bench(bench::Length::Quick),
        ["bench", "web"] => bench::web::bench(bench::Length::Full),
        ["bench", "web", "--quick"] => bench::web::bench(bench::Length::Quick),
        ["bench", "compare", old, rest @ ..] => {
            let (new, length) = parse_compared(rest);
            bench::compare::bench(old, new, length)
        }
        ["bench", "scale", old, rest @ ..] => {
            let (new, length) = parse_compared(rest);
            bench::scale::bench(old, new, length)
        }
        ["bench", "git", options @ ..] => match bench::git::parse_options(options) {
            Some((length, build)) => bench::git::bench(length, build),
            None => {
                say_error(USAGE);
                return ExitCode::from(2);
            }
        },
        ["bench", "search", options @ ..] => match bench::git::parse_options(options) {
            Some((length, build)) => bench::search::bench(length, build),
            None => {
                say_error(USAGE);
                return ExitCode::from(2);
            }
        },
        ["bench", "crowd"] => bench::crowd::bench(bench::Length::Full),
        ["bench", "crowd", "--quick"] => bench::crowd::bench(bench::Length::Quick),
        ["bench", "tickets"] => bench::tickets::bench(bench::Length::Full),
        ["bench", "tickets", "--quick"] => bench::tickets::bench(bench::Length::Quick),
        ["bench", "work"] => bench::work::bench(bench::Length::Full),
        ["bench", "work", "--quick"] => bench::work::bench(bench::Length::Quick),
        _ => {
            say_error(USAGE);
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say_error(&format!("error: {message}"));
            ExitCode::FAILURE
        }
    }
}

/// Parses the options after the old build: another program for the new one, and `--quick`.
fn parse_compared<'w>(rest: &[&'w str]) -> (Option<&'w str>, bench::Length) {
    match rest {
        [] => (None, bench::Length::Full),
        ["--quick"] => (None, bench::Length::Quick),
        [new, "--quick"] => (Some(*new), bench::Length::Quick),
        [new, ..] => (Some(*new), bench::Length::Full),
    }
}

/// Prints a line.
fn say(text: &str) {
    // A closed pipe is the reader's decision.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Prints a line to stderr.
fn say_error(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
