//! What a session is doing, judged from when it was last heard of and what holds it up.

use serde::Serialize;

use crate::time::Timestamp;

/// Time without a sign of life after which a session no longer counts as working: a long build or
/// test run of an agent takes less.
const WORKING_MS: i64 = 10 * 60 * 1000;
/// Time without a sign of life after which a session counts as gone.
const GONE_MS: i64 = 12 * 60 * 60 * 1000;

/// The state of a session, those that need a person first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActivityState {
    /// A person has to decide before it can go on.
    Waiting,
    /// A gate stopped its last step.
    Blocked,
    Working,
    /// No sign of life for a while.
    Quiet,
    Gone,
}

impl ActivityState {
    /// Returns the word for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Waiting => "waits for you",
            Self::Blocked => "blocked",
            Self::Working => "working",
            Self::Quiet => "quiet",
            Self::Gone => "gone",
        }
    }

    /// Returns the name for programs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
            Self::Working => "working",
            Self::Quiet => "quiet",
            Self::Gone => "gone",
        }
    }

    /// Returns the symbol beside the label, so that meaning never depends on colour.
    #[must_use]
    pub fn symbol(self) -> char {
        match self {
            Self::Waiting => '‖',
            Self::Blocked => '⊘',
            Self::Working => '▶',
            Self::Quiet => '◌',
            Self::Gone => '·',
        }
    }
}

/// What is known about a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct ActivityFacts {
    pub last_heard: Option<Timestamp>,
    /// When a gate stopped a step of it that is still stopped.
    pub blocked_at: Option<Timestamp>,
    /// Whether that step can be taken once a person decided about a plan.
    pub has_open_decision: bool,
    /// Since when it waits for a decision, as its command or tool reports.
    pub waits_since: Option<Timestamp>,
}

/// Returns the state of a session, and since when it is in it.
#[must_use]
pub fn judge_activity(facts: &ActivityFacts, now: Timestamp) -> (ActivityState, Option<Timestamp>) {
    let silence = facts.last_heard.map(|heard| now.millis_since(heard));
    let is_gone = silence.is_none_or(|silence| silence >= GONE_MS);
    if let Some(since) = facts.waits_since {
        return (ActivityState::Waiting, Some(since));
    }
    match facts.blocked_at {
        Some(at) if facts.has_open_decision => (ActivityState::Waiting, Some(at)),
        Some(at) => (ActivityState::Blocked, Some(at)),
        None if is_gone => (ActivityState::Gone, facts.last_heard),
        None if silence.is_some_and(|silence| silence < WORKING_MS) => {
            (ActivityState::Working, facts.last_heard)
        }
        None => (ActivityState::Quiet, facts.last_heard),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_follows_from_silence_gates_and_open_decisions() {
        let minute = 60_000;
        let now = Timestamp::from_millis(100 * 60 * minute);
        let ago = |minutes: i64| Timestamp::from_millis(now.as_millis() - minutes * minute);
        let state = |heard: i64, blocked: Option<i64>, has_open_decision: bool| {
            let facts = ActivityFacts {
                last_heard: Some(ago(heard)),
                blocked_at: blocked.map(ago),
                has_open_decision,
                waits_since: None,
            };
            judge_activity(&facts, now)
        };
        assert_eq!(state(0, None, false).0, ActivityState::Working);
        assert_eq!(state(0, None, true).0, ActivityState::Working);
        assert_eq!(
            state(5, None, true).0,
            ActivityState::Working,
            "not a guess"
        );
        assert_eq!(state(30, None, false).0, ActivityState::Quiet);
        assert_eq!(state(24 * 60, None, false).0, ActivityState::Gone);
        assert_eq!(
            state(3, Some(7), false),
            (ActivityState::Blocked, Some(ago(7)))
        );
        assert_eq!(
            state(3, Some(7), true),
            (ActivityState::Waiting, Some(ago(7)))
        );
        let waits = ActivityFacts {
            waits_since: Some(ago(2)),
            ..ActivityFacts::default()
        };
        let waiting = (ActivityState::Waiting, Some(ago(2)));
        assert_eq!(judge_activity(&waits, now), waiting);
        let unknown = judge_activity(&ActivityFacts::default(), now);
        assert_eq!(unknown, (ActivityState::Gone, None));
    }
}
