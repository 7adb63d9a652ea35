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

pub(super) use doc_change::DocChange;
pub(super) use doc_freeze::DocFreeze;
pub(super) use doc_new::DocNew;
pub(super) use doc_show::DocShow;
pub(super) use doc_validate::DocValidate;
pub(super) use flow_move::FlowMove;
pub(super) use flow_next::FlowNext;
pub(super) use review_check::ReviewCheck;
pub(super) use review_status::ReviewStatus;
pub(super) use review_verdict::ReviewVerdict;

use schemars::JsonSchema;
use serde::Deserialize;

/// A document; the current one by default.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentOnly {
    /// id; without it the current one
    #[serde(default)]
    document: Option<String>,
}
