//! Folders of ours that git ignores by a `.gitignore` of their own.
//!
//! Noticing a change writes backups and session files; without these the user's working tree would be
//! dirty afterwards. The file covers itself, so it needs no commit and works on every branch.

use domain::ports::FileReadResult;
use domain::session::SESSIONS_FOLDER;

use crate::context::Context;

/// Ignores everything in the folder, this file included.
const IGNORE_ALL: &str = "*\n";

/// Gives a folder a `.gitignore` that covers everything in it.
pub(crate) fn keep_out_of_git(ctx: &Context<'_>, folder: &str) {
    // An existing file may be the user's and stays. One that cannot be written costs a line in
    // `git status`, which is no reason to lose a backup.
    let _ = ctx
        .files
        .create_file(&format!("{folder}/.gitignore"), IGNORE_ALL);
}

/// Keeps session files out of git, or in it where the project shares them.
pub(crate) fn apply_session_sharing(ctx: &Context<'_>) {
    if !ctx.shares_sessions {
        keep_out_of_git(ctx, SESSIONS_FOLDER);
        return;
    }
    let path = format!("{SESSIONS_FOLDER}/.gitignore");
    // Removed only if it is ours.
    let ours = matches!(
        ctx.files.read_file(&path, 64),
        FileReadResult::Text { text, .. } if text == IGNORE_ALL
    );
    if ours {
        let _ = ctx.files.remove_file(&path);
    }
}
