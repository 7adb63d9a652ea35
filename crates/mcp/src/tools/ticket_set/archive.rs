//! The tool `ticket_archive`.

use application::archive_tickets::{ArchiveOutcome, ArchiveRequest, archive_tickets};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// their ids; without them every ticket that is finished with all below it
    #[serde(default)]
    tickets: Option<Vec<String>>,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { tickets }: Arguments,
) -> Result<ArchiveOutcome, Failure> {
    let request = match tickets {
        Some(tickets) => ArchiveRequest::Named(tickets),
        None => ArchiveRequest::AllFinished,
    };
    archive_tickets(ctx, &request)
}
