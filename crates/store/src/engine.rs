//! What every engine shares: its settings, and turning an operation into its recorded form.

use std::time::Duration;

use domain::ids::{Digest32, OperationId, VersionHash};
use domain::operation::Operation;
use domain::ports::{NewOperation, StoreFault};

use crate::journal;
use crate::known_heads::KnownHeads;

/// How an engine is to behave.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// How long to wait for another writer.
    pub patience: Duration,
    /// Whether the mirror is kept.
    pub mirror: bool,
    /// The least time between two updates of the mirror.
    pub mirror_interval: Duration,
    /// Where the user's known heads are kept; nothing is compared without them.
    pub heads: Option<KnownHeads>,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(5),
            mirror: true,
            mirror_interval: Duration::ZERO,
            heads: None,
        }
    }
}

/// An operation with its number, its bytes and its place in the chain.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) operation: Operation,
    pub(crate) body: String,
    pub(crate) texts: Vec<(VersionHash, String)>,
    pub(crate) prev: Digest32,
    pub(crate) hash: Digest32,
}

impl Recorded {
    /// Gives an operation its number and its place after `prev`.
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
        let body = serde_json::to_string(&operation).map_err(|error| StoreFault::Io {
            action: format!("cannot write operation {id} as JSON"),
            source: error.into(),
        })?;
        let hash = journal::chain(prev, &body);
        let texts = new
            .texts
            .into_iter()
            .map(|text| (VersionHash::of(text.as_bytes()), text))
            .collect();
        Ok(Self {
            operation,
            body,
            texts,
            prev,
            hash,
        })
    }

    /// Reads a line that was written elsewhere: it must be operation `id`, and follow `prev`.
    pub(crate) fn read(line: &str, id: OperationId, prev: Digest32) -> Result<Self, StoreFault> {
        let entry =
            journal::read_line(line, prev).map_err(|what| StoreFault::DoesNotFit { what })?;
        if entry.operation.id != id {
            let what = format!("operation {} was expected, not {}", id, entry.operation.id);
            return Err(StoreFault::DoesNotFit { what });
        }
        Ok(entry.into())
    }

    /// Returns the journal line.
    pub(crate) fn line(&self) -> Result<String, StoreFault> {
        let texts: Vec<(VersionHash, &str)> = self
            .texts
            .iter()
            .map(|(hash, text)| (*hash, text.as_str()))
            .collect();
        journal::line(&self.body, &texts, self.prev, self.hash).map_err(|error| StoreFault::Io {
            action: format!("cannot write operation {} as JSON", self.operation.id),
            source: error.into(),
        })
    }
}

/// Turns an I/O error into the fault people can act on.
pub(crate) fn io_fault(action: &str, path: &std::path::Path, error: std::io::Error) -> StoreFault {
    use std::io::ErrorKind;
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
