//! What a look at every plan file showed, so that the next one need not ask the database about files that are as they were.
//!
//! A cache: one file, whole or not at all, made again where it is missing, old or not understood. It holds for each path
//! what `stat` says; a folder's entries are the same as long as its own stamp is.

use std::cell::RefCell;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;

use domain::ports::{FileStamp, LookedAgain};

use crate::durable::{Durability, replace};

const MAGIC: &[u8] = b"throughline looks 1\n";
/// So many looks are worth a second thread.
const WORTH_A_THREAD: usize = 400;
/// A larger file is none of ours.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// What one path showed; nothing where there was nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Look {
    /// A folder's path ends with a slash.
    path: String,
    stamp: Option<FileStamp>,
}

/// The looks that are being noted.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    noted: RefCell<Noted>,
    /// Looks that were kept and hold, as they are in the file.
    held: RefCell<Option<Vec<u8>>>,
}

#[derive(Debug, Default)]
enum Noted {
    #[default]
    Nothing,
    Looks(Vec<Look>),
    /// Something was met that could not be told from its like later.
    Spoilt,
}

impl Looks {
    pub(crate) fn begin(&self) {
        self.noted.replace(Noted::Looks(Vec::new()));
    }

    /// Notes what a path showed.
    pub(crate) fn note(&self, path: &str, stamp: Option<FileStamp>) {
        if let Noted::Looks(looks) = &mut *self.noted.borrow_mut() {
            looks.push(Look {
                path: path.to_owned(),
                stamp,
            });
        }
    }

    /// Notes what the folder of a listing showed.
    pub(crate) fn note_folder(&self, folder: &str, stamp: Option<FileStamp>) {
        if let Noted::Looks(looks) = &mut *self.noted.borrow_mut() {
            looks.push(Look {
                path: format!("{folder}/"),
                stamp,
            });
        }
    }

    /// What was met now may look the same when it is another thing.
    pub(crate) fn spoil(&self) {
        let mut noted = self.noted.borrow_mut();
        if matches!(*noted, Noted::Looks(_)) {
            *noted = Noted::Spoilt;
        }
    }

    /// Writes what was noted; where nothing was, what held when it was looked at again.
    pub(crate) fn keep(&self, file: &Path, mark: &str) {
        let body = match (self.noted.take(), self.held.take()) {
            (Noted::Looks(looks), _) => encode(&looks),
            (Noted::Nothing, Some(held)) => held,
            _ => return,
        };
        let mut bytes = Vec::with_capacity(body.len() + mark.len() + 64);
        bytes.extend_from_slice(MAGIC);
        text(&mut bytes, mark);
        bytes.extend_from_slice(&body);
        let sum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        // A copy of what can be seen: without it everything is looked at, as before.
        let _ = replace(file, &bytes, Durability::Atomic);
    }

    /// Puts another mark over what is kept, without a look at anything; `change` is given the one it has.
    pub(crate) fn mark_anew(file: &Path, change: impl FnOnce(&str) -> Option<String>) {
        let Some(bytes) = read(file) else { return };
        let Some((mark, body)) =
            Reader::open(&bytes).and_then(|mut reader| Some((reader.text()?, reader.rest)))
        else {
            return;
        };
        if let Some(mark) = change(mark) {
            Self {
                held: RefCell::new(Some(body.to_vec())),
                ..Self::default()
            }
            .keep(file, &mark);
        }
    }

    /// Looks again at everything that was kept; `stat` says what a path shows now.
    pub(crate) fn again(
        &self,
        file: &Path,
        root: &OwnedFd,
        most: usize,
        stat: fn(&OwnedFd, &str) -> Option<FileStamp>,
    ) -> Option<LookedAgain> {
        let bytes = read(file)?;
        let mut reader = Reader::open(&bytes)?;
        let mark = reader.text()?.to_owned();
        let body = reader.rest;
        let mut looks: Vec<(&str, Option<FileStamp>)> = Vec::new();
        while !reader.rest.is_empty() {
            looks.push((reader.text()?, reader.stamp()?));
        }
        let others = |looks: &[(&str, Option<FileStamp>)]| -> Vec<String> {
            let is_other = |(path, stamp): &&(&str, Option<FileStamp>)| {
                let at = path.strip_suffix('/').unwrap_or(path);
                stat(root, if at.is_empty() { "." } else { at }) != *stamp
            };
            looks
                .iter()
                .filter(is_other)
                .map(|(path, _)| (*path).to_owned())
                .collect()
        };
        let changed = match looks.len() {
            ..WORTH_A_THREAD => others(&looks),
            many => std::thread::scope(|scope| {
                let (one, other) = looks.split_at(many / 2);
                let other = scope.spawn(|| others(other));
                let mut changed = others(one);
                changed.extend(other.join().ok()?);
                Some(changed)
            })?,
        };
        if changed.len() > most {
            return None;
        }
        let looked = looks.len();
        self.held.replace(changed.is_empty().then(|| body.to_vec()));
        Some(LookedAgain {
            mark,
            looked,
            changed,
        })
    }
}

fn read(file: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(file)
        .ok()?
        .take(MOST_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}

fn encode(looks: &[Look]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(looks.len() * 96);
    for look in looks {
        text(&mut bytes, &look.path);
        bytes.push(u8::from(look.stamp.is_some()));
        if let Some(stamp) = &look.stamp {
            bytes.extend_from_slice(&stamp.size.to_le_bytes());
            bytes.extend_from_slice(&stamp.modified_ns.to_le_bytes());
            bytes.extend_from_slice(&stamp.changed_ns.to_le_bytes());
            bytes.extend_from_slice(&stamp.inode.to_le_bytes());
        }
    }
    bytes
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    /// Checks the sum and the first words.
    fn open(bytes: &'b [u8]) -> Option<Self> {
        let (body, sum) = bytes.split_last_chunk::<4>()?;
        (crc32fast::hash(body) == u32::from_le_bytes(*sum)).then_some(())?;
        Some(Self {
            rest: body.strip_prefix(MAGIC)?,
        })
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    fn text(&mut self) -> Option<&'b str> {
        let length = usize::try_from(u32::from_le_bytes(self.take()?)).ok()?;
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        std::str::from_utf8(taken).ok()
    }

    fn stamp(&mut self) -> Option<Option<FileStamp>> {
        let [there] = self.take::<1>()?;
        if there == 0 {
            return Some(None);
        }
        Some(Some(FileStamp {
            size: u64::from_le_bytes(self.take()?),
            modified_ns: i64::from_le_bytes(self.take()?),
            changed_ns: i64::from_le_bytes(self.take()?),
            inode: u64::from_le_bytes(self.take()?),
        }))
    }
}
