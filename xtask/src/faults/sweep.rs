//! The sweep: workers that take scenarios and judge their points, progress lines, the closing table.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use super::judge::{Reference, judge, prepare};
use super::lab::Lab;
use super::options::{Options, Place};
use super::scenarios::Scenario;
use super::trace::{Fault, Point};
use crate::{Outcome, say};

/// Errors of a disk that is full and of one that is sick.
const ERRORS: [&str; 2] = ["ENOSPC", "EIO"];

/// Points of one scenario before the sample goes on to the next: many scenarios say more than many points of one.
const POINTS_PER_VISIT: usize = 8;

/// The figures of one scenario.
#[derive(Clone, Debug, Default)]
struct Tally {
    name: &'static str,
    kills: usize,
    errors: usize,
    fired: usize,
    violations: usize,
    /// How often which kind was found.
    kinds: BTreeMap<String, usize>,
    /// Set when no reference could be made.
    failure: Option<String>,
}

/// What the workers share.
struct Shared<'s> {
    queue: Mutex<VecDeque<(usize, &'s Scenario)>>,
    tallies: Mutex<Vec<Tally>>,
    options: &'s Options,
    started: Instant,
}

/// Judges the scenarios' points; fails on any violation.
pub(crate) fn run(
    tl: &Path,
    folder: &Path,
    scenarios: Vec<Scenario>,
    options: &Options,
) -> Outcome {
    let mut order: Vec<(usize, &Scenario)> = scenarios.iter().enumerate().collect();
    if let Some(length) = options.sample {
        fastrand::Rng::with_seed(options.seed).shuffle(&mut order);
        say(&format!(
            "faults: a sample of {} s, seed {}",
            length.as_secs(),
            options.seed
        ));
    }
    let tallies = scenarios
        .iter()
        .map(|scenario| Tally {
            name: scenario.name,
            ..Tally::default()
        })
        .collect();
    let shared = Shared {
        queue: Mutex::new(order.into()),
        tallies: Mutex::new(tallies),
        options,
        started: Instant::now(),
    };
    let jobs = options.jobs.min(scenarios.len());
    let failures: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs)
            .map(|number| {
                let shared = &shared;
                scope.spawn(move || {
                    work(tl, &folder.join(format!("worker-{number}")), shared, number)
                })
            })
            .collect();
        workers
            .into_iter()
            .filter_map(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|_| Err("a worker crashed".to_owned()))
                    .err()
            })
            .collect()
    });
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure);
    }
    let tallies = shared
        .tallies
        .into_inner()
        .map_err(|_| "a worker crashed".to_owned())?;
    report(&tallies, shared.started, options)
}

fn work(tl: &Path, folder: &Path, shared: &Shared<'_>, worker: usize) -> Result<(), String> {
    let lab = Lab::create(tl, folder.to_owned())?;
    let mut random = fastrand::Rng::with_seed(shared.options.seed.wrapping_add(worker as u64));
    loop {
        let next = shared
            .queue
            .lock()
            .map_err(|_| "a worker crashed")?
            .pop_front();
        let Some((index, scenario)) = next else {
            return Ok(());
        };
        if is_over(shared) {
            return Ok(());
        }
        let tally = visit(&lab, scenario, shared, &mut random)?;
        let mut tallies = shared.tallies.lock().map_err(|_| "a worker crashed")?;
        if let Some(total) = tallies.get_mut(index) {
            total.kills += tally.kills;
            total.errors += tally.errors;
            total.fired += tally.fired;
            total.violations += tally.violations;
            for (kind, count) in &tally.kinds {
                *total.kinds.entry(kind.clone()).or_default() += count;
            }
            total.failure = tally.failure.clone().or(total.failure.take());
        }
        drop(tallies);
        // A sample comes back to a scenario while there is time.
        if shared.options.sample.is_some() && tally.failure.is_none() {
            shared
                .queue
                .lock()
                .map_err(|_| "a worker crashed")?
                .push_back((index, scenario));
        }
    }
}

fn is_over(shared: &Shared<'_>) -> bool {
    shared
        .options
        .sample
        .is_some_and(|length| shared.started.elapsed() >= length)
}

/// Makes a scenario's references and judges its points.
fn visit(
    lab: &Lab,
    scenario: &Scenario,
    shared: &Shared<'_>,
    random: &mut fastrand::Rng,
) -> Result<Tally, String> {
    let mut tally = Tally {
        name: scenario.name,
        ..Tally::default()
    };
    let mut reference = match prepare(lab, scenario) {
        Ok(reference) => reference,
        Err(failure) => {
            say(&format!(
                "✗ cargo xtask faults --scenario {}: not judged: {failure}",
                scenario.name
            ));
            tally.failure = Some(failure);
            return Ok(tally);
        }
    };
    let all = points(&reference, shared.options)?;
    let total = all.len();
    for point in chosen(all, shared.options, random) {
        if is_over(shared) {
            break;
        }
        let verdict = judge(lab, scenario, &mut reference, &point)?;
        match point.fault {
            Fault::Kill => tally.kills += 1,
            Fault::Error(_) => tally.errors += 1,
        }
        tally.fired += usize::from(verdict.fired);
        if !verdict.fired {
            say(&format!(
                "         {}: {} was not met",
                scenario.name,
                point.arguments()
            ));
        }
        tally.violations += usize::from(!verdict.violations.is_empty());
        for violation in &verdict.violations {
            let kind = violation.split(':').next().unwrap_or_default();
            *tally.kinds.entry(kind.to_owned()).or_default() += 1;
        }
        if !verdict.violations.is_empty() {
            let what = verdict.violations.join(" || ");
            say(&format!(
                "✗ cargo xtask faults --scenario {} {}: {what}",
                scenario.name,
                point.arguments()
            ));
        }
    }
    let judged = tally.kills + tally.errors;
    say(&format!(
        "{:>6} s  {}: {judged} of {total} points, {} fired, {} violations",
        shared.started.elapsed().as_secs(),
        scenario.name,
        tally.fired,
        tally.violations
    ));
    Ok(tally)
}

