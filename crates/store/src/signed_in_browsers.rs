//! Browsers that are signed in to the dashboard of a project, kept per user across restarts of
//! `tl serve`.
//!
//! Only digests of the cookies are kept, in a private file of the user: a program that reads it, an agent
//! with the user's rights among them, cannot sign in with it. A kept start-up token was rejected
//! for that reason.

use std::io;
use std::path::{Path, PathBuf};

use domain::ids::Digest32;
use domain::time::Timestamp;

use crate::durable::{Durability, replace_file};
use crate::private_files::create_private_directory;

/// Time after which a browser has to sign in again.
const MAX_SESSION_MILLIS: i64 = 30 * 24 * 60 * 60 * 1000;
/// Maximum number of browsers; the oldest are signed out first.
const MAX_SESSIONS: usize = 100;

/// The signed-in browsers of one project.
#[derive(Clone, Debug)]
pub struct SignedInBrowsers {
    folder: PathBuf,
    file: PathBuf,
}

impl SignedInBrowsers {
    /// Returns the browsers of the project at `root`, kept below the user's state directory.
    #[must_use]
    pub fn in_state_directory(user_state: &Path, root: &Path) -> Self {
        // Canonical, so that a link to the project finds the same browsers.
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let folder = user_state.join("browsers");
        let name = Digest32::of_bytes(root.as_os_str().as_encoded_bytes()).to_string();
        Self {
            file: folder.join(name),
            folder,
        }
    }

    /// Returns the digests of the cookies that are valid now. A damaged line signs its browser out.
    #[must_use]
    pub fn load_valid(&self, now: Timestamp) -> Vec<Digest32> {
        let found = self.load_lines(now).into_iter();
        found.map(|(cookie, _)| cookie).collect()
    }

    /// Adds a browser that signed in.
    ///
    /// # Errors
    /// When the user's directory cannot be written.
    pub fn add(&self, cookie: Digest32, now: Timestamp) -> io::Result<()> {
        let mut lines = self.load_lines(now);
        lines.push((cookie, now));
        let surplus = lines.len().saturating_sub(MAX_SESSIONS);
        let text: String = lines
            .iter()
            .skip(surplus)
            .map(|(cookie, at)| format!("{cookie} {}\n", at.as_millis()))
            .collect();
        create_private_directory(&self.folder)?;
        replace_file(&self.file, text.as_bytes(), Durability::Synced)
    }

    /// Signs every browser out; returns whether there was one.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn sign_out_all(&self) -> io::Result<bool> {
        match std::fs::remove_file(&self.file) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn load_lines(&self, now: Timestamp) -> Vec<(Digest32, Timestamp)> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        let parse = |line: &str| {
            let (cookie, at) = line.split_once(' ')?;
            Some((
                cookie.parse().ok()?,
                Timestamp::from_millis(at.parse().ok()?),
            ))
        };
        // Also a time in the future is no valid one: a clock that was wrong must not keep a browser
        // signed in for years.
        let is_valid =
            |at: Timestamp| (0..MAX_SESSION_MILLIS).contains(&(now.as_millis() - at.as_millis()));
        text.lines()
            .filter_map(parse)
            .filter(|(_, at)| is_valid(*at))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_browser_stays_signed_in_for_a_month_in_a_private_file() {
        let home = tempfile::tempdir().unwrap();
        let root = tempfile::tempdir().unwrap();
        let browsers = SignedInBrowsers::in_state_directory(home.path(), root.path());
        let at = |days: i64| Timestamp::from_millis(days * 24 * 60 * 60 * 1000);
        let cookie = |name: &str| Digest32::of_bytes(name.as_bytes());
        browsers.add(cookie("a"), at(100)).unwrap();
        browsers.add(cookie("b"), at(120)).unwrap();
        let again = SignedInBrowsers::in_state_directory(home.path(), root.path());
        assert_eq!(again.load_valid(at(121)), [cookie("a"), cookie("b")]);
        assert_eq!(again.load_valid(at(131)), [cookie("b")]);
        assert_eq!(again.load_valid(at(99)), []);
        let other = tempfile::tempdir().unwrap();
        let others = SignedInBrowsers::in_state_directory(home.path(), other.path());
        assert_eq!(others.load_valid(at(121)), []);
        let mode = std::fs::metadata(&again.file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(again.sign_out_all().unwrap());
        assert!(!again.sign_out_all().unwrap());
        assert_eq!(again.load_valid(at(121)), []);
    }
}
