//! Gates: rules that block or warn about a step that must not happen yet.
//!
//! Pure: everything a gate looks at is gathered by the caller into one [`Event`]. A new gate is one
//! file here and one line in [`GATES`]; modes, profiles and overrides are applied to all gates alike
//! in [`evaluate`].

mod adopt;
mod call_facts;
mod claim;
mod context;
mod decisions;
mod done;
mod event;
mod frozen;
mod gate_override;
mod gate_use;
mod hierarchy;
mod impersonation;
mod intent;
mod loc;
mod order;
mod phase;
mod prose;
mod read_before_write;
mod scenario_approval;
mod scope;
mod session;
mod shrink;
mod stats;

pub use self::adopt::{Unadopted, describe_unadopted_decisions};
pub use self::call_facts::{CallFacts, CalledPlan, concerns_state, find_unchecked};
use self::event::Objections;
pub use self::event::{
    CommandFacts, Event, FrozenFile, IntendedChange, NewPhase, OutputStep, Override, ParentPlan,
    PhaseMove, PlanStep, SessionFile, Subject, UnprovedNode, WorkStep,
};
pub use self::gate_override::GateOverride;
pub use self::gate_use::{GateUse, list_gate_uses};
pub use self::loc::max_uncommitted_lines;
pub use self::stats::{GateIncidents, LedgerStep, count_incidents, propose_mode};
use crate::policy::{GateMode, Policy};
use crate::profile::Profile;

/// One rule about what may happen in a project.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// Its name in settings, messages and the ledger.
    pub name: &'static str,
    /// One line: what it blocks, and how to clear it.
    pub text: &'static str,
    pub scope: GateScope,
    /// What a session does next when it heeds a block, as the hook ledger names it: `commit`, `read`,
    /// `tl ticket`. Empty if any other step shows that.
    pub heeded_by: &'static [&'static str],
    /// Why not even a person overrides it, and what to do instead.
    pub never_overridden: Option<(&'static str, &'static str)>,
    mode: fn(&Policy) -> GateMode,
    check: for<'e> fn(&Event<'e>, &Policy) -> Objections<'e>,
    /// Returns what of a tool call it would have to check, as far as that is known without the
    /// state.
    concerns: fn(&CallFacts<'_>, &Policy) -> Option<String>,
    /// Describes its thresholds, if it has any, by the work level where they depend on it.
    pub limits: Option<fn(&Policy) -> String>,
}

/// Which profiles use a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateScope {
    /// Every profile, unless it lists its gates without this one.
    Plans,
    /// Profiles that list it: a writer of a story is not asked to commit every 400 lines.
    Work,
    /// The profile of trails.
    Trail,
    /// Every profile: it is about the project as a whole.
    Project,
}

impl Gate {
    /// Returns its configured mode.
    #[must_use]
    pub fn mode(&self, policy: &Policy) -> GateMode {
        (self.mode)(policy)
    }
}

/// Every gate, by priority: the first objection is reported first.
pub const GATES: [Gate; 17] = [
    impersonation::GATE,
    // Before all that rest on approvals, which do not count there.
    adopt::GATE,
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
    order::GATE,
    scenario_approval::GATE,
    done::GATE,
    intent::GATE,
];

/// A gate's refusal, with its reason and next steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// The fact, in one sentence.
    pub why: String,
    /// What to do about it, commands first.
    pub next_steps: Vec<String>,
    /// Text that the agent has to read before it continues.
    pub carries: Option<String>,
    /// Whether it blocks only to hand over that text: the same step passes afterwards.
    pub is_handover: bool,
}

impl Objection {
    /// Returns an objection without attached text.
    #[must_use]
    pub fn new(why: String, next_steps: Vec<String>) -> Self {
        Self {
            why,
            next_steps,
            carries: None,
            is_handover: false,
        }
    }
}

/// A gate that fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiredGate {
    pub gate: &'static str,
    /// The path of a node, a file, or `command`.
    pub subject: String,
    pub objection: Objection,
}

