//! Declares the intent of a session, which starts its trail.

use domain::node::Progress;
use domain::operation::Verb;
use domain::session::{EntryKind, Mode, Session, SessionStatus};
use domain::stamp;
use domain::trail::{TrailLevel, checked_line};
use serde::Serialize;

use super::change::{Change, reread, who};
use super::trail_state::{
    counters_of, free_session_stamp, keep_counters, kept, own_session, trail_of,
};
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, begin};

/// Request to declare an intent.
#[derive(Clone, Debug)]
pub struct IntentRequest {
    pub text: String,
    pub mode: Mode,
}

/// The session's position on its trail.
#[derive(Clone, Debug, Serialize)]
pub struct PlaceOutcome {
    pub session: String,
    pub stamp: String,
    pub mode: Mode,
    /// Ids of the nodes.
    pub trajectory: String,
    pub cursor: String,
    pub content: String,
    pub status: Progress,
    pub session_file: String,
    /// The tree around the cursor.
    pub tree: String,
}

/// Starts a session: a trajectory, a file, an entry in the manifest. The previous session is
/// archived if it had another intent.
///
/// # Errors
/// When the text is empty or too long, the project keeps no trail, or the state cannot be written.
pub fn declare_intent(ctx: &Context<'_>, request: &IntentRequest) -> Result<PlaceOutcome, Failure> {
    kept(ctx)?;
    let text = checked_line(&request.text)?;
    let mut tx = begin(ctx)?;
    let planned = PlannedFiles::of(ctx, None);
    if let Some(known) = own_session(ctx, &*tx)? {
        let trail = trail_of(&*tx, known.clone(), true)?;
        // Idempotent: hosts and agents repeat the command, and each repetition would archive a
        // session.
        if let Some(trail) = trail.filter(|trail| {
            domain::trail::content(trail.root()) == text
                && trail.root().progress != Progress::Complete
        }) && known.mode == request.mode
        {
            return place(&*tx, trail.session);
        }
        let mut change = Change::of(&*tx, known)?;
        change.log(
            ctx,
            EntryKind::Compaction,
            "archived: another intent was declared",
            None,
        );
        change.session.status = SessionStatus::Archived;
        let summary = format!("archive session {}", change.session.stamp);
        change.finish(ctx, &mut *tx, &planned, Verb::Compact, summary)?;
    }
    let stamp = free_session_stamp(ctx, &*tx)?;
    let now = ctx.clock.now();
    // The node gets the session's stamp, unless a node already has it in this minute. Its id is
    // only known after it is added, so trajectory and cursor are set below.
    let draft = Session::begin(stamp, &who(ctx), request.mode, tx.next_node()?, now);
    let mut change = Change::begin(&*tx, draft)?;
    let node = change.add(
        ctx,
        &*tx,
        TrailLevel::Trajectory,
        None,
        &text,
        Progress::Active,
    )?;
    change.session.trajectory = node.id;
    change.session.cursor = node.id;
    change.log(ctx, EntryKind::Intent, &text, stamp::in_name(&node.alias));
    let (session, _) = change.finish(
        ctx,
        &mut *tx,
        &planned,
        Verb::Intent,
        format!("intent {stamp}: {text}"),
    )?;
    let mut counters = counters_of(&*tx, &ctx.session)?;
    // Failures and repetitions of the last intent must not raise signals about this one.
    counters.declared(now);
    keep_counters(ctx, &mut *tx, &counters)?;
    let outcome = place(&*tx, session)?;
    planned.commit(ctx, tx)?;
    Ok(outcome)
}

/// Describes the session's position.
pub(crate) fn place(
    tx: &dyn domain::ports::Transaction,
    session: Session,
) -> Result<PlaceOutcome, Failure> {
    let trail = reread(tx, session)?
        .ok_or_else(|| Failure::new(crate::FailureKind::Internal, "the trajectory is gone"))?;
    Ok(PlaceOutcome {
        session: trail.session.name.clone(),
        stamp: trail.session.stamp.to_string(),
        mode: trail.session.mode,
        trajectory: trail.root().alias.clone(),
        cursor: trail.cursor().alias.clone(),
        content: domain::trail::content(trail.cursor()).to_owned(),
        status: trail.cursor().progress,
        session_file: trail.session.file(),
        tree: domain::trail::draw_some(&trail.excerpt(tx)?, super::scan_hierarchy::MOST_DRAWN),
    })
}
