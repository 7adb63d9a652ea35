//! Session files: rendered from the store while the right to write is held, so that no two processes undo each other's.
//!
//! What cannot be written is told; the store has it in any case.

use domain::ids::Digest32;
use domain::ports::{FileFault, Reading, Snapshot, Transaction};
use domain::record;
use domain::secrets::mask;
use domain::session::{ARCHIVE, CurrentSession, MANIFEST, Session, SessionStatus, TEMPLATE};
use domain::session_log::{SessionText, TEMPLATE_TEXT, drawing_digest, merge};
use domain::trail::draw_some;
use serde::Serialize;

use super::trail_state::{log_of, trail_of};
use crate::context::{Context, Noticed};
use crate::failure::Failure;

/// A session file may be long: its log only grows.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// So many children of a node are drawn.
const MOST_DRAWN: usize = 40;

/// Brings a session's file and the manifest up to date.
pub(super) fn render(ctx: &Context<'_>, tx: &mut dyn Transaction, session: &Session) -> Result<(), Failure> {
    let path = session.file();
    match written(ctx, tx, session, &path)? {
        Ok(()) => {}
        Err(why) => ctx.notice(Noticed::NotWritten { path, why }),
    }
    Ok(())
}

fn written(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    session: &Session,
    path: &str,
) -> Result<Result<(), String>, Failure> {
    let (text, drawing) = match text(ctx, tx, session)? {
        Ok(found) => found,
        Err(why) => return Ok(Err(why)),
    };
    // What comes from the store is masked already; what somebody wrote into the file is not.
    if let Err(fault) = ctx.files.replace(path, &mask(&text)) {
        return Ok(Err(fault.to_string()));
    }
    let digest = drawing_digest(&drawing).to_string();
    tx.keep_note(&note_key(session), Some(&digest), ctx.clock.now())?;
    if session.status == SessionStatus::Archived {
        archived(ctx, tx, session)?;
    }
    let manifest = serde_json::to_string_pretty(&manifest(&*tx)?).unwrap_or_default();
    Ok(ctx.files.replace(MANIFEST, &format!("{manifest}\n")).map_err(|fault| fault.to_string()))
}

/// Returns the file's text and the drawing in it.
fn text(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    session: &Session,
) -> Result<Result<(String, String), String>, Failure> {
    let active = Session { status: SessionStatus::Active, ..session.clone() }.file();
    // What is archived was made from the active file, if that is still there.
    let known = match ctx.files.read(&active, MOST_BYTES) {
        Reading::Text { text, .. } => Some(text),
        Reading::Missing => match ctx.files.read(&session.file(), MOST_BYTES) {
            Reading::Text { text, .. } => Some(text),
            Reading::Missing => None,
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
    let was: Option<Digest32> = tx.note(&note_key(session))?.and_then(|digest| digest.parse().ok());
    let ours = SessionText { session, hierarchy: &drawing, log: &log, hierarchy_was: was };
    Ok(Ok((merge(&ours, &file), drawing)))
}

/// Returns the project's template; one that cannot be read is as good as none.
fn template(ctx: &Context<'_>) -> String {
    match ctx.files.read(TEMPLATE, MOST_BYTES) {
        Reading::Text { text, .. } => text,
        Reading::Missing => {
            // So that people find what they can change.
            let _ = ctx.files.create(TEMPLATE, TEMPLATE_TEXT);
            TEMPLATE_TEXT.to_owned()
        }
        Reading::Unreadable { .. } => TEMPLATE_TEXT.to_owned(),
    }
}

/// The archive holds the file and the tree; the active file goes.
fn archived(ctx: &Context<'_>, tx: &dyn Transaction, session: &Session) -> Result<(), Failure> {
    let tree = super::trail_state::whole(tx, session)?;
    let text = serde_json::to_string_pretty(&tree).unwrap_or_default();
    let path = format!("{ARCHIVE}/{}.json", session.stamp);
    let active = Session { status: SessionStatus::Active, ..session.clone() }.file();
    let done = ctx.files.replace(&path, &mask(&format!("{text}\n"))).and_then(|()| match ctx.files.remove(&active) {
        Err(FileFault::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    });
    if let Err(fault) = done {
        ctx.notice(Noticed::NotWritten { path, why: fault.to_string() });
    }
    Ok(())
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
    let mut sessions: Vec<Session> =
        record::read_all::<Session>(state, "")?.into_iter().map(|(_, session)| session).collect();
    sessions.sort_by_key(|session| (session.created, session.stamp.to_string()));
    let last = record::read::<CurrentSession>(state, CurrentSession::LAST)?.map(|current| current.stamp);
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
