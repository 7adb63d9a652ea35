//! Move the focus of a session: enter a node, leave it, go back, park a root, switch to another.
//!
//! The rules of movement are in `domain::work::focus`; this adds claims, evidence and the ticket's
//! context.

use domain::fact::Fact;
use domain::ids::{NodeId, OperationId, Principal};
use domain::node::{Node, Progress};
use domain::operation::Verb;
use domain::ports::Transaction;
use domain::record;
use domain::tree::Tree;
use domain::work::focus::{Focus, MoveRefused};
use domain::work::work_level::Assessment;
use serde::Serialize;

use crate::claim_node;
use crate::context::Context;
use crate::evidence::find_blocking_proof;
use crate::failure::{Failure, FailureKind};
use crate::locate::{find_node, load_node, load_node_path, reject_extra_words};
use crate::observe::with_observed;
use crate::scan::ScanScope;
use crate::session_position::{
    SHARED_FOCUS, load_focus, load_position, load_work_memory, save_work_memory,
};
use crate::where_am_i::{WhereView, build_where_view};

/// A move of the focus.
#[derive(Clone, Debug)]
pub enum FocusMove {
    Enter {
        node: Vec<String>,
        /// Whether to claim it for this session as well.
        claim: bool,
    },
    Exit,
    Back {
        node: Vec<String>,
    },
    Park,
    Switch {
        root: Vec<String>,
    },
}

/// The session's new position.
#[derive(Clone, Debug, Serialize)]
pub struct FocusOutcome {
    #[serde(flatten)]
    pub place: WhereView,
    /// Nodes completed by the move, because everything below them is complete.
    pub completed: Vec<String>,
    /// The missing proof that prevented completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unproved: Option<String>,
    /// The estimated size of the ticket, when it was entered for the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assessed: Option<Assessment>,
    /// The context of the entered ticket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
}

/// Moves the focus.
///
/// # Errors
/// When the node is unknown or was not visited, or there is nothing to leave.
pub fn move_focus(ctx: &Context<'_>, request: &FocusMove) -> Result<FocusOutcome, Failure> {
    with_observed(ctx, ScanScope::Everything, |tx| {
        apply_move(ctx, tx, request)
    })
}

/// Applies a move in a running transaction.
fn apply_move(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    request: &FocusMove,
) -> Result<FocusOutcome, Failure> {
    // The recorded focus is needed besides the effective one, which may be the shared focus: the
    // fact must name what it replaces.
    let own = record::read_record::<Focus>(&*tx, &ctx.session)?;
    let mut focus = load_focus(&*tx, &ctx.session)?;
    let tree = Tree::new(tx.all_nodes()?);
    let named = |words: &[String]| -> Result<Node, Failure> {
        let (id, rest) = find_node(ctx, &*tx, words)?;
        reject_extra_words(rest)?;
        Ok(load_node(&*tx, id)?)
    };
    let mut completed: Vec<NodeId> = Vec::new();
    let mut why_unproved = None;
    let (summary, claims) = match request {
        FocusMove::Enter { node, claim } => {
            let node = named(node)?;
            // Refused on entry rather than at the first edit: by then the agent would have planned
            // its work there.
            if let Some((_, held)) = claim_node::find_holder(ctx, &*tx, &node)? {
                let path = load_node_path(&*tx, &node)?;
                return Err(Failure::new(
                    FailureKind::Refused,
                    format!("`{path}` is claimed by {}", held.session),
                )
                .with_step("tl next   # unclaimed work"));
            }
            focus.enter_node(&tree, node.id);
            (
                format!("enter {}", tree.alias_path(&node)),
                claim.then_some(node),
            )
        }
        FocusMove::Back { node } => {
            let node = named(node)?;
            focus
                .go_back(&tree, &node)
                .map_err(|refused| move_failure(&refused))?;
            (format!("back to {}", tree.alias_path(&node)), None)
        }
        FocusMove::Switch { root } => {
            let node = named(root)?;
            focus
                .switch_root(&tree, &node)
                .map_err(|refused| move_failure(&refused))?;
            (format!("switch to {}", tree.alias_path(&node)), None)
        }
        FocusMove::Park => {
            let root = focus
                .park_root()
                .map_err(|refused| move_failure(&refused))?;
            (
                format!(
                    "park {}",
                    tree.get(root).map_or("?", |node| node.alias.as_str())
                ),
                None,
            )
        }
        FocusMove::Exit => {
            let before = focus.cursor();
            let from = before
                .and_then(|id| tree.get(id))
                .map(|node| tree.alias_path(node))
                .unwrap_or_default();
            // Proofs are judged once per node: it reads files, and `exit` asks for every ancestor.
            let mut answers: Vec<(NodeId, Option<String>)> = Vec::new();
            for node in focus.stack(&tree) {
                answers.push((node.id, find_blocking_proof(ctx, &*tx, node)?));
            }
            let proved = |node: &Node| {
                answers
                    .iter()
                    .any(|(id, why)| *id == node.id && why.is_none())
            };
            let left = focus
                .leave_node(&tree, &proved)
                .map_err(|refused| move_failure(&refused))?;
            why_unproved = left
                .unproved
                .and_then(|id| answers.into_iter().find(|(other, _)| *other == id))
                .and_then(|(_, why)| why);
            completed = left.completed;
            // Without this check leaving an unfinished root succeeded and changed nothing.
            if focus.cursor() == before && completed.is_empty() && why_unproved.is_none() {
                return Err(no_parent_failure(&from));
            }
            (format!("leave {from}"), None)
        }
    };
    let mut operation = ctx.new_operation(Verb::Focus, format!("{}: {summary}", ctx.session));
    operation.facts.extend(record::record_changed_fact(
        &ctx.session,
        own.as_ref(),
        Some(&focus),
    ));
    // The focus set at a terminal is where a new agent session starts. Agents do not set it: two of
    // them would move each other.
    if matches!(ctx.actor, Principal::Human(_)) || !is_agent_host(&ctx.actor) {
        let shared = record::read_record::<Focus>(&*tx, SHARED_FOCUS)?;
        operation.facts.extend(record::record_changed_fact(
            SHARED_FOCUS,
            shared.as_ref(),
            Some(&focus),
        ));
    }
    for id in &completed {
        let before = load_node(&*tx, *id)?.progress;
        operation.facts.push(Fact::ProgressChanged {
            node: *id,
            before,
            after: Progress::Complete,
        });
    }
    // Entering is the start of work; going back to a node is not.
    if let Some(active) = focus.cursor().and_then(|id| tree.get(id))
        && active.progress == Progress::Pending
        && matches!(request, FocusMove::Enter { .. })
    {
        let after = Progress::Active;
        operation.facts.push(Fact::ProgressChanged {
            node: active.id,
            before: active.progress,
            after,
        });
    }
    let recorded = if operation.facts.is_empty() {
        None
    } else {
        Some(tx.record_operation(operation)?)
    };
    if let Some(node) = claims {
        let path = load_node_path(&*tx, &node)?;
        // In the same transaction: two sessions that enter at once cannot both get the node.
        claim_node::claim_within(ctx, tx, &node, &path)?;
    }
    // After the operation is recorded: the position is derived from the new focus.
    let (assessed, context) = load_ticket_context(ctx, tx, request)?;
    claim_node::record_heartbeat(ctx, tx)?;
    Ok(FocusOutcome {
        place: build_where_view(ctx, &*tx)?,
        completed: completed
            .iter()
            .filter_map(|id| tree.get(*id))
            .map(|node| tree.alias_path(node))
            .collect(),
        unproved: why_unproved,
        assessed,
        context,
        operation: recorded,
    })
}

