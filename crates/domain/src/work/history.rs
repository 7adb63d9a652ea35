//! TDD cycles of a ticket's scenarios, folded from the commits that HEAD has.
//!
//! A function of the history, the moves of the focus and the decisions about scenarios; nothing is
//! accumulated. After a reset, rebase, revert, amend, cherry-pick, merge or checkout, and with
//! commits that no hook saw, the result is the one this history has. Pure: commits come from git
//! through a port.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ids::NodeId;
use crate::ports::{CommitHistory, HistoryCommit};
use crate::profile::Profile;
use crate::time::Timestamp;
use crate::work::focus::Focus;
use crate::work::tdd::{
    Advance, CommitPrefixes, Cycle, ScenarioDecision, Tdd, advance_cycle, parse_commit_step,
};
use crate::work::uncommitted::is_exempt;

/// A moment in the history: the commit HEAD was at, and the time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryMark {
    /// `None` before the first commit.
    pub head: Option<String>,
    /// Where `head` was rewritten since, commits are compared by their author time instead.
    pub at: Timestamp,
}

/// A move of a session's focus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FocusMark {
    pub made: HistoryMark,
    pub cursor: Option<NodeId>,
}

/// A stretch of history in which a session worked on a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkSpan {
    pub session: String,
    /// The scenario that was entered, if it was not the ticket itself.
    pub scenario: Option<NodeId>,
    pub from: HistoryMark,
    pub to: Option<HistoryMark>,
}

/// Returns the stretches in which a session's focus was at the ticket or one of its scenarios.
#[must_use]
pub fn list_work_spans(
    session: &str,
    focus: &Focus,
    ticket: NodeId,
    scenarios: &[NodeId],
) -> Vec<WorkSpan> {
    let mut spans = Vec::new();
    for (index, mark) in focus.marks.iter().enumerate() {
        let Some(cursor) = mark.cursor else { continue };
        if cursor != ticket && !scenarios.contains(&cursor) {
            continue;
        }
        spans.push(WorkSpan {
            session: session.to_owned(),
            scenario: (cursor != ticket).then_some(cursor),
            from: mark.made.clone(),
            to: focus.marks.get(index + 1).map(|next| next.made.clone()),
        });
    }
    spans
}

/// Returns the earliest moment of these stretches: the commits since then have to be read.
#[must_use]
pub fn find_base(spans: &[WorkSpan]) -> Option<&HistoryMark> {
    spans
        .iter()
        .map(|span| &span.from)
        .min_by_key(|mark| mark.at)
}

/// A scenario, in the order of its file, with what the fold depends on.
#[derive(Clone, Debug)]
pub struct ScenarioInput {
    pub id: NodeId,
    /// When it was written, if that was after the work on its ticket began.
    pub since: Option<HistoryMark>,
    pub decisions: Vec<ScenarioDecision>,
    /// Whether it lacks its proof, so that commits cannot complete it.
    pub is_unproved: bool,
}

/// Everything the cycles of one ticket depend on.
#[derive(Debug)]
pub struct CycleInputs<'i> {
    pub scenarios: &'i [ScenarioInput],
    pub spans: &'i [WorkSpan],
    pub history: &'i CommitHistory,
    /// Returns the session that made a commit, as far as hooks saw it.
    pub sessions: &'i BTreeMap<String, String>,
    /// Sessions that share the focus of the terminal, whose stretches have an empty name.
    pub has_own_focus: &'i BTreeSet<String>,
    /// Lines by [`HistoryCommit::change_key`].
    pub lines: &'i BTreeMap<String, u64>,
    pub prefixes: &'i CommitPrefixes,
    /// The profiles that say which files are plans.
    pub profiles: &'i [Profile],
    /// Whether commits complete only what a failing test preceded.
    pub requires_test: bool,
}

