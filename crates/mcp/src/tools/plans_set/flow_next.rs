//! The tool `flow_next`.

use application::workflows::RunSelector;
use application::workflows::next::show_next_step;
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::subject;
use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const FLOW_NEXT: Tool = Tool {
    name: "flow_next",
    description: "Use to get the present step of a workflow: role, prompt with the context it needs, commands, what is missing.",
    set: Toolset::Plans,
    // Read-only, so a model may ask again after a compaction.
    hints: Hints::READS,
    input: |_| {
        schema::object(vec![
            subject(),
            ("workflow", json!({ "type": "string" }), false),
        ])
    },
    output: || {
        schema::result(&[
            ("step", "string"),
            ("role", "string"),
            ("prompt", "string"),
            ("missing", "list of string"),
        ])
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default)]
    subject: Option<String>,
    #[serde(default)]
    workflow: Option<String>,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let asked: Arguments = read(arguments)?;
    value(&show_next_step(
        ctx,
        &RunSelector {
            subject: asked.subject,
            workflow: asked.workflow,
        },
    )?)
}
