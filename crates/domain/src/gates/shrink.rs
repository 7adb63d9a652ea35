//! `shrink` gate: blocks a write that would remove most of a plan, which is usually an accident.

use super::event::{IntendedChange, PlanStep};
use super::{Gate, GateScope, Objection};
use crate::host_event::FileEffect;
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate {
    name: "shrink",
    text: "a write that removes most of a plan; smaller steps, or an override by a person",
    scope: GateScope::Plans,
    never_overridden: None,
    heeded_by: &[],
    mode: |policy| policy.gates.shrink,
    check: |event, policy| event.check_plans(|step| check_shrinkage(step, policy)),
    concerns: |facts, _| facts.find_changed_plan(|plan| plan.exists),
    limits: None,
};

/// Smaller plans are stubs, which may be replaced as a whole.
const MIN_GUARDED_BYTES: u64 = 400;

fn check_shrinkage(step: &PlanStep<'_>, policy: &Policy) -> Option<Objection> {
    let before = step.size.filter(|size| *size >= MIN_GUARDED_BYTES)?;
    let IntendedChange::Changing(effect) = step.doing else {
        return None;
    };
    // Bytes, not lines: the sizes are known without reading the file, and an accident (a
    // placeholder instead of the text) shows in both.
    let after = match effect {
        FileEffect::Write { text: Some(text) } => text.len() as u64,
        FileEffect::Edit { removed, added } => {
            before.saturating_sub(*removed as u64) + *added as u64
        }
        // A deletion is deliberate, and the state keeps every version. A write whose text the host
        // does not report cannot be judged.
        FileEffect::Write { text: None } | FileEffect::Delete | FileEffect::Read => return None,
    };
    let least = policy.gates.shrink_below_percent;
    // Integers on both sides: a plan of exactly the limit passes, without rounding.
    if after.saturating_mul(100) >= before.saturating_mul(least) {
        return None;
    }
    let plan = step.place.path_alias();
    Some(Objection::new(
        format!(
            "`{plan}` would shrink from {before} to {after} bytes, below {least} %: this looks like an accident"
        ),
        vec![
            format!(
                "change {} in smaller steps, or keep what is still true",
                step.file
            ),
            format!("tl gate override shrink {plan} --reason \"…\"   # a person overrides it once"),
        ],
    ))
}
