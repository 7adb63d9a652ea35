//! Offers the ticket that a person's prompt names, if the session works on another one or on none, or
//! a new one of the first prompt that asks for work.

use domain::ids::Principal;
use domain::node::{Node, Progress};
use domain::ports::Snapshot;
use domain::prompt_focus::{find_id_words, find_only_title, says_to_work};
use domain::session_state::Conversation;
use domain::text::clean_line;
use domain::work::ticket_title::title_from_prompt;

use super::EventOutcome;
use crate::context::Context;
use crate::failure::Failure;
use crate::locate::load_node_path;
use crate::move_focus::{FocusMove, move_focus};
use crate::session_position::{has_work_phases, load_focus};
use crate::ticket_sources::{accept_offered_ticket, load_offered_title};

/// Returns the offer, as one line for the agent.
pub(super) fn offer_named_ticket(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    prompt: &str,
) -> Result<Option<String>, Failure> {
    if !ctx
        .profiles
        .iter()
        .any(|profile| !profile.work_phases.is_empty())
        || !says_to_work(prompt)
    {
        return Ok(None);
    }
    let Some(node) = find_named_ticket(ctx, state, prompt)? else {
        return Ok(None);
    };
    let cursor = load_focus(state, &ctx.session)?.cursor();
    if cursor == Some(node.id) {
        return Ok(None);
    }
    let path = load_node_path(state, &node)?;
    let title = node
        .description
        .title
        .as_deref()
        .map(|title| format!(" “{}”", clean_line(title)))
        .unwrap_or_default();
    Ok(Some(format!(
        "Throughline: the prompt names {path}{title}, and this session is not there. Next, if it is meant: tl focus enter {path}"
    )))
}

/// Returns the offer of a new ticket for the prompt of a session that works on none, once in a
/// conversation.
pub(super) fn offer_new_ticket(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    conversation: &mut Conversation,
    prompt: &str,
) -> Result<Option<String>, Failure> {
    let has_tickets = || ctx.profiles.iter().any(|one| !one.work_phases.is_empty());
    if conversation.offered_ticket.is_some() || !has_tickets() {
        return Ok(None);
    }
    let Some(title) = title_from_prompt(prompt) else {
        return Ok(None);
    };
    if load_focus(state, &ctx.session)?.cursor().is_some() {
        return Ok(None);
    }
    // The title is stored with the conversation and shown to the agent, and a prompt may contain a
    // key (P17).
    let title = ctx.mask_secrets(&clean_line(&title), "title");
    let offer = format!(
        "Throughline: no ticket covers this prompt. To make one, “{title}”: tl ticket new, then tl focus enter ID. \
         The person can type the one word: ticket"
    );
    conversation.offered_ticket = Some(title);
    Ok(Some(offer))
}

/// Creates the offered ticket on a person's word and enters it; `None` if none was offered.
pub(super) fn accept_for_person(
    ctx: &Context<'_>,
    person: &Principal,
) -> Result<Option<EventOutcome>, Failure> {
    if load_offered_title(ctx, &*ctx.store.begin_read()?)?.is_none() {
        return Ok(None);
    }
    let ticket = accept_offered_ticket(ctx)?;
    let entered = FocusMove::Enter {
        node: vec![ticket.path.clone()],
        claim: false,
    };
    let moved = move_focus(ctx, &entered)?;
    let title = ticket.title.unwrap_or_default();
    let text = format!(
        "Throughline: {} “{}” is made (typed by {person}), and this session is at it.",
        ticket.path,
        clean_line(&title)
    );
    let told: Vec<String> = [text].into_iter().chain(moved.context).collect();
    Ok(Some(EventOutcome::from_messages(&told)))
}

/// Finds the ticket by id, else by a title that only one open ticket has.
fn find_named_ticket(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    prompt: &str,
) -> Result<Option<Node>, Failure> {
    for word in find_id_words(prompt) {
        let mut found = state.nodes_by_alias(&word)?;
        found.retain(|node| has_work_phases(ctx, node));
        // Only an unambiguous id: an offer for the wrong ticket costs more than none.
        if let [node] = found.as_slice() {
            return Ok(Some(node.clone()));
        }
    }
    let mut open = state.nodes_outside(&[domain::trail::PROFILE])?;
    open.retain(|node| has_work_phases(ctx, node) && node.progress != Progress::Complete);
    let titles: Vec<&str> = open
        .iter()
        .map(|node| node.description.title.as_deref().unwrap_or_default())
        .collect();
    Ok(find_only_title(prompt, &titles).map(|index| open[index].clone()))
}
