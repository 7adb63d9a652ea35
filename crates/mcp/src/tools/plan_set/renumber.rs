//! The tool `plan_renumber`.

use application::renumber::{RenumberRequest, renumber_node};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::{AnyObject, node_words};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path
    node: String,
    /// the next free one without it
    #[serde(default)]
    id: Option<String>,
    /// only list what would change
    #[serde(default)]
    dry_run: bool,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<AnyObject, Failure> {
    let request = RenumberRequest {
        node: node_words(&arguments.node),
        id: arguments.id,
        dry_run: arguments.dry_run,
    };
    AnyObject::new(&renumber_node(ctx, &request)?)
}
