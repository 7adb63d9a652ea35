//! Archives a session without a compaction.

use domain::operation::Verb;
use domain::session::{EntryKind, SessionStatus};
use serde::Serialize;

use super::change::Change;
use super::list_sessions::named;
use super::trail_state::kept;
use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::file_writes::{PlannedFiles, begin};

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
    kept(ctx)?;
    let mut tx = begin(ctx)?;
    let planned = PlannedFiles::of(ctx, None);
    let session = named(ctx, &*tx, stamp)?;
    // Not idempotent on purpose: a second archive would add a log entry to a closed session.
    if !session.is_active() {
        return Err(Failure::new(
            FailureKind::Refused,
            format!("session `{}` is already archived", session.stamp),
        )
        .step(format!("tl session show {}", session.stamp)));
    }
    let mut change = Change::of(&*tx, session)?;
    change.log(ctx, EntryKind::Compaction, "archived", None);
    change.session.status = SessionStatus::Archived;
    let summary = format!("archive session {}", change.session.stamp);
    let (session, _) = change.finish(ctx, &mut *tx, &planned, Verb::Compact, summary)?;
    planned.commit(ctx, tx)?;
    Ok(ArchiveOutcome {
        session: session.stamp.to_string(),
        archive: session.file(),
    })
}
