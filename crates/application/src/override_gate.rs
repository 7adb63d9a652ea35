//! Override a gate: let the next step on a node pass once, by a person's decision with a reason.

use domain::decision::Verdict;
use domain::gates;
use domain::ids::OperationId;
use domain::operation::Verb;
use domain::suggest::nearest_hint;
use serde::Serialize;

use crate::context::Context;
use crate::decisions::record_override;
use crate::failure::Failure;
use crate::handle_host_event::override_key;
use crate::locate::{load_node, load_node_path, reject_extra_words};
use crate::observe::with_recorded_node_files;

/// Request of [`override_gate`].
#[derive(Clone, Debug)]
pub struct OverrideRequest {
    pub gate: String,
    pub node: Vec<String>,
    pub reason: String,
}

/// Outcome of [`override_gate`].
#[derive(Clone, Debug, Serialize)]
pub struct OverrideOutcome {
    pub gate: &'static str,
    pub path: String,
    pub operation: OperationId,
}

/// Lets the next step on a node pass a gate.
///
/// # Errors
/// When the gate or the node is unknown, no reason is given, or it is not a person who asks.
pub fn override_gate(
    ctx: &Context<'_>,
    request: &OverrideRequest,
) -> Result<OverrideOutcome, Failure> {
    let names: Vec<&str> = gates::GATES.iter().map(|gate| gate.name).collect();
    let gate = gates::find_gate_by_name(&request.gate).ok_or_else(|| {
        let hint = nearest_hint(&request.gate, names.iter().copied());
        Failure::invalid(format!("there is no gate `{}`{hint}", request.gate))
            .with_step(format!("gates: {}", names.join(", ")))
    })?;
    if gate.name == "decisions" {
        return Err(
            Failure::refused("a decision file is written by the command that decides")
                .with_step("tl approve NODE"),
        );
    }
    if gate.name == "frozen" {
        return Err(Failure::refused("a frozen plan document cannot be changed")
            .with_step("tl doc revise   # a new revision that starts from it"));
    }
    // An agent that could override its own gates would have none.
    if !ctx.actor.is_human() {
        return Err(
            Failure::refused("a gate is overridden by a person, at a terminal")
                .with_step("ask the person who works with you"),
        );
    }
    if request.reason.trim().is_empty() {
        return Err(Failure::invalid("an override needs a reason").with_step("--reason \"…\""));
    }
    with_recorded_node_files(ctx, &request.node, |planned, tx, id, rest| {
        reject_extra_words(rest)?;
        let node = load_node(&*tx, id)?;
        let path = load_node_path(&*tx, &node)?;
        let summary = format!(
            "override {} gate for {path}: {}",
            gate.name,
            request.reason.trim()
        );
        let new = ctx.new_operation(Verb::Override, summary);
        let what = Verdict::Overridden {
            gate: gate.name.to_owned(),
            reason: request.reason.trim().to_owned(),
        };
        let operation = record_override(ctx, planned, tx, &node, new, what)?;
        // The permission is a note, consumed by the step that uses it; that it was given, by whom
        // and why, stays in the history.
        tx.save_note(
            &override_key(gate.name, &path),
            Some(request.reason.trim()),
            ctx.clock.now(),
        )?;
        Ok(OverrideOutcome {
            gate: gate.name,
            path,
            operation,
        })
    })
}
