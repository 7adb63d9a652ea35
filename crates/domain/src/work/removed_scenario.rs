//! Mark of a scenario that was deleted from its file before it was done, while its ticket was being
//! implemented.
//!
//! Deleting a scenario is the shortest way to "all scenarios are done", so it has to be seen. While the
//! behaviour is still being defined, deleting one is ordinary work and leaves no mark.

use serde::{Deserialize, Serialize};

use crate::profile::WorkPhase;
use crate::record::Recorded;

/// A deleted scenario. A record, keyed by its node; gone when the scenario is back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedScenario {
    /// The phase its ticket was in.
    pub phase: String,
}

impl Recorded for RemovedScenario {
    const KIND: &'static str = "removed-scenario";
}

/// Whether the scenarios of a ticket are settled in this phase: it comes after the one that is left with
/// approved scenarios.
#[must_use]
pub fn are_scenarios_settled(phases: &[WorkPhase], phase: &str) -> bool {
    let position = |is_it: &dyn Fn(&WorkPhase) -> bool| phases.iter().position(is_it);
    match (
        position(&|one| one.needs_approval),
        position(&|one| one.name == phase),
    ) {
        (Some(gate), Some(at)) => at > gate,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::are_scenarios_settled;
    use crate::profile::built_in_profile;

    #[test]
    fn scenarios_are_settled_after_their_gate() {
        let phases = built_in_profile("tickets").unwrap().work_phases;
        let settled: Vec<&str> = phases
            .iter()
            .map(|phase| phase.name.as_str())
            .filter(|phase| are_scenarios_settled(&phases, phase))
            .collect();
        assert_eq!(settled, ["decomposition", "implement", "done"]);
        assert!(!are_scenarios_settled(&phases, "unknown"));
        assert!(!are_scenarios_settled(&[], "implement"));
    }
}
