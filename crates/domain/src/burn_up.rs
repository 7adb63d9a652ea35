//! Burn-up: how many plans there were, were approved and complete, and how many words they had, at
//! the end of each day.
//!
//! Computed backwards from the present totals, so that only the operations of the shown days are
//! read.

use std::collections::HashMap;
use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::Serialize;

/// Totals, or a change of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlanTotals {
    pub planned: i64,
    pub approved: i64,
    pub complete: i64,
    /// Words in the plans.
    pub plan_words: i64,
    /// Words of prose, written by hand or by a model.
    pub prose_words: i64,
}

/// The totals at the end of a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DayTotals {
    /// `2026-02-11`, in local time.
    pub day: String,
    #[serde(flatten)]
    pub totals: PlanTotals,
}

impl AddAssign for PlanTotals {
    fn add_assign(&mut self, other: Self) {
        self.planned += other.planned;
        self.approved += other.approved;
        self.complete += other.complete;
        self.plan_words += other.plan_words;
        self.prose_words += other.prose_words;
    }
}

impl PlanTotals {
    fn minus(self, other: Self) -> Self {
        Self {
            planned: self.planned - other.planned,
            approved: self.approved - other.approved,
            complete: self.complete - other.complete,
            plan_words: self.plan_words - other.plan_words,
            prose_words: self.prose_words - other.prose_words,
        }
    }
}

/// Returns the totals at the end of each of `days`, which are in order and end today.
#[must_use]
pub fn compute_burn_up(
    now: PlanTotals,
    changes: &HashMap<String, PlanTotals>,
    days: &[String],
) -> Vec<DayTotals> {
    let mut totals = now;
    let mut found: Vec<DayTotals> = days
        .iter()
        .rev()
        .map(|day| {
            // Before the day's changes are taken off: the totals are those at its end.
            let end_of_day = totals;
            totals = totals.minus(changes.get(day).copied().unwrap_or_default());
            DayTotals {
                day: day.clone(),
                totals: end_of_day,
            }
        })
        .collect();
    found.reverse();
    found
}

/// Draws values as a line of blocks; `top` is the value of a full one.
#[must_use]
pub fn draw_bars(values: &[i64], top: i64) -> String {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    values
        .iter()
        .map(|value| {
            let height = (value.max(&0) * 8 + top / 2) / top.max(1);
            // Something is never drawn as nothing.
            let height = if *value > 0 { height.max(1) } else { 0 };
            let height = usize::try_from(height).unwrap_or(0).min(8);
            BLOCKS.get(height).copied().unwrap_or(' ')
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_computed_backwards_from_today() {
        let days: Vec<String> = ["d1", "d2", "d3"].map(str::to_owned).to_vec();
        let change = |planned, approved| PlanTotals {
            planned,
            approved,
            ..PlanTotals::default()
        };
        let changes = HashMap::from([
            ("d1".to_owned(), change(4, 0)),
            ("d3".to_owned(), change(-1, 2)),
        ]);
        let found = compute_burn_up(change(5, 3), &changes, &days);
        let shown: Vec<(i64, i64)> = found
            .iter()
            .map(|day| (day.totals.planned, day.totals.approved))
            .collect();
        assert_eq!(shown, [(6, 1), (6, 1), (5, 3)]);
    }

    #[test]
    fn bars_are_relative_to_the_top() {
        assert_eq!(draw_bars(&[0, 1, 50, 100], 100), " ▁▄█");
        assert_eq!(draw_bars(&[0, 0], 0), "  ");
    }
}
