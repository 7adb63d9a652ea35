//! `decisions` gate: blocks an agent's tools from writing decision files and the list of signers.

use super::event::{Event, Objections, Subject};
use super::{Gate, GateScope, Objection};
use crate::decision::{ALLOWED_SIGNERS_FILE, DECISIONS_FOLDER};
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate {
    name: "decisions",
    text: "writing into .throughline/decisions or allowed_signers by a tool; decide with `tl`",
    scope: GateScope::Project,
    // A decision is made by a command, which knows who decides and on which text.
    never_overridden: Some((
        "a decision file is written by the command that decides",
        "tl approve NODE",
    )),
    heeded_by: &[],
    mode: |policy| policy.gates.decisions,
    check: check_decisions,
    concerns: |facts, _| find_decision(facts.files).cloned(),
};

fn check_decisions<'e>(event: &Event<'e>, _policy: &Policy) -> Objections<'e> {
    let object = |file: &String| {
        let (why, step) = match file == ALLOWED_SIGNERS_FILE {
            true => (
                format!("`{file}` says whose approvals count: a person edits it, never a tool"),
                format!("ask the person who decides to edit `{file}` and to run `tl policy accept`"),
            ),
            false => (
                format!(
                    "`{file}` is a decision: it is written by the command that decides, never by a tool"
                ),
                "ask the person who decides; they approve with `tl approve NODE` or on the dashboard"
                    .to_owned(),
            ),
        };
        (
            Subject::of_project(file.clone()),
            Objection::new(why, vec![step]),
        )
    };
    find_decision(event.files).map(object).into_iter().collect()
}

fn find_decision(files: &[String]) -> Option<&String> {
    let is_inside = |file: &&String| {
        file.strip_prefix(DECISIONS_FOLDER)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    files
        .iter()
        .find(|file| is_inside(file) || *file == ALLOWED_SIGNERS_FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_in_the_folder_are_decisions() {
        let is_decision = |file: &str| find_decision(&[file.to_owned()]).is_some();
        assert!(is_decision(".throughline/decisions/ab/x.json"));
        assert!(is_decision(".throughline/decisions"));
        assert!(is_decision(".throughline/allowed_signers"));
        assert!(!is_decision(".throughline/decisions.md"));
        assert!(!is_decision("src/decisions/a.rs"));
    }
}
