//! Lists the sessions of a project, or shows one with its log and file.

use domain::ports::{FileReadResult, Snapshot};
use domain::record;
use domain::session::{Session, SessionMode, SessionStatus};
use domain::session_log::format_log_entry;
use domain::stamp::Stamp;
use domain::time::Timestamp;
use serde::Serialize;

use super::trail_state::{load_log, load_trail, own_session, require_trail};
use crate::context::Context;
use crate::failure::Failure;

/// One session in the list.
#[derive(Clone, Debug, Serialize)]
pub struct SessionView {
    pub stamp: String,
    pub name: String,
    pub host: String,
    pub status: SessionStatus,
    pub mode: SessionMode,
    pub trajectory: Option<String>,
    pub cursor: Option<String>,
    pub from: Option<String>,
    pub created: Timestamp,
    pub updated: Timestamp,
    pub log_entries: u32,
    pub compaction_count: u32,
    pub file: String,
}

/// One session with its log and file.
#[derive(Clone, Debug, Serialize)]
pub struct SessionDetail {
    #[serde(flatten)]
    pub session: SessionView,
    pub next_compaction_report: Option<String>,
    pub log: Vec<String>,
    /// The session's file as it is on disk, with people's additions.
    pub text: Option<String>,
}

/// Returns every session, the latest first.
///
/// # Errors
/// When the project keeps no trail, or the state cannot be read.
pub fn list_sessions(ctx: &Context<'_>) -> Result<Vec<SessionView>, Failure> {
    require_trail(ctx)?;
    let state = ctx.store.begin_read()?;
    let mut sessions: Vec<Session> = record::read_records::<Session>(&*state, "")?
        .into_iter()
        .map(|(_, session)| session)
        .collect();
    sessions.sort_by_key(|session| std::cmp::Reverse((session.updated, session.stamp.to_string())));
    sessions
        .into_iter()
        .map(|session| session_view(&*state, session))
        .collect()
}

/// Returns one session: the named one, or the acting one.
///
/// # Errors
/// When there is no such session, or the state cannot be read.
pub fn show_session(ctx: &Context<'_>, stamp: Option<&str>) -> Result<SessionDetail, Failure> {
    require_trail(ctx)?;
    let state = ctx.store.begin_read()?;
    let session = find_session(ctx, &*state, stamp)?;
    let text = match ctx.files.read_file(&session.file_path(), 16 * 1024 * 1024) {
        FileReadResult::Text { text, .. } => Some(text),
        // The file is only a rendering; the session is shown without it.
        FileReadResult::Missing | FileReadResult::Unreadable { .. } => None,
    };
    Ok(SessionDetail {
        next_compaction_report: session.next_compaction_report.clone(),
        log: load_log(&*state, &session)?
            .iter()
            .map(format_log_entry)
            .collect(),
        text,
        session: session_view(&*state, session)?,
    })
}

/// Finds a session by its stamp; without one, the acting session.
pub(super) fn find_session(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    stamp: Option<&str>,
) -> Result<Session, Failure> {
    let found = match stamp {
        Some(text) => {
            let stamp: Stamp = text.parse()?;
            record::read_record::<Session>(state, &stamp.to_string())?
        }
        // Not the last session of the project: archiving another user's by default would be a
        // surprise.
        None => own_session(ctx, state)?,
    };
    found.ok_or_else(|| {
        let what = stamp.map_or_else(
            || "this session has declared no intent".to_owned(),
            |stamp| format!("there is no session `{stamp}`"),
        );
        Failure::not_found(what).with_step("tl trail session list")
    })
}

fn session_view(state: &dyn Snapshot, session: Session) -> Result<SessionView, Failure> {
    // A session whose trajectory was undone stays in the list, without its texts.
    let trail = load_trail(state, session.clone(), true)?;
    Ok(SessionView {
        stamp: session.stamp.to_string(),
        status: session.status,
        mode: session.mode,
        trajectory: trail
            .as_ref()
            .map(|trail| domain::trail::node_text(trail.root()).to_owned()),
        cursor: trail
            .as_ref()
            .map(|trail| domain::trail::node_text(trail.cursor()).to_owned()),
        from: session.from.map(|stamp| stamp.to_string()),
        created: session.created,
        updated: session.updated,
        log_entries: session.log_entries,
        compaction_count: session.compaction_count,
        file: session.file_path(),
        name: session.name,
        host: session.host,
    })
}
