//! Takes over calls that an earlier hook of the session could not record, so that a session's own text
//! never counts as unread.

use domain::ids::VersionHash;
use domain::ports::{Snapshot, Transaction};
use domain::profile::locate_plan;
use domain::session_state::{MissedCall, SessionState};

use super::plans::find_recorded;
use crate::context::Context;
use crate::failure::Failure;
use crate::uncommitted::{load_authors, save_authors};

/// Remembers what the calls read and wrote, as their own hooks would have.
pub(super) fn take_over_missed_calls(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    missed: &[MissedCall],
    session: &mut SessionState,
) -> Result<(), Failure> {
    for call in missed {
        for (file, digest) in &call.texts {
            let Some(place) = locate_plan(ctx.profiles, file) else {
                let files = &mut session.conversation.read_files;
                files.insert(file.clone(), *digest);
                continue;
            };
            if let Some(node) = find_recorded(state, &place)?.node {
                let version = VersionHash(*digest);
                // As of the digest of that time: if the plan changed since, the session has to read
                // it again.
                session.conversation.read.insert(node.id, version);
            }
        }
        if call.may_change_anything || !call.files.is_empty() {
            // The remembered count misses these lines: the next edit counts again.
            session.work.uncommitted = None;
            session.work.uncounted = true;
        }
    }
    Ok(())
}

/// Records the session as the author of the files that the calls changed.
pub(super) fn record_missed_authors(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    missed: &[MissedCall],
) -> Result<(), Failure> {
    if missed.iter().all(|call| call.files.is_empty()) {
        return Ok(());
    }
    let mut authors = load_authors(ctx, &*tx);
    let mut is_new = false;
    for call in missed {
        is_new |= authors.record_writes(&ctx.session, &call.files);
    }
    match is_new {
        true => save_authors(ctx, tx, &authors),
        false => Ok(()),
    }
}
