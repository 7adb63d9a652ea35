//! Tools for plan documents, workflows and reviews.

mod doc_change;
mod doc_freeze;
mod doc_new;
mod doc_show;
mod doc_validate;
mod flow_move;
mod flow_next;
mod review_check;
mod review_status;
mod review_verdict;

pub(super) use doc_change::DOC_CHANGE;
pub(super) use doc_freeze::DOC_FREEZE;
pub(super) use doc_new::DOC_NEW;
pub(super) use doc_show::DOC_SHOW;
pub(super) use doc_validate::DOC_VALIDATE;
pub(super) use flow_move::FLOW_MOVE;
pub(super) use flow_next::FLOW_NEXT;
pub(super) use review_check::REVIEW_CHECK;
pub(super) use review_status::REVIEW_STATUS;
pub(super) use review_verdict::REVIEW_VERDICT;

use serde::Deserialize;
use serde_json::Value;

use super::schema::{Property, text};

/// A document; the current one by default.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    document: Option<String>,
}

fn document() -> Property {
    ("document", text("id; without it the current one"), false)
}

fn of() -> Property {
    (
        "of",
        text("subject; without it the phase of the present workflow step"),
        false,
    )
}

fn subject() -> Property {
    (
        "subject",
        text("document, node or name; without it the current document"),
        false,
    )
}

fn one_of(words: &[&str]) -> Value {
    serde_json::json!({ "type": "string", "enum": words })
}
