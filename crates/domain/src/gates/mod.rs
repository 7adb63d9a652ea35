//! Gates: steps that must not happen yet. Pure: everything a gate looks at was gathered before.
//!
//! A new gate is one file here and one line in [`GATES`].

mod claim;
mod context;
mod done;
mod frozen;
mod hierarchy;
mod loc;
mod phase;
mod read_before_write;
mod scope;
mod session;
mod shrink;

pub use self::frozen::{FrozenFile, evaluate_frozen};
use crate::host_event::Effect;
use crate::ids::VersionHash;
use crate::node::Node;
use crate::policy::{GateMode, GatePolicy, Policy};
use crate::profile::PlanPlace;
use crate::work::work_level::Outgrown;

/// One rule about what may happen.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// The word of settings, messages and the ledger.
    pub name: &'static str,
    /// What it stops and what clears it, in one line.
    pub text: &'static str,
    mode: fn(&GatePolicy) -> GateMode,
    /// Returns why a plan must not be changed.
    plan: Option<fn(&Step<'_>, &Policy) -> Option<Objection>>,
    /// Returns why files of the project must not be changed.
    work: Option<fn(&WorkStep<'_>, &Policy) -> Option<Objection>>,
}

impl Gate {
    /// Returns what it does when it fires.
    #[must_use]
    pub fn mode(&self, policy: &GatePolicy) -> GateMode {
        (self.mode)(policy)
    }
}

/// Every gate, in the order of their weight: the first objection is told first.
pub const GATES: [Gate; 11] = [
    session::GATE,
    hierarchy::GATE,
    frozen::GATE,
    claim::GATE,
    read_before_write::GATE,
    shrink::GATE,
    context::GATE,
    phase::GATE,
    loc::GATE,
    scope::GATE,
    done::GATE,
];

/// Says whether a gate is about the work on nodes: such a gate is asked only where a profile names it.
#[must_use]
pub fn is_about_work(name: &str) -> bool {
    matches!(name, "loc" | "phase" | "context" | "scope")
}

/// Files of the project, none of them a plan, that are about to be changed in a session.
#[derive(Clone, Debug, Default)]
pub struct WorkStep<'s> {
    /// The node the session works on, as people call it; empty where it works on none.
    pub node: &'s str,
    /// What it has not committed; `None` where nobody can count (no repository, or a merge is under way).
    pub uncommitted: Option<u64>,
    /// A phase began and nothing was committed since.
    pub new_phase: Option<NewPhase<'s>>,
    /// What the session has to know about the node and was not given yet.
    pub context: Option<&'s str>,
    /// The work is more than its level allows.
    pub outgrown: Option<&'s Outgrown>,
    /// Who else holds the node.
    pub claimed_by: Option<&'s str>,
    /// Gates a person has let this step pass.
    pub overridden: &'s [String],
}

/// A phase that began.
#[derive(Clone, Copy, Debug)]
pub struct NewPhase<'s> {
    pub from: Option<&'s str>,
    pub to: &'s str,
    /// Progress and the phase's guide.
    pub guide: &'s str,
    /// Whether a commit is asked for: not without a repository, nor with nothing to commit.
    pub needs_commit: bool,
}

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
    /// Who else holds the node.
    pub claimed_by: Option<&'s str>,
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
    /// What the agent has to read before it goes on.
    pub carries: Option<String>,
}

impl Objection {
    /// Returns a no that carries nothing else.
    #[must_use]
    pub fn new(why: String, next_steps: Vec<String>) -> Self {
        Self {
            why,
            next_steps,
            carries: None,
        }
    }
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

impl Verdict {
    /// Adds what another question came to.
    pub fn add(&mut self, more: Self) {
        self.blocks.extend(more.blocks);
        self.warnings.extend(more.warnings);
    }

    fn take(&mut self, mode: GateMode, fired: Fired) {
        match mode {
            GateMode::Block => self.blocks.push(fired),
            GateMode::Warn => self.warnings.push(fired),
            GateMode::Off => {}
        }
    }
}

/// Asks every gate about every plan that is about to be changed.
#[must_use]
pub fn evaluate(steps: &[Step<'_>], policy: &Policy) -> Verdict {
    let mut verdict = Verdict::default();
    for (gate, mode, check) in asked(policy, |gate| gate.plan) {
        for step in steps {
            let stands_down = step.overridden.iter().any(|name| name == gate.name);
            if stands_down || !step.place.profile.has_gate(gate.name) {
                continue;
            }
            let Some(objection) = check(step, policy) else {
                continue;
            };
            verdict.take(
                mode,
                Fired {
                    gate: gate.name,
                    plan: step.place.path_alias(),
                    objection,
                },
            );
        }
    }
    verdict
}

/// Asks every gate about work; `has_gate` says which the project's profiles ask for.
#[must_use]
pub fn evaluate_work(
    step: &WorkStep<'_>,
    has_gate: &dyn Fn(&str) -> bool,
    policy: &Policy,
) -> Verdict {
    let mut verdict = Verdict::default();
    for (gate, mode, check) in asked(policy, |gate| gate.work) {
        if !has_gate(gate.name) || step.overridden.iter().any(|name| name == gate.name) {
            continue;
        }
        let Some(objection) = check(step, policy) else {
            continue;
        };
        verdict.take(
            mode,
            Fired {
                gate: gate.name,
                plan: step.node.to_owned(),
                objection,
            },
        );
    }
    verdict
}

/// Returns the gates that are on and have something to say.
fn asked<C>(
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

/// Returns the block in words: what, why, what next; the most important line first.
#[must_use]
pub fn explain(fired: &[Fired]) -> String {
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
        if let Some(carried) = &one.objection.carries {
            text.push_str(&format!("\n\n{}\n", carried.trim_end()));
        }
    }
    text
}

/// Returns the gate of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Gate> {
    GATES.iter().find(|gate| gate.name == name)
}
