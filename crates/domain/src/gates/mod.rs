//! Gates: steps that must not happen yet. Pure: everything a gate looks at was gathered before.
//!
//! A new gate is one file here and one line in [`GATES`].

mod hierarchy;
mod read_before_write;
mod session;
mod shrink;

use crate::host_event::Effect;
use crate::ids::VersionHash;
use crate::node::Node;
use crate::policy::{GateMode, GatePolicy, Policy};
use crate::profile::PlanPlace;

/// One rule about what may happen.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// The word of settings, messages and the ledger.
    pub name: &'static str,
    mode: fn(&GatePolicy) -> GateMode,
    /// Returns why a step must not happen.
    check: fn(&Step<'_>, &Policy) -> Option<Objection>,
}

/// Every gate, in the order of their weight: the first objection is told first.
pub const GATES: [Gate; 4] = [session::GATE, hierarchy::GATE, read_before_write::GATE, shrink::GATE];

/// What is about to happen to one plan.
#[derive(Clone, Debug)]
pub struct Step<'s> {
    pub doing: Doing<'s>,
    pub place: &'s PlanPlace<'s>,
    /// The plan file, relative to the project.
    pub file: &'s str,
    /// The recorded node, if there is one.
    pub node: Option<&'s Node>,
    pub parent: Parent<'s>,
    /// The size of the file as it is now, if it is there.
    pub size: Option<u64>,
    /// The version of this plan the session has last read or written.
    pub read: Option<VersionHash>,
    /// Whether the session was seen to start.
    pub session_is_known: bool,
    /// Gates a person has let this step pass.
    pub overridden: &'s [String],
}

/// What is done.
#[derive(Clone, Copy, Debug)]
pub enum Doing<'s> {
    /// A person asked for the node to be planned.
    Planning,
    /// A tool changes the file.
    Changing(&'s Effect),
}

/// What stands above.
#[derive(Clone, Copy, Debug)]
pub enum Parent<'s> {
    /// It is a root.
    None,
    /// There should be one, but it is not recorded.
    Missing,
    Known(&'s Node),
}

/// A gate's no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// The fact, in one sentence.
    pub why: String,
    /// Things to do, commands first.
    pub next_steps: Vec<String>,
}

/// A gate that spoke up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    pub gate: &'static str,
    /// The path alias of the plan.
    pub plan: String,
    pub objection: Objection,
}

/// What the gates say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The step must not happen.
    pub blocks: Vec<Fired>,
    /// It may, but somebody should know.
    pub warnings: Vec<Fired>,
}

/// Asks every gate about every step.
#[must_use]
pub fn evaluate(steps: &[Step<'_>], policy: &Policy) -> Verdict {
    let mut verdict = Verdict::default();
    for gate in &GATES {
        let mode = (gate.mode)(&policy.gates);
        if mode == GateMode::Off {
            continue;
        }
        for step in steps {
            if step.overridden.iter().any(|name| name == gate.name) {
                continue;
            }
            let Some(objection) = (gate.check)(step, policy) else { continue };
            let fired = Fired { gate: gate.name, plan: step.place.path_alias(), objection };
            match mode {
                GateMode::Block => verdict.blocks.push(fired),
                GateMode::Warn => verdict.warnings.push(fired),
                GateMode::Off => {}
            }
        }
    }
    verdict
}

/// Returns the block in words: what, why, what next; the most important line first.
#[must_use]
pub fn explain(fired: &[Fired]) -> String {
    let mut text = String::new();
    for (index, one) in fired.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        text.push_str(&format!("Throughline ({} gate): {}", one.gate, one.objection.why));
        for step in &one.objection.next_steps {
            text.push_str(&format!("\n  next: {step}"));
        }
    }
    text
}

/// Returns the gate of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Gate> {
    GATES.iter().find(|gate| gate.name == name)
}
