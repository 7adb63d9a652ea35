//! Record the TDD cycles that the history of HEAD has, after HEAD moved.
//!
//! The cycles are derived (`ticket_cycles.rs`); this records what differs from the records, with
//! the progress of scenarios that commits completed, or whose completing commits are gone, and
//! tells the agent.

use domain::fact::Fact;
use domain::node::{Node, Progress};
use domain::operation::Verb;
use domain::policy::GateMode;
use domain::ports::{NewOperation, Snapshot, Transaction};
use domain::record;
use domain::work::history::EmptyStep;
use domain::work::tdd::{Cycle, Tdd, expected_commit_subject};

use crate::completion::follow_progress;
use crate::context::Context;
use crate::failure::Failure;
use crate::session_position::{
    Ticket, find_session_ticket, load_below_ticket, load_position, tdd_record_key,
};
use crate::ticket_cycles::{CycleNote, load_cycles};

/// Brings the records of the session's ticket up to HEAD; `lines` were uncommitted before the
/// newest commit. Returns the messages for the agent.
pub(crate) fn follow_commits(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    lines: u64,
) -> Result<Vec<String>, Failure> {
    let Some(ticket) = find_session_ticket(ctx, &*tx)? else {
        return Ok(Vec::new());
    };
    let Some(derived) = derive_commit_changes(ctx, &*tx, &ticket, lines)? else {
        return Ok(Vec::new());
    };
    let CommitChanges {
        operation,
        note,
        changed,
        empty_step,
    } = derived;
    if let Some(operation) = operation {
        tx.record_operation(operation)?;
    }
    if let Some(note) = note {
        note.save(ctx, tx, ticket.id)?;
    }
    let mut told = Vec::new();
    // The note is saved, so this is said once for each commit.
    if let Some(step) = empty_step {
        let changes = match step.changes_plans {
            true => "only plans",
            false => "no file",
        };
        told.push(format!(
            "Throughline: `{}` changes {changes}, so it is no step of a scenario.",
            step.subject
        ));
    }
    if !changed.is_empty() {
        told.extend(describe_progress(ctx, &*tx, &changed)?);
    }
    Ok(told)
}

/// What the history of HEAD changes in the records of a ticket.
pub(crate) struct CommitChanges {
    /// Records and progress; `None` if they are as recorded.
    pub(crate) operation: Option<NewOperation>,
    /// The note to save; `None` if a commit of another clone is not here yet.
    note: Option<CycleNote>,
    /// The scenarios about which there is news.
    changed: Vec<(Node, Tdd, Progress)>,
    /// The newest commit, if it names a step and changes nothing that a step could be.
    empty_step: Option<EmptyStep>,
}

/// Derives what the history of HEAD changes in the records of a ticket; `None` if HEAD is where they
/// were made.
pub(crate) fn derive_commit_changes(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    ticket: &Node,
    lines: u64,
) -> Result<Option<CommitChanges>, Failure> {
    let (nodes, _) = load_below_ticket(ctx, state, ticket)?;
    let cycles = load_cycles(ctx, state, ticket.id, &nodes, lines)?;
    if cycles.note.is_none() {
        return Ok(None);
    }
    let mut facts = Vec::new();
    let mut is_complete = true;
    let mut changed: Vec<(Node, Tdd, Progress)> = Vec::new();
    for node in nodes {
        let before = cycles.recorded.get(&node.id);
        let after = cycles.by_scenario.get(&node.id);
        let fact = record::record_changed_fact(&tdd_record_key(node.id), before, after);
        let progress = cycles.progress_of(&node);
        // That a scenario without a commit was completed is in its progress already.
        let is_only_decided = before.is_none()
            && after.is_some_and(|after| after.cycle.is_none() && after.last_commit.is_none());
        if (fact.is_none() || is_only_decided) && progress == node.progress {
            continue;
        }
        if before.is_some_and(|before| before.closed)
            && !after.is_some_and(|after| after.closed)
            && !was_here(ctx, before)?
        {
            // The note is not saved then: the records stay as they are, and the next event compares
            // again.
            is_complete = false;
            continue;
        }
        facts.extend(fact);
        if progress != node.progress {
            facts.push(Fact::ProgressChanged {
                node: node.id,
                before: node.progress,
                after: progress,
            });
        }
        let after = after.cloned().unwrap_or_default();
        // A decision that is only now noted is nobody's news.
        if before.is_none_or(|before| is_news(before, &after)) || progress != node.progress {
            changed.push((node, after, progress));
        }
    }
    // In the same operation: the last scenario of a ticket completes what rolls up with it.
    follow_progress(ctx, state, &mut facts)?;
    let operation = (!facts.is_empty()).then(|| NewOperation {
        facts,
        ..ctx.new_operation(Verb::Commit, describe_operation(&changed))
    });
    Ok(Some(CommitChanges {
        operation,
        note: cycles.note.filter(|_| is_complete),
        changed,
        empty_step: cycles.empty_step,
    }))
}