impl FiredGate {
    /// Identifies the cause: the gate, and the fact without its numbers, which grow with every try.
    #[must_use]
    pub fn cause_key(&self) -> String {
        let why = self.objection.why.chars().filter(|c| !c.is_ascii_digit());
        format!("{} {}", self.gate, why.collect::<String>())
    }

    /// Renders the objection in one line, for an agent that has read the whole of it.
    #[must_use]
    pub fn render_short(&self) -> String {
        let next = self.objection.next_steps.first();
        let next = next
            .map(|step| format!("; next: {step}"))
            .unwrap_or_default();
        format!(
            "Throughline ({} gate): {}, as before{next}",
            self.gate, self.objection.why
        )
    }
}

/// The result of evaluating the gates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GateVerdict {
    /// The step must not happen.
    pub blocks: Vec<FiredGate>,
    /// The step may happen; the agent gets a warning.
    pub warnings: Vec<FiredGate>,
    /// Gates that only hand over a text, where the host delivers it: the step may happen.
    pub handovers: Vec<FiredGate>,
    /// Gates that would block without the override of a person.
    pub overridden: Vec<FiredGate>,
}

impl GateVerdict {
    /// Returns whether a gate of this name blocks.
    #[must_use]
    pub fn is_blocked_by(&self, gate: &str) -> bool {
        self.blocks.iter().any(|fired| fired.gate == gate)
    }
}

/// Evaluates every gate for a step that is about to happen.
#[must_use]
pub fn evaluate(event: &Event<'_>, policy: &Policy) -> GateVerdict {
    let mut verdict = GateVerdict::default();
    for gate in &GATES {
        let mode = gate.mode(policy);
        if mode == GateMode::Off {
            continue;
        }
        for (subject, objection) in (gate.check)(event, policy) {
            // Project files belong to no single profile, so a gate applies to them if any of the
            // project's profiles has it.
            let applies = match subject.profile {
                Some(profile) => profile.has_gate(gate.name),
                None => event.profiles.iter().any(|one| one.has_gate(gate.name)),
            };
            if !applies {
                continue;
            }
            // Checked here too: an override on record never opens a gate that nobody may override.
            let is_overridden = gate.never_overridden.is_none()
                && event
                    .overrides
                    .iter()
                    .any(|(name, of)| *name == gate.name && *of == subject.name);
            let list = match mode {
                // First: where the host delivers text, blocking would only cost the agent a turn.
                _ if objection.is_handover && event.delivers_context => &mut verdict.handovers,
                GateMode::Block if is_overridden => &mut verdict.overridden,
                GateMode::Block => &mut verdict.blocks,
                GateMode::Warn | GateMode::Off => &mut verdict.warnings,
            };
            list.push(FiredGate {
                gate: gate.name,
                subject: subject.name,
                objection,
            });
        }
    }
    verdict
}

/// Whether a profile of a project has gates about the work on nodes.
#[must_use]
pub fn has_work_gates(profiles: &[Profile]) -> bool {
    let has = |profile: &Profile| {
        GATES
            .iter()
            .any(|gate| gate.scope == GateScope::Work && profile.has_gate(gate.name))
    };
    profiles.iter().any(has)
}

/// Renders the objections for the agent: the fact, then next steps, then attached text.
#[must_use]
pub fn render_objections(fired: &[FiredGate]) -> String {
    render_known_objections(fired, &|_| false)
}

/// Like [`render_objections`], with those that the agent knows in one line each.
#[must_use]
pub fn render_known_objections(
    fired: &[FiredGate],
    is_known: &dyn Fn(&FiredGate) -> bool,
) -> String {
    let mut text = String::new();
    for (index, one) in fired.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        if is_known(one) {
            text.push_str(&one.render_short());
            continue;
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

/// Renders the texts that gates hand over with a step that may happen.
#[must_use]
pub fn render_handovers(fired: &[FiredGate]) -> Option<String> {
    let texts: Vec<&str> = fired
        .iter()
        .filter_map(|one| one.objection.carries.as_deref())
        .map(str::trim_end)
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Returns the gate of that name.
#[must_use]
pub fn find_gate_by_name(name: &str) -> Option<&'static Gate> {
    GATES.iter().find(|gate| gate.name == name)
}
