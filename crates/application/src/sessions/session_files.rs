//! Renders session files from the committed state, under the write lock, so that no two processes
//! overwrite each other's.
//!
//! A file that cannot be written is reported and retried by the next command; the store has its
//! content in any case.

use domain::ids::Digest32;
use domain::ports::{FileFault, FileReadResult, Snapshot, Transaction};
use domain::record;
use domain::secrets::mask_secrets;
use domain::session::{
    ARCHIVE_FOLDER, CurrentSession, MANIFEST_PATH, Session, SessionStatus, TEMPLATE_PATH,
};
use domain::session_log::{SessionText, TEMPLATE_TEXT, hierarchy_digest, merge_session_file};
use domain::stamp::Stamp;
use domain::trail::render_limited_tree;
use serde::Serialize;

use super::trail_state::{load_log, load_trail};
use crate::context::Context;
use crate::failure::Failure;
use crate::ignored_folders::apply_session_sharing;

/// Maximum size of a session file; its log only grows.
const MAX_SESSION_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Maximum number of children drawn per node.
const MAX_DRAWN_CHILDREN: usize = 40;

/// A file that could not be written, and the reason.
type WriteFailure = (String, String);

/// Brings a session's file and the manifest up to date.
pub(crate) fn render_session(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    stamp: &Stamp,
) -> Result<Result<(), WriteFailure>, Failure> {
    let Some(session) = record::read_record::<Session>(&*tx, &stamp.to_string())? else {
        return Ok(Ok(()));
    };
    let path = session.file_path();
    let (text, drawing) = match render_text(ctx, tx, &session)? {
        Ok(found) => found,
        Err(why) => return Ok(Err((path, why))),
    };
    apply_session_sharing(ctx);
    // Text from the store is masked already; what people added to the file is not.
    if let Err(fault) = ctx.files.replace_file(&path, &mask_secrets(&text)) {
        return Ok(Err((path, Failure::from(fault).message)));
    }
    // The digest identifies our own drawing; one that a person edited is moved to the notes instead
    // of being lost.
    let digest = hierarchy_digest(&drawing).to_string();
    tx.save_note(&drawing_note_key(&session), Some(&digest), ctx.clock.now())?;
    if session.status == SessionStatus::Archived
        && let Err(not_written) = write_archive(ctx, tx, &session)?
    {
        return Ok(Err(not_written));
    }
    let manifest = serde_json::to_string_pretty(&build_manifest(&*tx)?).unwrap_or_default();
    let written = ctx
        .files
        .replace_file(MANIFEST_PATH, &format!("{manifest}\n"));
    Ok(written.map_err(|fault| (MANIFEST_PATH.to_owned(), Failure::from(fault).message)))
}

/// Returns the file's text, and the drawing in it.
fn render_text(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    session: &Session,
) -> Result<Result<(String, String), String>, Failure> {
    let active = Session {
        status: SessionStatus::Active,
        ..session.clone()
    }
    .file_path();
    // An archived session starts from the active file if it still exists: people's additions to it
    // have to survive the move.
    let known = match ctx.files.read_file(&active, MAX_SESSION_FILE_BYTES) {
        FileReadResult::Text { text, .. } => Some(text),
        FileReadResult::Missing => match ctx
            .files
            .read_file(&session.file_path(), MAX_SESSION_FILE_BYTES)
        {
            FileReadResult::Text { text, .. } => Some(text),
            FileReadResult::Missing => None,
            // Rendering from the template instead would replace a file that only cannot be read
            // now.
            FileReadResult::Unreadable { why, .. } => return Ok(Err(why)),
        },
        FileReadResult::Unreadable { why, .. } => return Ok(Err(why)),
    };
    let file = known.unwrap_or_else(|| load_template(ctx));
    let drawing = match load_trail(tx, session.clone(), true)? {
        Some(trail) => render_limited_tree(&trail.excerpt(tx)?, MAX_DRAWN_CHILDREN),
        None => String::new(),
    };
    let log = load_log(tx, session)?;
    let was: Option<Digest32> = tx
        .load_note(&drawing_note_key(session))?
        .and_then(|digest| digest.parse().ok());
    let ours = SessionText {
        session,
        hierarchy: &drawing,
        log: &log,
        hierarchy_was: was,
    };
    Ok(Ok((merge_session_file(&ours, &file), drawing)))
}

/// Returns the project's template; an unreadable one is replaced by the default.
fn load_template(ctx: &Context<'_>) -> String {
    match ctx.files.read_file(TEMPLATE_PATH, MAX_SESSION_FILE_BYTES) {
        FileReadResult::Text { text, .. } => text,
        FileReadResult::Missing => {
            // Created on first use so that people find it and can adapt it. Failing is harmless.
            let _ = ctx.files.create_file(TEMPLATE_PATH, TEMPLATE_TEXT);
            TEMPLATE_TEXT.to_owned()
        }
        FileReadResult::Unreadable { .. } => TEMPLATE_TEXT.to_owned(),
    }
}

/// Writes the archive (file and tree) and removes the active file.
fn write_archive(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    session: &Session,
) -> Result<Result<(), WriteFailure>, Failure> {
    let tree = super::trail_state::load_whole_tree(tx, session)?;
    let text = serde_json::to_string_pretty(&tree).unwrap_or_default();
    let path = format!("{ARCHIVE_FOLDER}/{}.json", session.stamp);
    let active = Session {
        status: SessionStatus::Active,
        ..session.clone()
    }
    .file_path();
    // The archive first: a crash in between leaves both files, never none.
    let done = ctx
        .files
        .replace_file(&path, &mask_secrets(&format!("{text}\n")))
        .and_then(|()| match ctx.files.remove_file(&active) {
            Err(FileFault::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                Ok(())
            }
            other => other,
        });
    Ok(done.map_err(|fault| (path, fault.to_string())))
}

fn drawing_note_key(session: &Session) -> String {
    format!("session-file/{}", session.stamp)
}

/// The list of sessions, as a file.
#[derive(Debug, Serialize)]
struct Manifest {
    sessions: Vec<ManifestEntry>,
    active_stamp: Option<String>,
}

#[derive(Debug, Serialize)]
struct ManifestEntry {
    stamp: String,
    file: String,
    status: &'static str,
}

fn build_manifest(state: &dyn Snapshot) -> Result<Manifest, Failure> {
    let mut sessions: Vec<Session> = record::read_records::<Session>(state, "")?
        .into_iter()
        .map(|(_, session)| session)
        .collect();
    sessions.sort_by_key(|session| (session.created, session.stamp.to_string()));
    let last = record::read_record::<CurrentSession>(state, CurrentSession::LATEST_KEY)?
        .map(|current| current.stamp);
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
            .map(|session| ManifestEntry {
                stamp: session.stamp.to_string(),
                file: name(session),
                status: session.status.as_str(),
            })
            .collect(),
    })
}
