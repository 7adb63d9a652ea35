//! The tool `ticket_focus`.

use application::move_focus::{FocusMove, FocusOutcome, move_focus};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
// Tagged by `action`, so that serde names the missing field of that very action.
#[serde(tag = "action", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Arguments {
    Enter {
        /// enter, back, switch: alias or path
        node: String,
        /// enter: also take it for this session
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

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<FocusOutcome, Failure> {
    let request = match arguments {
        Arguments::Enter { node, claim } => FocusMove::Enter {
            node: vec![node],
            claim,
        },
        Arguments::Exit {} => FocusMove::Exit,
        Arguments::Back { node } => FocusMove::Back { node: vec![node] },
        Arguments::Park {} => FocusMove::Park,
        Arguments::Switch { node } => FocusMove::Switch { root: vec![node] },
    };
    move_focus(ctx, &request)
}
