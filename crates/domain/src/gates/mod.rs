//! Gates: rules that block or warn about a step that must not happen yet.
//!
//! Pure: everything a gate looks at is gathered by the caller. A new gate is one file here and one
//! line in [`GATES`].

mod claim;
mod context;
mod decisions;
mod done;
mod frozen;
mod hierarchy;
mod loc;
mod phase;
mod read_before_write;
mod scope;
mod session;
mod shrink;

pub use self::decisions::evaluate_decisions;
pub use self::frozen::{FrozenFile, evaluate_frozen};
use crate::host_event::FileEffect;
use crate::ids::VersionHash;
use crate::node::Node;
use crate::policy::{GateMode, GatePolicy, Policy};
use crate::profile::PlanPlace;
use crate::work::work_level::Outgrown;

/// One rule about what may happen to a plan or to the project's files.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// Its name in settings, messages and the ledger.
    pub name: &'static str,
    /// One line: what it blocks, and how to clear it.
    pub text: &'static str,
    mode: fn(&GatePolicy) -> GateMode,
    /// Checks a change of a plan; `None` if the gate does not apply to plans.
    plan: Option<fn(&PlanStep<'_>, &Policy) -> Option<Objection>>,
    /// Checks a change of other files; `None` if the gate does not apply to them.
    work: Option<fn(&WorkStep<'_>, &Policy) -> Option<Objection>>,
}

impl Gate {
    /// Returns its configured mode.
    #[must_use]
    pub fn mode(&self, policy: &GatePolicy) -> GateMode {
        (self.mode)(policy)
    }
}

/// Every gate, by priority: the first objection is reported first.
pub const GATES: [Gate; 12] = [
    // Whether the plan may be changed at all comes before what is wrong with this change.
    session::GATE,
    hierarchy::GATE,
    decisions::GATE,
    frozen::GATE,
    claim::GATE,
    read_before_write::GATE,
    shrink::GATE,
    // The work gates: about pace and size of the work, not about one file.
    context::GATE,
    phase::GATE,
    loc::GATE,
    scope::GATE,
    done::GATE,
];

/// Whether a gate is about the work on nodes, such as tickets.
#[must_use]
pub fn is_about_work(name: &str) -> bool {
    // These are opt-in per profile: a writer of a story is not asked to commit every 400 lines.
    matches!(name, "loc" | "phase" | "context" | "scope")
}

/// A change of project files that are not plans, about to be made by a session.
#[derive(Clone, Debug, Default)]
pub struct WorkStep<'s> {
    /// Path of the node the session works on; empty if there is none.
    pub node: &'s str,
    /// Uncommitted changed lines; `None` if they cannot be counted (no repository, or a merge is in
    /// progress).
    pub uncommitted: Option<u64>,
    /// A phase that began without a commit since.
    pub new_phase: Option<NewPhase<'s>>,
    /// Context of the node that the session has not been given yet.
    pub context: Option<&'s str>,
    /// How the work exceeds its level, if it does.
    pub outgrown: Option<&'s Outgrown>,
    /// Another session that has claimed the node.
    pub claimed_by: Option<&'s str>,
    /// Gates that a person has overridden for this step.
    pub overridden: &'s [String],
}

/// A work phase that began.
#[derive(Clone, Copy, Debug)]
pub struct NewPhase<'s> {
    pub from: Option<&'s str>,
    pub to: &'s str,
    /// Progress and the phase's guide.
    pub guide: &'s str,
    /// Whether a commit is required: not without a repository, nor with nothing to commit.
    pub needs_commit: bool,
}

/// A change of one plan that is about to happen, with all that the gates look at.
#[derive(Clone, Debug)]
pub struct PlanStep<'s> {
    pub doing: IntendedChange<'s>,
    pub place: &'s PlanPlace<'s>,
    /// The plan file, relative to the project.
    pub file: &'s str,
    /// The recorded node, if there is one.
    pub node: Option<&'s Node>,
    pub parent: ParentPlan<'s>,
    /// Current size of the file in bytes, if it exists.
    pub size: Option<u64>,
    /// The version of this plan that the session last read or wrote.
    pub read: Option<VersionHash>,
    /// Whether a hook reported the session's start.
    pub session_is_known: bool,
    /// Another session that has claimed the node.
    pub claimed_by: Option<&'s str>,
    /// Gates that a person has overridden for this step.
    pub overridden: &'s [String],
}

/// What is about to be done to the plan.
#[derive(Clone, Copy, Debug)]
pub enum IntendedChange<'s> {
    /// A person asked for the node to be planned.
    Planning,
    /// A tool changes the file.
    Changing(&'s FileEffect),
}

