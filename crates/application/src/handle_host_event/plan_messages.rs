//! Messages to the agent about plans: changes, cascades, consistency warnings, the parent's plan.

use domain::duplicate_ids::{describe_duplicate, renumber_command};
use domain::fact::Fact;
use domain::ids::{Digest32, NodeId, OperationId};
use domain::node::{Content, Node, Status};
use domain::plan_document::{DocumentRecord, MILESTONES_PROFILE};
use domain::planning_prompt::{Ancestor, ParentExtent, render_parent_context};
use domain::ports::Snapshot;
use domain::presence::returned_nodes;
use domain::profile::PlanPlace;
use domain::record;
use domain::session_state::Conversation;
use domain::shell_line::quote_word;
use domain::text::count_with_noun;

use crate::approval_need::asks_for_approval;
use crate::brief::compose_for_host;
use crate::context::{Context, Notice, shorten_notices};
use crate::failure::Failure;
use crate::locate::{load_node_path, load_parent};
use crate::plan_documents::open_document;
use crate::plan_node::child_names;
use crate::plan_warnings::collect_warnings;
use crate::removed_scenarios::is_item;
use crate::status_cascade::count_stale_nodes;

/// Maximum number of plans named in one message.
const MAX_NAMED_PLANS: usize = 6;

/// The plans that a call meant to change.
pub(super) struct MeantPlans<'m> {
    /// Their files were written.
    pub(super) touched: &'m [NodeId],
    /// The files of their items were written.
    pub(super) item_plans: &'m [NodeId],
}

impl MeantPlans<'_> {
    fn includes(&self, ctx: &Context<'_>, node: &Node) -> bool {
        let is_written_item = || {
            is_item(ctx, node)
                && node
                    .parent
                    .is_some_and(|parent| self.item_plans.contains(&parent))
        };
        self.touched.contains(&node.id) || is_written_item()
    }
}

/// Describes the given operations, and the consistency warnings of the plans that were written.
pub(super) fn describe_operations(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    operations: &[OperationId],
    meant: &MeantPlans<'_>,
    conversation: &mut Conversation,
) -> Result<Option<String>, Failure> {
    let mut lines = Vec::new();
    for id in operations {
        let Some(operation) = state.load_operation(*id)? else {
            continue;
        };
        let stale = count_stale_nodes(ctx, state, &operation.facts)?;
        let changed = changed_plans(&operation.facts);
        let mut quiet = Vec::new();
        // Each name costs lookups, and a checkout may change thousands of plans before one hook
        // (P8).
        for (node_id, is_new) in changed.iter().take(MAX_NAMED_PLANS) {
            let Some(node) = state.load_node(*node_id)? else {
                continue;
            };
            let change = ObservedChange {
                operation: *id,
                is_new: *is_new,
                is_meant: meant.includes(ctx, &node),
            };
            match describe_changed_plan(ctx, state, &node, change)? {
                Some(ChangedPlan::Line(line)) => lines.push(line),
                Some(ChangedPlan::Quiet(path)) => quiet.push(format!("`{path}`")),
                None => {}
            }
        }
        if !quiet.is_empty() {
            lines.push(format!("Throughline: {} changed", quiet.join(", ")));
        }
        if changed.len() > MAX_NAMED_PLANS {
            lines.push(format!(
                "- and {} more plans changed: tl log",
                changed.len() - MAX_NAMED_PLANS
            ));
        }
        if stale > 0 {
            // First, because the cascade is what the agent has to act on; single changes follow.
            lines.insert(
                0,
                format!(
                    "Throughline: {} below what changed now {} revalidation. See: tl status; tl why NODE",
                    count_with_noun(stale, "plan", "plans"),
                    if stale == 1 { "requires" } else { "require" }
                ),
            );
        }
    }
    for id in meant.touched {
        let Some(node) = state.load_node(*id)? else {
            continue;
        };
        let above = load_parent(state, &node)?;
        let found = collect_warnings(ctx, state, &node, above.as_ref())?;
        // The same warnings about the same text are not repeated, not even for hosts that send the
        // event of one call twice.
        let digest =
            Digest32::of_bytes(format!("{:?}{found:?}", node.content.version_hash()).as_bytes());
        if !found.is_empty() && conversation.warned.insert(*id, digest) != Some(digest) {
            lines.push(format!(
                "Consistency of `{}` with its parent:",
                load_node_path(state, &node)?
            ));
            lines.extend(
                found
                    .into_iter()
                    .take(MAX_NAMED_PLANS)
                    .map(|warning| format!("- {warning}")),
            );
        }
    }
    Ok((!lines.is_empty()).then(|| lines.join("\n")))
}

