//! Reads the files of a manuscript: a file, a folder, or a ZIP archive, each within limits.
//!
//! Nothing is unpacked to disk. Only the files that a reader needs are opened, links in a folder are not
//! followed, and a name in an archive that leaves it refuses the whole archive.

use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use domain::manuscript::{ManuscriptFiles, is_archive, is_text_file, is_wanted_file};
use domain::text::count_with_noun;
use thiserror::Error;
use zip::ZipArchive;

/// Maximum size of one file; a novel of a million words has 6 MB.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// Maximum size of all files together.
const MAX_TOTAL_BYTES: u64 = 256 * 1024 * 1024;
/// Maximum number of files in a folder or archive, needed or not.
const MAX_ENTRIES: usize = 100_000;
/// Maximum depth of folders.
const MAX_FOLDER_DEPTH: usize = 16;
/// A note is searched for the settings of Longform in this many bytes.
const SETTINGS_BYTES: usize = 4_096;

/// Why the files of a manuscript cannot be read.
#[derive(Debug, Error)]
pub enum ManuscriptFault {
    #[error("`{path}` does not exist")]
    Missing { path: String },
    #[error("cannot read `{path}`: {source}")]
    Io {
        path: String,
        source: std::io::Error,
    },
    #[error("`{path}` has more than {limit}")]
    TooLarge { path: String, limit: String },
    #[error("`{path}` is not a ZIP archive that can be read: {why}")]
    Archive { path: String, why: String },
    #[error("`{path}` is not a Markdown or plain text file, as each of several files has to be")]
    NotText { path: String },
    #[error("`{entry}` in `{path}` leads out of the archive")]
    Traversal { path: String, entry: String },
}

/// Reads a manuscript from disk: one file or folder, or the texts of its chapters.
///
/// # Errors
/// When it is missing, unreadable, larger than the limits, or an archive that is damaged or hostile.
pub fn read_manuscript_files(paths: &[PathBuf]) -> Result<ManuscriptFiles, ManuscriptFault> {
    match paths {
        [path] => read_manuscript_at(path),
        paths => read_chapter_files(paths),
    }
}

/// Reads several texts as the files of one manuscript.
fn read_chapter_files(paths: &[PathBuf]) -> Result<ManuscriptFiles, ManuscriptFault> {
    let mut all = ManuscriptFiles {
        name: count_with_noun(paths.len(), "file", "files"),
        ..ManuscriptFiles::default()
    };
    // Folders above all of them are no parts of the book.
    let mut above = paths.first().and_then(|path| path.parent());
    while above.is_some_and(|above| !paths.iter().all(|path| path.starts_with(above))) {
        above = above.and_then(Path::parent);
    }
    let mut total = 0;
    for path in paths {
        let shown = path.display().to_string();
        let mut read = read_manuscript_at(path)?;
        let Some(bytes) = read.main.and_then(|main| read.files.remove(&main)) else {
            return Err(ManuscriptFault::NotText { path: shown });
        };
        if !is_text_file(&shown) {
            return Err(ManuscriptFault::NotText { path: shown });
        }
        total += bytes.len() as u64;
        if total > MAX_TOTAL_BYTES {
            let limit = format!("{} MB of text", MAX_TOTAL_BYTES / (1024 * 1024));
            return Err(ManuscriptFault::TooLarge { path: shown, limit });
        }
        let below = above.and_then(|above| path.strip_prefix(above).ok());
        let name = below.unwrap_or(path).display().to_string();
        all.files.insert(name, bytes);
    }
    Ok(all)
}

fn read_manuscript_at(path: &Path) -> Result<ManuscriptFiles, ManuscriptFault> {
    let shown = path.display().to_string();
    let found = fs::metadata(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => ManuscriptFault::Missing {
            path: shown.clone(),
        },
        _ => ManuscriptFault::Io {
            path: shown.clone(),
            source,
        },
    })?;
    let mut reader = FileCollector {
        shown,
        total: 0,
        entries: 0,
        files: ManuscriptFiles {
            name: path
                .file_name()
                .unwrap_or(path.as_os_str())
                .to_string_lossy()
                .into_owned(),
            ..ManuscriptFiles::default()
        },
    };
    if found.is_dir() {
        reader.read_folder(path, "", 0)?;
    } else {
        reader.read_named_file(path)?;
    }
    Ok(reader.files)
}

struct FileCollector {
    /// The path as it was given, for messages.
    shown: String,
    total: u64,
    entries: usize,
    files: ManuscriptFiles,
}

