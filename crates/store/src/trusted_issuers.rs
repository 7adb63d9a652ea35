//! Per-user choice of the OAuth issuer whose access tokens the server of a project accepts.
//!
//! In the user's own directory, because a repository must not choose who may sign in.

use std::io;
use std::path::{Path, PathBuf};

use domain::access_token::AccessTokenRules;
use domain::ids::Digest32;

use crate::durable::{Durability, replace_file};
use crate::private_files::create_private_directory;

/// The user's choices, one file per project.
#[derive(Clone, Debug)]
pub struct TrustedIssuers {
    folder: PathBuf,
}

impl TrustedIssuers {
    /// Returns the choices kept below the user's state directory.
    #[must_use]
    pub fn in_state_directory(user_state: &Path) -> Self {
        Self {
            folder: user_state.join("issuers"),
        }
    }

    /// Returns the rules for the issuer of the project at `root`.
    ///
    /// # Errors
    /// When there is a choice that cannot be read: to go on without it would lock people out
    /// silently.
    pub fn load_rules(&self, root: &Path) -> io::Result<Option<AccessTokenRules>> {
        match std::fs::read(self.choice_file(root)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sets the rules of a project, or removes them with `None`.
    ///
    /// # Errors
    /// When the user's directory cannot be written.
    pub fn set_rules(&self, root: &Path, rules: Option<&AccessTokenRules>) -> io::Result<()> {
        let file = self.choice_file(root);
        match rules {
            Some(rules) => {
                create_private_directory(&self.folder)?;
                replace_file(&file, &serde_json::to_vec(rules)?, Durability::Synced)
            }
            None => match std::fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        }
    }

    fn choice_file(&self, root: &Path) -> PathBuf {
        // Canonical, so that a link to the project finds the same choice.
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        self.folder
            .join(Digest32::of_bytes(root.as_os_str().as_encoded_bytes()).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_project_has_its_own_issuer() {
        let home = tempfile::tempdir().unwrap();
        let (one, other) = (home.path().join("one"), home.path().join("other"));
        let issuers = TrustedIssuers::in_state_directory(home.path());
        let rules = AccessTokenRules::for_issuer("https://id.example.org");
        assert_eq!(issuers.load_rules(&one).unwrap(), None);
        issuers.set_rules(&one, Some(&rules)).unwrap();
        assert_eq!(issuers.load_rules(&one).unwrap(), Some(rules));
        assert_eq!(issuers.load_rules(&other).unwrap(), None);
        issuers.set_rules(&one, None).unwrap();
        issuers.set_rules(&one, None).unwrap();
        assert_eq!(issuers.load_rules(&one).unwrap(), None);
    }
}