/// Returns the plans whose text changed, and whether they are new, without those that only became
/// stale or came back with their branch.
fn changed_plans(facts: &[Fact]) -> Vec<(NodeId, bool)> {
    let returned = returned_nodes(facts);
    let mut found = Vec::new();
    for fact in facts {
        let (id, is_new) = match fact {
            Fact::NodeAdded { node } if returned.contains(&node.id) => continue,
            Fact::NodeAdded { node } => (node.id, true),
            Fact::ContentChanged { node, .. } => (*node, false),
            _ => continue,
        };
        if found.iter().all(|(known, _)| *known != id) {
            found.push((id, is_new));
        }
    }
    found
}

/// A change of a plan's text that was found on disk.
#[derive(Clone, Copy)]
struct ObservedChange {
    operation: OperationId,
    /// Whether there was no plan before.
    is_new: bool,
    /// Whether the call was about this plan.
    is_meant: bool,
}

/// What is said about a changed plan.
enum ChangedPlan {
    Line(String),
    /// Nothing follows from it: several are named in one line.
    Quiet(String),
}

/// Returns what is said about one changed plan, if the agent needs it.
fn describe_changed_plan(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    change: ObservedChange,
) -> Result<Option<ChangedPlan>, Failure> {
    if let Some(line) = describe_changed_document(ctx, state, node)? {
        return Ok(Some(ChangedPlan::Line(line)));
    }
    let path = load_node_path(state, node)?;
    // An unapproved parent is reported here as well as by the gate: the gate may only warn, and a
    // shell command can write a plan that no hook saw beforehand.
    let is_asked = asks_for_approval(ctx, node);
    let above =
        load_parent(state, node)?.filter(|parent| is_asked && parent.status() != Status::Approved);
    let line = match (&node.content, above) {
        // Its file is there, and `tl restore` could not bring it back.
        (Content::Missing, _) if is_item(ctx, node) => match change.is_meant {
            true => return Ok(None),
            false => format!("- `{path}` is no longer in its file"),
        },
        (Content::Missing, _) => {
            format!("- `{path}`: its plan file is gone. tl restore {path} -1 brings it back")
        }
        (Content::Unreadable { why }, _) => {
            format!("- `{path}`: its plan file cannot be read: {why}")
        }
        (Content::Text { .. }, Some(parent)) => format!(
            "- `{path}` was written although its parent `{}` is {}: it cannot be approved before the \
             parent is. Do not build on it; ask the person, or {}",
            load_node_path(state, &parent)?,
            parent.status(),
            match (&node.path, change.is_new) {
                // A new file has no former text that `tl undo` could bring back.
                (Some(file), true) => format!("remove `{file}`"),
                _ => format!("take it back: tl undo {}", change.operation.0),
            }
        ),
        // The agent knows what it wrote; only a draft needs a next step, a person's approval.
        (Content::Text { .. }, None) if change.is_meant => match node.status() {
            Status::Draft if is_asked => {
                format!(
                    "- `{path}` is a draft. A person approves it: /approve-plan {path}, the dashboard, or tl approve {path}"
                )
            }
            _ => return Ok(None),
        },
        (Content::Text { .. }, None) if is_asked => {
            format!("- `{path}` changed and is {} now", node.status())
        }
        (Content::Text { .. }, None) => return Ok(Some(ChangedPlan::Quiet(path))),
    };
    Ok(Some(ChangedPlan::Line(line)))
}

