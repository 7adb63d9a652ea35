//! Vector cache: embeddings of records for semantic search, quantised to one byte per dimension.
//!
//! One file, replaced atomically and regenerated when it is missing, of another model or
//! unreadable. Quantising loses nothing measurable in the ranking, and a search reads a quarter of
//! the bytes. The search is exhaustive and streams the file in pieces; no approximate index.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use domain::record::RecordKey;

use crate::durable::{Durability, replace_file};

const MAGIC: &str = "throughline vectors 1";
/// Length of the name field: kind and key, padded with zeros.
const NAME_BYTES: usize = 32;
/// Length of a row's header: name, mark of the text, scale.
const ROW_HEAD_BYTES: usize = NAME_BYTES + 8 + 4;
/// Rows per read: few enough to stay in the CPU cache until they are compared.
const ROWS_PER_READ: usize = 128;

/// The vector file of one embedding model.
#[derive(Clone, Debug)]
pub struct VectorFile {
    path: PathBuf,
    /// The embedding model; vectors of another model are ignored.
    model: String,
}

/// A unit vector for a record.
#[derive(Clone, Debug, PartialEq)]
pub struct NewVector {
    pub record: RecordKey,
    /// Hash of the embedded text, to detect that it changed.
    pub mark: u64,
    pub vector: Vec<f32>,
}

impl VectorFile {
    /// Returns the file of a model, without opening it.
    #[must_use]
    pub fn new(path: &Path, model: &str) -> Self {
        Self {
            path: path.to_owned(),
            model: model.to_owned(),
        }
    }

    /// Returns the records that have a vector, each with the mark of its text.
    #[must_use]
    pub fn load_marks(&self) -> HashMap<RecordKey, u64> {
        let mut known = HashMap::new();
        // A truncated file yields the rows before the cut; the rest is embedded again.
        let _ = self.for_each_row(|head, _| {
            if let Some((record, mark)) =
                Some(head).and_then(|head| Some((decode_record_key(head)?, decode_mark(head)?)))
            {
                known.insert(record, mark);
            }
        });
        known
    }

    /// Inserts or replaces vectors, and drops those of records that `keeps` rejects.
    ///
    /// # Errors
    /// When it cannot be written; the old file is then unchanged.
    pub fn upsert_vectors(
        &self,
        new: &[NewVector],
        keeps: impl Fn(&RecordKey) -> bool,
    ) -> io::Result<()> {
        let Some(dimensions) = new
            .first()
            .map(|one| one.vector.len())
            .or_else(|| self.open_rows().map(|it| it.0))
        else {
            return Ok(());
        };
        let mut bytes = format!(
            "{MAGIC} {dimensions} {}\n",
            self.model.replace(char::is_whitespace, "_")
        )
        .into_bytes();
        let replaced: std::collections::HashSet<&RecordKey> =
            new.iter().map(|one| &one.record).collect();
        // Another number of dimensions means that the model changed under the same name: start
        // over.
        if self
            .open_rows()
            .is_some_and(|(known, _)| known == dimensions)
        {
            self.for_each_row(|head, row| {
                if decode_record_key(head)
                    .is_some_and(|record| keeps(&record) && !replaced.contains(&record))
                {
                    bytes.extend_from_slice(head);
                    bytes.extend_from_slice(row);
                }
            })?;
        }
        for one in new
            .iter()
            .filter(|one| one.vector.len() == dimensions && keeps(&one.record))
        {
            let name = format!("{}/{}", one.record.kind, one.record.key);
            // Such a record is found by its words only; growing every row for it is not worth it.
            if name.len() > NAME_BYTES {
                continue;
            }
            let largest = one
                .vector
                .iter()
                .fold(0.0_f32, |most, it| most.max(it.abs()));
            // A scale per row uses the whole range of `i8`; `MIN_POSITIVE` avoids dividing a zero
            // vector by 0.
            let scale = (largest / 127.0).max(f32::MIN_POSITIVE);
            bytes.extend_from_slice(name.as_bytes());
            bytes.resize(bytes.len() + NAME_BYTES - name.len(), 0);
            bytes.extend_from_slice(&one.mark.to_le_bytes());
            bytes.extend_from_slice(&scale.to_le_bytes());
            bytes.extend(
                one.vector
                    .iter()
                    .map(|it| ((it / scale).round() as i8).to_ne_bytes()[0]),
            );
        }
        replace_file(&self.path, &bytes, Durability::Atomic)
    }

