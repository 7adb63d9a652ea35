//! The tool `trail_sessions`.

use application::sessions::list_sessions::{list_sessions, show_session};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::AnyObject;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    #[serde(default)]
    pub(super) stamp: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, Arguments { stamp }: Arguments) -> Result<AnyObject, Failure> {
    match stamp {
        Some(stamp) => AnyObject::new(&show_session(ctx, Some(&stamp))?),
        None => AnyObject::list("sessions", &list_sessions(ctx)?),
    }
}
