//! JSON Lines files: append one entry, read all entries.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{ErrorClass, LlmResult};

/// Reads all entries; a missing file has none. A last line without a newline was cut off while it
/// was written and is skipped.
pub(crate) fn read_json_lines<T: DeserializeOwned>(path: &Path) -> LlmResult<Vec<T>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(ErrorClass::Setup
                .error(format!(
                    "cannot read the recording `{}`: {error}",
                    path.display()
                ))
                .with_first_step("check the path and its permissions"));
        }
    };
    // Only up to the last newline.
    let whole = text
        .rfind('\n')
        .map_or("", |end| text.get(..end).unwrap_or_default());
    let parse = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            let what = format!(
                "line {} of the recording `{}` is not valid: {error}",
                number + 1,
                path.display()
            );
            ErrorClass::Setup
                .error(what)
                .with_first_step("delete that line, or record again")
        })
    };
    whole
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(parse)
        .collect()
}

/// Appends one entry; creates the directory if needed.
pub(crate) fn append_json_line<T: Serialize>(path: &Path, entry: &T) -> LlmResult<()> {
    let write = || -> std::io::Result<()> {
        if let Some(directory) = path.parent() {
            DirBuilder::new()
                .recursive(true)
                // Recordings contain prompts and plans, so only the owner may read them.
                .mode(0o700)
                .create(directory)?;
        }
        let mut line = serde_json::to_string(entry)?;
        line.push('\n');
        // One write in append mode, so that the lines of two recording processes do not mix.
        OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(path)?
            .write_all(line.as_bytes())
    };
    write().map_err(|error| {
        ErrorClass::Setup
            .error(format!(
                "the recording `{}` cannot be written: {error}",
                path.display()
            ))
            .with_first_step("check the path and the space on the disk")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_and_a_cut_one_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/tape.jsonl");
        assert_eq!(read_json_lines::<u32>(&path).unwrap(), Vec::<u32>::new());
        append_json_line(&path, &1_u32).unwrap();
        append_json_line(&path, &2_u32).unwrap();
        OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"{\"cut")
            .unwrap();
        assert_eq!(read_json_lines::<u32>(&path).unwrap(), vec![1_u32, 2]);
        OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"\n")
            .unwrap();
        assert!(
            read_json_lines::<u32>(&path)
                .unwrap_err()
                .what
                .starts_with("line 3 of the recording")
        );
    }
}