/// Folds the history into the cycle of every scenario, in the order of the input.
#[must_use]
pub fn fold_cycles(inputs: &CycleInputs<'_>) -> Vec<Tdd> {
    let order: BTreeMap<&str, usize> = inputs
        .history
        .commits
        .iter()
        .enumerate()
        .map(|(index, commit)| (commit.hash.as_str(), index))
        .collect();
    let base = find_base(inputs.spans).and_then(|mark| mark.head.as_deref());
    let place = CommitOrder { order, base };
    let mut states: Vec<ScenarioCycle> = inputs.scenarios.iter().map(ScenarioCycle::new).collect();
    for (index, commit) in list_effective_commits(inputs.history, inputs.profiles) {
        let Some(step) = parse_commit_step(&commit.subject, inputs.prefixes) else {
            continue;
        };
        let Some(span) = find_span(inputs, &place, index, commit) else {
            continue;
        };
        for state in &mut states {
            state.apply_decisions(|made| place.is_after(index, commit, made));
        }
        // A failing test for the next scenario closes this one, and then counts for the next: at
        // most two rounds.
        for _ in 0..2 {
            let is_written = |state: &ScenarioCycle<'_>| {
                let since = state.tdd.since.as_ref();
                since.is_none_or(|since| place.is_after(index, commit, since))
            };
            let Some(state) = current_scenario(&mut states, span.scenario, is_written) else {
                break;
            };
            let mut advance = advance_cycle(state.tdd.cycle, step);
            if state.is_unproved && advance == Advance::DoneBefore {
                break;
            }
            let lacks_test = inputs.requires_test && state.tdd.untested.is_some();
            // The test that was missing: the cycle begins with it, wherever the one without a test
            // had got to.
            if lacks_test && step == Cycle::Red {
                state.tdd.untested = None;
                advance = Advance::To(Some(step));
            }
            match advance {
                Advance::To(cycle) => state.take_commit(commit, cycle, inputs.lines),
                Advance::Done => {
                    state.take_commit(commit, Some(step), inputs.lines);
                    state.tdd.closed = !state.is_unproved && !lacks_test;
                }
                Advance::DoneBefore => {
                    state.tdd.closed = true;
                    continue;
                }
            }
            break;
        }
    }
    states
        .into_iter()
        .map(|mut state| {
            state.apply_decisions(|_| true);
            state.tdd
        })
        .collect()
}

/// A commit that names a step of the cycle and changes nothing that a step could be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmptyStep {
    pub subject: String,
    /// Whether it changes plans alone; otherwise it changes no file.
    pub changes_plans: bool,
}

/// Returns the newest commit, if it names a step of the cycle and changes nothing but plans.
#[must_use]
pub fn find_empty_step(
    history: &CommitHistory,
    prefixes: &CommitPrefixes,
    profiles: &[Profile],
) -> Option<EmptyStep> {
    let newest = history.commits.last()?;
    let changes_plans = changes_only_plans(newest, profiles);
    let is_step = parse_commit_step(&newest.subject, prefixes).is_some();
    (is_step && (newest.is_empty || changes_plans)).then(|| EmptyStep {
        subject: newest.subject.clone(),
        changes_plans,
    })
}

/// Whether a commit changes only plans and files of tickets, hosts and this program.
fn changes_only_plans(commit: &HistoryCommit, profiles: &[Profile]) -> bool {
    let files = &commit.changed_files;
    !files.is_empty() && files.iter().all(|file| is_exempt(profiles, file))
}

/// Returns the scenario that takes the next commit: the entered one, or else the first open one, of those
/// that were written before it.
fn current_scenario<'s, 'i>(
    states: &'s mut [ScenarioCycle<'i>],
    entered: Option<NodeId>,
    is_written: impl Fn(&ScenarioCycle<'i>) -> bool,
) -> Option<&'s mut ScenarioCycle<'i>> {
    let is_open =
        |state: &ScenarioCycle<'i>| !state.tdd.closed && !state.is_decided && is_written(state);
    let at = states
        .iter()
        .position(|state| Some(state.id) == entered && is_open(state))
        .or_else(|| states.iter().position(is_open))?;
    states.get_mut(at)
}

/// The state of one scenario while commits are folded.
struct ScenarioCycle<'i> {
    id: NodeId,
    is_unproved: bool,
    tdd: Tdd,
    /// Completed by a decision.
    is_decided: bool,
    /// Decisions that are not applied yet.
    ahead: &'i [ScenarioDecision],
}

impl<'i> ScenarioCycle<'i> {
    fn new(input: &'i ScenarioInput) -> Self {
        Self {
            id: input.id,
            is_unproved: input.is_unproved,
            tdd: Tdd {
                since: input.since.clone(),
                decisions: input.decisions.clone(),
                ..Tdd::default()
            },
            is_decided: false,
            ahead: &input.decisions,
        }
    }

    /// Applies the decisions that were made before the next commit.
    fn apply_decisions(&mut self, is_due: impl Fn(&HistoryMark) -> bool) {
        while let Some((decision, rest)) = self.ahead.split_first()
            && is_due(&decision.made)
        {
            self.is_decided = decision.completed;
            // A reopened scenario begins again: its earlier commits led to a completion that
            // someone took back.
            if !decision.completed {
                self.tdd = Tdd {
                    since: self.tdd.since.take(),
                    decisions: std::mem::take(&mut self.tdd.decisions),
                    ..Tdd::default()
                };
            }
            self.ahead = rest;
        }
    }