    /// Returns the records of these kinds nearest to a unit vector, nearest first, with their
    /// cosine similarity.
    #[must_use]
    pub fn find_nearest(
        &self,
        query: &[f32],
        kinds: &[&str],
        most: usize,
    ) -> Vec<(RecordKey, f32)> {
        let largest = query.iter().fold(0.0_f32, |most, it| most.max(it.abs()));
        let query_scale = (largest / 127.0).max(f32::MIN_POSITIVE);
        let query: Vec<i8> = query
            .iter()
            .map(|it| (it / query_scale).round() as i8)
            .collect();
        let mut best: Vec<(f32, RecordKey)> = Vec::with_capacity(most + 1);
        let _ = self.for_each_row(|head, row| {
            if row.len() != query.len() {
                return;
            }
            let scale = head
                .get(NAME_BYTES + 8..)
                .and_then(|bytes| bytes.try_into().ok())
                .map_or(0.0, f32::from_le_bytes);
            let score = dot_product(row, &query) as f32 * scale * query_scale;
            // Scored before the name is decoded: most rows end here, without an allocation.
            if best.len() >= most && best.last().is_some_and(|(worst, _)| score <= *worst) {
                return;
            }
            if let Some(record) =
                decode_record_key(head).filter(|record| kinds.contains(&record.kind.as_str()))
            {
                let at = best.partition_point(|(known, _)| *known >= score);
                best.insert(at, (score, record));
                best.truncate(most);
            }
        });
        best.into_iter()
            .map(|(score, record)| (record, score))
            .collect()
    }

    /// Opens the file if it is of this model, and returns the number of dimensions.
    fn open_rows(&self) -> Option<(usize, BufReader<File>)> {
        let mut file = BufReader::new(File::open(&self.path).ok()?);
        let mut line = String::new();
        Read::by_ref(&mut file)
            // A file without a line feed must not be read whole as its header.
            .take(512)
            .read_line(&mut line)
            .ok()?;
        let (dimensions, model) = line
            .trim_end()
            .strip_prefix(MAGIC)?
            .trim_start()
            .split_once(' ')?;
        let dimensions: usize = dimensions
            .parse()
            .ok()
            .filter(|it| (1..=65_536).contains(it))?;
        (model == self.model.replace(char::is_whitespace, "_")).then_some((dimensions, file))
    }

    /// Visits every row as header and vector.
    fn for_each_row(&self, mut visit: impl FnMut(&[u8], &[u8])) -> io::Result<()> {
        let Some((dimensions, mut file)) = self.open_rows() else {
            return Ok(());
        };
        let length = ROW_HEAD_BYTES + dimensions;
        let mut bytes = vec![0_u8; length * ROWS_PER_READ];
        loop {
            let read = read_full_buffer(&mut file, &mut bytes)?;
            for one in bytes.get(..read).unwrap_or_default().chunks_exact(length) {
                let (head, row) = one.split_at(ROW_HEAD_BYTES);
                visit(head, row);
            }
            if read < bytes.len() {
                return Ok(());
            }
        }
    }
}

/// Reads until the buffer is full or the file ends; `read` may return less.
fn read_full_buffer(file: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}

/// Decodes the record key of a row's header.
fn decode_record_key(head: &[u8]) -> Option<RecordKey> {
    let name = std::str::from_utf8(head.get(..NAME_BYTES)?)
        .ok()?
        .trim_end_matches('\0');
    let (kind, key) = name.split_once('/')?;
    Some(RecordKey {
        kind: kind.to_owned(),
        key: key.to_owned(),
    })
}

/// Decodes the mark of a row's header.
fn decode_mark(head: &[u8]) -> Option<u64> {
    head.get(NAME_BYTES..NAME_BYTES + 8)?
        .try_into()
        .ok()
        .map(u64::from_le_bytes)
}

