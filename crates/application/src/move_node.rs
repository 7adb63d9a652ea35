//! Record that a plan is a former one at another place, where the scan could not be sure.
//!
//! The former node takes the place of the new one: its id, versions, approval, comments and
//! progress stay, and the node that the new file had been recorded as is removed. No file is
//! touched.

use domain::fact::Fact;
use domain::ids::{NodeId, OperationId};
use domain::node::{Content, Node};
use domain::operation::Verb;
use domain::ports::{Snapshot, Transaction};
use domain::presence::AbsentNode;
use domain::record::record_changed_fact;
use schemars::JsonSchema;
use serde::Serialize;

use crate::absent_nodes::find_absent_by_name;
use crate::claim_node::carry_renamed_claims;
use crate::context::Context;
use crate::decisions::{
    is_followed_to, load_decision_key, record_followed_moves, record_with_decisions,
};
use crate::failure::Failure;
use crate::file_writes::PlannedFiles;
use crate::locate::{find_node, load_node, load_node_path, reject_extra_words};
use crate::observe::with_observed_files;
use crate::scan::ScanScope;
use crate::status_cascade::cascade_statuses;
use crate::views::NodeView;

/// Request of [`move_node`].
#[derive(Clone, Debug)]
pub struct MoveRequest {
    /// The former plan, as it was called or as its file was.
    pub was: String,
    /// The present plan, as it is called or as its file is.
    pub now: Vec<String>,
}

/// Outcome of [`move_node`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MoveOutcome {
    pub success: bool,
    pub was: String,
    pub node: NodeView,
    pub operation: OperationId,
}

/// The former node, as it is on record.
enum FormerNode {
    /// Recorded, without its file.
    Missing(Box<Node>),
    Absent(String, Box<AbsentNode>),
}

impl FormerNode {
    fn node(&self) -> &Node {
        match self {
            Self::Missing(node) => node,
            Self::Absent(_, absent) => &absent.node,
        }
    }
}

/// Makes the former node the node of the present file.
///
/// # Errors
/// When one of them is unknown, the former one still has its file, or they are of different levels.
pub fn move_node(ctx: &Context<'_>, request: &MoveRequest) -> Result<MoveOutcome, Failure> {
    // Everything: the present file may have been created a moment ago, and the former one deleted.
    with_observed_files(ctx, ScanScope::Everything, None, |planned, tx| {
        let new = find_present_node(ctx, &*tx, &request.now)?;
        let key = load_decision_key(&*tx, &new)?;
        if is_followed_to(&*tx, &request.was, &key)? {
            return tell_followed_move(ctx, planned, tx, &request.was, &new);
        }
        let (was, former) = find_former_node(ctx, &*tx, &request.was)?;
        refuse_unlike_nodes(&was, former.node(), &new)?;
        let path = load_node_path(&*tx, &new)?;
        let now = ctx.clock.now();
        let id = former.node().id;
        let mut facts = decide_move_facts(&*tx, former, &new)?;
        cascade_statuses(ctx, &*tx, &mut facts, &[], now, None)?;
        let mut operation = ctx.new_operation(Verb::Move, format!("move {was} to {path}"));
        operation.at = now;
        operation.facts = facts;
        let operation = record_with_decisions(ctx, planned, tx, operation)?;
        carry_renamed_claims(ctx, &*tx)?;
        Ok(MoveOutcome {
            success: true,
            was,
            node: NodeView::from_node(&*tx, &load_node(&*tx, id)?)?,
            operation,
        })
    })
}

/// Tells other clones of a move that the scan has recognised: what was decided before it belongs to
/// the plan where it is now.
fn tell_followed_move(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    tx: &mut dyn Transaction,
    was: &str,
    node: &Node,
) -> Result<MoveOutcome, Failure> {
    let path = load_node_path(&*tx, node)?;
    let operation = ctx.new_operation(Verb::Move, format!("move {was} to {path}"));
    Ok(MoveOutcome {
        success: true,
        was: was.to_owned(),
        node: NodeView::from_node(&*tx, node)?,
        operation: record_followed_moves(ctx, planned, tx, operation)?,
    })
}

