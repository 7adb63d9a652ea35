//! Judgement of one fault: what a fresh process finds afterwards, compared with undisturbed runs of the same command.
//!
//! The references are made once per scenario: the project before the command, after it, and after it was run twice. A fault
//! must leave one of the first two, and the repeated command must end where an undisturbed one does.

use std::collections::BTreeMap;
use std::time::Duration;

use super::lab::{Lab, Run};
use super::scenarios::{Acknowledges, Repeats, Scenario};
use super::snapshot::{Snapshot, normalise};
use super::trace::{Call, Fault, Point, inject, record};

/// What fresh processes see of a project.
#[derive(Clone, Debug)]
struct Seen {
    snapshot: Snapshot,
    journal: Vec<String>,
    status: Run,
    /// How `tl check` ended, after the one step it asked for.
    check: Run,
    repaired: bool,
    panic: Option<String>,
}

/// Undisturbed runs of a scenario.
#[derive(Debug)]
pub(crate) struct Reference {
    /// Journal of the prepared project: what was acknowledged before the command.
    acknowledged: Vec<String>,
    before: Seen,
    after: Seen,
    twice: Seen,
    /// Looked at first and then done: an edit that nobody had noticed is noticed by the look.
    looked_then_done: Seen,
    run: Run,
    pub(crate) calls: Vec<Call>,
    /// Verdicts by what they follow from: the bytes on disk, and the command's answer.
    judged: BTreeMap<String, Vec<String>>,
}

/// What came of one fault.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) fired: bool,
    pub(crate) violations: Vec<String>,
}

/// The state a fault left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Before,
    After,
    Between,
}

/// Name of the saved project of the scenario at hand.
const PREPARED: &str = "prepared";

impl Seen {
    /// Reads the live project as the next commands would see it.
    fn look(lab: &Lab, scenario: &Scenario) -> Result<Self, String> {
        let status = lab.tl(&["status"])?;
        let tree = lab.tl(&["--json", "tree"])?;
        let journal = read_journal(lab);
        let view = match scenario.view {
            [] => String::new(),
            arguments => lab.tl(arguments)?.stdout,
        };
        let snapshot = Snapshot::take(lab, &[("tree", &tree.stdout), ("view", &view)], &journal);
        let mut check = lab.tl(&["check"])?;
        let mut repaired = false;
        let mut panic = [&status, &tree, &check]
            .into_iter()
            .find(|run| run.panicked())
            .map(Run::first_line);
        if check.code == Some(3) && check.stdout.contains("tl state repair") {
            let repair = lab.tl(&["state", "repair"])?;
            panic = panic.or_else(|| repair.panicked().then(|| repair.first_line()));
            check = lab.tl(&["check"])?;
            repaired = true;
        }
        Ok(Self {
            snapshot,
            journal: journal.lines().map(str::to_owned).collect(),
            status,
            check,
            repaired,
            panic,
        })
    }

    fn holds(&self, acknowledged: &[String]) -> bool {
        self.journal.starts_with(acknowledged)
    }
}

/// Makes the scenario's project and its references.
pub(crate) fn prepare(lab: &Lab, scenario: &Scenario) -> Result<Reference, String> {
    let base = scenario.base.name;
    if lab.has(base) {
        lab.load(base)?;
    } else {
        lab.reset()?;
        lab.script(scenario.base.script)?;
        lab.save(base)?;
    }
    lab.script(scenario.setup)?;
    // A file that was only just written is read again by the next look: the calls of all runs are the same once it is older.
    std::thread::sleep(Duration::from_millis(250));
    lab.save(PREPARED)?;
    let acknowledged: Vec<String> = read_journal(lab).lines().map(str::to_owned).collect();
    let before = Seen::look(lab, scenario)?;
    lab.run_plain(&scenario.call())?;
    let looked_then_done = Seen::look(lab, scenario)?;
    let (run, after) = undisturbed(lab, scenario)?;
    if run.code != Some(0) {
        return Err(format!(
            "the undisturbed command ended with {}: {}{}",
            run.ending(),
            run.stdout,
            run.stderr
        ));
    }
    if after.snapshot == before.snapshot && !scenario.is_read_only {
        return Err("the undisturbed command changed nothing".to_owned());
    }
    lab.run_plain(&scenario.call())?;
    let twice = Seen::look(lab, scenario)?;
    let (_, again) = undisturbed(lab, scenario)?;
    if again.snapshot != after.snapshot {
        let difference = again.snapshot.difference(&after.snapshot);
        return Err(format!(
            "two undisturbed runs differ, so nothing can be judged: {difference}"
        ));
    }
    lab.load(PREPARED)?;
    let calls = record(lab, &scenario.call())?;
    Ok(Reference {
        acknowledged,
        before,
        after,
        twice,
        looked_then_done,
        run,
        calls,
        judged: BTreeMap::new(),
    })
}