/// Whether HEAD of this working copy was ever at the last commit of a cycle. On a shared store the
/// commits that completed a scenario may be in another clone, and not being here is no loss.
fn was_here(ctx: &Context<'_>, tdd: Option<&Tdd>) -> Result<bool, Failure> {
    match tdd.and_then(|tdd| tdd.last_hash.as_deref()) {
        Some(hash) => Ok(ctx.git.head_moves_since(hash)?.is_some()),
        None => Ok(true),
    }
}

/// Whether the cycle itself changed, and not just the ids of rebased commits. A cycle that commits
/// have closed takes no further commit: another subject is that of an amended one.
fn is_news(before: &Tdd, after: &Tdd) -> bool {
    let is_amended = before.closed && after.closed;
    (before.cycle, before.closed) != (after.cycle, after.closed)
        || !is_amended && before.last_commit != after.last_commit
}

/// Describes the state of a scenario in one word.
fn state_word(tdd: &Tdd, progress: Progress) -> &'static str {
    match (progress, tdd.cycle) {
        (Progress::Complete, _) => "done",
        (_, Some(cycle)) => cycle.as_str(),
        (_, None) => "open",
    }
}

/// Describes what changed, for the log: `test: a: loc-tracking is red`.
fn describe_operation(changed: &[(Node, Tdd, Progress)]) -> String {
    let states: Vec<String> = changed
        .iter()
        .map(|(node, tdd, progress)| format!("{} is {}", node.alias, state_word(tdd, *progress)))
        .collect();
    let commit = changed
        .iter()
        .rev()
        .find_map(|(_, tdd, _)| tdd.last_commit.as_deref());
    match (commit, states.is_empty()) {
        (_, true) => "history of HEAD".to_owned(),
        (Some(commit), _) => format!("{commit}: {}", states.join(", ")),
        (None, _) => format!("history of HEAD: {}", states.join(", ")),
    }
}

/// Describes the progress after commits: of the scenarios that changed, of the ticket, and what
/// comes next.
fn describe_progress(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    changed: &[(Node, Tdd, Progress)],
) -> Result<Vec<String>, Failure> {
    // Loaded again: closing a scenario moved the position to the next one.
    let Some(ticket) = load_position(ctx, tx)?.ticket else {
        return Ok(Vec::new());
    };
    let mut told = Vec::new();
    let most = ctx.policy.gates.loc_limit;
    for (node, tdd, progress) in changed {
        if tdd.lines > most && *progress != Progress::Complete {
            told.push(format!(
                "Throughline: {} has taken {} lines, more than {most}: split the scenario in test-definitions.md, or close what \
                 is finished: tl ticket scenario done",
                node.alias, tdd.lines
            ));
        }
    }
    for (node, tdd, _) in changed {
        if ctx.policy.gates.test_first != GateMode::Off
            && let Some(subject) = &tdd.untested
            // Once, with the commit itself.
            && tdd.last_commit.as_ref() == Some(subject)
        {
            told.push(format!(
                "Throughline: {} was implemented by `{subject}` before any failing test was committed. Show that its \
                 test fails without the change: tl evidence propose {}",
                node.alias, node.alias
            ));
        }
    }
    let states: Vec<String> = changed
        .iter()
        .map(|(node, tdd, progress)| format!("{} is {}", node.alias, state_word(tdd, *progress)))
        .collect();
    told.push(format!(
        "Throughline: {}. TDD progress: {}/{} scenarios; {}.",
        states.join(", "),
        ticket.count_completed(),
        ticket.scenarios.len(),
        describe_next(ctx, &ticket)
    ));
    Ok(told)
}

/// Describes the scenario in progress and the commit that is expected next.
fn describe_next(ctx: &Context<'_>, ticket: &Ticket) -> String {
    let Some(current) = &ticket.current else {
        return format!(
            "every scenario is complete; next: tl ticket phase {} done",
            ticket.node.alias
        );
    };
    let title = current.description.title.as_deref();
    let about = title.unwrap_or(&current.alias).to_lowercase();
    let cycle: Option<Cycle> = ticket.tdd.cycle;
    let next = expected_commit_subject(cycle, &about, &ctx.policy.commits);
    format!("current: {}; expected next: {next}", current.alias)
}
