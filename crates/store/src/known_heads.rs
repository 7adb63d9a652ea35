//! Rollback detection: the last operation (id and chain hash) of every store this user has seen,
//! kept outside the project.
//!
//! The hash chain of a journal has no key: anyone who can write the files can write a different
//! history that verifies, or restore an older one. From inside the project they cannot change the
//! record kept here. A head behind the store is normal (a crash, another user of a shared database)
//! and is advanced once the chain is found to contain it.
//!
//! A record has a fixed size and is overwritten in place without a sync, because hooks pay for
//! every `fsync`: a power cut only loses the detection of a rollback of the very last operations.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::ids::{Digest32, OperationId, StoreId};
use domain::ports::{HistoryState, StoreFault};
use rustix::fs::{FlockOperation, flock};

use crate::private_files::private_open_options;
use crate::user_files::{make_private_folder, store_file_path};

/// Record length: `NUMBER HASH CHECK` and a line feed.
const RECORD_BYTES: usize = 20 + 1 + 64 + 1 + 8 + 1;

/// Maximum attempts for the record's lock, one millisecond apart; it is held for microseconds.
const MAX_LOCK_ATTEMPTS: u32 = 5;

/// A store's last operation.
pub(crate) type StoreHead = (OperationId, Digest32);

/// Looks up the chain hash of an operation in the store that was opened.
pub(crate) type ChainHash<'a> = &'a dyn Fn(OperationId) -> Result<Option<Digest32>, StoreFault>;

/// The user's known heads, one file per store.
#[derive(Clone, Debug)]
pub struct KnownHeads {
    folder: PathBuf,
    /// Suffix that separates working copies whose states share a store id.
    place: String,
}

impl KnownHeads {
    /// Returns the heads kept below the user's state directory.
    #[must_use]
    pub fn in_state_directory(user_state: &Path) -> Self {
        Self {
            folder: user_state.join("heads"),
            place: String::new(),
        }
    }

    /// Returns the heads for a state that belongs to one working copy: two clones of a project have
    /// the same store id, but a history each.
    #[must_use]
    pub fn for_working_copy(&self, root: &Path) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        // A hash, because the path itself may be longer than a file name.
        let digest = Digest32::of_bytes(root.as_os_str().as_encoded_bytes()).to_string();
        Self {
            folder: self.folder.clone(),
            place: format!("@{}", digest.get(..16).unwrap_or_default()),
        }
    }

    /// Records a head unconditionally: a person replaced the state or accepted the one found.
    ///
    /// # Errors
    /// When the user's directory cannot be written.
    pub fn record_head(
        &self,
        store: &StoreId,
        number: OperationId,
        hash: Digest32,
    ) -> io::Result<()> {
        let file = self.open_record_file(store)?;
        lock_record_file(&file)?;
        file.write_all_at(&encode_record((number, hash)), 0)
    }

    /// Replaces the known head `from` by `to`, and does nothing when another one is recorded.
    pub(crate) fn compare_and_swap_head(&self, store: &StoreId, from: StoreHead, to: StoreHead) {
        let Ok(file) = self.open_record_file(store) else {
            return;
        };
        if lock_record_file(&file).is_ok() && read_record_from(&file) == Some(from) {
            let _ = file.write_all_at(&encode_record(to), 0);
        }
    }

    /// Compares the head of an opened store with the known one, and advances the known one where
    /// the chain contains it.
    pub(crate) fn compare_head(
        &self,
        store: &StoreId,
        head: StoreHead,
        chain_hash: ChainHash<'_>,
    ) -> Result<HistoryState, StoreFault> {
        match self.read_known_head(store) {
            // The usual case costs one small read and no query of the history.
            Some(known) if known == head => Ok(HistoryState::Known),
            Some(known) => {
                let found = classify_history(known, head, chain_hash)?;
                if found == HistoryState::Known {
                    self.advance_head(store, known, head, chain_hash);
                }
                Ok(found)
            }
            None => {
                // Trust on first use. A user directory that cannot be written must not prevent
                // work, so the error is dropped.
                let _ = self.record_head(store, head.0, head.1);
                Ok(HistoryState::FirstSeen)
            }
        }
    }

    /// Advances the known head after a commit from `before` to `after`. Never backwards, and never
    /// over a history that was not accepted. A failed write is made up for when the store is next
    /// opened.
    pub(crate) fn advance_head(
        &self,
        store: &StoreId,
        before: StoreHead,
        after: StoreHead,
        chain_hash: ChainHash<'_>,
    ) {
        let Ok(file) = self.open_record_file(store) else {
            return;
        };
        if lock_record_file(&file).is_err() {
            return;
        }
        // Read again under the lock: another process may have advanced it past `after` meanwhile.
        let follows = match read_record_from(&file) {
            Some(known) if known == before => true,
            Some(known) => matches!(
                classify_history(known, after, chain_hash),
                Ok(HistoryState::Known)
            ),
            None => true,
        };
        if follows {
            let _ = file.write_all_at(&encode_record(after), 0);
        }
    }

    /// Returns the folder of the records.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether a head of this store is known.
    pub(crate) fn knows_head(&self, store: &StoreId) -> bool {
        self.read_known_head(store).is_some()
    }

    fn read_known_head(&self, store: &StoreId) -> Option<StoreHead> {
        let file = File::open(self.record_path(store)?).ok()?;
        // Readers take no lock, so a concurrent writer can show a torn record; a millisecond later
        // it is whole.
        read_record_from(&file).or_else(|| {
            std::thread::sleep(Duration::from_millis(1));
            read_record_from(&file)
        })
    }

    fn record_path(&self, store: &StoreId) -> Option<PathBuf> {
        let mut file = store_file_path(&self.folder, store)?.into_os_string();
        file.push(&self.place);
        Some(file.into())
    }

    fn open_record_file(&self, store: &StoreId) -> io::Result<File> {
        let file = self
            .record_path(store)
            .ok_or_else(|| io::Error::other("invalid store id"))?;
        let open = || {
            private_open_options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&file)
        };
        match open() {
            // The folder is only created when opening fails: it exists on all but the first run.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_private_folder(&self.folder)?;
                open()
            }
            other => other,
        }
    }
}

