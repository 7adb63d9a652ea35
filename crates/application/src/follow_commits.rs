//! Advance the TDD cycle by commits: red, green, refactor, then the next scenario.
//!
//! The step is read from the commit's subject (`test:`, `feat:` …); the diff itself is not
//! examined.

use domain::fact::Fact;
use domain::node::Progress;
use domain::operation::Verb;
use domain::ports::{HeadMove, HeadMoveKind, Transaction};
use domain::record;
use domain::work::tdd::{Advance, CycleCommit, Tdd, advance_cycle, expected_commit_subject};

use crate::context::Context;
use crate::evidence::find_blocking_proof;
use crate::failure::Failure;
use crate::locate::load_node;
use crate::session_position::{Ticket, load_position, tdd_record_key};

/// Follows this session's commits, oldest first; `lines` were uncommitted before them. Returns the
/// messages for the agent.
pub(crate) fn follow_commits(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    moves: &[HeadMove],
    lines: u64,
) -> Result<Vec<String>, Failure> {
    let mut told = Vec::new();
    let mut lines = lines;
    // Merges and checkouts move HEAD without being work of this session.
    for one in moves
        .iter()
        .filter(|one| one.kind.commits_work() && one.kind != HeadMoveKind::Merge)
    {
        let commit = CycleCommit {
            hash: &one.to,
            subject: &one.subject,
            amends: one
                .from
                .as_deref()
                .filter(|_| one.kind == HeadMoveKind::Amend),
            // Only the total before all of them is known; it counts for the first commit.
            lines: std::mem::take(&mut lines),
        };
        // A failing test for the next scenario closes this one, and then counts for the next: at
        // most two rounds.
        for _ in 0..2 {
            let again = follow_commit(ctx, tx, &commit, &mut told)?;
            if !again {
                break;
            }
        }
    }
    Ok(told)
}

/// Follows one commit; returns whether it has to be applied again, to the next scenario.
fn follow_commit(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    commit: &CycleCommit<'_>,
    told: &mut Vec<String>,
) -> Result<bool, Failure> {
    let place = load_position(ctx, &*tx)?;
    let Some(ticket) = &place.ticket else {
        return Ok(false);
    };
    if follow_amended_close(ctx, tx, ticket, commit)? {
        return Ok(false);
    }
    let Some(scenario) = &ticket.current else {
        return Ok(false);
    };
    let key = tdd_record_key(scenario.id);
    let before = record::read_record::<Tdd>(&*tx, &key)?;
    let tdd = before.clone().unwrap_or_default();
    // Two sessions on one scenario see the same commit; the first one recorded it.
    if tdd.last_hash.as_deref() == Some(commit.hash) {
        return Ok(false);
    }
    let (after, done, again) = match advance_cycle(&tdd, commit, &ctx.policy.commits) {
        Advance::None => return Ok(false),
        Advance::To(after) => (after, false, false),
        Advance::Done(after) => (after, true, false),
        Advance::DoneBefore => (tdd, true, true),
    };
    let node = load_node(&*tx, scenario.id)?;
    // A scenario without its proof stays open, but its cycle advances: the commit exists either
    // way.
    let done = done && find_blocking_proof(ctx, &*tx, &node)?.is_none();
    let state = if done {
        "done"
    } else {
        after.cycle.map_or("open", domain::work::tdd::Cycle::as_str)
    };
    let mut operation = ctx.new_operation(
        Verb::Commit,
        format!("{}: {} is {state}", commit.subject, scenario.alias),
    );
    operation.facts.extend(record::record_changed_fact(
        &key,
        before.as_ref(),
        Some(&after),
    ));
    if done {
        let after = Progress::Complete;
        operation.facts.push(Fact::ProgressChanged {
            node: node.id,
            before: node.progress,
            after,
        });
    }
    if operation.facts.is_empty() {
        return Ok(false);
    }
    tx.record_operation(operation)?;
    let most = ctx.policy.gates.loc_limit;
    if after.lines > most && !done {
        told.push(format!(
            "Throughline: {} has taken {} lines, more than {most}: split the scenario in test-definitions.md, or close what \
             is finished: tl ticket scenario done",
            scenario.alias, after.lines
        ));
    }
    told.extend(describe_progress(ctx, &*tx, &scenario.alias, state)?);
    Ok(again && done)
}

/// Describes the progress after a commit: the scenario's, the ticket's, and what comes next.
fn describe_progress(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    scenario: &str,
    state: &str,
) -> Result<Option<String>, Failure> {
    // Loaded again: closing a scenario moved the position to the next one.
    let now = load_position(ctx, tx)?;
    let Some(ticket) = &now.ticket else {
        return Ok(None);
    };
    let next = match &ticket.current {
        Some(current) => {
            let about = current
                .description
                .title
                .as_deref()
                .unwrap_or(&current.alias)
                .to_lowercase();
            let next = expected_commit_subject(ticket.tdd.cycle, &about, &ctx.policy.commits);
            format!("current: {}; expected next: {next}", current.alias)
        }
        None => format!(
            "every scenario is complete; next: tl ticket phase {} done",
            ticket.node.alias
        ),
    };
    Ok(Some(format!(
        "Throughline: {} is {state}. TDD progress: {}/{} scenarios; {next}.",
        scenario,
        ticket.count_completed(),
        ticket.scenarios.len()
    )))
}

/// If a commit amends the one that closed a scenario, records its new hash and returns `true`: it
/// was counted already.
fn follow_amended_close(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    ticket: &Ticket,
    commit: &CycleCommit<'_>,
) -> Result<bool, Failure> {
    // Only after an amend: looking through all complete scenarios costs a record each.
    if commit.amends.is_none() {
        return Ok(false);
    }
    for scenario in ticket
        .scenarios
        .iter()
        .filter(|one| one.progress == Progress::Complete)
    {
        let key = tdd_record_key(scenario.id);
        let Some(before) = record::read_record::<Tdd>(&*tx, &key)? else {
            continue;
        };
        if before.last_hash.as_deref() != commit.amends {
            continue;
        }
        let last_commit = Some(commit.subject.to_owned());
        let after = Tdd {
            last_commit,
            last_hash: Some(commit.hash.to_owned()),
            ..before.clone()
        };
        let summary = format!("{}: {} is done", commit.subject, scenario.alias);
        let mut operation = ctx.new_operation(Verb::Commit, summary);
        operation.facts.extend(record::record_changed_fact(
            &key,
            Some(&before),
            Some(&after),
        ));
        tx.record_operation(operation)?;
        return Ok(true);
    }
    Ok(false)
}
