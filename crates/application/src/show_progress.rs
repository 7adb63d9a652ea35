//! Progress of a project: burn-up per level, words of prose per day, and how long plans take.
//!
//! From the cached tree and the operations of the shown days; texts are not read, unlike in
//! `plan_stats`, so that it stays fast with ten thousand plans.

use std::collections::BTreeMap;

use domain::burn_up::{DayTotals, PlanTotals};
use domain::level_progress::{ProgressLog, TimeSummary};
use domain::node::{Progress, Status};
use domain::time::Timestamp;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::tree_cache::CachedTree;

/// Number of operations read at once.
const OPERATIONS_PER_PAGE: usize = 500;
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// Progress over a number of days.
#[derive(Clone, Debug, Serialize)]
pub struct ProgressView {
    /// The days, oldest first.
    pub days: Vec<String>,
    pub levels: Vec<LevelProgress>,
    /// Words of prose written on each day.
    pub words: Vec<i64>,
    /// Time until the first approval.
    pub to_approval: Option<TimeSummary>,
    /// Time until completion.
    pub to_completion: Option<TimeSummary>,
}

/// The plans of one level.
#[derive(Clone, Debug, Serialize)]
pub struct LevelProgress {
    pub level: String,
    #[serde(flatten)]
    pub now: PlanTotals,
    pub history: Vec<DayTotals>,
}

/// Returns the progress of the last `days`.
///
/// # Errors
/// When the state cannot be read.
pub fn show_progress(
    ctx: &Context<'_>,
    known: &CachedTree,
    days: usize,
) -> Result<ProgressView, Failure> {
    let days = list_days(ctx.clock.now(), days);
    let mut log = ProgressLog::new(known.tree.nodes());
    read_operations(ctx, &days, &mut log)?;
    let [to_approval, to_completion] = log.lead_times();
    let levels = count_levels(known).into_iter();
    Ok(ProgressView {
        levels: levels
            .map(|(level, now)| LevelProgress {
                history: log.level_history(&level, now, &days),
                level,
                now,
            })
            .collect(),
        words: log.words_per_day(&days),
        days,
        to_approval,
        to_completion,
    })
}

/// Returns the last days, oldest first.
fn list_days(now: Timestamp, count: usize) -> Vec<String> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let mut days: Vec<String> = (0..count)
        .rev()
        .map(|back| name_day(Timestamp::from_millis(now.as_millis() - back * DAY_MILLIS)))
        .collect();
    // A day of 25 hours occurs twice.
    days.dedup();
    days
}

fn name_day(at: Timestamp) -> String {
    at.format_for_file_name().chars().take(10).collect()
}

fn read_operations(
    ctx: &Context<'_>,
    days: &[String],
    log: &mut ProgressLog,
) -> Result<(), Failure> {
    let Some(first) = days.first() else {
        return Ok(());
    };
    let state = ctx.store.begin_read()?;
    let mut before = None;
    loop {
        let page = state.operation_heads(before, OPERATIONS_PER_PAGE)?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        before = Some(last.id);
        for head in &page {
            // In local time, as the listed days are.
            let day = name_day(head.at);
            if day < *first {
                return Ok(());
            }
            state.visit_facts(head.id, &mut |fact| log.add_fact(&fact, head.at, &day))?;
        }
    }
}

/// Counts the plans of each level, upper levels first.
fn count_levels(known: &CachedTree) -> Vec<(String, PlanTotals)> {
    let mut levels: BTreeMap<(u32, &str), PlanTotals> = BTreeMap::new();
    let mut depths: BTreeMap<&str, u32> = BTreeMap::new();
    for (id, place) in known.order.iter().zip(known.places.iter()) {
        let Some(node) = known.tree.get(*id) else {
            continue;
        };
        if node.profile == domain::trail::PROFILE {
            continue;
        }
        // Tickets below tickets are of the level of their first one.
        let depth = *depths.entry(&node.level).or_insert(place.depth);
        *levels.entry((depth, &node.level)).or_default() += PlanTotals {
            planned: 1,
            approved: i64::from(node.status() == Status::Approved),
            complete: i64::from(node.progress == Progress::Complete),
            ..PlanTotals::default()
        };
    }
    let levels = levels.into_iter();
    levels
        .map(|((_, level), totals)| (level.to_owned(), totals))
        .collect()
}