/// Finds a recorded node by name or by file.
fn find_present_node(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    words: &[String],
) -> Result<Node, Failure> {
    if let [file] = words
        && let Some(node) = find_by_file(state, file)?
    {
        return Ok(node);
    }
    let (id, rest) = find_node(ctx, state, words)?;
    reject_extra_words(rest)?;
    Ok(load_node(state, id)?)
}

fn find_by_file(state: &dyn Snapshot, file: &str) -> Result<Option<Node>, Failure> {
    let nodes = state.all_nodes()?;
    Ok(nodes
        .into_iter()
        .find(|node| node.path.as_deref() == Some(file)))
}

/// Finds the former node: one whose file is missing, or an absent one.
fn find_former_node(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    name: &str,
) -> Result<(String, FormerNode), Failure> {
    // The absent one first: the present plan often has the same name in another place.
    if let Some((key, absent)) = find_absent_by_name(state, name)? {
        return Ok((
            absent.name.clone(),
            FormerNode::Absent(key, Box::new(absent)),
        ));
    }
    let node = find_present_node(ctx, state, &[name.to_owned()])?;
    let path = load_node_path(state, &node)?;
    if node.content != Content::Missing {
        return Err(
            Failure::refused(format!("`{path}` was not moved: its file is still there"))
                .with_step(format!("tl show {path}")),
        );
    }
    Ok((path, FormerNode::Missing(Box::new(node))))
}

fn refuse_unlike_nodes(was: &str, former: &Node, new: &Node) -> Result<(), Failure> {
    let refuse = |why: String| Err(Failure::refused(why));
    if former.id == new.id {
        return refuse(format!("`{was}` is that plan already"));
    }
    if (&former.profile, &former.level) != (&new.profile, &new.level) {
        return refuse(format!(
            "`{was}` is a {} and `{}` a {}: a plan keeps its level",
            former.level, new.alias, new.level
        ));
    }
    if !matches!(new.content, Content::Text { .. }) {
        return refuse(format!("`{}` has no text", new.alias));
    }
    Ok(())
}

/// Returns the facts of the move, in an order in which each can be applied.
fn decide_move_facts(
    tx: &dyn Transaction,
    former: FormerNode,
    new: &Node,
) -> Result<Vec<Fact>, Failure> {
    let id = former.node().id;
    let content = recall_content(tx, id, new)?;
    // An approval given to the new file is for this text below this parent, so it counts on.
    let approval = new.approval.clone();
    let mut facts = Vec::new();
    match former {
        FormerNode::Absent(key, absent) => {
            facts.extend(record_changed_fact(&key, Some(&*absent), None));
            let mut node = absent.node;
            node.parent = new.parent;
            node.set_name(new.name());
            node.content = content;
            node.description = new.description.clone();
            node.approval = approval.or(node.approval);
            facts.push(Fact::NodeAdded {
                node: Box::new(node),
            });
        }
        FormerNode::Missing(node) => {
            if node.parent != new.parent {
                facts.push(Fact::NodeMoved {
                    node: id,
                    before: node.parent,
                    after: new.parent,
                });
            }
            facts.push(Fact::NodeRenamed {
                node: id,
                before: node.name(),
                after: new.name(),
            });
            facts.push(Fact::ContentChanged {
                node: id,
                before: node.content.clone(),
                after: content,
            });
            if node.description != new.description {
                facts.push(Fact::DescriptionChanged {
                    node: id,
                    before: node.description.clone(),
                    after: new.description.clone(),
                });
            }
            if approval.is_some() && approval != node.approval {
                facts.push(Fact::ApprovalChanged {
                    node: id,
                    before: node.approval.clone(),
                    after: approval,
                });
            }
        }
    }
    // Before the node is removed: a store refuses to remove one that still has children.
    for child in tx.load_children(new.id)? {
        facts.push(Fact::NodeMoved {
            node: child.id,
            before: Some(new.id),
            after: Some(id),
        });
    }
    facts.push(Fact::NodeRemoved {
        node: Box::new(new.clone()),
    });
    Ok(facts)
}

/// Returns the present text as the former node's: if it had this text before, with the parent it
/// was written against.
fn recall_content(tx: &dyn Transaction, id: NodeId, new: &Node) -> Result<Content, Failure> {
    let mut content = new.content.clone();
    if let Content::Text { version, basis, .. } = &mut content
        && let Some(known) = tx.load_version(id, *version)?
    {
        *basis = known.basis;
    }
    Ok(content)
}
