//! Tools for reviews.

mod accept;
mod check;
mod conclude;
mod status;
mod verdict;

use application::reviews::status::list_escalated;

use crate::tools::arguments::{AnyObject, Nothing};
use crate::tools::{Hints, Tool};

/// The tools of this set, in listing order.
pub(super) fn list_tools() -> Vec<Tool> {
    vec![
        Hints::READS.define_tool(
            "review_status",
            "Use to see a review: checks, verdicts, what stops the work, what waits for a person.",
            status::run,
        ),
        Hints::GOES_ON.define_tool(
            "review_check",
            "Use as a reviewer to write a check down before judging it.",
            check::run,
        ),
        Hints::CHANGES.define_tool(
            "review_verdict",
            "Use as a reviewer to pass or fail a check; a failure names the place and what would be right.",
            verdict::run,
        ),
        Hints::READS.define_tool(
            "review_escalated",
            "Use to see the checks of all reviews that wait for a person.",
            |ctx, Nothing {}| AnyObject::list("escalated", &list_escalated(ctx)?),
        ),
        Hints::CHANGES.define_tool(
            "review_accept",
            "Accepts a finding as it is, with a reason. Only people may: an agent asks one.",
            accept::run,
        ),
        Hints::GOES_ON.define_tool(
            "review_conclude",
            "Use to conclude an iteration of a review outside of a workflow.",
            conclude::run,
        ),
    ]
}
