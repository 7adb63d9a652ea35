//! The tool `focus`.

use application::move_focus::{FocusMove, move_focus};
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const FOCUS: Tool = Tool {
    name: "focus",
    description: "Use when you begin, leave or change work: enter a node and get its context, exit (a complete one goes on to the next), back, park the root, switch to another.",
    set: Toolset::Tickets,
    hints: Hints::GOES_ON,
    input: |_| {
        schema::object(vec![
            (
                "action",
                schema::one_of(&["enter", "exit", "back", "park", "switch"]),
                true,
            ),
            (
                "node",
                schema::text("enter, back, switch: alias or path"),
                false,
            ),
            (
                "claim",
                json!({ "type": "boolean", "description": "enter: also take it for this session" }),
                false,
            ),
        ])
    },
    output: || {
        schema::result(&[
            ("session", "string"),
            ("line", "string"),
            ("stack", "list of object"),
            ("completed", "list of string"),
        ])
    },
    run,
};

#[derive(Deserialize)]
// Tagged by `action`, so that serde names the missing field of that very action.
#[serde(tag = "action", rename_all = "lowercase", deny_unknown_fields)]
enum Arguments {
    Enter {
        node: String,
        #[serde(default)]
        claim: bool,
    },
    Exit {},
    Back {
        node: String,
    },
    Park {},
    Switch {
        node: String,
    },
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let request = match read(arguments)? {
        Arguments::Enter { node, claim } => FocusMove::Enter {
            node: vec![node],
            claim,
        },
        Arguments::Exit {} => FocusMove::Exit,
        Arguments::Back { node } => FocusMove::Back { node: vec![node] },
        Arguments::Park {} => FocusMove::Park,
        Arguments::Switch { node } => FocusMove::Switch { root: vec![node] },
    };
    value(&move_focus(ctx, &request)?)
}
