//! Shared by all engines: settings, the chained form of an operation, I/O error classification.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::fact::Fact;
use domain::ids::{Digest32, OperationId, VersionHash};
use domain::operation::Operation;
use domain::ports::{NewOperation, StoreFault};
use serde_json::Value;

use crate::journal;
use crate::known_heads::KnownHeads;
use crate::mirror::MirrorSchedule;

/// Settings of an engine.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// How long to wait for the write lock.
    pub patience: Duration,
    /// Whether the JSON mirror is written.
    pub mirror: bool,
    /// Minimum time between two updates of the mirror.
    pub mirror_interval: Duration,
    /// Maximum number of mirror files written per update. Limited in hooks only, where a large
    /// cascade would delay the agent; the next command writes the rest.
    pub mirror_files: usize,
    /// The user's known heads, for rollback detection; `None` skips the comparison.
    pub heads: Option<KnownHeads>,
    /// Whether memory matters more than time, as in a process that goes on running.
    pub saves_memory: bool,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(5),
            mirror: true,
            mirror_interval: Duration::ZERO,
            mirror_files: usize::MAX,
            heads: None,
            saves_memory: false,
        }
    }
}

impl EngineSettings {
    /// Returns when and how far the mirror is updated.
    pub(crate) fn mirror_schedule(&self) -> MirrorSchedule {
        MirrorSchedule {
            interval: self.mirror_interval,
            max_files: self.mirror_files,
        }
    }
}

/// An operation with its id, its serialised body, its texts and its link in the hash chain.
#[derive(Clone, Debug)]
pub(crate) struct ChainedOperation {
    pub(crate) operation: Operation,
    pub(crate) body: String,
    pub(crate) texts: Vec<(VersionHash, String)>,
    pub(crate) prev: Digest32,
    pub(crate) hash: Digest32,
}

impl ChainedOperation {
    /// Assigns an operation its id and chains it to `prev`.
    pub(crate) fn new(
        id: OperationId,
        prev: Digest32,
        new: NewOperation,
    ) -> Result<Self, StoreFault> {
        let operation = Operation {
            id,
            at: new.at,
            by: new.by,
            channel: new.channel,
            verb: new.verb,
            summary: new.summary,
            key: new.key,
            facts: new.facts,
        };
        // Serialised once: the hash covers these bytes, and journal, database and server store them
        // verbatim, so that a later change of the serialiser's output breaks no chain.
        let body = serde_json::to_string(&operation).map_err(|error| StoreFault::Io {
            action: format!("cannot write operation {id} as JSON"),
            source: error.into(),
        })?;
        let hash = journal::hash_operation(prev, &body);
        let texts = new
            .texts
            .into_iter()
            .map(|text| (VersionHash::of_bytes(text.as_bytes()), text))
            .collect();
        Ok(Self {
            operation,
            body,
            texts,
            prev,
            hash,
        })
    }

    /// Parses a journal line from elsewhere; it must be operation `id` and follow `prev`.
    pub(crate) fn parse_journal_line(
        line: &str,
        id: OperationId,
        prev: Digest32,
    ) -> Result<Self, StoreFault> {
        let entry = journal::parse_journal_line(line, prev)
            .map_err(|what| StoreFault::DoesNotFit { what })?;
        if entry.operation.id != id {
            let what = format!("expected operation {}, found {}", id, entry.operation.id);
            return Err(StoreFault::DoesNotFit { what });
        }
        Ok(entry)
    }

    /// Renders the journal line.
    pub(crate) fn to_journal_line(&self) -> Result<String, StoreFault> {
        let texts: Vec<(VersionHash, &str)> = self
            .texts
            .iter()
            .map(|(hash, text)| (*hash, text.as_str()))
            .collect();
        journal::render_journal_line(&self.body, &texts, self.prev, self.hash).map_err(|error| {
            StoreFault::Io {
                action: format!("cannot write operation {} as JSON", self.operation.id),
                source: error.into(),
            }
        })
    }
}

/// Returns the hashes that the records of an operation name and did not name before: of files it
/// writes, of masked texts, of documents.
pub(crate) fn hashes_in_records(operation: &Operation) -> BTreeSet<VersionHash> {
    let mut named = BTreeSet::new();
    for fact in &operation.facts {
        if let Fact::RecordChanged { before, after, .. } = fact {
            let (mut old, mut new) = (BTreeSet::new(), BTreeSet::new());
            collect_hashes(before.as_ref().unwrap_or(&Value::Null), &mut old);
            collect_hashes(after.as_ref().unwrap_or(&Value::Null), &mut new);
            // The operation that named them first has their texts.
            named.extend(new.difference(&old));
        }
    }
    named
}

fn collect_hashes(value: &Value, found: &mut BTreeSet<VersionHash>) {
    match value {
        Value::String(text) => found.extend(text.parse().ok().map(VersionHash)),
        Value::Array(items) => items.iter().for_each(|item| collect_hashes(item, found)),
        Value::Object(fields) => fields.values().for_each(|item| collect_hashes(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Classifies an I/O error: read-only, disk full, or other.
pub(crate) fn io_fault(action: &str, path: &std::path::Path, error: std::io::Error) -> StoreFault {
    use std::io::ErrorKind;
    // Read-only and full have their own faults because the remedy differs: reading still works, and
    // neither is a reason to rebuild anything.
    match error.kind() {
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => StoreFault::ReadOnly {
            path: path.to_owned(),
        },
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            StoreFault::Full {
                path: path.to_owned(),
            }
        }
        _ => StoreFault::Io {
            action: format!("{action} `{}`", path.display()),
            source: error.into(),
        },
    }
}
