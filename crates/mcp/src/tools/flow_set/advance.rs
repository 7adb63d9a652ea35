//! The tool `flow_move`.

use application::workflows::advance::{AdvanceOutcome, advance_run};
use application::workflows::start::{start_run, start_run_on_new_document};
use application::workflows::take::{TakenMilestone, take_milestone};
use application::workflows::{FlowView, RunSelector};
use application::{Context, Failure};
use domain::workflow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    how: How,
    /// document, node or name; without it the current document
    #[serde(default)]
    subject: Option<String>,
    #[serde(default)]
    workflow: Option<String>,
    /// start: make a plan document of this title first
    #[serde(default)]
    new: Option<String>,
    // Read by the transport: where a connection does not tell agents apart, the name does.
    /// the one a take returned, or a name of your own
    #[serde(default, rename = "session")]
    _session: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum How {
    Start,
    Take,
    Done,
    Pass,
    Fail,
}

// The three have no member in common, and all of them would be the longest schema of the list.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Moved {
    Started(#[schemars(with = "Map<String, Value>")] FlowView),
    Taken(#[schemars(with = "Map<String, Value>")] TakenMilestone),
    Advanced(#[schemars(with = "Map<String, Value>")] AdvanceOutcome),
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<Moved, Failure> {
    let new = arguments.new;
    let which = RunSelector {
        subject: arguments.subject,
        workflow: arguments.workflow,
    };
    let advance = |step| advance_run(ctx, &which, step).map(Moved::Advanced);
    match arguments.how {
        How::Start => {
            // Optional in the schema, because the other moves find the only run by themselves.
            let workflow = which.workflow.as_deref().ok_or_else(|| {
                Failure::invalid("missing argument `workflow`")
                    .with_step("planner, executor or story-planning")
            })?;
            let started = match new {
                Some(title) => start_run_on_new_document(ctx, workflow, &title),
                None => start_run(ctx, workflow, which.subject.as_deref()),
            };
            started.map(Moved::Started)
        }
        How::Take => take_milestone(ctx, &which).map(Moved::Taken),
        How::Done => advance(workflow::FlowMove::Done),
        How::Pass => advance(workflow::FlowMove::Pass),
        How::Fail => advance(workflow::FlowMove::Fail),
    }
}
