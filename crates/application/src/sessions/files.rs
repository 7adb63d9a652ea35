//! Renders session files from the committed state, under the write lock, so that no two processes
//! overwrite each other's.
//!
//! A file that cannot be written is reported and retried by the next command; the store has its
//! content in any case.

use domain::ids::Digest32;
use domain::ports::{FileFault, Reading, Snapshot, Transaction};
use domain::record;
use domain::secrets::mask;
use domain::session::{ARCHIVE, CurrentSession, MANIFEST, Session, SessionStatus, TEMPLATE};
use domain::session_log::{SessionText, TEMPLATE_TEXT, drawing_digest, merge};
use domain::stamp::Stamp;
use domain::trail::draw_some;
use serde::Serialize;

use super::trail_state::{log_of, trail_of};
use crate::context::Context;
use crate::failure::Failure;

/// Maximum size of a session file; its log only grows.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// Maximum number of children drawn per node.
const MOST_DRAWN: usize = 40;

/// A file that could not be written, and the reason.
type NotWritten = (String, String);

/// Brings a session's file and the manifest up to date.
pub(crate) fn render_session(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    stamp: &Stamp,
) -> Result<Result<(), NotWritten>, Failure> {
    let Some(session) = record::read::<Session>(&*tx, &stamp.to_string())? else {
        return Ok(Ok(()));
    };
    let path = session.file();
    let (text, drawing) = match text(ctx, tx, &session)? {
        Ok(found) => found,
        Err(why) => return Ok(Err((path, why))),
    };
    // Text from the store is masked already; what people added to the file is not.
    if let Err(fault) = ctx.files.replace(&path, &mask(&text)) {
        return Ok(Err((path, Failure::from(fault).message)));
    }
    // The digest identifies our own drawing; one that a person edited is moved to the notes instead
    // of being lost.
    let digest = drawing_digest(&drawing).to_string();
    tx.keep_note(&note_key(&session), Some(&digest), ctx.clock.now())?;
    if session.status == SessionStatus::Archived
        && let Err(not_written) = archived(ctx, tx, &session)?
    {
        return Ok(Err(not_written));
    }
    let manifest = serde_json::to_string_pretty(&manifest(&*tx)?).unwrap_or_default();
    let written = ctx.files.replace(MANIFEST, &format!("{manifest}\n"));
    Ok(written.map_err(|fault| (MANIFEST.to_owned(), Failure::from(fault).message)))
}

/// Returns the file's text, and the drawing in it.
fn text(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    session: &Session,
) -> Result<Result<(String, String), String>, Failure> {
    let active = Session {
        status: SessionStatus::Active,
        ..session.clone()
    }
    .file();
    // An archived session starts from the active file if it still exists: people's additions to it
    // have to survive the move.
    let known = match ctx.files.read(&active, MOST_BYTES) {
        Reading::Text { text, .. } => Some(text),
        Reading::Missing => match ctx.files.read(&session.file(), MOST_BYTES) {
            Reading::Text { text, .. } => Some(text),
            Reading::Missing => None,
            // Rendering from the template instead would replace a file that only cannot be read
            // now.
            Reading::Unreadable { why, .. } => return Ok(Err(why)),
        },
        Reading::Unreadable { why, .. } => return Ok(Err(why)),
    };
    let file = known.unwrap_or_else(|| template(ctx));
    let drawing = match trail_of(tx, session.clone(), true)? {
        Some(trail) => draw_some(&trail.excerpt(tx)?, MOST_DRAWN),
        None => String::new(),
    };
    let log = log_of(tx, session)?;
    let was: Option<Digest32> = tx
        .note(&note_key(session))?
        .and_then(|digest| digest.parse().ok());
    let ours = SessionText {
        session,
        hierarchy: &drawing,
        log: &log,
        hierarchy_was: was,
    };
    Ok(Ok((merge(&ours, &file), drawing)))
}

/// Returns the project's template; an unreadable one is replaced by the default.
fn template(ctx: &Context<'_>) -> String {
    match ctx.files.read(TEMPLATE, MOST_BYTES) {
        Reading::Text { text, .. } => text,
        Reading::Missing => {
            // Created on first use so that people find it and can adapt it. Failing is harmless.
            let _ = ctx.files.create(TEMPLATE, TEMPLATE_TEXT);
            TEMPLATE_TEXT.to_owned()
        }
        Reading::Unreadable { .. } => TEMPLATE_TEXT.to_owned(),
    }
}

/// Writes the archive (file and tree) and removes the active file.
fn archived(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    session: &Session,
) -> Result<Result<(), NotWritten>, Failure> {
    let tree = super::trail_state::whole(tx, session)?;
    let text = serde_json::to_string_pretty(&tree).unwrap_or_default();
    let path = format!("{ARCHIVE}/{}.json", session.stamp);
    let active = Session {
        status: SessionStatus::Active,
        ..session.clone()
    }
    .file();
    // The archive first: a crash in between leaves both files, never none.
    let done = ctx
        .files
        .replace(&path, &mask(&format!("{text}\n")))
        .and_then(|()| match ctx.files.remove(&active) {
            Err(FileFault::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                Ok(())
            }
            other => other,
        });
    Ok(done.map_err(|fault| (path, fault.to_string())))
}

fn note_key(session: &Session) -> String {
    format!("session-file/{}", session.stamp)
}

/// The list of sessions, as a file.
#[derive(Debug, Serialize)]
struct Manifest {
    sessions: Vec<Listed>,
    active_stamp: Option<String>,
}

#[derive(Debug, Serialize)]
struct Listed {
    stamp: String,
    file: String,
    status: &'static str,
}

fn manifest(state: &dyn Snapshot) -> Result<Manifest, Failure> {
    let mut sessions: Vec<Session> = record::read_all::<Session>(state, "")?
        .into_iter()
        .map(|(_, session)| session)
        .collect();
    sessions.sort_by_key(|session| (session.created, session.stamp.to_string()));
    let last =
        record::read::<CurrentSession>(state, CurrentSession::LAST)?.map(|current| current.stamp);
    let active = sessions.iter().filter(|session| session.is_active());
    let active_stamp = active.max_by_key(|session| (Some(session.stamp) == last, session.updated));
    let name = |session: &Session| match session.status {
        SessionStatus::Active => format!("{}.md", session.stamp),
        SessionStatus::Archived => format!("archive/{}.md", session.stamp),
    };
    Ok(Manifest {
        active_stamp: active_stamp.map(|session| session.stamp.to_string()),
        sessions: sessions
            .iter()
            .map(|session| Listed {
                stamp: session.stamp.to_string(),
                file: name(session),
                status: session.status.word(),
            })
            .collect(),
    })
}
