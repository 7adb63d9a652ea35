//! Explain what the gates say to a write of one file by this session, as the next hook would: a plan,
//! the text that is written from it, or any other file.

use domain::gates::FiredGate;
use domain::host_event::{FileEffect, Happening, Host, HostEvent, ToolCall, ToolKind, Touch};
use domain::node::Node;
use domain::ports::{FileStatResult, Snapshot};
use domain::profile::{locate_output, locate_plan, parent_folder};
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::handle_host_event::{NextStep, ObservedCall, evaluate_step};
use crate::locate::{find_node, load_node, load_node_path, load_parent, reject_extra_words};
use crate::observe::observe_then_read;
use crate::scan::ScanScope;
use crate::session_state::load_session_state;

/// What the gates say to a write of a file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChangeExplanation {
    /// The node whose file it is; of another file its path.
    pub path: String,
    pub file_path: String,
    /// The gates that would block it, the first one first.
    pub blocks: Vec<BlockedChange>,
    /// The same for the text that is written from the plan, where the node was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputExplanation>,
}

/// What the gates say to a write of the text that is written from a plan.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OutputExplanation {
    pub file_path: String,
    pub blocks: Vec<BlockedChange>,
}

/// A gate that would block a change.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BlockedChange {
    pub gate: &'static str,
    pub reason: String,
    pub next_steps: Vec<String>,
}

impl BlockedChange {
    fn from_fired(fired: FiredGate) -> Self {
        Self {
            gate: fired.gate,
            reason: fired.objection.why,
            next_steps: fired.objection.next_steps,
        }
    }
}

/// Returns the gates that would block this session from writing a node's plan and its text, or a file
/// of the project.
///
/// # Errors
/// When there is neither such a node nor such a file, or the state cannot be read.
pub fn explain_change(ctx: &Context<'_>, words: &[String]) -> Result<ChangeExplanation, Failure> {
    let state = observe_then_read(ctx, ScanScope::Everything)?;
    let explain = |file: &str| explain_write(ctx, &*state, file);
    match find_written(ctx, &*state, words)? {
        Written::File { path, file } => Ok(ChangeExplanation {
            blocks: explain(&file)?,
            path,
            file_path: file,
            output: None,
        }),
        Written::Node { path, plan, output } => {
            let output = match output {
                Some(file_path) => Some(OutputExplanation {
                    blocks: explain(&file_path)?,
                    file_path,
                }),
                None => None,
            };
            Ok(ChangeExplanation {
                blocks: explain(&plan)?,
                path,
                file_path: plan,
                output,
            })
        }
    }
}

/// What the words of a request name.
enum Written {
    File {
        /// The node it belongs to, else the file itself.
        path: String,
        file: String,
    },
    Node {
        path: String,
        plan: String,
        output: Option<String>,
    },
}

/// Finds the node or the file that the words name. A file of a plan or of its text comes first, then
/// a node, then any other file.
fn find_written(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    words: &[String],
) -> Result<Written, Failure> {
    let first = words.first().map(String::as_str).unwrap_or_default();
    let resolved = ctx.files.resolve_path(None, first);
    let file = resolved.unwrap_or_else(|| first.to_owned());
    let place = locate_plan(ctx.profiles, &file).or_else(|| locate_output(ctx.profiles, &file));
    if let Some(place) = place {
        reject_extra_words(&words[1..])?;
        let path = place.path_alias();
        return Ok(Written::File { path, file });
    }
    match find_node(ctx, state, words) {
        Ok((id, rest)) => {
            reject_extra_words(rest)?;
            let node = load_node(state, id)?;
            let Some(plan) = node.path.clone() else {
                return Err(Failure::invalid(
                    "it has no plan file that a tool could write",
                ));
            };
            Ok(Written::Node {
                path: load_node_path(state, &node)?,
                output: find_output_file(ctx, state, &node)?,
                plan,
            })
        }
        Err(failure) if failure.kind == FailureKind::NotFound => {
            let is_there = matches!(ctx.files.stat_file(&file), FileStatResult::Present(_));
            if words.len() == 1 && (first.contains(['/', '.']) || is_there) {
                let path = file.clone();
                return Ok(Written::File { path, file });
            }
            let step = format!("tl gate explain --for ./{first}   # a file with this name");
            Err(failure.with_step(step))
        }
        Err(failure) => Err(failure),
    }
}

/// Returns the file of the text that is written from a node's plan.
fn find_output_file(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Option<String>, Failure> {
    let level = ctx
        .find_profile(&node.profile)
        .and_then(|profile| profile.find_level(&node.level));
    let Some(pattern) = level.and_then(|level| level.output.as_ref()) else {
        return Ok(None);
    };
    // It lies in the folder of the parent, like the plan.
    let parent = load_parent(state, node)?.and_then(|parent| parent.path);
    let folder = parent.as_deref().map(parent_folder).unwrap_or_default();
    Ok(Some(pattern.file_for(folder, &node.alias)))
}

/// Asks the gates about a write of a whole file: the strictest change, because the gates about what a
/// session has read look at whole texts alone. Goes the way of the hook.
fn explain_write(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    file: &str,
) -> Result<Vec<BlockedChange>, Failure> {
    let call = ToolCall {
        id: None,
        name: String::new(),
        kind: ToolKind::Write,
        touches: vec![Touch {
            path: file.to_owned(),
            effect: FileEffect::Write { text: None },
        }],
        command: None,
        says: None,
    };
    let event = HostEvent {
        // No gate looks at the host of the event; what it passes on is known of the session.
        host: Host::ClaudeCode,
        name: String::new(),
        session: ctx.session.clone(),
        turn: None,
        agent: None,
        directory: None,
        happening: Happening::ToolAboutToRun(call.clone()),
    };
    let observed = ObservedCall::from_event(ctx.files, ctx.profiles, &event);
    let blocks = match observed.refuse_without_state(&event, ctx.policy) {
        Some(refused) => refused.blocked,
        None if !observed.concerns_state(&event, ctx.policy) => Vec::new(),
        None => {
            let session = load_session_state(state, &ctx.session)?;
            let step = NextStep::from_call(ctx, &event, &call, &observed.plans, &observed.files);
            evaluate_step(ctx, state, session, &step)?.verdict.blocks
        }
    };
    Ok(blocks.into_iter().map(BlockedChange::from_fired).collect())
}
