//! Tools for plans: reading, writing, approving, statuses, versions, progress and evidence.

pub(in crate::tools) mod approve;
mod comment;
mod diff;
mod invalidate;
pub(in crate::tools) mod keep;
mod list_comments;
mod list_stale;
mod move_plan;
mod outline;
mod progress;
mod prompt;
mod propose;
mod prove;
mod read;
mod reject;
mod renumber;
mod reshape;
mod restore;
mod stats;
mod tree;
pub(in crate::tools) mod update_entity_state;
pub(in crate::tools) mod wait;
mod write;

use application::children_status::children_status;
use application::create_backup::create_backup;
use application::evidence::show_evidence;
use application::explain::explain_status;
use application::list_versions::list_versions;
use application::show_node::show_node;

use crate::tools::arguments::NodeOnly;
use crate::tools::{Hints, SeedArguments, Tool};

/// The tools of this set, in listing order.
pub(super) fn list_tools() -> Vec<Tool> {
    let mut tools = list_working_tools();
    tools.extend(list_status_tools());
    tools.extend(list_version_tools());
    tools
}

/// Tools of everyday work on plans.
fn list_working_tools() -> Vec<Tool> {
    vec![
        Hints::READS
            .define_tool(
                "plan_read",
                "Use before you rely on a plan or ticket, and before you write it: status, version_hash, text, headings, parent, children.",
                read::run,
            )
            .listed(),
        // It replaces a text that people own, even though every version is kept.
        Hints::DESTROYS
            .define_tool(
                "plan_write",
                "Use to write a plan, ticket or scenario, whole or one section. Gates apply as to an edit of its file. An existing text needs the version_hash you read.",
                write::run,
            )
            .listed_for_texts(),
        Hints::READS
            .define_tool(
                "plan_prompt",
                "Use before you write a new plan: how to write it, with its parent's text. Without `node`: what can be planned.",
                prompt::run,
            )
            .listed_for_texts(),
        Hints::CHANGES
            .define_tool(
                "plan_approve",
                "Use when the person agreed to exactly this text. Where only people approve it asks or waits for them; then use plan_wait.",
                approve::run,
            )
            .seed("approve_entity", SeedArguments::Entity)
            .listed_for_texts(),
        Hints::READS
            .define_tool(
                "plan_wait",
                "After asking a person: returns when the plan is decided, changed or commented on, its review decided, or time is up.",
                wait::run,
            )
            .seed("wait", SeedArguments::Same)
            .listed()
            .quick(),
        Hints::CHANGES
            .define_tool(
                "plan_progress",
                "Use to say how far the work on a node is; complete needs its evidence.",
                progress::run,
            )
            .listed(),
        Hints::READS
            .define_tool(
                "plan_why",
                "Use when a plan is stale, invalid or a draft: the chain of causes, the change it began with, next steps.",
                |ctx, node: NodeOnly| explain_status(ctx, &node.words()),
            )
            .seed("why", SeedArguments::Same)
            .quick(),
        Hints::READS.define_tool(
            "plan_stale",
            "Use to see stale plans, each with its parent's change and what can be done about it.",
            list_stale::run,
        ),
        Hints::CHANGES.define_tool(
            "plan_keep",
            "Use when a stale plan still holds although its parent changed: keeps it as it is, or all below it. Where only people approve it asks or waits for them.",
            keep::run,
        ),
        // A second comment is a second comment.
        Hints::GOES_ON.define_tool(
            "plan_comment",
            "Use to tell people and other agents something about a plan.",
            comment::run,
        ),
        Hints::READS.define_tool(
            "plan_comments",
            "Use to read what was said about a plan; without one, everything that is still open.",
            list_comments::run,
        ),
        Hints::READS.define_tool(
            "plan_evidence",
            "Use before you call a node complete: what proves it, and whether that still holds.",
            |ctx, node: NodeOnly| show_evidence(ctx, &node.words()),
        ),
        Hints::READS.define_tool(
            "plan_evidence_propose",
            "Use to get the command of the project's test runner that would prove a node.",
            propose::run,
        ),
        // It can start programs, so clients should ask each time.
        Hints::RUNS.define_tool(
            "plan_prove",
            "Use to declare a proof of a node (a command that must end with 0, a file, or a review), or to run what is declared.",
            prove::run,
        ),
    ]
}