/// Integer dot product, written so that the compiler vectorises it.
fn dot_product(row: &[u8], query: &[i8]) -> i32 {
    row.iter()
        .zip(query)
        .map(|(one, other)| i32::from(i8::from_ne_bytes([*one])) * i32::from(*other))
        .sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(kind: &str, key: &str) -> RecordKey {
        RecordKey {
            kind: kind.to_owned(),
            key: key.to_owned(),
        }
    }

    fn unit_vector(mut vector: Vec<f32>) -> Vec<f32> {
        let length = vector
            .iter()
            .map(|it| it * it)
            .sum::<f32>()
            .sqrt()
            .max(1e-6);
        vector.iter_mut().for_each(|it| *it /= length);
        vector
    }

    #[test]
    fn vectors_are_kept_replaced_and_dropped() {
        let directory = tempfile::TempDir::new().unwrap();
        let file = VectorFile::new(&directory.path().join("vectors.bin"), "p/m one");
        let new = |name: &str, mark, vector: Vec<f32>| NewVector {
            record: key("fact", name),
            mark,
            vector,
        };
        assert!(
            file.load_marks().is_empty() && file.find_nearest(&[1.0, 0.0], &["fact"], 3).is_empty()
        );
        file.upsert_vectors(
            &[new("F0", 1, vec![1.0, 0.0]), new("F1", 2, vec![0.0, 1.0])],
            |_| true,
        )
        .unwrap();
        file.upsert_vectors(
            &[new("F1", 3, vec![0.6, 0.8]), new("F2", 4, vec![-1.0, 0.0])],
            |it| it.key != "F0",
        )
        .unwrap();
        assert_eq!(
            file.load_marks(),
            HashMap::from([(key("fact", "F1"), 3), (key("fact", "F2"), 4)])
        );
        let found = file.find_nearest(&[0.8, 0.6], &["fact"], 3);
        assert_eq!(
            found
                .iter()
                .map(|(it, _)| it.key.as_str())
                .collect::<Vec<_>>(),
            ["F1", "F2"]
        );
        assert!((found[0].1 - 0.96).abs() < 0.02, "{found:?}");
        assert!(file.find_nearest(&[0.8, 0.6], &["scene"], 3).is_empty());
        assert!(
            VectorFile::new(&directory.path().join("vectors.bin"), "p/m two")
                .load_marks()
                .is_empty()
        );
        // A truncated file yields the rows before the cut, another kind of file none.
        let bytes = std::fs::read(directory.path().join("vectors.bin")).unwrap();
        let cut = directory.path().join("cut.bin");
        replace_file(&cut, &bytes[..bytes.len() - 1], Durability::Atomic).unwrap();
        assert_eq!(VectorFile::new(&cut, "p/m one").load_marks().len(), 1);
        replace_file(&cut, b"something else\n", Durability::Atomic).unwrap();
        assert!(VectorFile::new(&cut, "p/m one").load_marks().is_empty());
    }

    proptest! {
        /// A byte a dimension ranks as the numbers themselves do, where they differ by more than a
        /// byte can tell.
        #[test]
        fn the_nearest_is_the_nearest(vectors in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 16), 2..20), query in prop::collection::vec(-1.0_f32..1.0, 16)) {
            let directory = tempfile::TempDir::new().unwrap();
            let file = VectorFile::new(&directory.path().join("v"), "m");
            let (vectors, query): (Vec<Vec<f32>>, _) = (vectors.into_iter().map(unit_vector).collect(), unit_vector(query));
            let new: Vec<NewVector> = vectors.iter().enumerate()
                .map(|(index, vector)| NewVector { record: key("fact", &index.to_string()), mark: 0, vector: vector.clone() }).collect();
            file.upsert_vectors(&new, |_| true).unwrap();
            let cosine = |index: usize| vectors[index].iter().zip(&query).map(|(a, b)| a * b).sum::<f32>();
            let best = (0..vectors.len()).map(cosine).fold(f32::MIN, f32::max);
            let found = file.find_nearest(&query, &["fact"], 1);
            let chosen = cosine(found[0].0.key.parse().unwrap());
            prop_assert!(best - chosen < 0.03, "best {best}, chosen {chosen}");
        }
    }
}
