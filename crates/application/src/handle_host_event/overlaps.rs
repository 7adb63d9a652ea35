//! Tells a session once that another live session works on the same file or node.

use domain::ids::Digest32;
use domain::ports::Snapshot;
use domain::session_state::Conversation;
use domain::work::overlap::find_overlaps;

use super::EventContext;
use crate::context::Context;
use crate::coordination::{load_focus_key, load_shared_sessions};
use crate::failure::Failure;

/// Returns the message about overlaps of what a call changes, if there are new ones.
///
/// While no other session is live this reads one small file.
pub(super) fn describe_overlaps(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    conversation: &mut Conversation,
    surroundings: &EventContext<'_>,
) -> Result<Option<String>, Failure> {
    let files = changed_files(surroundings);
    if files.is_empty() {
        return Ok(None);
    }
    let sessions = load_shared_sessions(ctx)?.unwrap_or_default();
    // Usually there is no other session, and the state need not be read.
    if sessions.iter().all(|one| one.is_own(&ctx.session)) {
        return Ok(None);
    }
    let focus = load_focus_key(ctx, state)?;
    let found = find_overlaps(&sessions, &ctx.session, &files, focus.as_ref());
    let new: Vec<(String, Digest32)> = found
        .iter()
        .map(|overlap| {
            let sentence = overlap.render_sentence();
            let digest = Digest32::of_bytes(sentence.as_bytes());
            (sentence, digest)
        })
        // By the sentence: the same two sessions at another node get another message.
        .filter(|(_, digest)| !conversation.told_overlaps.contains(digest))
        .collect();
    if new.is_empty() {
        return Ok(None);
    }
    conversation.remember_overlaps(new.iter().map(|(_, digest)| *digest));
    let sentences: Vec<&str> = new.iter().map(|(sentence, _)| sentence.as_str()).collect();
    Ok(Some(format!(
        "Throughline: {}. Coordinate before you change it: `tl overlap`.",
        sentences.join("; ")
    )))
}

/// Returns the project files a call changes, plans included.
pub(super) fn changed_files(surroundings: &EventContext<'_>) -> Vec<String> {
    let plans = surroundings
        .plans
        .iter()
        .filter(|plan| plan.effect.modifies_file())
        .map(|plan| plan.file.clone());
    plans.chain(surroundings.files.iter().cloned()).collect()
}
