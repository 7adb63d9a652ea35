//! TDD cycles of a ticket's scenarios as the history of HEAD has them.
//!
//! Records hold the cycles of the commit that was HEAD when they were recorded. While HEAD is still
//! there they are read as they are; otherwise the history is read, which costs a `git` process, and
//! folded (`domain::work::history`). Reading records nothing: `follow_commits.rs` does.

use std::collections::{BTreeMap, BTreeSet};

use domain::fact::Fact;
use domain::ids::NodeId;
use domain::node::{Node, Progress};
use domain::policy::GateMode;
use domain::ports::{CommitHistory, HistoryCommit, Snapshot, Transaction};
use domain::record;
use domain::time::Timestamp;
use domain::work::focus::Focus;
use domain::work::history::{
    CycleInputs, EmptyStep, HistoryMark, ScenarioInput, WorkSpan, find_base, find_empty_step,
    fold_cycles, list_work_spans,
};
use domain::work::tdd::{ScenarioDecision, Tdd};
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::evidence::lacks_proof;
use crate::failure::Failure;
use crate::removed_scenarios::{is_item, scenario_file};
use crate::scan::load_unseen_history;
use crate::session_position::{head_commit, tdd_record_key};
use crate::uncommitted::load_authors;

/// The cycles of a ticket's scenarios.
#[derive(Clone, Debug, Default)]
pub(crate) struct TicketCycles {
    /// By scenario; one without a commit has no entry.
    pub(crate) by_scenario: BTreeMap<NodeId, Tdd>,
    /// As recorded, where HEAD has moved since.
    pub(crate) recorded: BTreeMap<NodeId, Tdd>,
    /// The note to save with them; `None` if the records are up to date.
    pub(crate) note: Option<CycleNote>,
    /// The newest commit, if it names a step and changes nothing that a step could be.
    pub(crate) empty_step: Option<EmptyStep>,
}

/// Where the recorded cycles of a ticket were derived. A note: if it is lost, they are derived
/// again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CycleNote {
    pub(crate) head: Option<String>,
    /// Lines that were uncommitted before a commit, by its change key. Git's own numbers would
    /// include generated files, and cost a diff for every commit.
    pub(crate) lines: BTreeMap<String, u64>,
}

/// Maximum number of commits whose lines are remembered per ticket.
const MAX_COUNTED_COMMITS: usize = 400;

impl CycleNote {
    fn note_key(ticket: NodeId) -> String {
        format!("work/cycles/{}", ticket.0)
    }

    fn load(state: &dyn Snapshot, ticket: NodeId) -> Result<Self, Failure> {
        let note = state.load_note(&Self::note_key(ticket))?;
        Ok(note
            .and_then(|body| serde_json::from_str(&body).ok())
            .unwrap_or_default())
    }

    /// Saves the note.
    pub(crate) fn save(
        &self,
        ctx: &Context<'_>,
        tx: &mut dyn Transaction,
        ticket: NodeId,
    ) -> Result<(), Failure> {
        let body = serde_json::to_string(self).unwrap_or_default();
        Ok(tx.save_note(&Self::note_key(ticket), Some(&body), ctx.clock.now())?)
    }

    /// Attributes lines to the newest commit, if it is not known yet. An amended commit keeps the
    /// lines it had.
    fn count_lines(&mut self, history: &CommitHistory, lines: u64) {
        let Some(newest) = history.commits.last() else {
            return;
        };
        let key = newest.change_key();
        let known = history
            .commits
            .iter()
            .map(domain::ports::HistoryCommit::change_key)
            .collect::<BTreeSet<_>>();
        // An amended commit has the author time of the one it replaces, under another subject.
        let author = format!("{} {} ", newest.authored_at, newest.author);
        let amended = self
            .lines
            .keys()
            .find(|other| other.starts_with(&author) && !known.contains(*other))
            .cloned();
        let before = amended.and_then(|other| self.lines.remove(&other));
        let count = self.lines.entry(key).or_default();
        *count = count
            .saturating_add(lines)
            .saturating_add(before.unwrap_or(0));
        // The keys begin with the author time, so the first ones are the oldest.
        while self.lines.len() > MAX_COUNTED_COMMITS {
            self.lines.pop_first();
        }
    }
}

