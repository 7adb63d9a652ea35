//! Show what the loop did: its ticks, the scenes it wrote, and what the models cost.

use std::collections::BTreeMap;

use domain::record;
use domain::tick::{TickRecord, TickState, TickStatus};
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::generation::view::{GenerationView, generations};
use crate::tick::spending::{SpendingView, spending};

/// What the loop did.
#[derive(Clone, Debug, Serialize)]
pub struct TicksView {
    pub novel: Option<String>,
    pub current_tick: u64,
    pub active_character: Option<String>,
    /// The latest first.
    pub ticks: Vec<TickView>,
    pub ticks_total: usize,
    /// Scenes that were begun.
    pub scenes: Vec<SceneView>,
    /// What everything cost together.
    pub spent: SpendingView,
}

/// One tick.
#[derive(Clone, Debug, Serialize)]
pub struct TickView {
    #[serde(flatten)]
    pub record: TickRecord,
    pub spent: Option<SpendingView>,
    /// Whether it may be run again, or left out.
    pub is_open: bool,
}

/// A scene that is written, or was.
#[derive(Clone, Debug, Serialize)]
pub struct SceneView {
    #[serde(flatten)]
    pub generation: GenerationView,
    pub spent: Option<SpendingView>,
}

/// Returns the latest ticks, and all scenes.
///
/// # Errors
/// When the state cannot be read.
pub fn show_ticks(ctx: &Context<'_>, most: usize) -> Result<TicksView, Failure> {
    let written = generations(ctx)?;
    let state = ctx.store.read()?;
    let accounts = spending(&*state)?;
    let mut ticks: Vec<TickRecord> = record::read_all::<TickRecord>(&*state, "")?
        .into_iter()
        .map(|(_, tick)| tick)
        .collect();
    ticks.sort_by_key(|tick| std::cmp::Reverse(tick.tick));
    let ticks_total = ticks.len();
    let TickState {
        current_tick,
        active_character,
        novel,
    } = record::read::<TickState>(&*state, TickState::KEY)?.unwrap_or_default();
    let ticks = ticks.into_iter().take(most).map(|record| TickView {
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
        spent: sum(&accounts),
    })
}

fn sum(accounts: &BTreeMap<String, SpendingView>) -> SpendingView {
    accounts
        .values()
        .fold(SpendingView::default(), |sum, account| SpendingView {
            calls: sum.calls + account.calls,
            input_tokens: sum.input_tokens + account.input_tokens,
            output_tokens: sum.output_tokens + account.output_tokens,
            cost_micros: sum.cost_micros + account.cost_micros,
            calls_without_price: sum.calls_without_price + account.calls_without_price,
            calls_without_tokens: sum.calls_without_tokens + account.calls_without_tokens,
        })
}
