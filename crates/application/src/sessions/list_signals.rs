//! Lists the signals of all active sessions, for a person who oversees them.

use domain::detection::Signal;
use domain::record;
use domain::session::Session;
use serde::Serialize;

use super::trail_state::{detect_signals, load_trail};
use crate::context::Context;
use crate::failure::Failure;
use crate::session_state::load_session_state;

/// A signal of one session.
#[derive(Clone, Debug, Serialize)]
pub struct SessionSignal {
    pub session: String,
    pub host: String,
    pub kind: &'static str,
    /// The fact, in one sentence.
    pub text: String,
    pub next_step: &'static str,
}

/// Returns the signals of every active session, the most serious first.
///
/// # Errors
/// When the state cannot be read.
pub fn list_signals(ctx: &Context<'_>) -> Result<Vec<SessionSignal>, Failure> {
    let state = ctx.store.begin_read()?;
    let mut found = Vec::new();
    for (_, session) in record::read_records::<Session>(&*state, "")?
        .into_iter()
        .filter(|(_, session)| session.is_active())
    {
        let counters = load_session_state(&*state, &session.name)?.counters;
        let (name, host) = (session.name.clone(), session.host.clone());
        // A session without a trajectory (undone, or damaged) has nothing to drift from.
        let Some(trail) = load_trail(&*state, session, true)? else {
            continue;
        };
        let noticed = detect_signals(ctx, Some(&trail), None, &counters);
        found.extend(
            noticed
                .into_iter()
                .map(|signal| (signal.kind, name.clone(), host.clone(), signal)),
        );
    }
    // A stable sort: signals of the same kind stay grouped by session.
    found.sort_by_key(|(kind, ..)| *kind);
    Ok(found
        .into_iter()
        .map(
            |(
                kind,
                session,
                host,
                Signal {
                    text, next_step, ..
                },
            )| SessionSignal {
                session,
                host,
                kind: kind.as_str(),
                text,
                next_step,
            },
        )
        .collect())
}