/// Whether the cycles of a ticket were recorded at this commit, or there is none.
pub(crate) fn is_recorded_at(
    state: &dyn Snapshot,
    ticket: NodeId,
    head: Option<&str>,
) -> Result<bool, Failure> {
    Ok(head.is_none() || CycleNote::load(state, ticket)?.head.as_deref() == head)
}

/// Loads the cycles of a ticket's scenarios; `lines` were uncommitted before the newest commit.
pub(crate) fn load_cycles(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    ticket: NodeId,
    scenarios: &[Node],
    lines: u64,
) -> Result<TicketCycles, Failure> {
    let mut recorded = BTreeMap::new();
    for scenario in scenarios {
        if let Some(tdd) = record::read_record::<Tdd>(state, &tdd_record_key(scenario.id))? {
            recorded.insert(scenario.id, tdd);
        }
    }
    let as_recorded = |recorded: BTreeMap<NodeId, Tdd>| TicketCycles {
        by_scenario: recorded,
        ..TicketCycles::default()
    };
    // Without scenarios there is nothing to fold, and no reason to start git.
    let Some(head) = head_commit(ctx).filter(|_| !scenarios.is_empty()) else {
        return Ok(as_recorded(recorded));
    };
    let mut note = CycleNote::load(state, ticket)?;
    if note.head.as_ref() == Some(&head) {
        return Ok(as_recorded(recorded));
    }
    let work = load_work(state, ticket, scenarios)?;
    let Some(base) = find_base(&work.spans) else {
        return Ok(as_recorded(recorded));
    };
    // A history that cannot be read changes nothing: a hook must not fail for it.
    let Ok(Some(history)) = ctx.git.commits_since(base.head.as_deref()) else {
        return Ok(as_recorded(recorded));
    };
    note.count_lines(&history, lines);
    // A decision since the records was made somewhere after that HEAD; it is placed at the earliest
    // point, so that later commits count after it.
    let made = HistoryMark {
        head: note.head.take().or_else(|| base.head.clone()),
        at: ctx.clock.now(),
    };
    let inputs = gather_scenarios(ctx, state, scenarios, &recorded, &made)?;
    let cycles = fold_cycles(&CycleInputs {
        scenarios: &inputs,
        spans: &work.spans,
        history: &history,
        sessions: &load_authors(ctx, state).commits,
        has_own_focus: &work.sessions,
        lines: &note.lines,
        prefixes: &ctx.policy.commits,
        profiles: ctx.profiles,
        requires_test: is_test_required(ctx),
    });
    note.head = Some(head);
    let by_scenario = scenarios.iter().map(|scenario| scenario.id).zip(cycles);
    Ok(TicketCycles {
        by_scenario: by_scenario
            // An empty cycle is kept where one was recorded: it says that the commits are gone from
            // this history.
            .filter(|(id, tdd)| *tdd != Tdd::default() || recorded.contains_key(id))
            .collect(),
        recorded,
        note: Some(note),
        empty_step: find_empty_step(&history, &ctx.policy.commits, ctx.profiles),
    })
}

/// Whether only what a failing test preceded can be complete.
pub(crate) fn is_test_required(ctx: &Context<'_>) -> bool {
    ctx.policy.gates.test_first == GateMode::Block
}

/// The work on a ticket: when which session was at it.
struct TicketWork {
    spans: Vec<WorkSpan>,
    /// Sessions with a focus of their own.
    sessions: BTreeSet<String>,
}

fn load_work(
    state: &dyn Snapshot,
    ticket: NodeId,
    scenarios: &[Node],
) -> Result<TicketWork, Failure> {
    let ids: Vec<NodeId> = scenarios.iter().map(|scenario| scenario.id).collect();
    let mut work = TicketWork {
        spans: Vec::new(),
        sessions: BTreeSet::new(),
    };
    for (session, focus) in record::read_records::<Focus>(state, "")? {
        work.spans
            .extend(list_work_spans(&session, &focus, ticket, &ids));
        work.sessions.insert(session);
    }
    Ok(work)
}

