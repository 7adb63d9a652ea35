//! Which project it is.

use super::Key;

pub(super) const KEYS: &[Key] = &[Key {
    name: "project_id",
    default: "\"\"",
    allowed: "a UUID, written by `tl init`",
    environment: &[],
    text: "Identifies this project in a shared database, whatever its directory and its name are. It belongs into git: every clone has the same.",
    set: |settings, text| {
        settings.project_id = text.trim().to_owned();
        Ok(())
    },
}];
