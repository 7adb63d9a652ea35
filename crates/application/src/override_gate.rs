//! Override a gate: let the next step on a node or file pass once, by a person's decision with a reason.

use domain::decision::Verdict;
use domain::fact::Fact;
use domain::gates::{self, GateOverride, GateScope};
use domain::ids::OperationId;
use domain::operation::Verb;
use domain::ports::{Snapshot, Transaction};
use domain::profile::{Profile, locate_plan};
use domain::record::{read_record, record_changed_fact};
use domain::suggest::nearest_hint;
use domain::undo::{UndoRefused, find_undone_overrides};
use serde::Serialize;

use crate::context::Context;
use crate::decisions::{attach_decision, load_decision_key};
use crate::failure::{Failure, FailureKind};
use crate::handle_host_event::override_note_key;
use crate::locate::{load_node, load_node_path, reject_extra_words};
use crate::observe::with_recorded_node_files;

/// Request of [`override_gate`].
#[derive(Clone, Debug)]
pub struct OverrideRequest {
    pub gate: String,
    /// The node; for the `intent` gate also a file, or `command`.
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
    if let Some((why, step)) = gate.never_overridden {
        return Err(Failure::refused(why).with_step(step));
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
    let reason = request.reason.trim();
    let new_operation = |state: &dyn Snapshot, path: &str| {
        let summary = format!("override {} gate for {path}: {reason}", gate.name);
        let mut operation = ctx.new_operation(Verb::Override, summary);
        let given = GateOverride {
            gate: gate.name.to_owned(),
            subject: path.to_owned(),
            at: operation.at,
        };
        let key = given.record_key();
        // The same gate may have been overridden in the same millisecond.
        let before = read_record::<GateOverride>(state, &key)?;
        let fact = record_changed_fact(&key, before.as_ref(), Some(&given));
        operation.facts.extend(fact);
        Ok::<_, Failure>(operation)
    };
    // The permission is a note, consumed by the step that uses it; that it was given, by whom and
    // why, stays in the history.
    let permit = |tx: &mut dyn Transaction, path: String, operation: OperationId| {
        let key = override_note_key(gate.name, &path);
        tx.save_note(&key, Some(reason), ctx.clock.now())?;
        Ok::<_, Failure>(OverrideOutcome {
            gate: gate.name,
            path,
            operation,
        })
    };
    let recorded = with_recorded_node_files(ctx, &request.node, None, |planned, tx, id, rest| {
        reject_extra_words(rest)?;
        let node = load_node(&*tx, id)?;
        let path = load_node_path(&*tx, &node)?;
        let what = Verdict::Overridden {
            gate: gate.name.to_owned(),
            reason: reason.to_owned(),
        };
        let key = load_decision_key(&*tx, &node)?;
        let mut operation = new_operation(&*tx, &path)?;
        attach_decision(ctx, planned, &*tx, &mut operation, key, what)?;
        let operation = planned.record_operation(tx, operation)?;
        permit(tx, path, operation)
    });
    match recorded {
        // A gate about plans mostly blocks one that is not written yet, and one of a trail is about any
        // file, and about commands.
        Err(failure) if failure.kind == FailureKind::NotFound => {
            let path = match gate.scope {
                GateScope::Trail => Some(request.node.join(" ")),
                GateScope::Plans => find_unwritten_plan(ctx, &request.node),
                GateScope::Work | GateScope::Project => None,
            };
            let Some(path) = path else {
                return Err(failure);
            };
            let mut tx = ctx.store.begin_write()?;
            let operation = new_operation(&*tx, &path)?;
            let operation = tx.record_operation(operation)?;
            let outcome = permit(&mut *tx, path, operation)?;
            tx.commit()?;
            Ok(outcome)
        }
        recorded => recorded,
    }
}

/// Returns the path of a plan that is not written yet, given by its file or by its path, if a profile
/// has such a plan.
fn find_unwritten_plan(ctx: &Context<'_>, words: &[String]) -> Option<String> {
    let [name] = words else { return None };
    if let Some(place) = locate_plan(ctx.profiles, name) {
        return Some(place.path_alias());
    }
    // Each part is an id of a level below that of the part before it.
    let is_known = |profile: &Profile| {
        let mut above: Option<&str> = None;
        name.split('/').all(|part| {
            let level = profile.levels.iter().find(|level| {
                let fits = match above {
                    Some(above) => level.under.iter().any(|under| under == above),
                    None => level.root,
                };
                fits && level.read_alias(part).is_ok_and(|read| read.alias == part)
            });
            above = level.map(|level| level.name.as_str());
            level.is_some()
        })
    };
    ctx.profiles.iter().any(is_known).then(|| name.clone())
}

/// Ends the permissions of undone overrides.
///
/// # Errors
/// When a permission was used, or the undo would give one again.
pub(crate) fn end_undone_overrides(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    facts: &[Fact],
) -> Result<(), Failure> {
    for GateOverride { gate, subject, .. } in find_undone_overrides(facts)? {
        let key = override_note_key(&gate, &subject);
        if tx.load_note(&key)?.is_none() {
            return Err(UndoRefused::OverrideUsed { gate, subject }.into());
        }
        tx.save_note(&key, None, ctx.clock.now())?;
    }
    Ok(())
}
