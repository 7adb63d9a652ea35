//! Live sessions and the files they touched, as rows of the coordination database.

use domain::ports::{LiveSession, NodeKey, SessionActivity};
use domain::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::KnownWorktrees;
use super::worktree::CoordinationPlace;

/// Minimum time between two records of a session that does nothing new.
const RECORD_INTERVAL_MS: i64 = 30_000;
/// Maximum number of files remembered per session and worktree, the newest.
const MAX_TOUCHED_FILES: i64 = 200;
/// How long a silent session is remembered.
const SESSION_RETENTION_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// Returns the sessions heard of since `since`, in existing worktrees, the most recent first.
pub(super) fn list_sessions(
    connection: &Connection,
    place: &CoordinationPlace,
    since: Timestamp,
) -> rusqlite::Result<Vec<LiveSession>> {
    let mut worktrees = KnownWorktrees::new(place);
    let mut statement = connection.prepare_cached(
        "SELECT session, profile, path, heard, worktree, made, folder FROM session \
         WHERE project = ?1 AND heard >= ?2 ORDER BY heard DESC, session",
    )?;
    let mut files = connection.prepare_cached(
        "SELECT file FROM touched WHERE project = ?1 AND session = ?2 AND worktree = ?3 \
         ORDER BY at DESC, file",
    )?;
    let mut rows = statement.query(params![place.project, since.as_millis()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(worktree) = worktrees.find_worktree(row, 4)? else {
            continue;
        };
        let session: String = row.get(0)?;
        let name: String = row.get(4)?;
        let touched = files
            .query_map(params![place.project, session, name], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let focus = row
            .get::<_, Option<String>>(1)?
            .zip(row.get::<_, Option<String>>(2)?)
            .map(|(profile, path)| NodeKey { profile, path });
        found.push(LiveSession {
            session,
            worktree,
            focus,
            touched,
            heard: Timestamp::from_millis(row.get(3)?),
        });
    }
    Ok(found)
}

/// Whether an activity needs no write: the session was recorded lately, with the same focus, and
/// every file is known.
pub(super) fn is_up_to_date(
    connection: &Connection,
    place: &CoordinationPlace,
    activity: &SessionActivity<'_>,
) -> rusqlite::Result<bool> {
    let worktree = &place.worktree;
    let focus = activity.focus;
    let is_recent: Option<bool> = connection
        .prepare_cached(
            "SELECT heard > ?4 AND profile IS ?5 AND path IS ?6 AND made = ?7 FROM session \
             WHERE project = ?1 AND session = ?2 AND worktree = ?3",
        )?
        .query_row(
            params![
                place.project,
                activity.session,
                worktree.name,
                activity.at.as_millis() - RECORD_INTERVAL_MS,
                focus.map(|focus| &focus.profile),
                focus.map(|focus| &focus.path),
                worktree.made,
            ],
            |row| row.get(0),
        )
        .optional()?;
    if is_recent != Some(true) {
        return Ok(false);
    }
    let mut statement = connection.prepare_cached(
        "SELECT 1 FROM touched WHERE project = ?1 AND session = ?2 AND worktree = ?3 AND file = ?4",
    )?;
    for file in activity.touched {
        if !statement.exists(params![
            place.project,
            activity.session,
            worktree.name,
            file
        ])? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Records a session's activity and the files it touched.
pub(super) fn record_activity(
    transaction: &Transaction<'_>,
    place: &CoordinationPlace,
    activity: &SessionActivity<'_>,
) -> rusqlite::Result<()> {
    let (worktree, at) = (&place.worktree, activity.at.as_millis());
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO session \
             (project, session, worktree, made, folder, profile, path, heard) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            place.project,
            activity.session,
            worktree.name,
            worktree.made,
            place.folder,
            activity.focus.map(|focus| &focus.profile),
            activity.focus.map(|focus| &focus.path),
            at,
        ])?;
    let mut statement = transaction.prepare_cached(
        "INSERT OR REPLACE INTO touched (project, session, worktree, file, at) \
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for file in activity.touched {
        statement.execute(params![
            place.project,
            activity.session,
            worktree.name,
            file,
            at
        ])?;
    }
    if !activity.touched.is_empty() {
        transaction
            .prepare_cached(
                "DELETE FROM touched WHERE project = ?1 AND session = ?2 AND worktree = ?3 \
                 AND file NOT IN (SELECT file FROM touched \
                 WHERE project = ?1 AND session = ?2 AND worktree = ?3 \
                 ORDER BY at DESC, file LIMIT ?4)",
            )?
            .execute(params![
                place.project,
                activity.session,
                worktree.name,
                MAX_TOUCHED_FILES
            ])?;
    }
    delete_silent_sessions(transaction, at - SESSION_RETENTION_MS)
}

/// Deletes the sessions that were last heard of before a moment.
fn delete_silent_sessions(transaction: &Transaction<'_>, before: i64) -> rusqlite::Result<()> {
    let deleted = transaction
        .prepare_cached("DELETE FROM session WHERE heard < ?1")?
        .execute([before])?;
    if deleted > 0 {
        transaction.execute(
            "DELETE FROM touched WHERE NOT EXISTS (SELECT 1 FROM session \
             WHERE session.project = touched.project AND session.session = touched.session \
             AND session.worktree = touched.worktree)",
            [],
        )?;
    }
    Ok(())
}

/// Whether a session of this worktree is recorded.
pub(super) fn has_session(
    connection: &Connection,
    place: &CoordinationPlace,
    session: &str,
) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT 1 FROM session WHERE project = ?1 AND session = ?2 AND worktree = ?3",
        )?
        .exists(params![place.project, session, place.worktree.name])
}

/// Deletes a session of this worktree and its files.
pub(super) fn delete_session(
    transaction: &Transaction<'_>,
    place: &CoordinationPlace,
    session: &str,
) -> rusqlite::Result<()> {
    for statement in [
        "DELETE FROM session WHERE project = ?1 AND session = ?2 AND worktree = ?3",
        "DELETE FROM touched WHERE project = ?1 AND session = ?2 AND worktree = ?3",
    ] {
        transaction.execute(
            statement,
            params![place.project, session, place.worktree.name],
        )?;
    }
    Ok(())
}
