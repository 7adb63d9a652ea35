//! Offers the tickets that a person's prompt names, if the session works on another one or on none, or
//! a new one of the first prompt that asks for work and names none.

use domain::ids::{NodeId, Principal};
use domain::node::{Node, Progress};
use domain::ports::Snapshot;
use domain::prompt_focus::{IdCertainty, find_id_words, find_titles, says_to_work};
use domain::session_state::Conversation;
use domain::text::clean_line;
use domain::work::ticket_title::{may_ask_for_work, title_from_prompt};

use super::EventOutcome;
use crate::context::Context;
use crate::failure::Failure;
use crate::locate::load_node_path;
use crate::move_focus::{FocusMove, move_focus};
use crate::session_position::{has_work_phases, load_focus};
use crate::ticket_sources::{accept_offered_ticket, load_offered_title};

/// Maximum number of tickets that one offer names.
const MAX_NAMED_TICKETS: usize = 5;

/// Returns the offer for a prompt, as one line for the agent.
pub(super) fn offer_ticket(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    conversation: &mut Conversation,
    prompt: &str,
    is_subagent: bool,
) -> Result<Option<String>, Failure> {
    let has_tickets = ctx.profiles.iter().any(|one| !one.work_phases.is_empty());
    if !has_tickets || !(says_to_work(prompt) || may_ask_for_work(prompt)) {
        return Ok(None);
    }
    let cursor = load_focus(state, &ctx.session)?.cursor();
    let named = find_named_tickets(ctx, state, prompt, cursor)?;
    match named {
        NamedTickets { found, .. } if !found.is_empty() => {
            let is_there = found.iter().any(|node| Some(node.id) == cursor);
            match is_there {
                true => Ok(None),
                false => render_named_tickets(state, prompt, &found).map(Some),
            }
        }
        NamedTickets { unknown, .. } if !unknown.is_empty() => Ok(Some(format!(
            "Throughline: the prompt names {}, and there is no such ticket. The open ones: tl ticket list",
            join_words(&unknown, "and")
        ))),
        NamedTickets { mentions: true, .. } => Ok(None),
        // A subagent's prompt is a part of the main agent's work.
        _ if is_subagent || cursor.is_some() => Ok(None),
        _ => Ok(offer_new_ticket(ctx, conversation, prompt)),
    }
}

fn render_named_tickets(
    state: &dyn Snapshot,
    prompt: &str,
    found: &[Node],
) -> Result<String, Failure> {
    let mut named: Vec<(String, Option<&str>)> = Vec::with_capacity(found.len());
    for node in found {
        let path = load_node_path(state, node)?;
        named.push((path, node.description.title.as_deref()));
    }
    // `017/017b` names one ticket, not the one above it too.
    let is_way = |path: &str| {
        let mut others = named.iter().map(|(other, _)| other);
        others
            .any(|other| other.starts_with(&format!("{path}/")) && prompt.contains(other.as_str()))
    };
    let shown: Vec<&(String, Option<&str>)> =
        named.iter().filter(|(path, _)| !is_way(path)).collect();
    let names: Vec<String> = shown
        .iter()
        .map(|(path, title)| match title {
            Some(title) => format!("{path} “{}”", clean_line(title)),
            None => path.clone(),
        })
        .collect();
    let commands: Vec<String> = shown
        .iter()
        .map(|(path, _)| format!("tl focus enter {path}"))
        .collect();
    let (place, meant) = match shown.len() {
        1 => ("there", "if it is meant"),
        _ => ("at one of them", "the one to begin with"),
    };
    Ok(format!(
        "Throughline: the prompt names {}, and this session is not {place}. Next, {meant}: {}",
        join_words(&names, "and"),
        join_words(&commands, "or")
    ))
}

/// Joins words as a sentence lists them: `a, b and c`.
fn join_words(words: &[String], last: &str) -> String {
    match words {
        [first @ .., end] if !first.is_empty() => format!("{} {last} {end}", first.join(", ")),
        _ => words.concat(),
    }
}

/// Returns the offer of a new ticket for the prompt of a session that works on none, once in a
/// conversation.
fn offer_new_ticket(
    ctx: &Context<'_>,
    conversation: &mut Conversation,
    prompt: &str,
) -> Option<String> {
    if conversation.offered_ticket.is_some() {
        return None;
    }
    // The title is stored with the conversation and shown to the agent, and a prompt may contain a
    // key (P17).
    let title = ctx.mask_secrets(&clean_line(&title_from_prompt(prompt)?), "title");
    let offer = format!(
        "Throughline: no ticket covers this prompt. To make one, “{title}”: tl ticket new, then tl focus enter ID. \
         The person can type the one word: ticket"
    );
    conversation.offered_ticket = Some(title);
    Some(offer)
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

/// The tickets that a prompt speaks of.
#[derive(Default)]
struct NamedTickets {
    found: Vec<Node>,
    /// Words that can only be ids, and are none of a ticket.
    unknown: Vec<String>,
    /// Whether a number in it is the id of a ticket, without more that speaks for it.
    mentions: bool,
}

/// Finds the tickets by id, else those whose title is in the prompt.
fn find_named_tickets(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    prompt: &str,
    cursor: Option<NodeId>,
) -> Result<NamedTickets, Failure> {
    let mut named = NamedTickets::default();
    for id in find_id_words(prompt) {
        let mut nodes = state.nodes_by_alias(&id.word)?;
        if let (true, Some(padded)) = (nodes.is_empty(), &id.padded) {
            nodes = state.nodes_by_alias(padded)?;
        }
        let is_known = !nodes.is_empty();
        nodes.retain(|node| has_work_phases(ctx, node));
        match id.certainty {
            IdCertainty::Number => named.mentions |= !nodes.is_empty(),
            IdCertainty::Certain if !is_known => named.unknown.push(id.word),
            // A node of another profile is no ticket, and no mistake.
            IdCertainty::Certain | IdCertainty::Likely => push_new_nodes(&mut named.found, nodes),
        }
    }
    // To compare titles reads every ticket: where no other one can be meant, and no new one is
    // offered, it is saved.
    if named.found.is_empty() && (cursor.is_none() || says_to_work(prompt)) {
        push_new_nodes(&mut named.found, find_titled_tickets(ctx, state, prompt)?);
    }
    named.found.truncate(MAX_NAMED_TICKETS);
    Ok(named)
}

/// Returns the open tickets whose title is in the prompt.
fn find_titled_tickets(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    prompt: &str,
) -> Result<Vec<Node>, Failure> {
    let mut open = state.nodes_outside(&[domain::trail::PROFILE])?;
    open.retain(|node| has_work_phases(ctx, node) && node.progress != Progress::Complete);
    let titles: Vec<&str> = open
        .iter()
        .map(|node| node.description.title.as_deref().unwrap_or_default())
        .collect();
    let found = find_titles(prompt, &titles);
    Ok(found.into_iter().map(|index| open[index].clone()).collect())
}

fn push_new_nodes(found: &mut Vec<Node>, nodes: Vec<Node>) {
    for node in nodes {
        if found.iter().all(|known| known.id != node.id) {
            found.push(node);
        }
    }
}
