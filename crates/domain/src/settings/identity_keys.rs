//! Setting key of the project's identity: `project_id`.

use super::SettingKey;

pub(super) const KEYS: &[SettingKey] = &[SettingKey {
    name: "project_id",
    default: "\"\"",
    allowed: "a UUID, written by `tl init`",
    environment: &[],
    text: "Identifies this project in a shared database, independent of its directory and name. Commit it to git: every clone has the same id.",
    set: |settings, text| {
        settings.project_id = text.trim().to_owned();
        Ok(())
    },
}];