/// Assesses the size of a ticket entered for the first time, and returns its context.
fn load_ticket_context(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    request: &FocusMove,
) -> Result<(Option<Assessment>, Option<String>), Failure> {
    if matches!(request, FocusMove::Park) {
        return Ok((None, None));
    }
    let place = load_position(ctx, &*tx)?;
    let Some(ticket) = &place.ticket else {
        return Ok((None, None));
    };
    let key = ticket.node.id.0.to_string();
    let mut assessed = None;
    // Recorded on first entry, so that the size does not change with every edit of the ticket.
    if record::read_record::<Assessment>(&*tx, &key)?.is_none() {
        let found = ticket.load_assessment(&*tx)?;
        let summary = format!(
            "{} is a {}: {}",
            ticket.node.alias,
            found.level.as_str(),
            found.reasons.join(", ")
        );
        let mut operation = ctx.new_operation(Verb::Ticket, summary);
        operation
            .facts
            .extend(record::record_changed_fact(&key, None, Some(&found)));
        tx.record_operation(operation)?;
        assessed = Some(found);
    }
    let text = ticket.render_context_text(ctx, &*tx)?;
    // The agent that entered reads this text, so the context gate need not show it again. A session
    // that only shares the focus has not read it.
    if !matches!(ctx.actor, Principal::Human(_)) {
        let phase = ticket.phase().unwrap_or_default().to_owned();
        let id = ticket.node.id;
        let mut memory = load_work_memory(&*tx, &ctx.session)?;
        memory.guided.insert(id, phase);
        save_work_memory(ctx, tx, &memory)?;
    }
    Ok((assessed, Some(text)))
}

/// Whether an agent host acts, rather than a script or a person's shell.
pub(crate) fn is_agent_host(actor: &Principal) -> bool {
    matches!(actor, Principal::Agent { host, .. } if host != "shell")
}

/// Builds the refusal to leave an unfinished root.
fn no_parent_failure(root: &str) -> Failure {
    Failure::new(
        FailureKind::Refused,
        format!("`{root}` is not complete, and it has no parent to return to"),
    )
    .with_step(format!("tl progress {root} complete   # when it is done"))
    .with_step("tl focus park   # leave it and come back later")
    .with_step("tl next   # what else is ready")
}

/// Builds the refusal of a move.
fn move_failure(refused: &MoveRefused) -> Failure {
    let failure = Failure::new(FailureKind::Refused, refused.to_string());
    match refused {
        MoveRefused::Nowhere => failure
            .with_step("tl focus enter NODE")
            .with_step("tl next   # what is ready"),
        MoveRefused::NotVisited(node) => failure.with_step(format!("tl focus enter {node}")),
        MoveRefused::NoSuchRoot(node) => failure
            .with_step(format!("tl focus enter {node}"))
            .with_step("tl where"),
    }
}