/// Describes a plan document whose file is not the one that was written last: what is wrong with it, and
/// the ways out; `None` for any other node.
fn describe_changed_document(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Option<String>, Failure> {
    if node.profile != MILESTONES_PROFILE || node.parent.is_some() {
        return Ok(None);
    }
    let id = node.alias.clone();
    let Some(record) = record::read_record::<DocumentRecord>(state, &id)? else {
        return Ok(None);
    };
    // Our commands write the file and the record together.
    if node.content.version_hash() == Some(record.written) {
        return Ok(None);
    }
    match open_document(ctx, state, id, record) {
        Err(failure) if failure.is_rejection() => {
            let steps = failure.next_steps.iter();
            let steps: String = steps.map(|step| format!("\n  next: {step}")).collect();
            Ok(Some(format!("- {}{steps}", failure.message)))
        }
        // Put right since the scan, or not to be judged now: the next command about it says so.
        Ok(_) | Err(_) => Ok(None),
    }
}

/// Gives the parent's plan, unless the agent or subagent has already read it or been given it.
pub(super) fn give_parent_plan(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    conversation: &mut Conversation,
    agent: Option<&str>,
    parent: &Node,
    child: &PlanPlace<'_>,
) -> Result<Option<String>, Failure> {
    let Some(version) = parent.content.version_hash() else {
        return Ok(None);
    };
    // By version, not by node: a parent that changed since is given again.
    if conversation.knows_version(agent, parent.id, version) {
        return Ok(None);
    }
    let Some(text) = state.load_text(version)? else {
        return Ok(None);
    };
    // Per subagent: what one of them was given, the others and the main agent have not seen.
    conversation.remember_given(agent, parent.id, version);
    let approved_by = parent
        .approval
        .as_ref()
        .map(|approval| approval.by.to_string());
    let path = load_node_path(state, parent)?;
    let ancestor = Ancestor {
        level: &parent.level,
        path: &path,
        file: parent.path.as_deref(),
        approved_by: approved_by.as_deref(),
        text: Some(&text),
    };
    let mut extent = ParentExtent {
        budget: None,
        child_names: child_names(child.level, &child.path_alias()),
    };
    Ok(Some(compose_for_host(ctx, |budget| {
        extent.budget = budget;
        render_parent_context(&ancestor, &extent)
    })))
}

/// Renders the notices that concern an agent.
pub(super) fn render_notices(notices: &[Notice]) -> Vec<String> {
    shorten_notices(notices.to_vec())
        .iter()
        .filter_map(render_notice)
        .collect()
}

/// Describes a file that looks like a plan, but is not where the profile expects that plan.
pub(super) fn describe_wrong_place(path: &str, expected: &str) -> String {
    format!(
        "Throughline: `{path}` looks like a plan, but is not read as one: its path should be \
         `{expected}`. To put it there: tl move {}",
        quote_word(path)
    )
}

/// Renders a notice for an agent, if it concerns it.
fn render_notice(noticed: &Notice) -> Option<String> {
    match noticed {
        Notice::Changes {
            summary, stale: 0, ..
        } => Some(format!("Throughline noticed: {summary}.")),
        Notice::Changes { summary, stale, .. } => Some(format!(
            "Throughline noticed: {summary}; {} below to revalidate (`tl status`).",
            count_with_noun(*stale, "plan", "plans")
        )),
        Notice::Unproved { .. }
        | Notice::NotCarriedOut { .. }
        | Notice::Believed { .. }
        | Notice::LeftOut { .. }
        | Notice::Reopened { .. }
        | Notice::ScenarioRemoved { .. }
        | Notice::ScenarioReplaced { .. }
        | Notice::NeedsOpen { .. }
        | Notice::PhaseSkipped { .. }
        | Notice::UnknownWord { .. }
        | Notice::WorkLeft { .. } => noticed
            .describe_claim()
            .map(|claim| format!("Throughline: {claim}.")),
        Notice::Misplaced { path, why } => Some(format!("Throughline: {path}: {why}.")),
        Notice::NotAtItsPlace { path, expected } => Some(describe_wrong_place(path, expected)),
        Notice::Unavailable { path, why } => Some(format!(
            "Throughline: `{path}` cannot be read now ({why}); what was known of it still counts."
        )),
        Notice::MoreFiles { left } => Some(format!(
            "Throughline: {} more; tl check lists them.",
            count_with_noun(*left, "such file", "such files")
        )),
        Notice::Masked { what } => Some(format!("Throughline {what}.")),
        Notice::Duplicate { label, path, other } => {
            let described = describe_duplicate(label, path, other);
            let command = renumber_command(label);
            Some(format!(
                "Throughline: {described}. To change its id: {command}"
            ))
        }
        Notice::PossibleMove { was, now, .. } => Some(format!(
            "Throughline: `{now}` may be the former `{was}`. If it is: tl move --was {} {}",
            quote_word(was),
            quote_word(now)
        )),
        Notice::Submitted { summary, .. } => Some(format!(
            "Throughline submitted your working copy's text to the team: {summary}."
        )),
        Notice::CopyBehind { what } => Some(format!(
            "Throughline: {what}, which is what was decided on."
        )),
        // Faults of the machine: the edge reports them to the person, an agent cannot fix them.
        Notice::NotRecorded { .. }
        | Notice::NoBackup { .. }
        | Notice::NotWritten { .. }
        | Notice::NotShared { .. }
        | Notice::CaughtUp { .. }
        | Notice::DecisionsWritten { .. }
        | Notice::DecisionsVanished { .. }
        | Notice::DecisionsWaiting { .. }
        | Notice::DecisionsUnsigned { .. }
        | Notice::NotADecision { .. } => None,
    }
}
