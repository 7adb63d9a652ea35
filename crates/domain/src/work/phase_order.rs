//! Order of the work phases: which phases a move of a ticket would skip.
//!
//! Smaller work goes through fewer phases; which ones is data of the profile. Going back is never a
//! skip. Pure: what a skip means is decided by the `order` gate.

use super::triage::normalise;
use super::work_level::WorkLevel;
use crate::node::Progress;
use crate::profile::WorkPhase;

/// Returns the phase that a word of a ticket file means: a phase's name in any spelling, or a word for
/// "complete", which is the last phase.
#[must_use]
pub fn parse_phase<'p>(phases: &'p [WorkPhase], word: &str) -> Option<&'p WorkPhase> {
    let wanted = normalise(word);
    let exact = phases.iter().find(|phase| phase.name == word);
    let named = || phases.iter().find(|phase| normalise(&phase.name) == wanted);
    // Files are written by hand and by other tools: a `phase: closed` that nobody understands would
    // claim that the work is done without the rule for done.
    let is_complete = Progress::from_synonym(&wanted) == Some(Progress::Complete);
    exact
        .or_else(named)
        .or_else(|| phases.last().filter(|_| is_complete))
}

/// Returns the phases that a move from one phase to another leaves out, for work of a level. A ticket
/// without a known phase is at the first one.
#[must_use]
pub fn find_skipped_phases<'p>(
    phases: &'p [WorkPhase],
    from: Option<&str>,
    to: &str,
    level: WorkLevel,
) -> Vec<&'p str> {
    let place = |name: &str| phases.iter().position(|phase| phase.name == name);
    let from = from.and_then(place).unwrap_or(0);
    // A phase that the profile does not have has no place in the order, so nothing is skipped.
    let Some(to) = place(to) else {
        return Vec::new();
    };
    // Empty when the move goes back.
    let between = phases.iter().take(to).skip(from + 1);
    between
        .filter(|phase| phase.from_level <= level)
        .map(|phase| phase.name.as_str())
        .collect()
}

/// Returns the phase that follows, for work of a level. A ticket without a known phase begins with the
/// first one.
#[must_use]
pub fn find_next_phase<'p>(
    phases: &'p [WorkPhase],
    from: Option<&str>,
    level: WorkLevel,
) -> Option<&'p str> {
    let place = from.and_then(|name| phases.iter().position(|phase| phase.name == name));
    phases
        .iter()
        .skip(place.map_or(0, |at| at + 1))
        .find(|phase| phase.from_level <= level)
        .map(|phase| phase.name.as_str())
}

/// Returns the phases that work of a level goes through, and the one it is in.
#[must_use]
pub fn list_phases<'p>(
    phases: &'p [WorkPhase],
    present: Option<&str>,
    level: WorkLevel,
) -> Vec<&'p str> {
    phases
        .iter()
        .filter(|phase| phase.from_level <= level || Some(phase.name.as_str()) == present)
        .map(|phase| phase.name.as_str())
        .collect()
}

/// Whether the scenarios of a ticket are built in this phase: after every phase that defines them,
/// which are the first one and those of larger work.
#[must_use]
pub fn is_building_phase(phases: &[WorkPhase], phase: Option<&str>) -> bool {
    let at = phase.and_then(|name| phases.iter().position(|one| one.name == name));
    let defines = |phase: &WorkPhase| phase.needs_approval || phase.from_level > WorkLevel::Patch;
    let last = phases.iter().rposition(defines).unwrap_or_default();
    // A ticket without a known phase was made by hand: nothing says that it is not built yet.
    at.is_none_or(|at| at > last)
}

