//! Statistics of a story: progress, size and cost.

use std::collections::BTreeMap;

use domain::memory::EntryKind;
use domain::tick::TickState;
use domain::{record, search};
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::memory::memory_files;
use crate::observe::observe_plans;
use crate::tick::spending::{SpendingView, spending_by_account};
use crate::tick::story_state::{novel_name, prose_path, read_prose};

/// Statistics of a story.
#[derive(Clone, Debug, Serialize)]
pub struct NovelStats {
    pub novel: String,
    pub ticks: u64,
    pub scenes_planned: usize,
    pub scenes_approved: usize,
    pub scenes_written: usize,
    pub words: usize,
    pub memory: BTreeMap<&'static str, usize>,
    pub open_loops: usize,
    pub spending: SpendingView,
    /// Per tick and scene.
    pub spent_on: BTreeMap<String, SpendingView>,
}

/// Returns the statistics.
///
/// # Errors
/// When the state cannot be read.
pub fn novel_stats(ctx: &Context<'_>) -> Result<NovelStats, Failure> {
    let (state, tree) = observe_plans(ctx)?;
    let tick_state = record::read_record::<TickState>(&*state, TickState::KEY)?.unwrap_or_default();
    let memory = memory_files::load_memory(&*state)?;
    let scenes: Vec<_> = tree
        .all_preorder()
        .into_iter()
        .filter(|node| prose_path(ctx, &tree, node).is_some())
        .collect();
    // Counted from the files, not from the records: people edit and write prose by hand as well.
    let written: Vec<String> = scenes
        .iter()
        .filter_map(|node| read_prose(ctx, &tree, &tree.alias_path(node)))
        .collect();
    let mut sum = SpendingView::default();
    let spent_on = spending_by_account(&*state)?;
    for one in spent_on.values() {
        sum.calls += one.calls;
        sum.input_tokens += one.input_tokens;
        sum.output_tokens += one.output_tokens;
        sum.cost_micros += one.cost_micros;
        // Reported separately, because a sum that treats unknown prices as zero looks cheaper than
        // it was.
        sum.calls_without_price += one.calls_without_price;
        sum.calls_without_tokens += one.calls_without_tokens;
    }
    Ok(NovelStats {
        novel: novel_name(ctx, &tick_state),
        ticks: tick_state.current_tick,
        scenes_planned: scenes.len(),
        scenes_approved: scenes
            .iter()
            .filter(|node| node.status() == domain::node::Status::Approved)
            .count(),
        scenes_written: written.len(),
        words: written
            .iter()
            .map(|text| search::split_words(text).len())
            .sum(),
        memory: EntryKind::ALL
            .into_iter()
            .map(|kind| (kind.folder_name(), memory.entries_of_kind(kind).count()))
            .collect(),
        open_loops: memory.open_loops().len(),
        spending: sum,
        spent_on,
    })
}