/// The node above the plan.
#[derive(Clone, Copy, Debug)]
pub enum ParentPlan<'s> {
    /// The node is a root.
    None,
    /// The level requires a parent, but none is recorded.
    Missing,
    Known(&'s Node),
}

/// A gate's refusal, with its reason and next steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// The fact, in one sentence.
    pub why: String,
    /// What to do about it, commands first.
    pub next_steps: Vec<String>,
    /// Text that the agent has to read before it continues.
    pub carries: Option<String>,
}

impl Objection {
    /// Returns an objection without attached text.
    #[must_use]
    pub fn new(why: String, next_steps: Vec<String>) -> Self {
        Self {
            why,
            next_steps,
            carries: None,
        }
    }
}

/// A gate that fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiredGate {
    pub gate: &'static str,
    /// The path alias of the plan.
    pub plan: String,
    pub objection: Objection,
}

/// The result of evaluating the gates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GateVerdict {
    /// The step must not happen.
    pub blocks: Vec<FiredGate>,
    /// The step may happen; the agent gets a warning.
    pub warnings: Vec<FiredGate>,
}

impl GateVerdict {
    fn record_objection(&mut self, mode: GateMode, fired: FiredGate) {
        match mode {
            GateMode::Block => self.blocks.push(fired),
            GateMode::Warn => self.warnings.push(fired),
            // `evaluate_frozen` evaluates its gate directly, without the filter of `active_gates`.
            GateMode::Off => {}
        }
    }
}

/// Evaluates every gate for every plan that is about to be changed.
#[must_use]
pub fn evaluate_plans(steps: &[PlanStep<'_>], policy: &Policy) -> GateVerdict {
    let mut verdict = GateVerdict::default();
    // Gates outside, plans inside: with several plans in one call the objections stay in the gates'
    // order, so that the most important one is the first line the agent reads.
    for (gate, mode, check) in active_gates(policy, |gate| gate.plan) {
        for step in steps {
            // The caller removes an override once the step was allowed; here it only counts.
            let stands_down = step.overridden.iter().any(|name| name == gate.name);
            if stands_down || !step.place.profile.has_gate(gate.name) {
                continue;
            }
            let Some(objection) = check(step, policy) else {
                continue;
            };
            verdict.record_objection(
                mode,
                FiredGate {
                    gate: gate.name,
                    plan: step.place.path_alias(),
                    objection,
                },
            );
        }
    }
    verdict
}

/// Evaluates every gate for a change of project files; `has_gate` tells which gates the project's
/// profiles use.
#[must_use]
pub fn evaluate_work(
    step: &WorkStep<'_>,
    has_gate: &dyn Fn(&str) -> bool,
    policy: &Policy,
) -> GateVerdict {
    let mut verdict = GateVerdict::default();
    for (gate, mode, check) in active_gates(policy, |gate| gate.work) {
        // Project files belong to no profile, so a gate applies if any of the project's profiles
        // has it.
        if !has_gate(gate.name) || step.overridden.iter().any(|name| name == gate.name) {
            continue;
        }
        let Some(objection) = check(step, policy) else {
            continue;
        };
        verdict.record_objection(
            mode,
            FiredGate {
                gate: gate.name,
                plan: step.node.to_owned(),
                objection,
            },
        );
    }
    verdict
}

/// Returns the gates that are switched on and have a check of the wanted kind.
fn active_gates<C>(
    policy: &Policy,
    check: impl Fn(&Gate) -> Option<C>,
) -> impl Iterator<Item = (&'static Gate, GateMode, C)> {
    GATES.iter().filter_map(move |gate| {
        let mode = gate.mode(&policy.gates);
        check(gate)
            .filter(|_| mode != GateMode::Off)
            .map(|check| (gate, mode, check))
    })
}

/// Renders the objections for the agent: the fact, then next steps, then attached text.
#[must_use]
pub fn render_objections(fired: &[FiredGate]) -> String {
    let mut text = String::new();
    for (index, one) in fired.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        text.push_str(&format!(
            "Throughline ({} gate): {}",
            one.gate, one.objection.why
        ));
        for step in &one.objection.next_steps {
            text.push_str(&format!("\n  next: {step}"));
        }
        // Attached text goes last: hosts may cut long replies, and the next steps must survive
        // that.
        if let Some(carried) = &one.objection.carries {
            text.push_str(&format!("\n\n{}\n", carried.trim_end()));
        }
    }
    text
}

/// Returns the gate of that name.
#[must_use]
pub fn find_gate_by_name(name: &str) -> Option<&'static Gate> {
    GATES.iter().find(|gate| gate.name == name)
}
