//! `impersonation` gate: blocks `tl hook` in an agent's shell command where only people may approve,
//! because with a forged prompt event an agent could type `approve` in a person's name.

use super::event::{Event, Objections, Subject};
use super::{Gate, GateScope, Objection};
use crate::policy::{GateMode, Policy};

pub(super) const GATE: Gate = Gate {
    name: "impersonation",
    text: "running `tl hook` in a command, where only people may approve; ask the person",
    scope: GateScope::Project,
    never_overridden: Some((
        "only a host runs `tl hook`",
        "tl approve NODE   # approve at your own terminal",
    )),
    heeded_by: &[],
    // Where agents may approve anyway, a forged prompt gains nothing.
    mode: |policy| match policy.approval.requires_person() {
        true => GateMode::Block,
        false => GateMode::Off,
    },
    check: check_own_hook,
    concerns: |facts, _| facts.command.runs_own_hook.then(|| "command".to_owned()),
    limits: None,
};

fn check_own_hook<'e>(event: &Event<'e>, _policy: &Policy) -> Objections<'e> {
    if !event.command.runs_own_hook {
        return Vec::new();
    }
    let objection = Objection::new(
        "`tl hook` is run by the host, not by an agent: only a person may approve here, and hooks \
         receive what that person types"
            .to_owned(),
        vec!["ask the person".to_owned()],
    );
    vec![(Subject::of_project("command"), objection)]
}
