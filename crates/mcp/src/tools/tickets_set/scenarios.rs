//! The tool `scenarios`.

use application::tickets::{finish_scenario, list_scenarios};
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::Value;

use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const SCENARIOS: Tool = Tool {
    name: "scenarios",
    description: "Use to see which scenarios of a ticket are done and how far the test-driven cycle is (list), or to say that one is done (done). Without a name: where this session stands.",
    set: Toolset::Tickets,
    hints: Hints::GOES_ON,
    input: |_| {
        schema::object(vec![
            ("action", schema::one_of(&["list", "done"]), true),
            ("ticket", schema::text("list: its id"), false),
            ("scenario", schema::text("done: name or path"), false),
        ])
    },
    output: || {
        schema::result(&[
            ("ticket", "string"),
            ("completed", "integer"),
            ("total", "integer"),
            ("scenarios", "list of object"),
        ])
    },
    run,
};

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "lowercase", deny_unknown_fields)]
enum Arguments {
    List {
        #[serde(default)]
        ticket: Option<String>,
    },
    Done {
        #[serde(default)]
        scenario: Option<String>,
    },
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    match read(arguments)? {
        Arguments::List { ticket } => value(&list_scenarios(ctx, ticket.as_slice())?),
        // Without a name it is the scenario in focus, as in the command line.
        Arguments::Done { scenario } => value(&finish_scenario(ctx, scenario.as_slice())?),
    }
}
