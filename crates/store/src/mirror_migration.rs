//! Migration of the mirror from `.throughline/state`, where git tracked it, to `.throughline/mirror`.
//!
//! Runs once per working copy, whichever command or hook opens it first, and changes no tracked
//! file: where git tracks the former folder, its files stay, so that the working tree stays clean and
//! branches from before and after the migration can be checked out. Telling the user, and rewriting
//! the tracked `.gitignore`, is left to the next command.

use std::fs;

use domain::session::SESSIONS_FOLDER;

use crate::durable::{Durability, replace_file};
use crate::git::tracks_files_below;
use crate::layout::Layout;
use crate::mirror::Mirror;

/// Note in the mirror's folder. It lies there because an older `.gitignore` of the project, checked
/// out with an older branch, would show it anywhere else.
const NOTE_FILE: &str = "migration";
const ANNOUNCED: &str = "announced\n";
const PENDING: &str = "pending\n";

/// The folder of the mirror before it left git, relative to the project.
pub const FORMER_MIRROR_FOLDER: &str = ".throughline/state";

/// What the user has to be told about the migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MirrorMigration {
    /// Git tracks files of the former folder, which are left as they are.
    pub tracked: bool,
    /// Git tracks session files.
    pub tracks_sessions: bool,
}

/// Moves the mirror, or leaves it where git tracks it. Errors are ignored: the mirror is a copy, and
/// the next command tries again.
pub(crate) fn migrate_mirror(layout: &Layout) {
    let Some(former) = &layout.former_mirror else {
        return;
    };
    // One `stat` for every command and hook of a migrated project.
    let migrated = layout.mirror.join("head.json").exists()
        || !former.join("head.json").is_file()
        || layout.mirror.join(NOTE_FILE).exists();
    if migrated {
        return;
    }
    // A link in the place of the folder may have come with a repository and lead anywhere.
    let is_folder = fs::symlink_metadata(former).is_ok_and(|metadata| metadata.is_dir());
    if is_folder && !tracks_files_below(&layout.root, FORMER_MIRROR_FOLDER) {
        // The one step that matters: before it the mirror is there, after it here.
        let _ = fs::rename(former, &layout.mirror);
    }
    let _ = Mirror::new(&layout.mirror)
        .create_folder()
        .and_then(|()| write_note(layout, PENDING));
}

/// Returns the migration the user was not told about yet.
#[must_use]
pub fn pending_mirror_migration(layout: &Layout) -> Option<MirrorMigration> {
    let note = fs::read_to_string(layout.mirror.join(NOTE_FILE)).ok()?;
    (note == PENDING).then(|| MirrorMigration {
        tracked: tracks_files_below(&layout.root, FORMER_MIRROR_FOLDER),
        tracks_sessions: tracks_files_below(&layout.root, SESSIONS_FOLDER),
    })
}

/// Records that the user was told.
pub fn mark_migration_announced(layout: &Layout) {
    // Without the note the message is repeated, which does no harm.
    let _ = write_note(layout, ANNOUNCED);
}

fn write_note(layout: &Layout, text: &str) -> std::io::Result<()> {
    // By a rename, which follows no link that came with a repository.
    replace_file(
        &layout.mirror.join(NOTE_FILE),
        text.as_bytes(),
        Durability::Atomic,
    )
}
