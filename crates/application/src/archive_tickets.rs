//! Archive of tickets: moves the folders of finished ones beside the others and takes them out of the
//! tree, with everything attached to them kept.
//!
//! An archived ticket is an absent node (`domain::presence`): when its folder is moved back, it
//! returns with its versions, approval, comments and progress.

use domain::fact::Fact;
use domain::ids::OperationId;
use domain::node::{Node, Progress};
use domain::operation::Verb;
use domain::ports::{FileReadResult, PlanFiles, Snapshot, Transaction};
use domain::profile::parent_folder;
use domain::shell_line::quote_word;
use domain::tree::Tree;
use schemars::JsonSchema;
use serde::Serialize;

use crate::claim_node::refuse_claimed_change;
use crate::context::Context;
use crate::duplicate_ids::refuse_duplicate;
use crate::failure::Failure;
use crate::file_writes::{self, PlannedFiles};
use crate::locate::{find_node, reject_extra_words};
use crate::observe::{load_plan_tree, with_observed_files};
use crate::presence_facts::archive_facts;
use crate::scan::ScanScope;
use crate::session_position::has_work_phases;
use crate::shape::{MovedFileView, list_files_below};
use crate::ticket_ids::ARCHIVE_FOLDER;
use crate::tickets::find_ticket_level;

/// Request of [`archive_tickets`].
#[derive(Clone, Debug)]
pub enum ArchiveRequest {
    /// These tickets, with those below them.
    Named(Vec<String>),
    /// Every root ticket that is finished with everything below it.
    AllFinished,
}

/// Outcome of [`archive_tickets`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ArchiveOutcome {
    /// Paths of the tickets that were moved.
    pub archived: Vec<String>,
    pub moved_files: Vec<MovedFileView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
}

/// Moves finished tickets to the archive.
///
/// # Errors
/// When a named ticket is unknown or not finished, or a file cannot be moved.
pub fn archive_tickets(
    ctx: &Context<'_>,
    request: &ArchiveRequest,
) -> Result<ArchiveOutcome, Failure> {
    find_ticket_level(ctx)?;
    let asked = file_writes::hash_request(&("ticket archive", request));
    // Everything: whether a ticket is finished depends on files of other tickets below it.
    with_observed_files(ctx, ScanScope::Everything, Some(asked), |planned, tx| {
        let tree = load_plan_tree(&*tx)?;
        let tops = choose_tops(ctx, &*tx, &tree, request)?;
        if tops.is_empty() {
            return Ok(ArchiveOutcome {
                archived: Vec::new(),
                moved_files: Vec::new(),
                operation: None,
            });
        }
        let nodes: Vec<&Node> = tops
            .iter()
            .flat_map(|top| tree.subtree_preorder(top.id))
            .collect();
        for node in &nodes {
            refuse_claimed_change(ctx, &*tx, node)?;
        }
        let moved_files = plan_moves(ctx, planned, &nodes)?;
        let facts = collect_facts(ctx, &*tx, &tree, &nodes)?;
        let archived: Vec<String> = tops.iter().map(|top| tree.alias_path(top)).collect();
        let summary = format!("archive {}", archived.join(", "));
        let mut operation = ctx.new_operation(Verb::Ticket, summary);
        operation.facts = facts;
        let operation = planned.record_operation(tx, operation)?;
        Ok(ArchiveOutcome {
            archived,
            moved_files,
            operation: Some(operation),
        })
    })
}

