//! Explain what the gates say to a change of one plan by this session, as the next hook would.

use domain::host_event::FileEffect;
use domain::profile::locate_plan;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::handle_host_event::{NextStep, TouchedPlan, evaluate_step};
use crate::locate::{find_node, load_node, reject_extra_words};
use crate::observe::observe_then_read;
use crate::scan::ScanScope;
use crate::session_state::load_session_state;

/// What the gates say to a change of a plan.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChangeExplanation {
    pub path: String,
    pub file_path: String,
    /// The gates that would block it, the first one first.
    pub blocks: Vec<BlockedChange>,
}

/// A gate that would block a change.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BlockedChange {
    pub gate: &'static str,
    pub reason: String,
    pub next_steps: Vec<String>,
}

/// Returns the gates that would block this session from writing a plan, given by name or, if it is not
/// written yet, by its file.
///
/// # Errors
/// When there is no such plan, or the state cannot be read.
pub fn explain_change(ctx: &Context<'_>, words: &[String]) -> Result<ChangeExplanation, Failure> {
    let state = observe_then_read(ctx, ScanScope::Everything)?;
    let named = words
        .first()
        .filter(|word| locate_plan(ctx.profiles, word).is_some());
    let file = match named {
        Some(file) => {
            reject_extra_words(&words[1..])?;
            Some(file.clone())
        }
        None => {
            let (id, rest) =
                find_node(ctx, &*state, words).map_err(|failure| match failure.kind {
                    FailureKind::NotFound => failure
                        .with_step("tl gate explain --for FILE   # a plan that is not written yet"),
                    _ => failure,
                })?;
            reject_extra_words(rest)?;
            load_node(&*state, id)?.path
        }
    };
    let place = |file: &String| locate_plan(ctx.profiles, file);
    let Some((file, place)) = file.and_then(|file| Some((file.clone(), place(&file)?))) else {
        return Err(Failure::invalid(
            "it has no plan file that a tool could write",
        ));
    };
    let path = place.path_alias();
    let plans = [TouchedPlan {
        file: file.clone(),
        place,
        // The strictest change: the gates about what a session has read look at whole texts alone.
        effect: FileEffect::Write { text: None },
    }];
    let session = load_session_state(&*state, &ctx.session)?;
    let asked = evaluate_step(ctx, &*state, session, &NextStep::change_plans(&plans))?;
    let blocks = asked.verdict.blocks.into_iter().map(|fired| BlockedChange {
        gate: fired.gate,
        reason: fired.objection.why,
        next_steps: fired.objection.next_steps,
    });
    Ok(ChangeExplanation {
        path,
        file_path: file,
        blocks: blocks.collect(),
    })
}
