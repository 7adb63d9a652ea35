//! The tool `doc_show`.

use application::plan_documents::show::{show_document, show_entity};
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::document;
use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const DOC_SHOW: Tool = Tool {
    name: "doc_show",
    description: "Use to read a plan document, or one entity of it with the version a change must name.",
    set: Toolset::Plans,
    hints: Hints::READS,
    input: |_| {
        schema::object(vec![
            (
                "entity",
                schema::text("M-001, CI-004, overview …; without it the whole plan"),
                false,
            ),
            document(),
        ])
    },
    output: || schema::result(&[("document", "string"), ("plan", "object")]),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default)]
    entity: Option<String>,
    #[serde(default)]
    document: Option<String>,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let asked: Arguments = read(arguments)?;
    let document = asked.document.as_deref();
    match &asked.entity {
        // One entity with its version: a change has to name it, and the whole plan is much larger.
        Some(entity) => {
            show_entity(ctx, document, entity).map(|entity| json!({ "entity": entity }))
        }
        None => {
            let shown = show_document(ctx, document)?;
            Ok(json!({ "document": shown.document, "plan": value(&shown.plan)? }))
        }
    }
}
