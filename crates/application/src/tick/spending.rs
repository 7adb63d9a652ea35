//! Model costs: recorded per call, summed per tick and scene.

use std::collections::BTreeMap;

use domain::fact::Fact;
use domain::operation::Verb;
use domain::ports::{Snapshot, Transaction};
use domain::record;
use domain::tick::ModelSpending;
use domain::time::Timestamp;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;

/// Returns the facts that record the calls.
pub(crate) fn spending_facts(
    tx: &dyn Transaction,
    calls: &[ModelSpending],
) -> Result<Vec<Fact>, Failure> {
    let operation = tx.next_operation_id()?;
    let keyed = calls.iter().enumerate();
    Ok(keyed
        .filter_map(|(index, call)| {
            // Keyed by operation, so that two processes cannot claim the same key.
            record::record_changed_fact(&format!("{:08}-{index:03}", operation.0), None, Some(call))
        })
        .collect())
}

/// Records the cost of calls that led to nothing: they were paid for all the same.
///
/// # Errors
/// When the state cannot be written.
pub fn record_spending(ctx: &Context<'_>, calls: &[ModelSpending]) -> Result<(), Failure> {
    if calls.is_empty() {
        return Ok(());
    }
    // An operation of its own, since the one that would have carried the cost never came to be:
    // budgets have to count it.
    let mut tx = ctx.store.begin_write()?;
    let mut operation = ctx.new_operation(
        Verb::Tick,
        "record the cost of failed model calls".to_owned(),
    );
    operation.facts = spending_facts(&*tx, calls)?;
    tx.record_operation(operation)?;
    Ok(tx.commit()?)
}

/// Returns the tokens and micro-dollars of all calls since a time. Calls of unknown size or price count
/// as nothing, so the sums are lower bounds.
///
/// # Errors
/// When the state cannot be read.
pub fn spent_since(ctx: &Context<'_>, since: Timestamp) -> Result<(u64, u64), Failure> {
    let state = ctx.store.begin_read()?;
    let calls = record::read_records::<ModelSpending>(&*state, "")?;
    let recent = calls
        .iter()
        .map(|(_, call)| call)
        .filter(|call| call.at >= since);
    Ok(recent.fold((0, 0), |(tokens, micros), call| {
        let used = call.input_tokens.unwrap_or(0) + call.output_tokens.unwrap_or(0);
        (tokens + used, micros + call.cost_micros.unwrap_or(0))
    }))
}

/// The calls for one tick or scene.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SpendingView {
    pub calls: usize,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Cost of the calls whose price is known.
    pub cost_micros: u64,
    /// Number of calls without a known price; they are not free.
    pub calls_without_price: usize,
    /// Number of calls that did not report their tokens.
    pub calls_without_tokens: usize,
}

/// Returns the sums per tick and scene.
pub(crate) fn spending_by_account(
    state: &dyn Snapshot,
) -> Result<BTreeMap<String, SpendingView>, Failure> {
    let mut sums: BTreeMap<String, SpendingView> = BTreeMap::new();
    for (_, call) in record::read_records::<ModelSpending>(state, "")? {
        let sum = sums.entry(call.account.clone()).or_default();
        sum.calls += 1;
        sum.input_tokens += call.input_tokens.unwrap_or(0);
        sum.output_tokens += call.output_tokens.unwrap_or(0);
        sum.cost_micros += call.cost_micros.unwrap_or(0);
        sum.calls_without_price += usize::from(call.cost_micros.is_none());
        sum.calls_without_tokens +=
            usize::from(call.input_tokens.is_none() || call.output_tokens.is_none());
    }
    Ok(sums)
}
