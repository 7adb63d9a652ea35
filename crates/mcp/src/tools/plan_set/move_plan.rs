//! The tool `plan_move`.

use application::move_node::{MoveOutcome, MoveRequest, move_node};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::node_words;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// path or file of the former plan
    was: String,
    /// alias, path or file of the present one
    now: String,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { was, now }: Arguments,
) -> Result<MoveOutcome, Failure> {
    move_node(
        ctx,
        &MoveRequest {
            was,
            now: node_words(&now),
        },
    )
}
