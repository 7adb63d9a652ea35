//! The tool `note_anchor`.

use application::sessions::keep_anchor::keep_anchor;
use application::{Context, Failure};
use domain::memory::Anchor;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// what holds, short
    text: String,
}

pub(super) fn run(ctx: &Context<'_>, Arguments { text }: Arguments) -> Result<Anchor, Failure> {
    keep_anchor(ctx, &text)
}
