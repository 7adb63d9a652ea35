//! Offers the ticket that a person's prompt names, if the session works on another one or on none.

use domain::node::{Node, Progress};
use domain::ports::Snapshot;
use domain::prompt_focus::{find_id_words, find_only_title, says_to_work};
use domain::text::clean_line;

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::load_node_path;
use crate::session_position::{has_work_phases, load_focus};

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

/// Finds the ticket by id, else by a title that only one open ticket has.
fn find_named_ticket(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    prompt: &str,
) -> Result<Option<Node>, Failure> {
    for word in find_id_words(prompt) {
        let mut found = state.nodes_by_alias(&word)?;
        found.retain(|node| has_work_phases(ctx, node));
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