/// Adds when the scenarios were written that these observed facts add to tickets which are worked on
/// already: earlier commits are none of their steps.
pub(crate) fn mark_added_scenarios(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    let mut marks = Vec::new();
    for fact in facts.iter() {
        let Fact::NodeAdded { node } = fact else {
            continue;
        };
        let ticket = node.parent.filter(|_| is_item(ctx, node));
        // One that is added with its scenarios is nobody's work yet.
        let Some(ticket) = ticket.map(|id| state.load_node(id)).transpose()?.flatten() else {
            continue;
        };
        let key = tdd_record_key(node.id);
        let is_worked_on = || load_work(state, ticket.id, &[]).map(|work| !work.spans.is_empty());
        // A scenario that is back has the commits it had.
        if record::read_record::<Tdd>(state, &key)?.is_none()
            && is_worked_on()?
            && let Some(since) = find_written_mark(ctx, state, &ticket)?
        {
            let tdd = Tdd {
                since: Some(since),
                ..Tdd::default()
            };
            marks.extend(record::record_changed_fact(&key, None, Some(&tdd)));
        }
    }
    facts.append(&mut marks);
    Ok(())
}

/// Returns the commit after which scenarios were written that the last scan did not see: the one before the
/// first that changes their file, or HEAD if none does.
fn find_written_mark(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    ticket: &Node,
) -> Result<Option<HistoryMark>, Failure> {
    let Some(head) = head_commit(ctx) else {
        return Ok(None);
    };
    let now = HistoryMark {
        head: Some(head),
        at: ctx.clock.now(),
    };
    let file = scenario_file(ctx, ticket);
    let Some((seen, history)) = load_unseen_history(ctx, state)? else {
        return Ok(Some(now));
    };
    let commits = &history.commits;
    let is_in = |commit: &HistoryCommit| {
        file.as_ref()
            .is_some_and(|file| commit.changed_files.contains(file))
    };
    let Some(at) = commits.iter().position(is_in) else {
        return Ok(Some(now));
    };
    let before = at.checked_sub(1).and_then(|at| commits.get(at));
    Ok(Some(HistoryMark {
        head: Some(before.map_or(seen, |commit| commit.hash.clone())),
        at: commits.get(at).map_or(now.at, |commit| {
            Timestamp::from_millis(commit.authored_at * 1_000)
        }),
    }))
}

/// Returns the scenarios with the decisions about them. One whose progress is not what its commits
/// led to was completed or reopened by someone since the records were made.
fn gather_scenarios(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    scenarios: &[Node],
    recorded: &BTreeMap<NodeId, Tdd>,
    made: &HistoryMark,
) -> Result<Vec<ScenarioInput>, Failure> {
    let mut inputs = Vec::new();
    for scenario in scenarios {
        let known = recorded.get(&scenario.id).cloned().unwrap_or_default();
        let is_complete = scenario.progress == Progress::Complete;
        let was_complete = match known.decisions.last() {
            Some(decision) if decision.completed => true,
            _ => known.closed,
        };
        let mut decisions = known.decisions;
        if is_complete != was_complete {
            decisions.push(ScenarioDecision {
                made: made.clone(),
                completed: is_complete,
            });
        }
        inputs.push(ScenarioInput {
            id: scenario.id,
            since: known.since,
            decisions,
            is_unproved: lacks_proof(ctx, state, scenario)?,
        });
    }
    Ok(inputs)
}

impl TicketCycles {
    /// Returns the progress of a scenario in this history, where commits decide it.
    pub(crate) fn progress_of(&self, scenario: &Node) -> Progress {
        if self.note.is_none() {
            return scenario.progress;
        }
        let closed =
            |cycles: &BTreeMap<NodeId, Tdd>| cycles.get(&scenario.id).is_some_and(|tdd| tdd.closed);
        match (closed(&self.recorded), closed(&self.by_scenario)) {
            (false, true) => Progress::Complete,
            // The commits that completed it are not in this history.
            (true, false) if scenario.progress == Progress::Complete => Progress::Active,
            _ => scenario.progress,
        }
    }
}
