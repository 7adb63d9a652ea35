//! Tickets made of what is there already: the branch, the first prompt of a session.

use domain::needs::is_open;
use domain::ports::Snapshot;
use domain::work::ticket_title::describe_branch;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observe_plans;
use crate::session_position::has_work_phases;
use crate::session_state::{load_session_state, store_session_state};
use crate::tickets::{NewTicket, TicketView, create_ticket, find_ticket_level};

/// Outcome of [`create_from_branch`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BranchTicket {
    pub id: String,
    pub title: String,
    /// The ticket that was created; left out if there was an open one with this title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<TicketView>,
}

/// Creates the ticket that the checked-out branch describes, unless there is one.
///
/// # Errors
/// Without a branch, or on one whose name describes no task.
pub fn create_from_branch(ctx: &Context<'_>) -> Result<BranchTicket, Failure> {
    find_ticket_level(ctx)?;
    let own_title = "tl ticket new \"what is wanted\"";
    let Some(branch) = ctx.git.current_branch() else {
        return Err(Failure::refused("no branch is checked out").with_step(own_title));
    };
    let Some(described) = describe_branch(&branch) else {
        let what = format!("the name of the branch `{branch}` describes no task");
        return Err(Failure::refused(what)
            .with_step("git switch -c feature/what-is-wanted")
            .with_step(own_title));
    };
    let (state, tree) = observe_plans(ctx)?;
    // By title, because a branch does not know the id: a second agent on the same branch must not
    // create a second ticket.
    let same = tree.nodes().find(|node| {
        let title = node.description.title.as_deref().unwrap_or_default();
        has_work_phases(ctx, node)
            && is_open(node)
            && title.to_lowercase() == described.title.to_lowercase()
    });
    if let Some(node) = same {
        return Ok(BranchTicket {
            id: node.alias.clone(),
            title: described.title,
            created: None,
        });
    }
    drop(state);
    let request = NewTicket {
        kind: described.kind.to_owned(),
        links: described.issue.into_iter().collect(),
        branch: Some(branch),
        ..NewTicket::with_title(&described.title)
    };
    let created = create_ticket(ctx, &request)?;
    Ok(BranchTicket {
        id: created.id.clone(),
        title: request.title,
        created: Some(created),
    })
}

/// Returns the title that was offered to this session for its first prompt.
pub(crate) fn load_offered_title(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Option<String>, Failure> {
    let session = load_session_state(state, &ctx.session)?;
    Ok(session
        .conversation
        .offered_ticket
        .filter(|title| !title.is_empty()))
}

/// Creates the ticket that was offered to this session for its first prompt.
///
/// # Errors
/// When nothing was offered.
pub fn accept_offered_ticket(ctx: &Context<'_>) -> Result<TicketView, Failure> {
    let title = load_offered_title(ctx, &*ctx.store.begin_read()?)?.ok_or_else(|| {
        Failure::invalid("a ticket needs a title: no prompt of this session offered one")
            .with_step("tl ticket new \"what is wanted\"")
    })?;
    // Before the offer is used up: if it fails, the person can type the word again.
    let ticket = create_ticket(ctx, &NewTicket::with_title(&title))?;
    let mut tx = ctx.store.begin_write()?;
    let mut session = load_session_state(&*tx, &ctx.session)?;
    // Empty, not `None`: it was offered, and is not offered again.
    session.conversation.offered_ticket = Some(String::new());
    store_session_state(ctx, &mut *tx, &session)?;
    tx.commit()?;
    Ok(ticket)
}
