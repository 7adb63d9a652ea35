//! Stored texts: compressed content of versions, and operations together with the texts they added.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;

use domain::ids::{OperationId, VersionHash};
use domain::operation::Operation;
use domain::ports::StoreFault;
use domain::secrets::MaskedText;
use zstd::bulk::Decompressor;

use super::operations::RecordedRow;
use super::rows::decode_digest_column;
use super::sql::params;
use super::view::TableView;
use crate::engine::{ChainedOperation, hashes_in_records};
use crate::journal;

/// Maximum size of an unpacked text: a damaged size must not allocate all memory.
const MAX_TEXT_BYTES: usize = 1 << 30;

/// Returns the message about a stored text that does not match its hash.
pub(super) fn damaged_text_message(hash: VersionHash) -> String {
    format!("hash mismatch in the stored text {}", hash.short_hex())
}

impl TableView<'_> {
    /// Returns the text of a version: its own, or the masked one stored in its place.
    pub(super) fn text_of_version(&self, hash: VersionHash) -> Result<Option<String>, StoreFault> {
        if let Some(text) = self.read_stored_text(hash)? {
            return Ok(Some(text));
        }
        match MaskedText::read_record(self, hash)? {
            Some(masked) => self.read_stored_text(masked.kept),
            None => Ok(None),
        }
    }

    /// Returns the hashes of the versions an operation added.
    fn version_hashes_of(&self, id: OperationId) -> Result<Vec<VersionHash>, StoreFault> {
        self.query_rows(
            "SELECT DISTINCT v.hash FROM version v WHERE v.operation = ?1 AND NOT EXISTS \
             (SELECT 1 FROM version o WHERE o.hash = v.hash AND o.operation < ?1) ORDER BY v.hash",
            params![id.0.cast_signed()],
            |row| Ok(VersionHash(decode_digest_column(row.get_ref(0)?)?)),
        )
    }

    /// Returns the hashes of the stored texts that only records of an operation name, such as those
    /// of decision files and plan documents.
    fn record_text_hashes_of(
        &self,
        operation: &Operation,
    ) -> Result<BTreeSet<VersionHash>, StoreFault> {
        let mut found = BTreeSet::new();
        for hash in hashes_in_records(operation) {
            let sql = "SELECT 1 FROM text WHERE hash = ?1 AND NOT EXISTS \
                       (SELECT 1 FROM version v WHERE v.hash = ?1 AND v.operation <= ?2)";
            let values = params![hash.0.0.as_slice(), operation.id.0.cast_signed()];
            if self.query_one_row(sql, values, |_| Ok(()))?.is_some() {
                found.insert(hash);
            }
        }
        Ok(found)
    }

    /// Returns every operation with its texts, in order, with the hash chain verified.
    pub(crate) fn load_all_entries(&self) -> Result<Vec<ChainedOperation>, StoreFault> {
        let mut prev = journal::chain_start_hash(&self.store.store);
        let recorded = self.recorded_operation_range(OperationId(1), self.store.head)?;
        let mut entries = Vec::with_capacity(recorded.len());
        for operation in &recorded {
            // Each operation names the hash of its predecessor, so a missing or exchanged one shows
            // here.
            if operation.prev != prev {
                let what = format!("broken hash chain at operation {}", operation.id);
                return Err(StoreFault::Damaged { what });
            }
            prev = operation.hash;
            entries.push(self.load_recorded_entry(operation)?);
        }
        // The chain alone cannot show that its end was cut off; the head's hash is stored apart.
        if prev != self.store.head_hash {
            return Err(StoreFault::Damaged {
                what: "the last operations are missing".to_owned(),
            });
        }
        self.attach_unnamed_texts(&mut entries)?;
        Ok(entries)
    }

    /// Adds the texts that no operation names to the last one: a copy of a state has all its texts.
    fn attach_unnamed_texts(&self, entries: &mut [ChainedOperation]) -> Result<(), StoreFault> {
        let texts = entries.iter().flat_map(|one| &one.texts);
        let named: HashSet<VersionHash> = texts.map(|(hash, _)| *hash).collect();
        let Some(last) = entries.last_mut() else {
            return Ok(());
        };
        let stored = self.query_rows("SELECT hash FROM text ORDER BY hash", params![], |row| {
            Ok(VersionHash(decode_digest_column(row.get_ref(0)?)?))
        })?;
        for hash in stored.into_iter().filter(|hash| !named.contains(hash)) {
            let text = self.read_stored_text(hash)?;
            last.texts.extend(text.map(|text| (hash, text)));
        }
        Ok(())
    }

    /// Returns the text stored under its own hash, verified.
    fn read_stored_text(&self, hash: VersionHash) -> Result<Option<String>, StoreFault> {
        let found = self.query_one_row(
            "SELECT size, zstd FROM text WHERE hash = ?1",
            params![hash.0.0.as_slice()],
            |row| Ok((row.get::<i64>(0)?, row.get::<Vec<u8>>(1)?)),
        )?;
        let Some((size, packed)) = found else {
            // A version with a size had its text stored, so its absence is damage. Versions without
            // one were recorded without text.
            let sql = "SELECT 1 FROM version WHERE hash = ?1 AND size IS NOT NULL LIMIT 1";
            return match self.query_one_row(sql, params![hash.0.0.as_slice()], |_| Ok(()))? {
                None => Ok(None),
                Some(()) => Err(StoreFault::Damaged {
                    what: format!("the stored text {} is missing", hash.short_hex()),
                }),
            };
        };
        let unpacked = usize::try_from(size)
            .ok()
            .and_then(|size| self.unpack_text(&packed, size).ok())
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .filter(|text| VersionHash::of_bytes(text.as_bytes()) == hash);
        match unpacked {
            Some(text) => Ok(Some(text)),
            None => Err(StoreFault::Damaged {
                what: damaged_text_message(hash),
            }),
        }
    }

    /// Unpacks a stored text of this size.
    fn unpack_text(&self, packed: &[u8], size: usize) -> io::Result<Vec<u8>> {
        let mut unpacker = self.unpacker.borrow_mut();
        let unpacker = match &mut *unpacker {
            Some(unpacker) => unpacker,
            none => none.insert(Decompressor::new()?),
        };
        unpacker.decompress(packed, size.min(MAX_TEXT_BYTES))
    }

    /// Verifies every stored text in one query; returns for each whether it is intact.
    pub(super) fn verify_stored_texts(&self) -> Result<HashMap<VersionHash, bool>, StoreFault> {
        let checked = self.query_rows("SELECT hash, size, zstd FROM text", params![], |row| {
            let hash = VersionHash(decode_digest_column(row.get_ref(0)?)?);
            let size = usize::try_from(row.get::<i64>(1)?).unwrap_or(0);
            let packed: Vec<u8> = row.get(2)?;
            let intact = self.unpack_text(&packed, size).is_ok_and(|bytes| {
                VersionHash::of_bytes(&bytes) == hash && std::str::from_utf8(&bytes).is_ok()
            });
            Ok((hash, intact))
        })?;
        Ok(checked.into_iter().collect())
    }

    /// Returns an operation with the texts that came with it.
    pub(crate) fn load_recorded_entry(
        &self,
        row: &RecordedRow,
    ) -> Result<ChainedOperation, StoreFault> {
        let operation = row.parse_verified_operation()?;
        let mut texts = Vec::new();
        for hash in self.version_hashes_of(row.id)? {
            if let Some(text) = self.read_stored_text(hash)? {
                texts.push((hash, text));
            } else if let Some(masked) = MaskedText::read_record(self, hash)?
                && let Some(text) = self.read_stored_text(masked.kept)?
            {
                // A masked text is stored and transferred under its own hash, not the version's.
                texts.push((masked.kept, text));
            }
        }
        for hash in self.record_text_hashes_of(&operation)? {
            if texts.iter().all(|(known, _)| *known != hash)
                && let Some(text) = self.read_stored_text(hash)?
            {
                texts.push((hash, text));
            }
        }
        Ok(ChainedOperation {
            operation,
            body: row.body.clone(),
            texts,
            prev: row.prev,
            hash: row.hash,
        })
    }
}
