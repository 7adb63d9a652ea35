//! The tool `flow_move`.

use application::workflows::RunSelector;
use application::workflows::advance::advance_run;
use application::workflows::start::start_run;
use application::workflows::take::take_milestone;
use application::{Context, Failure, FailureKind};
use domain::workflow::FlowMove;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{one_of, subject};
use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const FLOW_MOVE: Tool = Tool {
    name: "flow_move",
    description: "Use to start a workflow (planner, executor, story-planning), take a milestone of its wave, say that a step is done, or \
                  pass or fail a gate as its review says.",
    set: Toolset::Plans,
    hints: Hints::CHANGES,
    input: |_| {
        let how = one_of(&["start", "take", "done", "pass", "fail"]);
        schema::object(vec![
            ("how", how, true),
            subject(),
            ("workflow", json!({ "type": "string" }), false),
        ])
    },
    output: || schema::result(&[]),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    how: How,
    #[serde(default)]
    subject: Option<String>,
    #[serde(default)]
    workflow: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum How {
    Start,
    Take,
    Done,
    Pass,
    Fail,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let asked: Arguments = read(arguments)?;
    let which = RunSelector {
        subject: asked.subject.clone(),
        workflow: asked.workflow.clone(),
    };
    match asked.how {
        How::Start => {
            // Optional in the schema, because the other moves find the only run by themselves.
            let workflow = asked.workflow.ok_or_else(|| {
                Failure::new(FailureKind::Invalid, "missing argument `workflow`")
                    .with_step("planner, executor or story-planning")
            })?;
            value(&start_run(ctx, &workflow, asked.subject.as_deref())?)
        }
        How::Take => value(&take_milestone(ctx, &which)?),
        How::Done => value(&advance_run(ctx, &which, FlowMove::Done)?),
        How::Pass => value(&advance_run(ctx, &which, FlowMove::Pass)?),
        How::Fail => value(&advance_run(ctx, &which, FlowMove::Fail)?),
    }
}
