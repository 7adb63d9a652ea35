//! Tools for plan documents, workflows and reviews.

mod doc_change;
mod doc_new;
mod doc_show;
mod flow_move;
mod flow_next;
mod review_check;
mod review_status;
mod review_verdict;

use application::plan_documents::freeze_plan::freeze_plan;
use application::plan_documents::validate::validate_plan;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Hints, Tool};

/// The tools of this set, in listing order.
pub(super) fn list_tools() -> Vec<Tool> {
    vec![
        Hints::CHANGES.define_tool(
            "doc_new",
            "Use to begin a plan document; it becomes the current one.",
            doc_new::run,
        ),
        Hints::READS.define_tool(
            "doc_show",
            "Use to read a plan document, or one entity of it with the version a change must name.",
            doc_show::run,
        ),
        Hints::CHANGES.define_tool(
            "doc_change",
            "Use to change a plan document, all or nothing. Each change has `do`: add-decision, add-alternative, add-constraint, \
             add-risk, add-milestone, add-intent, add-change, add-doc, set or remove (the last two with id and version); \
             `as` names what it adds, \"@name\" refers to it.",
            doc_change::run,
        ),
        // Read-only: unlike the command line it cannot accept a document.
        Hints::READS.define_tool(
            "doc_validate",
            "Use to see what is wrong, missing or worth a look in a plan document, with JSON pointers.",
            |ctx, DocumentOnly { document }| validate_plan(ctx, document.as_deref()),
        ),
        // Irreversible for the document: after it nothing can be edited.
        Hints::DESTROYS.define_tool(
            "doc_freeze",
            "Use when a plan document is complete: nothing in it changes any more, and its milestones can be worked on.",
            |ctx, DocumentOnly { document }| freeze_plan(ctx, document.as_deref()),
        ),
        // Read-only, so a model may ask again after a compaction.
        Hints::READS.define_tool(
            "flow_next",
            "Use to get the present step of a workflow: role, prompt with the context it needs, commands, what is missing.",
            flow_next::run,
        ),
        Hints::CHANGES.define_tool(
            "flow_move",
            "Use to start a workflow (planner, executor, story-planning), take a milestone of its wave, say that a step is done, or \
             pass or fail a gate as its review says.",
            flow_move::run,
        ),
        Hints::CHANGES.define_tool(
            "review_check",
            "Use as a reviewer to write a check down before judging it.",
            review_check::run,
        ),
        Hints::CHANGES.define_tool(
            "review_verdict",
            "Use as a reviewer to pass or fail a check; a failure names the place and what would be right.",
            review_verdict::run,
        ),
        Hints::READS.define_tool(
            "review_status",
            "Use to see a review: checks, verdicts, what stops the work, what waits for a person.",
            review_status::run,
        ),
    ]
}

/// A document; the current one by default.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentOnly {
    /// id; without it the current one
    #[serde(default)]
    document: Option<String>,
}
