//! Merges entries that are one person or place, splits one that is two, and marks facts as intended.

use domain::fact::Fact;
use domain::generation::Generation;
use domain::generation::reading::SceneReading;
use domain::generation::update::project_readings;
use domain::memory::identity::{IdentityRefused, merge_entries, split_entry};
use domain::memory::{Entry, StoryMemory, Truth};
use domain::ports::Snapshot;
use domain::record::{self, ChangeRecords};
use domain::tick::TickState;

use super::edit_memory::{change_memory, find_entry};
use super::scene_readings::{load_readings, reading_facts};
use super::show_memory::{EntryView, unknown_entry};
use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observe_plans;

/// Merges two characters or two locations: the second becomes another name of the first.
///
/// # Errors
/// When there is no such entry, they are not of one kind, or the state cannot be written.
pub fn merge_memory(ctx: &Context<'_>, kept: &str, gone: &str) -> Result<EntryView, Failure> {
    let mut id = String::new();
    let memory = change_with_readings(ctx, |state, memory, readings| {
        let kept = find_entry(memory, kept)?.id().to_owned();
        let gone = find_entry(memory, gone)?.id().to_owned();
        let facts = follow_merge(state, &kept, &gone)?;
        merge_entries(memory, readings, &kept, &gone).map_err(refuse)?;
        id.clone_from(&kept);
        Ok((format!("memory: {gone} merged into {kept}"), facts))
    })?;
    view_entry(&memory, &id)
}

/// Splits a name off a character or a location: it becomes an entry of its own.
///
/// # Errors
/// When there is no such entry, the name is taken, or the state cannot be written.
pub fn split_memory(ctx: &Context<'_>, entry: &str, name: &str) -> Result<EntryView, Failure> {
    let mut id = String::new();
    let memory = change_with_readings(ctx, |_, memory, readings| {
        let from = find_entry(memory, entry)?.id().to_owned();
        id = split_entry(memory, readings, &from, name).map_err(refuse)?;
        Ok((format!("memory: {id} split from {from}"), Vec::new()))
    })?;
    view_entry(&memory, &id)
}

/// Marks a fact that contradicts another one as intended: it is not a finding again.
///
/// # Errors
/// When there is no such fact, or the state cannot be written.
pub fn intend_fact(ctx: &Context<'_>, name: &str) -> Result<EntryView, Failure> {
    let mut id = String::new();
    let memory = change_memory(ctx, |_, memory| {
        let Entry::Fact(mut fact) = find_entry(memory, name)?.clone() else {
            return Err(Failure::invalid(format!("`{name}` is not a fact"))
                .with_step("tl story memory show facts"));
        };
        fact.truth = Truth::Intended;
        id.clone_from(&fact.id);
        memory.put_entry(Entry::Fact(fact));
        Ok((format!("memory: {id} is intended"), Vec::new()))
    })?;
    view_entry(&memory, &id)
}

fn view_entry(memory: &StoryMemory, id: &str) -> Result<EntryView, Failure> {
    memory
        .get(id)
        .map(EntryView::from_entry)
        .ok_or_else(|| unknown_entry(id))
}

fn refuse(refused: IdentityRefused) -> Failure {
    Failure::refused(refused.to_string()).with_step("tl story memory show")
}

/// Changes the memory together with the readings, and projects them again.
fn change_with_readings(
    ctx: &Context<'_>,
    act: impl FnOnce(
        &dyn Snapshot,
        &mut StoryMemory,
        &mut [SceneReading],
    ) -> Result<(String, Vec<Fact>), Failure>,
) -> Result<StoryMemory, Failure> {
    let (_, tree) = observe_plans(ctx)?;
    change_memory(ctx, |state, memory| {
        let before = load_readings(state, &tree)?;
        let mut readings = before.clone();
        let (summary, mut facts) = act(state, memory, &mut readings)?;
        let tick = record::read_record::<TickState>(state, TickState::KEY)?
            .unwrap_or_default()
            .current_tick;
        // Projected with the readings under their new ids: otherwise the next reading would bring
        // the merged entry back.
        project_readings(memory, &before, &readings, tick);
        facts.extend(reading_facts(&before, &readings));
        Ok((summary, facts))
    })
}

/// Returns the facts by which the story's position and open generations follow a merge.
fn follow_merge(state: &dyn Snapshot, kept: &str, gone: &str) -> Result<Vec<Fact>, Failure> {
    let mut facts: Vec<Fact> = Vec::new();
    if let Some(before) = record::read_record::<TickState>(state, TickState::KEY)?
        && before.active_character.as_deref() == Some(gone)
    {
        let after = TickState {
            active_character: Some(kept.to_owned()),
            ..before.clone()
        };
        facts.change_record(TickState::KEY, Some(&before), Some(&after));
    }
    for (key, before) in record::read_records::<Generation>(state, "")? {
        let mut after = before.clone();
        let verdicts = [&mut after.verdict, &mut after.verdict_before_revision];
        for id in verdicts
            .into_iter()
            .flatten()
            .flat_map(|verdict| &mut verdict.characters)
        {
            if id == gone {
                kept.clone_into(id);
            }
        }
        facts.change_record(&key, Some(&before), Some(&after));
    }
    Ok(facts)
}
