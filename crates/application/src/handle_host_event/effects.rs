//! Messages to the agent about plans: changes, cascades, consistency warnings, the parent's plan.

use domain::fact::Fact;
use domain::ids::{Digest32, NodeId, OperationId};
use domain::node::{Content, Node, Status};
use domain::planning_prompt::Ancestor;
use domain::ports::Snapshot;
use domain::session_memory::SessionMemory;
use domain::text::count;

use crate::approve::warnings;
use crate::context::{Context, Noticed};
use crate::failure::Failure;
use crate::locate::{parent, path_of};
use crate::settle::count_stale;

/// Maximum number of plans named in one message.
const MOST_NAMED: usize = 6;

/// Describes the given operations, and the consistency warnings of the touched plans.
pub(super) fn tell(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    operations: &[OperationId],
    touched: &[NodeId],
    memory: &mut SessionMemory,
) -> Result<Option<String>, Failure> {
    let mut lines = Vec::new();
    for id in operations {
        let Some(operation) = state.operation(*id)? else {
            continue;
        };
        let stale = count_stale(&operation.facts);
        let changed = changed_plans(&operation.facts);
        for id in changed.iter().take(MOST_NAMED) {
            let Some(node) = state.node(*id)? else {
                continue;
            };
            lines.extend(about(state, &node, touched.contains(id))?);
        }
        if changed.len() > MOST_NAMED {
            lines.push(format!(
                "- and {} more plans changed: tl log",
                changed.len() - MOST_NAMED
            ));
        }
        if stale > 0 {
            // First, because the cascade is what the agent has to act on; single changes follow.
            lines.insert(
                0,
                format!(
                    "Throughline: {} below what changed now {} revalidation. See: tl status; tl why NODE",
                    count(stale, "plan", "plans"),
                    if stale == 1 { "requires" } else { "require" }
                ),
            );
        }
    }
    for id in touched {
        let Some(node) = state.node(*id)? else {
            continue;
        };
        let above = parent(state, &node)?;
        let found = warnings(ctx, state, &node, above.as_ref())?;
        // The same warnings about the same text are not repeated, not even for hosts that send the
        // event of one call twice.
        let digest = Digest32::of(format!("{:?}{found:?}", node.content.version()).as_bytes());
        if !found.is_empty() && memory.warned.insert(*id, digest) != Some(digest) {
            lines.push(format!(
                "Consistency of `{}` with its parent:",
                path_of(state, &node)?
            ));
            lines.extend(
                found
                    .into_iter()
                    .take(MOST_NAMED)
                    .map(|warning| format!("- {warning}")),
            );
        }
    }
    Ok((!lines.is_empty()).then(|| lines.join("\n")))
}

/// Returns the plans whose text changed, without those that only became stale.
fn changed_plans(facts: &[Fact]) -> Vec<NodeId> {
    let mut found = Vec::new();
    for fact in facts {
        let id = match fact {
            Fact::NodeAdded { node } => node.id,
            Fact::ContentChanged { node, .. } => *node,
            _ => continue,
        };
        if !found.contains(&id) {
            found.push(id);
        }
    }
    found
}

/// Returns the line about one changed plan, if the agent needs it.
fn about(state: &dyn Snapshot, node: &Node, meant: bool) -> Result<Option<String>, Failure> {
    let path = path_of(state, node)?;
    // An unapproved parent is reported here as well as by the gate: the gate may only warn, and a
    // shell command can write a plan that no hook saw beforehand.
    let above = parent(state, node)?.filter(|parent| parent.status() != Status::Approved);
    let line = match (&node.content, above) {
        (Content::Missing, _) => {
            format!("- `{path}`: its plan file is gone. tl restore {path} -1 brings it back")
        }
        (Content::Unreadable { why }, _) => {
            format!("- `{path}`: its plan file cannot be read: {why}")
        }
        (Content::Text { .. }, Some(parent)) => format!(
            "- `{path}` was written although its parent `{}` is {}: it stays a draft and cannot be approved before the \
             parent is. Do not build on it; ask the person, or take it back: tl undo --help",
            parent.alias,
            parent.status()
        ),
        // The agent knows what it wrote; only a draft needs a next step, a person's approval.
        (Content::Text { .. }, None) if meant => match node.status() {
            Status::Draft => {
                format!(
                    "- `{path}` is a draft. A person approves it: /approve-plan {path}, the dashboard, or tl approve {path}"
                )
            }
            _ => return Ok(None),
        },
        (Content::Text { .. }, None) => format!("- `{path}` changed and is {} now", node.status()),
    };
    Ok(Some(line))
}

/// Returns the parent's plan, unless the session has already read it or been given it.
pub(super) fn parent_context(
    state: &dyn Snapshot,
    memory: &SessionMemory,
    parent: &Node,
) -> Result<Option<String>, Failure> {
    let Some(version) = parent.content.version() else {
        return Ok(None);
    };
    // By version, not by node: a parent that changed since is given again.
    let known = [memory.given.get(&parent.id), memory.read.get(&parent.id)];
    if known.contains(&Some(&version)) {
        return Ok(None);
    }
    let Some(text) = state.text(version)? else {
        return Ok(None);
    };
    let approved_by = parent
        .approval
        .as_ref()
        .map(|approval| approval.by.to_string());
    Ok(Some(domain::planning_prompt::parent_context(&Ancestor {
        level: &parent.level,
        path: &path_of(state, parent)?,
        file: parent.path.as_deref(),
        approved_by: approved_by.as_deref(),
        text: Some(&text),
    })))
}

/// Renders a notice for an agent, if it concerns it.
pub(super) fn in_words(noticed: &Noticed) -> Option<String> {
    match noticed {
        Noticed::Changes {
            summary, stale: 0, ..
        } => Some(format!("Throughline noticed: {summary}.")),
        Noticed::Changes { summary, stale, .. } => Some(format!(
            "Throughline noticed: {summary}; {} below to revalidate (tl status).",
            count(*stale, "plan", "plans")
        )),
        Noticed::Unproved { why, .. } => Some(format!(
            "Throughline: {why}; it does not count as complete."
        )),
        Noticed::Misplaced { path, why } => Some(format!("Throughline: {path}: {why}.")),
        Noticed::Unavailable { path, why } => Some(format!(
            "Throughline: `{path}` cannot be read now ({why}); what was known of it still counts."
        )),
        Noticed::MoreFiles { left } => Some(format!(
            "Throughline: {} more; tl check lists them.",
            count(*left, "such file", "such files")
        )),
        Noticed::Masked { what } => Some(format!("Throughline {what}.")),
        // Faults of the machine: the edge reports them to the person, an agent cannot fix them.
        Noticed::NotRecorded { .. }
        | Noticed::NoBackup { .. }
        | Noticed::NotWritten { .. }
        | Noticed::CaughtUp { .. } => None,
    }
}
