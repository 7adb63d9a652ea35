//! Tools for workflows.

mod abort;
mod advance;
mod apply;
mod next;
mod status;

use application::workflows::list_workflows;

use crate::tools::arguments::{AnyObject, Nothing};
use crate::tools::{Hints, Tool};

/// The tools of this set, in listing order.
pub(super) fn list_tools() -> Vec<Tool> {
    vec![
        // Read-only, so a model may ask again after a compaction.
        Hints::READS
            .define_tool(
                "flow_next",
                "Use to get the present step of a workflow: role, prompt with the context it needs, tools, what is missing.",
                next::run,
            )
            .listed(),
        // `done` twice is two steps.
        Hints::GOES_ON
            .define_tool(
                "flow_move",
                "Use to start a workflow (planner, executor, story-planning), take a milestone of its wave for yourself, say that a step is done, or \
                 pass or fail a gate as its review says.",
                advance::run,
            )
            .listed(),
        // Writes files of the project.
        Hints::REVERTS.define_tool(
            "flow_apply",
            "Use to apply the diffs of a milestone of the current wave, checked first, all or none.",
            apply::run,
        ),
        Hints::READS.define_tool(
            "flow_status",
            "Use to see where each workflow stands, with its steps so far.",
            status::run,
        ),
        Hints::READS.define_tool(
            "flow_list",
            "Use to see which workflows there are.",
            |ctx, Nothing {}| AnyObject::list("workflows", &list_workflows(ctx)),
        ),
        Hints::DESTROYS.define_tool(
            "flow_abort",
            "Use to end a workflow before its last step; what it made is kept.",
            abort::run,
        ),
    ]
}
