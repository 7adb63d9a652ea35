//! The gates of a project: which of them its profiles use, and in which mode.

use super::{GATES, Gate};
use crate::policy::{GateMode, Policy};
use crate::profile::Profile;

/// A gate as a project uses it.
#[derive(Clone, Debug)]
pub struct GateUse {
    pub gate: &'static Gate,
    pub mode: GateMode,
    /// Whether a profile of the project has it. Without one it never fires, whatever its mode is.
    pub is_used: bool,
    /// Whether a step is blocked when the check itself fails.
    pub fails_closed: bool,
    /// Its thresholds, by the work level where they depend on it.
    pub limits: Option<String>,
}

impl GateUse {
    /// Returns its mode in words: `block`, `warn`, `off` or `not used here`.
    #[must_use]
    pub fn describe_mode(&self) -> &'static str {
        match (self.is_used, self.mode) {
            (false, _) => "not used here",
            (true, GateMode::Block) => "block",
            (true, GateMode::Warn) => "warn",
            (true, GateMode::Off) => "off",
        }
    }
}

/// Returns every gate with its use in a project, by priority.
#[must_use]
pub fn list_gate_uses(profiles: &[Profile], policy: &Policy) -> Vec<GateUse> {
    let describe = |gate: &'static Gate| GateUse {
        gate,
        mode: gate.mode(policy),
        is_used: profiles.iter().any(|profile| profile.has_gate(gate.name)),
        fails_closed: policy
            .gates
            .fail_closed
            .iter()
            .any(|name| name == gate.name),
        limits: gate.limits.map(|describe| describe(policy)),
    };
    GATES.iter().map(describe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::built_in_profile;

    #[test]
    fn a_gate_that_no_profile_has_is_not_used_whatever_its_mode() {
        let profiles = [built_in_profile("story").expect("a profile")];
        let found = list_gate_uses(&profiles, &Policy::default());
        assert_eq!(found.len(), GATES.len());
        let words = |name: &str| {
            let mut uses = found.iter().filter(|one| one.gate.name == name);
            uses.next().map(|one| (one.mode, one.describe_mode()))
        };
        assert_eq!(words("hierarchy"), Some((GateMode::Block, "block")));
        assert_eq!(words("loc"), Some((GateMode::Block, "not used here")));
        assert_eq!(words("session"), Some((GateMode::Off, "off")));
    }
}