/// Tools about statuses and trees.
fn list_status_tools() -> Vec<Tool> {
    vec![
        Hints::READS
            .define_tool(
                "plan_state",
                "Use to see a plan without its text: status, version, parent, children, file.",
                |ctx, node: NodeOnly| show_node(ctx, &node.words()),
            )
            .seed("get_entity_state", SeedArguments::Entity)
            .quick(),
        // Condemning is one of its statuses.
        Hints::DESTROYS
            .define_tool(
                "update_entity_state",
                "Use to approve or reject exactly the version you know; another is refused. Other statuses follow from the files.",
                update_entity_state::run,
            )
            .seed("update_entity_state", SeedArguments::Only),
        Hints::READS
            .define_tool(
                "plan_tree",
                "Use to see how plans hang together, below one or all. Cut at depth and limit; ask for a part next.",
                tree::run,
            )
            .seed("get_hierarchy_tree", SeedArguments::Act),
        // Approvals below are revoked; clients should ask first.
        Hints::DESTROYS
            .define_tool(
                "plan_invalidate",
                "Use when what is below a plan must be checked against it again: it becomes stale, your reason on record; the plan stays.",
                invalidate::run,
            )
            .seed("cascade_invalidate", SeedArguments::Entity),
        // The plan and everything below it lose their approvals.
        Hints::DESTROYS.define_tool(
            "plan_reject",
            "Use when a plan turned out wrong: it must not be used, everything below it becomes stale, your reason on record.",
            reject::run,
        ),
        // Counts besides the list, because models miscount.
        Hints::READS
            .define_tool(
                "plan_children",
                "Use to see which children of a plan are drafts, approved or stale, with counts.",
                |ctx, node: NodeOnly| children_status(ctx, &node.words()),
            )
            .seed("get_children_status", SeedArguments::Entity)
            .quick(),
        Hints::READS.define_tool(
            "plan_outline",
            "Use to read plans in order: each with its synopsis, or its whole text.",
            outline::run,
        ),
        Hints::READS.define_tool(
            "plan_stats",
            "Use to see how far the plans are: counts, words, targets, burn-up.",
            stats::run,
        ),
        Hints::CHANGES.define_tool(
            "plan_move",
            "Use to say which former plan a file is, where a rename was not recognised: its decisions go with it.",
            move_plan::run,
        ),
        Hints::GOES_ON.define_tool(
            "plan_renumber",
            "Use to give a plan another id, such as one of two with the same.",
            renumber::run,
        ),
        // One tool for all of them: every schema costs each session tokens. A second `add` makes a
        // second plan.
        Hints::REVERTS.define_tool(
            "plan_reshape",
            "Use to add, insert, move, rename, split, merge or remove plans: files, references and all that is attached follow, in one operation. Try dry_run first.",
            reshape::run,
        ),
    ]
}

/// Tools about earlier texts.
fn list_version_tools() -> Vec<Tool> {
    vec![
        // No version argument: a backup is always of the current text, and older versions are in the
        // store. A second call makes a second copy.
        Hints::GOES_ON
            .define_tool(
                "plan_backup",
                "Use before a large rewrite: a readable copy in backups/. Every version is kept in any case.",
                |ctx, node: NodeOnly| create_backup(ctx, &node.words()),
            )
            .seed("create_backup", SeedArguments::Entity),
        // All versions, not only copies in `backups/`: each can be restored.
        Hints::READS
            .define_tool(
                "plan_versions",
                "Use to find an earlier text of a plan: every version with time, hash and copies.",
                |ctx, node: NodeOnly| list_versions(ctx, &node.words()),
            )
            .seed("list_backups", SeedArguments::Entity),
        // Overwrites a file that people own, even though its text is kept; `-1` is another version
        // afterwards.
        Hints::REVERTS
            .define_tool(
                "plan_restore",
                "Use to put an earlier text back into the plan's file; what is there now is kept.",
                restore::run,
            )
            .seed("restore_backup", SeedArguments::Entity),
        Hints::READS
            .define_tool(
                "plan_diff",
                "Use to see what changed in a plan since a version: the one before, unless you name another.",
                diff::run,
            )
            .seed("get_backup_diff", SeedArguments::Entity),
    ]
}
