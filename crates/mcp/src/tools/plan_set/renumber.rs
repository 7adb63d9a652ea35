//! The tool `plan_renumber`.

use application::shape::{ChangeShapeRequest, ShapeChange, change_shape};
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
    let change = ShapeChange::Renumber {
        node: node_words(&arguments.node),
        id: arguments.id,
    };
    let dry_run = arguments.dry_run;
    AnyObject::new(&change_shape(ctx, &ChangeShapeRequest { change, dry_run })?)
}
