//! API key that is never printed or serialised.

use std::fmt;
use std::path::{Path, PathBuf};

/// An API key. `Debug` shows that there is one, nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Why a key file has no usable key.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("the key file `{path}` cannot be read")]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the key file `{path}` has no key on its first line")]
    Empty { path: PathBuf },
    #[error("the key file `{path}` holds characters that cannot be sent in a header")]
    Unsendable { path: PathBuf },
}

impl Secret {
    /// Returns the key in `text` without surrounding whitespace; `None` if it is blank.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        // Keys are pasted into files and variables with newlines and spaces around them.
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// Reads a key from the first line of a file.
    ///
    /// # Errors
    /// When the file cannot be read or its first line is not a key.
    pub fn from_file(path: &Path) -> Result<Self, KeyFileError> {
        let text = std::fs::read_to_string(path).map_err(|source| KeyFileError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let key = text
            .lines()
            .next()
            .and_then(Self::new)
            .ok_or_else(|| KeyFileError::Empty {
                path: path.to_owned(),
            })?;
        // Checked here, where the message can name the file; the HTTP library would quote the key.
        if key.0.chars().all(|letter| letter.is_ascii_graphic()) {
            Ok(key)
        } else {
            Err(KeyFileError::Unsendable {
                path: path.to_owned(),
            })
        }
    }

    /// Returns the key itself, for the one header it goes into.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_key_never_shows() {
        let key = Secret::new(" sk-very-secret \n").unwrap();
        assert_eq!(format!("{key:?}"), "Secret(…)");
        assert_eq!(key.reveal(), "sk-very-secret");
        assert_eq!(Secret::new(" \n"), None);
    }

    #[test]
    fn a_key_file_is_its_first_line() {
        let read = |text: &str| {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            Secret::from_file(file.path())
                .map(|key| key.reveal().to_owned())
                .map_err(|error| {
                    let text = error.to_string();
                    assert!(!text.contains("kéy"), "the message shows the key: {text}");
                    text.split('`').next_back().unwrap_or_default().to_owned()
                })
        };
        assert_eq!(read("abc\n# my key\n"), Ok("abc".to_owned()));
        assert_eq!(read("\n"), Err(" has no key on its first line".to_owned()));
        assert_eq!(
            read("kéy"),
            Err(" holds characters that cannot be sent in a header".to_owned())
        );
    }
}
