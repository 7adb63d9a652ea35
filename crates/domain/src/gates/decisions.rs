//! `decisions` gate: blocks an agent's tools from writing decision files, the list of signers and the
//! state; where only people approve, also profiles, which say what needs an approval.

use super::event::{Event, Objections, Subject};
use super::{Gate, GateScope, Objection};
use crate::decision::{ALLOWED_SIGNERS_FILE, DECISIONS_FOLDER};
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate {
    name: "decisions",
    text: "writing decisions, allowed_signers or the state by a tool; under `human` also profiles",
    scope: GateScope::Project,
    // A decision is made by a command, which knows who decides and on which text.
    never_overridden: Some((
        "a decision file is written by the command that decides",
        "tl approve NODE",
    )),
    heeded_by: &[],
    mode: |policy| policy.gates.decisions,
    check: check_decisions,
    concerns: |facts, policy| find_protected(facts.files, policy).map(|(file, _)| file.clone()),
    limits: None,
};

/// What a protected file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProtectedFile {
    Decision,
    Signers,
    State,
    Profile,
}

impl ProtectedFile {
    /// Returns why a tool must not write the file, and what to do instead.
    fn objection(self, file: &str) -> Objection {
        let ask_for_policy =
            || format!("ask the person who decides to edit `{file}` and to run `tl policy accept`");
        let (why, step) = match self {
            Self::Decision => (
                format!(
                    "`{file}` is a decision: it is written by the command that decides, never by a tool"
                ),
                "ask the person who decides; they approve with `tl approve NODE` or on the dashboard"
                    .to_owned(),
            ),
            Self::Signers => (
                format!("`{file}` says whose approvals count: a person edits it, never a tool"),
                ask_for_policy(),
            ),
            Self::State => (
                format!("`{file}` is Throughline's state: its commands write it, never a tool"),
                "tl check   # what is wrong with the state, and what repairs it".to_owned(),
            ),
            Self::Profile => (
                format!(
                    "`{file}` says which plans need an approval: where only people approve, a person edits it"
                ),
                format!("ask the person who decides to edit `{file}`"),
            ),
        };
        Objection::new(why, vec![step])
    }
}

fn check_decisions<'e>(event: &Event<'e>, policy: &Policy) -> Objections<'e> {
    let object = |(file, kind): (&String, ProtectedFile)| {
        (Subject::of_project(file.clone()), kind.objection(file))
    };
    find_protected(event.files, policy)
        .map(object)
        .into_iter()
        .collect()
}

/// Folders and files that no tool writes; profiles are a person's only under `human`.
const PROTECTED_PATHS: &[(&str, ProtectedFile)] = &[
    (DECISIONS_FOLDER, ProtectedFile::Decision),
    (ALLOWED_SIGNERS_FILE, ProtectedFile::Signers),
    (".throughline/journal.jsonl", ProtectedFile::State),
    (".throughline/state.db", ProtectedFile::State),
    (".throughline/mirror", ProtectedFile::State),
    (".git/throughline", ProtectedFile::State),
    (PROFILES_FOLDER, ProtectedFile::Profile),
];

const PROFILES_FOLDER: &str = ".throughline/profiles";

fn find_protected<'f>(files: &'f [String], policy: &Policy) -> Option<(&'f String, ProtectedFile)> {
    let is_at = |file: &str, path: &str| {
        file.strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let find = |file: &str| {
        let found = PROTECTED_PATHS.iter().find(|(path, _)| is_at(file, path));
        found
            .map(|(_, kind)| *kind)
            .filter(|kind| *kind != ProtectedFile::Profile || policy.approval.requires_person())
    };
    files.iter().find_map(|file| Some((file, find(file)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ApprovalPolicy;

    #[test]
    fn only_files_in_the_folder_are_decisions() {
        let policy = Policy::default();
        let is_decision = |file: &str| find_protected(&[file.to_owned()], &policy).is_some();
        assert!(is_decision(".throughline/decisions/ab/x.json"));
        assert!(is_decision(".throughline/decisions"));
        assert!(is_decision(".throughline/allowed_signers"));
        assert!(!is_decision(".throughline/decisions.md"));
        assert!(!is_decision("src/decisions/a.rs"));
    }

    #[test]
    fn no_tool_writes_the_state_and_profiles_are_a_persons_under_human() {
        let kind_of = |file: &str, approval: ApprovalPolicy| {
            let policy = Policy {
                approval,
                ..Policy::default()
            };
            find_protected(&[file.to_owned()], &policy).map(|(_, kind)| kind)
        };
        for file in [
            ".throughline/journal.jsonl",
            ".throughline/state.db",
            ".throughline/mirror/story/act-1.json",
            ".git/throughline/decisions-made",
        ] {
            assert_eq!(
                kind_of(file, ApprovalPolicy::Anyone),
                Some(ProtectedFile::State),
                "{file}"
            );
        }
        let profile = ".throughline/profiles/story.toml";
        assert_eq!(kind_of(profile, ApprovalPolicy::Anyone), None);
        assert_eq!(
            kind_of(profile, ApprovalPolicy::Human),
            Some(ProtectedFile::Profile)
        );
        assert_eq!(kind_of(".git/config", ApprovalPolicy::Human), None);
    }
}
