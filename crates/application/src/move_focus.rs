//! Move the focus of a session: enter a node, leave it, go back, park a root, switch to another.
//!
//! The rules of movement are in `domain::work::focus`; this adds claims, evidence and the ticket's
//! context.

use std::collections::BTreeMap;

use domain::ids::{NodeId, OperationId, Principal};
use domain::node::Node;
use domain::operation::Verb;
use domain::ports::{Snapshot, Transaction};
use domain::record;
use domain::tree::Tree;
use domain::work::focus::{
    DecidedMove, Focus, MoveRefused, decide_back, decide_enter, decide_exit, decide_park,
    decide_switch,
};
use domain::work::history::HistoryMark;
use domain::work::work_level::Assessment;
use schemars::JsonSchema;
use serde::Serialize;

use crate::absent_nodes::find_gone_item;
use crate::claim_node;
use crate::completion::{CompletionScope, find_blocking_gaps, follow_progress};
use crate::context::Context;
use crate::coordination::{load_focus_key, record_activity};
use crate::decisions::record_with_decisions;
use crate::duplicate_ids::refuse_duplicate;
use crate::failure::Failure;
use crate::file_writes::PlannedFiles;
use crate::follow_commits::follow_commits;
use crate::locate::{
    find_node, load_ancestors, load_node, load_node_path, load_with_ancestors, reject_extra_words,
};
use crate::observe::with_observed_files;
use crate::scan::ScanScope;
use crate::session_position::{KnownGuides, SHARED_FOCUS, head_commit, load_focus, load_position};
use crate::session_state::{load_session_state, store_session_state};
use crate::where_am_i::{WhereView, build_where_view};
use crate::work_guides;

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
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
    #[schemars(with = "Option<crate::views::Object>")]
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
    with_observed_files(ctx, ScanScope::Everything, None, |planned, tx| {
        // What is complete decides whether a node can be left: commits that no hook saw count too.
        follow_commits(ctx, tx, 0)?;
        match request {
            FocusMove::Enter { node, claim } => enter_node(ctx, planned, tx, node, *claim),
            FocusMove::Exit => exit_node(ctx, planned, tx),
            FocusMove::Back { node } => move_to_named(ctx, planned, tx, node, decide_back),
            FocusMove::Park => park_root(ctx, planned, tx),
            FocusMove::Switch { root } => move_to_named(ctx, planned, tx, root, decide_switch),
        }
    })
}

/// Enters a node, and claims it if asked to.
fn enter_node(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    tx: &mut dyn Transaction,
    words: &[String],
    claim: bool,
) -> Result<FocusOutcome, Failure> {
    let node = load_named_node(ctx, &*tx, words)?;
    let path = load_node_path(&*tx, &node)?;
    refuse_duplicate(ctx, &*tx, &node)?;
    // Refused on entry rather than at the first edit: by then the agent would have planned its work
    // there.
    if let Some(held) = claim_node::find_holder(ctx, &*tx, &node)? {
        let holder = held.describe_holder();
        return Err(Failure::refused(format!("`{path}` is claimed by {holder}"))
            .with_step("tl next   # unclaimed work"));
    }
    let focus = load_focus(&*tx, &ctx.session)?;
    let tree = load_with_ancestors(&*tx, vec![node.id])?;
    let moved = decide_enter(focus, &tree, &node);
    let operation = record_move(ctx, planned, tx, &moved)?;
    if claim {
        // In the same transaction: two sessions that enter at once cannot both get the node.
        claim_node::claim_within(ctx, tx, &node, &path)?;
    }
    let context = load_ticket_context(ctx, tx)?;
    report_move(ctx, tx, moved, operation, context)
}

/// Goes back to a visited node, or switches to another root.
fn move_to_named(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    tx: &mut dyn Transaction,
    words: &[String],
    decide: fn(Focus, &Tree, &Node) -> Result<DecidedMove, MoveRefused>,
) -> Result<FocusOutcome, Failure> {
    let node = load_named_node(ctx, &*tx, words)?;
    let focus = load_focus(&*tx, &ctx.session)?;
    // The paths to the cursors tell what was visited, and whether a cursor still exists.
    let cursors = focus.roots.values().map(|root| root.cursor);
    let tree = load_with_ancestors(&*tx, cursors.chain([node.id]).collect())?;
    let moved = decide(focus, &tree, &node).map_err(|refused| move_failure(&refused))?;
    let operation = record_move(ctx, planned, tx, &moved)?;
    let context = load_ticket_context(ctx, tx)?;
    report_move(ctx, tx, moved, operation, context)
}

/// Parks the active root.
fn park_root(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    tx: &mut dyn Transaction,
) -> Result<FocusOutcome, Failure> {
    let focus = load_focus(&*tx, &ctx.session)?;
    let tree = load_with_ancestors(&*tx, focus.active_root.into_iter().collect())?;
    let moved = decide_park(focus, &tree).map_err(|refused| move_failure(&refused))?;
    let operation = record_move(ctx, planned, tx, &moved)?;
    report_move(ctx, tx, moved, operation, (None, None))
}

