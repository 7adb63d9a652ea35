//! `intent` gate: blocks writes under strict governance until an intent is declared, in this session
//! or by an active earlier session of its host.
//!
//! A shell command is blocked too unless it is recognisably read-only, because its writes cannot be
//! known in advance.

use super::event::{Event, Objections, Subject};
use super::{CallFacts, Gate, GateScope, Objection};
use crate::policy::{GateMode, Governance, Policy};

pub(super) const GATE: Gate = Gate {
    name: "intent",
    text: "writing before an intent is declared (governance `strict`); tl trail intent \"…\"",
    scope: GateScope::Trail,
    never_overridden: None,
    heeded_by: &["tl trail", "tl focus"],
    mode: |policy| match policy.governance {
        Governance::Strict => GateMode::Block,
        Governance::Permissive | Governance::Assisted => GateMode::Off,
    },
    check: check_intent,
    concerns: |facts, policy| {
        let is_strict = policy.governance == Governance::Strict;
        find_written(facts).filter(|_| is_strict)
    },
    limits: None,
};

fn check_intent<'e>(event: &Event<'e>, _policy: &Policy) -> Objections<'e> {
    if !event.lacks_intent {
        return Vec::new();
    }
    let plans = event
        .plans
        .iter()
        .map(|step| (step.place.path_alias(), step.file));
    let files = event.files.iter().map(|file| (file.clone(), file.as_str()));
    // One objection for the step: an intent that is declared clears all of it.
    let written = plans.chain(files).find(|(_, file)| is_work(file));
    let (subject, how) = match written {
        Some((subject, file)) => (subject, format!("`{file}` would be written")),
        None if event.command.may_write => (
            "command".to_owned(),
            "this command may write files".to_owned(),
        ),
        None => return Vec::new(),
    };
    let objection = Objection::new(
        format!("{how}, but this session has not declared an intent"),
        vec![
            "tl trail intent \"what this session is for\"".to_owned(),
            "tl trail map tactic \"how\"".to_owned(),
        ],
    );
    vec![(Subject::of_project(subject), objection)]
}

/// The program's own folder is exempt, so that guides and templates can be edited first.
fn is_work(file: &str) -> bool {
    !file.starts_with(".throughline/")
}

fn find_written(facts: &CallFacts<'_>) -> Option<String> {
    let file = facts.files.iter().find(|file| is_work(file)).cloned();
    let command = || facts.command.may_write.then(|| "command".to_owned());
    facts.find_changed_plan(|_| true).or(file).or_else(command)
}
