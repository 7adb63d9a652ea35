//! Tools for the trail of a session, for projects with a trail profile.

mod compact_session;
mod declare_intent;
mod map_context;
mod self_rate;
mod sessions;
mod trace;

use application::sessions::archive_session::archive_session;
use application::sessions::check_drift::check_drift;
use application::sessions::migrate_trail::migrate_trail;
use application::sessions::prune_trail::prune_trail;
use application::sessions::scan_hierarchy::scan_hierarchy;
use application::sessions::think_back::think_back;

use crate::tools::arguments::{AnyObject, Nothing};
use crate::tools::{Hints, SeedArguments, Tool};

/// The tools of this set, in listing order.
pub(super) fn list_tools() -> Vec<Tool> {
    vec![
        // A second intent begins another trajectory.
        Hints::GOES_ON
            .define_tool(
                "trail_intent",
                "Use at the start of work: what this session is for. Begins a trajectory with a session file.",
                declare_intent::run,
            )
            .seed("declare_intent", SeedArguments::Same)
            .listed(),
        Hints::GOES_ON
            .define_tool(
                "trail_map",
                "Use whenever the work moves: a tactic of the trajectory or an action of the tactic, and how far it is. Do it before writing files.",
                map_context::run,
            )
            .seed("map_context", SeedArguments::Same)
            .listed(),
        // Archives the session's tree and file: the model loses what it does not put into the report.
        Hints::REVERTS
            .define_tool(
                "trail_compact",
                "Use to end a session: distils turning points, archives its file and tree. Give `report` to say yourself what the next compaction keeps.",
                compact_session::run,
            )
            .seed("compact_session", SeedArguments::Same),
        Hints::READS
            .define_tool(
                "trail_scan",
                "Use to see the trail: the tree with a mark at the cursor, and gaps in time.",
                |ctx, Nothing {}| scan_hierarchy(ctx),
            )
            .seed("scan_hierarchy", SeedArguments::Same),
        Hints::READS
            .define_tool(
                "trail_back",
                "Use when stuck or after losing context: where the trail stands, turning points, anchors, next action, what was noticed.",
                |ctx, Nothing {}| think_back(ctx),
            )
            .seed("think_back", SeedArguments::Same),
        Hints::READS
            .define_tool(
                "trail_drift",
                "Use to see how far the session has strayed: a score, counters, signals.",
                |ctx, Nothing {}| check_drift(ctx),
            )
            .seed("check_drift", SeedArguments::Same),
        Hints::GOES_ON
            .define_tool(
                "trail_rate",
                "Use at a checkpoint: rate your own work, 1 (lost) to 10 (as planned).",
                self_rate::run,
            )
            .seed("self_rate", SeedArguments::Same),
        Hints::READS.define_tool(
            "trail_sessions",
            "Use to see all sessions, or one by its stamp with its log and file.",
            sessions::run,
        ),
        Hints::READS.define_tool(
            "trail_trace",
            "Use to find what a stamp belongs to: nodes, notes, sessions.",
            trace::run,
        ),
        Hints::DESTROYS.define_tool(
            "trail_archive",
            "Use to archive a finished session by its stamp; without one this session's.",
            |ctx, sessions::Arguments { stamp }| {
                AnyObject::new(&archive_session(ctx, stamp.as_deref())?)
            },
        ),
        // Nodes leave the tree; only a summary of each branch stays.
        Hints::DESTROYS
            .define_tool(
                "trail_prune",
                "Use when finished branches of the trail pile up: takes them out, leaving a line about each.",
                |ctx, Nothing {}| prune_trail(ctx),
            )
            .seed("hierarchy_prune", SeedArguments::Same),
        Hints::CHANGES
            .define_tool(
                "trail_migrate",
                "Use when told that an older trail is here: takes over hierarchy.json, a flat brain.json or active.md.",
                |ctx, Nothing {}| migrate_trail(ctx),
            )
            .seed("hierarchy_migrate", SeedArguments::Same),
    ]
}
