//! Move the focus of a session: enter a node, leave it, go back, park a root, switch to another.

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
use crate::evidence::held_back;
use crate::failure::{Failure, FailureKind};
use crate::locate::{find, get, nothing_left, path_of};
use crate::observe::with_observed;
use crate::standing::{SHARED_FOCUS, focus_of, remember_work, standing, work_memory};
use crate::survey::Scope;
use crate::where_am_i::{WhereView, where_view};

/// Where to go.
#[derive(Clone, Debug)]
pub enum FocusMove {
    Enter {
        node: Vec<String>,
        /// Also take it for this session.
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

/// Where the session stands now.
#[derive(Clone, Debug, Serialize)]
pub struct FocusOutcome {
    #[serde(flatten)]
    pub place: WhereView,
    /// Nodes that are complete now, because all below them is.
    pub completed: Vec<String>,
    /// Why a node could not be completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unproved: Option<String>,
    /// What the ticket's size was judged to be, when it was entered for the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assessed: Option<Assessment>,
    /// What there is to know about what was entered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
}

/// Moves the focus.
///
/// # Errors
/// When the node is not known, was not visited, or there is nothing to leave.
pub fn move_focus(ctx: &Context<'_>, request: &FocusMove) -> Result<FocusOutcome, Failure> {
    with_observed(ctx, Scope::Everything, |tx| moved(ctx, tx, request))
}

fn moved(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    request: &FocusMove,
) -> Result<FocusOutcome, Failure> {
    let own = record::read::<Focus>(&*tx, &ctx.session)?;
    let mut focus = focus_of(&*tx, &ctx.session)?;
    let tree = Tree::new(tx.all_nodes()?);
    let named = |words: &[String]| -> Result<Node, Failure> {
        let (id, rest) = find(ctx, &*tx, words)?;
        nothing_left(rest)?;
        Ok(get(&*tx, id)?)
    };
    let mut completed: Vec<NodeId> = Vec::new();
    let mut why_unproved = None;
    let (summary, claims) = match request {
        FocusMove::Enter { node, claim } => {
            let node = named(node)?;
            if let Some((_, held)) = claim_node::holder(ctx, &*tx, &node)? {
                let path = path_of(&*tx, &node)?;
                return Err(Failure::new(
                    FailureKind::Refused,
                    format!("`{path}` is claimed by {}", held.session),
                )
                .step("tl next   # what nobody holds"));
            }
            focus.enter(&tree, node.id);
            (format!("enter {}", tree.path(&node)), claim.then_some(node))
        }
        FocusMove::Back { node } => {
            let node = named(node)?;
            focus
                .back(&tree, &node)
                .map_err(|refused| not_moved(&refused))?;
            (format!("back to {}", tree.path(&node)), None)
        }
        FocusMove::Switch { root } => {
            let node = named(root)?;
            focus
                .switch(&tree, &node)
                .map_err(|refused| not_moved(&refused))?;
            (format!("switch to {}", tree.path(&node)), None)
        }
        FocusMove::Park => {
            let root = focus.park().map_err(|refused| not_moved(&refused))?;
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
                .map(|node| tree.path(node))
                .unwrap_or_default();
            // What proves a node is asked once for each that might be completed.
            let mut answers: Vec<(NodeId, Option<String>)> = Vec::new();
            for node in focus.stack(&tree) {
                answers.push((node.id, held_back(ctx, &*tx, node)?));
            }
            let proved = |node: &Node| {
                answers
                    .iter()
                    .any(|(id, why)| *id == node.id && why.is_none())
            };
            let left = focus
                .exit(&tree, &proved)
                .map_err(|refused| not_moved(&refused))?;
            why_unproved = left
                .unproved
                .and_then(|id| answers.into_iter().find(|(other, _)| *other == id))
                .and_then(|(_, why)| why);
            completed = left.completed;
            if focus.cursor() == before && completed.is_empty() && why_unproved.is_none() {
                return Err(nowhere_to_go(&from));
            }
            (format!("leave {from}"), None)
        }
    };
    let mut operation = ctx.operation(Verb::Focus, format!("{}: {summary}", ctx.session));
    operation
        .facts
        .extend(record::changed(&ctx.session, own.as_ref(), Some(&focus)));
    // What is entered at a terminal is where an agent that starts here begins.
    if matches!(ctx.actor, Principal::Human(_)) || !is_a_host(&ctx.actor) {
        let shared = record::read::<Focus>(&*tx, SHARED_FOCUS)?;
        operation
            .facts
            .extend(record::changed(SHARED_FOCUS, shared.as_ref(), Some(&focus)));
    }
    for id in &completed {
        let before = get(&*tx, *id)?.progress;
        operation.facts.push(Fact::ProgressChanged {
            node: *id,
            before,
            after: Progress::Complete,
        });
    }
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
        Some(tx.record(operation)?)
    };
    if let Some(node) = claims {
        let path = path_of(&*tx, &node)?;
        claim_node::take(ctx, tx, &node, &path)?;
    }
    let (assessed, context) = arrived(ctx, tx, request)?;
    claim_node::hear(ctx, tx)?;
    Ok(FocusOutcome {
        place: where_view(ctx, &*tx)?,
        completed: completed
            .iter()
            .filter_map(|id| tree.get(*id))
            .map(|node| tree.path(node))
            .collect(),
        unproved: why_unproved,
        assessed,
        context,
        operation: recorded,
    })
}

/// Judges the size of a ticket that is entered for the first time, and gives its context.
fn arrived(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    request: &FocusMove,
) -> Result<(Option<Assessment>, Option<String>), Failure> {
    if matches!(request, FocusMove::Park) {
        return Ok((None, None));
    }
    let place = standing(ctx, &*tx)?;
    let Some(ticket) = &place.ticket else {
        return Ok((None, None));
    };
    let key = ticket.node.id.0.to_string();
    let mut assessed = None;
    if record::read::<Assessment>(&*tx, &key)?.is_none() {
        let found = ticket.assessment(&*tx)?;
        let summary = format!(
            "{} is a {}: {}",
            ticket.node.alias,
            found.level.word(),
            found.reasons.join(", ")
        );
        let mut operation = ctx.operation(Verb::Ticket, summary);
        operation
            .facts
            .extend(record::changed(&key, None, Some(&found)));
        tx.record(operation)?;
        assessed = Some(found);
    }
    let text = ticket.context_text(ctx, &*tx)?;
    // An agent that entered it itself reads this; a session that only shares the place does not.
    if !matches!(ctx.actor, Principal::Human(_)) {
        let phase = ticket.phase().unwrap_or_default().to_owned();
        let id = ticket.node.id;
        let mut memory = work_memory(&*tx, &ctx.session)?;
        memory.guided.insert(id, phase);
        remember_work(ctx, tx, &memory)?;
    }
    Ok((assessed, Some(text)))
}

/// Says whether an agent host acts, not a script or a person's shell.
pub(crate) fn is_a_host(actor: &Principal) -> bool {
    matches!(actor, Principal::Agent { host, .. } if host != "shell")
}

/// What is not complete is left upward, and above a root there is nothing.
fn nowhere_to_go(root: &str) -> Failure {
    Failure::new(
        FailureKind::Refused,
        format!("`{root}` is not complete, and nothing stands above it"),
    )
    .step(format!("tl progress {root} complete   # when it is done"))
    .step("tl focus park   # leave it and come back later")
    .step("tl next   # what else is ready")
}

fn not_moved(refused: &MoveRefused) -> Failure {
    let failure = Failure::new(FailureKind::Refused, refused.to_string());
    match refused {
        MoveRefused::Nowhere => failure
            .step("tl focus enter NODE")
            .step("tl next   # what is ready"),
        MoveRefused::NotVisited(node) => failure.step(format!("tl focus enter {node}")),
        MoveRefused::NoSuchRoot(node) => failure
            .step(format!("tl focus enter {node}"))
            .step("tl where"),
    }
}
