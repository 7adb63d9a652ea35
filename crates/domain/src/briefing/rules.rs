//! The rules that a briefing names: two or three per profile, and none of a gate that is off.

use super::work_lines::TicketPhases;
use crate::gates::find_gate_by_name;
use crate::plan_document::MILESTONES_PROFILE;
use crate::policy::{GateMode, Policy};
use crate::profile::{ApprovalNeed, Profile};
use crate::trail;

/// Returns the rules that hold in a project, for a session that works on `ticket`.
#[must_use]
pub fn collect_rules(
    profiles: &[Profile],
    policy: &Policy,
    ticket: Option<&TicketPhases>,
) -> Vec<String> {
    let mut rules: Vec<String> = Vec::new();
    for profile in profiles {
        // The trail's own lines say how to keep it.
        if profile.name == trail::PROFILE {
            continue;
        }
        let is_on = |gate: &str| {
            profile.has_gate(gate)
                && find_gate_by_name(gate).is_some_and(|gate| gate.mode(policy) != GateMode::Off)
        };
        // The parts of a plan document have no files of their own: they are written below a plan that
        // nobody approved yet, and the rules of files are not theirs.
        let has_plans_below = profile
            .levels
            .iter()
            .any(|level| !level.root && level.file.is_some());
        if profile.name == MILESTONES_PROFILE && is_on("frozen") {
            rules.push(
                "A plan document is changed by commands (`tl doc apply` takes several changes), not in its file; a frozen \
                 one does not change any more: `tl doc revise` starts its next revision."
                    .to_owned(),
            );
        }
        if profile.approval == ApprovalNeed::Required && has_plans_below {
            if is_on("hierarchy") {
                rules.push(
                    "A plan may be written only while its parent is approved; `tl plan LEVEL ID` prints the prompt with \
                     the parent's text."
                        .to_owned(),
                );
            }
            rules.push(
                "A changed parent makes what is below stale; `tl why NODE` says why, `tl next` what is ready."
                    .to_owned(),
            );
        }
        if !profile.work_phases.is_empty() {
            let phases = match ticket {
                Some(ticket) => format!("this {}: {}", ticket.level, ticket.names.join(" → ")),
                None => {
                    let phases = profile.work_phases.iter();
                    let names: Vec<&str> = phases.map(|phase| phase.name.as_str()).collect();
                    format!("a ticket: {}", names.join(" → "))
                }
            };
            rules.push(format!(
                "Phases of {phases}; `tl ticket phase ID NAME` begins the next one."
            ));
        }
        if is_on("loc") {
            rules.push(format!(
                "Commit before {} changed lines; more edits are blocked until then.",
                policy.gates.loc_limit
            ));
        }
    }
    rules.dedup();
    rules
}

#[cfg(test)]
mod tests {
    use super::{TicketPhases, collect_rules};
    use crate::policy::{GateMode, Policy};
    use crate::profile::built_in_profile;

    fn rules_of(profile: &str, policy: &Policy) -> String {
        collect_rules(
            &[built_in_profile(profile).expect("a built-in profile")],
            policy,
            None,
        )
        .join("\n")
    }

    #[test]
    fn a_tickets_project_is_told_nothing_about_approval() {
        let rules = rules_of("tickets", &Policy::default());
        assert!(
            rules.contains("Phases of a ticket") && rules.contains("400 changed lines"),
            "{rules}"
        );
        assert!(!rules.contains("approved"), "{rules}");
    }

    #[test]
    fn a_session_at_a_ticket_is_told_the_phases_of_its_level() {
        let profile = built_in_profile("tickets").expect("a built-in profile");
        let ticket = TicketPhases {
            level: "task".to_owned(),
            names: ["intake", "implement", "done"].map(str::to_owned).into(),
        };
        let rules = collect_rules(&[profile], &Policy::default(), Some(&ticket)).join("\n");
        assert!(
            rules.contains("Phases of this task: intake → implement → done;"),
            "{rules}"
        );
    }

    #[test]
    fn a_story_is_told_nothing_about_commits() {
        let rules = rules_of("story", &Policy::default());
        assert!(
            rules.contains("parent is approved") && !rules.contains("Commit"),
            "{rules}"
        );
    }

    #[test]
    fn a_plan_document_has_the_rule_of_its_own() {
        let rules = rules_of("milestones", &Policy::default());
        assert!(rules.contains("tl doc revise"), "{rules}");
        assert!(!rules.contains("parent"), "{rules}");
    }

    #[test]
    fn a_gate_that_is_off_has_no_rule() {
        let mut policy = Policy::default();
        policy.gates.hierarchy = GateMode::Off;
        policy.gates.loc = GateMode::Off;
        assert!(!rules_of("story", &policy).contains("may be written only"));
        assert!(!rules_of("tickets", &policy).contains("changed lines"));
    }
}