/// Classifies the history of a store that ended in `known` and now ends in `head`.
fn classify_history(
    known: StoreHead,
    head: StoreHead,
    chain_hash: ChainHash<'_>,
) -> Result<HistoryState, StoreFault> {
    // Fewer operations than before cannot happen by appending: an older copy was restored.
    if known.0 > head.0 {
        return Ok(HistoryState::Missing {
            known: known.0,
            found: head.0,
        });
    }
    let hash = if known.0 == head.0 {
        Some(head.1)
    } else {
        chain_hash(known.0)?
    };
    Ok(if hash == Some(known.1) {
        HistoryState::Known
    } else {
        HistoryState::Rewritten {
            known: known.0,
            found: head.0,
        }
    })
}

fn lock_record_file(file: &File) -> io::Result<()> {
    for _ in 1..MAX_LOCK_ATTEMPTS {
        if flock(file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(flock(file, FlockOperation::NonBlockingLockExclusive)?)
}

fn encode_record((number, hash): StoreHead) -> Vec<u8> {
    // Fixed width, so that a longer number never leaves bytes of the previous record behind.
    let body = format!("{:020} {hash}", number.0);
    let check = Digest32::of_bytes(body.as_bytes()).to_string();
    format!("{body} {}\n", check.get(..8).unwrap_or_default()).into_bytes()
}

fn read_record_from(file: &File) -> Option<StoreHead> {
    let mut bytes = [0; RECORD_BYTES];
    file.read_exact_at(&mut bytes, 0).ok()?;
    let text = std::str::from_utf8(&bytes).ok()?;
    let (number, hash) = (
        text.get(..20)?.parse().ok()?,
        text.get(21..85)?.parse().ok()?,
    );
    let head = (OperationId(number), hash);
    // Comparing the re-encoded record verifies its check digits, the spaces and the line feed.
    (encode_record(head) == bytes).then_some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(of: &str) -> Digest32 {
        Digest32::of_bytes(of.as_bytes())
    }

    fn heads() -> (tempfile::TempDir, KnownHeads, StoreId) {
        let directory = tempfile::tempdir().expect("a directory");
        let heads = KnownHeads::in_state_directory(directory.path());
        (
            directory,
            heads,
            StoreId("00000000-0000-4000-8000-000000000000".to_owned()),
        )
    }

    /// A chain in which operation N has the hash of `N`.
    fn chain(number: OperationId) -> Result<Option<Digest32>, StoreFault> {
        Ok(Some(hash(&number.to_string())))
    }

    fn at(number: u64) -> StoreHead {
        (OperationId(number), hash(&number.to_string()))
    }

    #[test]
    fn a_head_that_is_behind_is_advanced_when_the_chain_contains_it() {
        let (_directory, heads, store) = heads();
        assert_eq!(
            heads.compare_head(&store, at(3), &chain).expect("compared"),
            HistoryState::FirstSeen
        );
        assert_eq!(
            heads.compare_head(&store, at(5), &chain).expect("compared"),
            HistoryState::Known
        );
        assert_eq!(heads.read_known_head(&store), Some(at(5)));
    }

    #[test]
    fn an_older_or_rewritten_history_is_found_and_never_recorded_by_itself() {
        let (_directory, heads, store) = heads();
        heads
            .record_head(&store, OperationId(5), at(5).1)
            .expect("recorded");
        let missing = HistoryState::Missing {
            known: OperationId(5),
            found: OperationId(3),
        };
        assert_eq!(
            heads.compare_head(&store, at(3), &chain).expect("compared"),
            missing
        );
        // Work goes on from the older state: the known head stays, until a person accepts another.
        heads.advance_head(&store, at(3), at(4), &chain);
        assert_eq!(heads.read_known_head(&store), Some(at(5)));
        let other = |_: OperationId| Ok(Some(hash("another")));
        let rewritten = HistoryState::Rewritten {
            known: OperationId(5),
            found: OperationId(6),
        };
        assert_eq!(
            heads
                .compare_head(&store, (OperationId(6), hash("x")), &other)
                .expect("compared"),
            rewritten
        );
        assert_eq!(heads.read_known_head(&store), Some(at(5)));
        heads
            .record_head(&store, OperationId(3), at(3).1)
            .expect("accepted");
        assert_eq!(
            heads.compare_head(&store, at(3), &chain).expect("compared"),
            HistoryState::Known
        );
    }

    #[test]
    fn a_late_writer_never_moves_the_head_backwards() {
        let (_directory, heads, store) = heads();
        heads
            .record_head(&store, OperationId(9), at(9).1)
            .expect("recorded");
        heads.advance_head(&store, at(10), at(11), &chain);
        assert_eq!(heads.read_known_head(&store), Some(at(11)));
        heads.advance_head(&store, at(9), at(10), &chain);
        assert_eq!(heads.read_known_head(&store), Some(at(11)));
    }

    #[test]
    fn a_torn_record_is_no_head() {
        let (_directory, heads, store) = heads();
        heads
            .record_head(&store, OperationId(9), at(9).1)
            .expect("recorded");
        let file = heads.open_record_file(&store).expect("the file");
        file.write_all_at(b"00000000000000000012", 0)
            .expect("written");
        assert_eq!(heads.read_known_head(&store), None);
    }
}
