//! Progress of a project: burn-up per level, words of prose per day, and how long plans take.
//!
//! From the cached tree and the operations of the shown days, each read once per server; texts are not
//! read, unlike in `plan_stats`, so that it stays fast with ten thousand plans.

use std::collections::{BTreeMap, BTreeSet};

use domain::burn_up::{DayTotals, PlanTotals};
use domain::fact::Fact;
use domain::ids::NodeId;
use domain::level_progress::{
    OperationProgress, ProgressLog, ProgressReader, RemovedNodes, TimeSummary,
};
use domain::node::{Progress, Status};
use domain::ports::Snapshot;
use domain::time::Timestamp;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::history_cache::HistoryCache;
use crate::prose_counts::load_prose_history;
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

/// What the operations of a project changed, kept between calls.
#[derive(Debug, Default)]
pub struct ProgressCache {
    operations: HistoryCache<MeasuredOperation>,
    removed: RemovedNodes,
    /// The plans whose prose was counted when the operations were read: of others, facts are left out.
    counted: BTreeSet<NodeId>,
}

/// What an operation changed, and its facts about prose: what they come to depends on later counts.
#[derive(Debug)]
struct MeasuredOperation {
    progress: OperationProgress,
    about_prose: Vec<Fact>,
}

/// Returns the progress of the last `days`. `cache` is kept between calls.
///
/// # Errors
/// When the state cannot be read.
pub fn show_progress(
    ctx: &Context<'_>,
    known: &CachedTree,
    days: usize,
    cache: &mut ProgressCache,
) -> Result<ProgressView, Failure> {
    let days = list_days(ctx.clock.now(), days);
    let state = ctx.store.begin_read()?;
    let log = read_operations(&*state, known, &days, cache)?;
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

/// Reads the operations of these days, up to the one that the tree includes.
fn read_operations(
    state: &dyn Snapshot,
    known: &CachedTree,
    days: &[String],
    cache: &mut ProgressCache,
) -> Result<ProgressLog, Failure> {
    let mut log = ProgressLog::default();
    let Some(first) = days.first() else {
        return Ok(log);
    };
    let mut prose = load_prose_history(state, &known.tree)?;
    let ProgressCache {
        operations,
        removed,
        counted,
    } = cache;
    if !operations.follow_history(state)? {
        *removed = RemovedNodes::default();
    }
    let counted_now: BTreeSet<NodeId> = prose.counted_nodes().collect();
    if *counted != counted_now {
        operations.forget_values();
        *counted = counted_now;
    }
    let mut reader = ProgressReader::new(&known.tree, removed);
    // A later operation may name nodes that the tree does not have yet.
    let mut before = Some(known.head().next_id());
    loop {
        let page = state.operation_heads(before, OPERATIONS_PER_PAGE)?;
        let Some(last) = page.last() else {
            return Ok(log);
        };
        before = Some(last.id);
        for head in &page {
            // In local time, as the listed days are.
            let day = name_day(head.at);
            if day < *first {
                return Ok(log);
            }
            if operations.find_value(head.id).is_none() {
                let mut about_prose = Vec::new();
                state.visit_facts(head.id, &mut |fact| {
                    reader.add_fact(&fact, head.at);
                    if prose.concerns(&fact) {
                        about_prose.push(fact);
                    }
                })?;
                let measured = MeasuredOperation {
                    progress: reader.take_operation(),
                    about_prose,
                };
                operations.keep_value(head.id, measured);
            }
            let Some(measured) = operations.find_value(head.id) else {
                continue;
            };
            log.add_operation(&measured.progress, &day);
            let facts = &measured.about_prose;
            for change in prose.measure_operation(head.at, facts, |_| true, |_, _| true) {
                log.add_words(change.words, &name_day(change.at));
            }
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
