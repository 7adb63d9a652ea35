//! Archives a session without a compaction.

use domain::operation::Verb;
use domain::session::{LogEntryKind, SessionStatus};
use serde::Serialize;

use super::list_sessions::find_session;
use super::session_change::SessionChange;
use super::trail_state::require_trail;
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, begin_transaction};

/// The archived session.
#[derive(Clone, Debug, Serialize)]
pub struct ArchiveOutcome {
    pub session: String,
    pub archive: String,
}

/// Archives a session: the named one, or the acting one.
///
/// # Errors
/// When there is no such session, it is already archived, or the state cannot be written.
pub fn archive_session(ctx: &Context<'_>, stamp: Option<&str>) -> Result<ArchiveOutcome, Failure> {
    require_trail(ctx)?;
    let mut tx = begin_transaction(ctx)?;
    let planned = PlannedFiles::new(ctx, None);
    let session = find_session(ctx, &*tx, stamp)?;
    // Not idempotent on purpose: a second archive would add a log entry to a closed session.
    if !session.is_active() {
        return Err(
            Failure::refused(format!("session `{}` is already archived", session.stamp))
                .with_step(format!("tl trail session show {}", session.stamp)),
        );
    }
    let mut change = SessionChange::for_session(&*tx, session)?;
    change.append_log(ctx, LogEntryKind::Compaction, "archived", None);
    change.session.status = SessionStatus::Archived;
    let summary = format!("archive session {}", change.session.stamp);
    let (session, _) = change.record_operation(ctx, &mut *tx, &planned, Verb::Compact, summary)?;
    planned.commit_and_write(ctx, tx)?;
    Ok(ArchiveOutcome {
        session: session.stamp.to_string(),
        archive: session.file_path(),
    })
}
