//! Tools for work with phases: tickets, focus, claims, evidence.

mod evidence;
mod focus;
mod overlap;
mod release;
mod scenarios;
mod ticket;

use application::claim_node::claim_node;

use crate::tools::arguments::NodeOnly;
use crate::tools::{Hints, Tool};

/// The tools of this set, in listing order.
pub(super) fn list_tools() -> Vec<Tool> {
    vec![
        Hints::GOES_ON.define_tool(
            "focus",
            "Use when you begin, leave or change work: enter a node and get its context, exit (a complete one goes on to the next), back, park the root, switch to another.",
            focus::run,
        ),
        Hints::GOES_ON.define_tool(
            "ticket",
            "Use to make a ticket (new), cut it into children (split), move it on (phase) or say how large it is (level; without one it is estimated again), or to give one of two with the same id another (renumber). Of an existing file only the key that changes is written.",
            ticket::run,
        ),
        Hints::GOES_ON.define_tool(
            "scenarios",
            "Use to see which scenarios of a ticket are done and how far the test-driven cycle is (list), or to say that one is done (done). Without a name: where this session stands.",
            scenarios::run,
        ),
        // Claiming again extends the lease, so the tool is idempotent for its caller.
        Hints::CHANGES.define_tool(
            "claim",
            "Use before work that others might take too: the node and all below it is this session's for a while; claiming again makes it longer.",
            |ctx, NodeOnly { node }| claim_node(ctx, &[node]),
        ),
        Hints::CHANGES.define_tool(
            "release",
            "Use when you stop working on what you claimed, so that others can take it.",
            release::run,
        ),
        Hints::READS.define_tool(
            "overlap",
            "Use before a merge, or when others work in parallel: live sessions, open branches and worktrees, and plans that would conflict.",
            overlap::run,
        ),
        // It can start programs, so clients should ask each time.
        Hints::RUNS.define_tool(
            "evidence",
            "Use before you call a node done: show what proves it and whether that still holds, run what is declared, add a proof (a command that must end with 0, a file, or a review).",
            evidence::run,
        ),
    ]
}
