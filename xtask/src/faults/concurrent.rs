//! Many processes at once: ids that are allocated by several, and commands that are killed while others work.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::lab::Lab;
use crate::{Outcome, say};

const PROCESSES: usize = 8;
const TICKETS_PER_PROCESS: usize = 100;
const COMMENTS_PER_PROCESS: usize = 60;
/// One command in this many is killed.
const ONE_KILLED_IN: usize = 6;

/// Runs both and fails when either does.
pub(crate) fn run(tl: &Path, folder: &Path, seed: u64) -> Outcome {
    let lab = Lab::create(tl, folder.join("concurrent"))?;
    let problems: Vec<String> = [create_tickets(&lab), kill_at_random(&lab, seed)]
        .into_iter()
        .filter_map(Result::err)
        .collect();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("\n"))
    }
}

/// Eight processes make a hundred tickets each: as many ids as acknowledged tickets, all of them in the tree.
fn create_tickets(lab: &Lab) -> Outcome {
    lab.reset()?;
    lab.script("tl init --profile tickets")?;
    let acknowledged = Mutex::new(0_usize);
    let failed = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            let (acknowledged, failed) = (&acknowledged, &failed);
            scope.spawn(move || {
                for ticket in 0..TICKETS_PER_PROCESS {
                    let title = format!("Ticket {process} {ticket}");
                    let output = lab.command(&["ticket", "new", &title]).output();
                    match output {
                        Ok(output) if output.status.success() => add_one(acknowledged),
                        Ok(output) => note(
                            failed,
                            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
                        ),
                        Err(error) => note(failed, error.to_string()),
                    }
                }
            });
        }
    });
    let acknowledged = acknowledged.into_inner().map_err(|_| "a thread crashed")?;
    let failed = failed.into_inner().map_err(|_| "a thread crashed")?;
    let tree = lab.tl(&["--json", "tree"])?;
    let value: serde_json::Value = serde_json::from_str(&tree.stdout)
        .map_err(|error| format!("`tl tree` is not JSON: {error}"))?;
    let shown = value.as_array().map_or(0, Vec::len);
    let folders = std::fs::read_dir(lab.work().join("tickets"))
        .into_iter()
        .flatten()
        .flatten();
    let ids: BTreeSet<String> = folders
        .filter_map(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .split('-')
                .next()
                .map(str::to_owned)
        })
        .collect();
    let check = lab.tl(&["check"])?;
    say(&format!(
        "{PROCESSES} processes × {TICKETS_PER_PROCESS} `tl ticket new`: {acknowledged} acknowledged, {} ids, {shown} in the tree, check {}",
        ids.len(),
        check.ending()
    ));
    let all = PROCESSES * TICKETS_PER_PROCESS;
    if acknowledged == all && ids.len() == all && shown == all && check.code == Some(0) {
        return Ok(());
    }
    let failure = failed
        .first()
        .map(|failure| format!("; one failed: {failure}"))
        .unwrap_or_default();
    Err(format!(
        "{all} tickets were to be made: {acknowledged} acknowledged, {} ids, {shown} in the tree{failure}",
        ids.len()
    ))
}

/// Eight processes comment at once, and some of them are killed: what was acknowledged is there once, the rest at most once.
fn kill_at_random(lab: &Lab, seed: u64) -> Outcome {
    lab.reset()?;
    lab.script(super::scenarios::STORY.script)?;
    let usual = Instant::now();
    lab.tl(&["comment", "act-1", "-m", "timed"])?;
    let usual = usual.elapsed();
    let acknowledged = Mutex::new(BTreeSet::new());
    let failed = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            let (acknowledged, failed) = (&acknowledged, &failed);
            let mut random = fastrand::Rng::with_seed(seed.wrapping_add(process as u64));
            scope.spawn(move || {
                for comment in 0..COMMENTS_PER_PROCESS {
                    let text = format!("comment-{process}-{comment}.");
                    let Ok(mut child) = lab.command(&["comment", "act-1", "-m", &text]).spawn()
                    else {
                        continue;
                    };
                    let is_killed = random.usize(..ONE_KILLED_IN) == 0;
                    if is_killed {
                        // Under load a command takes several times as long as alone.
                        let longest = u64::try_from(usual.as_micros())
                            .unwrap_or(u64::MAX)
                            .saturating_mul(6)
                            .max(1);
                        std::thread::sleep(Duration::from_micros(random.u64(..longest)));
                        let _ = child.kill();
                    }
                    match child.wait_with_output() {
                        Ok(output) if output.status.success() => note(acknowledged, text),
                        Ok(output) if !is_killed => {
                            note(
                                failed,
                                String::from_utf8_lossy(&output.stderr).trim().to_owned(),
                            );
                        }
                        _ => {}
                    }
                }
            });
        }
    });
    let acknowledged = acknowledged.into_inner().map_err(|_| "a thread crashed")?;
    let failed = failed.into_inner().map_err(|_| "a thread crashed")?;
    let status = lab.tl(&["status"])?;
    lab.tl(&["state", "repair"])?;
    let check = lab.tl(&["check"])?;
    let journal =
        std::fs::read_to_string(lab.work().join(".throughline/journal.jsonl")).unwrap_or_default();
    // A comment is in its operation twice: in the summary and as the record's text.
    let recorded = |text: &String| {
        journal
            .lines()
            .filter(|line| line.contains(text.as_str()))
            .count()
    };
    let lost = acknowledged
        .iter()
        .filter(|text| recorded(text) == 0)
        .count();
    let mut doubled = 0;
    for process in 0..PROCESSES {
        for comment in 0..COMMENTS_PER_PROCESS {
            doubled += usize::from(recorded(&format!("comment-{process}-{comment}.")) > 1);
        }
    }
    let all = PROCESSES * COMMENTS_PER_PROCESS;
    say(&format!(
        "{all} comments of {PROCESSES} processes, one in {ONE_KILLED_IN} killed (seed {seed}): {} acknowledged, {lost} lost, {doubled} doubled, \
         status {}, check {}",
        acknowledged.len(),
        status.ending(),
        check.ending()
    ));
    if lost == 0
        && doubled == 0
        && failed.is_empty()
        && status.code == Some(0)
        && check.code == Some(0)
    {
        return Ok(());
    }
    let failure = failed
        .first()
        .map(|failure| format!("; one failed: {failure}"))
        .unwrap_or_default();
    Err(format!(
        "concurrent comments: {lost} lost, {doubled} doubled, check {}{failure}",
        check.ending()
    ))
}

fn add_one(count: &Mutex<usize>) {
    if let Ok(mut count) = count.lock() {
        *count += 1;
    }
}

fn note(list: &Mutex<BTreeSet<String>>, text: String) {
    if let Ok(mut list) = list.lock() {
        list.insert(text);
    }
}
