//! The files of a manuscript as bytes, and which files of a folder or archive are needed at all.

use std::collections::BTreeMap;

use super::ManuscriptRefused;

/// The files of a manuscript, by their paths below the folder or archive.
#[derive(Clone, Debug, Default)]
pub struct ManuscriptFiles {
    /// Name of the file or folder, for messages.
    pub name: String,
    /// The file that was named, where others are beside it.
    pub main: Option<String>,
    pub files: BTreeMap<String, Vec<u8>>,
}

/// Returns whether a file is needed to read a manuscript: images and snapshots are not even opened.
#[must_use]
pub fn is_wanted_file(path: &str) -> bool {
    // Former versions of documents, which Scrivener keeps beside the present ones.
    if path.contains("Snapshots/") {
        return false;
    }
    is_text_file(path)
        || matches!(
            &*extension_of(path),
            "rtf" | "xml" | "scrivx" | "nwx" | "nwd"
        )
}

/// Returns whether a file is Markdown or plain text, by its extension.
#[must_use]
pub fn is_text_file(path: &str) -> bool {
    is_markdown(path) || is_plain_text(path)
}

pub(super) fn is_markdown(path: &str) -> bool {
    matches!(&*extension_of(path), "md" | "markdown" | "mdown")
}

pub(super) fn is_plain_text(path: &str) -> bool {
    matches!(&*extension_of(path), "txt" | "text")
}

fn extension_of(path: &str) -> String {
    path.rsplit('.').next().unwrap_or_default().to_lowercase()
}

/// Returns whether a file is a ZIP archive, by its first bytes.
#[must_use]
pub fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

impl ManuscriptFiles {
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Returns the named file, or the only one.
    pub(super) fn main_file(&self) -> Option<&str> {
        let mut paths = self.paths();
        match &self.main {
            Some(main) => Some(main),
            None => paths.next().filter(|_| paths.next().is_none()),
        }
    }

    /// Returns the texts among the files, by their extensions.
    pub(super) fn text_files(&self) -> impl Iterator<Item = &str> {
        self.paths().filter(|path| is_text_file(path))
    }

    pub(super) fn bytes_of(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// Returns a file as text: UTF-8, or UTF-16 with a byte-order mark.
    pub(super) fn text_of(&self, path: &str) -> Result<String, ManuscriptRefused> {
        let refuse = |why: &str| ManuscriptRefused::NotText {
            file: path.to_owned(),
            why: why.to_owned(),
        };
        let bytes = self
            .bytes_of(path)
            .ok_or_else(|| refuse("it is not there"))?;
        // Other encodings cannot be told apart without guessing, and a wrong guess turns every accented
        // letter of the book into something else.
        let encoding = encoding_rs::Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
        let (text, _, is_damaged) = encoding.unwrap_or(encoding_rs::UTF_8).decode(bytes);
        if is_damaged {
            return Err(refuse("expected UTF-8; save it in that encoding"));
        }
        if text.contains('\0') {
            return Err(refuse("it contains zero bytes"));
        }
        Ok(text.replace("\r\n", "\n").replace('\r', "\n"))
    }
}
