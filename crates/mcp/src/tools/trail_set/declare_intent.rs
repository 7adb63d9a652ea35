//! The tool `declare_intent`.

use application::sessions::declare_intent::{IntentRequest, declare_intent};
use application::{Context, Failure};
use domain::session::SessionMode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const DECLARE_INTENT: Tool = Tool {
    name: "declare_intent",
    description: "Use at the start of work: what this session is for. Begins a trajectory with a session file.",
    set: Toolset::Trail,
    hints: Hints::CHANGES,
    input: |_| {
        schema::object(vec![
            ("focus", schema::text("what it is for, one line"), true),
            (
                "mode",
                json!({ "type": "string", "enum": SessionMode::ALL.map(SessionMode::as_str) }),
                false,
            ),
        ])
    },
    // The new position, so that the model need not ask for it.
    output: super::place,
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    focus: String,
    #[serde(default)]
    mode: SessionMode,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let Arguments { focus, mode } = read(arguments)?;
    value(&declare_intent(ctx, &IntentRequest { text: focus, mode })?)
}
