//! The tool `work_brief`.

use application::brief::compose_briefing;
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Serialize;

use crate::tools::arguments::Nothing;

#[derive(Serialize, JsonSchema)]
pub(crate) struct Briefing {
    text: String,
}

pub(super) fn run(ctx: &Context<'_>, Nothing {}: Nothing) -> Result<Briefing, Failure> {
    let text = compose_briefing(ctx, None)?;
    Ok(Briefing { text })
}