impl FileCollector {
    fn read_named_file(&mut self, path: &Path) -> Result<(), ManuscriptFault> {
        let file = File::open(path).map_err(|source| self.io_fault(source))?;
        let bytes = self.read_limited(file)?;
        if is_archive(&bytes) {
            return self.read_archive(bytes);
        }
        let name = self.files.name.clone();
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        let is_project = matches!(&*extension, "nwx" | "scrivx");
        let start = bytes
            .get(..bytes.len().min(SETTINGS_BYTES))
            .unwrap_or_default();
        let is_index = extension == "md" && String::from_utf8_lossy(start).contains("\nlongform:");
        if is_project || is_index {
            // The book is in the files beside it.
            self.total = 0;
            let absolute = std::path::absolute(path).map_err(|source| self.io_fault(source))?;
            let folder = absolute.parent().map(PathBuf::from).unwrap_or_default();
            self.read_folder(&folder, "", 0)?;
        }
        self.files.main = Some(name.clone());
        self.files.files.insert(name, bytes);
        Ok(())
    }

    fn read_folder(
        &mut self,
        folder: &Path,
        below: &str,
        depth: usize,
    ) -> Result<(), ManuscriptFault> {
        let entries = fs::read_dir(folder).map_err(|source| self.io_fault(source))?;
        for entry in entries {
            let entry = entry.map_err(|source| self.io_fault(source))?;
            self.count_entry()?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // The type of the entry itself: a link is neither, and is not followed.
            let kind = entry.file_type().map_err(|source| self.io_fault(source))?;
            let path = match below {
                "" => name.clone(),
                below => format!("{below}/{name}"),
            };
            if kind.is_dir() && !name.starts_with('.') && depth < MAX_FOLDER_DEPTH {
                self.read_folder(&entry.path(), &path, depth + 1)?;
            } else if kind.is_file() && is_wanted_file(&path) {
                let file = File::open(entry.path()).map_err(|source| self.io_fault(source))?;
                let bytes = self.read_limited(file)?;
                self.files.files.insert(path, bytes);
            }
        }
        Ok(())
    }

    fn read_archive(&mut self, bytes: Vec<u8>) -> Result<(), ManuscriptFault> {
        let shown = self.shown.clone();
        let damaged = |why: zip::result::ZipError| ManuscriptFault::Archive {
            path: shown.clone(),
            why: why.to_string(),
        };
        self.total = 0;
        let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(damaged)?;
        for index in 0..archive.len() {
            self.count_entry()?;
            let entry = archive.by_index(index).map_err(damaged)?;
            let name = entry.name().map_err(damaged)?.into_owned();
            // Checked for every entry: an archive with one such name was made to do harm.
            if entry.enclosed_name().is_none() || name.contains('\\') {
                return Err(ManuscriptFault::Traversal {
                    path: self.shown.clone(),
                    entry: name,
                });
            }
            if entry.is_file() && is_wanted_file(&name) {
                // The size in the header may be a lie, so the limit is on what comes out.
                let bytes = self.read_limited(entry)?;
                self.files.files.insert(name, bytes);
            }
        }
        Ok(())
    }

    fn count_entry(&mut self) -> Result<(), ManuscriptFault> {
        self.entries += 1;
        match self.entries > MAX_ENTRIES {
            true => Err(self.too_large(format!("{MAX_ENTRIES} files"))),
            false => Ok(()),
        }
    }

    fn read_limited(&mut self, file: impl Read) -> Result<Vec<u8>, ManuscriptFault> {
        let room = MAX_FILE_BYTES.min(MAX_TOTAL_BYTES.saturating_sub(self.total));
        let mut bytes = Vec::new();
        file.take(room + 1)
            .read_to_end(&mut bytes)
            .map_err(|source| self.io_fault(source))?;
        let size = bytes.len() as u64;
        if size > room {
            let limit = match room < MAX_FILE_BYTES {
                true => format!("{} MB of text", MAX_TOTAL_BYTES / (1024 * 1024)),
                false => format!("{} MB in one file", MAX_FILE_BYTES / (1024 * 1024)),
            };
            return Err(self.too_large(limit));
        }
        self.total += size;
        Ok(bytes)
    }

    fn too_large(&self, limit: String) -> ManuscriptFault {
        ManuscriptFault::TooLarge {
            path: self.shown.clone(),
            limit,
        }
    }

    fn io_fault(&self, source: std::io::Error) -> ManuscriptFault {
        ManuscriptFault::Io {
            path: self.shown.clone(),
            source,
        }
    }
}
