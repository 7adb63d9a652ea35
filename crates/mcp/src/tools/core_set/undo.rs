//! The tool `work_undo`.

use application::undo::{UndoTarget, preview_undo, undo_operations};
use application::{Context, Failure};
use domain::ids::OperationId;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::AnyObject;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// only this one
    #[serde(default)]
    operation: Option<u64>,
    /// everything after this one
    #[serde(default)]
    back_to: Option<u64>,
    /// only tell what would change
    #[serde(default)]
    dry_run: bool,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<AnyObject, Failure> {
    let target = match (arguments.operation, arguments.back_to) {
        (None, None) => UndoTarget::Newest,
        (Some(operation), None) => UndoTarget::Operation(OperationId(operation)),
        (None, Some(operation)) => UndoTarget::BackTo(OperationId(operation)),
        (Some(_), Some(_)) => {
            return Err(Failure::invalid(
                "expected `operation` or `back_to`, not both",
            ));
        }
    };
    AnyObject::new(&match arguments.dry_run {
        true => preview_undo(ctx, target)?,
        false => undo_operations(ctx, target)?,
    })
}
