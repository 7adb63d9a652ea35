//! The tool `where`.

use application::project_status::load_project_status;
use application::where_am_i::where_if_focused;
use application::{Context, Failure};
use serde_json::{Value, json};

use crate::tools::arguments::{Nothing, read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const WHERE: Tool = Tool {
    name: "where",
    description: "Use first, and whenever you have lost the thread: what has which status, what needs someone, what to do about it.",
    set: Toolset::Core,
    hints: Hints::READS,
    input: |_| schema::object(Vec::new()),
    output: || {
        schema::result(&[
            ("profiles", "list of string"),
            ("nodes", "integer"),
            ("status_counts", "object"),
            ("levels", "list of object"),
            ("attention", "list of object"),
            ("more_attention", "integer"),
            ("last_operation", "object"),
        ])
    },
    run,
};

/// Maximum number of listed plans that need attention; the rest is counted.
const MAX_LISTED_NODES: usize = 20;

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let Nothing {} = read(arguments)?;
    let mut status = load_project_status(ctx)?;
    let more = status.attention.len().saturating_sub(MAX_LISTED_NODES);
    status.attention.truncate(MAX_LISTED_NODES);
    let mut value = value(&status)?;
    // Counted, because a silent cut looks like a complete list.
    value["more_attention"] = json!(more);
    // Only with a focus: a project without tickets has no position to report.
    if let Some(place) = where_if_focused(ctx)? {
        value["focus"] = json!({ "line": place.line, "stack": place.stack, "gate": place.gate });
    }
    Ok(value)
}
