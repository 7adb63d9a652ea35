//! Declares the intent of a session, which starts its trail.

use domain::node::Progress;
use domain::operation::Verb;
use domain::session::{LogEntryKind, Session, SessionMode, SessionStatus};
use domain::stamp;
use domain::trail::{TrailLevel, validate_trail_line};
use schemars::JsonSchema;
use serde::Serialize;

use super::session_change::{SessionChange, acting_session};
use super::trail_state::{free_session_stamp, load_trail, own_session, require_trail};
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, begin_transaction};
use crate::session_state::update_session_state;

/// Request to declare an intent.
#[derive(Clone, Debug)]
pub struct IntentRequest {
    pub text: String,
    pub mode: SessionMode,
}

/// The session's position on its trail.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlaceOutcome {
    pub session: String,
    pub stamp: String,
    pub mode: SessionMode,
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
    require_trail(ctx)?;
    let text = validate_trail_line(&request.text)?;
    let mut tx = begin_transaction(ctx)?;
    let planned = PlannedFiles::new(ctx, None);
    if let Some(known) = own_session(ctx, &*tx)? {
        let trail = load_trail(&*tx, known.clone(), true)?;
        // Idempotent: hosts and agents repeat the command, and each repetition would archive a
        // session.
        if let Some(trail) = trail.filter(|trail| {
            domain::trail::node_text(trail.root()) == text
                && trail.root().progress != Progress::Complete
        }) && known.mode == request.mode
        {
            return describe_place(&*tx, trail.session);
        }
        let mut change = SessionChange::for_session(&*tx, known)?;
        change.append_log(
            ctx,
            LogEntryKind::Compaction,
            "archived: another intent was declared",
            None,
        );
        change.session.status = SessionStatus::Archived;
        let summary = format!("archive session {}", change.session.stamp);
        change.record_operation(ctx, &mut *tx, &planned, Verb::Compact, summary)?;
    }
    let stamp = free_session_stamp(ctx, &*tx)?;
    let now = ctx.clock.now();
    // The node gets the session's stamp, unless a node already has it in this minute. Its id is
    // only known after it is added, so trajectory and cursor are set below.
    let draft = Session::begin_session(
        stamp,
        &acting_session(ctx),
        request.mode,
        tx.next_node_id()?,
        now,
    );
    let mut change = SessionChange::for_new_session(&*tx, draft)?;
    let node = change.add_stamped_node(
        ctx,
        &*tx,
        TrailLevel::Trajectory,
        None,
        &text,
        Progress::Active,
    )?;
    change.session.trajectory = node.id;
    change.session.cursor = node.id;
    change.append_log(
        ctx,
        LogEntryKind::Intent,
        &text,
        stamp::stamp_in_name(&node.alias),
    );
    let (session, _) = change.record_operation(
        ctx,
        &mut *tx,
        &planned,
        Verb::Intent,
        format!("intent {stamp}: {text}"),
    )?;
    // Failures and repetitions of the last intent must not raise signals about this one.
    update_session_state(ctx, &mut *tx, |session| {
        session.counters.reset_for_trajectory(now);
    })?;
    let outcome = describe_place(&*tx, session)?;
    planned.commit_and_write(ctx, tx)?;
    Ok(outcome)
}

/// Describes the session's position.
pub(crate) fn describe_place(
    tx: &dyn domain::ports::Transaction,
    session: Session,
) -> Result<PlaceOutcome, Failure> {
    let trail = load_trail(tx, session, true)?
        .ok_or_else(|| Failure::internal("the trajectory is gone"))?;
    Ok(PlaceOutcome {
        session: trail.session.name.clone(),
        stamp: trail.session.stamp.to_string(),
        mode: trail.session.mode,
        trajectory: trail.root().alias.clone(),
        cursor: trail.cursor().alias.clone(),
        content: domain::trail::node_text(trail.cursor()).to_owned(),
        status: trail.cursor().progress,
        session_file: trail.session.file_path(),
        tree: domain::trail::render_limited_tree(
            &trail.excerpt(tx)?,
            super::scan_hierarchy::MAX_DRAWN_CHILDREN,
        ),
    })
}
