//! Loads and stores the state of a session.

use domain::host_event::HostEvent;
use domain::ports::{Snapshot, Transaction};
use domain::session_state::{Conversation, SessionState};

use crate::context::Context;
use crate::failure::Failure;

/// Loads the state of a session, which may be another one than the acting one.
pub(crate) fn load_session_state(
    state: &dyn Snapshot,
    session: &str,
) -> Result<SessionState, Failure> {
    let note = state.load_note(&SessionState::note_key(session))?;
    Ok(SessionState::from_note(note.as_deref()))
}

/// Loads the state of an event's session.
pub(crate) fn load_event_state(
    state: &dyn Snapshot,
    event: &HostEvent,
) -> Result<SessionState, Failure> {
    let mut session = load_session_state(state, &event.session)?;
    match session.conversation.host {
        // The same id in another host is another conversation.
        Some(host) if host != event.host => {
            session.conversation = Conversation::of_host(Some(event.host));
        }
        // A command of the session may have come before its first event.
        _ => session.conversation.host = Some(event.host),
    }
    Ok(session)
}

/// Stores the state of the acting session.
pub(crate) fn store_session_state(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    session: &SessionState,
) -> Result<(), Failure> {
    let key = SessionState::note_key(&ctx.session);
    Ok(tx.save_note(&key, Some(&session.to_note()), ctx.clock.now())?)
}

/// Changes the state of the acting session within a running transaction.
pub(crate) fn update_session_state(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    change: impl FnOnce(&mut SessionState),
) -> Result<(), Failure> {
    let mut session = load_session_state(&*tx, &ctx.session)?;
    change(&mut session);
    store_session_state(ctx, tx, &session)
}
