//! The tool `plan_keep`.

use application::revalidate::{KeepRequest, keep_all, keep_one};
use application::{Context, Failure};
use domain::approval::Force;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::{AnyObject, node_words, shown};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path
    node: String,
    /// also every stale plan below it
    #[serde(default)]
    all_below: bool,
    /// in spite of warnings
    #[serde(default)]
    force: bool,
    /// the one you judged; another is refused
    #[serde(default)]
    version_hash: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<AnyObject, Failure> {
    let node = node_words(&arguments.node);
    let force = if arguments.force {
        Force::Yes
    } else {
        Force::No
    };
    let shown = shown(arguments.version_hash.as_deref())?;
    let kept = match arguments.all_below {
        true if shown.is_some() => {
            return Err(Failure::invalid(
                "`version_hash` is the version of one plan, and these are several",
            ));
        }
        true => keep_all(ctx, &node, force, None),
        false => keep_one(ctx, &KeepRequest { node, force, shown }),
    };
    AnyObject::new(&kept?)
}
