//! Sets the name of the story.

use domain::operation::Verb;
use domain::record::{self, ChangeRecords};
use domain::tick::TickState;

use crate::context::Context;
use crate::failure::Failure;

/// Sets the name of the story.
///
/// # Errors
/// When the state cannot be written.
pub fn name_novel(ctx: &Context<'_>, name: &str) -> Result<(), Failure> {
    let mut tx = ctx.store.begin_write()?;
    let before = record::read_record::<TickState>(&*tx, TickState::KEY)?;
    let after = TickState {
        novel: Some(name.to_owned()),
        ..before.clone().unwrap_or_default()
    };
    let mut operation = ctx.new_operation(Verb::Tick, "name the story".to_owned());
    operation
        .facts
        .change_record(TickState::KEY, before.as_ref(), Some(&after));
    // The same name again records nothing.
    if !operation.facts.is_empty() {
        tx.record_operation(operation)?;
    }
    Ok(tx.commit()?)
}

/// Returns whether the project was created and nothing else was done in it.
///
/// # Errors
/// When the state cannot be read.
pub fn is_new_project(ctx: &Context<'_>) -> Result<bool, Failure> {
    Ok(ctx
        .store
        .begin_read()?
        .load_operations(None, 2)?
        .iter()
        .all(|operation| operation.verb == Verb::Init))
}
