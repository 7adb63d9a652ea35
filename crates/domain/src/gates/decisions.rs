//! `decisions` gate: blocks an agent's tools from writing decision files and the list of signers.

use super::{FiredGate, Gate, GateVerdict, Objection};
use crate::decision::{ALLOWED_SIGNERS_FILE, DECISIONS_FOLDER};
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate {
    name: "decisions",
    text: "writing into .throughline/decisions or allowed_signers by a tool; decide with `tl`",
    mode: |policy| policy.decisions,
    plan: None,
    work: None,
};

/// Evaluates the gate for the files a call would change. It has no override: a decision is made by
/// a command, which knows who decides and on which text.
#[must_use]
pub fn evaluate_decisions(files: &[String], policy: &Policy) -> GateVerdict {
    let mut verdict = GateVerdict::default();
    let is_inside = |file: &&String| {
        file.strip_prefix(DECISIONS_FOLDER)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_signers = |file: &&String| *file == ALLOWED_SIGNERS_FILE;
    if let Some(file) = files
        .iter()
        .find(|file| is_inside(file) || is_signers(file))
    {
        let objection = if is_signers(&file) {
            Objection::new(
                format!("`{file}` says whose approvals count: a person edits it, never a tool"),
                vec![format!(
                    "ask the person who decides to edit `{file}` and to run `tl policy accept`"
                )],
            )
        } else {
            Objection::new(
                format!(
                    "`{file}` is a decision: it is written by the command that decides, never by a tool"
                ),
                vec![
                    "ask the person who decides; they approve with `tl approve NODE` or on the dashboard".to_owned(),
                ],
            )
        };
        verdict.record_objection(
            policy.gates.decisions,
            FiredGate {
                gate: GATE.name,
                plan: file.clone(),
                objection,
            },
        );
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_in_the_folder_are_blocked() {
        let policy = Policy::default();
        let blocks = |file: &str| {
            let verdict = evaluate_decisions(&[file.to_owned()], &policy);
            !verdict.blocks.is_empty()
        };
        assert!(blocks(".throughline/decisions/ab/x.json"));
        assert!(blocks(".throughline/decisions"));
        assert!(blocks(".throughline/allowed_signers"));
        assert!(!blocks(".throughline/decisions.md"));
        assert!(!blocks("src/decisions/a.rs"));
    }
}
