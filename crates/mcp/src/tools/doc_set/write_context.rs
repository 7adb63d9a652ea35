//! The tool `doc_context`.

use application::plan_documents::write_context::{WrittenContext, write_context};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The known lists of a context; others are accepted as well.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ContextLists {
    /// goal, scope, out of scope; the design cannot begin without it
    task_spec: Option<Vec<String>>,
    /// MUST: …, SHOULD: …
    constraints: Option<Vec<String>>,
    /// file:function - why
    entry_points: Option<Vec<String>>,
    rejected_alternatives: Option<Vec<String>>,
    current_understanding: Option<Vec<String>>,
    assumptions: Option<Vec<String>>,
    /// design rationale, invariants
    invisible_knowledge: Option<Vec<String>>,
    user_quotes: Option<Vec<String>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    #[schemars(with = "ContextLists")]
    context: Map<String, Value>,
    /// id; without it the current one
    #[serde(default)]
    document: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<WrittenContext, Failure> {
    let context = Value::Object(arguments.context);
    write_context(ctx, arguments.document.as_deref(), &context)
}