    fn take_commit(
        &mut self,
        commit: &HistoryCommit,
        cycle: Option<Cycle>,
        lines: &BTreeMap<String, u64>,
    ) {
        if self.tdd.cycle.is_none() && cycle == Some(Cycle::Green) {
            self.tdd.untested = Some(commit.subject.clone());
        }
        self.tdd.cycle = cycle;
        self.tdd.last_commit = Some(commit.subject.clone());
        self.tdd.last_hash = Some(commit.hash.clone());
        let taken = lines.get(&commit.change_key()).copied().unwrap_or(0);
        self.tdd.lines = self.tdd.lines.saturating_add(taken);
    }
}

/// The place of commits relative to marks.
struct CommitOrder<'h> {
    order: BTreeMap<&'h str, usize>,
    base: Option<&'h str>,
}

impl CommitOrder<'_> {
    /// Whether the commit at `index` was made after the mark.
    fn is_after(&self, index: usize, commit: &HistoryCommit, mark: &HistoryMark) -> bool {
        let Some(head) = mark.head.as_deref() else {
            return true;
        };
        match self.order.get(head) {
            Some(at) => index > *at,
            // Everything that was read came after the base.
            None if self.base == Some(head) => true,
            // The marked commit was rewritten. Amend, rebase and cherry-pick keep the author time;
            // it has whole seconds.
            None => commit.authored_at >= mark.at.as_millis().div_euclid(1_000),
        }
    }
}

/// Returns the stretch of work a commit belongs to; among several the latest.
fn find_span<'i>(
    inputs: &'i CycleInputs<'_>,
    place: &CommitOrder<'_>,
    index: usize,
    commit: &HistoryCommit,
) -> Option<&'i WorkSpan> {
    let session = inputs.sessions.get(&commit.hash);
    // Someone else's commit that was pulled is not work on this ticket; one that a session made
    // here is, whatever name it was committed under.
    if session.is_none() && commit.is_foreign {
        return None;
    }
    let is_by = |span: &WorkSpan| match session {
        None => true,
        Some(known) if span.session.is_empty() => !inputs.has_own_focus.contains(known),
        Some(known) => span.session == *known,
    };
    inputs
        .spans
        .iter()
        .filter(|span| is_by(span) && place.is_after(index, commit, &span.from))
        .filter(|span| {
            let ended = span.to.as_ref();
            !ended.is_some_and(|to| place.is_after(index, commit, to))
        })
        .max_by_key(|span| span.from.at)
}

/// Returns the commits that are in effect, oldest first, with their places: without empty and reverted
/// ones, second copies of one change, and rewritten copies of what was there before the base.
fn list_effective_commits<'h>(
    history: &'h CommitHistory,
    profiles: &[Profile],
) -> Vec<(usize, &'h HistoryCommit)> {
    let mut seen: BTreeSet<String> = history.left.iter().map(HistoryCommit::change_key).collect();
    let mut effective = vec![true; history.commits.len()];
    // The commit that each revert took back, by the revert's place.
    let mut reverted: BTreeMap<usize, usize> = BTreeMap::new();
    for (index, commit) in history.commits.iter().enumerate() {
        if history
            .base_committed_at
            .is_some_and(|base| commit.committed_at < base)
        {
            effective[index] = false;
            continue;
        }
        // A cherry-picked commit that comes in by a merge as well is one change.
        if !seen.insert(commit.change_key()) {
            effective[index] = false;
            continue;
        }
        let before = history.commits.get(..index).unwrap_or_default();
        if let Some(target) = find_reverted(before, &effective, commit) {
            effective[target] = false;
            // Reverting a revert restores the commit.
            if let Some(restored) = reverted.remove(&target) {
                effective[restored] = true;
            }
            reverted.insert(index, target);
        }
    }
    let commits = history.commits.iter().enumerate();
    commits
        // The subject of such a commit says that something was done, its files that nothing was.
        .filter(|(index, commit)| {
            effective[*index] && !commit.is_empty && !changes_only_plans(commit, profiles)
        })
        .collect()
}

/// Finds the earlier commit that a revert takes back: by the id in its message, or by the subject
/// where that commit was rewritten since.
fn find_reverted(
    before: &[HistoryCommit],
    effective: &[bool],
    commit: &HistoryCommit,
) -> Option<usize> {
    let by_hash = commit
        .reverts
        .as_deref()
        .and_then(|hash| before.iter().position(|other| other.hash == hash));
    let quoted = |prefix: &str| {
        let rest = commit.subject.strip_prefix(prefix)?;
        rest.strip_suffix('"')
    };
    let by_subject = || {
        // `Reapply "x"` is git's subject for the revert of `Revert "x"`.
        let wanted = match (quoted("Revert \""), quoted("Reapply \"")) {
            (Some(subject), _) => subject.to_owned(),
            (None, Some(subject)) => format!("Revert \"{subject}\""),
            (None, None) => return None,
        };
        before
            .iter()
            .zip(effective)
            .rposition(|(other, effective)| *effective && other.subject == wanted)
    };
    by_hash.or_else(by_subject)
}