fn undisturbed(lab: &Lab, scenario: &Scenario) -> Result<(Run, Seen), String> {
    lab.load(PREPARED)?;
    let run = lab.run_plain(&scenario.call())?;
    Ok((run, Seen::look(lab, scenario)?))
}

/// Runs the scenario's command with a fault and judges what it left. Half of all kills leave the same bytes as the one before:
/// they are judged once.
pub(crate) fn judge(
    lab: &Lab,
    scenario: &Scenario,
    reference: &mut Reference,
    point: &Point,
) -> Result<Verdict, String> {
    lab.load(PREPARED)?;
    let (run, fired) = inject(lab, &scenario.call(), point)?;
    if !fired && point.fault != Fault::Kill {
        return Ok(Verdict {
            fired,
            violations: Vec::new(),
        });
    }
    let answer = normalise(&format!("{} {} {}", run.ending(), run.stdout, run.stderr));
    let key = format!(
        "{} {} {} {answer}",
        lab.digest(),
        point.fault == Fault::Kill,
        is_sync(point)
    );
    let violations = match reference.judged.get(&key) {
        Some(known) => known.clone(),
        None => judge_left(lab, scenario, reference, point, &run)?,
    };
    reference.judged.insert(key, violations.clone());
    Ok(Verdict { fired, violations })
}

/// Judges what a run with a fault left.
fn judge_left(
    lab: &Lab,
    scenario: &Scenario,
    reference: &Reference,
    point: &Point,
    run: &Run,
) -> Result<Vec<String>, String> {
    let seen = Seen::look(lab, scenario)?;
    let mut violations = Vec::new();
    let mut violation = |kind: &str, what: String| violations.push(format!("{kind}: {what}"));

    if run.timed_out {
        violation("hang", format!("the command: {}", run.ending()));
    }
    let panic = run
        .panicked()
        .then(|| run.first_line())
        .or_else(|| seen.panic.clone());
    if let Some(panic) = panic {
        violation("panic", panic);
    }
    for problem in usable(&seen, reference) {
        violation("stays broken", problem);
    }
    let left = match () {
        () if seen.snapshot == reference.before.snapshot => Left::Before,
        () if seen.snapshot == reference.after.snapshot => Left::After,
        () => Left::Between,
    };
    if let Some(problem) = lost(&seen, reference, left) {
        violation("lost", problem);
    }
    if left == Left::Between && scenario.repeats == Repeats::Whole {
        let (before, after) = (
            seen.snapshot.difference(&reference.before.snapshot),
            seen.snapshot.difference(&reference.after.snapshot),
        );
        violation(
            "half state",
            format!("against before: {before} | against after: {after}"),
        );
    }
    if let Some(problem) = answered(run, reference, left, scenario, point) {
        violation("false answer", problem);
    }
    if violations.is_empty() && scenario.repeats != Repeats::Never {
        violations.extend(
            repeat(lab, scenario, reference, left)?.map(|problem| format!("repeated: {problem}")),
        );
    }
    Ok(violations)
}

/// Returns what is missing of the history before the command, byte by byte. Commands that replace the state may end with
/// another one, but only with that of the undisturbed run.
fn lost(seen: &Seen, reference: &Reference, left: Left) -> Option<String> {
    let log = |seen: &Seen| normalise(&seen.journal.join("\n"));
    let replaces = !reference.after.holds(&reference.acknowledged);
    let is_replaced = replaces && (left == Left::After || log(seen) == log(&reference.after));
    let (had, has) = (reference.acknowledged.len(), seen.journal.len());
    (!seen.holds(&reference.acknowledged) && !is_replaced).then(|| {
        format!(
            "{had} lines in the journal before, {has} now, and the first {had} are not the same"
        )
    })
}