/// Leaves the current node, and completes the ancestors that are done with it.
fn exit_node(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    tx: &mut dyn Transaction,
) -> Result<FocusOutcome, Failure> {
    let focus = load_focus(&*tx, &ctx.session)?;
    let tree = load_path_with_siblings(&*tx, focus.cursor())?;
    // Proofs are judged once per node: it reads files, and the decision asks for every ancestor.
    let mut missing: BTreeMap<NodeId, String> = BTreeMap::new();
    for node in focus.stack(&tree) {
        // The tree decides about the nodes below, with those that this move completes.
        let scope = CompletionScope::WithoutBelow;
        if let Some(why) = find_blocking_gaps(ctx, &*tx, node, scope)? {
            missing.insert(node.id, why);
        }
    }
    let moved = decide_exit(focus, &tree, &|node| !missing.contains_key(&node.id))
        .map_err(|refused| move_failure(&refused))?;
    let operation = record_move(ctx, planned, tx, &moved)?;
    let why_unproved = moved.unproved.and_then(|id| missing.remove(&id));
    let context = load_ticket_context(ctx, tx)?;
    let mut outcome = report_move(ctx, tx, moved, operation, context)?;
    outcome.unproved = why_unproved;
    Ok(outcome)
}

/// Loads the node that the arguments name, and nothing but a node.
fn load_named_node(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    words: &[String],
) -> Result<Node, Failure> {
    let (id, rest) = find_node(ctx, state, words)?;
    reject_extra_words(rest)?;
    Ok(load_node(state, id)?)
}

/// Returns the tree of a node's ancestors and their children: what leaving the node depends on.
fn load_path_with_siblings(state: &dyn Snapshot, cursor: Option<NodeId>) -> Result<Tree, Failure> {
    let Some(cursor) = cursor else {
        return Ok(Tree::default());
    };
    let gone = find_gone_item(state, cursor)?;
    let Some(node) = state.load_node(cursor)?.or_else(|| gone.clone()) else {
        return Ok(Tree::default());
    };
    let ancestors = load_ancestors(state, &node)?;
    // Left like any other node.
    let mut nodes: Vec<Node> = gone.into_iter().collect();
    for ancestor in &ancestors {
        nodes.append(&mut state.load_children(ancestor.id)?);
    }
    // Every other node of the path is a child of the one above it.
    nodes.push(ancestors.into_iter().next_back().unwrap_or(node));
    Ok(Tree::new(nodes))
}

/// Records the new focus and what follows from it as one operation.
fn record_move(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    tx: &mut dyn Transaction,
    moved: &DecidedMove,
) -> Result<Option<OperationId>, Failure> {
    let mut operation =
        ctx.new_operation(Verb::Focus, format!("{}: {}", ctx.session, moved.summary));
    let mut keys = vec![ctx.session.as_str()];
    // The focus set at a terminal is where a new agent session starts. Agents do not set it: two of
    // them would move each other.
    if !is_agent_host(&ctx.actor) {
        keys.push(SHARED_FOCUS);
    }
    let mut focus = moved.focus.clone();
    focus.mark_move(HistoryMark {
        head: head_commit(ctx),
        at: ctx.clock.now(),
    });
    for key in keys {
        // The recorded focus, not the effective one: the fact must name what it replaces.
        let before = record::read_record::<Focus>(&*tx, key)?;
        operation.facts.extend(record::record_changed_fact(
            key,
            before.as_ref(),
            Some(&focus),
        ));
    }
    let mut facts = moved.facts.clone();
    follow_progress(ctx, &*tx, &mut facts)?;
    operation.facts.append(&mut facts);
    if operation.facts.is_empty() {
        return Ok(None);
    }
    // What a person or agent completes by leaving it is a decision, like `tl progress`.
    record_with_decisions(ctx, planned, tx, operation).map(Some)
}

/// Builds the outcome from the recorded move.
fn report_move(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    moved: DecidedMove,
    operation: Option<OperationId>,
    (assessed, context): (Option<Assessment>, Option<String>),
) -> Result<FocusOutcome, Failure> {
    claim_node::record_heartbeat(ctx, tx)?;
    record_activity(ctx, load_focus_key(ctx, &*tx)?.as_ref(), &[]);
    Ok(FocusOutcome {
        place: build_where_view(ctx, &*tx)?,
        completed: moved.completed,
        unproved: None,
        assessed,
        context,
        operation,
    })
}

/// Assesses the size of a ticket entered for the first time, and returns its context. Runs after
/// the move is recorded: the position is derived from the new focus.
fn load_ticket_context(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
) -> Result<(Option<Assessment>, Option<String>), Failure> {
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
    // The agent that entered reads this text, so the context gate need not show it again. A session
    // that only shares the focus has not read it.
    if matches!(ctx.actor, Principal::Human(_)) {
        let text = ticket.render_context_text(ctx, &*tx, &KnownGuides::new())?;
        return Ok((assessed, Some(text)));
    }
    let mut session = load_session_state(&*tx, &ctx.session)?;
    let text = ticket.render_context_text(ctx, &*tx, &session.conversation.guides)?;
    work_guides::remember_context(ctx, &mut session, ticket);
    store_session_state(ctx, tx, &session)?;
    Ok((assessed, Some(text)))
}

/// Whether an agent host acts, rather than a script or a person's shell.
pub(crate) fn is_agent_host(actor: &Principal) -> bool {
    matches!(actor, Principal::Agent { host, .. } if host != "shell")
}

/// Builds the refusal of a move.
fn move_failure(refused: &MoveRefused) -> Failure {
    let failure = Failure::refused(refused.to_string());
    match refused {
        MoveRefused::Nowhere => failure
            .with_step("tl focus enter NODE")
            .with_step("tl next   # what is ready"),
        MoveRefused::NotVisited(node) => failure.with_step(format!("tl focus enter {node}")),
        MoveRefused::NoSuchRoot(node) => failure
            .with_step(format!("tl focus enter {node}"))
            .with_step("tl where"),
        MoveRefused::UnfinishedRoot(root) => failure
            .with_step(format!("tl progress {root} complete   # when it is done"))
            .with_step("tl focus park   # leave it and come back later")
            .with_step("tl next   # what else is ready"),
    }
}
