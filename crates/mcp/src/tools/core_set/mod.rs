//! Core tools: position, next work, claims, history, and the way to all other tools; offered on
//! every project.

mod brief;
mod claim;
mod decisions;
mod gates;
mod log;
mod next;
mod release;
mod search;
mod submit;
mod undo;
mod where_tool;

use application::check_state::check_state;
use application::list_overlap::list_overlap;

use crate::tools::arguments::{AnyObject, Nothing};
use crate::tools::{Hints, SeedArguments, Tool, more_tools};

/// The tools of this set, in listing order.
pub(super) fn list_tools() -> Vec<Tool> {
    vec![
        Hints::READS
            .define_tool(
                "work_where",
                "Use first, and whenever you have lost the thread: status, what needs someone, the next or first step.",
                where_tool::run,
            )
            .seed("where", SeedArguments::Same)
            .listed(),
        Hints::READS
            .define_tool(
                "work_next",
                "Use to choose work: everything that can be done now, most important first, with the reason and the call that goes on.",
                next::run,
            )
            .seed("next", SeedArguments::Same)
            .listed(),
        Hints::READS
            .define_tool(
                "work_brief",
                "Use after losing context: one short text about where the work stands.",
                brief::run,
            )
            .seed("brief", SeedArguments::Same),
        Hints::READS
            .define_tool(
                "work_search",
                "Use to find where something is said: plans, prose, comments, notes, memory, the log; ranked, with file, line and snippet.",
                search::run,
            )
            .seed("search", SeedArguments::Same)
            .listed(),
        // Without a node, and in a new session, a second call claims another one.
        Hints::GOES_ON
            .define_tool(
                "work_claim",
                "Use before work that others might take too: the node and all below it is yours for a while; claiming again makes it longer. Without a node you get the next ready one.",
                claim::run,
            )
            .seed("claim", SeedArguments::Same),
        Hints::CHANGES
            .define_tool(
                "work_release",
                "Use when you stop working on what you claimed, so that others can take it.",
                release::run,
            )
            .seed("release", SeedArguments::Same),
        Hints::READS
            .define_tool(
                "work_overlap",
                "Use before a merge, or when others work in parallel: live sessions, open branches, plans that would conflict.",
                |ctx, Nothing {}| list_overlap(ctx),
            )
            .seed("overlap", SeedArguments::Same),
        Hints::READS.define_tool(
            "work_gates",
            "Use when a gate blocks: what each gate asks, how to pass it, and what would block you now.",
            gates::run,
        ),
        Hints::READS.define_tool(
            "work_log",
            "Use to see what happened: operations with author and time, of one node or all, newest first.",
            log::run,
        ),
        Hints::REVERTS.define_tool(
            "work_undo",
            "Use to take back an operation of the log, or everything after one; without either the newest decision. What others changed since is kept.",
            undo::run,
        ),
        Hints::READS.define_tool(
            "work_check",
            "Use when something looks wrong: what does not fit between plans, files and records, each with next steps.",
            |ctx, Nothing {}| AnyObject::new(&check_state(ctx)?),
        ),
        Hints::READS.define_tool(
            "work_decisions",
            "Use to see which decisions are in force, and whose.",
            decisions::run,
        ),
        Hints::CHANGES.define_tool(
            "work_decisions_restore",
            "Use when files of decisions were lost, such as by `git clean`: writes those made here again.",
            decisions::restore,
        ),
        Hints::DESTROYS.define_tool(
            "work_decisions_prune",
            "Use to remove files of decisions that newer ones replace, unless another branch needs them.",
            decisions::prune,
        ),
        Hints::CHANGES.define_tool(
            "work_submit",
            "Use on a state that several working copies share: makes your texts the team's.",
            submit::run,
        ),
        Hints::READS
            .define_tool(
                more_tools::NAME,
                "Use when no listed tool fits: names all further tools, or describes those of one `set` or one `tool`.",
                more_tools::describe_without_project,
            )
            .listed(),
        // Whatever the called tool does: clients ask before the worst of it.
        Hints::RUNS
            .define_tool(
                more_tools::CALL,
                "Calls a tool that more_tools described.",
                more_tools::call_without_project,
            )
            .listed(),
    ]
}
