//! Edits the memory: sets fields of an entry, adds one, forgets one.

use domain::memory::{Entry, EntryKind, Memory};
use domain::operation::Verb;
use domain::ports::Transaction;
use serde_json::{Map, Value, json};

use super::files::{self, stored};
use super::show_memory::{EntryView, unknown};
use crate::context::Context;
use crate::failure::{Failure, FailureKind};

/// The entry to edit.
#[derive(Clone, Debug)]
pub enum Target {
    /// An id, or a name.
    Named(String),
    New(EntryKind),
}

/// Request to edit an entry.
#[derive(Clone, Debug)]
pub struct EditMemoryRequest {
    pub target: Target,
    /// Fields and their new values; `null` removes a field.
    pub fields: Map<String, Value>,
}

/// Sets fields of an existing entry, or creates one from them.
///
/// # Errors
/// When there is no such entry or field, a required field is missing, or the state cannot be
/// written.
pub fn edit_memory(ctx: &Context<'_>, request: &EditMemoryRequest) -> Result<EntryView, Failure> {
    let mut id = String::new();
    let memory = change(ctx, |memory| {
        let (kind, mut value) = match &request.target {
            Target::Named(name) => {
                let entry = named(memory, name)?;
                (entry.kind(), entry.value())
            }
            Target::New(kind) => (*kind, json!({ "id": kind.id(kind.first()) })),
        };
        for (field, given) in &request.fields {
            if field == "id" {
                return Err(Failure::new(FailureKind::Invalid, "`id` cannot be changed"));
            }
            match given {
                Value::Null => drop(
                    value
                        .as_object_mut()
                        .and_then(|members| members.remove(field)),
                ),
                given => value[field] = given.clone(),
            }
        }
        // Parsed as a whole, so that an edit is validated by the same rules as a file.
        let entry = Entry::read(kind, value)
            .map_err(|error| Failure::new(FailureKind::Invalid, error.to_string()))?;
        id = match &request.target {
            Target::Named(_) => {
                let id = entry.id().to_owned();
                memory.put(entry);
                id
            }
            Target::New(_) => memory.add(entry),
        };
        Ok(format!("memory: {id} edited"))
    })?;
    memory
        .get(&id)
        .map(EntryView::of)
        .ok_or_else(|| unknown(&id))
}

/// Deletes an entry and its file.
///
/// # Errors
/// When there is no such entry, another one refers to it, or the state cannot be written.
pub fn forget_entry(ctx: &Context<'_>, name: &str) -> Result<EntryView, Failure> {
    let mut forgotten = None;
    change(ctx, |memory| {
        let entry = named(memory, name)?.clone();
        let id = entry.id().to_owned();
        let speaks_of_it =
            |tie: &&domain::memory::Relationship| tie.character_a == id || tie.character_b == id;
        // Refused rather than cascaded: a relationship may carry text that nobody meant to delete.
        if let Some(tie) = memory.relationships().find(speaks_of_it) {
            return Err(
                Failure::new(FailureKind::Refused, format!("{} refers to `{id}`", tie.id))
                    .step(format!("tl memory forget {}", tie.id)),
            );
        }
        memory.forget(&id);
        forgotten = Some(EntryView::of(&entry));
        Ok(format!("memory: {id} forgotten"))
    })?;
    forgotten.ok_or_else(|| unknown(name))
}

fn named<'m>(memory: &'m Memory, name: &str) -> Result<&'m Entry, Failure> {
    let by_name = || {
        EntryKind::ALL
            .into_iter()
            .find_map(|kind| memory.meant(kind, name))
    };
    memory
        .get(name)
        .or_else(|| memory.get(&by_name()?))
        .ok_or_else(|| unknown(name))
}

/// Runs `act` on the memory and records the changes as one operation.
fn change(
    ctx: &Context<'_>,
    act: impl FnOnce(&mut Memory) -> Result<String, Failure>,
) -> Result<Memory, Failure> {
    let mut tx: Box<dyn Transaction> = ctx.store.write()?;
    let mut memory_files = files::observe_within(ctx, &mut *tx)?;
    let mut memory = stored(&*tx)?;
    let summary = match act(&mut memory) {
        Ok(summary) => summary,
        // The edit is refused, but files that people changed were observed in this transaction and
        // are kept.
        Err(failure) => {
            tx.commit()?;
            memory_files.write(ctx);
            return Err(failure);
        }
    };
    let mut operation = ctx.operation(Verb::Remember, summary);
    operation.facts = memory.changes();
    if !operation.facts.is_empty() {
        tx.record(operation)?;
        memory_files.expect(ctx, &mut *tx, &memory)?;
    }
    tx.commit()?;
    memory_files.write(ctx);
    Ok(memory)
}
