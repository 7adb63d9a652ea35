//! The tool `map_context`.

use application::sessions::map_context::{MapRequest, map_context};
use application::{Context, Failure};
use domain::node::Progress;
use domain::trail::TrailLevel;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const MAP_CONTEXT: Tool = Tool {
    name: "map_context",
    description: "Use whenever the work moves: a tactic of the trajectory or an action of the tactic, and how far it is. Do it before writing files.",
    set: Toolset::Trail,
    hints: Hints::CHANGES,
    input: |_| {
        schema::object(vec![
            (
                "level",
                json!({ "type": "string", "enum": ["tactic", "action"] }),
                true,
            ),
            ("content", schema::text("one line"), true),
            (
                "status",
                json!({ "type": "string", "enum": Progress::ALL.map(Progress::as_str) }),
                false,
            ),
        ])
    },
    output: super::place,
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    level: TrailLevel,
    content: String,
    #[serde(default)]
    status: Option<Progress>,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let Arguments {
        level,
        content,
        status,
    } = read(arguments)?;
    value(&map_context(
        ctx,
        &MapRequest {
            level,
            text: content,
            // Mapping something means working on it.
            status: status.unwrap_or(Progress::Active),
        },
    )?)
}
