//! The tool `cascade_invalidate`.

use application::require_revalidation::{RevalidationRequest, require_revalidation};
use application::views::CascadeView;
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::{Level, shown};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    entity_type: Level,
    /// alias or path
    entity_id: String,
    reason: String,
    #[serde(default)]
    version_hash: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<CascadeView, Failure> {
    require_revalidation(
        ctx,
        &RevalidationRequest {
            node: arguments.entity_type.words(&arguments.entity_id),
            reason: arguments.reason,
            shown: shown(arguments.version_hash.as_deref())?,
        },
    )
}
