//! Edits the memory: sets fields of an entry, adds one, forgets one.

use domain::fact::Fact;
use domain::memory::{Entry, EntryKind, Relationship, StoryFact, StoryMemory};
use domain::operation::Verb;
use domain::ports::{Snapshot, Transaction};
use serde_json::{Map, Value, json};

use super::memory_files::{self, load_memory};
use super::show_memory::{EntryView, unknown_entry};
use crate::context::Context;
use crate::failure::Failure;

/// The entry to edit.
#[derive(Clone, Debug)]
pub enum EditTarget {
    /// An id, or a name.
    Named(String),
    New(EntryKind),
}

/// Request to edit an entry.
#[derive(Clone, Debug)]
pub struct EditMemoryRequest {
    pub target: EditTarget,
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
    let memory = change_memory(ctx, |_, memory| {
        let (kind, mut value) = match &request.target {
            EditTarget::Named(name) => {
                let entry = find_entry(memory, name)?;
                (entry.kind(), entry.to_value())
            }
            EditTarget::New(kind) => (*kind, json!({ "id": kind.format_id(kind.first_number()) })),
        };
        for (field, given) in &request.fields {
            if field == "id" {
                return Err(Failure::invalid("`id` cannot be changed"));
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
        let entry =
            Entry::from_value(kind, value).map_err(|error| Failure::invalid(error.to_string()))?;
        let entry = resolve_references(memory, entry)?;
        id = match &request.target {
            EditTarget::Named(_) => {
                let id = entry.id().to_owned();
                memory.put_entry(entry);
                id
            }
            EditTarget::New(_) => memory.add_entry(entry),
        };
        Ok((format!("memory: {id} edited"), Vec::new()))
    })?;
    memory
        .get(&id)
        .map(EntryView::from_entry)
        .ok_or_else(|| unknown_entry(&id))
}

/// Returns an entry with the ids of those whom it names: people write names.
fn resolve_references(memory: &StoryMemory, entry: Entry) -> Result<Entry, Failure> {
    let resolve = |name: &str| {
        memory
            .resolve_id(EntryKind::Character, name)
            .ok_or_else(|| unknown_entry(name))
    };
    Ok(match entry {
        // A subject may also be a thing that has no entry.
        Entry::Fact(fact) => {
            let subject = memory.identify_subject(&fact.subject);
            Entry::Fact(StoryFact {
                subject: match memory.get(&subject) {
                    Some(_) => subject,
                    None => fact.subject,
                },
                ..fact
            })
        }
        Entry::Relationship(tie) => Entry::Relationship(Relationship {
            character_a: resolve(&tie.character_a)?,
            character_b: resolve(&tie.character_b)?,
            ..tie
        }),
        other => other,
    })
}

/// Deletes an entry and its file.
///
/// # Errors
/// When there is no such entry, another one refers to it, or the state cannot be written.
pub fn forget_entry(ctx: &Context<'_>, name: &str) -> Result<EntryView, Failure> {
    let mut forgotten = None;
    change_memory(ctx, |_, memory| {
        let entry = find_entry(memory, name)?.clone();
        let id = entry.id().to_owned();
        let speaks_of_it =
            |tie: &&domain::memory::Relationship| tie.character_a == id || tie.character_b == id;
        // Refused rather than cascaded: a relationship may carry text that nobody meant to delete.
        if let Some(tie) = memory.relationships().find(speaks_of_it) {
            return Err(Failure::refused(format!("{} refers to `{id}`", tie.id))
                .with_step(format!("tl story memory forget {}", tie.id)));
        }
        memory.remove_entry(&id);
        forgotten = Some(EntryView::from_entry(&entry));
        Ok((format!("memory: {id} forgotten"), Vec::new()))
    })?;
    forgotten.ok_or_else(|| unknown_entry(name))
}

pub(super) fn find_entry<'m>(memory: &'m StoryMemory, name: &str) -> Result<&'m Entry, Failure> {
    let by_name = || {
        EntryKind::ALL
            .into_iter()
            .find_map(|kind| memory.resolve_id(kind, name))
    };
    memory
        .get(name)
        .or_else(|| memory.get(&by_name()?))
        .ok_or_else(|| unknown_entry(name))
}

/// Runs `act` on the memory and records the changes, and the facts that it returns, as one operation.
pub(super) fn change_memory(
    ctx: &Context<'_>,
    act: impl FnOnce(&dyn Snapshot, &mut StoryMemory) -> Result<(String, Vec<Fact>), Failure>,
) -> Result<StoryMemory, Failure> {
    let mut tx: Box<dyn Transaction> = ctx.store.begin_write()?;
    let mut memory_files = memory_files::import_edits_within(ctx, &mut *tx)?;
    let mut memory = load_memory(&*tx)?;
    let (summary, more) = match act(&*tx, &mut memory) {
        Ok(changed) => changed,
        // The edit is refused, but files that people changed were observed in this transaction and
        // are kept.
        Err(failure) => {
            tx.commit()?;
            memory_files.write_files(ctx);
            return Err(failure);
        }
    };
    let mut operation = ctx.new_operation(Verb::Remember, summary);
    operation.facts = memory.change_facts();
    operation.facts.extend(more);
    if !operation.facts.is_empty() {
        tx.record_operation(operation)?;
        memory_files.register_changes(ctx, &mut *tx, &memory)?;
    }
    tx.commit()?;
    memory_files.write_files(ctx);
    Ok(memory)
}
