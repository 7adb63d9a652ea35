//! The tool `ticket`.

use application::renumber::{MovedFile, RenumberRequest, renumber_node};
use application::tickets::{
    NewTicket, TicketView, create_ticket, set_phase, set_work_level, split_ticket,
};
use application::{Context, Failure};
use domain::work::work_level::WorkLevel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tools::schema::PHASES;

#[derive(Deserialize, JsonSchema)]
// Tagged by `action`, so that serde names the missing field of that very action.
#[serde(tag = "action", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Arguments {
    New {
        /// new
        title: String,
        /// new: the ticket it is a part of
        #[serde(default)]
        parent: Option<String>,
        /// new: task where nothing is said
        #[serde(default, rename = "type")]
        kind: Option<String>,
    },
    Split {
        /// split, phase, level: its id
        ticket: String,
        /// split: one for each part
        titles: Vec<String>,
    },
    Phase {
        ticket: String,
        #[schemars(extend("enum" = PHASES))]
        phase: String,
    },
    Level {
        ticket: String,
        #[serde(default)]
        level: Option<WorkLevel>,
        /// level: why
        #[serde(default)]
        reason: Option<String>,
    },
    Renumber {
        ticket: String,
        /// renumber: the next free one where nothing is said
        #[serde(default)]
        id: Option<String>,
        /// renumber: only list what would change
        #[serde(default)]
        dry_run: bool,
    },
}

// `id` in every outcome, so that a client finds the ticket whatever the action was.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum TicketOutcome {
    One(TicketView),
    Split {
        id: String,
        children: Vec<TicketView>,
    },
    Renumbered {
        id: String,
        was: String,
        moved_files: Vec<MovedFile>,
        changed_files: Vec<String>,
    },
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<TicketOutcome, Failure> {
    match arguments {
        Arguments::New {
            title,
            parent,
            kind,
        } => create_ticket(
            ctx,
            &NewTicket {
                title,
                // The id is allocated in the write transaction: two agents cannot get the same one.
                id: None,
                parent: parent.map(|parent| vec![parent]),
                kind: kind.unwrap_or_else(|| "task".to_owned()),
            },
        )
        .map(TicketOutcome::One),
        Arguments::Split { ticket, titles } => {
            split_ticket(ctx, &[ticket], &titles).map(|split| TicketOutcome::Split {
                id: split.parent,
                children: split.children,
            })
        }
        Arguments::Phase { ticket, phase } => {
            set_phase(ctx, &[ticket], &phase, None).map(TicketOutcome::One)
        }
        Arguments::Level {
            ticket,
            level,
            reason,
        } => set_work_level(ctx, &[ticket], level, reason.as_deref()).map(TicketOutcome::One),
        Arguments::Renumber {
            ticket,
            id,
            dry_run,
        } => renumber_ticket(ctx, ticket, id, dry_run),
    }
}

// An action, not a tool of its own: every tool's schema costs each session tokens, and ids are rarely
// changed.
fn renumber_ticket(
    ctx: &Context<'_>,
    ticket: String,
    id: Option<String>,
    dry_run: bool,
) -> Result<TicketOutcome, Failure> {
    let request = RenumberRequest {
        node: vec![ticket],
        id,
        dry_run,
    };
    let outcome = renumber_node(ctx, &request)?;
    Ok(TicketOutcome::Renumbered {
        id: outcome.id,
        was: outcome.was,
        moved_files: outcome.moved_files,
        changed_files: outcome.changed_files,
    })
}
