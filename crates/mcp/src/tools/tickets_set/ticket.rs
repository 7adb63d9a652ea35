//! The tool `ticket`.

use application::tickets::{NewTicket, create_ticket, set_phase, set_work_level, split_ticket};
use application::{Context, Failure};
use domain::work::work_level::WorkLevel;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const TICKET: Tool = Tool {
    name: "ticket",
    description: "Use to make a ticket (new), cut it into children (split), move it on (phase) or say how large it is (level; without one it is estimated again). Of an existing file only the key that changes is written.",
    set: Toolset::Tickets,
    hints: Hints::GOES_ON,
    input: |profiles| {
        // From the profiles, because custom profiles name their own phases.
        let phases: Vec<&str> = profiles
            .iter()
            .flat_map(|profile| &profile.work_phases)
            .map(|phase| phase.name.as_str())
            .collect();
        schema::object(vec![
            (
                "action",
                schema::one_of(&["new", "split", "phase", "level"]),
                true,
            ),
            ("ticket", schema::text("split, phase, level: its id"), false),
            ("title", schema::text("new"), false),
            (
                "parent",
                schema::text("new: the ticket it is a part of"),
                false,
            ),
            (
                "type",
                schema::text("new: task where nothing is said"),
                false,
            ),
            ("titles", schema::texts("split: one for each part"), false),
            ("phase", schema::one_of(&phases), false),
            (
                "level",
                schema::one_of(&WorkLevel::ALL.map(WorkLevel::as_str)),
                false,
            ),
            ("reason", schema::text("level: why"), false),
        ])
    },
    output: || schema::result(&[("id", "string")]),
    run,
};

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "lowercase", deny_unknown_fields)]
enum Arguments {
    New {
        title: String,
        #[serde(default)]
        parent: Option<String>,
        #[serde(default, rename = "type")]
        kind: Option<String>,
    },
    Split {
        ticket: String,
        titles: Vec<String>,
    },
    Phase {
        ticket: String,
        phase: String,
    },
    Level {
        ticket: String,
        #[serde(default)]
        level: Option<WorkLevel>,
        #[serde(default)]
        reason: Option<String>,
    },
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    match read(arguments)? {
        Arguments::New {
            title,
            parent,
            kind,
        } => {
            let kind = kind.unwrap_or_else(|| "task".to_owned());
            let request = NewTicket {
                title,
                // The id is allocated in the write transaction: two agents cannot get the same one.
                id: None,
                parent: parent.map(|parent| vec![parent]),
                kind,
            };
            value(&create_ticket(ctx, &request)?)
        }
        Arguments::Split { ticket, titles } => {
            let outcome = split_ticket(ctx, &[ticket], &titles)?;
            // `id` in every result, so that one schema fits all actions.
            Ok(json!({ "id": outcome.parent, "children": value(&outcome.children)? }))
        }
        Arguments::Phase { ticket, phase } => value(&set_phase(ctx, &[ticket], &phase)?),
        Arguments::Level {
            ticket,
            level,
            reason,
        } => value(&set_work_level(ctx, &[ticket], level, reason.as_deref())?),
    }
}