fn read_journal(lab: &Lab) -> String {
    let bytes = std::fs::read(lab.work().join(".throughline/journal.jsonl")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns what does not work any more: a command works when it works before or after the undisturbed command.
fn usable(seen: &Seen, reference: &Reference) -> Vec<String> {
    let (before, after) = (&reference.before, &reference.after);
    let mut problems = Vec::new();
    if seen.status.code != before.status.code && seen.status.code != after.status.code {
        problems.push(format!(
            "`tl status` {}: {}",
            seen.status.ending(),
            seen.status.first_line()
        ));
    }
    if seen.check.code != before.check.code && seen.check.code != after.check.code {
        let repaired = if seen.repaired {
            " after `tl state repair`"
        } else {
            ""
        };
        problems.push(format!(
            "`tl check`{repaired} {}: {}",
            seen.check.ending(),
            seen.check.first_line()
        ));
    }
    problems
}

/// Returns what is wrong with the command's own answer, given what it left.
fn answered(
    run: &Run,
    reference: &Reference,
    left: Left,
    scenario: &Scenario,
    point: &Point,
) -> Option<String> {
    let printed = normalise(&run.stdout);
    let is_printed = !printed.is_empty() && printed == normalise(&reference.run.stdout);
    let acknowledged = match scenario.acknowledges {
        Acknowledges::ByExitCode => run.code == reference.run.code || is_printed,
        Acknowledges::ByOutput => is_printed,
        Acknowledges::Never => false,
    };
    let by_exit_code = scenario.acknowledges == Acknowledges::ByExitCode;
    let said = || format!("{}, `{}`", run.ending(), run.first_line());
    // What the next command does too, such as noticing an edit, is done whatever the answer was.
    if reference.before.snapshot == reference.after.snapshot {
        return None;
    }
    match (acknowledged, left, &point.fault) {
        // Done with a warning that names what is behind is an honest answer; that it stays behind is a half state.
        (true, Left::Between, _)
            if scenario.repeats != Repeats::Whole || run.stderr.contains("warning:") =>
        {
            None
        }
        (true, Left::Before | Left::Between, _) => Some(format!(
            "it reported success and did not do it ({})",
            said()
        )),
        // What could not be synced is there until the power fails: neither answer would be wrong.
        (false, Left::After, Fault::Error(_)) if is_sync(point) => None,
        // Of several steps one failed: repeating shows whether that was said rightly.
        (false, Left::After, Fault::Error(_)) if scenario.repeats != Repeats::Whole => None,
        (false, Left::After, Fault::Error(_)) if by_exit_code && !says_what_was_recorded(run) => {
            Some(format!("it reported a failure and did it ({})", said()))
        }
        _ => None,
    }
}

fn is_sync(point: &Point) -> bool {
    point.call.name.ends_with("sync")
}

/// A failure after the commit is honest when the message says that the operation counts.
fn says_what_was_recorded(run: &Run) -> bool {
    ["recorded", "is done", "was done", "is kept", "next command"]
        .iter()
        .any(|word| run.stderr.contains(word))
}

/// Repeats the command; returns what is wrong with where that ends.
fn repeat(
    lab: &Lab,
    scenario: &Scenario,
    reference: &Reference,
    left: Left,
) -> Result<Option<String>, String> {
    let run = lab.run_plain(&scenario.call())?;
    if run.panicked() || run.timed_out {
        return Ok(Some(format!("{}: {}", run.ending(), run.first_line())));
    }
    let seen = Seen::look(lab, scenario)?;
    if let Some(problem) = usable(&seen, reference).pop() {
        return Ok(Some(problem));
    }
    let is_done = seen.snapshot == reference.after.snapshot;
    let is_done_twice = seen.snapshot == reference.twice.snapshot;
    let fits = match left {
        Left::Before => is_done || seen.snapshot == reference.looked_then_done.snapshot,
        Left::Between => is_done,
        // What was done may be done again, where an undisturbed second run does it again; or be refused as done.
        Left::After => is_done || is_done_twice,
    };
    let state = match left {
        Left::Before => "not done",
        Left::After => "done",
        Left::Between => "half done",
    };
    let problem = || {
        // The nearer of the right ends: what was done may be done twice.
        let wanted = match left {
            Left::After => &reference.twice.snapshot,
            Left::Before | Left::Between => &reference.after.snapshot,
        };
        let difference = seen.snapshot.difference(wanted);
        format!(
            "the fault left it {state}; repeating it ({}, `{}`) ends elsewhere: {difference}",
            run.ending(),
            run.first_line()
        )
    };
    Ok((!fits).then(problem))
}
