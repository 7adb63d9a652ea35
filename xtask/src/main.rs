//! Repository work that has logic in it: generated pages, repository rules, whole-process benchmarks, fault injection.
//!
//! `cargo xtask generate [--check]`, `cargo xtask tidy`, `cargo xtask order`, `cargo xtask build-budget`, `cargo xtask dist`, `cargo xtask record`, `cargo xtask bench [hooks|work|tickets|git|search|shape|web|team|compare OLD_TL|scale OLD_TL] [--quick]`,
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
       cargo xtask bench [--quick] [--built]   measure the whole program against an empty process; --built does not build it first
       cargo xtask bench hooks [--quick]   the same for hooks
       cargo xtask bench crowd [--quick]   hooks of eight sessions at once
       cargo xtask bench work [--quick]    the same for hooks in a repository with tickets
       cargo xtask bench tickets [--quick] new, next and status with 100 and 10,000 tickets
       cargo xtask bench git [--quick] [--release]   checkouts, worktrees, clones, claims and checks with 10,000 plans
       cargo xtask bench search [--quick] [--release]   searches over 10,000 plans
       cargo xtask bench shape [TL] [--quick]   search, index update, insertion and bulk approval against their limits
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
        ["bench", options @ ..] => match run_bench(options) {
            Some(outcome) => outcome,
            None => {
                say_error(USAGE);
                return ExitCode::from(2);
            }
        },
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

/// Runs a benchmark; `None` if there is none of this name.
fn run_bench(options: &[&str]) -> Option<Outcome> {
    use bench::Length;
    use bench::git::Build;

    let mut words = options.to_vec();
    let mut take_option = |option: &str| {
        let before = words.len();
        words.retain(|word| *word != option);
        words.len() < before
    };
    let length = match take_option("--quick") {
        true => Length::Quick,
        false => Length::Full,
    };
    let build = match take_option("--release") {
        true => Build::Release,
        false => Build::Dist,
    };
    if take_option("--built") {
        generate::use_what_is_built();
    }
    Some(match words.as_slice() {
        [] => bench::bench(length),
        ["hooks"] => bench::hooks::bench(length),
        ["crowd"] => bench::crowd::bench(length),
        ["work"] => bench::work::bench(length),
        ["tickets"] => bench::tickets::bench(length),
        ["git"] => bench::git::bench(length, build),
        ["search"] => bench::search::bench(length, build),
        ["shape"] => bench::shape::bench(None, length),
        ["shape", program] => bench::shape::bench(Some(program), length),
        ["web"] => bench::web::bench(length),
        ["team"] => bench::team::bench(length),
        ["compare", old] => bench::compare::bench(old, None, length),
        ["compare", old, new] => bench::compare::bench(old, Some(new), length),
        ["scale", old] => bench::scale::bench(old, None, length),
        ["scale", old, new] => bench::scale::bench(old, Some(new), length),
        _ => return None,
    })
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
