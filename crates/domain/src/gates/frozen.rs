//! `frozen` gate: blocks changes to a frozen plan document; changes go into a new revision.

use super::event::{Event, FrozenFile, Objections, Subject};
use super::{Gate, GateScope, Objection};
use crate::plan_document::split_document_path;
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate {
    name: "frozen",
    text: "changing a frozen plan document; a new revision",
    scope: GateScope::Project,
    // All roles work from a frozen plan, so even a person changes it only through a revision.
    never_overridden: Some((
        "a frozen plan document cannot be changed",
        "tl doc revise   # a new revision that starts from it",
    )),
    heeded_by: &[],
    mode: |policy| policy.gates.frozen,
    check: check_frozen,
    concerns: |facts, _| {
        let is_document = |file: &&String| split_document_path(file).is_some();
        facts.files.iter().find(is_document).cloned()
    },
    limits: None,
};

fn check_frozen<'e>(event: &Event<'e>, _policy: &Policy) -> Objections<'e> {
    let object = |FrozenFile { document, name }: &FrozenFile<'_>| {
        // `context.json` freezes earlier than the plan, which is written against it; until the plan
        // is frozen too there is nothing to revise yet.
        let next_steps = match *name {
            "context.json" => vec![format!(
                "tl doc revise --doc {document}   # once the plan is frozen, what changed goes into a revision"
            )],
            _ => vec![
                format!("tl doc revise --doc {document}   # a new revision that starts from it"),
                "tl doc set ID FIELD=VALUE --version N   # then change that one".to_owned(),
            ],
        };
        let why = format!(
            "`{name}` of plan document `{document}` is frozen: nothing in it changes any more"
        );
        let subject = Subject::of_project(*document);
        (subject, Objection::new(why, next_steps))
    };
    event.documents.iter().map(object).collect()
}