/// Returns the points of a scenario: every kill, and every error of the calls that can fail.
fn points(reference: &Reference, options: &Options) -> Result<Vec<Point>, String> {
    let numbered = || {
        reference
            .calls
            .iter()
            .enumerate()
            .map(|(index, call)| (index + 1, call))
    };
    let point = |fault: Fault, wanted: &Place| {
        let found = numbered().find(|(number, call)| match wanted {
            Place::Number(wanted) => number == wanted,
            Place::Call(name, nth) => call.name == *name && call.nth == *nth,
        });
        let missing = || {
            format!(
                "the write phase has {} calls, none of them {wanted:?}",
                reference.calls.len()
            )
        };
        found
            .map(|(_, call)| {
                vec![Point {
                    fault,
                    call: call.clone(),
                }]
            })
            .ok_or_else(missing)
    };
    if let Some(wanted) = &options.kill {
        return point(Fault::Kill, wanted);
    }
    if let Some((errno, wanted)) = &options.error {
        return point(Fault::Error(errno.clone()), wanted);
    }
    let kills = numbered().map(|(_, call)| Point {
        fault: Fault::Kill,
        call: call.clone(),
    });
    let failing = || numbered().filter(|(_, call)| call.can_fail);
    let errors = ERRORS.iter().flat_map(|errno| {
        failing().map(|(_, call)| Point {
            fault: Fault::Error((*errno).to_owned()),
            call: call.clone(),
        })
    });
    Ok(kills.chain(errors).collect())
}

/// Returns all points, or some at random in a sample: those after which the disk differs come first.
fn chosen(all: Vec<Point>, options: &Options, random: &mut fastrand::Rng) -> Vec<Point> {
    if options.sample.is_none() {
        return all;
    }
    let mut ranked: Vec<(bool, u64, Point)> = Vec::new();
    let mut after_change = true;
    for point in all {
        let same_disk = point.fault == Fault::Kill && !after_change;
        after_change = point.call.mutates;
        ranked.push((same_disk, random.u64(..), point));
    }
    ranked.sort_by_key(|(same_disk, rank, _)| (*same_disk, *rank));
    ranked
        .into_iter()
        .take(POINTS_PER_VISIT)
        .map(|(_, _, point)| point)
        .collect()
}

/// Prints the table.
fn report(tallies: &[Tally], started: Instant, options: &Options) -> Outcome {
    say(
        "\n| scenario | kills | errors | fired | violations | kinds |\n| --- | ---: | ---: | ---: | ---: | --- |",
    );
    let mut sum = Tally::default();
    let mut failures = 0;
    for tally in tallies
        .iter()
        .filter(|tally| tally.kills + tally.errors > 0 || tally.failure.is_some())
    {
        let violations = if tally.failure.is_some() {
            "not judged".to_owned()
        } else {
            tally.violations.to_string()
        };
        let kinds: Vec<String> = tally
            .kinds
            .iter()
            .map(|(kind, count)| format!("{kind} {count}"))
            .collect();
        let (name, kills, errors, fired) = (tally.name, tally.kills, tally.errors, tally.fired);
        say(&format!(
            "| {name} | {kills} | {errors} | {fired} | {violations} | {} |",
            kinds.join(", ")
        ));
        sum.kills += tally.kills;
        sum.errors += tally.errors;
        sum.fired += tally.fired;
        sum.violations += tally.violations;
        failures += usize::from(tally.failure.is_some());
    }
    let judged = tallies
        .iter()
        .filter(|tally| tally.kills + tally.errors > 0)
        .count();
    let (seconds, violations) = (started.elapsed().as_secs(), sum.violations);
    say(&format!(
        "| all | {} | {} | {} | {violations} | |",
        sum.kills, sum.errors, sum.fired
    ));
    say(&format!(
        "\nfaults: {judged} of {} scenarios, {} points in {seconds} s",
        tallies.len(),
        sum.kills + sum.errors
    ));
    if violations == 0 && failures == 0 {
        return Ok(());
    }
    let seed = options
        .sample
        .map(|_| format!(" (seed {})", options.seed))
        .unwrap_or_default();
    Err(format!(
        "the fault lane found {violations} violations, {failures} scenarios were not judged{seed}"
    ))
}
