//! The tool `plan_outline`.

use application::make_outline::{OutlinePage, OutlineRequest, make_outline_page};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::tools::arguments::{AnyObject, node_words};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path; all without it
    #[serde(default)]
    node: Option<String>,
    /// levels below it
    #[serde(default)]
    depth: Option<usize>,
    /// whole texts instead of synopses
    #[serde(default)]
    full: bool,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = MAX_ENTRIES))]
    limit: usize,
    /// from `next_offset`
    #[serde(default)]
    offset: usize,
}

/// Maximum number of entries in a result.
const MAX_ENTRIES: usize = 1_000;
/// Size of whole texts after which a result ends.
const MAX_TEXT_BYTES: usize = 100_000;

fn default_limit() -> usize {
    200
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<AnyObject, Failure> {
    let request = OutlineRequest {
        node: arguments
            .node
            .as_deref()
            .map(node_words)
            .unwrap_or_default(),
        depth: arguments.depth,
        full: arguments.full,
    };
    let page = OutlinePage {
        offset: arguments.offset,
        // Clamped although the schema has bounds: not every client validates arguments.
        limit: arguments.limit.clamp(1, MAX_ENTRIES),
        max_text_bytes: MAX_TEXT_BYTES,
    };
    let (outline, total) = make_outline_page(ctx, &request, page)?;
    let next = arguments.offset.saturating_add(outline.entries.len());
    let mut result = json!({ "title": outline.title, "total": total, "entries": outline.entries });
    if next < total && !outline.entries.is_empty() {
        result["next_offset"] = json!(next);
    }
    AnyObject::new(&result)
}
