//! Tools for work with phases: tickets, focus, scenarios.

mod archive;
mod focus;
mod level;
mod list;
mod new;
mod phase;
mod priority;
mod scenario_done;
mod scenarios;
mod split;

use application::ticket_sources::create_from_branch;

use crate::tools::arguments::Nothing;
use crate::tools::{Hints, SeedArguments, Tool};

/// The tools of this set, in listing order.
pub(super) fn list_tools() -> Vec<Tool> {
    vec![
        Hints::GOES_ON
            .define_tool(
                "ticket_focus",
                "Use when you begin, leave or change work: enter a node and get its context, exit (a complete one goes on to the next), back, park the root, switch to another.",
                focus::run,
            )
            .seed("focus", SeedArguments::Same)
            .listed(),
        Hints::GOES_ON
            .define_tool(
                "ticket_new",
                "Use to make a ticket, or a part of one. Its text is written with plan_write.",
                new::run,
            )
            .listed(),
        Hints::CHANGES
            .define_tool(
                "ticket_phase",
                "Use to move a ticket on to a phase, and to read what its phase asks of you.",
                phase::run,
            )
            .listed(),
        Hints::READS.define_tool(
            "ticket_scenarios",
            "Use to see which scenarios of a ticket are done and how far the test-driven cycle is. Without a ticket: that of this session.",
            scenarios::run,
        ),
        // Without a name it is the scenario in focus, which is another one after it.
        Hints::GOES_ON.define_tool(
            "ticket_scenario_done",
            "Use to say that a scenario is done; without a name the one this session is at.",
            scenario_done::run,
        ),
        Hints::GOES_ON.define_tool(
            "ticket_split",
            "Use to cut a ticket that is too large into children.",
            split::run,
        ),
        Hints::CHANGES.define_tool(
            "ticket_level",
            "Use to say how large a ticket is; without a level it is estimated again.",
            level::run,
        ),
        Hints::CHANGES.define_tool(
            "ticket_priority",
            "Use to say how urgent a ticket is: it orders what comes next.",
            priority::run,
        ),
        Hints::READS.define_tool(
            "ticket_list",
            "Use to see the open tickets in the order in which to work on them: phase, cycle, holder, priority.",
            list::run,
        ),
        // A second call finds the ticket that the first one made.
        Hints::CHANGES.define_tool(
            "ticket_from_branch",
            "Use when a branch has no ticket yet: makes the one that its name describes, or finds it.",
            |ctx, Nothing {}| create_from_branch(ctx),
        ),
        Hints::CHANGES.define_tool(
            "ticket_archive",
            "Use to move finished tickets out of the way; their history is kept.",
            archive::run,
        ),
    ]
}
