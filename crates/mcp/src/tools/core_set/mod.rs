//! Core tools: position, next work, explanations; offered on every project.

mod brief;
mod next;
mod search;
mod wait;
mod where_tool;

use application::explain::explain_status;

use crate::tools::arguments::NodeOnly;
use crate::tools::{Hints, Tool};

/// The tools of this set, in listing order.
pub(super) fn list_tools() -> Vec<Tool> {
    vec![
        Hints::READS.define_tool(
            "where",
            "Use first, and whenever you have lost the thread: what has which status, what needs someone, what to do about it.",
            where_tool::run,
        ),
        Hints::READS.define_tool(
            "next",
            "Use to choose work: approved plans that are not finished and wait for nothing, each with the command that goes on.",
            next::run,
        ),
        Hints::READS.define_tool(
            "brief",
            "Use at the start of a session or after losing context: one short text about where the plans stand.",
            brief::run,
        ),
        Hints::READS.define_tool(
            "search",
            "Use to find where something is said: plans, prose, comments, notes, memory, the log; ranked, with file, line and snippet.",
            search::run,
        ),
        // No level: an ambiguous alias is refused with the paths to choose from.
        Hints::READS.define_tool(
            "why",
            "Use when a plan is stale, invalid or a draft: the chain of causes, the change it began with, next steps.",
            |ctx, NodeOnly { node }| explain_status(ctx, &[node]),
        ),
        Hints::READS.define_tool(
            "wait",
            "After asking a person: returns when the plan is approved, changed, commented on, its review decided, or time is up.",
            wait::run,
        ),
    ]
}
