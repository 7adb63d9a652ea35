//! Planning that an agent hands over: to a subagent, a skill or a slash-command tool.
//!
//! Gated like the command that a person types. A subagent that is stopped only at its write has
//! worked for minutes on a plan that may not be written.

use domain::host_event::{HostEvent, ToolCall, ToolKind};
use domain::ids::{NodeId, VersionHash};
use domain::policy::GateMode;
use domain::ports::FileStatResult;
use domain::profile::locate_plan;
use domain::typed_command::{PlanCommand, find_plan_commands};

use super::EventOutcome;
use super::commit::Decision;
use super::fitting::{FittedMessages, fit_messages};
use super::plans::path_like_words;
use super::prompt_submitted::block_with_failure;
use crate::context::Context;
use crate::failure::Failure;
use crate::plan_node::{PlanRequest, plan_node};

/// Maximum number of plans of one call that are looked at.
const MAX_DELEGATED_PLANS: usize = 4;

/// What becomes of a call that may hand planning over.
#[derive(Default)]
pub(super) struct Delegation {
    /// The refusal of the call.
    pub(super) refused: Option<EventOutcome>,
    /// Messages for the agent that makes the call.
    messages: Vec<String>,
    /// The parents whose plans are in the messages.
    given: Vec<(NodeId, VersionHash)>,
    /// Plans whose prompts the subagent gets at its start.
    handed_over: Vec<PlanCommand>,
}

impl Delegation {
    /// Adds the messages to the decision about the call, and remembers what was handed over.
    pub(super) fn remember_in(&self, event: &HostEvent, decision: &mut Decision) {
        // A blocked call hands nothing over; remembered as given, the parent's text would be
        // missing from the next attempt.
        if decision.outcome.reply.block.is_some() {
            return;
        }
        let conversation = &mut decision.session.conversation;
        for (node, version) in &self.given {
            conversation.remember_given(event.agent.as_deref(), *node, *version);
        }
        for plan in &self.handed_over {
            conversation.remember_handover(plan.clone());
        }
        let context = &mut decision.outcome.reply.context;
        let texts = context.take().into_iter().chain(self.messages.clone());
        let texts: Vec<String> = texts.collect();
        let asked_for = texts.len().checked_sub(self.messages.len());
        let FittedMessages { told, left } = fit_messages(event.host, texts, asked_for);
        conversation.untold.extend(left);
        *context = (!told.is_empty()).then(|| told.join("\n\n"));
    }
}

/// A plan that a call hands over.
struct DelegatedPlan {
    command: PlanCommand,
    /// Whether it can only be meant to be written: named by a command, or by a file that does not
    /// exist yet.
    is_written: bool,
}

/// Checks the plans that a call hands over, like typed commands: each is a use case of its own.
pub(super) fn check_delegated_plans(
    ctx: &Context<'_>,
    event: &HostEvent,
    call: &ToolCall,
) -> Result<Delegation, Failure> {
    let mut found = Delegation::default();
    let mode = ctx.policy.gates.hierarchy;
    for DelegatedPlan {
        command,
        is_written,
    } in find_delegated_plans(ctx, event, call)
    {
        match plan_node(ctx, &PlanRequest::from(&command)) {
            Ok(outcome) => match call.kind {
                ToolKind::Agent if event.host.accepts_context_at_subagent_start() => {
                    found.handed_over.push(command);
                    // The prompt with it goes to the subagent alone.
                    found.messages.extend(outcome.warning);
                }
                _ if event.host.accepts_context_before_tools() => {
                    found.messages.push(outcome.prompt);
                    found.given.extend(outcome.parent);
                }
                _ => {}
            },
            Err(failure) if !failure.is_rejection() => return Err(failure),
            Err(_) if mode == GateMode::Off => {}
            // As for the typed command: a parent that cannot be told is as little approved as a
            // missing one.
            Err(failure) if mode == GateMode::Block && is_written => {
                found.refused = Some(block_with_failure("plan", &failure));
                return Ok(found);
            }
            Err(failure) => {
                let steps = failure.next_steps.iter();
                let steps: String = steps.map(|step| format!("\n  next: {step}")).collect();
                found
                    .messages
                    .push(format!("Throughline: {}{steps}", failure.message));
            }
        }
    }
    Ok(found)
}

/// Returns the plans that the text of a call names, by command or by file.
fn find_delegated_plans(
    ctx: &Context<'_>,
    event: &HostEvent,
    call: &ToolCall,
) -> Vec<DelegatedPlan> {
    let Some(text) = call.delegated_text() else {
        return Vec::new();
    };
    let commands = find_plan_commands(text).into_iter().filter(|command| {
        let levels = ctx.profiles.iter().flat_map(|profile| &profile.levels);
        let id = command.id.rsplit('/').next().unwrap_or_default();
        // A word that is no id of the level belongs to the sentence around the command.
        levels
            .filter(|level| level.name == command.level)
            .any(|level| call.kind == ToolKind::Skill || level.read_alias(id).is_ok())
    });
    let mut found: Vec<DelegatedPlan> = commands
        .map(|command| DelegatedPlan {
            command,
            is_written: true,
        })
        .collect();
    let directory = event.directory.as_deref();
    for word in path_like_words(text) {
        // The full stop of a sentence is no part of a path.
        let word = word.trim_end_matches(['.', ':', '!', '?', ']', '*']);
        let Some(file) = ctx.files.resolve_path(directory, word) else {
            continue;
        };
        let Some(place) = locate_plan(ctx.profiles, &file) else {
            continue;
        };
        let command = PlanCommand {
            level: place.level.name.clone(),
            id: place.path_alias(),
            under: None,
        };
        if !found.iter().any(|one| one.command == command) {
            found.push(DelegatedPlan {
                command,
                is_written: matches!(ctx.files.stat_file(&file), FileStatResult::Missing),
            });
        }
    }
    // Each plan is a use case with its own scan; a prompt that lists a whole book must not reach
    // the deadline of the hook (P8).
    found.truncate(MAX_DELEGATED_PLANS);
    found
}
