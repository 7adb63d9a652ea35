//! Stat data of the files that a project's settings come from, to notice that one changed.

use std::path::Path;
use std::time::SystemTime;

use domain::decision::ALLOWED_SIGNERS_FILE;

use crate::project_file::CONFIG_FILE;
use crate::settings::PROFILES_FOLDER;

/// Size and time of each settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingsStamp(Vec<Option<(u64, SystemTime)>>);

impl SettingsStamp {
    /// Looks at the settings files of a project: `config.toml`, the signers whose decisions count, and
    /// the profiles of its own.
    pub(crate) fn of_project(root: &Path) -> Self {
        // Size and time only: a server looks several times a second, and reading would cost more
        // than the call.
        let stat = |path: &Path| {
            let found = path.metadata().ok()?;
            Some((found.len(), found.modified().ok()?))
        };
        let mut stamps = vec![
            stat(&root.join(CONFIG_FILE)),
            stat(&root.join(ALLOWED_SIGNERS_FILE)),
        ];
        if let Ok(folder) = root.join(PROFILES_FOLDER).read_dir() {
            let mut files: Vec<_> = folder.flatten().map(|entry| entry.path()).collect();
            // Directories list in any order; another order must not look like a change.
            files.sort();
            stamps.extend(files.iter().map(|file| stat(file)));
        }
        Self(stamps)
    }
}