/// Returns the tickets to move, each with everything below it.
fn choose_tops<'t>(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    tree: &'t Tree,
    request: &ArchiveRequest,
) -> Result<Vec<&'t Node>, Failure> {
    let is_ticket = |node: &&Node| has_work_phases(ctx, node);
    let ArchiveRequest::Named(names) = request else {
        let roots = tree.root_nodes().filter(is_ticket);
        return Ok(roots
            .filter(|node| find_open_below(tree, node).is_none())
            .collect());
    };
    let mut tops: Vec<&Node> = Vec::new();
    for name in names {
        let words = [name.clone()];
        let (id, rest) = find_node(ctx, tx, &words)?;
        reject_extra_words(rest)?;
        let Some(node) = tree.get(id).filter(is_ticket) else {
            return Err(Failure::invalid(format!("`{name}` is not a ticket")));
        };
        refuse_duplicate(ctx, tx, node)?;
        if let Some(open) = find_open_below(tree, node) {
            let path = tree.alias_path(open);
            let what = match open.id == node.id {
                true => format!("`{path}` is not finished: it is {}", node.progress),
                false => format!("`{name}` is not finished: `{path}` is {}", open.progress),
            };
            return Err(Failure::refused(what)
                .with_step(format!(
                    "tl ticket phase {} done   # when it is",
                    node.alias
                ))
                .with_step("set `status: cancelled` in its file   # if it will not be done"));
        }
        // A ticket that moves with its parent would be moved twice.
        let is_covered = |top: &&Node| {
            top.id == node.id || tree.ancestors(node).iter().any(|above| above.id == top.id)
        };
        if !tops.iter().any(is_covered) {
            tops.push(node);
        }
    }
    Ok(tops)
}

/// Returns the first unfinished node of a subtree. What is below a dropped node is dropped with it.
fn find_open_below<'t>(tree: &'t Tree, top: &'t Node) -> Option<&'t Node> {
    if top.is_dropped() {
        return None;
    }
    if top.progress != Progress::Complete {
        return Some(top);
    }
    tree.children(top.id)
        // Scenarios have no file of their own; what the rule for done asks of them was settled when
        // the ticket was completed.
        .filter(|child| child.path.is_some())
        .find_map(|child| find_open_below(tree, child))
}

/// Plans the files of the tickets at their places in the archive.
fn plan_moves(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    nodes: &[&Node],
) -> Result<Vec<MovedFileView>, Failure> {
    let mut moved = Vec::new();
    for node in nodes {
        let Some(plan) = &node.path else { continue };
        let folder = parent_folder(plan);
        let target = archived_folder(folder);
        let mut files = Vec::new();
        list_files_below(ctx, folder, &mut files)?;
        files.sort();
        for was in files {
            let text = match ctx.files.read_file(&was, ctx.policy.max_plan_bytes) {
                FileReadResult::Text { text, .. } => text,
                // Gone since it was listed; there is nothing to move.
                FileReadResult::Missing => continue,
                FileReadResult::Unreadable { why, .. } => {
                    return Err(Failure::refused(format!("`{was}` cannot be moved: {why}"))
                        .with_step(format!(
                            "git mv {} {}   # by hand",
                            quote_word(folder),
                            quote_word(&target)
                        )));
                }
            };
            let path = was.replacen(folder, &target, 1);
            // Refuses a file that exists: an earlier ticket with the same folder name may be in the
            // archive.
            planned.create_file(&path, &text)?;
            planned.put_file(&was, None)?;
            moved.push(MovedFileView { was, path });
        }
    }
    Ok(moved)
}

/// Returns the place of a ticket's folder in the archive: `tickets/archive/017-loc-tracking`.
fn archived_folder(folder: &str) -> String {
    let (above, name) = folder.rsplit_once('/').unwrap_or(("", folder));
    match above {
        "" => format!("{ARCHIVE_FOLDER}/{name}"),
        above => format!("{above}/{ARCHIVE_FOLDER}/{name}"),
    }
}

/// Returns the facts that take the nodes out of the tree, children before their parents.
fn collect_facts(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    nodes: &[&Node],
) -> Result<Vec<Fact>, Failure> {
    let now = ctx.clock.now();
    let mut facts = Vec::new();
    for node in nodes.iter().rev() {
        let folder = node.path.as_deref().map(parent_folder).map(archived_folder);
        facts.extend(archive_facts(ctx, state, tree, node, now, folder)?);
    }
    Ok(facts)
}