/// Returns the phase of a move that is left only with approved scenarios, if the move leaves one
/// forward.
#[must_use]
pub fn find_left_approval<'p>(
    phases: &'p [WorkPhase],
    from: Option<&str>,
    to: &str,
) -> Option<&'p str> {
    let place = |name: &str| phases.iter().position(|phase| phase.name == name);
    let (from, to) = (from.and_then(place).unwrap_or(0), place(to)?);
    phases
        .iter()
        .take(to)
        .skip(from)
        .find(|phase| phase.needs_approval)
        .map(|phase| phase.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::{
        find_left_approval, find_next_phase, find_skipped_phases, is_building_phase, list_phases,
    };
    use crate::profile::{Profile, built_in_profile};
    use crate::work::work_level::WorkLevel;

    fn tickets() -> Profile {
        built_in_profile("tickets").expect("built in")
    }

    #[test]
    fn smaller_work_goes_through_fewer_phases() {
        let profile = tickets();
        let skipped =
            |from, to, level| find_skipped_phases(&profile.work_phases, from, to, level).join(" ");
        let (patch, task, feature) = (WorkLevel::Patch, WorkLevel::Task, WorkLevel::Feature);
        for (from, to, level, expected) in [
            (Some("intake"), "implement", patch, ""),
            (Some("intake"), "done", patch, "implement"),
            (Some("intake"), "implement", task, ""),
            (Some("intake"), "done", task, "implement"),
            (
                Some("intake"),
                "implement",
                feature,
                "define-behavior scenario-gate decomposition",
            ),
            (Some("implement"), "done", feature, ""),
            (Some("done"), "intake", feature, ""),
            (Some("implement"), "implement", feature, ""),
            (None, "define-behavior", feature, ""),
            (Some("nonsense"), "done", patch, "implement"),
        ] {
            assert_eq!(
                skipped(from, to, level),
                expected,
                "{from:?} {to} {level:?}"
            );
        }
    }

    #[test]
    fn the_next_phase_is_one_of_the_level() {
        let profile = tickets();
        for (from, level, expected) in [
            (None, WorkLevel::Patch, Some("intake")),
            (Some("intake"), WorkLevel::Task, Some("implement")),
            (Some("intake"), WorkLevel::Feature, Some("define-behavior")),
            (
                Some("define-behavior"),
                WorkLevel::Feature,
                Some("scenario-gate"),
            ),
            // In a phase of larger work it goes on from there.
            (Some("scenario-gate"), WorkLevel::Task, Some("implement")),
            (Some("implement"), WorkLevel::Task, Some("done")),
            (Some("done"), WorkLevel::Feature, None),
        ] {
            let next = find_next_phase(&profile.work_phases, from, level);
            assert_eq!(next, expected, "{from:?} {level:?}");
        }
    }

    #[test]
    fn a_ticket_goes_through_the_phases_of_its_level_and_the_one_it_is_in() {
        let profile = tickets();
        for (present, level, expected) in [
            (None, WorkLevel::Task, "intake implement done"),
            (
                Some("define-behavior"),
                WorkLevel::Task,
                "intake define-behavior implement done",
            ),
            (
                Some("implement"),
                WorkLevel::Feature,
                "intake define-behavior scenario-gate decomposition implement done",
            ),
        ] {
            let phases = list_phases(&profile.work_phases, present, level);
            assert_eq!(phases.join(" "), expected, "{present:?} {level:?}");
        }
    }

    #[test]
    fn scenarios_are_built_after_they_are_defined() {
        let profile = tickets();
        let built: Vec<&str> = profile
            .work_phases
            .iter()
            .map(|phase| phase.name.as_str())
            .filter(|phase| is_building_phase(&profile.work_phases, Some(phase)))
            .collect();
        assert_eq!(built, ["implement", "done"]);
        assert!(is_building_phase(&profile.work_phases, None));
    }

    #[test]
    fn the_scenario_gate_is_left_forward_only() {
        let profile = tickets();
        let left = |from, to| find_left_approval(&profile.work_phases, Some(from), to);
        assert_eq!(left("scenario-gate", "implement"), Some("scenario-gate"));
        assert_eq!(left("intake", "done"), Some("scenario-gate"));
        assert_eq!(left("define-behavior", "scenario-gate"), None);
        assert_eq!(left("scenario-gate", "define-behavior"), None);
        assert_eq!(left("decomposition", "done"), None);
    }
}
