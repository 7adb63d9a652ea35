//! Show the tick loop: its ticks, the scenes it wrote, and the cost of the models.

use std::collections::BTreeMap;

use domain::record;
use domain::tick::{TickRecord, TickState, TickStatus};
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::generation::view::{GenerationView, generations_in_tree};
use crate::tick::spending::{SpendingView, spending_by_account};
use crate::tree_cache::CachedTree;

/// The ticks and scenes so far.
#[derive(Clone, Debug, Serialize)]
pub struct TicksView {
    pub novel: Option<String>,
    pub current_tick: u64,
    pub active_character: Option<String>,
    /// Latest first.
    pub ticks: Vec<TickView>,
    pub ticks_total: usize,
    /// Every scene that was started.
    pub scenes: Vec<SceneView>,
    /// Total cost.
    pub spent: SpendingView,
}

/// One tick.
#[derive(Clone, Debug, Serialize)]
pub struct TickView {
    #[serde(flatten)]
    pub record: TickRecord,
    pub spent: Option<SpendingView>,
    /// Whether it can be run again or skipped.
    pub is_open: bool,
}

/// A scene, in progress or complete.
#[derive(Clone, Debug, Serialize)]
pub struct SceneView {
    #[serde(flatten)]
    pub generation: GenerationView,
    pub spent: Option<SpendingView>,
}

/// Returns the latest ticks, and all scenes, with the names of a cached tree that is up to date.
///
/// # Errors
/// When the state cannot be read.
pub fn show_ticks(
    ctx: &Context<'_>,
    known: &CachedTree,
    most: usize,
) -> Result<TicksView, Failure> {
    let state = ctx.store.begin_read()?;
    let written = generations_in_tree(ctx, &*state, &known.tree)?;
    let accounts = spending_by_account(&*state)?;
    let mut ticks: Vec<TickRecord> = record::read_records::<TickRecord>(&*state, "")?
        .into_iter()
        .map(|(_, tick)| tick)
        .collect();
    ticks.sort_by_key(|tick| std::cmp::Reverse(tick.tick));
    let ticks_total = ticks.len();
    let TickState {
        current_tick,
        active_character,
        novel,
        ..
    } = record::read_record::<TickState>(&*state, TickState::KEY)?.unwrap_or_default();
    let ticks = ticks.into_iter().take(most).map(|record| TickView {
        // The spending ledger names a tick this way and a scene by its id; calls for anything else
        // count in the total only.
        spent: accounts.get(&format!("tick {}", record.tick)).cloned(),
        is_open: matches!(
            record.status,
            TickStatus::Planned | TickStatus::Failed | TickStatus::Parked
        ),
        record,
    });
    let scenes = written.into_iter().map(|generation| SceneView {
        spent: accounts.get(&generation.scene).cloned(),
        generation,
    });
    Ok(TicksView {
        novel,
        current_tick,
        active_character,
        ticks: ticks.collect(),
        ticks_total,
        scenes: scenes.collect(),
        spent: sum_spending(&accounts),
    })
}

/// Adds up the spending of all accounts.
fn sum_spending(accounts: &BTreeMap<String, SpendingView>) -> SpendingView {
    accounts
        .values()
        .fold(SpendingView::default(), |sum, account| SpendingView {
            calls: sum.calls + account.calls,
            input_tokens: sum.input_tokens + account.input_tokens,
            output_tokens: sum.output_tokens + account.output_tokens,
            cost_micros: sum.cost_micros + account.cost_micros,
            // Kept apart, because an unknown price is unknown and not zero: a total without it
            // would look exact.
            calls_without_price: sum.calls_without_price + account.calls_without_price,
            calls_without_tokens: sum.calls_without_tokens + account.calls_without_tokens,
        })
}
