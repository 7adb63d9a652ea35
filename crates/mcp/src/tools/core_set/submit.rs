//! The tool `work_submit`.

use application::submit::{SubmitOutcome, SubmitRequest, submit_texts};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// each with everything below it; all without them
    #[serde(default)]
    nodes: Vec<String>,
    /// also plans whose file is missing here
    #[serde(default)]
    deleted: bool,
    #[serde(default)]
    dry_run: bool,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<SubmitOutcome, Failure> {
    submit_texts(
        ctx,
        &SubmitRequest {
            nodes: arguments.nodes,
            deleted: arguments.deleted,
            dry_run: arguments.dry_run,
        },
    )
}
