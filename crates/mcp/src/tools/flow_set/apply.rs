//! The tool `flow_apply`.

use application::workflows::RunSelector;
use application::workflows::apply::apply_changes;
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::AnyObject;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// M-001
    milestone: String,
    /// document, node or name; without it the current document
    #[serde(default)]
    subject: Option<String>,
    #[serde(default)]
    workflow: Option<String>,
    // Read by the transport, as in `flow_move`.
    /// the one that took the milestone
    #[serde(default, rename = "session")]
    _session: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<AnyObject, Failure> {
    let which = RunSelector {
        subject: arguments.subject,
        workflow: arguments.workflow,
    };
    AnyObject::new(&apply_changes(ctx, &which, &arguments.milestone)?)
}
